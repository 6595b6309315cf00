/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store would say of an append, as far as can be read while it can't be
 * written. Whoever is told "memory" would else hear of a refusal never: the events
 * would be dropped when the store is back.
 */
#include <inttypes.h>

#include "server/server.h"
#include "server/spill-impl.h"

static int on_shown(void *ctx, const rp_session_info *info)
{
  struct rp__vetting *v = ctx;
  v->epoch = info->epoch;
  rp__text_copy(v->status, sizeof v->status, info->trashed_at ? "in the trash" : info->status);
  v->ended = info->ended_at != 0 || info->trashed_at != 0;
  return 0;
}

int rp__vetting_read(struct rp__spill *s, const char *id, rp_session *session, const char *client_id,
                     struct rp__vetting *ret, rp_error *err)
{
  int64_t seq;
  *ret = (struct rp__vetting){.known = true};
  int rc = rp_show(s->srv->engine, id, on_shown, ret, err);
  if (!rc && client_id) rc = rp_sync(session, client_id, &ret->mark, &seq, err);
  if (!rp__away_is(rc)) return rc;
  /* Nothing can be read either: memory is better than nothing, as its sender has said. */
  ret->known = false;
  return 0;
}

/* The last number of the client among those that wait, up to `end` (NULL: all). */
static int64_t waiting_mark(const struct rp__lane *l, const struct rp__kept *end, const char *client_id)
{
  int64_t mark = 0;
  for (const struct rp__kept *k = l ? l->head : NULL; k && k != end; k = k->next)
    if (k->options.client_id && strcmp(k->options.client_id, client_id) == 0)
      mark = RP_MAX(mark, k->options.client_seq + (int64_t)k->n - 1);
  return mark;
}

static int vet_number(const struct rp__vetting *v, int64_t waiting, const rp_append_options *o, size_t n,
                      enum rp__repeat *ret, rp_error *err)
{
  int64_t last = o->client_seq + (int64_t)n - 1, mark = RP_MAX(v->mark, waiting);
  if (last <= mark) {
    *ret = last <= v->mark ? RP_REPEAT_STORED : RP_REPEAT_WAITS;
    return 0;
  }
  if (o->client_seq == mark + 1) return 0;
  return rp__fail(err, RP_E_CLIENT_GAP, "client %s: expected client_seq %" PRId64 ", got %" PRId64, o->client_id,
                  mark + 1, o->client_seq);
}

int rp__vet(const struct rp__vetting *v, const struct rp__lane *l, const struct rp__kept *end, const char *id,
            const rp_append_options *o, size_t n, enum rp__repeat *ret, rp_error *err)
{
  rp_error gap = {0};
  *ret = RP_REPEAT_NONE;
  if (o->client_id && o->client_seq > RP_SEQ_MAX - (int64_t)n)
    return rp__fail_field(err, RP_E_INVALID, "client_seq", "a client's number is at most %lld", RP_SEQ_MAX);
  if (!v->known) return 0;
  int rc = o->client_id ? vet_number(v, waiting_mark(l, end, o->client_id), o, n, ret, &gap) : 0;
  if (*ret) return 0;
  if (o->epoch > v->epoch)
    return rp__fail(err, RP_E_FENCED, "session %s: there is no epoch %" PRId64 " yet, the current one is %" PRId64, id,
                    o->epoch, v->epoch);
  if (o->epoch && o->epoch != v->epoch)
    return rp__fail(err, RP_E_FENCED, "session %s: epoch %" PRId64 " is over, the current one is %" PRId64, id,
                    o->epoch, v->epoch);
  if (v->ended) return rp__fail(err, RP_E_ENDED, "session %s is %s", id, v->status);
  if (rc && err) *err = gap;
  return rc;
}
