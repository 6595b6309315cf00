/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns messages of the protocol into events: prompts, streamed text, tool calls, the end of a turn, and the agent's
 * requests to the editor with their answers. Permissions and questions stay open in the state until they are answered.
 * Requests about files and terminals are only recorded.
 */
#include "bridge/acp/session/event.h"

#include <assert.h>
#include <sodium.h>

#include "base/text.h"
#include "base/utf8.h"
#include "bridge/injected-text.h"
#include "json/text.h"

#define HASH_BYTES 16

/* ---- events -------------------------------------------------------------------------------- */

void rp__acp_events_done(struct rp__acp_events *n)
{
  rp__buf_done(&n->bytes);
  n->n = 0;
}

void rp__acp_events_list(const struct rp__acp_events *n, rp_event ret[RP_ACP_EVENTS_MAX])
{
  for (size_t i = 0; i < n->n; i++)
    ret[i] = (rp_event){.kind = n->v[i].kind, .body = n->bytes.p + n->v[i].at, .body_len = n->v[i].n};
}

/* Empties the list and says how durable its events shall be; `finish` undoes the stream on an error. */
static void begin(struct rp__known_calls *b, struct rp__acp_events *n, rp_durability d)
{
  assert(n->bytes.max);
  n->known = b;
  if (b) n->before = b->stream;
  rp__buf_reset(&n->bytes);
  n->n = 0;
  n->durability = d;
}

/* An event: the writer stands inside its body until end_event. */
static struct rp__jw begin_event(struct rp__acp_events *n, const char *kind)
{
  struct rp__jw w = RP_JW(&n->bytes);
  n->v[n->n].kind = kind;
  n->v[n->n].at = n->bytes.n;
  rp__jw_object(&w);
  return w;
}

static void end_event(struct rp__acp_events *n, struct rp__jw *w)
{
  rp__jw_end_object(w);
  n->v[n->n].n = n->bytes.n - n->v[n->n].at;
  n->n++;
}

/* The end of all functions that write events: the buffer's error, or 0. */
static int finish(struct rp__acp_events *n, rp_error *err)
{
  int rc = n->bytes.err;
  if (!rc) return 0;
  if (n->known) n->known->stream = n->before;
  n->n = 0;
  return rc == RP_E_NOMEM ? rp__fail_nomem(err)
                          : rp__fail(err, rc, "a message of the protocol is too large to be kept");
}

void rp__acp_copy_member(struct rp__jw *w, struct rp__json key, struct rp__json value)
{
  if (!key.type) return;
  rp__jw_value(w, key);
  rp__buf_char(w->out, ':');
  w->after_key = true;
  rp__jw_value(w, value);
}

/* Writes "acp":{…} with the members of `object` whose names are not in the list; nothing when there are none. */
static void write_rest(struct rp__jw *w, struct rp__json object, const char *const *but)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  bool any = false;
  while (rp__json_next(object, &it, &key, &value)) {
    const char *const *name = but;
    while (*name && !rp__json_eq(key, *name)) name++;
    if (*name) continue;
    if (!any) rp__jw_pack(w, "acp:{");
    any = true;
    rp__acp_copy_member(w, key, value);
  }
  if (any) rp__jw_end_object(w);
}

/* Decoded as it goes: nothing is allocated, so it can't fail. */
uint64_t rp__acp_event_hash(struct rp__json v)
{
  unsigned char piece[256], out[HASH_BYTES];
  size_t n = 0;
  uint64_t h;
  crypto_generichash_state st;
  crypto_generichash_init(&st, NULL, 0, sizeof out);
  if (v.type == RP_JSON_STRING && v.n >= 2) {
    struct rp__json_cursor c = {.at = v.p + 1, .end = v.p + v.n - 1};
    for (int b; (b = rp__json_cursor_next(&c)) >= 0;) {
      piece[n++] = (unsigned char)b;
      if (n < sizeof piece) continue;
      crypto_generichash_update(&st, piece, n);
      n = 0;
    }
    crypto_generichash_update(&st, piece, n);
  } else if (v.n) {
    crypto_generichash_update(&st, (const unsigned char *)v.p, v.n);
  }
  crypto_generichash_final(&st, out, sizeof out);
  memcpy(&h, out, sizeof h);
  return h ? h : 1;
}

