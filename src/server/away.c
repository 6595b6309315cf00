/* SPDX-License-Identifier: Apache-2.0 */
#include "server/away.h"

#include <fcntl.h>

#include "base/macros.h"
#include "base/text.h"

#define PROBE_BYTES (64 * 1024) /* more than a small commit needs */

bool rp__away_is(int rc)
{
  return rc == RP_E_FULL || rc == RP_E_BUSY || rc == RP_E_IO || rc == RP_E_UNREACHABLE || rc == RP_E_READONLY;
}

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void rp__away_init(struct rp__away *a)
{
  *a = (struct rp__away){0};
  pthread_mutex_init(&a->lock, NULL);
}

void rp__away_done(struct rp__away *a)
{
  pthread_mutex_destroy(&a->lock);
}

static void note_failure(struct rp__away *a, int rc, const rp_error *err, int64_t wall_ms)
{
  a->worked = false;
  a->failed_ms = now_ms();
  a->code = rc;
  rp__text_copy(a->why, sizeof a->why, err && err->message[0] ? err->message : rp_error_lookup(rc)->text);
  if (atomic_load(&a->away)) return;
  a->since_ms = wall_ms;
  a->windows++;
}

/* Whether there is anything to be noted: mostly a write has worked, as the one before. */
static bool tells_nothing(struct rp__away *a, int rc)
{
  bool away = atomic_load_explicit(&a->away, memory_order_relaxed);
  if (rc == 0 && atomic_load_explicit(&a->suspected, memory_order_relaxed)) atomic_store(&a->suspected, false);
  if (rc == RP_E_BUSY && !away) return !atomic_exchange(&a->suspected, true);
  return rc ? !rp__away_is(rc) : !away;
}

void rp__away_note(struct rp__away *a, int rc, const rp_error *err, int64_t wall_ms, struct rp__slog *log)
{
  bool failed = rc != 0, before = true;
  if (tells_nothing(a, rc)) return;
  pthread_mutex_lock(&a->lock);
  if (failed) {
    note_failure(a, rc, err, wall_ms);
    before = atomic_exchange(&a->away, true);
  } else {
    a->worked = true;
  }
  pthread_mutex_unlock(&a->lock);
  if (!before)
    rp__slog(log, RP_LOG_ERROR, "store_away", RP_F("code", rp_error_lookup(rc)->name),
             RP_F("why", err ? err->message : NULL));
}

/* ---- back ---- */

static bool place_works(const char *db_path)
{
  static const char zeroes[PROBE_BYTES];
  char path[4096];
  int n = snprintf(path, sizeof path, "%s.probe", db_path);
  if (n < 0 || (size_t)n >= sizeof path) return true;
  int fd RP_AUTOCLOSE = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool works = write(fd, zeroes, sizeof zeroes) == (ssize_t)sizeof zeroes && fsync(fd) == 0;
  unlink(path);
  return works;
}

static bool is_over(struct rp__away *a, const char *db_path)
{
  pthread_mutex_lock(&a->lock);
  int64_t ago = now_ms() - a->failed_ms;
  bool worked = a->worked;
  pthread_mutex_unlock(&a->lock);
  if (worked) return ago >= RP_AWAY_BACK_MS;
  return ago >= RP_AWAY_PROBE_MS && (!db_path || place_works(db_path));
}

void rp__away_settle(struct rp__away *a, const char *db_path, int64_t wall_ms, struct rp__slog *log)
{
  if (!atomic_load(&a->away) || !is_over(a, db_path)) return;
  pthread_mutex_lock(&a->lock);
  atomic_store(&a->away, false);
  int64_t ms = wall_ms - a->since_ms;
  pthread_mutex_unlock(&a->lock);
  rp__slog(log, RP_LOG_INFO, "store_back", RP_FN("away_ms", ms));
}
