/* SPDX-License-Identifier: Apache-2.0 */
/* B-07: a new session with a copy of the journal up to some event. It stands on its own: the old one may go. */
#include "engine/copy.h"

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

int rp_fork(rp_session *s, int64_t at_seq, char *ret_id, rp_error *err)
{
  struct rp__session_row from = {0}, to;
  int rc = rp__session_check(s, err);
  if (!rc) rc = rp__session_row(s, &from, err);
  if (rc) return rc;
  if (at_seq < 0) at_seq = from.last_seq;
  if (at_seq > from.last_seq) {
    rp__session_row_done(&from);
    return rp__fail_field(err, RP_E_SEQ_NOT_FOUND, "at", "session %s has %lld events", s->id, (long long)from.last_seq);
  }
  rp_error own;
  struct fork_ctx x = {.err = err ? err : &own};
  fork_row(&from, at_seq, rp__engine_now(s->e), &to);
  rc = rp__copy_begin(s->e, &to, &x.copy, err);
  if (!rc && at_seq) rc = rp__journal_read_past(s, 0, at_seq, on_event, &x, NULL, x.err);
  for (size_t i = 0; !rc && i < x.blobs.n; i++) rc = copy_blob(s, &x, x.blobs.v[i]);
  if (!rc) rc = rp__copy_tails(x.copy, s, err);
  if (!rc) rc = rp__copy_finish(x.copy, &to, err);
  rp__blob_ids_done(&x.blobs);
  rp__copy_free(x.copy);
  rp__session_row_done(&from); /* `to` borrowed its meta */
  if (!rc) memcpy(ret_id, to.id, sizeof to.id);
  return rc;
}