bool rp__acp_event_is_ours(struct rp__json id)
{
  static const char ours[] = RP_ACP_OUR_MESSAGE;
  return id.type == RP_JSON_STRING && id.n > sizeof ours && memcmp(id.p + 1, ours, sizeof ours - 1) == 0;
}

/* Of JSON-RPC's ids 1 and "1" are two: a string that looks like another id, or begins with a quote, keeps its quotes.
 */
static bool is_ambiguous(struct rp__json id)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(id.n + 1);
  struct rp__json v;
  if (rp__json_text(id, &text) || !text.n) return false;
  return text.p[0] == '"' || rp__json_parse(text.p, text.n, NULL, &v, NULL) == 0;
}

/* Writes "NAME":"<prefix><turn>:<id>", `id` being a string's text or a number's digits. */
static void write_id(struct rp__jw *w, const char *name, char prefix, int64_t turn, struct rp__json id)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(id.n + 64), cut RP_AUTOBUF = RP_BUF(RP_ACP_EVENT_ID_MAX);
  rp__buf_printf(&text, "%c%lld:", prefix, (long long)turn);
  if (id.type == RP_JSON_STRING && prefix != 't' && is_ambiguous(id))
    rp__buf_add(&text, id.p, id.n);
  else if (id.type == RP_JSON_STRING)
    rp__json_text(id, &text);
  else
    rp__buf_add(&text, id.p ? id.p : "", id.n);
  rp__jw_key(w, name);
  if (text.err) {
    rp__jw_null(w);
    w->out->err = text.err;
  } else if (text.n <= RP_ACP_EVENT_ID_MAX) {
    rp__jw_strn(w, text.p, text.n);
  } else {
    rp__buf_add(&cut, text.p, rp__text_clip(text.p, RP_ACP_EVENT_ID_MAX - 32));
    rp__buf_printf(&cut, "#%016llx", (unsigned long long)rp__acp_event_hash(id));
    rp__jw_strn(w, cut.p ? cut.p : "", cut.n);
    if (cut.err) w->out->err = cut.err;
  }
}

/* ---- messages ------------------------------------------------------------------------------ */

static void stream_head(const struct rp__known_stream *st, struct rp__jw *w)
{
  rp__jw_pack(w, "role:s message_id:?r source:s", st->role, st->message_id, "acp");
  if (st->thought) rp__jw_kbool(w, "thought", true);
}

/* The text is empty, and there: redaction puts into it what it had held back. */
static void end_stream(struct rp__known_calls *b, struct rp__acp_events *out)
{
  if (!b->stream.open) return;
  struct rp__jw w = begin_event(out, "message");
  stream_head(&b->stream, &w);
  rp__jw_pack(&w, "content:[{type:s text:s}]", "text", "");
  end_event(out, &w);
  b->stream.open = false;
}

/* Only an id that the journal takes names a message; any other is kept with the rest. */
static void read_message_id(struct rp__json v, char ret[RP_KNOWN_ID_MAX + 1])
{
  bool ok = v.type == RP_JSON_STRING && v.n > 2 && v.n <= RP_KNOWN_ID_MAX && rp__utf8_ok(v.p, v.n);
  if (ok) memcpy(ret, v.p, v.n);
  ret[ok ? v.n : 0] = '\0';
}

/* What an event has under names of its own; the first one where it names a message. */
static const char *const chunk_members[] = {"messageId", "sessionUpdate", "content", NULL};

static bool write_chunk(struct rp__known_calls *b, struct rp__json update, const char *role, bool thought,
                        struct rp__acp_events *out)
{
  struct rp__json content = rp__json_get(update, "content");
  struct rp__known_stream now = {.open = true, .thought = thought};
  if (content.type != RP_JSON_OBJECT) return false;
  snprintf(now.role, sizeof now.role, "%s", role);
  read_message_id(rp__json_get(update, "messageId"), now.message_id);
  const struct rp__known_stream *was = &b->stream;
  bool goes_on = was->open && was->thought == now.thought && strcmp(was->role, now.role) == 0 &&
                 strcmp(was->message_id, now.message_id) == 0;
  if (!goes_on) end_stream(b, out);
  b->stream = now;
  struct rp__jw w = begin_event(out, "message");
  stream_head(&b->stream, &w);
  rp__jw_pack(&w, "partial:b content:[v]", true, content);
  write_rest(&w, update, now.message_id[0] ? chunk_members : chunk_members + 1);
  end_event(out, &w);
  return true;
}

