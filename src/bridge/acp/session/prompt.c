/* SPDX-License-Identifier: Apache-2.0 */
/* Turns. A prompt is in the journal before the agent gets it, and the end of a turn before the editor gets it. */
#include "bridge/acp/session/session.h"

#include "base/clock.h"
#include "base/text.h"
#include "bridge/acp/restore/hand-over-text.h"
#include "bridge/injected-text.h"

#define BRIEF_MAX ((size_t)256 << 10)
#define MARKS_MAX 64 /* bytes of the marks around a text */

/* ---- the history, for an agent that has none ---- */

/* What is put in front of the user's words, each with a comma. */
struct extra {
  struct rp__buf *text;
  bool brief, history; /* told, or there was none */
};

static void add_block(struct extra *x, const struct rp__buf *text)
{
  struct rp__buf marked RP_AUTOBUF = RP_BUF(text->n + MARKS_MAX);
  if (!text->n) return;
  rp__mark(&marked, text->p, text->n);
  rp__buf_str(&marked, "\n\n");
  struct rp__jw w = RP_JW(x->text); /* where it was put: agents take embedded resources to another place */
  rp__jw_pack(&w, "{type:s text:n}", "text", marked.p, marked.n);
  rp__buf_char(x->text, ',');
  if (marked.err) x->text->err = marked.err;
}

static bool add_history(struct rp__acp_session *s, struct extra *x)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(2 * RP_HISTORY_MAX);
  rp_error why = {0};
  if (s->history != RP_HISTORY_DUE || !s->h) return false;
  rp__acp_journal_settle(s->a); /* it is read from the journal */
  int rc = rp__history_text(s->h, RP_HISTORY_MAX, &text, &why);
  if (rc) {
    rp__acp_log(s->a, "session %s: the agent gets no history: %s", s->id, why.message);
    return false;
  }
  if (!x->text->n) rp__text_copy(s->preamble, sizeof s->preamble, text.p ? text.p : "");
  add_block(x, &text);
  return true;
}

/* What the session's start has to tell (N-05); once, where it was asked for. */
static bool add_brief(struct rp__acp_session *s, struct extra *x)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(BRIEF_MAX);
  const char *doc = s->brief_due && s->h ? rp_start_json(s->h) : NULL;
  if (!doc) return false;
  struct rp__json brief = rp__json_get(rp__acp_raw(doc), "brief");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, &text);
  if (text.err) return false;
  rp__text_copy(s->preamble, sizeof s->preamble, text.p ? text.p : "");
  add_block(x, &text);
  return true;
}

/* The line for the agent: its own id for the session, and `x` before the first block. */
static struct rp__str rewrite(struct rp__acp_session *s, const struct rp__msg *m, struct rp__buf *room, struct extra *x)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID);
  struct rp__json sid = rp__json_get(m->r.params, "sessionId"), prompt = rp__json_get(m->r.params, "prompt");
  struct rp__edit e[2], swap;
  struct rp__jw w = RP_JW(&name);
  size_t n = 0;
  if (strcmp(s->client_sid, s->agent_sid) != 0) {
    rp__jw_str(&w, s->agent_sid);
    e[n++] = (struct rp__edit){sid.p, sid.n, {name.p, name.n}};
  }
  if (prompt.type == RP_JSON_ARRAY) {
    x->brief = add_brief(s, x);
    x->history = add_history(s, x);
    if (x->text->err)
      x->brief = x->history = false;
    else if (x->text->n && !rp__json_count(prompt))
      x->text->n--; /* nothing follows */
  }
  if (x->text->n && !x->text->err) e[n++] = (struct rp__edit){prompt.p + 1, 0, {x->text->p, x->text->n}};
  if (!n) return m->line;
  if (n == 2 && e[1].at < e[0].at) {
    swap = e[0];
    e[0] = e[1];
    e[1] = swap;
  }
  rp__edit_line(room, m->text, e, n);
  return room->err || name.err ? (struct rp__str){0} : (struct rp__str){room->p, room->n};
}

/* ---- a turn ---- */

