/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics for Prometheus (O-07). Their names are a contract, and so are the bounds of the histograms, because
 * users' graphs depend on both.
 */
#include "engine/keep/metrics.h"

#include <math.h>

#include "engine/engine.h"

#define TEXT_MAX (256 * 1024)

static const double seconds_bounds[RP_BUCKETS] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,    0.25,  0.5,    1,     2.5,  5,     10};
static const double bytes_bounds[RP_BUCKETS] = {256,   512,   1024,   2048,   4096,   8192,    16384,
                                                32768, 65536, 131072, 262144, 524288, 1048576, 4194304};

void rp__metrics_init(struct rp__metrics *m)
{
  m->snapshot_bytes.bounds = bytes_bounds;
  m->snapshot_seconds.bounds = m->restore_seconds.bounds = seconds_bounds;
}

static const double *bounds_of(const struct rp__histogram *h)
{
  return h->bounds ? h->bounds : seconds_bounds;
}

void rp__metric_observe(struct rp__histogram *h, double v)
{
  const double *bounds = bounds_of(h);
  size_t i = 0;
  if (!isfinite(v)) return;
  while (i < RP_BUCKETS && v > bounds[i]) i++;
  atomic_fetch_add_explicit(&h->bucket[i], 1, memory_order_relaxed);
  double sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&h->sum, &sum, sum + v, memory_order_relaxed, memory_order_relaxed))
    continue;
}

/* ---- the text ---- */

