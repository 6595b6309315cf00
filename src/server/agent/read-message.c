/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns an agent's messages into events: a table, with one reader per type. Tools of the agent are recorded as running,
 * not as intended: the message reports a call that happens already, and must not be refused for a spent budget.
 *
 * A streamed message comes twice, in chunks and then whole. When both are equal, the whole one ends the stream and adds
 * nothing. When chunks were lost, or the agent that streamed them was cut off in between, the stream is ended, and the
 * whole message follows under the same id and replaces the chunks in the conversation. The result of the turn ends a
 * stream that no whole message followed.
 */
#include "base/text.h"
#include "server/agent/agent-session.h"

#define TEXT_MAX ((size_t)3 * RP_AGENT_MESSAGE_MAX + 65536) /* blocks of tools stand in the message and alone */

struct reader {
  struct rp__agent_tools *tools;
  const char *status;
  struct rp__json msg;
  struct rp__agent_act *act;
  struct rp__jw w;
};

/* ---- events that grow ---- */

void rp__agent_act_done(struct rp__agent_act *a)
{
  rp__buf_done(&a->text);
}

static struct rp__jw *begin(struct reader *r, const char *kind)
{
  struct rp__agent_act *a = r->act;
  a->part[a->n].kind = kind;
  a->part[a->n].at = a->text.n;
  r->w = RP_JW(&a->text);
  rp__jw_object(&r->w);
  return &r->w;
}

static void end(struct reader *r)
{
  struct rp__agent_act *a = r->act;
  rp__jw_end_object(&r->w);
  a->part[a->n].n = a->text.n - a->part[a->n].at;
  a->n++;
}

static void put(struct rp__jw *w, const char *name, struct rp__json v)
{
  if (v.type == RP_JSON_NONE) return;
  rp__jw_kvalue(w, name, v);
}

static int wrong(const char *field, const char *what, rp_error *err)
{
  return rp__fail_field(err, RP_E_INVALID, field, "'%s' must be %s", field, what);
}

/* A status that is the present one already is no event. `reason`: a JSON string or nothing. */
static int move_to(struct reader *r, const char *status, struct rp__json reason, rp_error *err)
{
  const char *now = r->act->status ? r->act->status : r->status;
  if (strcmp(now, status) == 0) return 0;
  if (!rp_runtime_may(*now ? now : NULL, status))
    return rp__fail_field(err, RP_E_INVALID, "status", "an agent that is %s can't become %s", now, status);
  struct rp__jw *w = begin(r, "runtime");
  rp__jw_kstr(w, "status", status);
  rp__jw_kvalue(w, "reason", reason);
  if (*r->status && strcmp(r->status, "starting") == 0) rp__jw_kstr(w, "progress", NULL);
  end(r);
  r->act->status = status;
  return 0;
}

/* Who says something works, whatever was known of it. */
static int at_work(struct reader *r, rp_error *err)
{
  bool rests = strcmp(r->status, "idle") == 0 || strcmp(r->status, "error") == 0;
  return rests ? move_to(r, "running", (struct rp__json){0}, err) : 0;
}

/* ---- short messages ---- */

/* It has nothing to do but to wait for what it has asked. */
static int rest(struct reader *r, rp_error *err)
{
  const char *waits = rp__agent_tools_waits(r->tools, r->status);
  return move_to(r, waits ? waits : "idle", (struct rp__json){0}, err);
}

/* What it was given on its return it may be at already. */
static int read_ready(struct reader *r, rp_error *err)
{
  return strcmp(r->status, "running") == 0 ? 0 : rest(r, err);
}

static int read_progress(struct reader *r, rp_error *err)
{
  struct rp__json text = rp__json_get(r->msg, "message");
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_AGENT_MESSAGE_MAX);
  if (text.type != RP_JSON_STRING) return wrong("message", "a string", err);
  if (rp__json_text(text, &out)) return rp__fail_nomem(err);
  struct rp__jw *w = begin(r, "runtime");
  rp__jw_key(w, "progress");
  rp__jw_strn(w, out.p ? out.p : "", rp__text_clip_word(out.p ? out.p : "", out.n, RP_AGENT_PROGRESS_MAX));
  end(r);
  r->act->durability = RP_OS;
  return 0;
}

