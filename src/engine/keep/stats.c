/* SPDX-License-Identifier: Apache-2.0 */
/* rp_stats_json and rp_doctor_json: numbers of what the store holds, and checks of its health. */
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/size.h"
#include "engine/engine.h"

#define DOC_MAX (256 * 1024)
#define SPACE_LOW (256LL * 1024 * 1024)
#define WAL_LARGE (128LL * 1024 * 1024)
#define TURN_WATCHED_MS 1000
#define TURN_LOOKS 20

int rp_stats_json(rp_engine *e, char **ret, rp_error *err)
{
  struct rp__store_stats st = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = e->store->ops->stats(e->store, &st, err);
  if (rc) return rc;
  struct rp__buf out RP_AUTOBUF = RP_BUF(DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  int64_t all = 0;
  rp__jw_pack(&w, "{sessions:{");
  for (int i = 0; i < RP_STATUS_MAX; i++) {
    rp__jw_ki64(&w, rp__status_name((enum rp__status)i), st.sessions[i]);
    all += st.sessions[i];
  }
  rp__jw_pack(
      &w, "total:i} runs_open:i events:i event_bytes:i snapshots:i snapshot_bytes:i blobs:i blob_bytes:i file_bytes:i",
      all, st.runs_open, st.events, st.event_bytes, st.snapshots, st.snapshot_bytes, st.blobs, st.blob_bytes,
      st.file_bytes);
  rp__jw_pack(&w, "wal_bytes:i index_left:i schema_version:i", st.wal_bytes, st.index_left, (int64_t)st.schema_version);
  pthread_mutex_lock(&e->queue.lock);
  int64_t groups = e->queue.groups, txns = e->queue.txns, failures = e->queue.failures;
  pthread_mutex_unlock(&e->queue.lock);
  rp__jw_pack(&w, "commit:{groups:i txns:i failures:i}", groups, txns, failures);
  struct rp__counters *k = &e->counters;
  const struct {
    const char *name;
    atomic_llong *value;
  } rows[] = {
      {"appends", &k->appends},
      {"repeats", &k->repeats},
      {"refused", &k->refused},
      {"snapshots_ok", &k->snapshots_ok},
      {"snapshots_failed", &k->snapshots_failed},
      {"restores_ok", &k->restores_ok},
      {"restores_failed", &k->restores_failed},
      {"checkpoints_ok", &k->checkpoints_ok},
      {"checkpoints_failed", &k->checkpoints_failed},
      {"heartbeats_ok", &k->heartbeats_ok},
      {"heartbeats_failed", &k->heartbeats_failed},
      {"snapshot_fallbacks", &k->fallbacks},
  };
  rp__jw_key(&w, "counters"); /* of this process */
  rp__jw_object(&w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) rp__jw_ki64(&w, rows[i].name, atomic_load(rows[i].value));
  rp__jw_pack(&w, "}}");
  return rp__text_give(&out, ret, err);
}

/* ---- doctor ---- */

/* `status`: ok, warning, problem. */
static void check(struct rp__jw *w, const char *name, const char *status, const char *fmt, ...) RP_PRINTF(4, 5);
static void check(struct rp__jw *w, const char *name, const char *status, const char *fmt, ...)
{
  char text[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  rp__jw_pack(w, "{check:s status:s detail:s}", name, status, text);
}

static const char *network_filesystem(long type)
{
  switch (type) {
  case 0x6969: return "NFS";
  case 0xFF534D42:
  case 0xFE534D42: return "SMB";
  case 0x01021997: return "9p";
  default: return NULL;
  }
}

static void check_files(rp_engine *e, struct rp__jw *w)
{
  char *path RP_AUTOFREE = e->path ? strndup(e->path, rp__store_path_length(e->path)) : NULL;
  char size[32];
  struct stat sb;
  struct statfs fs;
  if (!path) {
    check(w, "database", "warning", "the store is in memory: nothing survives this process");
    return;
  }
  if (stat(path, &sb))
    check(w, "database", "problem", "%s can't be looked at", path);
  else if (sb.st_mode & 077)
    check(w, "database", "warning", "%s is open to others (mode %03o): chmod 600 it", path, sb.st_mode & 0777);
  else
    check(w, "database", "ok", "%s", path);
  if (statfs(path, &fs)) return;
  const char *net = network_filesystem((long)fs.f_type);
  int64_t available = (int64_t)fs.f_bavail * fs.f_bsize;
  if (net)
    check(w, "filesystem", "problem", "%s: locks and fsync can't be trusted over the network", net);
  else
    check(w, "filesystem", "ok", "local");
  rp__size_format(available, size, sizeof size);
  check(w, "space", available < SPACE_LOW ? "warning" : "ok", "%s available", size);
}

static void check_store(rp_engine *e, struct rp__jw *w)
{
  struct rp__store_stats st = {0};
  rp_error err = {0};
  char size[32];
  if (e->store->ops->stats(e->store, &st, &err)) {
    check(w, "store", "problem", "%s", err.message);
    return;
  }
  check(w, "schema", "ok", "version %d", st.schema_version);
  rp__size_format(st.wal_bytes, size, sizeof size);
  check(w, "write-ahead log", st.wal_bytes > WAL_LARGE ? "warning" : "ok", "%s%s", size,
        st.wal_bytes > WAL_LARGE ? ": a reader stays open or a writer is stopped" : "");
  if (st.loss[0]) check(w, "loss", "problem", "%s", st.loss);
  if (st.sync_failed)
    check(w, "sync", "warning",
          "a sync failed: the next append that is to be on disk writes everything once more first");
  check(w, "full text", "ok", "%lld events behind; a search brings it up to date", (long long)st.index_left);
}

/* A turn is short. One that lasts while we watch keeps everybody from writing. */
static void check_turn(rp_engine *e, struct rp__jw *w)
{
  static const struct timespec step = {0, TURN_WATCHED_MS / TURN_LOOKS * 1000000L};
  char who[RP_TURN_TEXT];
  struct rp__turn first, now;
  if (e->locks.fd < 0) return;
  rp__lockfile_map(&e->locks);
  rp__lockfile_queue_look(&e->locks, &first);
  now = first;
  bool held = rp__lockfile_queue_held(&e->locks);
  for (int i = 0; held && !now.stopped && now.pid == first.pid && now.n == first.n && i < TURN_LOOKS; i++) {
    nanosleep(&step, NULL);
    rp__lockfile_queue_look(&e->locks, &now);
    held = rp__lockfile_queue_held(&e->locks);
  }
  rp__turn_text(&now, who);
  if (!held || now.pid != first.pid || now.n != first.n)
    check(w, "turn to write", "ok", "it passes from writer to writer");
  else if (now.stopped)
    check(w, "turn to write", "problem", "%s has it: nobody else can write ('kill -CONT %lld' lets it go on)", who,
          (long long)now.pid);
  else
    check(w, "turn to write", "warning", "%s has had it for more than %d ms: others wait", who, TURN_WATCHED_MS);
}

struct run_count {
  rp_engine *e;
  int64_t alive, dead;
};

static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct run_count *c = ctx;
  struct rp__evidence v;
  struct rp__verdict verdict;
  rp__run_judge(c->e, run, 0, &v, &verdict);
  if (verdict.alive)
    c->alive++;
  else
    c->dead++;
  return 0;
}

int rp_doctor_json(rp_engine *e, char **ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  struct rp__buf out RP_AUTOBUF = RP_BUF(DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_pack(&w, "{version:s checks:[", RP_VERSION);
  check_files(e, &w);
  check_store(e, &w);
  check_turn(e, &w);
  struct run_count c = {.e = e};
  struct rp__run_filter f = {.open_only = true, .limit = 10000};
  rp_error why = {0};
  if (e->store->ops->run_list(e->store, &f, on_run, &c, &why))
    check(&w, "runs", "problem", "%s", why.message);
  else
    check(&w, "runs", "ok", "%lld alive, %lld whose owner is gone (the next start of their scope ends them)",
          (long long)c.alive, (long long)c.dead);
  if (e->self.boot_id[0])
    check(&w, "boot id", "ok", "%s", e->self.boot_id);
  else
    check(&w, "boot id", "warning", "unknown: a reboot can't be told from a crash");
  if (rp__engine_now(e) < 1700000000000LL)
    check(&w, "clock", "warning", "it is set to the past");
  else
    check(&w, "clock", "ok", "plausible");
  rp__jw_pack(&w, "]}");
  return rp__text_give(&out, ret, err);
}
