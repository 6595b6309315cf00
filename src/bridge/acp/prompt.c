/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: a prompt is in the journal before the agent sees it, and its end before the editor does. */
#include "bridge/acp/impl.h"
#include "bridge/acp/note-impl.h"

#include "base/clock.h"
#include "base/text.h"
#include "bridge/mark.h"

#define BRIEF_MAX ((size_t)256 << 10)
#define MARKS_MAX 64 /* bytes of the marks around a text */

/* ---- the history, for an agent that has none ---- */

/* A text block, which stands where it was put: agents take embedded resources to another place. */
static void write_block(const struct rp__buf *text, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "text");
  rp__jw_key(&w, "text");
  rp__jw_strn(&w, text->p, text->n);
  rp__jw_end_object(&w);
}

void rp__acp_owe_history(struct rp__acp_session *s)
{
  s->history_due = true;
  s->history_sent = false;
}

/*
 * The agent has answered a prompt that carried it, so its session is the conversation's: the journal remembers its id.
 * One that refused the prompt, or died of it, has taken nothing.
 */
static void history_answered(struct rp__acp_session *s, bool taken)
{
  s->history_sent = false;
  if (!taken || !s->history_due) return;
  s->history_due = false;
  rp__acp_put_provider(s);
}

/* What is put in front of the user's words, each with a comma. */
struct extra {
  struct rp__buf text;
  bool brief, history; /* told, or there was none */
};

static void extra_done(struct extra *x)
{
  rp__buf_done(&x->text);
}

static void add_block(struct extra *x, const struct rp__buf *text)
{
  struct rp__buf marked RP_AUTOBUF = RP_BUF(text->n + MARKS_MAX);
  if (!text->n) return;
  rp__mark(&marked, text->p, text->n);
  rp__buf_str(&marked, "\n\n");
  write_block(&marked, &x->text);
  rp__buf_char(&x->text, ',');
  if (marked.err) x->text.err = marked.err;
}

static bool add_history(struct rp__acp_session *s, struct extra *x)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(2 * RP_HISTORY_MAX);
  rp_error why = {0};
  if (!s->history_due || s->history_sent || !s->h) return false;
  rp__store_settle(s->a); /* it is read from the journal */
  int rc = rp__history_text(s->h, RP_HISTORY_MAX, &text, &why);
  if (rc) {
    rp__acp_log(s->a, "session %s: the agent gets no history: %s", s->id, why.message);
    return false;
  }
  if (!x->text.n) rp__text_copy(s->preamble, sizeof s->preamble, text.p ? text.p : "");
  add_block(x, &text);
  return true;
}

/* What the session's start has to tell (N-05); once, where it was asked for. */
static bool add_brief(struct rp__acp_session *s, struct extra *x)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(BRIEF_MAX);
  const char *doc = s->brief_due && s->h ? rp_start_json(s->h) : NULL;
  if (!doc) return false;
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, &text);
  if (text.err) return false;
  rp__text_copy(s->preamble, sizeof s->preamble, text.p ? text.p : "");
  add_block(x, &text);
  return true;
}

static void make_extra(struct rp__acp_session *s, struct rp__json prompt, struct extra *x)
{
  if (prompt.type != RP_JSON_ARRAY) return;
  x->brief = add_brief(s, x);
  x->history = add_history(s, x);
  if (x->text.err)
    x->brief = x->history = false;
  else if (x->text.n && !rp__json_count(prompt))
    x->text.n--; /* nothing follows */
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
  make_extra(s, prompt, x);
  if (x->text.n && !x->text.err) e[n++] = (struct rp__edit){prompt.p + 1, 0, {x->text.p, x->text.n}};
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

/* L-12: a spent budget begins no more work. Anything else that keeps a prompt out of the journal does not stop it. */
static bool over_budget(struct rp__acp_session *s, const struct rp__notes *n, rp_error *err)
{
  rp_event ev[RP_NOTES_MAX];
  if (!s->h) return false;
  for (size_t i = 0; i < n->n; i++)
    ev[i] = (rp_event){.kind = n->v[i].kind, .body = n->bytes.p + n->v[i].at, .body_len = n->v[i].n};
  return rp_append_check(s->h, ev, n->n, NULL, err) == RP_E_BUDGET;
}

void rp__acp_on_prompt(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s)
{
  struct rp__buf room RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  struct extra x RP_CLEANUP(extra_done) = {.text = RP_BUF(16 * RP_HISTORY_MAX)};
  rp_error why = {0};
  rp__notes_init(&notes);
  rp__acp_session_retry(s);
  int rc = rp__note_prompt(&s->book, m->r.params, &notes, &why);
  notes.odd = m->r.odd;
  if (rc) rp__acp_log(a, "session %s: a prompt is not recorded: %s", s->id, why.message);
  if (!rc && over_budget(s, &notes, &why)) {
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
  c->turn = s->book.turn;
  c->brief = x.brief;
  c->history = x.history;
  if (x.brief) s->brief_due = false;
  if (x.history) s->history_sent = true;
  s->running++;
  rp__repeat_prompted(s);
  if (rc)
    rp__acp_forward(a, RP_ACP_AGENT, line);
  else
    rp__store_put(s, &notes, &a->to_agent, line);
}

void rp__acp_prompted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  struct rp__json none = {0};
  struct rp__acp_session *s = c->s;
  rp__notes_init(&notes);
  if (s && s->running && !--s->running) rp__repeat_turn_ends(s);
  if (s && m->r.type == RP_RPC_RESULT) s->least = RP_RUNG_RESUME;
  if (s && c->history) history_answered(s, m->r.type == RP_RPC_RESULT);
  if (s && c->brief && m->r.type != RP_RPC_RESULT) s->brief_due = true; /* it goes with the next one */
  bool deep = m->r.odd == RP_RPC_DEEP; /* of such an answer only that it came is written down */
  if (s) rp__store_settle(a); /* if something of the turn can't be stored, the journal says so before its end */
  int rc = 0;
  if (s) rc = rp__note_turn_end(&s->book, c->turn, deep ? none : m->r.result, deep ? none : m->r.error, &notes, NULL);
  notes.odd = deep ? RP_RPC_PLAIN : m->r.odd;
  if (s && !rc)
    rp__store_put(s, &notes, &a->to_client, m->line);
  else
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
  if (s && s->state == RP_ACP_ENDING && !s->running) rp__close_go_on(s, false);
}

/* ---- words of ours ---- */

typedef int note_fn(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err);

static void put_update(struct rp__acp_session *s, struct rp__buf *update, note_fn *note)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  struct rp__jw w = rp__rpc_begin_request(&out, NULL, "session/update");
  rp__notes_init(&notes);
  if (update->err) return;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", s->client_sid);
  rp__jw_key(&w, "update");
  rp__jw_raw(&w, update->p, update->n);
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
  if (out.err) return;
  if (note && !note(&s->book, rp__json_trusted(update->p, update->n), &notes, NULL))
    rp__store_put(s, &notes, &s->a->to_client, (struct rp__str){out.p, out.n});
  else
    rp__acp_send(s->a, RP_ACP_CLIENT, &out);
}