static int read_status(struct reader *r, rp_error *err)
{
  static const char *const words[] = {"starting",        "idle",  "running",    "awaiting_approval",
                                      "awaiting_answer", "error", "terminated", NULL};
  struct rp__json status = rp__json_get(r->msg, "status");
  for (size_t i = 0; words[i]; i++)
    if (rp__json_eq(status, words[i])) return move_to(r, words[i], rp__json_get(r->msg, "reason"), err);
  return wrong("status", "starting, idle, running, awaiting_approval, awaiting_answer, error or terminated", err);
}

static int read_ack(struct reader *r, rp_error *err)
{
  if (!rp__json_i64(rp__json_get(r->msg, "seq"), &r->act->acked) || r->act->acked < 1)
    return wrong("seq", "the number of an event", err);
  return 0;
}

static void system_message(struct reader *r, struct rp__json text, const char *otherwise)
{
  struct rp__jw *w = begin(r, "message");
  rp__jw_kstr(w, "role", "system");
  rp__jw_key(w, "content");
  if (text.type == RP_JSON_STRING)
    rp__jw_value(w, text);
  else
    rp__jw_str(w, otherwise);
  rp__jw_kstr(w, "source", "agent");
  end(r);
}

/* The turn ended without an answer. */
static void failed_turn(struct reader *r, struct rp__json reason)
{
  struct rp__jw *w = begin(r, "turn");
  rp__jw_kstr(w, "status", "failed");
  if (reason.type == RP_JSON_STRING) put(w, "reason", reason);
  end(r);
}

static int read_error(struct reader *r, rp_error *err)
{
  struct rp__json text = rp__json_get(r->msg, "message");
  if (text.type != RP_JSON_STRING) return wrong("message", "a string", err);
  int rc = move_to(r, "error", text, err);
  if (rc) return rc;
  system_message(r, text, NULL);
  failed_turn(r, text);
  return 0;
}

/* Settings that are told, under the names that the importer of a store file gives them. */
static void settings(struct reader *r, const char *const *names)
{
  bool any = false;
  for (size_t i = 0; names[i]; i++) any |= rp__json_get(r->msg, names[i]).type != RP_JSON_NONE;
  if (!any) return;
  struct rp__jw *w = begin(r, "session");
  rp__jw_kobject(w, "settings");
  for (size_t i = 0; names[i]; i++) put(w, names[i], rp__json_get(r->msg, names[i]));
  rp__jw_end_object(w);
  end(r);
}

static int read_info(struct reader *r, rp_error *err)
{
  static const char *const names[] = {"model", "permissionMode", "totalCostUsd", "contextUsage", NULL};
  (void)err;
  settings(r, names);
  return 0;
}

static int read_models(struct reader *r, rp_error *err)
{
  static const char *const names[] = {"models", NULL};
  if (rp__json_get(r->msg, "models").type != RP_JSON_ARRAY) return wrong("models", "an array", err);
  settings(r, names);
  return 0;
}

/* The end of the stream has no words of its own, so redaction puts there what it held back of the chunks. */
static void end_stream(struct reader *r)
{
  struct rp__jw *w = begin(r, "message");
  rp__jw_kstr(w, "role", "assistant");
  rp__jw_key(w, "message_id");
  rp__jw_raw(w, r->tools->stream_id.p, r->tools->stream_id.n);
  rp__jw_kstr(w, "content", "");
  end(r);
}

static int read_result(struct reader *r, rp_error *err)
{
  static const char *const names[] = {"contextUsage", NULL};
  struct rp__json cost = rp__json_get(r->msg, "costUsd");
  double usd = 0;
  bool none = cost.type == RP_JSON_NONE || cost.type == RP_JSON_NULL;
  if (!none && (!rp__json_double(cost, &usd) || usd < 0)) return wrong("costUsd", "a number >= 0", err);
  int rc = rest(r, err);
  if (rc) return rc;
  if (r->tools->stream_id.n) { /* the turn is over, and with it what nobody said as a whole */
    end_stream(r);
    rp__agent_tools_stream(r->tools, (struct rp__json){0}, (struct rp__json){0});
  }
  if (rp__json_get(r->msg, "isError").type == RP_JSON_TRUE) {
    system_message(r, rp__json_get(r->msg, "result"), "The agent's turn ended with an error");
    failed_turn(r, rp__json_get(r->msg, "result"));
  }
  settings(r, names);
  struct rp__jw *w = begin(r, "usage");
  if (!none) put(w, "cost_usd", cost);
  rp__jw_ki64(w, "requests", 1);
  end(r);
  return 0;
}

