/* SPDX-License-Identifier: Apache-2.0 */
/* B-07: a new session with a copy of the journal up to some event. It stands on its own: the old one may go. */
#include "engine/copy.h"
#include "engine/request.h"

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

/* One that is gone or damaged keeps no session from being forked: verify tells of it in both. */
static int copy_blob(rp_session *s, struct fork_ctx *x, const char *id)
{
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(RP_BLOB_MAX);
  struct rp__blob_new b = {0};
  rp_error why = {0};
  int rc = rp__blob_read_all(s, id, &bytes, &b.at_ms, &why);
  if (rc == RP_E_BLOB_NOT_FOUND || rc == RP_E_CORRUPT) {
    rp__log(&s->e->log, RP_LOG_WARN, "%s", why.message);
    return 0;
  }
  if (rc) *x->err = why;
  if (rc) return rc;
  b.bytes = bytes.p ? bytes.p : "";
  b.n = bytes.n;
  snprintf(b.id, sizeof b.id, "%s", id);
  return rp__copy_blob(x->copy, &b, x->err);
}

static void fork_row(const struct rp__session_row *from, int64_t at_seq, int64_t now, struct rp__session_row *to)
{
  *to = (struct rp__session_row){.status = at_seq ? RP_STATUS_ACTIVE : RP_STATUS_CREATED,
                                 .created_at = now,
                                 .last_activity_at = now,
                                 .forked_at_seq = at_seq,
                                 .meta = from->meta};
  rp__uuid7(to->id, now, &rp__system_random);
  memcpy(to->scope, from->scope, sizeof to->scope);
  memcpy(to->channel, from->channel, sizeof to->channel);
  memcpy(to->provider, from->provider, sizeof to->provider);
  memcpy(to->forked_from, from->id, sizeof to->forked_from);
}

static int copy_session(rp_session *s, struct rp__session_row *to, struct rp__request_row *request, rp_error *err)
{
  rp_error own;
  struct fork_ctx x = {.err = err ? err : &own};
  int rc = rp__copy_begin(s->e, to, &x.copy, err);
  if (!rc && to->forked_at_seq) rc = rp__journal_read_past(s, 0, to->forked_at_seq, on_event, &x, NULL, x.err);
  for (size_t i = 0; !rc && i < x.blobs.n; i++) rc = copy_blob(s, &x, x.blobs.v[i]);
  if (!rc) rc = rp__copy_tails(x.copy, s, err);
  if (!rc && request) memcpy(request->session_id, to->id, sizeof request->session_id);
  if (!rc && request) request->born = to->created_at;
  if (!rc) rc = rp__copy_finish(x.copy, to, request, err);
  rp__blob_ids_done(&x.blobs);
  rp__copy_free(x.copy);
  return rc;
}

int rp_fork_once(rp_session *s, int64_t at_seq, const rp_request *r, char *ret_id, bool *ret_repeated, rp_error *err)
{
  struct rp__session_row from RP_CLEANUP(rp__session_row_done) = {0}, to;
  struct rp__request_row request = {0};
  bool again = false;
  int rc = rp__session_check(s, err);
  if (!rc) rc = rp__session_row(s, &from, err);
  if (!rc && r) rc = rp__request_find(s->e, s->scope, "fork", s->id, at_seq, r, &request, &again, err);
  if (rc) return rc;
  if (at_seq > from.last_seq && !again)
    return rp__fail_field(err, RP_E_SEQ_NOT_FOUND, "at", "session %s has %lld events", s->id, (long long)from.last_seq);
  fork_row(&from, at_seq < 0 ? from.last_seq : at_seq, rp__engine_now(s->e), &to); /* borrows its meta */
  if (!again) rc = copy_session(s, &to, r ? &request : NULL, err);
  if (rc == RP_E_FENCED && r) { /* somebody else has made it meanwhile */
    int found = rp__request_find(s->e, s->scope, "fork", s->id, at_seq, r, &request, &again, err);
    rc = found || again ? found : rc;
  }
  if (rc) return rc;
  memcpy(ret_id, again ? request.session_id : to.id, sizeof to.id);
  if (ret_repeated) *ret_repeated = again;
  return 0;
}

int rp_fork(rp_session *s, int64_t at_seq, char *ret_id, rp_error *err)
{
  return rp_fork_once(s, at_seq, NULL, ret_id, NULL, err);
}
