/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder: how an agent gets a session that it does not have. It resumes it, or loads it (its own replay is
 * swallowed, also what comes late), or gets a new one under an id of its own and the history with the next prompt.
 * Any error is "it could not": the next rung is tried.
 */
#include "bridge/acp/impl.h"

const char *const rp__rung_names[RP_RUNGS] = {
    [RP_RUNG_RESUME] = "resume", [RP_RUNG_LOAD] = "load", [RP_RUNG_NEW] = "new", [RP_RUNG_LIVE] = "live"};
static const char *const methods[] = {
    [RP_RUNG_RESUME] = "session/resume", [RP_RUNG_LOAD] = "session/load", [RP_RUNG_NEW] = "session/new"};

/* Another open session may have the id that this one had: agents that count from one give them anew. */
static bool id_is_free(const struct rp__acp_session *s)
{
  for (const struct rp__acp_session *o = s->a->sessions; o; o = o->next)
    if (o != s && o->bound && o->agent_sid && strcmp(o->agent_sid, s->agent_sid) == 0) return false;
  return true;
}

static bool possible(const struct rp__acp_session *s, enum rp__rung rung)
{
  bool told = !s->other_agent && !s->history_due; /* else that id's conversation is not this one */
  bool known = s->agent_sid && (s->live || (told && id_is_free(s)));
  switch (rung) {
  case RP_RUNG_RESUME: return known && s->a->caps.resume;
  case RP_RUNG_LOAD: return known && s->a->caps.load;
  case RP_RUNG_NEW: return !s->live && !s->a->transparent; /* which can't be told a conversation */
  default: return s->live;
  }
}

static void try_rungs(struct rp__acp_session *s);

static size_t restoring(const struct rp__acp *a)
{
  size_t n = 0;
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next) n += s->state == RP_ACP_RESTORING;
  return n;
}

/*
 * Whether the agent is at it for one of them. The next one waits until it has answered: servers that the agent starts
 * meanwhile know their session by the moment at which the agent got it (place-host.c).
 */
static bool is_asked(const struct rp__acp *a)
{
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (s->state == RP_ACP_RESTORING && s->agent_asked) return true;
  return false;
}

static bool must_wait(const struct rp__acp *a)
{
  return is_asked(a) || (a->careful && restoring(a));
}

/* ---- done ---- */

static void put_restored(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  if (s->rung == RP_RUNG_LIVE) return;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "event", "restored");
  rp__jw_kstr(&w, "rung", rp__rung_names[s->rung]);
  rp__jw_end_object(&w);
  rp__store_event(s, "x-acp-agent", &out, RP_DISK);
  rp__acp_log(s->a, "session %s: the agent has it again (%s)", s->id, rp__rung_names[s->rung]);
}

void rp__restore_settled(struct rp__acp_session *s)
{
  s->quiet_at = s->quiet_max = 0;
  s->wanted = s->live = false;
  s->tries = 0;
  if (s->state == RP_ACP_RESTORING) rp__acp_move(s, RP_ACP_LIVE);
  if (s->asked) {
    rp__load_ready(s); /* and then what waited, which may be the session's end */
    return;
  }
  rp__restore_tell(s);
  if (s->state == RP_ACP_LIVE) rp__held_release(s->a, s);
}

/* The answer came, but maybe not all of the agent's replay: what it repeats late is known by the journal's own texts.
 */
static void listen_for_echo(struct rp__acp_session *s)
{
  int64_t now = rp__acp_now(s->a);
  s->quiet_at = now + RP_ACP_QUIET_MS;
  s->quiet_max = now + RP_ACP_QUIET_MAX_MS;
}

static void restored(struct rp__acp_session *s, struct rp__json result)
{
  struct rp__json sid = rp__json_get(result, "sessionId");
  bool other = s->rung == RP_RUNG_NEW;
  if (other && !rp__acp_set_agent_sid(s, sid)) {
    rp__restore_fail(s, NULL, "out of memory");
    return;
  }
  s->bound = true;
  if (other) rp__early_release(s);
  if (other) rp__acp_owe_history(s);
  if (other && s->h) rp__name_put(s->a, s->agent_sid, s->id);
  free(s->answer);
  s->answer = NULL;
  rp__acp_keep(&s->answer, result);
  rp__settings_begin(s, result);
  s->other_agent = false;
  put_restored(s);
  rp__repeat_answered(s);
  if (s->rung == RP_RUNG_LOAD || (s->rung == RP_RUNG_RESUME && s->echo && rp__echo_begun(s->echo)))
    listen_for_echo(s);
  else
    rp__settings_again(s);
}