/*
 * The blocks of a prompt without text of Reprise, which an editor may give that talks to several agents. Without such
 * text they stay as they are.
 */
static void write_blocks(struct rp__json prompt, struct rp__jw *w)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  bool ours = false;
  while (rp__json_next(prompt, &it, NULL, &block)) ours = ours || rp__marked(rp__json_get(block, "text"));
  if (!ours) {
    rp__jw_value(w, prompt);
    return;
  }
  it = (struct rp__json_iter){0};
  rp__jw_array(w);
  while (rp__json_next(prompt, &it, NULL, &block)) {
    struct rp__json text = rp__json_get(block, "text");
    struct rp__buf words RP_AUTOBUF = RP_BUF(text.n + 1);
    if (!rp__marked(text) || rp__json_text(text, &words)) {
      rp__jw_value(w, block);
      continue;
    }
    rp__unmark(&words);
    if (words.n) rp__jw_pack(w, "{type:s text:n}", "text", words.p, words.n);
  }
  rp__jw_end_array(w);
}

int rp__acp_event_prompt(struct rp__known_calls *b, struct rp__json params, const char *project,
                         struct rp__acp_events *out, rp_error *err)
{
  static const char *const known[] = {"sessionId", "prompt", NULL};
  struct rp__json prompt = rp__json_get(params, "prompt");
  begin(b, out, RP_DISK);
  if (prompt.type != RP_JSON_ARRAY)
    return rp__fail_field(err, RP_E_INVALID, "params.prompt", "params.prompt must be an array of content blocks");
  end_stream(b, out);
  b->turn++;
  struct rp__jw w = begin_event(out, "message");
  rp__jw_pack(&w, "role:s source:s turn:i project:?s", "user", "acp", b->turn, project);
  rp__jw_key(&w, "content");
  write_blocks(prompt, &w);
  write_rest(&w, params, known);
  end_event(out, &w);
  int rc = finish(out, err);
  if (rc) b->turn--;
  return rc;
}

/* ---- tool calls, as the ledger wants them (B-04): each event says the call's name and status ------------------- */

static const struct {
  const char *acp, *ledger;
} statuses[] = {
    {"pending", "intended"}, {"in_progress", "running"}, {"completed", "done"},
    {"failed", "failed"},    {"paused", "running"}, /* of version 2 */
    {"cancelled", "failed"},                        /* likewise */
};

static bool has_text(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n > 2;
}

/* `status`: the ledger's word; NULL: as it was. False: not as ACP has it, nothing was written. */
static bool put_tool(struct rp__known_calls *b, struct rp__json update, bool first, const char *status,
                     struct rp__acp_events *out)
{
  static const char *const beside[] = {"rawInput", "rawOutput", NULL};
  struct rp__json id = rp__json_get(update, "toolCallId"), name = rp__json_get(update, "name");
  if (!has_text(id)) return false;
  if (!has_text(name)) name = rp__json_get(update, "title");
  end_stream(b, out);
  /* A call that goes on in a later turn stays the call it was. One that begins is the turn's own. */
  uint64_t hash = rp__acp_event_hash(id);
  struct rp__known_call *c = rp__known_call(b, hash);
  bool known = c && !(first && c->turn != b->turn);
  if (!c) c = rp__known_call_add(b, hash);
  if (!known) *c = (struct rp__known_call){.id = hash, .turn = b->turn, .status = first ? "intended" : "running"};
  if (status) c->status = status;
  if (has_text(name)) {
    struct rp__buf text RP_AUTOBUF = RP_BUF(name.n + 1);
    if (rp__json_text(name, &text))
      out->bytes.err = RP_E_NOMEM;
    else
      rp__text_copy(c->name, sizeof c->name, text.p ? text.p : "");
  }
  /* The update itself stands without what is beside it under the ledger's names. */
  struct rp__jw w = begin_event(out, "tool");
  write_id(&w, "call_id", 't', c->turn, id);
  if (has_text(name) || !c->name[0])
    rp__jw_pack(&w, "name:v", has_text(name) ? name : id);
  else
    rp__jw_pack(&w, "name:s", c->name);
  rp__jw_pack(&w, "status:s turn:i input:?v output:?v", c->status, c->turn, rp__json_get(update, "rawInput"),
              rp__json_get(update, "rawOutput"));
  write_rest(&w, update, beside);
  end_event(out, &w);
  out->durability = RP_DISK;
  return true;
}