static void head(struct rp__buf *out, const char *name, const char *type, const char *help)
{
  rp__buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(struct rp__buf *out, double v)
{
  struct rp__jw w = RP_JW(out); /* the shortest text that reads back the same, whatever the locale */
  rp__jw_double(&w, v);
  rp__buf_char(out, '\n');
}

static void single(struct rp__buf *out, const char *name, const char *type, const char *help, long long v)
{
  head(out, name, type, help);
  rp__buf_printf(out, "%s %lld\n", name, v);
}

/* A counter by the values of a label, which end with NULL. */
struct result {
  const char *name;
  atomic_llong *value;
};

static void counted(struct rp__buf *out, const char *name, const char *help, const char *label,
                    const struct result *rows)
{
  head(out, name, "counter", help);
  for (; rows->name; rows++)
    rp__buf_printf(out, "%s{%s=\"%s\"} %lld\n", name, label, rows->name, (long long)atomic_load(rows->value));
}

/* The buckets are read one after the other while others count: the total is made from what was read. */
static void histogram(struct rp__buf *out, const char *name, const char *help, struct rp__histogram *h)
{
  const double *bounds = bounds_of(h);
  long long total = 0;
  head(out, name, "histogram", help);
  for (size_t i = 0; i < RP_BUCKETS; i++) {
    total += atomic_load(&h->bucket[i]);
    rp__buf_printf(out, "%s_bucket{le=\"%.15g\"} %lld\n", name, bounds[i], total);
  }
  total += atomic_load(&h->bucket[RP_BUCKETS]);
  rp__buf_printf(out, "%s_bucket{le=\"+Inf\"} %lld\n%s_sum ", name, total, name);
  number(out, atomic_load(&h->sum));
  rp__buf_printf(out, "%s_count %lld\n", name, total);
}

int rp_metrics_text(rp_engine *e, char **ret, rp_error *err)
{
  struct rp__store_stats st = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = e->store->ops->stats(e->store, &st, err);
  if (rc) return rc;
  struct rp__buf out RP_AUTOBUF = RP_BUF(TEXT_MAX);
  struct rp__counters *k = &e->counters;
  struct rp__metrics *m = &e->metrics;
  counted(&out, "reprise_snapshots_total", "Snapshots made.", "result",
          (struct result[]){{"ok", &k->snapshots_ok}, {"failed", &k->snapshots_failed}, {0}});
  counted(
      &out, "reprise_restores_total", "States restored.", "result",
      (struct result[]){{"ok", &k->restores_ok}, {"failed", &k->restores_failed}, {"fallback", &k->fallbacks}, {0}});
  counted(&out, "reprise_checkpoints_total", "Checkpoints that were due.", "result",
          (struct result[]){{"ok", &k->checkpoints_ok}, {"failed", &k->checkpoints_failed}, {0}});
  counted(&out, "reprise_appends_total", "Appends of events.", "result",
          (struct result[]){{"ok", &k->appends}, {"repeated", &k->repeats}, {"refused", &k->refused}, {0}});
  counted(&out, "reprise_heartbeats_total", "Heartbeats written.", "result",
          (struct result[]){{"ok", &k->heartbeats_ok}, {"failed", &k->heartbeats_failed}, {0}});
  single(&out, "reprise_redactions_total", "counter", "Secrets masked before they were stored.",
         atomic_load(&k->redactions));
  single(&out, "reprise_audit_records_total", "counter", "Records of the audit log written.", atomic_load(&k->audits));
  counted(
      &out, "reprise_retention_total", "What retention did to sessions.", "action",
      (struct result[]){
          {"abandon", &m->abandoned}, {"archive", &m->archived}, {"trash", &m->trashed}, {"delete", &m->deleted}, {0}});
  head(&out, "reprise_background_runs_total", "counter", "Passes of background work that had something to do.");
  for (int i = 0; i < RP_JOB_MAX; i++) {
    const char *job = rp__job_name((enum rp__keeper_job)i);
    rp__buf_printf(&out, "reprise_background_runs_total{job=\"%s\",result=\"ok\"} %lld\n", job,
                   (long long)atomic_load(&m->jobs[i].ok));
    rp__buf_printf(&out, "reprise_background_runs_total{job=\"%s\",result=\"failed\"} %lld\n", job,
                   (long long)atomic_load(&m->jobs[i].failed));
  }
  head(&out, "reprise_background_seconds_total", "counter", "Time spent on background work.");
  for (int i = 0; i < RP_JOB_MAX; i++) {
    rp__buf_printf(&out, "reprise_background_seconds_total{job=\"%s\"} ", rp__job_name((enum rp__keeper_job)i));
    number(&out, (double)atomic_load(&m->jobs[i].micros) / 1e6);
  }
  histogram(&out, "reprise_snapshot_bytes", "Size of snapshots as stored.", &m->snapshot_bytes);
  histogram(&out, "reprise_snapshot_seconds", "Time to make and store a snapshot.", &m->snapshot_seconds);
  histogram(&out, "reprise_restore_seconds", "Time to restore a state.", &m->restore_seconds);
  head(&out, "reprise_sessions", "gauge", "Sessions by status, those in the trash left out.");
  for (int i = 0; i < RP_STATUS_MAX; i++)
    rp__buf_printf(&out, "reprise_sessions{status=\"%s\"} %lld\n", rp__status_name((enum rp__status)i),
                   (long long)st.sessions[i]);
  single(&out, "reprise_sessions_trashed", "gauge", "Sessions in the trash.", st.trashed);
  single(&out, "reprise_runs_open", "gauge", "Runs that have not ended.", st.runs_open);
  single(&out, "reprise_events", "gauge", "Events stored.", st.events);
  single(&out, "reprise_records", "gauge", "Records of ended sessions that are not archived.", st.records);
  single(&out, "reprise_memories", "gauge", "Memories stored.", st.memories);
  single(&out, "reprise_audit_records", "gauge", "Records in the audit log.", st.audits);
  single(&out, "reprise_store_bytes", "gauge", "Size of the database file.", st.file_bytes);
  single(&out, "reprise_store_free_bytes", "gauge", "Part of it that is free.", st.free_bytes);
  single(&out, "reprise_store_wal_bytes", "gauge", "Size of the write-ahead log.", st.wal_bytes);
  return rp__text_give(&out, ret, err);
}