/* ---- approvals and questions ---- */

static bool is_id(struct rp__json v)
{
  return v.type == RP_JSON_NUMBER || (v.type == RP_JSON_STRING && v.n > 2);
}

static int read_pending(struct reader *r, const char *kind, const char *member, const char *own_id, const char *status,
                        rp_error *err)
{
  struct rp__json it = rp__json_get(r->msg, member), id = rp__json_get(it, "id"), key, value;
  struct rp__json_iter at = {0};
  if (it.type != RP_JSON_OBJECT) return wrong(member, "an object", err);
  if (!is_id(id)) id = rp__json_get(it, own_id);
  if (!is_id(id)) return rp__fail_field(err, RP_E_INVALID, member, "'%s' needs an 'id', a string or a number", member);
  int rc = move_to(r, status, (struct rp__json){0}, err);
  if (rc) return rc;
  struct rp__jw *w = begin(r, kind);
  put(w, "id", id);
  rp__jw_kstr(w, "status", "pending");
  while (rp__json_next(it, &at, &key, &value)) {
    char *name RP_AUTOFREE = rp__json_dup(key);
    if (!name) return rp__fail_nomem(err);
    if (strcmp(name, "id") != 0 && strcmp(name, "status") != 0) put(w, name, value);
  }
  end(r);
  rp__agent_tools_ask(r->tools, strcmp(kind, "approval") == 0, id, false);
  return 0;
}

static int read_approval(struct reader *r, rp_error *err)
{
  return read_pending(r, "approval", "approval", "approvalId", "awaiting_approval", err);
}

static int read_question(struct reader *r, rp_error *err)
{
  return read_pending(r, "question", "question", "questionId", "awaiting_answer", err);
}

/* ---- what it says and does ---- */

static bool short_text(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n > 2 && v.n - 2 <= RP_AGENT_ID_MAX;
}

static void tool_begins(struct reader *r, struct rp__json block)
{
  struct rp__json id = rp__json_get(block, "id"), name = rp__json_get(block, "name");
  if (!short_text(id) || !short_text(name)) return;
  struct rp__jw *w = begin(r, "tool");
  put(w, "call_id", id);
  put(w, "name", name);
  rp__jw_kstr(w, "status", "running");
  put(w, "input", rp__json_get(block, "input"));
  end(r);
  rp__agent_tools_call(r->tools, id, name);
}

static void tool_ends(struct reader *r, struct rp__json block)
{
  struct rp__json id = rp__json_get(block, "tool_use_id");
  const char *name = rp__agent_tools_name(r->tools, id);
  if (!short_text(id)) return;
  struct rp__jw *w = begin(r, "tool");
  put(w, "call_id", id);
  rp__jw_key(w, "name");
  if (name)
    rp__jw_raw(w, name, strlen(name));
  else
    rp__jw_str(w, "unknown");
  rp__jw_kstr(w, "status", rp__json_get(block, "is_error").type == RP_JSON_TRUE ? "failed" : "done");
  put(w, "output", rp__json_get(block, "content"));
  end(r);
  rp__agent_tools_forget(r->tools, id);
}

static void tools(struct reader *r, struct rp__json content)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  if (content.type != RP_JSON_ARRAY) return;
  for (size_t n = 0; n < RP_AGENT_TOOLS && rp__json_next(content, &it, NULL, &block);) {
    struct rp__json type = rp__json_get(block, "type");
    bool begins = rp__json_eq(type, "tool_use"), ends = rp__json_eq(type, "tool_result");
    if (begins) tool_begins(r, block);
    if (ends) tool_ends(r, block);
    n += begins || ends;
  }
}

