/* SPDX-License-Identifier: Apache-2.0 */
/*
 * B-02: `reprise append --batch` is killed with SIGKILL at random instants. The
 * driver feeds numbered events with idempotency keys, remembers each
 * acknowledgement, kills, and begins again with everything that was not
 * acknowledged and some that was. After each death: every acknowledged event is
 * where its acknowledgement said, in order, without hole or duplicate.
 *
 * usage: kill PROGRAM      300 deaths; 5,000 with REPRISE_SOAK=1
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/json.h"
#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define AHEAD 2000 /* events a life is given at most */
#define LINE 256

#define DIE(...)                                                                                                       \
  do {                                                                                                                 \
    fprintf(stderr, "kill: " __VA_ARGS__);                                                                             \
    fputc('\n', stderr);                                                                                               \
    exit(1);                                                                                                           \
  } while (0)

/* All lives together. */
struct story {
  const char *program;
  char path[SCRATCH_PATH], url[RIG_URL], id[RP_ID_MAX + 1];
  struct dice dice;
  int64_t *seqs; /* by number: the seq acknowledged, 0 for none */
  int64_t cap, acked;
  struct rig_scan scan;
  int64_t repeats, killed_in_flight;
};

/* One process from birth to death. */
struct life {
  pid_t pid;
  int in, out;
  const char *durability;
  int64_t first, next, acks; /* first number fed, next to feed, acknowledgements read */
  char line[LINE], reply[LINE];
  size_t line_n, line_at, reply_n;
};

static void life_begin(struct life *l, const struct story *st, int64_t first, const char *durability)
{
  *l = (struct life){.first = first, .next = first, .durability = durability};
  const char *argv[] = {st->program, "--db",    st->url,        "--json",   "append",
                        st->id,      "--batch", "--durability", durability, NULL};
  l->pid = child_exec(argv, &l->in, &l->out);
  if (l->pid < 0) DIE("fork: %s", strerror(errno));
}

static void life_fill_line(struct life *l)
{
  int n = snprintf(l->line, sizeof(l->line),
                   "{\"kind\":\"x-n\",\"body\":{\"n\":%" PRId64 "},\"idempotency_key\":\"k-%" PRId64 "\"}\n", l->next,
                   l->next);
  l->line_n = (size_t)n;
  l->line_at = 0;
  l->next++;
}

/* Writes until the pipe is full or the life has had enough. */
static void life_feed(struct life *l)
{
  for (;;) {
    if (l->line_at == l->line_n) {
      if (l->next >= l->first + AHEAD) return;
      life_fill_line(l);
    }
    ssize_t n = write(l->in, l->line + l->line_at, l->line_n - l->line_at);
    if (n < 0) return; /* full, or the reader is gone: its death is read elsewhere */
    l->line_at += (size_t)n;
  }
}

static void story_grow(struct story *st, int64_t n)
{
  if (n < st->cap) return;
  int64_t cap = n * 2 + 4096;
  st->seqs = realloc(st->seqs, (size_t)cap * sizeof(*st->seqs));
  if (!st->seqs) DIE("out of memory");
  memset(st->seqs + st->cap, 0, (size_t)(cap - st->cap) * sizeof(*st->seqs));
  st->cap = cap;
}

static void take_ack(struct story *st, struct life *l, const char *line, size_t n)
{
  struct rp__json doc;
  int64_t seq, number = l->first + l->acks;
  if (rp__json_parse(line, n, NULL, &doc, NULL) != 0 || !rp__json_i64(rp__json_get(doc, "seq"), &seq))
    DIE("not an acknowledgement: %.*s", (int)n, line);
  if (!rp__json_eq(rp__json_get(doc, "durability"), l->durability))
    DIE("asked for %s, got %.*s", l->durability, (int)n, line);
  story_grow(st, number);
  if (st->seqs[number] && st->seqs[number] != seq)
    DIE("event %" PRId64 " was acknowledged at %" PRId64 ", now at %" PRId64, number, st->seqs[number], seq);
  if (st->seqs[number]) st->repeats++;
  st->seqs[number] = seq;
  l->acks++;
}

/* Reads whole lines; a line cut by death is no acknowledgement. False at the end of the stream. */
static bool life_read(struct story *st, struct life *l)
{
  for (;;) {
    ssize_t n = read(l->out, l->reply + l->reply_n, sizeof(l->reply) - l->reply_n);
    if (n == 0) return false;
    if (n < 0) return true;
    l->reply_n += (size_t)n;
    char *end;
    while ((end = memchr(l->reply, '\n', l->reply_n))) {
      size_t used = (size_t)(end - l->reply) + 1;
      take_ack(st, l, l->reply, used - 1);
      l->reply_n -= used;
      memmove(l->reply, end + 1, l->reply_n);
    }
    if (l->reply_n == sizeof(l->reply)) DIE("a line is too long");
  }
}

