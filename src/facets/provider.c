/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facet `provider`: the agent behind the session (type, configuration, capabilities, the agent's own id of the
 * session), merged from `provider` events; null removes a member. Config and metadata are merged member by member.
 * Another type means another agent, so everything known of the agent before is dropped.
 *
 * The facet `runtime`: the program that runs the agent, and the agent's status (L-05, C-04), merged from `runtime`
 * events. A status that may not follow the one before changes nothing. After a failure or a termination an explicit
 * start is allowed.
 */
#include "facets/provider.h"

#include "facets/merge.h"
#include "facets/table.h"
#include "json/text.h"

#define PROVIDER_BYTES ((size_t)32 * 1024)
#define RUNTIME_BYTES ((size_t)8 * 1024)
#define PATCH_MAX 128

/* ---- slots that both share, whose state is a `struct rp__object` ------------------------- */

static bool object_empty(const void *state)
{
  return rp__object_empty(state);
}

static void object_save(const void *state, struct rp__jw *w)
{
  rp__jw_value(w, rp__object_json(state));
}

static int object_load(struct rp__object *o, struct rp__json v, const struct rp__facet_ops *ops, rp_error *err)
{
  bool ok;
  if (rp__object_load(o, v, ops->max_bytes, &ok)) return rp__fail_nomem(err);
  return ok ? 0 : rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, ops->name, "'%s' holds what no snapshot does", ops->name);
}

static void object_done(void *state)
{
  rp__object_done(state);
}

/* ---- the provider ------------------------------------------------------------------------ */

static bool same_text(struct rp__json a, struct rp__json b)
{
  if (a.type != RP_JSON_STRING || b.type != RP_JSON_STRING) return false;
  return rp__json_text_cmp((struct rp__str){a.p, a.n}, (struct rp__str){b.p, b.n}) == 0;
}

static int provider_apply(void *state, const struct rp__event *ev)
{
  static const char *const deep[RP_MERGE_DEEP_MAX] = {"config", "metadata"};
  struct rp__object *o = state;
  if (ev->kind != RP_KIND_PROVIDER) return 0;
  struct rp__json was = rp__json_get(rp__object_json(o), "type"), type = rp__event_get(ev, "type");
  if (type.type == RP_JSON_STRING && was.type == RP_JSON_STRING && !same_text(was, type)) rp__object_done(o);
  return rp__object_merge(o, ev->body, deep, PROVIDER_BYTES);
}

static int provider_load(void *state, struct rp__json v, rp_error *err)
{
  return object_load(state, v, &rp__facet_provider, err);
}

const struct rp__facet_ops rp__facet_provider = {
    .name = "provider",
    .state_size = sizeof(struct rp__object),
    .max_bytes = PROVIDER_BYTES,
    .apply = provider_apply,
    .empty = object_empty,
    .save = object_save,
    .load = provider_load,
    .done = object_done,
};

struct rp__json rp__provider(const struct rp__fold *f)
{
  return rp__object_json(rp__fold_facet(f, rp__facet_provider.name));
}

/* ---- the runtime ------------------------------------------------------------------------- */

static enum rp__runtime status_in(struct rp__json v)
{
  struct rp__json status = rp__json_get(v, "status");
  if (status.type != RP_JSON_STRING) return RP_RUNTIME_NONE;
  return rp__runtime_parse(status.p + 1, status.n - 2);
}

static int merge(struct rp__object *o, struct rp__json patch)
{
  return rp__object_merge(o, patch, NULL, RUNTIME_BYTES);
}

static int set_status(struct rp__object *o, enum rp__runtime status)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(PATCH_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_pack(&w, "{status:s}", rp__runtime_name(status)); /* null, of none, takes it away */
  return out.err ? out.err : merge(o, rp__json_trusted(out.p, out.n));
}

static int apply_restored(struct rp__object *o)
{
  enum rp__runtime was = status_in(rp__object_json(o));
  if (was != RP_RUNTIME_ERROR && was != RP_RUNTIME_TERMINATED) return 0;
  int rc = merge(o, rp__json_trusted("{\"reason\":null}", 15));
  return rc ? rc : set_status(o, RP_RUNTIME_STARTING);
}

static int runtime_apply(void *state, const struct rp__event *ev)
{
  if (ev->kind == RP_KIND_RUNTIME) {
    struct rp__object *o = state;
    enum rp__runtime was = status_in(rp__object_json(o)), told = status_in(ev->body);
    bool kept = rp__event_get(ev, "status").type != RP_JSON_NONE && !rp__runtime_may(was, told);
    int rc = merge(o, ev->body);
    return !rc && kept ? set_status(o, was) : rc;
  }
  return ev->kind == RP_KIND_RESTORED ? apply_restored(state) : 0;
}

static int runtime_load(void *state, struct rp__json v, rp_error *err)
{
  return object_load(state, v, &rp__facet_runtime, err);
}

const struct rp__facet_ops rp__facet_runtime = {
    .name = "runtime",
    .state_size = sizeof(struct rp__object),
    .max_bytes = RUNTIME_BYTES,
    .apply = runtime_apply,
    .empty = object_empty,
    .save = object_save,
    .load = runtime_load,
    .done = object_done,
};

enum rp__runtime rp__runtime_status(const struct rp__fold *f)
{
  return status_in(rp__object_json(rp__fold_facet(f, rp__facet_runtime.name)));
}