void rp__acp_put_update(struct rp__acp_session *s, struct rp__buf *update, bool store)
{
  put_update(s, update, store ? rp__note_update : NULL);
}

void rp__acp_tell(struct rp__acp_session *s, const char *title, const char *text, bool store)
{
  struct rp__buf update RP_AUTOBUF = RP_BUF(4096), words RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&update);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", s->a->notices ? "notice" : "agent_message_chunk");
  if (s->a->notices) {
    rp__jw_kstr(&w, "severity", "warning");
    rp__jw_kstr(&w, "title", title);
    rp__jw_kstr(&w, "description", text);
  } else {
    char id[64];
    snprintf(id, sizeof id, RP_NOTE_OURS "%llx-%u", (unsigned long long)rp__wall(&rp__system_clock), s->a->told++);
    rp__jw_kstr(&w, "messageId", id); /* else it would be joined to what the agent said last */
    rp__jw_key(&w, "content");
    rp__jw_object(&w);
    rp__jw_kstr(&w, "type", "text");
    rp__jw_key(&w, "text");
    rp__buf_printf(&words, "%s%s", s->running ? "\n\n" : "", text);
    rp__jw_strn(&w, words.p ? words.p : "", words.n); /* there are editors that join them all the same */
    rp__jw_end_object(&w);
  }
  rp__jw_end_object(&w);
  note_fn *note = s->a->notices ? rp__note_update : rp__note_told;
  put_update(s, &update, store ? note : NULL);
}

/* What they did nobody knows: the editor must see an end all the same. */
static void fail_tools(struct rp__acp_session *s)
{
  for (size_t i = 0; i < s->n_tools; i++) {
    struct rp__buf update RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
    rp__tools_write_failed(s, i, &update);
    put_update(s, &update, rp__note_cut_off);
  }
  rp__tools_done(s);
}

/* An error, so that a script sees that the turn was not finished; the journal has the same. */
static void end_prompt(struct rp__acp_session *s, struct rp__call *c, const char *text)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE), error RP_AUTOBUF = RP_BUF(8192), data RP_AUTOBUF = RP_BUF(4096);
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  struct rp__json none = {0};
  struct rp__jw e = RP_JW(&error);
  rp__notes_init(&notes);
  rp__death_data(s->a, &data);
  rp__rpc_error(&out, rp__call_id(c), RP_ACP_E_INTERNAL, text, data.err ? NULL : data.p);
  rp__jw_object(&e);
  rp__jw_kstr(&e, "message", text);
  if (!data.err) {
    rp__jw_key(&e, "data");
    rp__jw_raw(&e, data.p, data.n);
  }
  rp__jw_end_object(&e);
  if (!out.err && !error.err &&
      !rp__note_turn_end(&s->book, c->turn, none, rp__json_trusted(error.p, error.n), &notes, NULL))
    rp__store_put(s, &notes, &s->a->to_client, (struct rp__str){out.p, out.n});
  else
    rp__acp_send(s->a, RP_ACP_CLIENT, &out);
  if (c->brief) s->brief_due = true;
  rp__call_free(c);
}

void rp__acp_turn_broken(struct rp__acp_session *s, const char *text)
{
  struct rp__acp *a = s->a;
  if (s->running) rp__repeat_turn_ends(s);
  fail_tools(s);
  if (s->running) rp__acp_tell(s, "The agent ended", text, true);
  if (s->running && a->draft) rp__draft_broken(s, text);
  for (struct rp__call *c = a->client.head, *next; c; c = next) {
    next = c->next;
    if (c->kind == RP_CALL_PROMPT && c->s == s) end_prompt(s, c, text);
  }
  s->running = 0;
}