/* `data`: of the error, or NULL. */
static void fail(struct rp__acp_session *s, const struct rp__msg *m, const char *why, const char *data)
{
  struct rp__acp *a = s->a;
  struct rp__call *asked = s->asked;
  rp__repeat_end(s);
  s->wanted = s->live = s->bound = false;
  s->tries = 0;
  s->quiet_at = s->quiet_max = 0;
  rp__acp_move(s, RP_ACP_COLD);
  rp__acp_log(a, "session %s: the agent can't go on with it: %s", s->id, why);
  rp__held_fail(a, s, RP_ACP_E_INTERNAL, why, data);
  if (!asked) return;
  s->asked = NULL;
  asked->s = NULL;
  if (data)
    rp__acp_answer_error(a, asked, RP_ACP_E_INTERNAL, why, data);
  else
    rp__acp_answer_as(a, asked, m, RP_ACP_E_INTERNAL, why);
  rp__acp_session_end(s, "not restored");
}

void rp__restore_fail(struct rp__acp_session *s, const struct rp__msg *m, const char *why)
{
  fail(s, m, why, NULL);
}

/* ---- agents that can't load (O-05) ---- */

/* Why the agent's own memory of the session is of no use, where it was not even asked. */
static const char *why_not(const struct rp__acp_session *s)
{
  if (s->least > RP_RUNG_RESUME) return "agents ended while they loaded it";
  if (s->other_agent) return "another agent had it";
  if (!s->a->caps.load && !s->a->caps.resume) return "it can't load sessions";
  return s->history_due ? "it has no session that took the conversation" : "it has no session of that id";
}

static void could_not(struct rp__acp_session *s, const struct rp__msg *m)
{
  char *text RP_AUTOFREE = m ? rp__json_dup(rp__json_get(m->r.error, "message")) : NULL;
  snprintf(s->cannot, sizeof s->cannot, "its %s failed: %.300s", methods[s->rung],
           text ? text
           : m  ? "it gave no reason"
                : "it did not answer in time");
}

static void refuse_new(struct rp__acp_session *s)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(256);
  char why[RP_ACP_WHY + RP_ACP_NAME + 64], agent[RP_ACP_NAME + 16];
  rp__agent_title(s->a, agent);
  snprintf(why, sizeof why, "the %s can't load this session: %s", agent, s->cannot);
  rp__acp_error_data(&data, RP_E_CANNOT_LOAD);
  rp__acp_warn(s->a, "session %s: %s", s->id, why);
  fail(s, NULL, why, data.err ? NULL : data.p);
}

void rp__restore_tell(struct rp__acp_session *s)
{
  char text[RP_ACP_WHY + RP_ACP_NAME + 256], agent[RP_ACP_NAME + 16];
  if (s->rung != RP_RUNG_NEW || !s->cannot[0]) return;
  rp__agent_title(s->a, agent);
  snprintf(
      text, sizeof text,
      "The %s could not load this session (%s). It began a new one of its own, and is told the conversation so far "
      "with the next prompt.",
      agent, s->cannot);
  rp__acp_warn(s->a, "session %s: %s", s->id, text);
  if (s->a->notices) rp__acp_tell(s, "The agent could not load the session", text, true);
  s->cannot[0] = '\0';
}

/* ---- asking ---- */

static bool good(const struct rp__acp_session *s, const struct rp__msg *m)
{
  if (!m || m->r.type != RP_RPC_RESULT) return false;
  if (s->rung != RP_RUNG_NEW) return m->r.result.type <= RP_JSON_NULL || m->r.result.type == RP_JSON_OBJECT;
  struct rp__json sid = rp__json_get(m->r.result, "sessionId");
  return sid.type == RP_JSON_STRING && sid.n <= RP_ACP_SID && !rp__acp_by_agent(s->a, sid);
}

static void on_restored(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = c->s;
  (void)a;
  if (!s || s->state != RP_ACP_RESTORING) return;
  s->agent_asked = false;
  if (good(s, m)) {
    restored(s, m->r.result);
  } else if (s->rung == RP_RUNG_NEW) {
    rp__restore_fail(s, m, m ? "the agent began no new session" : "the agent did not answer in time");
  } else {
    could_not(s, m);
    rp__repeat_end(s);
    s->bound = s->live;
    s->rung++;
    try_rungs(s);
  }
}

