/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memories that a session learned or inherited. The text and the score of a memory are in the scope's memories;
 * this facet has what the session knows of them. A memory that the session learned gets its confidence from
 * `confidence` events. A memory that it inherited keeps the aged confidence that it came with, because decay never
 * changes a stored score.
 */
#include "facets/learnings.h"

#define BYTES_MAX ((size_t)96 * 1024)
#define CONFIDENCE_BYTES ((size_t)48 * 1024)

static const struct rp__shape shape = {
    .name = "learnings",
    .columns = {[RP_LEARNING_MEMORY_ID] = {"memory_id", RP_CELL_ID, RP_COL_NEED, 0},
                [RP_LEARNING_CONFIDENCE] = {"confidence", RP_CELL_NUMBER, 0, 0},
                [RP_LEARNING_CONTENT] = {"content", RP_CELL_TEXT, 0, 256},
                [RP_LEARNING_CATEGORIES] = {"categories", RP_CELL_ARRAY, 0, 256},
                [RP_LEARNING_INHERITED_FROM] = {"inherited_from", RP_CELL_TEXT, RP_COL_NULL, 128},
                [RP_LEARNING_ORIGINAL] = {"original", RP_CELL_NUMBER, 0, 0}},
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
  if (c.cell[RP_LEARNING_CONFIDENCE].n == 0) rp__cells_literal(&c, RP_LEARNING_CONFIDENCE, "1.0");
  c.cell[RP_LEARNING_INHERITED_FROM] = c.cell[RP_LEARNING_ORIGINAL] = (struct rp__str){0};
  return rp__rows_renew(r, rp__rows_find(r, c.cell[RP_LEARNING_MEMORY_ID]), &c, ev->at_ms);
}

/* Reads the event as a learning whose confidence is the new score. */
static int apply_confidence(struct rp__rows *r, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells told = {0}, c = {0};
  struct rp__json score = rp__event_get(ev, "new_score");
  double value;
  bool ok;
  if (r->count == 0 || !rp__json_double(score, &value) || score.n > 32) return 0;
  int rc = rp__cells_read(&shape, ev->body, &told, &ok);
  if (rc || !ok) return rc;
  size_t i = rp__rows_find(r, told.cell[RP_LEARNING_MEMORY_ID]);
  if (i == r->count || r->v[i]->n[RP_LEARNING_INHERITED_FROM]) return 0;
  rp__cells_from(&c, r->v[i]);
  c.cell[RP_LEARNING_CONFIDENCE] = (struct rp__str){score.p, score.n};
  return rp__rows_put(r, i, &c, r->v[i]->at_ms);
}

static int apply_restored(struct rp__rows *r, const struct rp__event *ev)
{
  struct rp__json memories = rp__event_get(ev, "memories"), item;
  struct rp__json_iter it = {0};
  int rc = 0;
  while (rc == 0 && memories.type == RP_JSON_ARRAY && rp__json_next(memories, &it, NULL, &item)) {
    RP_AUTOCELLS struct rp__cells c = {0};
    bool ok;
    rc = rp__cells_read(&shape, item, &c, &ok);
    if (rc || !ok || c.cell[RP_LEARNING_CONFIDENCE].n == 0) continue;
    size_t i = rp__rows_find(r, c.cell[RP_LEARNING_MEMORY_ID]);
    if (i < r->count) continue;
    if (c.cell[RP_LEARNING_INHERITED_FROM].n == 0) rp__cells_literal(&c, RP_LEARNING_INHERITED_FROM, "\"\"");
    rc = rp__rows_put(r, i, &c, rp__rows_time(item, "at", ev->at_ms));
  }
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

const struct rp__facet_ops rp__facet_learnings = {
    .name = "learnings",
    RP_ROWS_SLOTS(shape, BYTES_MAX),
    .apply = learnings_apply,
    .show = rp__rows_show,
};

/* How the confidence in memories changed (X-01: confidence_updates); the newest hundred. */
static const struct rp__shape confidence_shape = {
    .name = "confidence_updates",
    .kind = RP_KIND_CONFIDENCE,
    .columns = {{"memory_id", RP_CELL_ID, RP_COL_NEED, 0},
                {"old_score", RP_CELL_NUMBER, RP_COL_NEED, 0},
                {"new_score", RP_CELL_NUMBER, RP_COL_NEED, 0},
                {"reason", RP_CELL_TEXT, RP_COL_NEED, 256}},
    .time_name = "timestamp",
    .max_rows = 100,
    .max_bytes = CONFIDENCE_BYTES,
};

const struct rp__facet_ops rp__facet_confidence = {
    .name = "confidence_updates",
    RP_ROWS_SLOTS(confidence_shape, CONFIDENCE_BYTES),
    .apply = rp__rows_append,
    .show = rp__rows_show,
};
