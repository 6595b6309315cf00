/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replay filter. An update is dropped when it can only be a replay of events in the journal. In doubt the update is
 * delivered: the editor rather gets an update twice than never.
 *
 * Three rules decide what is a replay:
 * - Until an agent that was told to load has answered, everything it sends is a replay.
 * - After that answer, and from an agent that was told to resume, an update is a replay when the journal has it. The
 *   user's words are always a replay, because agents do not send words of the user otherwise.
 * - In the first turn after that, an update that equals the next entry of the journal may be a replay, or a new answer
 *   that happens to equal an old one. While the replay is not over, such an update waits. When another message of the
 *   agent follows in the turn, that message is the answer, and the waiting update was a replay. When none follows, the
 *   waiting update was the answer and is delivered.
 *
 * A replay that has reached the last prompt is over: an agent that died does not have what the journal has after it.
 */
#include "bridge/acp/replay/conversation.h"
#include "bridge/acp/session/session.h"

void rp__replay_filter_end(struct rp__acp_session *s)
{
  rp__acp_transcript_free(s->filter.transcript);
  rp__waiting_lines_done(&s->filter.doubt);
  s->filter = (struct rp__replay_filter){0};
  rp__waiting_lines_init(&s->filter.doubt);
}

/* All that is repeated is counted from the first update on. */
void rp__replay_filter_begin(struct rp__acp_session *s)
{
  struct rp__replay_filter *f = &s->filter;
  rp_error why = {0};
  rp__replay_filter_end(s);
  f->phase = s->ladder.rung == RP_RUNG_LOAD ? RP_REPLAY_LOADING : RP_REPLAY_RESUMING;
  f->unread = s->h && rp_wait(s->h, -1, 0, &f->end, &why) == 0;
  if (why.code) rp__acp_log(s->a, "session %s: %s", s->id, why.message);
}

bool rp__replay_filter_begun(const struct rp__acp_session *s)
{
  return s->filter.transcript && rp__acp_transcript_begun(s->filter.transcript);
}

/* ---- judging ---- */

static bool is(struct rp__json update, const char *what)
{
  return rp__json_eq(rp__json_get(update, "sessionUpdate"), what);
}

bool rp__replay_filter_is_state(struct rp__json update)
{
  struct rp__json name = rp__json_get(update, "sessionUpdate");
  return rp__state_update(name) >= 0 || rp__json_eq(name, "notice");
}

enum verdict { NEWS, REPLAY, DOUBT };

/*
 * A replay that is not over may go on in the turn. One of which nothing came is known by the user's words, with which
 * it begins. Those drop what was in doubt if they are what is next: then the replay goes on, unless the agent repeats
 * the prompt that it has got.
 */
static enum verdict judge_in_turn(struct rp__acp_session *s, struct rp__json update, bool user)
{
  struct rp__replay_filter *f = &s->filter;
  struct rp__acp_transcript *t = f->transcript;
  bool begun = f->late || rp__acp_transcript_begun(t);
  /* Calls say little of what they are, and wait only for a replay that is seen to go on: agents give ids again. */
  bool call = is(update, "tool_call") || is(update, "tool_call_update");
  bool open = rp__acp_transcript_ahead(t) || (f->user && rp__acp_transcript_next_id(t, update));
  if (!user && s->running && (!begun || (!f->goes_on && (call || !open)))) {
    rp__acp_transcript_news(t, update);
    return NEWS;
  }
  bool next = rp__acp_transcript_next(t, update);
  f->user |= user;
  f->late |= next;
  if (user && next) {
    rp__waiting_lines_done(&f->doubt);
    f->goes_on = rp__acp_transcript_ahead(t) || !rp__acp_transcript_asked_again(t, s->h, f->end);
  }
  if (user) return begun || next ? REPLAY : NEWS;
  if (!next) return NEWS;
  return s->running ? DOUBT : REPLAY; /* what is next and comes behind the turn is late */
}

