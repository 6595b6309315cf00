/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder: the rungs by which an agent gets a session that it does not have. The agent is asked to resume the
 * session; then to load it, and the agent's replay is dropped, also the part that comes late; then for a new session,
 * under an id of the agent's own, whose next prompt brings the history. Any error means that the agent could not, and
 * the next rung is tried. After a rung has held, mode and options of the session are set again.
 */
#include "bridge/acp/session/session.h"

#include <assert.h>

#define QUIET_MAX_MS 2000 /* a late replay that does not stop is over */
#define TRIES 3           /* restorations of one session that agents may die of */

const char *const rp__rung_names[RP_RUNGS] = {
    [RP_RUNG_RESUME] = "resume", [RP_RUNG_LOAD] = "load", [RP_RUNG_NEW] = "new", [RP_RUNG_LIVE] = "live"};
static const char *const methods[] = {
    [RP_RUNG_RESUME] = "session/resume", [RP_RUNG_LOAD] = "session/load", [RP_RUNG_NEW] = "session/new"};

/* ---- the phases ---- */

#define NO RP_LADDER_PHASES
static const enum rp__ladder_phase next[RP_LADDER_ONS][RP_LADDER_PHASES] = {
    /* from                     idle               asking            quiet              mode               options */
    [RP_LADDER_ON_ASK] = {RP_LADDER_ASKING, NO, NO, NO, NO},
    [RP_LADDER_ON_ANSWER] = {RP_LADDER_IDLE, RP_LADDER_IDLE, NO, NO, NO},
    [RP_LADDER_ON_REPLAY] = {NO, RP_LADDER_QUIET, NO, NO, NO},
    [RP_LADDER_ON_REFUSAL] = {NO, RP_LADDER_IDLE, NO, NO, NO},
    [RP_LADDER_ON_SET_MODE] = {RP_LADDER_MODE, NO, RP_LADDER_MODE, NO, NO},
    [RP_LADDER_ON_SET_OPTION] = {RP_LADDER_OPTIONS, NO, RP_LADDER_OPTIONS, RP_LADDER_OPTIONS, RP_LADDER_OPTIONS},
    [RP_LADDER_ON_SETTLED] = {RP_LADDER_IDLE, NO, RP_LADDER_IDLE, RP_LADDER_IDLE, RP_LADDER_IDLE},
    [RP_LADDER_ON_STOP] = {RP_LADDER_IDLE, RP_LADDER_IDLE, RP_LADDER_IDLE, RP_LADDER_IDLE, RP_LADDER_IDLE},
};

enum rp__ladder_phase rp__ladder_next(enum rp__ladder_phase phase, enum rp__ladder_on on)
{
  assert(phase < RP_LADDER_PHASES && on < RP_LADDER_ONS);
  return next[on][phase];
}

void rp__ladder_move(struct rp__ladder *l, enum rp__ladder_on on)
{
  enum rp__ladder_phase to = rp__ladder_next(l->phase, on);
  assert(to != NO);
  if (to != NO) l->phase = to;
}

static size_t restoring(const struct rp__acp *a)
{
  size_t n = 0;
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next) n += rp__acp_is_restoring(s);
  return n;
}

/*
 * Whether the agent is at it for one of them. The next one waits until it has answered: servers that the agent starts
 * meanwhile know their session by the moment at which the agent got it (bridge/workspace-host.c).
 */
static bool must_wait(const struct rp__acp *a)
{
  bool asked = false;
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next)
    asked |= rp__acp_is_restoring(s) && s->ladder.phase == RP_LADDER_ASKING;
  return asked || (a->careful && restoring(a));
}

/* ---- done ---- */

void rp__restore_settled(struct rp__acp_session *s)
{
  rp__ladder_move(&s->ladder, RP_LADDER_ON_SETTLED);
  s->ladder.tries = 0;
  enum rp__acp_do action = rp__acp_session_on(s, RP_ON_RESTORED);
  if (s->asked) {
    rp__load_ready(s); /* and then what waited, which may be the session's end */
  } else {
    rp__restore_tell(s);
    if (action == RP_DO_RELEASE) rp__waiting_request_release(s->a, s);
  }
}

