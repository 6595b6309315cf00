/* SPDX-License-Identifier: Apache-2.0 */
/* Inheriting from a named session whatever its age, and walking the chain of sessions. */
#include "engine/session-digest.h"
#include "engine/start/restoration.h"
#include "engine/journal/stream-redaction.h"

#define BODY_MAX (4 * 1024 * 1024)
#define CHAIN_DEPTH 20
#define CHAIN_MAX 10000

struct continue_ops {
  struct rp__op *ops;
  struct rp__audit_note *notes;
  size_t n, n_notes;
  struct rp__buf plain, sealed;
  struct rp__new_event event;
};

static void continue_ops_done(struct continue_ops *b)
{
  for (size_t i = 0; i < b->n_notes; i++) rp__audit_done(&b->notes[i]);
  free(b->notes);
  free(b->ops);
  rp__buf_done(&b->plain);
  rp__buf_done(&b->sealed);
}

/* Someone's use of the session, so an ended one refuses it; what nothing is left to inherit from adds no event. */
static int add_event(rp_session *s, const struct rp__restoration *r, const char *by, struct continue_ops *b,
                     rp_error *err)
{
  struct rp__str body;
  if (!rp__restoration_any(r)) return 0;
  struct rp__jw w = RP_JW(&b->plain);
  rp__jw_pack(&w, "{type:s by:s", "continue", by);
  rp__restoration_write(r, &w);
  rp__jw_end_object(&w);
  if (b->plain.err || rp__journal_seal(s, b->plain.p, b->plain.n, &b->sealed, &body)) return rp__fail_nomem(err);
  b->event = (struct rp__new_event){
      .kind = "restored", .body = body.p, .body_len = body.n, .at_ms = rp__engine_now(s->e), .sealed = s->key != NULL};
  struct rp__op *op = &b->ops[b->n++];
  *op = (struct rp__op){.type = RP_OP_APPEND,
                        RP__OP_OF(s->e, s),
                        .epoch = s->epoch,
                        .u.append = {.events = &b->event, .n = 1, .expect = -1}};
  return 0;
}

static int store(rp_session *s, const char *from, const char *by, const struct rp__restoration *r, rp_error *err)
{
  size_t audits = rp__restoration_audits(r);
  struct continue_ops b RP_CLEANUP(continue_ops_done) = {.plain = RP_BUF(BODY_MAX), .sealed = RP_BUF(BODY_MAX + 64)};
  b.ops = calloc(audits + 2, sizeof *b.ops);
  b.notes = calloc(audits + 1, sizeof *b.notes);
  if (!b.ops || !b.notes) return rp__fail_nomem(err);
  int rc = add_event(s, r, by, &b, err);
  if (!rc) {
    struct rp__audit_note *note = &b.notes[b.n_notes++];
    rp__audit_begin(note);
    rp__jw_pack(&note->w, "from_session_id:s into_session_id:s by:s", from, s->id, by);
    rc = rp__audit_op_with(r->e, r->scope, r->key, "session_override", note, &b.ops[b.n++], err);
  }
  for (size_t i = 1; !rc && i < audits; i++) /* the first would call it a start */
    rc = rp__restoration_audit(r, s->id, s->id, i, &b.notes[b.n_notes++], &b.ops[b.n++], err);
  if (!rc) rc = rp__engine_commit(s->e, b.ops, b.n, RP_DISK, err);
  if (rc == RP_E_FENCED) atomic_store(&s->fenced, true);
  return rc;
}

/* The session named, and whether it can be continued into this one. */
static int check(rp_session *s, const char *ref, struct rp__session_row *ret, rp_error *err)
{
  struct rp__session_row into = {0};
  int rc = rp__session_lookup(s->e, ref, ret, err);
  if (!rc && strcmp(ret->id, s->id) == 0)
    rc = rp__fail_field(err, RP_E_USAGE, "from", "session %s can't continue itself", s->id);
  if (!rc && strcmp(ret->scope, s->scope) != 0)
    rc = rp__fail_field(err, RP_E_USAGE, "from", "session %s belongs to scope '%s', this one to '%s'", ret->id,
                        ret->scope, s->scope);
  if (!rc) rc = rp__session_row(s, &into, err);
  if (!rc && rp__status_ended(into.status))
    rc = rp__fail(err, RP_E_ENDED, "session %s is %s", s->id, rp__status_name(into.status));
  rp__session_row_done(&into);
  return rc;
}

