/* SPDX-License-Identifier: Apache-2.0 */
/*
 * B-01, B-02: real power cuts. An ext4 image, loop-mounted in a mount namespace
 * of our own, is shut down without flushing its journal while several processes
 * write; then it is mounted again, which replays the journal as after a pulled
 * plug. What was acknowledged as `disk` must be there; what was acknowledged as
 * `os` may be gone, and some of it must be, or the cut did not cut.
 *
 * Only what was acknowledged before the shutdown began counts: an fdatasync that is
 * under way meanwhile may return 0 without its data (6 of 180 bare appending loops
 * showed it, none of what they were told before), which no plug does.
 *
 * usage: power      25 cuts; 500 with REPRISE_SOAK=1; exit 77 where the machine does not allow it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define GOING_DOWN _IOR('X', 125, uint32_t)
#define NO_LOG_FLUSH 2u
#define WRITERS 3
#define ACKS 4096 /* per writer and cut */
#define IMAGE_BYTES (256 * 1024 * 1024)

#define DIE(...)                                                                                                       \
  do {                                                                                                                 \
    fprintf(stderr, "power: " __VA_ARGS__);                                                                            \
    fputc('\n', stderr);                                                                                               \
    exit(1);                                                                                                           \
  } while (0)

struct note {
  int64_t n, seq;
  rp_durability durability;
};

/* What a writer was told, in memory that survives it. */
struct witness {
  _Atomic int64_t epoch; /* of the start that was acknowledged */
  _Atomic int64_t notes;
  struct note note[ACKS];
};

/* How a writer of this round asks. */
enum load { LOAD_DISK, LOAD_OS, LOAD_MIXED, LOAD_BRIEF, LOAD_MAX };

struct writer {
  char url[RIG_URL], key[16];
  int64_t next; /* number of the first event */
  enum load load;
  struct witness *seen;
};

struct rig {
  struct scratch dir;
  char image[SCRATCH_PATH], mnt[SCRATCH_PATH], db[SCRATCH_PATH], url[RIG_URL];
  struct dice dice;
  struct witness *seen[WRITERS];
  int64_t told[WRITERS], told_epoch[WRITERS]; /* acknowledged before the plug was touched */
  int64_t next[WRITERS];
  struct rig_scan scan[WRITERS];
  int64_t disk_acked, os_acked, os_lost, starts;
};

static rp_durability ask(enum load load, int64_t n)
{
  if (load == LOAD_MIXED) return n % 4 ? RP_OS : RP_DISK;
  return load == LOAD_OS ? RP_OS : RP_DISK;
}

static int write_one(struct writer *w, rp_session *s, int64_t i, rp_error *err)
{
  rp_append_options o = {0};
  rp_ack ack;
  o.durability = ask(w->load, w->next + i);
  int rc = rig_append(s, NULL, w->next + i, &o, &ack, err);
  if (rc != 0) return rc;
  w->seen->note[i] = (struct note){w->next + i, ack.seq, ack.durability};
  atomic_store(&w->seen->notes, i + 1);
  return 0;
}

/* As hooks do: opened for one event, which finds the log or makes it. */
static int write_briefly(struct writer *w, int64_t i, rp_error *err)
{
  rp_engine *e;
  rp_session *s;
  int rc = rig_open(w->url, false, &e, err);
  if (rc != 0) return rc;
  rc = rp_attach(e, w->key, &s, err);
  if (rc == 0) {
    rc = write_one(w, s, i, err);
    rp_session_free(s);
  }
  rp_close(e);
  return rc;
}

/* Appends until the disk goes away or the notes are full. Exit code 3: a failure that is no typed error. */
static int write_on(void *arg)
{
  struct writer *w = arg;
  bool brief = w->load == LOAD_BRIEF;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  int rc = rig_open(w->url, !brief, &e, &err);
  if (rc != 0) return rig_typed(rc) ? 0 : 3;
  rc = rig_hold(e, w->key, false, &s, &err);
  if (rc != 0) return rig_typed(rc) ? 0 : 3;
  w->seen->epoch = rp_session_epoch(s);
  if (brief) {
    rp_session_detach(s);
    rp_close(e);
  }
  for (int64_t i = 0; rc == 0 && i < ACKS; i++) rc = brief ? write_briefly(w, i, &err) : write_one(w, s, i, &err);
  return rc == 0 || rig_typed(rc) ? 0 : 3;
}