/* Feeds and reads until `instant` or until `acks` were read; then kills. */
static void life_live(struct story *st, struct life *l, int64_t instant, int64_t acks)
{
  int64_t left;
  while ((left = instant - dice_now_us()) > 0 && l->acks < acks) {
    bool hungry = l->next < l->first + AHEAD || l->line_at < l->line_n;
    struct pollfd p[2] = {{l->out, POLLIN, 0}, {hungry ? l->in : -1, POLLOUT, 0}};
    struct timespec t = {left / 1000000, left % 1000000 * 1000};
    ppoll(p, 2, &t, NULL);
    if (p[1].revents) life_feed(l);
    if (p[0].revents && !life_read(st, l)) DIE("the program ended by itself");
  }
}

static void life_end(struct story *st, struct life *l)
{
  kill(l->pid, SIGKILL);
  if (l->acks < l->next - l->first) st->killed_in_flight++;
  struct pollfd p = {l->out, POLLIN, 0};
  while (life_read(st, l)) poll(&p, 1, -1);
  int code = child_wait(l->pid);
  close(l->in);
  close(l->out);
  if (code != 128 + SIGKILL) DIE("exit code %d, not killed", code);
  int64_t last = l->first + l->acks - 1;
  if (last > st->acked) st->acked = last;
}

struct seen {
  struct story *st;
  int64_t wrong, number;
};

static int see(void *ctx, const rp_event_info *ev)
{
  struct seen *seen = ctx;
  struct story *st = seen->st;
  int64_t n = rig_number(ev);
  if (n < 0) return 0;
  if (n < st->cap && st->seqs[n] && st->seqs[n] != ev->seq) {
    seen->wrong++;
    seen->number = n;
  }
  return 0;
}

/* What the death left: read on from where the last check ended. */
static void story_check(struct story *st)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  struct seen seen = {.st = st};
  int64_t from = st->scan.seq;
  if (rig_open(st->url, false, &e, &err) != 0) DIE("open: %s", rig_why(&err));
  if (rp_attach(e, st->id, &s, &err) != 0) DIE("attach: %s", rig_why(&err));
  if (rig_scan(s, &st->scan, &err) != 0) DIE("read: %s", rig_why(&err));
  if (rp_events(s, from, 0, see, &seen, &err) != 0) DIE("read: %s", rig_why(&err));
  rp_session_free(s);
  rp_close(e);
  if (st->scan.holes || st->scan.disorder || st->scan.events != st->scan.last)
    DIE("%" PRId64 " holes, %" PRId64 " out of order or twice", st->scan.holes, st->scan.disorder);
  if (st->scan.last < st->acked) DIE("acknowledged up to %" PRId64 ", stored %" PRId64, st->acked, st->scan.last);
  if (seen.wrong) DIE("event %" PRId64 " is not at the seq it was acknowledged with", seen.number);
}

static void story_begin(struct story *st)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_start_options o = {.scope = "kill", .key = "kill", .owner = RP_OWNER_NONE};
  rig_url(st->path, st->url);
  if (rig_open(st->url, false, &e, &err) != 0) DIE("open: %s", rig_why(&err));
  if (rp_start(e, &o, &s, &err) != 0) DIE("start: %s", rig_why(&err));
  snprintf(st->id, sizeof(st->id), "%s", rp_session_id(s));
  rp_session_detach(s);
  rp_close(e);
}

static void story_life(struct story *st, int64_t i)
{
  struct life l;
  int64_t again = dice_below(&st->dice, 20), first = st->acked + 1 - again;
  life_begin(&l, st, first > 1 ? first : 1, i % 2 ? "os" : "disk");
  /* Half die by the clock, anywhere from birth on; half right after some acknowledgement. */
  bool by_clock = dice_below(&st->dice, 2);
  int64_t instant = dice_now_us() + (by_clock ? dice_below(&st->dice, 40000) : 10000000);
  life_live(st, &l, instant, by_clock ? AHEAD : again + 1 + dice_below(&st->dice, 200));
  life_end(st, &l);
  story_check(st);
}

static void story_verify(const struct story *st)
{
  const char *argv[] = {st->program, "--db", st->url, "verify", NULL};
  int out, code;
  pid_t pid = child_exec(argv, NULL, &out);
  code = child_wait(pid);
  close(out);
  if (code != 0) DIE("reprise verify: exit code %d", code);
}

int main(int argc, char **argv)
{
  struct scratch dir;
  struct story st = {.program = argc > 1 ? argv[1] : "reprise"};
  int64_t deaths = dice_rounds(300, 5000), start = dice_now_us();
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (scratch_make(&dir) != 0) DIE("no scratch folder");
  scratch_path(&dir, "kill.db", st.path);
  st.dice = dice_new();
  story_begin(&st);
  for (int64_t i = 0; i < deaths; i++) {
    story_life(&st, i);
    if (i % 50 == 49) story_verify(&st);
  }
  story_verify(&st);
  scratch_remove(&dir);
  free(st.seqs);
  if (st.killed_in_flight < deaths / 4 || st.acked < deaths) DIE("the killings hit nothing: the driver is wrong");
  printf("kill: %" PRId64 " deaths, %" PRId64 " with events in flight, %" PRId64 " events acknowledged, %" PRId64
         " sent again, 0 lost, 0 twice, %.1f s\n",
         deaths, st.killed_in_flight, st.acked, st.repeats, (double)(dice_now_us() - start) / 1e6);
  return 0;
}