static void ask(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json params = rp__json_trusted(s->params ? s->params : "{}", s->params ? strlen(s->params) : 2);
  struct rp__jw w;
  struct rp__call *c = rp__acp_ask(s->a, methods[s->rung], s, RP_ACP_RESTORE_MS, on_restored, &out, &w);
  if (!c) {
    rp__restore_fail(s, NULL, "out of memory");
    return;
  }
  bool fresh = s->rung == RP_RUNG_NEW;
  s->agent_asked = true;
  s->bound = !fresh;
  if (!fresh) rp__repeat_begin(s);
  rp__acp_write_params(&w, params, fresh ? NULL : s->agent_sid, true);
  rp__acp_asked(s->a, c, &out, &w);
}

static void try_rungs(struct rp__acp_session *s)
{
  struct rp__json none = {0};
  while (s->rung < RP_RUNG_LIVE && !possible(s, s->rung)) s->rung++;
  bool told = s->rung == RP_RUNG_NEW || (s->rung == RP_RUNG_LIVE && !s->live); /* its own memory was of no use */
  if (told && !s->cannot[0]) snprintf(s->cannot, sizeof s->cannot, "%s", why_not(s));
  if (told && (s->a->strict_load || s->a->transparent))
    refuse_new(s);
  else if (s->rung < RP_RUNG_LIVE)
    ask(s);
  else
    restored(s, none); /* nothing to restore: it is there */
}

void rp__restore_begin(struct rp__acp_session *s)
{
  if (s->state == RP_ACP_COLD && must_wait(s->a)) {
    s->wanted = true; /* its turn comes */
    return;
  }
  s->live = s->state == RP_ACP_LIVE;
  if (!rp__acp_move(s, RP_ACP_RESTORING)) return;
  free(s->answer);
  s->answer = NULL;
  s->wanted = true;
  s->cannot[0] = '\0';
  if (!s->live) rp__settings_keep(s);
  s->rung = s->live && s->running ? RP_RUNG_LIVE : s->least; /* a turn is not disturbed */
  try_rungs(s);
}

void rp__restore_broken(struct rp__acp_session *s)
{
  if (s->state == RP_ACP_RESTORING && s->rung == RP_RUNG_NEW && !s->choosing) s->tries++;
  s->choosing = RP_CHOICE_NONE;
  s->wanted = s->wanted || s->state == RP_ACP_LIVE;
  s->bound = s->live = s->history_sent = false;
  s->quiet_at = s->quiet_max = 0;
  rp__repeat_end(s);
  if (s->state == RP_ACP_LIVE || s->state == RP_ACP_RESTORING) rp__acp_move(s, RP_ACP_COLD);
}

/* ---- agents that die of it ---- */

/* One death shows that a rung, or a choice, does not hold. Where several may be the reason, it shows the next time. */
bool rp__restore_blame(struct rp__acp *a)
{
  bool any = false;
  if (restoring(a) > 1 && !a->careful) {
    a->careful = true;
    return true;
  }
  for (struct rp__acp_session *s = a->sessions; s; s = s->next) {
    if (s->state != RP_ACP_RESTORING || (s->rung >= RP_RUNG_NEW && !s->choosing)) continue;
    if (s->choosing)
      s->left_out |= s->choosing; /* the rung held: the next agent gets all but that, and the editor is told */
    else
      s->least = s->rung + 1;
    any = true;
  }
  return any;
}

void rp__restore_wanted(struct rp__acp *a)
{
  struct rp__acp_session *s = NULL;
  while (a->agent_state == RP_AGENT_UP && !must_wait(a)) {
    for (s = a->sessions; s && !(s->wanted && s->state == RP_ACP_COLD);) s = s->next;
    if (!s) break;
    if (s->tries >= RP_ACP_TRIES)
      rp__restore_fail(s, NULL, "agents keep ending while they get this session back");
    else
      rp__restore_begin(s);
  }
  if (a->agent_state == RP_AGENT_UP && !s && !restoring(a)) a->careful = false;
}

static void quiet(struct rp__acp_session *s)
{
  s->quiet_at = s->quiet_max = 0;
  rp__settings_again(s);
}

void rp__restore_tick(struct rp__acp_session *s, int64_t now)
{
  if (s->quiet_at && (s->quiet_at <= now || s->quiet_max <= now)) quiet(s);
}
