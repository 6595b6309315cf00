/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a hook's input into events. A value too large for an event goes into a blob, or only its size is stored. */
#include "bridge/hook/hook-session.h"

#include <sodium.h>

#include "base/id.h"
#include "base/text.h"
#include "bridge/injected-text.h"

#define BODY_MAX ((size_t)2 * 1024 * 1024)
#define INLINE_MAX ((size_t)256 * 1024) /* bytes of one value in an event */
#define ID_MAX_BYTES 256                /* of an agent's own ids */
#define LOOKBACK 512                    /* events searched for a call without an id, or for a message's */
#define HASH_BYTES 16
#define PREFIX_MAX (2 * HASH_BYTES + 4)
#define CALL_MAX 128

int rp__hook_append(rp_session *s, const char *kind, const struct rp__buf *body, rp_durability durability,
                    rp_error *err)
{
  rp_append_options o = {0};
  rp_ack ack;
  o.durability = durability;
  if (body->err) return rp__fail_nomem(err);
  const rp_event ev = {.kind = kind, .body = body->p, .body_len = body->n};
  return rp_append(s, &ev, &o, &ack, err);
}

/* ---- messages ---- */

/* A text over the limit is kept from its beginning, masked before it is cut; the whole of it is a blob. */
static int write_content(rp_session *s, struct rp__jw *w, struct rp__str text, rp_error *err)
{
  char blob[RP_BLOB_ID_MAX + 1], *masked = NULL;
  rp__jw_key(w, "content");
  if (text.n <= INLINE_MAX) {
    rp__jw_strn(w, text.p, text.n);
    return 0;
  }
  int rc = rp_mask(s, text.p, text.n, &masked, err);
  if (rc) return rc;
  size_t n = strlen(masked);
  rp__jw_strn(w, masked, n > INLINE_MAX ? rp__text_clip(masked, INLINE_MAX) : n);
  rp_free(masked);
  rp__jw_ki64(w, "content_bytes", (int64_t)text.n);
  if (rp_blob_put(s, text.p, text.n, blob, NULL) == 0) rp__jw_kstr(w, "content_blob", blob);
  return 0;
}

/* `id`, `project`: NULL or empty where it has none. */
static int message(rp_session *s, const char *role, const struct rp__buf *text, const char *id, const char *source,
                   const char *project, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  rp__jw_pack(&w, "{role:s", role);
  int rc = write_content(s, &w, (struct rp__str){text->p, text->n}, err);
  if (rc) return rc;
  rp__jw_pack(&w, "message_id:?s source:s project:?s}", id, source, project);
  return rp__hook_append(s, "message", &body, RP_DISK, err);
}

int rp__hook_prompt(const struct rp__hook_session *h, struct rp__buf *ret)
{
  struct rp__json prompt = rp__json_get(h->input, "prompt");
  if (rp__json_text(prompt, ret)) return RP_E_NOMEM;
  rp__unmark(ret);
  return 0;
}

static int note_prompt(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_HOOK_INPUT_MAX);
  struct rp__json prompt = rp__json_get(h->input, "prompt"), id = rp__json_get(h->input, "prompt_id");
  if (prompt.type != RP_JSON_STRING) return rp__fail_field(err, RP_E_INVALID, "prompt", "'prompt' must be a string");
  if (rp__hook_prompt(h, &text)) return rp__fail_nomem(err);
  if (!text.n) return 0;
  RP_AUTOFREE char *name = id.type == RP_JSON_STRING && id.n <= ID_MAX_BYTES ? rp__json_dup(id) : NULL;
  char project[RP_PROJECT_NAME_MAX + 1] = "";
  if (h->project[0] && !rp__workspace_name(h->project, project)) project[0] = '\0';
  return message(s, "user", &text, name, "hook", project, err);
}

/* Whether `rest` is the end of `whole`, but for blanks between its pieces. */
static bool repeats_end(struct rp__str whole, struct rp__str rest)
{
  size_t w = whole.n, r = rest.n;
  for (; r; r--) {
    if (w && rest.p[r - 1] == whole.p[w - 1])
      w--;
    else if (rest.p[r - 1] != ' ')
      return false;
  }
  return w > 0;
}

/*
 * Gemini CLI's prompt_response of an answer that came in pieces: the whole, and behind it each piece but the first once
 * more, a blank between them.
 */
static void undouble(struct rp__buf *text)
{
  for (size_t at = text->n / 2; at < text->n; at++) {
    struct rp__str whole = {text->p, at}, rest = {text->p + at + 1, text->n - at - 1};
    if (2 * rest.n < whole.n) return; /* so little comes again by chance */
    if (text->p[at] != ' ' || !repeats_end(whole, rest)) continue;
    text->p[text->n = at] = '\0';
    return;
  }
}

