/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent repeats once it was told to load, and what it says itself. Up to its answer all is a replay. Behind it,
 * and from one that was told to resume, only what the journal has may be one, and the user's words: agents do not speak
 * for the user otherwise. Until the next prompt such is dropped. In the turn it may as well be an answer that is the
 * same as an old one: where the replay is not over, what is next in the journal's order waits. Another message of the
 * agent's behind it is the answer, and it was a repeat; if none comes, it was the answer itself. A replay that has come
 * to the last prompt is over: an agent that died has nothing of what stands behind it. Rather twice than never.
 */
#include "bridge/acp/impl.h"

void rp__repeat_end(struct rp__acp_session *s)
{
  rp__echo_free(s->echo);
  rp__kepts_done(&s->doubt);
  s->echo = NULL;
  s->swallow = s->sift = s->echo_due = s->echo_late = s->echo_told = false;
  s->echo_flows = s->echo_user = false;
  s->echo_prompts = 0;
}

/* All that is repeated is counted from the first update on. */
void rp__repeat_begin(struct rp__acp_session *s)
{
  rp_error why = {0};
  rp__repeat_end(s);
  s->swallow = s->rung == RP_RUNG_LOAD;
  s->sift = !s->swallow;
  s->echo_due = s->h && rp_wait(s->h, -1, 0, &s->echo_end, &why) == 0;
  if (why.code) rp__acp_log(s->a, "session %s: %s", s->id, why.message);
}

void rp__repeat_answered(struct rp__acp_session *s)
{
  s->swallow = s->sift = false;
}

/* Most agents that resume say nothing: then the journal is not read for it. */
static void make_echo(struct rp__acp_session *s)
{
  rp_error why = {0};
  if (!s->echo_due) return;
  s->echo_due = false;
  if (rp__echo_new(s->h, s->echo_end, &s->echo, &why)) rp__acp_log(s->a, "session %s: %s", s->id, why.message);
}

/* ---- judging ---- */

static bool is(struct rp__json update, const char *what)
{
  return rp__json_eq(rp__json_get(update, "sessionUpdate"), what);
}

bool rp__repeat_is_state(struct rp__json update)
{
  static const char *const states[] = {"available_commands_update", "current_mode_update", "config_option_update",
                                       "session_info_update",       "usage_update",        "notice"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(states); i++)
    if (is(update, states[i])) return true;
  return false;
}

enum verdict { NEWS, REPEAT, DOUBT };

/* The user's words are what is next: a replay is going on here, unless the agent repeats the prompt that it has got. */
static void hear_user(struct rp__acp_session *s)
{
  rp__kepts_done(&s->doubt);
  s->echo_flows = rp__echo_ahead(s->echo) || !rp__echo_asked_again(s->echo, s->h, s->echo_end);
}

/* Calls say little of what they are, and wait only for a replay that is seen to go on: agents give ids again. */
static bool surely_live(const struct rp__acp_session *s, struct rp__json update)
{
  bool call = is(update, "tool_call") || is(update, "tool_call_update");
  bool begun = s->echo_late || rp__echo_begun(s->echo);
  bool open = rp__echo_ahead(s->echo) || (s->echo_user && rp__echo_next_id(s->echo, update));
  return !begun || (!s->echo_flows && (call || !open));
}

/*
 * A replay that is not over may go on here. One of which nothing came is known by the user's words, with which it
 * begins. Those drop what was in doubt if they are what is next: then the replay goes on.
 */
static enum verdict judge_in_turn(struct rp__acp_session *s, struct rp__json update, bool user)
{
  bool begun = s->echo_late || rp__echo_begun(s->echo);
  if (!user && s->running && surely_live(s, update)) {
    rp__echo_news(s->echo, update);
    return NEWS;
  }
  bool next = rp__echo_next(s->echo, update);
  s->echo_user = s->echo_user || user;
  s->echo_late = s->echo_late || next;
  if (user && next) hear_user(s);
  if (user) return begun || next ? REPEAT : NEWS;
  if (!next) return NEWS;
  return s->running ? DOUBT : REPEAT; /* what is next and comes behind the turn is late */
}

