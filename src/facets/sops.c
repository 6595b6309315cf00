/* SPDX-License-Identifier: Apache-2.0 */
/* Procedures that were shown to the agent and what it did with them (X-01: sop_interactions); the newest hundred. */
#include "facets/rows.h"
#include "facets/table.h"

#define BYTES_MAX ((size_t)48 * 1024)

static const struct rp__shape shape = {
    .name = "sops",
    .columns = {{"sop_path", RP_CELL_TEXT, RP_COL_NEED, 512},
                {"injected_at", RP_CELL_ANY, RP_COL_NEED, 64},
                {"tool_call", RP_CELL_ANY, RP_COL_NEED, 512}},
    .flags = {{"acknowledged", false}},
    .max_rows = 100,
    .max_bytes = BYTES_MAX,
};

static int sops_apply(void *state, const struct rp__event *ev)
{
  struct rp__rows *r = state;
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  if (ev->kind != RP_KIND_SOP) return 0;
  int rc = rp__cells_read(&shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  return rp__rows_put(r, &shape, r->count, &c, ev->at_ms);
}

static bool sops_empty(const void *state)
{
  return ((const struct rp__rows *)state)->count == 0;
}

static void sops_save(const void *state, struct rp__jw *w)
{
  rp__rows_save(state, &shape, w);
}

static void sops_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  (void)now_ms;
  rp__rows_show(state, &shape, w);
}

static int sops_load(void *state, struct rp__json v, rp_error *err)
{
  return rp__rows_load(state, &shape, v, err);
}

static void sops_done(void *state)
{
  rp__rows_done(state);
}

const struct rp__facet_ops rp__facet_sops = {
    .name = "sops",
    .state_size = sizeof(struct rp__rows),
    .max_bytes = BYTES_MAX + 2,
    .apply = sops_apply,
    .empty = sops_empty,
    .save = sops_save,
    .show = sops_show,
    .load = sops_load,
    .done = sops_done,
};
