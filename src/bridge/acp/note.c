/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts, what streams, and the end of a turn. */
#include "bridge/acp/note-impl.h"

#include <sodium.h>

#include "base/text.h"
#include "bridge/line.h"
#include "bridge/utf8.h"
#include "json/text.h"

#define NOTES_BYTES (RP_LINE_MAX + (size_t)1024 * 1024) /* the longest line, and what is written around it */
#define HASH_BYTES 16

/* ---- notes -------------------------------------------------------------------------------- */

void rp__notes_init(struct rp__notes *n)
{
  *n = (struct rp__notes){.bytes = RP_BUF(NOTES_BYTES)};
}

void rp__notes_done(struct rp__notes *n)
{
  rp__buf_done(&n->bytes);
  n->n = 0;
}

void rp__notes_begin(struct rp__notes *n, rp_durability d)
{
  rp__buf_reset(&n->bytes);
  n->n = 0;
  n->durability = d;
}

struct rp__jw rp__note_begin(struct rp__notes *n, const char *kind)
{
  struct rp__jw w = RP_JW(&n->bytes);
  n->v[n->n].kind = kind;
  n->v[n->n].at = n->bytes.n;
  rp__jw_object(&w);
  return w;
}

void rp__note_end(struct rp__notes *n, struct rp__jw *w)
{
  rp__jw_end_object(w);
  n->v[n->n].n = n->bytes.n - n->v[n->n].at;
  n->n++;
}

int rp__notes_finish(struct rp__notes *n, rp_error *err)
{
  int rc = n->bytes.err;
  if (!rc) return 0;
  n->n = 0;
  return rc == RP_E_NOMEM ? rp__fail_nomem(err)
                          : rp__fail(err, rc, "a message of the protocol is too large to be kept");
}

void rp__note_member(struct rp__jw *w, struct rp__json key, struct rp__json value)
{
  rp__jw_value(w, key);
  rp__buf_char(w->out, ':');
  w->after_key = true;
  rp__jw_value(w, value);
}

static bool among(struct rp__json key, const char *const *names)
{
  for (; *names; names++)
    if (rp__json_eq(key, *names)) return true;
  return false;
}

void rp__note_rest(struct rp__jw *w, struct rp__json object, const char *const *but)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  bool any = false;
  while (rp__json_next(object, &it, &key, &value)) {
    if (among(key, but)) continue;
    if (!any) {
      rp__jw_key(w, "acp");
      rp__jw_object(w);
    }
    any = true;
    rp__note_member(w, key, value);
  }
  if (any) rp__jw_end_object(w);
}

/* Decoded as it goes: nothing is allocated, so it can't fail. */
uint64_t rp__note_hash(struct rp__json v)
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

bool rp__note_is_ours(struct rp__json id)
{
  static const char ours[] = RP_NOTE_OURS;
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

void rp__note_id(struct rp__jw *w, const char *name, char prefix, int64_t turn, struct rp__json id)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(id.n + 64), cut RP_AUTOBUF = RP_BUF(RP_NOTE_ID_MAX);
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
  } else if (text.n <= RP_NOTE_ID_MAX) {
    rp__jw_strn(w, text.p, text.n);
  } else {
    rp__buf_add(&cut, text.p, rp__text_clip(text.p, RP_NOTE_ID_MAX - 32));
    rp__buf_printf(&cut, "#%016llx", (unsigned long long)rp__note_hash(id));
    rp__jw_strn(w, cut.p ? cut.p : "", cut.n);
    if (cut.err) w->out->err = cut.err;
  }
}

/* ---- messages ------------------------------------------------------------------------------ */

static void stream_head(const struct rp__book_stream *st, struct rp__jw *w)
{
  rp__jw_kstr(w, "role", st->role);
  if (st->message_id[0]) {
    rp__jw_key(w, "message_id");
    rp__jw_raw(w, st->message_id, strlen(st->message_id));
  }
  rp__jw_kstr(w, "source", "acp");
  if (st->thought) rp__jw_kbool(w, "thought", true);
}

