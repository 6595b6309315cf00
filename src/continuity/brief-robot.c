/* SPDX-License-Identifier: Apache-2.0 */
/* The three forms of N-04, by how long the robot was away, and behind them what both templates tell. */
#include "continuity/brief-impl.h"

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

static const char *speaker(struct rp__json message)
{
  struct rp__json role = rp__json_get(message, "role");
  if (rp__json_eq(role, "user") || rp__json_eq(role, "USER")) return "USER: ";
  return rp__json_eq(role, "assistant") || rp__json_eq(role, "ASSISTANT") ? "ASSISTANT: " : NULL;
}

static struct rp__json messages_of(const struct rp__brief_input *in)
{
  struct rp__json c = rp__json_get(in->state, "conversation");
  return c.type == RP_JSON_ARRAY ? c : rp__json_get(c, "messages");
}

static bool has_text(struct rp__json message)
{
  char room[8];
  struct rp__buf none = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
  return rp__plain_message(&none, message, 1) > 0;
}

static void recent(const struct rp__brief_input *in, size_t max, struct rp__draft *d)
{
  struct rp__json_iter it = {0};
  struct rp__json last[MESSAGES_MAX], v;
  size_t n = 0;
  while (rp__json_next(messages_of(in), &it, NULL, &v))
    if (speaker(v) && has_text(v)) last[n++ % max] = v;
  rp__draft_section(d, RP_SEC_MESSAGES, "the last %zu messages belong to %s", max, rp__restart_name(in->restart));
  for (size_t i = n > max ? n - max : 0; i < n; i++) {
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, speaker(last[i % max]));
    rp__plain_message(out, last[i % max], RP_TEXT_CHARS);
    rp__draft_why(d, "one of the last %zu messages", max);
  }
}

static bool of_user(struct rp__json message)
{
  const char *who = speaker(message);
  return who && who[0] == 'U' && has_text(message);
}

/* At most SNIPPETS of the user's messages, from the first to the last at even distances. */
static void snippets(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__json_iter it = {0}, again = {0};
  struct rp__json v;
  size_t n = 0, i = 0, next = 0;
  while (rp__json_next(messages_of(in), &it, NULL, &v)) n += of_user(v);
  size_t want = RP_MIN(n, (size_t)SNIPPETS);
  rp__draft_section(d, RP_SEC_SNIPPETS, "at most %d snippets, spread over %zu messages of the user", SNIPPETS, n);
  while (next < want && rp__json_next(messages_of(in), &again, NULL, &v)) {
    if (!of_user(v)) continue;
    size_t place = want > 1 ? next * (n - 1) / (want - 1) : 0;
    if (i++ != place) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__plain_message(out, v, SNIPPET_CHARS);
    rp__draft_why(d, "message %zu of %zu by the user", i, n);
    next++;
  }
}

/* ---- how it feels, whom it saw ------------------------------------------------------- */

static void mood(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__buf *out;
  rp__draft_section(d, RP_SEC_MOOD, "the mood as it is now");
  out = rp__draft_item(d);
  if (rp__plain_value(out, rp__json_get(rp__json_get(in->state, "affect"), "mood"), RP_LABEL_CHARS) == 0)
    rp__draft_cancel(d);
  else
    rp__draft_why(d, "the mood as it is now");
}

static void wounds(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__json_iter it = {0};
  struct rp__json wound;
  rp__draft_section(d, RP_SEC_WOUNDS, "wounds that are not healed");
  while (rp__json_next(rp__json_get(rp__json_get(in->state, "affect"), "wounds"), &it, NULL, &wound)) {
    if (wound.type != RP_JSON_OBJECT) continue;
    bool healing = rp__json_get(wound, "healing").type == RP_JSON_TRUE;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    if (rp__plain_value(out, rp__json_get(wound, "event"), RP_LABEL_CHARS) == 0) rp__buf_str(out, "unknown");
    rp__buf_str(out, healing ? " (healing: yes)" : " (healing: no)");
    rp__draft_why(d, "a wound that is not healed");
  }
}

static void person(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__json presence = rp__json_get(in->state, "presence");
  rp__draft_section(d, RP_SEC_PERSON, "the last person that was recognised");
  struct rp__buf *out = rp__draft_item(d);
  if (rp__plain_value(out, rp__json_get(presence, "last_person"), RP_LABEL_CHARS) == 0) {
    rp__draft_cancel(d);
    return;
  }
  rp__brief_ago(in, presence, "last_person_at", out);
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
  if (form->messages)
    recent(in, form->messages, d);
  else
    snippets(in, d);
  if (form->mood) mood(in, d);
  if (form->wounds) wounds(in, d);
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