static enum verdict judge(struct rp__acp_session *s, struct rp__json update)
{
  struct rp__replay_filter *f = &s->filter;
  bool user = is(update, "user_message_chunk"), state = rp__replay_filter_is_state(update), known = user;
  rp_error why = {0};
  /* Most agents that resume say nothing: then the journal is not read for it. */
  if (!state && f->unread && rp__acp_transcript_new(s->h, f->end, &f->transcript, &why))
    rp__acp_log(s->a, "session %s: %s", s->id, why.message);
  if (!state) f->unread = false;
  struct rp__acp_transcript *t = f->transcript;
  /* What an agent says that resumed without a word is no replay's beginning, though that may be forgotten. */
  bool lost = t && s->ladder.rung == RP_RUNG_RESUME && f->phase != RP_REPLAY_RESUMING && rp__acp_transcript_cut(t) &&
              !rp__acp_transcript_begun(t);
  if (!state && t && f->phase != RP_REPLAY_TURN && !lost && rp__acp_transcript_known(t, update)) known = true;
  if (f->phase == RP_REPLAY_LOADING) return REPLAY;
  if (f->phase == RP_REPLAY_RESUMING) return t && known ? REPLAY : NEWS;
  bool loading = rp__acp_is_restoring(s) && s->ladder.rung == RP_RUNG_LOAD;
  if (state || (!t && !loading)) return NEWS;
  if (s->ladder.phase == RP_LADDER_QUIET)
    s->ladder.quiet_at = RP_MIN(rp__acp_now(s->a) + RP_ACP_QUIET_MS, s->ladder.quiet_max);
  if (!t) return REPLAY; /* without a journal nothing can be told apart */
  if (f->phase == RP_REPLAY_TURN) return judge_in_turn(s, update, user);
  f->late |= known;
  return known ? REPLAY : NEWS;
}

/* ---- doubts ---- */

static bool same_message(struct rp__json a, struct rp__json b)
{
  char *text RP_AUTOFREE = rp__json_dup(rp__json_get(a, "messageId"));
  return text && rp__json_eq(rp__json_get(b, "messageId"), text);
}

bool rp__replay_filter_takes(struct rp__acp_session *s, const struct rp__msg *m)
{
  struct rp__replay_filter *f = &s->filter;
  struct rp__json update = rp__json_get(m->r.params, "update");
  enum verdict v = judge(s, update);
  if (v == DOUBT) {
    f->answered = false;
    if (rp__waiting_lines_add(&f->doubt, s, m, RP_WAITING_BYTES)) return true;
    rp__waiting_lines_deliver(&f->doubt, s); /* no room: rather twice than never */
    rp__replay_filter_end(s);
    return false;
  }
  if (v == REPLAY) return true;
  if (is(update, "tool_call")) rp__waiting_lines_deliver(&f->doubt, s); /* what was said before it comes before it */
  if (f->phase != RP_REPLAY_TURN || !is(update, "agent_message_chunk")) return false;
  /* One message goes on, or an old one was left in its middle, which no replay does. */
  if (f->doubt.n &&
      (rp__acp_transcript_halfway(f->transcript) ||
       same_message(rp__json_get(TAILQ_LAST(&f->doubt.list, rp__waiting_head)->m.r.params, "update"), update)))
    rp__waiting_lines_deliver(&f->doubt, s);
  f->answered = true;
  return false;
}

void rp__replay_filter_turn_ends(struct rp__acp_session *s)
{
  if (s->filter.answered)
    rp__waiting_lines_done(&s->filter.doubt);
  else
    rp__waiting_lines_deliver(&s->filter.doubt, s);
}

/* There is no more of it when all was told, or when a whole turn has passed. */
void rp__replay_filter_prompted(struct rp__acp_session *s)
{
  struct rp__replay_filter *f = &s->filter;
  if (!f->transcript && !f->unread) return;
  rp__replay_filter_turn_ends(s);
  f->goes_on = f->user = false;
  /* An agent that resumed in silence, as it should, has nothing to repeat. */
  bool over = f->transcript ? rp__acp_transcript_over(f->transcript) : s->ladder.rung == RP_RUNG_RESUME;
  if (f->phase == RP_REPLAY_TURN || over)
    rp__replay_filter_end(s);
  else
    f->phase = RP_REPLAY_TURN;
}
