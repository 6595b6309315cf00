/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compaction is told once, where it began, as what its updates made of it: each replaces what it names, chunks add to
 * the summary. Its events are read a second time for that.
 */
#include "bridge/acp/note-impl.h"
#include "bridge/acp/replay-impl.h"

#define SUMMARY_MAX ((size_t)4 * 1024 * 1024)
#define PART_MAX ((size_t)256 * 1024)

struct whole {
  struct rp__buf id, status, summary, error, meta; /* raw JSON; the summary's blocks with commas between them */
};

static void whole_done(struct whole *w)
{
  rp__buf_done(&w->id);
  rp__buf_done(&w->status);
  rp__buf_done(&w->summary);
  rp__buf_done(&w->error);
  rp__buf_done(&w->meta);
}

/* A summary that grows too long ends where it does; nothing else of it is lost. */
static void add_block(struct rp__buf *summary, struct rp__json block)
{
  if (block.type != RP_JSON_OBJECT || summary->n + block.n + 1 > SUMMARY_MAX) return;
  if (summary->n) rp__buf_char(summary, ',');
  rp__buf_add(summary, block.p, block.n);
}

/* Absent: as it was. Null: cleared. */
static void patch(struct rp__buf *part, struct rp__json v)
{
  if (!v.type || v.n > PART_MAX) return;
  rp__buf_reset(part);
  if (v.type != RP_JSON_NULL) rp__buf_add(part, v.p, v.n);
}

static void take(struct whole *all, struct rp__json update)
{
  struct rp__json summary = rp__json_get(update, "summary"), block;
  struct rp__json_iter it = {0};
  if (rp__json_eq(rp__json_get(update, "sessionUpdate"), "compaction_summary_chunk")) {
    add_block(&all->summary, rp__json_get(update, "content"));
    return;
  }
  patch(&all->status, rp__json_get(update, "status"));
  patch(&all->error, rp__json_get(update, "error"));
  patch(&all->meta, rp__json_get(update, "_meta"));
  if (summary.type) rp__buf_reset(&all->summary);
  while (rp__json_next(summary, &it, NULL, &block)) add_block(&all->summary, block);
}

static int gather(struct rp__replay *r, const struct rp__compaction *c, struct whole *all, rp_error *err)
{
  struct rp__past past RP_CLEANUP(rp__past_done);
  struct rp__past_event ev;
  int rc = rp__past_open(&past, r->past.s, c->last, err);
  past.at = c->first - 1;
  while (!rc && (rc = rp__past_next(&past, &ev, err)) > 0) {
    rc = 0;
    struct rp__json update = rp__json_get(ev.body, "update"), id = rp__json_get(update, "compactionId");
    bool other = ev.kind != RP_PAST_UPDATE || !rp__is_compaction(rp__json_get(update, "sessionUpdate"));
    if (other || rp__note_hash(id) != c->id || rp__survey_undone(&r->survey, ev.seq)) continue;
    if (!all->id.n) patch(&all->id, id);
    rc = rp__past_whole(&past, &ev, err);
    if (!rc) take(all, rp__json_get(ev.body, "update"));
  }
  return rc;
}

static void write_part(struct rp__jw *w, const char *name, const struct rp__buf *part)
{
  if (!part->n) return;
  rp__jw_key(w, name);
  rp__jw_raw(w, part->p, part->n);
}

static void write_whole(struct rp__replay *r, const struct rp__compaction *c, const struct whole *all)
{
  static const char going[] = "\"in_progress\"";
  struct rp__jw w = RP_JW(&r->out);
  bool goes_on = !all->status.n || (all->status.n == sizeof going - 1 && !memcmp(all->status.p, going, all->status.n));
  rp__buf_reset(&r->out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", "compaction_update");
  write_part(&w, "compactionId", &all->id);
  if (goes_on) /* not beyond the run in which it began */
    rp__jw_kstr(&w, "status", c->last < r->survey.last_run ? "failed" : "in_progress");
  else
    write_part(&w, "status", &all->status);
  if (all->summary.n) {
    rp__jw_key(&w, "summary");
    rp__jw_array(&w);
    rp__jw_raw(&w, all->summary.p, all->summary.n);
    rp__jw_end_array(&w);
  }
  write_part(&w, "error", &all->error);
  write_part(&w, "_meta", &all->meta);
  rp__jw_end_object(&w);
}

int rp__replay_compaction(struct rp__replay *r, const struct rp__past_event *ev, rp_error *err)
{
  struct whole all RP_CLEANUP(whole_done) = {.id = RP_BUF(PART_MAX),
                                             .status = RP_BUF(PART_MAX),
                                             .summary = RP_BUF(SUMMARY_MAX),
                                             .error = RP_BUF(PART_MAX),
                                             .meta = RP_BUF(PART_MAX)};
  const struct rp__compaction *c = NULL;
  for (size_t i = 0; i < r->survey.n_compactions; i++)
    if (r->survey.compactions[i].first == ev->seq) c = &r->survey.compactions[i];
  if (!c) return 0;
  int rc = rp__run_flush(r, err);
  if (!rc) rc = gather(r, c, &all, err);
  if (rc) return rc;
  if (all.id.err || all.status.err || all.summary.err || all.error.err || all.meta.err) return rp__fail_nomem(err);
  write_whole(r, c, &all);
  return rp__replay_emit_out(r, err);
}