struct same {
  const char *id;
  bool found;
};

static int on_message(void *ctx, const rp_event_info *ev)
{
  struct same *x = ctx;
  if (strcmp(ev->kind, "message") != 0) return 0;
  x->found = x->found || rp__json_eq(rp__json_get(rp__json_trusted(ev->body, ev->body_len), "message_id"), x->id);
  return 0;
}

/*
 * What the assistant said last: by the input, or else by the agent's own file. Gemini's input has it only together with
 * what was said before, and parts of it twice, so there the file goes first. Nothing to be found is no error.
 */
static int note_stop(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_HOOK_INPUT_MAX);
  char id[RP_TRANSCRIPT_ID + 1] = "";
  struct rp__json said = rp__json_get(h->input, "last_assistant_message");
  RP_AUTOFREE char *path = rp__json_dup(rp__hook_field(h->input, "transcript_path"));
  bool given = said.type == RP_JSON_STRING;
  if (given && rp__json_text(said, &text)) return rp__fail_nomem(err);
  if (!given && !(path && rp__transcript_last(path, &text, id))) {
    rp__buf_reset(&text);
    said = rp__json_get(h->input, "prompt_response");
    if (said.type == RP_JSON_STRING && rp__json_text(said, &text)) return rp__fail_nomem(err);
    undouble(&text);
  }
  if (!text.n) return 0;
  /* A turn that another hook kept from ending ends twice, and what was said last may be the same. */
  struct same x = {.id = id};
  int64_t client, seq;
  if (id[0] && rp_sync(s, "hook", &client, &seq, NULL) == 0)
    RP_IGNORE(rp_events(s, RP_MAX(0, seq - LOOKBACK), LOOKBACK, on_message, &x, NULL)); /* unread: stored again */
  if (x.found) return 0;
  return message(s, "assistant", &text, id, "hook", NULL, err);
}

/* ---- tools ---- */

struct open_call {
  const char *prefix;
  char id[CALL_MAX]; /* of the last one that has no outcome */
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct open_call *x = ctx;
  char id[CALL_MAX];
  if (strcmp(ev->kind, "tool") != 0) return 0;
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len), call = rp__json_get(body, "call_id");
  if (call.type != RP_JSON_STRING || call.n < 2 || call.n - 2 >= sizeof id) return 0;
  snprintf(id, sizeof id, "%.*s", (int)(call.n - 2), call.p + 1);
  if (strncmp(id, x->prefix, strlen(x->prefix)) != 0) return 0;
  if (rp__json_eq(rp__json_get(body, "status"), "intended"))
    memcpy(x->id, id, sizeof id);
  else if (strcmp(x->id, id) == 0)
    x->id[0] = '\0';
  return 0;
}

/*
 * The agent's own id of a call, or one that is made: the same name and input make the same beginning. Outcomes are
 * final, so each call needs an id of its own: the number of the event before it makes it one.
 */
static int find_id(rp_session *s, const struct rp__hook_session *h, char ret[CALL_MAX], rp_error *err)
{
  struct rp__json name = rp__hook_field(h->input, "tool_name"), input = rp__hook_field(h->input, "tool_input");
  RP_AUTOFREE char *given = rp__json_dup(rp__json_get(h->input, "tool_use_id"));
  char prefix[PREFIX_MAX], hex[2 * HASH_BYTES + 1];
  struct open_call x = {.prefix = prefix};
  crypto_generichash_state st;
  unsigned char hash[HASH_BYTES];
  int64_t client, seq;
  if (given && *given && strlen(given) < CALL_MAX) {
    rp__text_copy(ret, CALL_MAX, given);
    return 0;
  }
  crypto_generichash_init(&st, NULL, 0, sizeof hash);
  if (name.p) crypto_generichash_update(&st, (const unsigned char *)name.p, name.n);
  if (input.p) crypto_generichash_update(&st, (const unsigned char *)input.p, input.n);
  crypto_generichash_final(&st, hash, sizeof hash);
  sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
  snprintf(prefix, sizeof prefix, "h-%s-", hex);
  int rc = rp_sync(s, "hook", &client, &seq, err);
  if (!rc && h->event == RP_HOOK_TOOL_AFTER) rc = rp_events(s, RP_MAX(0, seq - LOOKBACK), LOOKBACK, on_event, &x, err);
  if (rc) return rc;
  if (x.id[0])
    memcpy(ret, x.id, CALL_MAX);
  else
    snprintf(ret, CALL_MAX, "%s%lld", prefix, (long long)seq);
  return 0;
}

