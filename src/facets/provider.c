/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the agent behind the session: its type, configuration, capabilities and its own id of the session,
 * merged from `provider` events (null takes a member away). Of config and metadata the members are merged. Another type
 * is another agent: nothing that was said of the one before is true of it.
 */
#include "facets/table.h"

#include "facets/merge.h"
#include "json/text.h"

#define BYTES_MAX ((size_t)32 * 1024)

struct provider {
  struct rp__object object;
};

static bool same_text(struct rp__json a, struct rp__json b)
{
  if (a.type != RP_JSON_STRING || b.type != RP_JSON_STRING) return false;
  return rp__json_text_cmp((struct rp__str){a.p, a.n}, (struct rp__str){b.p, b.n}) == 0;
}

static int provider_apply(void *state, const struct rp__event *ev)
{
  static const char *const deep[RP_MERGE_DEEP_MAX] = {"config", "metadata"};
  struct provider *p = state;
  if (ev->kind != RP_KIND_PROVIDER) return 0;
  struct rp__json was = rp__json_get(rp__object_json(&p->object), "type"), type = rp__json_get(ev->body, "type");
  if (type.type == RP_JSON_STRING && was.type == RP_JSON_STRING && !same_text(was, type)) rp__object_done(&p->object);
  return rp__object_merge(&p->object, ev->body, deep, BYTES_MAX);
}

static bool provider_empty(const void *state)
{
  return rp__object_empty(&((const struct provider *)state)->object);
}

static void provider_save(const void *state, struct rp__jw *w)
{
  rp__jw_value(w, rp__object_json(&((const struct provider *)state)->object));
}

static int provider_load(void *state, struct rp__json v, rp_error *err)
{
  struct provider *p = state;
  bool ok;
  if (rp__object_load(&p->object, v, BYTES_MAX, &ok)) return rp__fail_nomem(err);
  return ok ? 0 : rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "provider", "'provider' holds what no snapshot does");
}

static void provider_done(void *state)
{
  rp__object_done(&((struct provider *)state)->object);
}

const struct rp__facet_ops rp__facet_provider = {
    .name = "provider",
    .state_size = sizeof(struct provider),
    .max_bytes = BYTES_MAX,
    .apply = provider_apply,
    .empty = provider_empty,
    .save = provider_save,
    .load = provider_load,
    .done = provider_done,
};
