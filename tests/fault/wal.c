/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write-ahead log has a bound, also while a reader of ours is in
 * the middle of its events and takes its time. One thread reads, and is held in
 * its callback; the main thread writes several times the bound and watches the
 * log.
 *
 * usage: wal      256 MiB; 2 GiB with REPRISE_SOAK=1
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define MIB (INT64_C(1) << 20)
#define BOUND (80 * MIB) /* the 64 MiB at which writers wait for a checkpoint, and what a group adds before it ends */
#define BODY 65536

#define DIE(...)                                                                                                       \
  do {                                                                                                                 \
    fprintf(stderr, "wal: " __VA_ARGS__);                                                                              \
    fputc('\n', stderr);                                                                                               \
    exit(1);                                                                                                           \
  } while (0)

struct reader {
  rp_session *session;
  sem_t inside, go;
  int64_t seen;
  int rc;
};

static int hold_event(void *ctx, const rp_event_info *ev)
{
  struct reader *r = ctx;
  (void)ev;
  if (r->seen++ > 0) return 0;
  sem_post(&r->inside);
  sem_wait(&r->go);
  return 0;
}

static void *read_slowly(void *arg)
{
  struct reader *r = arg;
  rp_error err;
  r->rc = rp_events(r->session, 0, 0, hold_event, r, &err);
  return NULL;
}

static int64_t size_of(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static char *make_body(void)
{
  char *body = malloc(BODY + 1);
  if (!body) DIE("out of memory");
  memset(body, 'x', BODY);
  memcpy(body, "{\"a\":\"", 6);
  memcpy(body + BODY - 2, "\"}", 3);
  return body;
}

/* Returns the largest size the log ever had. */
static int64_t write_much(rp_session *s, const char *wal, int64_t bytes)
{
  char *body = make_body();
  rp_event ev = {.kind = "x-big", .body = body, .body_len = BODY};
  rp_append_options o = {0};
  int64_t largest = 0;
  o.durability = RP_OS;
  for (int64_t done = 0; done < bytes; done += BODY) {
    rp_error err;
    rp_ack ack;
    if (rp_append(s, &ev, &o, &ack, &err) != 0) DIE("append: %s", rig_why(&err));
    int64_t now = size_of(wal);
    if (now > largest) largest = now;
  }
  free(body);
  return largest;
}

int main(void)
{
  struct scratch dir;
  struct reader r = {0};
  char path[SCRATCH_PATH], wal[SCRATCH_PATH], url[RIG_URL];
  int64_t bytes = dice_rounds(256, 2048) * MIB;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  pthread_t thread;
  if (scratch_make(&dir) != 0) DIE("no scratch folder");
  rig_url(scratch_path(&dir, "w.db", path), url);
  scratch_path(&dir, "w.db-wal", wal);
  if (rig_open(url, true, &e, &err) != 0 || rig_hold(e, "wal", false, &s, &err) != 0) DIE("%s", rig_why(&err));
  if (rig_append(s, NULL, 1, NULL, &(rp_ack){0}, &err) != 0) DIE("%s", rig_why(&err));
  if (rp_attach(e, "wal", &r.session, &err) != 0) DIE("%s", rig_why(&err));
  sem_init(&r.inside, 0, 0);
  sem_init(&r.go, 0, 0);
  if (pthread_create(&thread, NULL, read_slowly, &r) != 0) DIE("no thread");
  sem_wait(&r.inside);
  int64_t largest = write_much(s, wal, bytes);
  sem_post(&r.go);
  pthread_join(thread, NULL);
  rp_session_free(r.session);
  rp_session_free(s);
  rp_close(e);
  scratch_remove(&dir);
  printf("wal: %" PRId64 " MiB written beside an open reader, log at most %.1f MiB (bound %d MiB), %" PRId64
         " events read\n",
         bytes / MIB, (double)largest / (double)MIB, (int)(BOUND / MIB), r.seen);
  if (r.rc != 0) DIE("the reader failed: %d", r.rc);
  return largest <= BOUND ? 0 : 1;
}