/* The text is empty, and there: redaction puts into it what it had held back. */
void rp__note_end_stream(struct rp__book *b, struct rp__notes *out)
{
  if (!b->stream.open) return;
  struct rp__jw w = rp__note_begin(out, "message");
  stream_head(&b->stream, &w);
  rp__jw_key(&w, "content");
  rp__jw_array(&w);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "text");
  rp__jw_kstr(&w, "text", "");
  rp__jw_end_object(&w);
  rp__jw_end_array(&w);
  rp__note_end(out, &w);
  b->stream.open = false;
}

/* Only an id that the journal takes names a message; any other is kept with the rest. */
static void read_message_id(struct rp__json v, char ret[RP_BOOK_ID_MAX + 1])
{
  bool ok = v.type == RP_JSON_STRING && v.n > 2 && v.n <= RP_BOOK_ID_MAX && rp__utf8_ok(v.p, v.n);
  if (ok) memcpy(ret, v.p, v.n);
  ret[ok ? v.n : 0] = '\0';
}

static bool goes_on(const struct rp__book_stream *st, const struct rp__book_stream *now)
{
  return st->open && st->thought == now->thought && strcmp(st->role, now->role) == 0 &&
         strcmp(st->message_id, now->message_id) == 0;
}

static bool note_chunk(struct rp__book *b, struct rp__json update, const char *role, bool thought,
                       struct rp__notes *out)
{
  static const char *const with_id[] = {"sessionUpdate", "content", "messageId", NULL};
  static const char *const without[] = {"sessionUpdate", "content", NULL};
  struct rp__json content = rp__json_get(update, "content");
  struct rp__book_stream now = {.open = true, .thought = thought};
  if (content.type != RP_JSON_OBJECT) return false;
  snprintf(now.role, sizeof now.role, "%s", role);
  read_message_id(rp__json_get(update, "messageId"), now.message_id);
  if (!goes_on(&b->stream, &now)) rp__note_end_stream(b, out);
  b->stream = now;
  struct rp__jw w = rp__note_begin(out, "message");
  stream_head(&b->stream, &w);
  rp__jw_kbool(&w, "partial", true);
  rp__jw_key(&w, "content");
  rp__jw_array(&w);
  rp__jw_value(&w, content);
  rp__jw_end_array(&w);
  rp__note_rest(&w, update, now.message_id[0] ? with_id : without);
  rp__note_end(out, &w);
  return true;
}

int rp__note_prompt(struct rp__book *b, struct rp__json params, struct rp__notes *out, rp_error *err)
{
  static const char *const known[] = {"sessionId", "prompt", NULL};
  struct rp__json prompt = rp__json_get(params, "prompt");
  struct rp__book_stream before = b->stream;
  rp__notes_begin(out, RP_DISK);
  if (prompt.type != RP_JSON_ARRAY)
    return rp__fail_field(err, RP_E_INVALID, "params.prompt", "params.prompt must be an array of content blocks");
  rp__note_end_stream(b, out);
  b->turn++;
  struct rp__jw w = rp__note_begin(out, "message");
  rp__jw_kstr(&w, "role", "user");
  rp__jw_kstr(&w, "source", "acp");
  rp__jw_ki64(&w, "turn", b->turn);
  rp__jw_key(&w, "content");
  rp__jw_value(&w, prompt);
  rp__note_rest(&w, params, known);
  rp__note_end(out, &w);
  int rc = rp__notes_finish(out, err);
  if (!rc) return 0;
  b->turn--;
  b->stream = before;
  return rc;
}

/* ---- updates ------------------------------------------------------------------------------- */

enum shape {
  OTHER,  /* as it came; what streamed has ended */
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
    {"usage_update", BESIDE},
    {"available_commands_update", BESIDE},
    {"current_mode_update", BESIDE},
    {"config_option_update", BESIDE},
    {"notice", BESIDE},
};

static enum shape shape_of(struct rp__json update)
{
  struct rp__json name = rp__json_get(update, "sessionUpdate");
  for (size_t i = 0; i < RP_ARRAY_SIZE(shapes); i++)
    if (rp__json_eq(name, shapes[i].name)) return shapes[i].shape;
  return OTHER;
}

static void note_raw(struct rp__book *b, struct rp__json update, enum shape shape, struct rp__notes *out)
{
  if (shape != BESIDE && shape != INFO) rp__note_end_stream(b, out);
  struct rp__jw w = rp__note_begin(out, "x-acp-update");
  rp__jw_key(&w, "update");
  rp__jw_value(&w, update);
  rp__note_end(out, &w);
  struct rp__json title = shape == INFO ? rp__json_get(update, "title") : (struct rp__json){0};
  if (title.type != RP_JSON_STRING || title.n <= 2) return;
  w = rp__note_begin(out, "session");
  rp__jw_key(&w, "name");
  rp__jw_value(&w, title);
  rp__note_end(out, &w);
}