/* What an agent says that resumed without a word is no replay's beginning, though that may be forgotten. */
static bool lost_beginning(const struct rp__acp_session *s)
{
  return s->rung == RP_RUNG_RESUME && !s->sift && rp__echo_cut(s->echo) && !rp__echo_begun(s->echo);
}

static enum verdict judge(struct rp__acp_session *s, struct rp__json update)
{
  bool loading = s->state == RP_ACP_RESTORING && s->rung == RP_RUNG_LOAD;
  bool user = is(update, "user_message_chunk"), known = user, state = rp__repeat_is_state(update);
  if (!state) make_echo(s);
  if (!state && s->echo && !s->echo_prompts && !lost_beginning(s) && rp__echo_known(s->echo, update)) known = true;
  if (s->swallow) return REPEAT;
  if (s->sift) return s->echo && known ? REPEAT : NEWS;
  if (state || (!s->echo && !loading)) return NEWS;
  if (s->quiet_at) s->quiet_at = RP_MIN(rp__acp_now(s->a) + RP_ACP_QUIET_MS, s->quiet_max);
  if (!s->echo) return REPEAT; /* without a journal nothing can be told apart */
  if (s->echo_prompts) return judge_in_turn(s, update, user);
  if (!known) return NEWS;
  s->echo_late = true;
  return REPEAT;
}

/* ---- doubts ---- */

static struct rp__json update_of(const struct rp__msg *m)
{
  return rp__json_get(m->r.params, "update");
}

static bool same_member(struct rp__json a, struct rp__json b, const char *name)
{
  char *text RP_AUTOFREE = rp__json_dup(rp__json_get(a, name));
  return text && rp__json_eq(rp__json_get(b, name), text);
}

/* One message goes on, or an old one was left in its middle, which no replay does. */
static bool goes_on(const struct rp__acp_session *s, struct rp__json update)
{
  return rp__echo_halfway(s->echo) || same_member(update_of(&s->doubt.tail->m), update, "messageId");
}

static void hear_news(struct rp__acp_session *s, struct rp__json update)
{
  if (is(update, "tool_call")) rp__kepts_deliver(&s->doubt, s); /* what it was said before comes before it */
  if (!s->echo_prompts || !is(update, "agent_message_chunk")) return;
  if (s->doubt.head && goes_on(s, update)) rp__kepts_deliver(&s->doubt, s);
  s->echo_told = true;
}

static bool hear_doubt(struct rp__acp_session *s, const struct rp__msg *m)
{
  s->echo_told = false;
  if (rp__kepts_add(&s->doubt, m)) return true;
  rp__kepts_deliver(&s->doubt, s); /* no room: rather twice than never */
  rp__repeat_end(s);
  return false;
}

bool rp__repeat_takes(struct rp__acp_session *s, const struct rp__msg *m)
{
  struct rp__json update = update_of(m);
  enum verdict v = judge(s, update);
  if (v == DOUBT) return hear_doubt(s, m);
  if (v == NEWS) hear_news(s, update);
  return v == REPEAT;
}

/* No replay asks about a call, and what was said before the question comes before it. */
void rp__repeat_asked(struct rp__acp_session *s, struct rp__json params)
{
  if (rp__json_get(params, "toolCall").type == RP_JSON_OBJECT) rp__kepts_deliver(&s->doubt, s);
}

void rp__repeat_turn_ends(struct rp__acp_session *s)
{
  if (s->echo_told)
    rp__kepts_done(&s->doubt);
  else
    rp__kepts_deliver(&s->doubt, s);
}

/* There is no more of it when all was told, or when a whole turn has passed. */
void rp__repeat_prompted(struct rp__acp_session *s)
{
  if (!s->echo && !s->echo_due) return;
  rp__repeat_turn_ends(s);
  s->echo_flows = s->echo_user = false;
  bool over = s->echo ? rp__echo_over(s->echo) : s->rung == RP_RUNG_RESUME; /* which was silent, as it should be */
  if (s->echo_prompts++ || over) rp__repeat_end(s);
}