int rp__acp_event_cut_off(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out, rp_error *err)
{
  begin(b, out, RP_DISK);
  if (!put_tool(b, update, false, "unknown", out))
    return rp__fail_field(err, RP_E_INVALID, "toolCallId", "toolCallId must be a string");
  return finish(out, err);
}

/* ---- updates ------------------------------------------------------------------------------- */

enum shape {
  OTHER,  /* as it came; what streamed has ended */
  PLAN,   /* likewise, and it is the agent's todo list */
  BESIDE, /* the same, but a message goes on behind it */
  INFO,
  USER,
  AGENT,
  THOUGHT,
  CALL,
  CALL_UPDATE
};

static const struct {
  const char *name;
  enum shape shape;
} shapes[] = {
    {"agent_message_chunk", AGENT},
    {"agent_thought_chunk", THOUGHT},
    {"user_message_chunk", USER},
    {"tool_call", CALL},
    {"tool_call_update", CALL_UPDATE},
    {"session_info_update", INFO},
    {"plan", PLAN},
    {"plan_update", PLAN}, /* of version 2 */
    {"usage_update", BESIDE},
    {"available_commands_update", BESIDE},
    {"current_mode_update", BESIDE},
    {"config_option_update", BESIDE},
    {"notice", BESIDE},
};

/* The entries of a plan, each with the two members that both versions of the protocol have. */
static void write_todo(struct rp__json update, struct rp__acp_events *out)
{
  struct rp__json entries = rp__json_get(update, "entries"), entry;
  struct rp__json_iter it = {0};
  if (!entries.type) entries = rp__json_get(rp__json_get(update, "plan"), "entries");
  if (entries.type != RP_JSON_ARRAY) return;
  struct rp__jw w = begin_event(out, "todo");
  rp__jw_pack(&w, "items:[");
  while (rp__json_next(entries, &it, NULL, &entry)) {
    struct rp__json content = rp__json_get(entry, "content"), status = rp__json_get(entry, "status");
    if (!has_text(content)) continue;
    rp__jw_pack(&w, "{content:v", content);
    if (has_text(status))
      rp__jw_pack(&w, "status:v}", status);
    else
      rp__jw_pack(&w, "status:s}", "pending");
  }
  rp__jw_end_array(&w);
  end_event(out, &w);
}

static void write_raw(struct rp__known_calls *b, struct rp__json update, enum shape shape, struct rp__acp_events *out)
{
  if (shape != BESIDE && shape != INFO) end_stream(b, out);
  struct rp__jw w = begin_event(out, "x-acp-update");
  rp__jw_pack(&w, "update:v", update);
  end_event(out, &w);
  if (shape == PLAN) write_todo(update, out);
  struct rp__json title = shape == INFO ? rp__json_get(update, "title") : (struct rp__json){0};
  if (title.type != RP_JSON_STRING || title.n <= 2) return;
  w = begin_event(out, "session");
  rp__jw_pack(&w, "name:v", title);
  end_event(out, &w);
}

int rp__acp_event_update(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out, rp_error *err)
{
  struct rp__json name = rp__json_get(update, "sessionUpdate"), status = rp__json_get(update, "status");
  const char *word = NULL;
  enum shape shape = OTHER;
  bool written = false;
  begin(b, out, RP_OS);
  if (update.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "params.update", "params.update must be an object");
  for (size_t i = 0; i < RP_ARRAY_SIZE(shapes); i++)
    if (rp__json_eq(name, shapes[i].name)) shape = shapes[i].shape;
  for (size_t i = 0; i < RP_ARRAY_SIZE(statuses); i++)
    if (rp__json_eq(status, statuses[i].acp)) word = statuses[i].ledger;
  if (shape == USER) written = write_chunk(b, update, "user", false, out);
  if (shape == AGENT) written = write_chunk(b, update, "assistant", false, out);
  if (shape == THOUGHT) written = write_chunk(b, update, "assistant", true, out);
  if (shape == CALL || shape == CALL_UPDATE) written = put_tool(b, update, shape == CALL, word, out);
  if (!written) write_raw(b, update, shape, out);
  return finish(out, err);
}