static void restored(struct rp__acp_session *s, struct rp__json result)
{
  struct rp__ladder *l = &s->ladder;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  bool other = l->rung == RP_RUNG_NEW;
  if (other && !rp__acp_set_agent_sid(s, rp__json_get(result, "sessionId"))) {
    rp__restore_fail(s, NULL, "out of memory", NULL);
    return;
  }
  s->bound = true;
  if (other) {
    rp__early_updates_release(s);
    s->history = RP_HISTORY_DUE; /* the agent has a session of its own for it, and no more */
    if (s->h) rp__name_put(s->a, s->agent_sid, s->id);
  }
  free(RP_TAKE(l->answer));
  rp__acp_keep(&l->answer, result);
  rp__settings_begin(s, result);
  l->other_agent = false;
  if (l->rung != RP_RUNG_LIVE) {
    rp__jw_pack(&w, "{event:s rung:s}", "restored", rp__rung_names[l->rung]);
    rp__acp_journal_event(s, "x-acp-agent", &out, RP_DISK);
    rp__acp_log(s->a, "session %s: the agent has it again (%s)", s->id, rp__rung_names[l->rung]);
  }
  if (s->filter.phase) s->filter.phase = RP_REPLAY_ANSWERED;
  /* The answer came, but maybe not all of the agent's replay. */
  if (l->rung == RP_RUNG_LOAD || (l->rung == RP_RUNG_RESUME && rp__replay_filter_begun(s))) {
    rp__ladder_move(l, RP_LADDER_ON_REPLAY);
    l->quiet_at = rp__acp_now(s->a) + RP_ACP_QUIET_MS;
    l->quiet_max = rp__acp_now(s->a) + QUIET_MAX_MS;
  } else {
    rp__ladder_move(l, RP_LADDER_ON_ANSWER);
    rp__settings_again(s);
  }
}

void rp__restore_fail(struct rp__acp_session *s, const struct rp__msg *m, const char *why, const char *data)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp *a = s->a;
  struct rp__call *asked = s->asked;
  rp__replay_filter_end(s);
  rp__ladder_move(&s->ladder, RP_LADDER_ON_STOP);
  s->ladder.tries = 0;
  s->bound = false;
  rp__acp_session_on(s, RP_ON_FAILED);
  rp__acp_log(a, "session %s: the agent can't go on with it: %s", s->id, why);
  rp__waiting_request_fail(a, s, why, data);
  if (!asked) return;
  s->asked = NULL;
  asked->s = NULL;
  if (m && m->r.type == RP_RPC_ERROR) { /* with the agent's own words */
    rp__rpc_splice(&out, m->text, m->r.id, (struct rp__str){asked->id, asked->id_n});
    rp__acp_answer(a, asked, &out);
  } else {
    rp__acp_answer_error(a, asked, RP_ACP_E_INTERNAL, why, data);
  }
  rp__acp_session_end(s, "not restored");
}

/* ---- agents that can't load (O-05) ---- */

/* Why the agent's own memory of the session is of no use, where it was not even asked. */
static const char *why_not(const struct rp__acp_session *s)
{
  if (s->ladder.least > RP_RUNG_RESUME) return "agents ended while they loaded it";
  if (s->ladder.other_agent) return "another agent had it";
  if (!s->a->caps.load && !s->a->caps.resume) return "it can't load sessions";
  return s->history != RP_HISTORY_TOLD ? "it has no session that took the conversation"
                                       : "it has no session of that id";
}

void rp__restore_tell(struct rp__acp_session *s)
{
  char text[RP_LADDER_WHY + RP_ACP_NAME + 256], agent[RP_ACP_NAME + 16];
  if (s->ladder.rung != RP_RUNG_NEW || !s->ladder.cannot[0]) return;
  rp__agent_title(s->a, agent);
  snprintf(
      text, sizeof text,
      "The %s could not load this session (%s). It began a new one of its own, and is told the conversation so far "
      "with the next prompt.",
      agent, s->ladder.cannot);
  rp__acp_warn(s->a, "session %s: %s", s->id, text);
  if (s->a->notices) rp__acp_tell(s, "The agent could not load the session", text, true);
  s->ladder.cannot[0] = '\0';
}

