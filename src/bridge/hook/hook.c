/* SPDX-License-Identifier: Apache-2.0 */
/* One hook in one process: find the session, write the journal, answer. */
#include "bridge/hook/hook.h"

#include "bridge/hook/hook-session.h"
#include "bridge/sibling-bridges.h"

static void session_done(rp_session **s)
{
  /* The run is the agent's, not this process's. */
  if (*s) rp_session_detach(*s);
}

/* The session of the agent's own MCP server, if that came first: its guests we are, and the brief was told there. */
static bool join_sibling(rp_engine *e, const struct rp__hook_call *c, const struct rp__hook_session *h, bool far,
                         rp_session **ret)
{
  char id[RP_SCOPE_MAX + 1];
  return rp__siblings_find(e, h->scope, c->owner_pid, "mcp", far, id, NULL) == 0 && rp_attach(e, id, ret, NULL) == 0;
}

/* *ret_guest: somebody else of this agent has begun one already. */
static int begin(rp_engine *e, const struct rp__hook_call *c, const struct rp__hook_session *h, rp_session **ret,
                 bool *ret_guest, rp_error *err)
{
  RP_AUTOCLOSE int lock = rp__siblings_lock(c->owner_pid);
  (void)lock; /* its end is its use */
  *ret_guest = join_sibling(e, c, h, true, ret);
  if (*ret_guest) return 0;
  return rp__hook_session_start(e, h, c->owner_pid ? RP_OWNER_PID : RP_OWNER_NONE, c->owner_pid, ret, err);
}

static int on_start(rp_engine *e, const struct rp__hook_call *c, const struct rp__hook_session *h, struct rp__buf *out,
                    rp_error *err)
{
  rp_session *s RP_CLEANUP(session_done) = NULL;
  RP_AUTOBUF struct rp__buf brief = RP_BUF(RP_HOOK_ANSWER_MAX);
  /* Without an owner a second start would look like the end of the first run; a compaction is none. */
  if (!c->owner_pid && rp__json_eq(rp__json_get(h->input, "source"), "compact") && rp_attach(e, h->key, &s, NULL) == 0)
    return 0;
  bool guest;
  char teller[RP_SIBLINGS_TELLER_MAX];
  int rc = begin(e, c, h, &s, &guest, err);
  if (rc || guest) return rc;
  rp__siblings_teller(h->scope, teller);
  if (rp__siblings_registered(c->owner_pid, teller)) return 0; /* a server of the agent's has told it already */
  rp__hook_brief(s, &brief);
  struct rp__jw w = RP_JW(out);
  bool told = brief.n && !brief.err;
  if (told && h->agent->plain)
    rp__jw_pack(&w, "{additionalContext:n}", brief.p, brief.n);
  else if (told)
    rp__jw_pack(&w, "{hookSpecificOutput:{hookEventName:s additionalContext:n}}", h->word, brief.p, brief.n);
  return out->err ? rp__fail_nomem(err) : 0;
}

/* A server of the agent's that lives on will end what a server began, once it knows that we are done. */
static int on_end(rp_engine *e, const struct rp__hook_call *c, const struct rp__hook_session *h, rp_error *err)
{
  rp_session *s RP_CLEANUP(session_done) = NULL;
  RP_AUTOCLOSE int lock = rp__siblings_lock(c->owner_pid);
  char reason[RP_SCOPE_MAX + 1];
  (void)lock; /* its end is its use */
  bool guest = join_sibling(e, c, h, true, &s);
  if (guest && rp__siblings_registered(c->owner_pid, rp_session_id(s))) return rp__hook_note(s, h, err);
  rp__hook_reason(h, reason);
  int rc = guest ? 0 : rp_attach(e, h->key, &s, err);
  if (!rc) rp__hook_turn_ended(s, h);
  return rc ? rc : rp_end(s, reason, err);
}

static int on_event(rp_engine *e, const struct rp__hook_call *c, const struct rp__hook_session *h, rp_error *err)
{
  rp_session *s RP_CLEANUP(session_done) = NULL;
  /* Many times a turn: what hooks of this agent began, they began because there was nothing to join. */
  bool ours = rp__siblings_began(e, h->key, c->owner_pid, "hook");
  bool guest = !ours && join_sibling(e, c, h, false, &s);
  int rc = guest ? 0 : rp_attach(e, h->key, &s, err);
  if (!rc) rc = rp__hook_note(s, h, err);
  /* Some events may begin a session that is not there; what comes late to one that has ended may not. */
  bool gone = rc == RP_E_SESSION_NOT_FOUND;
  bool asks = h->event == RP_HOOK_PROMPT || h->event == RP_HOOK_TOOL_BEFORE;
  bool late = h->event == RP_HOOK_TOOL_AFTER || h->event == RP_HOOK_STOP;
  if (!(asks && (gone || rc == RP_E_ENDED)) && !(late && gone)) return rc;
  if (s) rp_session_free(RP_TAKE(s));
  rc = begin(e, c, h, &s, &guest, err);
  return rc ? rc : rp__hook_note(s, h, err);
}

static bool wanted(const struct rp__hook_session *h, enum rp__hook_rank rank)
{
  if (h->event == RP_HOOK_NONE || rank == RP_HOOK_ALONE) return h->event != RP_HOOK_NONE;
  /* Of somebody else's session: no start, no end, and nothing that is journalled already. */
  if (h->event == RP_HOOK_START || h->event == RP_HOOK_END) return false;
  return rank == RP_HOOK_GUEST || h->event == RP_HOOK_COMPACT;
}

bool rp__hook_wants(const struct rp__hook_call *c, struct rp__json input)
{
  struct rp__hook_session h;
  /* What is wrong is for rp__hook_handle to say. */
  return rp__hook_session_init(&h, c, input, NULL) != 0 || wanted(&h, rp__hook_rank());
}

int rp__hook_puzzles(const struct rp__hook_call *c, struct rp__json input, rp_error *err)
{
  struct rp__hook_session h;
  int rc = rp__hook_session_init(&h, c, input, err);
  if (rc || h.known) return rc;
  rc = rp__fail_field(err, RP_E_INVALID, "hook_event_name", "'%s' is no event of %s; nothing was stored", h.word,
                      h.agent ? h.agent->title : "any agent whose inputs look like this");
  if (!h.agent) rp__hint(err, "say whose it is with --agent");
  return rc;
}

int rp__hook_handle(rp_engine *e, const struct rp__hook_call *c, struct rp__json input, struct rp__buf *out,
                    rp_error *err)
{
  struct rp__hook_session h;
  enum rp__hook_rank rank = rp__hook_rank();
  int rc = rp__hook_session_init(&h, c, input, err);
  if (rc || !wanted(&h, rank)) return rc;
  if (rank != RP_HOOK_ALONE) {
    rp_session *s RP_CLEANUP(session_done) = NULL;
    RP_AUTOFREE char *cwd = rp__json_dup(rp__json_get(h.input, "cwd"));
    rc = rp__hook_session_attach(e, &h, cwd, &s, err);
    return rc ? rc : rp__hook_note(s, &h, err);
  }
  if (h.event == RP_HOOK_START) return on_start(e, c, &h, out, err);
  return h.event == RP_HOOK_END ? on_end(e, c, &h, err) : on_event(e, c, &h, err);
}