static bool run(const char *const *argv)
{
  return child_call(argv) == 0;
}

static bool image_mount(const struct rig *r)
{
  const char *argv[] = {"mount", "-o", "loop", r->image, r->mnt, NULL};
  return run(argv);
}

static bool image_make(struct rig *r)
{
  const char *mkfs[] = {"mkfs.ext4", "-q", "-F", r->image, NULL};
  int fd = open(r->image, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, IMAGE_BYTES) != 0) return false;
  close(fd);
  return run(mkfs);
}

/* The loop device detaches itself with the last unmount; a folder still busy is let go lazily and reported. */
static void image_unmount(const struct rig *r)
{
  for (int i = 0; i < 50; i++) {
    if (umount(r->mnt) == 0) return;
    if (errno != EBUSY) break;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  int why = errno;
  umount2(r->mnt, MNT_DETACH);
  DIE("umount: %s", strerror(why));
}

static void plug_pull(const struct rig *r)
{
  uint32_t how = NO_LOG_FLUSH;
  int fd = open(r->mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || ioctl(fd, GOING_DOWN, &how) != 0) DIE("shutdown: %s", strerror(errno));
  close(fd);
}

/* One acknowledgement against what is stored: `disk` is a promise, `os` is counted. */
static void check_note(struct rig *r, int w, const struct note *note)
{
  bool there = note->seq <= r->scan[w].seq;
  if (note->durability == RP_DISK) r->disk_acked++;
  if (note->durability == RP_OS) r->os_acked++;
  if (there) return;
  if (note->durability != RP_OS)
    DIE("writer %d: event %" PRId64 " (seq %" PRId64 ", durability %d) was acknowledged and is gone", w, note->n,
        note->seq, (int)note->durability);
  r->os_lost++;
}

struct place {
  const struct witness *seen;
  int64_t at, wrong;
};

/* Whether the events that are there carry the numbers their acknowledgements gave. */
static int check_place(void *ctx, const rp_event_info *ev)
{
  struct place *p = ctx;
  int64_t n = rig_number(ev), notes = p->seen->notes;
  if (n < 0) return 0;
  while (p->at < notes && p->seen->note[p->at].seq < ev->seq) p->at++;
  if (p->at < notes && p->seen->note[p->at].seq == ev->seq && p->seen->note[p->at].n != n) p->wrong++;
  return 0;
}

static int show_epoch(void *ctx, const rp_session_info *info)
{
  *(int64_t *)ctx = info->epoch;
  return 0;
}

static void check_writer(struct rig *r, rp_engine *e, int w)
{
  struct witness *seen = r->seen[w];
  rp_session *s;
  rp_error err;
  char key[16];
  int64_t epoch = 0, from = r->scan[w].seq;
  struct place place = {.seen = seen};
  snprintf(key, sizeof(key), "w%d", w);
  if (!seen->epoch && !r->next[w]) return; /* never came as far as its first start */
  if (rp_attach(e, key, &s, &err) != 0) {
    if (r->told_epoch[w] || r->scan[w].seq) DIE("writer %d: start acknowledged, session gone: %s", w, rig_why(&err));
    return;
  }
  if (rp_show(e, key, show_epoch, &epoch, &err) != 0) DIE("show: %s", rig_why(&err));
  if (epoch < r->told_epoch[w])
    DIE("writer %d: start %" PRId64 " acknowledged, %" PRId64 " stored", w, r->told_epoch[w], epoch);
  if (r->told_epoch[w]) r->starts++;
  if (rig_scan(s, &r->scan[w], &err) != 0) DIE("writer %d: read: %s", w, rig_why(&err));
  if (rp_events(s, from, 0, check_place, &place, &err) != 0) DIE("writer %d: read: %s", w, rig_why(&err));
  rp_session_free(s);
  if (r->scan[w].holes || r->scan[w].disorder || place.wrong)
    DIE("writer %d: %" PRId64 " holes, %" PRId64 " out of order, %" PRId64 " elsewhere than acknowledged", w,
        r->scan[w].holes, r->scan[w].disorder, place.wrong);
  for (int64_t i = 0; i < r->told[w]; i++) check_note(r, w, &seen->note[i]);
  r->next[w] = r->scan[w].last + 1;
}

/* After the power is back. In a process of its own, so that no descriptor is left on the mount. */
static int check_all(void *arg)
{
  struct rig *r = arg;
  rp_engine *e;
  rp_error err;
  if (rig_open(r->url, false, &e, &err) != 0) DIE("open after the cut: %s", rig_why(&err));
  for (int w = 0; w < WRITERS; w++) check_writer(r, e, w);
  if (rig_verify(e, &err) != 0) DIE("verify: %s", rig_why(&err));
  rp_close(e);
  return 0;
}

static void load_begin(struct rig *r, struct writer *w, pid_t *pids, enum load load)
{
  for (int i = 0; i < WRITERS; i++) {
    r->seen[i]->epoch = 0;
    r->seen[i]->notes = 0;
    w[i] = (struct writer){.next = r->next[i] ? r->next[i] : 1, .load = load, .seen = r->seen[i]};
    snprintf(w[i].url, sizeof(w[i].url), "%s", r->url);
    snprintf(w[i].key, sizeof(w[i].key), "w%d", i);
    pids[i] = child_run(write_on, &w[i]);
  }
}

/* One cut in four comes at any time from birth on; the others once every writer was told something. */
static void wait_for_instant(struct rig *r)
{
  bool any_time = dice_below(&r->dice, 4) == 0;
  int64_t until = dice_now_us() + 2000000;
  for (int i = 0; !any_time && i < WRITERS; i++)
    while (!r->seen[i]->notes && dice_now_us() < until) nanosleep(&(struct timespec){0, 500000}, NULL);
  nanosleep(&(struct timespec){0, dice_below(&r->dice, any_time ? 40000 : 60000) * 1000}, NULL);
}

static void cut(struct rig *r, enum load load)
{
  struct writer w[WRITERS];
  pid_t pids[WRITERS];
  load_begin(r, w, pids, load);
  wait_for_instant(r);
  for (int i = 0; i < WRITERS; i++) {
    r->told[i] = r->seen[i]->notes;
    r->told_epoch[i] = r->seen[i]->epoch;
  }
  plug_pull(r);
  for (int i = 0; i < WRITERS; i++) {
    kill(pids[i], SIGKILL);
    int code = child_wait(pids[i]);
    if (code != 0 && code != 128 + SIGKILL) DIE("writer %d: exit code %d", i, code);
  }
  image_unmount(r);
  if (!image_mount(r)) DIE("the image can't be mounted again");
  pid_t pid = child_run(check_all, r);
  if (child_wait(pid) != 0) exit(1);
}

static int skip(const char *why)
{
  printf("power: skipped: %s\n", why);
  return 77;
}

static int cuts(struct rig *r)
{
  int64_t n = dice_rounds(25, 500), start = dice_now_us();
  for (int64_t i = 0; i < n; i++) cut(r, (enum load)(i % LOAD_MAX));
  image_unmount(r);
  if (n >= 10 && r->os_lost == 0) DIE("no unsynced event was ever lost: the cut does not cut");
  if (r->disk_acked == 0) DIE("nothing was acknowledged as disk");
  printf("power: %" PRId64 " cuts, %" PRId64 " starts and %" PRId64 " disk events acknowledged, 0 lost; %" PRId64
         " os events acknowledged, %" PRId64 " lost; %.1f s\n",
         n, r->starts, r->disk_acked, r->os_acked, r->os_lost, (double)(dice_now_us() - start) / 1e6);
  return 0;
}

int main(void)
{
  struct rig *r = child_shared(sizeof(*r));
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (geteuid() != 0) return skip("needs root to mount");
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return skip("no mount namespace of our own");
  if (scratch_make(&r->dir) != 0) return skip("no scratch folder");
  scratch_path(&r->dir, "image", r->image);
  scratch_path(&r->dir, "mnt", r->mnt);
  snprintf(r->db, sizeof(r->db), "%.500s/p.db", r->mnt);
  rig_url(r->db, r->url);
  for (int i = 0; i < WRITERS; i++) r->seen[i] = child_shared(sizeof(*r->seen[i]));
  r->dice = dice_new();
  int rc = 77;
  if (mkdir(r->mnt, 0700) != 0 || !image_make(r))
    skip("no mkfs.ext4");
  else if (!image_mount(r))
    skip("no loop mount");
  else
    rc = cuts(r);
  scratch_remove(&r->dir);
  return rc;
}
