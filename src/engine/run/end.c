/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run that its owner asks for: last words, final checkpoint, record, closed session. */
#include "engine/capture/capture.h"
#include "engine/journal/stream-redaction.h"

/* One attempt; *ret_again: somebody else spoke meanwhile. */
static int end_once(rp_session *s, int64_t now, const char *reason, const struct rp__str *body, bool ended,
                    struct rp__capture *record, bool *ret_again, rp_error *err)
{
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  *ret_again = false;
  int rc = rp__last_words_make(s, &words, err);
  if (!rc && !ended) {
    rp_error why = {0};
    rc = rp__capture_make(s, now, false, &words, record, &why);
    if (rp__capture_passes(rc) || rc == RP_E_IO) {
      if (err) *err = why;
      return rc;
    }
    if (rc) rp__log(&s->e->log, RP_LOG_WARN, "session %s ends without a record: %s", s->id, why.message);
    rc = 0;
  }
  /* The end as one transaction: the run is over, the journal says so, the session is closed and has its record. */
  if (!rc) {
    bool sealed = s->key != NULL;
    words.events[words.n] = (struct rp__new_event){
        .kind = "status", .body = body->p, .body_len = body->n, .at_ms = now, .sealed = sealed, .engine = true};
    struct rp__op base = {.session_ref = s->ref, .session_id = s->id, .now_ms = now, .epoch = s->epoch};
    struct rp__op ops[3 + RP_CAPTURE_OPS] = {base, base, base};
    ops[0].type = RP_OP_SESSION_SET; /* first: it is the one that may be refused */
    ops[0].u.session_set.fields = RP_SET_MOVE;
    ops[0].u.session_set.move = RP_MOVE_CLOSE;
    ops[0].u.session_set.ended_at = now;
    rp__last_words_append(&words, 1, &ops[1]);
    ops[2].type = RP_OP_RUN_END;
    ops[2].u.run_end.ended_at = now;
    ops[2].u.run_end.cause = rp__cause_of_reason(reason);
    ops[2].u.run_end.reason = sealed ? NULL : reason; /* somebody's words: the sealed event has them */
    rc = rp__engine_commit(s->e, ops, 3 + rp__capture_ops(record, ops + 3), RP_DISK, err);
    *ret_again = rc == RP_E_SEQ_CONFLICT && ops[1].ret.unheard;
  }
  if (rc) rp__capture_done(record);
  return rc;
}

int rp_end(rp_session *s, const char *reason, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (rp__outbox_busy(s)) rp_flush(s->e, NULL); /* appends that wait come before the end */
  if (reason && strlen(reason) > 150)
    return rp__fail_field(err, RP_E_USAGE, "reason", "a reason has at most 150 bytes");
  struct rp__session_row row = {0};
  rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  rp__session_row_done(&row);
  int64_t now = rp__engine_now(s->e);
  struct rp__capture record RP_CLEANUP(rp__capture_done) = {0};
  struct rp__buf masked RP_AUTOBUF = RP_BUF(4096), plain RP_AUTOBUF = RP_BUF(4096), sealed RP_AUTOBUF = RP_BUF(8192);
  struct rp__str body = {0};
  if (reason && (rc = rp__engine_mask_text(s->e, s->scope, reason, &masked, &reason))) return rp__fail_nomem(err);
  bool ended = rp__status_ended(row.status), again = true;
  /* L-05: close is a final checkpoint, then closed. What is damaged must not keep the session from ending. */
  if (!ended) {
    rp_error why = {0};
    if (s->config->snapshot_on_exit && rp__checkpoint(s, "exit", NULL, &why))
      rp__log(&s->e->log, RP_LOG_DEBUG, "final checkpoint of session %s: %s", s->id, why.message);
  }
  struct rp__jw w = RP_JW(&plain);
  rp__jw_pack(&w, "{status:s cause:s", rp__status_name(RP_STATUS_CLOSED), rp__cause_name(rp__cause_of_reason(reason)));
  if (reason) rp__jw_kstr(&w, "reason", reason);
  rp__jw_end_object(&w);
  rc = plain.err ? rp__fail_nomem(err) : 0;
  if (!rc && (rc = rp__journal_seal(s, plain.p, plain.n, &sealed, &body))) rp__fail_nomem(err);
  if (rc) return rc;
  for (int i = 0; again && i < RP_LAST_WORDS_TRIES; i++)
    rc = end_once(s, now, reason, &body, ended, &record, &again, err);
  if (rc == RP_E_FENCED) atomic_store(&s->fenced, true);
  if (rc) return rc;
  atomic_store(&s->ended, true);
  rp__capture_mirror(s, &record);
  rp__session_mirror(s, true);
  return 0;
}