/* Copilot CLI's word for an outcome: success, failure, denied, rejected … */
static struct rp__json result_type(const struct rp__hook_session *h)
{
  struct rp__json response = rp__hook_field(h->input, "tool_response"), v = rp__json_get(response, "result_type");
  return v.type ? v : rp__json_get(response, "resultType");
}

static bool failed(const struct rp__hook_session *h)
{
  struct rp__json error = rp__json_get(h->input, "error"), result = result_type(h);
  struct rp__json response = rp__hook_field(h->input, "tool_response");
  if (strstr(h->word, "Failure")) return true;
  if (result.type == RP_JSON_STRING && !rp__json_eq(result, "success")) return true;
  if (error.type == RP_JSON_STRING || error.type == RP_JSON_OBJECT) return true;
  error = rp__json_get(response, "error");
  if ((error.type == RP_JSON_STRING && error.n > 2) || error.type == RP_JSON_OBJECT) return true;
  return rp__json_get(response, "isError").type == RP_JSON_TRUE ||
         rp__json_get(response, "is_error").type == RP_JSON_TRUE;
}

static void write_value(rp_session *s, struct rp__jw *w, const char *name, struct rp__json v, bool whole)
{
  char key[32], blob[RP_BLOB_ID_MAX + 1];
  if (v.type == RP_JSON_NONE) return;
  if (whole && v.n <= INLINE_MAX) {
    rp__jw_kvalue(w, name, v);
    return;
  }
  snprintf(key, sizeof key, "%s_bytes", name);
  rp__jw_ki64(w, key, (int64_t)v.n);
  snprintf(key, sizeof key, "%s_blob", name);
  if (rp_blob_put(s, v.p, v.n, blob, NULL) == 0) rp__jw_kstr(w, key, blob);
}

/* That the user rejected the call, by the kind of its result or by the text that agents put in its place. */
static bool is_declined(const struct rp__hook_session *h, struct rp__json output, struct rp__buf *said)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_HOOK_INPUT_MAX);
  struct rp__json kind = result_type(h), error = rp__json_get(output, "error");
  if (rp__json_eq(kind, "denied") || rp__json_eq(kind, "rejected")) return true;
  const struct rp__json texts[] = {output, rp__json_get(output, "text_result_for_llm"),
                                   rp__json_get(output, "llmContent"), error, rp__json_get(error, "message")};
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    rp__buf_reset(&text);
    if (texts[i].type == RP_JSON_STRING) rp__json_text(texts[i], &text);
    if (text.n && rp__hook_declined((struct rp__str){text.p, text.n}, !failed(h), said)) return true;
  }
  return false;
}

static int tool(rp_session *s, const struct rp__hook_session *h, const char *call, const char *name, bool whole,
                rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX), said = RP_BUF(INLINE_MAX);
  struct rp__jw w = RP_JW(&body);
  bool before = h->event == RP_HOOK_TOOL_BEFORE;
  struct rp__json output = rp__hook_field(h->input, "tool_response");
  if (output.type == RP_JSON_NONE) output = rp__json_get(h->input, "error");
  bool declined = !before && is_declined(h, output, &said);
  const char *status = before ? "intended" : declined || failed(h) ? "failed" : "done";
  rp__jw_pack(&w, "{call_id:s name:s status:s", call, name, status);
  if (declined) rp__hook_write_declined(&w, &said);
  /* An outcome repeats its input only where nothing was told before. */
  if (before) write_value(s, &w, "input", rp__hook_field(h->input, "tool_input"), whole);
  if (!before) write_value(s, &w, "output", output, whole);
  rp__jw_end_object(&w);
  return rp__hook_append(s, "tool", &body, RP_DISK, err);
}

/* ---- what other memories were told (X-17, X-18) ---- */

/* A tool of that name, be it one of an MCP server: "mcp__cortex__cortex_add". */
static bool is_tool(const char *name, const char *wanted)
{
  size_t n = strlen(name), m = strlen(wanted);
  if (n < m || strcmp(name + n - m, wanted) != 0) return false;
  return n == m || (n > m + 2 && strncmp(name + n - m - 2, "__", 2) == 0);
}