/* ---- asking ---- */

static void climb(struct rp__acp_session *s);

static void on_rung(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = c->s;
  if (!s || s->ladder.phase != RP_LADDER_ASKING) return;
  struct rp__json result = m && m->r.type == RP_RPC_RESULT ? m->r.result : (struct rp__json){0};
  struct rp__json sid = rp__json_get(result, "sessionId");
  bool good = m && m->r.type == RP_RPC_RESULT;
  if (s->ladder.rung == RP_RUNG_NEW)
    good = good && sid.type == RP_JSON_STRING && sid.n <= RP_ACP_SID && !rp__acp_by_agent(a, sid);
  else
    good = good && (result.type <= RP_JSON_NULL || result.type == RP_JSON_OBJECT);
  if (good) {
    restored(s, result);
    return;
  }
  if (s->ladder.rung == RP_RUNG_NEW || !rp__acp_is_restoring(s)) {
    rp__restore_fail(s, m, m ? "the agent began no new session" : "the agent did not answer in time", NULL);
    return;
  }
  char *text RP_AUTOFREE = m ? rp__json_dup(rp__json_get(m->r.error, "message")) : NULL;
  const char *why = text ? text : m ? "it gave no reason" : "it did not answer in time";
  snprintf(s->ladder.cannot, sizeof s->ladder.cannot, "its %s failed: %.300s", methods[s->ladder.rung], why);
  rp__replay_filter_end(s);
  s->bound = s->state == RP_ACP_RELOADING;
  rp__ladder_move(&s->ladder, RP_LADDER_ON_REFUSAL);
  s->ladder.rung++;
  climb(s);
}

static void ask(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json params = rp__acp_raw(s->params ? s->params : "{}"), key, value;
  struct rp__json_iter it = {0};
  struct rp__jw w = RP_JW(&out);
  bool known = s->ladder.rung != RP_RUNG_NEW, servers = false;
  rp__jw_object(&w);
  if (known) rp__jw_kstr(&w, "sessionId", s->agent_sid);
  while (rp__json_next(params, &it, &key, &value)) {
    if (rp__json_eq(key, "sessionId") || rp__json_eq(key, "replayFrom")) continue; /* a replay was the editor's wish */
    servers |= rp__json_eq(key, "mcpServers");
    rp__acp_copy_member(&w, key, value);
  }
  rp__jw_pack(&w, servers ? "}" : "mcpServers:[]}");
  if (!rp__acp_ask(s->a, methods[s->ladder.rung], rp__acp_written(&out), s, RP_ACP_RESTORE_MS, on_rung)) {
    rp__restore_fail(s, NULL, "out of memory", NULL);
    return;
  }
  rp__ladder_move(&s->ladder, RP_LADDER_ON_ASK);
  s->bound = known;
  if (known) rp__replay_filter_begin(s);
}

