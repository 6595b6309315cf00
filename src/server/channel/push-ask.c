/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes whose answer the engine may take a while to give. They run in the pool, and the channel waits for them. */
#include "server/http/call.h"
#include "server/channel/channel.h"

static rp_session *session_of(const struct rp__push *p)
{
  return rp__entry_session(p->ch->entry);
}

int rp__ask_checkpoint(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  int64_t n = 0;
  int rc = rp_checkpoint(session_of(p), &n, err);
  if (rc) return rc;
  rp__jw_object(w);
  rp__jw_ki64(w, "snapshot", n);
  rp__jw_end_object(w);
  return 0;
}

/*
 * L-08. By a handle of its own: the shared one goes on for who resumes the
 * session. Closing what is closed is fine: a client that heard no answer asks again.
 */
int rp__ask_close(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  struct rp__channels *c = p->ch->of;
  rp_session *s = NULL;
  int rc = rp_attach(c->srv->engine, rp__entry_id(p->ch->entry), &s, err);
  if (!rc) rc = rp_end(s, "close_session", err);
  rp_session_free(s);
  bool again = rc == RP_E_ENDED || rc == RP_E_TRANSITION;
  if (rc && !again) return rc;
  rp__member_set_closed(p->ch->member, true);
  rp__jw_object(w);
  rp__jw_kstr(w, "status", "closed");
  rp__jw_end_object(w);
  return 0;
}

/* ---- sync: where a client that was away goes on (L-10) ---- */

static int sync_client(struct rp__push *p, const char *client_id, struct rp__jw *w, rp_error *err)
{
  int64_t last = 0, seq = 0;
  int rc = rp_sync(session_of(p), client_id, &last, &seq, err);
  if (rc) return rc;
  rp__jw_object(w);
  rp__jw_ki64(w, "last_client_seq", last);
  rp__jw_ki64(w, "seq", seq);
  rp__jw_end_object(w);
  return 0;
}

/* The seed's own question: how far the client is behind the journal. */
static int sync_sequence(struct rp__push *p, int64_t known, struct rp__jw *w, rp_error *err)
{
  struct rp__shown x;
  int rc = rp__show(p->ch->of->srv->engine, rp__entry_id(p->ch->entry), &x, err);
  if (rc) return rc;
  int64_t gap = x.seq - known;
  if (known < 0 || gap < 0 || gap > RP_SYNC_GAP_MAX) {
    p->reason = "reset_required";
    return rp__fail_field(err, RP_E_SEQ_CONFLICT, "last_known_sequence", "the journal is at %lld, the client at %lld",
                          (long long)x.seq, (long long)known);
  }
  rp__jw_object(w);
  rp__jw_ki64(w, "gap", gap);
  rp__jw_kstr(w, "status", x.status);
  rp__jw_ki64(w, "seq", x.seq);
  rp__jw_end_object(w);
  return 0;
}

int rp__ask_sync(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  char *client_id RP_AUTOFREE = NULL;
  int64_t known = -1;
  int rc = rp__body_text(p->payload, "client_id", &client_id, err);
  if (!rc) rc = rp__body_i64(p->payload, "last_known_sequence", &known, err);
  if (rc) return rc;
  if (client_id) return sync_client(p, client_id, w, err);
  if (rp__json_get(p->payload, "last_known_sequence").type == RP_JSON_NUMBER) return sync_sequence(p, known, w, err);
  return rp__fail_field(err, RP_E_INVALID, "client_id", "'client_id' is missing");
}

/* L-13: what the next segment should know. */
int rp__ask_brief(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  char *doc = NULL;
  int rc = rp_brief(session_of(p), false, &doc, err);
  if (rc) return rc;
  rp__jw_raw(w, doc, strlen(doc));
  rp_free(doc);
  return 0;
}