int rp__acp_event_as_it_came(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out,
                             rp_error *err)
{
  begin(b, out, RP_OS);
  write_raw(b, update, OTHER, out);
  return finish(out, err);
}

int rp__acp_event_told(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out, rp_error *err)
{
  begin(b, out, RP_OS);
  write_chunk(b, update, "system", false, out);
  return finish(out, err);
}

int rp__acp_event_whole(struct rp__known_calls *b, struct rp__json update, bool thought, struct rp__acp_events *out,
                        rp_error *err)
{
  struct rp__json content = rp__json_get(update, "content");
  struct rp__known_stream now = {.thought = thought, .role = "assistant"};
  read_message_id(rp__json_get(update, "messageId"), now.message_id);
  if (content.type != RP_JSON_ARRAY || !now.message_id[0]) return rp__acp_event_as_it_came(b, update, out, err);
  begin(b, out, RP_OS);
  end_stream(b, out);
  struct rp__jw w = begin_event(out, "message");
  stream_head(&now, &w);
  rp__jw_pack(&w, "whole:b content:v", true, content);
  write_rest(&w, update, chunk_members);
  end_event(out, &w);
  return finish(out, err);
}

int rp__acp_event_choice(const char *update, const char *member, struct rp__json value, const char *by,
                         struct rp__acp_events *out, rp_error *err)
{
  begin(NULL, out, RP_DISK);
  struct rp__jw w = begin_event(out, "x-acp-update");
  rp__jw_pack(&w, "update:{sessionUpdate:s", update);
  rp__jw_key(&w, member);
  rp__jw_pack(&w, "v} by:?s", value, by);
  end_event(out, &w);
  return finish(out, err);
}

/* ---- the end of a turn ---------------------------------------------------------------------- */

/* Every other reason (end_turn) is an orderly end, which needs no event of its own. */
static const struct {
  const char *acp, *status;
} ends[] = {
    {"cancelled", "cancelled"},     {"refusal", "refused"}, {"max_tokens", "limit"},
    {"max_turn_requests", "limit"}, {"error", "failed"}, /* of version 2 */
};

/* How the turn ended, for the digest (B-13). */
static void write_turn(struct rp__json stop, struct rp__json error, struct rp__acp_events *out)
{
  const char *status = error.type ? "failed" : NULL;
  struct rp__json message = rp__json_get(error, "message");
  for (size_t i = 0; !status && i < RP_ARRAY_SIZE(ends); i++)
    if (rp__json_eq(stop, ends[i].acp)) status = ends[i].status;
  if (!status) return;
  struct rp__jw w = begin_event(out, "turn");
  rp__jw_pack(&w, "status:s", status);
  if (has_text(message) || !error.type) rp__jw_kvalue(&w, "reason", error.type ? message : stop);
  end_event(out, &w);
}

int rp__acp_event_turn_end(struct rp__known_calls *b, int64_t turn, struct rp__json result, struct rp__json error,
                           struct rp__acp_events *out, rp_error *err)
{
  static const char *const known[] = {"stopReason", NULL};
  begin(b, out, RP_DISK);
  end_stream(b, out);
  struct rp__jw w = begin_event(out, "x-acp-turn");
  rp__jw_pack(&w, "turn:i error:?v", turn, error);
  if (!error.type) {
    rp__jw_pack(&w, "stop_reason:v", rp__json_get(result, "stopReason"));
    write_rest(&w, result, known);
  }
  end_event(out, &w);
  write_turn(rp__json_get(result, "stopReason"), error, out);
  return finish(out, err);
}

/* ---- what the agent asks of the editor --------------------------------------------------------- */

enum ask { PLAIN, PERMISSION, QUESTION };

static const struct method {
  const char *name;
  enum ask ask;
  rp_durability durability;
} methods[] = {
    {"session/request_permission", PERMISSION, RP_DISK},
    {"elicitation/create", QUESTION, RP_DISK},
    {"fs/write_text_file", PLAIN, RP_DISK},
    {"terminal/create", PLAIN, RP_DISK},
    {NULL, PLAIN, RP_OS},
};

static const char prefixes[] = {[PLAIN] = 'r', [PERMISSION] = 'a', [QUESTION] = 'q'};
static const char *const kinds[] = {[PERMISSION] = "approval", [QUESTION] = "question"};