void rp__acp_on_prompt(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE), before RP_AUTOBUF = RP_BUF(16 * RP_HISTORY_MAX);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct extra x = {.text = &before};
  rp_event ev[RP_ACP_EVENTS_MAX];
  rp_error why = {0};
  rp__acp_session_retry(s);
  int rc = rp__acp_event_prompt(&s->known, m->r.params, s->project, &events, &why);
  events.odd = m->r.odd;
  if (rc) rp__acp_log(a, "session %s: a prompt is not recorded: %s", s->id, why.message);
  rp__acp_events_list(&events, ev);
  /* L-12: a spent budget begins no more work. Anything else that keeps a prompt out of the journal does not stop it. */
  if (!rc && s->h && rp_append_check(s->h, ev, events.n, NULL, &why) == RP_E_BUDGET) {
    rp__acp_fail(a, m->r.id, &why);
    return;
  }
  struct rp__str line = rewrite(s, m, &room, &x);
  struct rp__call *c = line.p ? rp__calls_add(&a->client, m->r.id, RP_CALL_PROMPT) : NULL;
  if (!c) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  c->s = s;
  c->turn = s->known.turn;
  c->brief = x.brief;
  c->history = x.history;
  if (x.brief) s->brief_due = false;
  if (x.history) s->history = RP_HISTORY_SENT;
  s->running++;
  rp__replay_filter_prompted(s);
  rp__acp_journal_line(s, rc, &events, &a->to_agent, line);
}

void rp__acp_prompted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__json none = {0};
  struct rp__acp_session *s = c->s;
  bool good = m->r.type == RP_RPC_RESULT, deep = m->r.odd == RP_RPC_DEEP;
  if (!s) {
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  if (s->running && !--s->running) rp__replay_filter_turn_ends(s);
  if (good) s->ladder.least = RP_RUNG_RESUME;
  /* An agent that has answered a prompt with the history has the conversation: the journal remembers its id. */
  if (c->history && s->history != RP_HISTORY_TOLD) {
    s->history = good ? RP_HISTORY_TOLD : RP_HISTORY_DUE;
    if (good) rp__acp_put_provider(s);
  }
  if (c->brief && !good) s->brief_due = true; /* it goes with the next one */
  rp__acp_journal_settle(a); /* if something of the turn can't be stored, the journal says so before its end */
  events.odd = deep ? RP_RPC_PLAIN : m->r.odd;
  /* Of an answer that is too deep only that it came is written down. */
  struct rp__json result = deep ? none : m->r.result, error = deep ? none : m->r.error;
  int rc = rp__acp_event_turn_end(&s->known, c->turn, result, error, &events, NULL);
  rp__acp_journal_line(s, rc, &events, &a->to_client, m->line);
  if (!s->running && rp__acp_session_on(s, RP_ON_TURN_OVER) == RP_DO_CLOSE) rp__close_go_on(s, false);
}

/* ---- words of ours ---- */

typedef int write_fn(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out, rp_error *err);

static void put_update(struct rp__acp_session *s, struct rp__buf *update, write_fn *write)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/update");
  if (update->err) return;
  rp__jw_pack(&w, "{sessionId:s update:r}", s->client_sid, update->p);
  rp__rpc_end(&w);
  if (out.err) return;
  if (write && !write(&s->known, rp__json_trusted(update->p, update->n), &events, NULL))
    rp__acp_journal_put(s, &events, &s->a->to_client, (struct rp__str){out.p, out.n});
  else
    rp__acp_send(s->a, RP_ACP_CLIENT, &out);
}

void rp__acp_put_update(struct rp__acp_session *s, struct rp__buf *update)
{
  put_update(s, update, rp__acp_event_update);
}

void rp__acp_tell(struct rp__acp_session *s, const char *title, const char *text, bool store)
{
  struct rp__buf update RP_AUTOBUF = RP_BUF(4096), words RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&update);
  if (s->a->notices) {
    rp__jw_pack(&w, "{sessionUpdate:s severity:s title:s description:s}", "notice", "warning", title, text);
  } else {
    char id[64]; /* without one it would be joined to what the agent said last */
    snprintf(id, sizeof id, RP_ACP_OUR_MESSAGE "%llx-%u", (unsigned long long)rp__wall(&rp__system_clock),
             s->a->told++);
    rp__buf_printf(&words, "%s%s", s->running ? "\n\n" : "", text); /* there are editors that join them all the same */
    rp__jw_pack(&w, "{sessionUpdate:s messageId:s content:{type:s text:n}}", "agent_message_chunk", id, "text", words.p,
                words.n);
  }
  write_fn *write = s->a->notices ? rp__acp_event_update : rp__acp_event_told;
  put_update(s, &update, store ? write : NULL);
}