int rp_continue(rp_session *s, const char *from, const char *by, char **ret, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__restoration r RP_CLEANUP(rp__restoration_done) = {0};
  struct rp__buf masked RP_AUTOBUF = RP_BUF(65536);
  int rc = rp__session_check(s, err);
  if (!rc && !from) rc = rp__fail_field(err, RP_E_USAGE, "from", "no session was named");
  if (!rc && by && strlen(by) > 256) rc = rp__fail_field(err, RP_E_USAGE, "by", "a name has at most 256 bytes");
  if (!rc && by && rp__engine_mask_text(s->e, s->scope, by, &masked, &by)) rc = rp__fail_nomem(err);
  if (!rc) rc = check(s, from, &row, err);
  if (!rc) rc = rp__restoration_continue(s, &row, &r, err);
  if (!rc) rc = store(s, row.id, by, &r, err);
  if (rc || !ret) return rc;
  struct rp__inherited c = rp__restoration_counts(&r);
  struct rp__buf out RP_AUTOBUF = RP_BUF(65536);
  struct rp__jw w = RP_JW(&out);
  rp__jw_pack(&w, "{from:s into:s by:s pins:i tasks:i memories:i}", row.id, s->id, by, c.pins, c.tasks, c.memories);
  return rp__text_give(&out, ret, err);
}

/* ---- the chain ---- */

struct chain {
  struct rp__session_row *rows; /* newest first */
  size_t n, cap;
};

static void chain_done(struct chain *c)
{
  for (size_t i = 0; i < c->n; i++) rp__session_row_done(&c->rows[i]);
  free(c->rows);
}

static bool visited(const struct chain *c, const char *id)
{
  for (size_t i = 0; i < c->n; i++)
    if (strcmp(c->rows[i].id, id) == 0) return true;
  return false;
}

/* Backwards over previous_session_id; a loop, or a session that is gone, ends it. */
static int chain_walk(rp_engine *e, const char *ref, size_t depth, struct chain *c, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = rp__session_lookup(e, ref, &row, err);
  while (!rc) {
    char previous[RP_NAME];
    memcpy(previous, row.previous_id, sizeof previous);
    if (!RP__ROOM(c->rows, c->n, c->cap)) {
      rc = rp__fail_nomem(err);
      break;
    }
    c->rows[c->n++] = row;
    row = (struct rp__session_row){0};
    if (c->n == depth || !previous[0] || visited(c, previous)) break;
    rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, previous, &row, err);
    if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  }
  rp__session_row_done(&row);
  return rc;
}

int rp_chain_json(rp_engine *e, const char *ref, int depth, char **ret, rp_error *err)
{
  struct chain c RP_CLEANUP(chain_done) = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_STATE_MAX);
  struct rp__jw w = RP_JW(&out);
  int rc = rp__engine_check(e, err);
  if (!rc && (depth < 0 || depth > CHAIN_MAX))
    rc = rp__fail_field(err, RP_E_USAGE, "depth", "a depth is between 1 and %d", CHAIN_MAX);
  size_t wanted = depth ? (size_t)depth : CHAIN_DEPTH;
  if (!rc) rc = chain_walk(e, ref ? ref : "", wanted, &c, err);
  if (rc) return rc;
  if (!e->read_only) {
    struct rp__audit_note note;
    const struct rp__session_row *oldest = &c.rows[c.n - 1];
    int64_t end = oldest->ended_at ? oldest->ended_at : oldest->last_activity_at;
    rp__audit_begin(&note);
    rp__jw_pack(&note.w,
                "start_session_id:s start_id:s requested_depth:i depth:i sessions_found:i oldest_session_age_hours:d",
                c.rows[0].id, c.rows[0].id, (int64_t)wanted, (int64_t)wanted, (int64_t)c.n,
                (double)RP_MAX(0, rp__engine_now(e) - end) / 3600e3);
    rp__audit_write(e, c.rows[0].scope, "session_chain_traversal", &note);
    rp__audit_done(&note);
  }
  rp__jw_array(&w);
  for (size_t i = c.n; i > 0; i--) {
    struct rp__session_facts look;
    rc = rp__session_look(e, &c.rows[i - 1], &look, err);
    if (rc) return rc;
    rp__meta_open(e, &c.rows[i - 1]);
    RP_CLEANUP(rp__session_digest_done) struct rp__session_digest d = {0};
    rp_error why = {0};
    rc = rp__session_digest_open(e, &c.rows[i - 1], &d, &why);
    if (rc) rp__log(&e->log, RP_LOG_DEBUG, "the digest of session %s is not told: %s", c.rows[i - 1].id, why.message);
    rp__session_write(&c.rows[i - 1], &look, d.digest, &w);
  }
  rp__jw_end_array(&w);
  return rp__text_give(&out, ret, err);
}
