/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens, cost and requests, summed. Counts stop at the largest integer. The cost is a sum of doubles: exact to some 15
 * digits, that is to a millionth of a cent up to ten million dollars, and the same on every replay, because the order
 * is the same. Restoring an earlier state subtracts nothing, because what was spent stays spent.
 */
#include "facets/usage.h"

#include <float.h>

#include "facets/table.h"

static const struct count {
  const char *name;
  size_t at;
} counts[] = {
    {"tokens_in", offsetof(struct rp__usage, tokens_in)},
    {"tokens_out", offsetof(struct rp__usage, tokens_out)},
    {"requests", offsetof(struct rp__usage, requests)},
};

static int64_t *count_in(struct rp__usage *u, const struct count *c)
{
  return (int64_t *)(void *)((char *)u + c->at);
}

static int usage_apply(void *state, const struct rp__event *ev)
{
  struct rp__usage *u = state;
  if (ev->kind != RP_KIND_USAGE) return 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(counts); i++) {
    int64_t v, *sum = count_in(u, &counts[i]);
    if (!rp__json_i64(rp__event_get(ev, counts[i].name), &v) || v < 0) continue;
    if (__builtin_add_overflow(*sum, v, sum)) *sum = INT64_MAX;
  }
  double cost;
  if (rp__json_double(rp__event_get(ev, "cost_usd"), &cost) && cost > 0) {
    u->cost_usd += cost;
    if (u->cost_usd > DBL_MAX) u->cost_usd = DBL_MAX;
  }
  return 0;
}

static bool usage_empty(const void *state)
{
  const struct rp__usage *u = state;
  return u->tokens_in == 0 && u->tokens_out == 0 && u->requests == 0 && !(u->cost_usd > 0);
}

static void usage_save(const void *state, struct rp__jw *w)
{
  const struct rp__usage *u = state;
  rp__jw_pack(w, "{tokens_in:i tokens_out:i cost_usd:d requests:i}", u->tokens_in, u->tokens_out, u->cost_usd,
              u->requests);
}

static int usage_load(void *state, struct rp__json v, rp_error *err)
{
  struct rp__usage *u = state;
  bool ok = v.type == RP_JSON_OBJECT;
  for (size_t i = 0; i < RP_ARRAY_SIZE(counts); i++) {
    int64_t *sum = count_in(u, &counts[i]);
    ok = ok && rp__json_i64(rp__json_get(v, counts[i].name), sum) && *sum >= 0;
  }
  ok = ok && rp__json_double(rp__json_get(v, "cost_usd"), &u->cost_usd) && u->cost_usd >= 0;
  return ok ? 0 : rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "usage", "the sums of usage are not sums");
}

const struct rp__facet_ops rp__facet_usage = {
    .name = "usage",
    .state_size = sizeof(struct rp__usage),
    .max_bytes = 512,
    .lasting = true,
    .apply = usage_apply,
    .empty = usage_empty,
    .save = usage_save,
    .load = usage_load,
};

const struct rp__usage *rp__usage(const struct rp__fold *f)
{
  return rp__fold_facet(f, rp__facet_usage.name);
}