/* As a number and as a string they are two. */
static uint64_t hash_id(struct rp__json id)
{
  return id.type == RP_JSON_STRING ? rp__acp_event_hash(id) : ~rp__acp_event_hash(id) | 1;
}

/* Variables of a terminal's environment keep their names alone. */
static void write_params(struct rp__jw *w, struct rp__json method, struct rp__json params)
{
  struct rp__json_iter it = {0}, at = {0};
  struct rp__json key, value, item;
  if (params.type != RP_JSON_OBJECT || !rp__json_eq(method, "terminal/create")) {
    rp__jw_pack(w, "params:v", params);
    return;
  }
  rp__jw_pack(w, "params:{");
  while (rp__json_next(params, &it, &key, &value)) {
    if (!rp__json_eq(key, "env")) {
      rp__acp_copy_member(w, key, value);
      continue;
    }
    rp__jw_pack(w, "env:[");
    while (rp__json_next(value, &at, NULL, &item)) rp__jw_pack(w, "{name:v}", rp__json_get(item, "name"));
    rp__jw_end_array(w);
  }
  rp__jw_end_object(w);
}

int rp__acp_event_request(struct rp__known_calls *b, struct rp__json id, struct rp__json method, struct rp__json params,
                          struct rp__acp_events *out, rp_error *err)
{
  const struct method *m = methods;
  struct rp__json_iter it = {0};
  struct rp__json option;
  while (m->name && !rp__json_eq(method, m->name)) m++;
  begin(b, out, m->durability);
  if (method.type != RP_JSON_STRING) return rp__fail_field(err, RP_E_INVALID, "method", "method must be a string");
  struct rp__known_request *a = rp__known_request_add(b, hash_id(id));
  a->turn = b->turn;
  /* The options that mean yes, so that the answer, which names one, can be read. */
  for (size_t n = 0; m->ask == PERMISSION && n < RP_KNOWN_OPTIONS &&
                     rp__json_next(rp__json_get(params, "options"), &it, NULL, &option);) {
    struct rp__json kind = rp__json_get(option, "kind");
    if (rp__json_eq(kind, "allow_once") || rp__json_eq(kind, "allow_always"))
      a->option[n++] = rp__acp_event_hash(rp__json_get(option, "optionId"));
  }
  struct rp__jw w = begin_event(out, m->ask ? kinds[m->ask] : "x-acp-request");
  write_id(&w, "id", prefixes[m->ask], a->turn, id);
  if (m->ask) {
    rp__jw_pack(&w, "status:s acp:v", "pending", params);
  } else {
    rp__jw_pack(&w, "method:v", method);
    write_params(&w, method, params);
  }
  end_event(out, &w);
  return finish(out, err);
}

int rp__acp_event_answer(struct rp__known_calls *b, struct rp__json id, const char *method, struct rp__json result,
                         struct rp__json error, struct rp__acp_events *out, rp_error *err)
{
  static const char *const words[] = {[PERMISSION] = "denied", [QUESTION] = "answered"};
  struct rp__json outcome = rp__json_get(result, "outcome");
  uint64_t option = rp__acp_event_hash(rp__json_get(outcome, "optionId"));
  const struct method *m = methods;
  bool allowed = false;
  while (m->name && strcmp(m->name, method) != 0) m++;
  begin(b, out, m->durability);
  struct rp__known_request *a = rp__known_request(b, hash_id(id));
  if (a && m->ask == PERMISSION && rp__json_eq(rp__json_get(outcome, "outcome"), "selected"))
    for (size_t i = 0; i < RP_KNOWN_OPTIONS; i++) allowed |= a->option[i] == option;
  struct rp__jw w = begin_event(out, m->ask ? kinds[m->ask] : "x-acp-answer");
  write_id(&w, "id", prefixes[m->ask], a ? a->turn : b->turn, id);
  if (m->ask)
    rp__jw_kstr(&w, "status", allowed ? "allowed" : words[m->ask]);
  else
    rp__jw_kstr(&w, "method", method);
  rp__jw_key(&w, error.type ? "error" : "result");
  rp__jw_value(&w, error.type ? error : result);
  end_event(out, &w);
  int rc = finish(out, err);
  if (!rc && a) *a = (struct rp__known_request){0};
  return rc;
}
