/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The robot's template: the three forms of N-04, by the time for which the robot was away, and after them the sections
 * that both templates have.
 */
#include "continuity/brief-impl.h"
#include "facets/message.h"
#include "facets/emotion/affect.h"
#include "facets/presence.h"

#define SNIPPETS 5
#define SNIPPET_CHARS 60
#define MESSAGES_MAX 15

static const struct form {
  const char *header, *instruction; /* the instructions are the seed's own sentences */
  size_t messages;                  /* the last ones; 0: snippets of what was talked about */
  bool mood, wounds, person, away;
} forms[] = {
    [RP_RESTART_FRESH] = {"[SESSION CONTINUITY — this session so far]", NULL, 10, true, true, true, false},
    [RP_RESTART_CRASH] = {"[SESSION CONTINUITY — crash recovery]", "Continue seamlessly as if nothing happened.", 10,
                          true, false, false, false},
    [RP_RESTART_SHORT] = {"[SESSION CONTINUITY — short break]", "Greet naturally, briefly acknowledge you're back.", 15,
                          true, true, true, false},
    [RP_RESTART_LONG] = {"[SESSION CONTINUITY — long absence]", "Welcome them back warmly.", 0, false, false, true,
                         true},
};

/* ---- conversation ----------------------------------------------------------------- */

static const char *speaker(const struct rp__message *m)
{
  struct rp__json role = rp__message_part(m, RP_MSG_ROLE);
  if (rp__json_eq(role, "user") || rp__json_eq(role, "USER")) return "USER: ";
  return rp__json_eq(role, "assistant") || rp__json_eq(role, "ASSISTANT") ? "ASSISTANT: " : NULL;
}

static size_t add_text(struct rp__buf *out, const struct rp__message *m, size_t max)
{
  return rp__plain_content(out, rp__message_part(m, RP_MSG_CONTENT), max);
}

/* Whether the user or the assistant says anything in the message. */
static bool says(const struct rp__message *m, bool user)
{
  char room[8];
  struct rp__buf none = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
  const char *who = speaker(m);
  return who && (!user || who[0] == 'U') && add_text(&none, m, 1) > 0;
}

/* At most SNIPPETS of the user's messages, from the first to the last at even distances. */
static void snippets(const struct rp__brief_input *in, struct rp__draft *d)
{
  size_t n = 0, count = rp__conversation_count(in->state), seen = 0, next = 0;
  for (size_t i = 0; i < count; i++) n += says(rp__conversation_at(in->state, i), true);
  size_t want = RP_MIN(n, (size_t)SNIPPETS);
  rp__draft_section(d, RP_SEC_SNIPPETS, "at most %d snippets, spread over %zu messages of the user", SNIPPETS, n);
  for (size_t i = 0; i < count && next < want; i++) {
    const struct rp__message *m = rp__conversation_at(in->state, i);
    if (!says(m, true) || seen++ != (want > 1 ? next * (n - 1) / (want - 1) : 0)) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    add_text(out, m, SNIPPET_CHARS);
    rp__draft_why(d, "message %zu of %zu by the user", seen, n);
    next++;
  }
}

/* ---- how it feels, whom it saw ------------------------------------------------------- */

static void feelings(const struct rp__brief_input *in, bool mood, bool wounds, struct rp__draft *d)
{
  struct rp__feelings now;
  int64_t at_ms;
  if (!in->state) return;
  /* A robot has a mood before it feels anything: that of its baselines. */
  if (!rp__affect_at(in->state, in->now_ms, &now, &at_ms)) rp__feelings_init(&now, rp__emotions_of(in->state));
  if (mood) {
    rp__draft_section(d, RP_SEC_MOOD, "the mood as it is now");
    rp__buf_str(rp__draft_item(d), rp__mood_name(now.mood));
    rp__draft_why(d, "the mood as it is now");
  }
  rp__draft_section(d, RP_SEC_WOUNDS, "wounds that are not healed");
  for (size_t i = 0; wounds && i < now.n_wounds; i++) {
    bool healing = !(rp__wound_remaining(&now.wound[i]) > 0);
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_printf(out, "- %s (healing: %s)", now.wound[i].event, healing ? "yes" : "no");
    rp__draft_why(d, "a wound that is not healed");
  }
}

static void person(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__json name;
  int64_t seen_ms;
  if (!rp__presence_person(in->state, &name, &seen_ms)) return;
  rp__draft_section(d, RP_SEC_PERSON, "the last person that was recognised");
  struct rp__buf *out = rp__draft_item(d);
  if (rp__plain_value(out, name, RP_LABEL_CHARS) == 0) {
    rp__draft_cancel(d);
    return;
  }
  rp__brief_ago(in, seen_ms, out);
  rp__draft_why(d, "the last person that was recognised");
}

static void away(const struct rp__brief_input *in, struct rp__draft *d)
{
  rp__draft_section(d, RP_SEC_AWAY, "%s", "");
  struct rp__buf *out = rp__draft_item(d);
  rp__buf_str(out, "AWAY FOR: ");
  rp__time_words(in->elapsed_seconds, out);
  rp__draft_why(d, "%.0f s since the last sign of life", in->elapsed_seconds);
  if (in->total_sessions <= 0) return;
  rp__buf_printf(rp__draft_item(d), "SESSION NUMBER: %lld", (long long)in->total_sessions);
  rp__draft_why(d, "starts of the scope so far");
}

/* ---- all of it ------------------------------------------------------------------------ */

void rp__brief_robot(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct form *form = &forms[(unsigned)in->restart < RP_ARRAY_SIZE(forms) ? in->restart : RP_RESTART_FRESH];
  rp__draft_section(d, RP_SEC_HEADER, "%s", "");
  rp__buf_str(rp__draft_item(d), form->header);
  rp__draft_why(d, "restart type %s", rp__restart_name(in->restart));
  if (form->away) away(in, d);
  if (form->messages) {
    size_t max = form->messages;
    const struct rp__message *last[MESSAGES_MAX];
    size_t n = 0, count = rp__conversation_count(in->state);
    for (size_t i = 0; i < count; i++) {
      const struct rp__message *m = rp__conversation_at(in->state, i);
      if (says(m, false)) last[n++ % max] = m;
    }
    rp__draft_section(d, RP_SEC_MESSAGES, "the last %zu messages belong to %s", max, rp__restart_name(in->restart));
    for (size_t i = n > max ? n - max : 0; i < n; i++) {
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, speaker(last[i % max]));
      add_text(out, last[i % max], RP_TEXT_CHARS);
      rp__draft_why(d, "one of the last %zu messages", max);
    }
  } else {
    snippets(in, d);
  }
  feelings(in, form->mood, form->wounds, d);
  if (form->person) person(in, d);
  rp__brief_memories(in, d);
  rp__brief_tasks(in, d);
  rp__brief_stopped(in, d);
  rp__brief_tools(in, d);
  rp__brief_waiting(in, d);
  rp__brief_pins(in, d);
  rp__brief_evidence(in, d);
  rp__draft_section(d, RP_SEC_INSTRUCTION, "%s", "");
  if (!form->instruction) return;
  rp__buf_str(rp__draft_item(d), form->instruction);
  rp__draft_why(d, "what to do on %s", rp__restart_name(in->restart));
}