/* What Cortex has stored is known here too, under Cortex' own id where it told one. */
static int note_learned(rp_session *s, const struct rp__hook_session *h, const char *call, rp_error *err)
{
  static const char done[] = "Memory stored";
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  struct rp__json input = rp__json_get(h->input, "tool_input"), content = rp__json_get(input, "content");
  struct rp__json answer = rp__json_get(h->input, "tool_response"), told = rp__json_get(answer, "details");
  RP_AUTOFREE char *given = rp__json_dup(rp__json_get(told, "id"));
  bool named = given && rp__name_ok(given);
  if (content.type != RP_JSON_STRING || content.n <= 2) return 0;
  if (!named && !(answer.n && memmem(answer.p, answer.n, done, sizeof done - 1))) return 0; /* nobody says it was */
  struct rp__json list = rp__json_get(told, "categories"), one = rp__json_get(input, "category");
  if (list.type != RP_JSON_ARRAY) list = rp__json_get(input, "categories");
  rp__jw_pack(&w, "{memory_id:s content:v", named ? given : call, content);
  if (list.type == RP_JSON_ARRAY)
    rp__jw_kvalue(&w, "categories", list);
  else if (one.type == RP_JSON_STRING)
    rp__jw_pack(&w, "categories:[v]", one);
  rp__jw_pack(&w, "source:s}", "cortex_add");
  return rp__hook_append(s, "learning", &body, RP_DISK, err);
}

/* A letter to another agent is something that was said. */
static int note_letter(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  static const char *const parts[] = {"to", "subject", "body"}, *const before[] = {"To ", ": ", "\n\n"};
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_HOOK_INPUT_MAX);
  struct rp__json input = rp__json_get(h->input, "tool_input");
  if (!rp__json_eq(rp__json_get(input, "action"), "send")) return 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++) {
    struct rp__json v = rp__json_get(input, parts[i]);
    if (v.type != RP_JSON_STRING || v.n <= 2) continue;
    rp__buf_str(&text, before[i]);
    rp__json_text(v, &text);
  }
  if (text.err) return rp__fail_nomem(err);
  return text.n ? message(s, "assistant", &text, NULL, "synapse", NULL, err) : 0;
}

static int note_tool(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  char call[CALL_MAX];
  RP_AUTOFREE char *name = rp__json_dup(rp__hook_field(h->input, "tool_name"));
  if (!name || !*name)
    return rp__fail_field(err, RP_E_INVALID, "tool_name", "'tool_name' is missing: the input names no tool");
  int rc = find_id(s, h, call, err);
  if (!rc) rc = tool(s, h, call, name, true, err);
  /* Nested too deep for an event, or over a configured limit: the ledger has its line all the same. */
  if (rc == RP_E_TOO_LARGE || rc == RP_E_INVALID || rc == RP_E_JSON) rc = tool(s, h, call, name, false, err);
  if (!rc && h->event == RP_HOOK_TOOL_AFTER && rp__json_get(h->input, "is_interrupt").type == RP_JSON_TRUE)
    rc = rp__hook_turn(s, "cancelled", (struct rp__json){0}, err);
  if (rc || h->event != RP_HOOK_TOOL_AFTER || failed(h)) return rc;
  if (is_tool(name, "cortex_add")) return note_learned(s, h, call, err);
  return is_tool(name, "synapse") ? note_letter(s, h, err) : 0;
}

/* ---- the rest ---- */

static int note_notice(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  static const char *const members[] = {"notification_type", "title", "message", "error", "error_details", "reason"};
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  rp__jw_pack(&w, "{event:s", h->word);
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++) {
    struct rp__json v = rp__json_get(h->input, members[i]);
    if (v.type != RP_JSON_STRING || v.n > INLINE_MAX) continue;
    rp__jw_kvalue(&w, members[i], v);
  }
  rp__jw_end_object(&w);
  return rp__hook_append(s, "x-hook", &body, RP_OS, err);
}

static int note_failure(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  struct rp__json reason = rp__json_get(h->input, "error_details");
  if (reason.type != RP_JSON_STRING) reason = rp__json_get(h->input, "error");
  int rc = note_notice(s, h, err);
  return rc ? rc : rp__hook_turn(s, "failed", reason, err);
}

int rp__hook_note(rp_session *s, const struct rp__hook_session *h, rp_error *err)
{
  if (h->event == RP_HOOK_PROMPT || h->event == RP_HOOK_STOP || h->event == RP_HOOK_END) rp__hook_turn_ended(s, h);
  switch (h->event) {
  case RP_HOOK_PROMPT: return note_prompt(s, h, err);
  case RP_HOOK_TOOL_BEFORE:
  case RP_HOOK_TOOL_AFTER: return note_tool(s, h, err);
  case RP_HOOK_STOP: return note_stop(s, h, err);
  case RP_HOOK_FAILURE: return note_failure(s, h, err);
  case RP_HOOK_COMPACT: return rp_checkpoint(s, NULL, err);
  case RP_HOOK_END: /* of a session that somebody else will end */
  case RP_HOOK_NOTICE: return note_notice(s, h, err);
  case RP_HOOK_NONE:
  case RP_HOOK_START: break;
  }
  return 0;
}