/* Tries the rungs from the one at hand on. */
static void climb(struct rp__acp_session *s)
{
  struct rp__ladder *l = &s->ladder;
  struct rp__json none = {0};
  bool live = s->state == RP_ACP_RELOADING;
  bool known = s->agent_sid && (live || (!l->other_agent && s->history == RP_HISTORY_TOLD));
  /* Another open session may have the id that this one had: agents that count from one give them anew. */
  for (const struct rp__acp_session *o = s->a->sessions; o && known && !live; o = o->next)
    known = o == s || !o->bound || !o->agent_sid || strcmp(o->agent_sid, s->agent_sid) != 0;
  const bool possible[] = {
      [RP_RUNG_RESUME] = known && s->a->caps.resume,
      [RP_RUNG_LOAD] = known && s->a->caps.load,
      [RP_RUNG_NEW] = !live && !s->a->transparent, /* which can't be told a conversation */
  };
  while (l->rung < RP_RUNG_LIVE && !possible[l->rung]) l->rung++;
  /* Whether the agent's own memory was of no use. */
  bool told = l->rung == RP_RUNG_NEW || (l->rung == RP_RUNG_LIVE && !live);
  if (told && !l->cannot[0]) snprintf(l->cannot, sizeof l->cannot, "%s", why_not(s));
  if (told && (s->a->o.strict_load || s->a->transparent)) {
    struct rp__buf data RP_AUTOBUF = RP_BUF(256);
    struct rp__jw w = RP_JW(&data);
    char why[RP_LADDER_WHY + RP_ACP_NAME + 64], agent[RP_ACP_NAME + 16];
    rp__agent_title(s->a, agent);
    snprintf(why, sizeof why, "the %s can't load this session: %s", agent, l->cannot);
    rp__jw_pack(&w, "{code:s}", rp_error_lookup(RP_E_CANNOT_LOAD)->name);
    rp__acp_warn(s->a, "session %s: %s", s->id, why);
    rp__restore_fail(s, NULL, why, data.err ? NULL : data.p);
  } else if (l->rung < RP_RUNG_LIVE) {
    ask(s);
  } else {
    restored(s, none); /* nothing to restore: it is there */
  }
}

void rp__restore_begin(struct rp__acp_session *s)
{
  bool live = s->state == RP_ACP_LIVE;
  if (!live && must_wait(s->a)) {
    rp__acp_session_on(s, RP_ON_WAIT);
    return;
  }
  if (rp__acp_session_on(s, RP_ON_RESTORE) != RP_DO_CLIMB) return;
  assert(s->ladder.phase == RP_LADDER_IDLE);
  free(RP_TAKE(s->ladder.answer));
  s->ladder.cannot[0] = '\0';
  if (!live) rp__settings_keep(s);
  s->ladder.rung = live && s->running ? RP_RUNG_LIVE : s->ladder.least; /* a turn is not disturbed */
  climb(s);
}

/* ---- agents that die of it ---- */

static bool is_choosing(const struct rp__acp_session *s)
{
  return s->ladder.phase == RP_LADDER_MODE || s->ladder.phase == RP_LADDER_OPTIONS;
}

enum rp__acp_do rp__restore_broken(struct rp__acp_session *s)
{
  if (rp__acp_is_restoring(s) && s->ladder.rung == RP_RUNG_NEW && !is_choosing(s)) s->ladder.tries++;
  rp__ladder_move(&s->ladder, RP_LADDER_ON_STOP);
  s->bound = false;
  if (s->history == RP_HISTORY_SENT) s->history = RP_HISTORY_DUE;
  rp__replay_filter_end(s);
  return rp__acp_session_on(s, RP_ON_AGENT_GONE);
}

/* One death shows that a rung, or a choice, does not hold. Where several may be the reason, it shows the next time. */
bool rp__restore_blame(struct rp__acp *a)
{
  bool any = false;
  if (restoring(a) > 1 && !a->careful) {
    a->careful = true;
    return true;
  }
  for (struct rp__acp_session *s = a->sessions; s; s = s->next) {
    if (!rp__acp_is_restoring(s) || (s->ladder.rung >= RP_RUNG_NEW && !is_choosing(s))) continue;
    if (is_choosing(s)) /* the rung held: the next agent gets all but that, and the editor is told */
      s->settings.left_out |= s->ladder.phase == RP_LADDER_MODE ? RP_CHOICE_MODE : RP_CHOICE_OPTIONS;
    else
      s->ladder.least = s->ladder.rung + 1;
    any = true;
  }
  return any;
}

void rp__restore_wanted(struct rp__acp *a)
{
  struct rp__acp_session *s = NULL;
  while (a->agent_state == RP_AGENT_UP && !must_wait(a)) {
    for (s = a->sessions; s && s->state != RP_ACP_QUEUED;) s = s->next;
    if (!s) break;
    if (s->ladder.tries >= TRIES)
      rp__restore_fail(s, NULL, "agents keep ending while they get this session back", NULL);
    else
      rp__restore_begin(s);
  }
  if (a->agent_state == RP_AGENT_UP && !s && !restoring(a)) a->careful = false;
}