int rp__note_update(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err)
{
  struct rp__book_stream before = b->stream;
  enum shape shape = shape_of(update);
  bool written = false;
  rp__notes_begin(out, RP_OS);
  if (update.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "params.update", "params.update must be an object");
  if (shape == USER) written = note_chunk(b, update, "user", false, out);
  if (shape == AGENT) written = note_chunk(b, update, "assistant", false, out);
  if (shape == THOUGHT) written = note_chunk(b, update, "assistant", true, out);
  if (shape == CALL || shape == CALL_UPDATE) written = rp__note_tool(b, update, shape == CALL, out);
  if (!written) note_raw(b, update, shape, out);
  int rc = rp__notes_finish(out, err);
  if (rc) b->stream = before;
  return rc;
}

int rp__note_as_it_came(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err)
{
  struct rp__book_stream before = b->stream;
  rp__notes_begin(out, RP_OS);
  note_raw(b, update, OTHER, out);
  int rc = rp__notes_finish(out, err);
  if (rc) b->stream = before;
  return rc;
}

int rp__note_told(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err)
{
  struct rp__book_stream before = b->stream;
  rp__notes_begin(out, RP_OS);
  note_chunk(b, update, "system", false, out);
  int rc = rp__notes_finish(out, err);
  if (rc) b->stream = before;
  return rc;
}

int rp__note_whole(struct rp__book *b, struct rp__json update, bool thought, struct rp__notes *out, rp_error *err)
{
  static const char *const known[] = {"sessionUpdate", "content", "messageId", NULL};
  struct rp__json content = rp__json_get(update, "content");
  struct rp__book_stream before = b->stream, now = {.thought = thought, .role = "assistant"};
  read_message_id(rp__json_get(update, "messageId"), now.message_id);
  if (content.type != RP_JSON_ARRAY || !now.message_id[0]) return rp__note_as_it_came(b, update, out, err);
  rp__notes_begin(out, RP_OS);
  rp__note_end_stream(b, out);
  struct rp__jw w = rp__note_begin(out, "message");
  stream_head(&now, &w);
  rp__jw_kbool(&w, "whole", true);
  rp__jw_key(&w, "content");
  rp__jw_value(&w, content);
  rp__note_rest(&w, update, known);
  rp__note_end(out, &w);
  int rc = rp__notes_finish(out, err);
  if (rc) b->stream = before;
  return rc;
}

int rp__note_choice(const char *update, const char *member, struct rp__json value, const char *by,
                    struct rp__notes *out, rp_error *err)
{
  rp__notes_begin(out, RP_DISK);
  struct rp__jw w = rp__note_begin(out, "x-acp-update");
  rp__jw_key(&w, "update");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", update);
  rp__jw_key(&w, member);
  rp__jw_value(&w, value);
  rp__jw_end_object(&w);
  if (by) rp__jw_kstr(&w, "by", by);
  rp__note_end(out, &w);
  return rp__notes_finish(out, err);
}

/* ---- the end of a turn ---------------------------------------------------------------------- */

int rp__note_turn_end(struct rp__book *b, int64_t turn, struct rp__json result, struct rp__json error,
                      struct rp__notes *out, rp_error *err)
{
  static const char *const known[] = {"stopReason", NULL};
  struct rp__book_stream before = b->stream;
  rp__notes_begin(out, RP_DISK);
  rp__note_end_stream(b, out);
  struct rp__jw w = rp__note_begin(out, "x-acp-turn");
  rp__jw_ki64(&w, "turn", turn);
  if (error.type) {
    rp__jw_key(&w, "error");
    rp__jw_value(&w, error);
  } else {
    rp__jw_key(&w, "stop_reason");
    rp__jw_value(&w, rp__json_get(result, "stopReason"));
    rp__note_rest(&w, result, known);
  }
  rp__note_end(out, &w);
  int rc = rp__notes_finish(out, err);
  if (rc) b->stream = before;
  return rc;
}
