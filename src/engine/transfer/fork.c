/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rp_fork (B-07): makes a new session with a copy of the journal up to some event. The copy does not depend on the
 * original, which may be deleted.
 */
#include "base/options.h"
#include "base/text.h"
#include "engine/transfer/copy.h"
#include "engine/keep/redact-session.h"
#include "engine/journal/idempotency.h"
#include "engine/journal/stream-redaction.h"
#include "engine/start/start.h"

struct fork_ctx {
  struct rp__copy *copy;
  struct rp__blob_ids blobs; /* that its events name */
  rp_error *err;
};

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct fork_ctx *x = ctx;
  if (rp__blob_ids_note(&x->blobs, ev->body)) return rp__fail_nomem(x->err);
  return rp__copy_event(x->copy, ev->seq, ev->at_ms, ev->kind_name, ev->body.p, ev->body.n, x->err);
}

static int check_options(const rp_fork_options *o, rp_error *err)
{
  struct rp__json_limits limits = {.max_bytes = RP_META_MAX};
  struct rp__json v;
  if (o->id && !rp__name_ok(o->id))
    return rp__fail_field(err, RP_E_USAGE, "id", "id '%s' is not allowed", rp__text_shown(o->id));
  if (!o->meta) return 0;
  int rc = rp__json_parse(o->meta, strlen(o->meta), &limits, &v, err);
  if (rc) return rp__wrap(err, "meta");
  return v.type == RP_JSON_OBJECT ? 0 : rp__fail_field(err, RP_E_INVALID, "meta", "meta must be a JSON object");
}

static int make_meta(rp_session *s, const char *given, const struct rp__session_row *from, const char *id,
                     struct rp__buf *out, rp_error *err)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(2 * RP_META_MAX);
  struct rp__str masked;
  if (!given && !from->meta) return 0;
  if (!given) {
    /* All that was told of the original, but for the id by which an editor finds that one: the fork's is its own. */
    struct rp__jw w = RP_JW(out);
    struct rp__json_iter it = {0};
    struct rp__json key, value;
    rp__jw_object(&w);
    while (rp__json_next(rp__json_trusted(from->meta, strlen(from->meta)), &it, &key, &value)) {
      rp__jw_raw(&w, key.p - 1, key.n + 2);
      rp__buf_char(out, ':');
      w.after_key = true;
      if (rp__json_eq(key, "acp_session_id"))
        rp__jw_str(&w, id);
      else
        rp__jw_value(&w, value);
    }
    rp__jw_end_object(&w);
  } else {
    int rc = rp__engine_mask(s->e, s->scope, RP_KIND_SESSION, rp__json_trusted(given, strlen(given)), &room, &masked);
    if (rc) return rp__fail_nomem(err);
    rp__buf_add(out, masked.p, masked.n);
  }
  return out->err ? rp__fail_nomem(err) : 0;
}

static int copy_session(rp_session *s, struct rp__session_row *to, struct rp__request_row *request, rp_error *err)
{
  rp_error own;
  struct fork_ctx x = {.err = err ? err : &own};
  int rc = rp__copy_begin(s->e, to, &x.copy, err);
  if (!rc && to->forked_at_seq) rc = rp__journal_read_past(s, 0, to->forked_at_seq, on_event, &x, NULL, x.err);
  for (size_t i = 0; !rc && i < x.blobs.n; i++) {
    struct rp__buf bytes RP_AUTOBUF = RP_BUF(RP_BLOB_MAX);
    struct rp__blob_new b = {0};
    rp_error why = {0};
    rc = rp__blob_read_all(s, x.blobs.v[i], &bytes, &b.at_ms, &why);
    if (!rc) {
      b.bytes = bytes.p ? bytes.p : "";
      b.n = bytes.n;
      snprintf(b.id, sizeof b.id, "%s", x.blobs.v[i]);
      rc = rp__copy_blob(x.copy, &b, x.err);
    } else if (rc == RP_E_BLOB_NOT_FOUND || rc == RP_E_CORRUPT) {
      /* One that is gone or damaged keeps no session from being forked: verify tells of it in both. */
      rp__log(&s->e->log, RP_LOG_WARN, "%s", why.message);
      rc = 0;
    } else {
      *x.err = why;
    }
  }
  if (!rc) rc = rp__copy_tails(x.copy, s, err);
  if (!rc && request) memcpy(request->session_id, to->id, sizeof request->session_id);
  if (!rc && request) request->born = to->created_at;
  if (!rc) rc = rp__copy_finish(x.copy, to, request, err);
  rp__blob_ids_done(&x.blobs);
  rp__copy_free(x.copy);
  return rc;
}

int rp_fork(rp_session *s, const rp_fork_options *given, char *ret_id, bool *ret_repeated, rp_error *err)
{
  rp_fork_options own, *o = &own;
  struct rp__session_row from RP_CLEANUP(rp__session_row_done) = {0}, to;
  struct rp__buf meta RP_AUTOBUF = RP_BUF(4 * RP_META_MAX);
  struct rp__request_row request = {0};
  bool again = false;
  int rc = rp__session_check(s, err);
  if (!rc) rc = RP__OPTIONS(o, given, request, err);
  if (!rc) rc = check_options(o, err);
  if (rc) return rc;
  const rp_request *r = o->request;
  int64_t at = o->at_seq == 0 ? -1 : o->at_seq == RP_SEQ_NONE ? 0 : o->at_seq; /* stored digests have -1 for all */
  if (o->id) rc = rp__redaction_check_name(s->e, s->scope, "id", o->id, err);
  if (!rc) rc = rp__session_row(s, &from, err);
  if (!rc && r) rc = rp__request_find(s->e, s->scope, "fork", s->id, at, r, &request, &again, err);
  if (rc) return rc;
  if (at > from.last_seq && !again)
    return rp__fail_field(err, RP_E_SEQ_NOT_FOUND, "at", "session %s has %lld events", s->id, (long long)from.last_seq);
  int64_t at_seq = at < 0 ? from.last_seq : at, now = rp__engine_now(s->e);
  to = (struct rp__session_row){.status = at_seq ? RP_STATUS_ACTIVE : RP_STATUS_CREATED,
                                .created_at = now,
                                .last_activity_at = now,
                                .forked_at_seq = at_seq};
  if (o->id)
    snprintf(to.id, sizeof to.id, "%s", o->id);
  else
    rp__uuid7(to.id, now, &rp__system_random);
  memcpy(to.scope, from.scope, sizeof to.scope);
  memcpy(to.channel, from.channel, sizeof to.channel);
  memcpy(to.provider, from.provider, sizeof to.provider);
  memcpy(to.forked_from, from.id, sizeof to.forked_from);
  rc = make_meta(s, o->meta, &from, to.id, &meta, err);
  if (rc) return rc;
  to.meta = meta.p; /* borrowed */
  if (!again) rc = copy_session(s, &to, r ? &request : NULL, err);
  if (rc == RP_E_FENCED && r) { /* somebody else has made it meanwhile */
    int found = rp__request_find(s->e, s->scope, "fork", s->id, at, r, &request, &again, err);
    rc = found || again ? found : rc;
  }
  if (rc) return rc;
  memcpy(ret_id, again ? request.session_id : to.id, sizeof to.id);
  if (ret_repeated) *ret_repeated = again;
  return 0;
}
