/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was learned in the session, and what came with it from earlier ones. A memory's text and score live in the
 * scope's memories; here is what the session knows of them. What it learned itself follows the word of `confidence`
 * events; what it inherited keeps the aged confidence it came with, for decay never changes a stored score.
 */
#include "facets/rows.h"
#include "facets/table.h"

#define BYTES_MAX ((size_t)96 * 1024)

enum { MEMORY_ID, CONFIDENCE, CONTENT, CATEGORIES, INHERITED_FROM, ORIGINAL };

static const struct rp__shape shape = {
    .name = "learnings",
    .columns = {[MEMORY_ID] = {"memory_id", RP_CELL_ID, RP_COL_NEED, 0},
                [CONFIDENCE] = {"confidence", RP_CELL_NUMBER, 0, 0},
                [CONTENT] = {"content", RP_CELL_TEXT, 0, 256},
                [CATEGORIES] = {"categories", RP_CELL_ARRAY, 0, 256},
                [INHERITED_FROM] = {"inherited_from", RP_CELL_TEXT, RP_COL_NULL, 128},
                [ORIGINAL] = {"original", RP_CELL_NUMBER, 0, 0}},
    .time_name = "at",
    .keyed = true,
    .max_rows = 256,
    .max_bytes = BYTES_MAX,
};

/* A memory learned again is the newest. */
static int apply_learning(struct rp__rows *r, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  int rc = rp__cells_read(&shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  if (c.cell[CONFIDENCE].n == 0) rp__cells_literal(&c, CONFIDENCE, "1.0");
  c.cell[INHERITED_FROM] = c.cell[ORIGINAL] = (struct rp__str){0};
  return rp__rows_renew(r, &shape, rp__rows_find(r, c.cell[MEMORY_ID]), &c, ev->at_ms);
}

/* Reads the event as a learning whose confidence is the new score. */
static int apply_confidence(struct rp__rows *r, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells told = {0}, c = {0};
  struct rp__json score = rp__json_get(ev->body, "new_score");
  double value;
  bool ok;
  if (r->count == 0 || !rp__json_double(score, &value) || score.n > 32) return 0;
  int rc = rp__cells_read(&shape, ev->body, &told, &ok);
  if (rc || !ok) return rc;
  size_t i = rp__rows_find(r, told.cell[MEMORY_ID]);
  if (i == r->count || r->v[i]->n[INHERITED_FROM]) return 0;
  rp__cells_from(&c, r->v[i]);
  c.cell[CONFIDENCE] = (struct rp__str){score.p, score.n};
  return rp__rows_put(r, &shape, i, &c, r->v[i]->at_ms);
}

static int inherit(struct rp__rows *r, struct rp__json item, int64_t now)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  int rc = rp__cells_read(&shape, item, &c, &ok);
  if (rc || !ok || c.cell[CONFIDENCE].n == 0) return rc;
  size_t i = rp__rows_find(r, c.cell[MEMORY_ID]);
  if (i < r->count) return 0;
  if (c.cell[INHERITED_FROM].n == 0) rp__cells_literal(&c, INHERITED_FROM, "\"\"");
  return rp__rows_put(r, &shape, i, &c, rp__rows_time(item, "at", now));
}

static int apply_restored(struct rp__rows *r, const struct rp__event *ev)
{
  struct rp__json memories = rp__json_get(ev->body, "memories"), item;
  struct rp__json_iter it = {0};
  int rc = 0;
  if (memories.type != RP_JSON_ARRAY) return 0;
  while (rc == 0 && rp__json_next(memories, &it, NULL, &item)) rc = inherit(r, item, ev->at_ms);
  return rc;
}

static int learnings_apply(void *state, const struct rp__event *ev)
{
  switch (ev->kind) {
  case RP_KIND_LEARNING: return apply_learning(state, ev);
  case RP_KIND_CONFIDENCE: return apply_confidence(state, ev);
  case RP_KIND_RESTORED: return apply_restored(state, ev);
  default: return 0;
  }
}

static bool learnings_empty(const void *state)
{
  return ((const struct rp__rows *)state)->count == 0;
}

static void learnings_save(const void *state, struct rp__jw *w)
{
  rp__rows_save(state, &shape, w);
}

static void learnings_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  (void)now_ms;
  rp__rows_show(state, &shape, w);
}

static int learnings_load(void *state, struct rp__json v, rp_error *err)
{
  return rp__rows_load(state, &shape, v, err);
}

static void learnings_done(void *state)
{
  rp__rows_done(state);
}

const struct rp__facet_ops rp__facet_learnings = {
    .name = "learnings",
    .state_size = sizeof(struct rp__rows),
    .max_bytes = BYTES_MAX + 2,
    .apply = learnings_apply,
    .empty = learnings_empty,
    .save = learnings_save,
    .show = learnings_show,
    .load = learnings_load,
    .done = learnings_done,
};