/* ---- tool calls that have no end yet: when the agent dies, the proxy ends them for the editor ---- */

void rp__tools_learn(struct rp__acp_session *s, struct rp__json update, bool begins)
{
  struct rp__json id = rp__json_get(update, "toolCallId"), status = rp__json_get(update, "status");
  const struct rp__known_call *c = rp__known_call(&s->known, rp__acp_event_hash(id));
  size_t i = 0;
  if (id.type != RP_JSON_STRING) return;
  while (i < s->n_tools && (strlen(s->tools[i]) != id.n || memcmp(s->tools[i], id.p, id.n) != 0)) i++;
  bool open = i < s->n_tools;
  /* An update may still tell something of a call that is over. */
  bool over = c && c->status && strcmp(c->status, "intended") != 0 && strcmp(c->status, "running") != 0;
  if (rp__json_eq(status, "completed") || rp__json_eq(status, "failed")) {
    if (!open) return;
    free(s->tools[i]);
    s->tools[i] = s->tools[--s->n_tools];
  } else if (begins || rp__json_eq(status, "pending") || rp__json_eq(status, "in_progress") || !over) {
    if (open || s->n_tools == RP_ACP_TOOLS || id.n > RP_ACP_SID) return;
    s->tools[s->n_tools] = strndup(id.p, id.n);
    if (s->tools[s->n_tools]) s->n_tools++;
  }
}

static void write_failed(const struct rp__acp_session *s, size_t i, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_pack(&w, "{sessionUpdate:s toolCallId:r status:s}", "tool_call_update", s->tools[i], "failed");
}

void rp__tools_leave(struct rp__acp_session *s)
{
  if (!s->h || s->state == RP_ACP_TAKEN) return;
  for (size_t i = 0; i < s->n_tools; i++) {
    struct rp__buf update RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
    struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
    write_failed(s, i, &update);
    if (update.err || rp__acp_event_cut_off(&s->known, rp__json_trusted(update.p, update.n), &events, NULL)) continue;
    rp__acp_journal_put(s, &events, &s->a->to_client, (struct rp__str){0});
  }
  rp__tools_done(s);
}

void rp__tools_done(struct rp__acp_session *s)
{
  for (size_t i = 0; i < s->n_tools; i++) free(s->tools[i]);
  s->n_tools = 0;
}

/* ---- the end of a turn without the agent ---- */

void rp__acp_turn_broken(struct rp__acp_session *s, const char *text)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(4096);
  struct rp__acp *a = s->a;
  struct rp__json none = {0};
  rp__death_data(a, &data);
  if (s->running) rp__replay_filter_turn_ends(s);
  for (size_t i = 0; i < s->n_tools; i++) { /* what they did nobody knows: the editor must see an end all the same */
    struct rp__buf update RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
    write_failed(s, i, &update);
    put_update(s, &update, rp__acp_event_cut_off);
  }
  rp__tools_done(s);
  if (s->running) rp__acp_tell(s, "The agent ended", text, true);
  if (s->running && a->draft) rp__draft_broken(s, text);
  for (struct rp__call *c = a->client.head, *next; c; c = next) {
    next = c->next;
    if (c->kind != RP_CALL_PROMPT || c->s != s) continue;
    /* An error, so that a script sees that the turn was not finished; the journal has the same. */
    struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE), error RP_AUTOBUF = RP_BUF(8192);
    struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
    struct rp__jw e = RP_JW(&error);
    rp__rpc_error(&out, rp__call_id(c), RP_ACP_E_INTERNAL, text, data.err ? NULL : data.p);
    rp__jw_pack(&e, "{message:s data:?r}", text, data.err ? NULL : data.p);
    int rc = out.err ? out.err : error.err;
    if (!rc) rc = rp__acp_event_turn_end(&s->known, c->turn, none, rp__acp_raw(error.p), &events, NULL);
    rp__acp_journal_line(s, rc, &events, &a->to_client, rp__acp_written(&out));
    if (c->brief) s->brief_due = true;
    rp__call_free(c);
  }
  s->running = 0;
}
