/* SPDX-License-Identifier: Apache-2.0 */
/* How the confidence in memories changed (X-01: confidence_updates); the newest hundred. */
#include "facets/rows.h"
#include "facets/table.h"

#define BYTES_MAX ((size_t)48 * 1024)

static const struct rp__shape shape = {
    .name = "confidence_updates",
    .columns = {{"memory_id", RP_CELL_ID, RP_COL_NEED, 0},
                {"old_score", RP_CELL_NUMBER, RP_COL_NEED, 0},
                {"new_score", RP_CELL_NUMBER, RP_COL_NEED, 0},
                {"reason", RP_CELL_TEXT, RP_COL_NEED, 256}},
    .time_name = "timestamp",
    .max_rows = 100,
    .max_bytes = BYTES_MAX,
};

static int confidence_apply(void *state, const struct rp__event *ev)
{
  struct rp__rows *r = state;
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  if (ev->kind != RP_KIND_CONFIDENCE) return 0;
  int rc = rp__cells_read(&shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  return rp__rows_put(r, &shape, r->count, &c, ev->at_ms);
}

static bool confidence_empty(const void *state)
{
  return ((const struct rp__rows *)state)->count == 0;
}

static void confidence_save(const void *state, struct rp__jw *w)
{
  rp__rows_save(state, &shape, w);
}

static void confidence_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  (void)now_ms;
  rp__rows_show(state, &shape, w);
}

static int confidence_load(void *state, struct rp__json v, rp_error *err)
{
  return rp__rows_load(state, &shape, v, err);
}

static void confidence_done(void *state)
{
  rp__rows_done(state);
}

const struct rp__facet_ops rp__facet_confidence = {
    .name = "confidence_updates",
    .state_size = sizeof(struct rp__rows),
    .max_bytes = BYTES_MAX + 2,
    .apply = confidence_apply,
    .empty = confidence_empty,
    .save = confidence_save,
    .show = confidence_show,
    .load = confidence_load,
    .done = confidence_done,
};
