/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs the session's agent and how it does (L-05, C-04), merged from `runtime`
 * events (null takes a member away). A status that may not follow the one before
 * changes nothing. An explicit start gives one that failed or was terminated another
 * life.
 */
#include "core/runtime.h"
#include "facets/merge.h"
#include "facets/table.h"

#define BYTES_MAX ((size_t)8 * 1024)
#define PATCH_MAX 128

struct runtime {
  struct rp__object object;
};

static enum rp__runtime status_in(struct rp__json v)
{
  struct rp__json status = rp__json_get(v, "status");
  if (status.type != RP_JSON_STRING) return RP_RUNTIME_NONE;
  return rp__runtime_parse(status.p + 1, status.n - 2);
}

static int merge(struct runtime *r, struct rp__json patch)
{
  return rp__object_merge(&r->object, patch, NULL, BYTES_MAX);
}

static int set_status(struct runtime *r, enum rp__runtime status)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(PATCH_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "status", rp__runtime_name(status)); /* null, of none, takes it away */
  rp__jw_end_object(&w);
  return out.err ? out.err : merge(r, rp__json_trusted(out.p, out.n));
}

static int apply_told(struct runtime *r, struct rp__json body)
{
  enum rp__runtime was = status_in(rp__object_json(&r->object)), told = status_in(body);
  bool kept = rp__json_get(body, "status").type != RP_JSON_NONE && !rp__runtime_may(was, told);
  int rc = merge(r, body);
  return !rc && kept ? set_status(r, was) : rc;
}

static int apply_restored(struct runtime *r)
{
  enum rp__runtime was = status_in(rp__object_json(&r->object));
  if (was != RP_RUNTIME_ERROR && was != RP_RUNTIME_TERMINATED) return 0;
  int rc = merge(r, rp__json_trusted("{\"reason\":null}", 15));
  return rc ? rc : set_status(r, RP_RUNTIME_STARTING);
}

static int runtime_apply(void *state, const struct rp__event *ev)
{
  if (ev->kind == RP_KIND_RUNTIME) return apply_told(state, ev->body);
  return ev->kind == RP_KIND_RESTORED ? apply_restored(state) : 0;
}

static bool runtime_empty(const void *state)
{
  return rp__object_empty(&((const struct runtime *)state)->object);
}

static void runtime_save(const void *state, struct rp__jw *w)
{
  rp__jw_value(w, rp__object_json(&((const struct runtime *)state)->object));
}

static int runtime_load(void *state, struct rp__json v, rp_error *err)
{
  struct runtime *r = state;
  bool ok;
  if (rp__object_load(&r->object, v, BYTES_MAX, &ok)) return rp__fail_nomem(err);
  return ok ? 0 : rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "runtime", "'runtime' holds what no snapshot does");
}

static void runtime_done(void *state)
{
  rp__object_done(&((struct runtime *)state)->object);
}

const struct rp__facet_ops rp__facet_runtime = {
    .name = "runtime",
    .state_size = sizeof(struct runtime),
    .max_bytes = BYTES_MAX,
    .apply = runtime_apply,
    .empty = runtime_empty,
    .save = runtime_save,
    .load = runtime_load,
    .done = runtime_done,
};