/* The kit's own messages: {type, message: {content}}. The user's words are in the journal already, results are not. */
static int read_sdk(struct reader *r, rp_error *err)
{
  struct rp__json it = rp__json_get(r->msg, "message"), inner = rp__json_get(it, "message");
  if (it.type != RP_JSON_OBJECT) return wrong("message", "an object", err);
  struct rp__json type = rp__json_get(it, "type");
  struct rp__json content = rp__json_get(inner.type == RP_JSON_OBJECT ? inner : it, "content");
  bool assistant = rp__json_eq(type, "assistant");
  if (!assistant && !rp__json_eq(type, "user")) return 0;
  if (assistant && content.type != RP_JSON_STRING && content.type != RP_JSON_ARRAY)
    return wrong("message.content", "a string or an array of blocks", err);
  int rc = assistant ? at_work(r, err) : 0;
  if (rc) return rc;
  if (assistant) { /* said before its tools are used: what is told of a death in between is the tool */
    struct rp__json id = rp__json_get(inner, "id");
    struct rp__agent_tools *m = r->tools;
    enum rp__agent_stream stream = rp__agent_tools_streamed(m, id, content);
    if (stream != RP_STREAM_OTHER) end_stream(r);
    if (stream != RP_STREAM_SAME) {
      struct rp__jw *w = begin(r, "message");
      rp__jw_kstr(w, "role", "assistant");
      if (stream == RP_STREAM_WHOLE) {
        rp__jw_key(w, "message_id");
        rp__jw_raw(w, m->stream_id.p, m->stream_id.n);
        rp__jw_kbool(w, "whole", true);
      }
      put(w, "content", content);
      end(r);
    }
    if (stream != RP_STREAM_OTHER) rp__agent_tools_stream(m, (struct rp__json){0}, (struct rp__json){0});
  }
  tools(r, content);
  return 0;
}

static int read_stream(struct reader *r, rp_error *err)
{
  struct rp__json id = rp__json_get(r->msg, "messageId"), token = rp__json_get(r->msg, "token");
  if (!short_text(id)) return wrong("messageId", "a string of 1 to 512 bytes", err);
  if (token.type != RP_JSON_STRING) return wrong("token", "a string", err);
  int rc = at_work(r, err);
  if (rc) return rc;
  rp__agent_tools_stream(r->tools, id, token);
  struct rp__jw *w = begin(r, "message");
  rp__jw_kstr(w, "role", "assistant");
  put(w, "message_id", id);
  put(w, "content", token);
  rp__jw_kbool(w, "partial", true);
  end(r);
  r->act->durability = RP_OS;
  return 0;
}

/* ---- the table ---- */

static const struct row {
  const char *type;
  int (*read)(struct reader *r, rp_error *err);
} rows[] = {
    {"ready", read_ready},
    {"setup_progress", read_progress},
    {"sdk_message", read_sdk},
    {"stream", read_stream},
    {"approval_request", read_approval},
    {"question", read_question},
    {"result", read_result},
    {"status_update", read_status},
    {"session_info_update", read_info},
    {"models_list", read_models},
    {"error", read_error},
    {"ack", read_ack},
};

int rp__agent_read(struct rp__agent_tools *m, const char *status, struct rp__json message, struct rp__agent_act *ret,
                   rp_error *err)
{
  struct rp__agent_act act = {.text = RP_BUF(TEXT_MAX), .durability = RP_DEFAULT};
  struct reader r = {.tools = m, .status = status, .msg = message, .act = &act};
  if (message.type != RP_JSON_OBJECT) return wrong("message", "an object", err);
  struct rp__json type = rp__json_get(message, "type"), number = rp__json_get(message, "client_seq");
  size_t i = 0;
  while (i < RP_ARRAY_SIZE(rows) && !rp__json_eq(type, rows[i].type)) i++;
  if (i == RP_ARRAY_SIZE(rows)) return rp__fail_field(err, RP_E_INVALID, "type", "there is no message of that type");
  bool numbered = number.type != RP_JSON_NONE && number.type != RP_JSON_NULL;
  if (numbered && (!rp__json_i64(number, &act.client_seq) || act.client_seq < 1))
    return wrong("client_seq", "a whole number from 1", err);
  int rc = rows[i].read(&r, err);
  /* A number must leave a trace, or the next one would be a gap. */
  if (!rc && act.client_seq && !act.n) {
    rp__jw_kstr(begin(&r, "x-agent"), "type", rows[i].type);
    end(&r);
  }
  if (!rc && act.text.err) rc = rp__fail(err, act.text.err, "the message is too large");
  if (rc)
    rp__agent_act_done(&act);
  else
    *ret = act;
  return rc;
}
