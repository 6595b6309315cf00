/* SPDX-License-Identifier: Apache-2.0 */
/* Tool calls told again: as they came, but for terminals, which the editor of today does not know. */
#include "bridge/acp/note-impl.h"
#include "bridge/acp/replay-impl.h"

/* ---- calls without an end ------------------------------------------------------------------------- */

static int emit_failed(struct rp__replay *r, const char *raw, rp_error *err)
{
  struct rp__jw w = RP_JW(&r->out);
  rp__buf_reset(&r->out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", "tool_call_update");
  rp__jw_key(&w, "toolCallId");
  rp__jw_raw(&w, raw, strlen(raw));
  rp__jw_kstr(&w, "status", "failed");
  rp__jw_end_object(&w);
  return rp__replay_emit_out(r, err);
}

static void forget(struct rp__replay *r, size_t i)
{
  free(r->open[i].raw);
  r->n_open--;
  memmove(&r->open[i], &r->open[i + 1], (r->n_open - i) * sizeof *r->open);
}

int rp__replay_close_calls(struct rp__replay *r, rp_error *err)
{
  int rc = 0;
  for (size_t i = 0; i < r->n_open; i++) {
    if (!rc) rc = emit_failed(r, r->open[i].raw, err);
    free(r->open[i].raw);
  }
  r->n_open = 0;
  return rc;
}

static size_t find_open(const struct rp__replay *r, uint64_t id)
{
  size_t i = 0;
  while (i < r->n_open && r->open[i].id != id) i++;
  return i;
}

/* One too many is told as failed now: should it end after all, the editor will hear of that too. */
static int make_room(struct rp__replay *r, rp_error *err)
{
  if (r->n_open == RP_OPEN_MAX) {
    int rc = emit_failed(r, r->open[0].raw, err);
    forget(r, 0);
    return rc;
  }
  if (r->n_open < r->cap_open) return 0;
  size_t cap = r->cap_open ? 2 * r->cap_open : 16;
  struct rp__open_call *more = realloc(r->open, cap * sizeof *more);
  if (!more) return rp__fail_nomem(err);
  r->open = more;
  r->cap_open = cap;
  return 0;
}

/* One that was cut off has been told as failed. */
static bool has_ended(struct rp__json status)
{
  return rp__json_eq(status, "done") || rp__json_eq(status, "failed") || rp__json_eq(status, "unknown");
}

static int track(struct rp__replay *r, struct rp__json id, struct rp__json status, rp_error *err)
{
  bool ended = has_ended(status);
  uint64_t hash = rp__note_hash(id);
  size_t i = find_open(r, hash);
  if (ended && i < r->n_open) forget(r, i);
  if (ended || i < r->n_open) return 0;
  char *raw RP_AUTOFREE = strndup(id.p, id.n);
  if (!raw) return rp__fail_nomem(err);
  int rc = make_room(r, err);
  if (!rc) r->open[r->n_open++] = (struct rp__open_call){hash, RP_TAKE(raw)};
  return rc;
}

/* ---- terminals -------------------------------------------------------------------------------------- */

static void write_text(struct rp__jw *w, struct rp__json text, struct rp__json terminal)
{
  struct rp__buf gone RP_AUTOBUF = RP_BUF(2 * terminal.n + 128);
  rp__jw_object(w);
  rp__jw_kstr(w, "type", "content");
  rp__jw_key(w, "content");
  rp__jw_object(w);
  rp__jw_kstr(w, "type", "text");
  rp__jw_key(w, "text");
  if (text.type == RP_JSON_STRING) {
    rp__jw_value(w, text);
  } else {
    rp__buf_str(&gone, "[the output of terminal ");
    rp__json_text(terminal, &gone);
    rp__buf_str(&gone, " is gone]");
    rp__jw_strn(w, gone.p ? gone.p : "", gone.n);
  }
  rp__jw_end_object(w);
  rp__jw_end_object(w);
}

static int write_terminal(struct rp__replay *r, struct rp__jw *w, struct rp__json id, int64_t seq, rp_error *err)
{
  const struct rp__terminal *t = rp__survey_terminal(&r->survey, rp__note_hash(id), seq);
  struct rp__json text = {0};
  if (t && t->output) {
    int rc = rp__past_read(&r->past, t->output, &r->scratch, err);
    if (rc) return rc;
    struct rp__json body = rp__json_trusted(r->scratch.p ? r->scratch.p : "", r->scratch.n);
    text = rp__json_get(rp__json_get(body, "result"), "output");
  }
  write_text(w, text, id);
  return 0;
}

static bool is_terminal(struct rp__json item)
{
  return rp__json_eq(rp__json_get(item, "type"), "terminal");
}

static int write_content(struct rp__replay *r, struct rp__jw *w, struct rp__json content, int64_t seq, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int rc = 0;
  rp__jw_array(w);
  while (!rc && rp__json_next(content, &it, NULL, &item)) {
    if (is_terminal(item))
      rc = write_terminal(r, w, rp__json_get(item, "terminalId"), seq, err);
    else
      rp__jw_value(w, item);
  }
  rp__jw_end_array(w);
  return rc;
}

static bool has_terminal(struct rp__json content)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (content.type != RP_JSON_ARRAY) return false;
  while (rp__json_next(content, &it, NULL, &item))
    if (is_terminal(item)) return true;
  return false;
}

/* ---- calls ------------------------------------------------------------------------------------------- */

static void write_raw(struct rp__jw *w, struct rp__json body)
{
  struct rp__json input = rp__json_get(body, "input"), output = rp__json_get(body, "output");
  if (input.type) {
    rp__jw_key(w, "rawInput");
    rp__jw_value(w, input);
  }
  if (output.type) {
    rp__jw_key(w, "rawOutput");
    rp__jw_value(w, output);
  }
}

static int write_ours(struct rp__replay *r, const struct rp__past_event *ev, struct rp__json acp, rp_error *err)
{
  struct rp__jw w = RP_JW(&r->out);
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  int rc = 0;
  rp__buf_reset(&r->out);
  rp__jw_object(&w);
  while (!rc && rp__json_next(acp, &it, &key, &value)) {
    if (!rp__json_eq(key, "content") || !has_terminal(value)) {
      rp__note_member(&w, key, value);
      continue;
    }
    rp__jw_key(&w, "content");
    rc = write_content(r, &w, value, ev->seq, err);
  }
  write_raw(&w, ev->body);
  rp__jw_end_object(&w);
  return rc;
}

/* A call that another bridge wrote down. Its first word begins it; ends are updates. */
static void write_others(struct rp__replay *r, struct rp__json body)
{
  static const char *const words[][2] = {
      {"intended", "pending"}, {"running", "in_progress"}, {"done", "completed"}, {"failed", "failed"}};
  struct rp__jw w = RP_JW(&r->out);
  struct rp__json status = rp__json_get(body, "status");
  const char *word = "failed";
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    if (rp__json_eq(status, words[i][0])) word = words[i][1];
  bool ended = has_ended(status);
  rp__buf_reset(&r->out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", ended ? "tool_call_update" : "tool_call");
  rp__jw_key(&w, "toolCallId");
  rp__jw_value(&w, rp__json_get(body, "call_id"));
  rp__jw_key(&w, "title");
  rp__jw_value(&w, rp__json_get(body, "name"));
  rp__jw_kstr(&w, "status", word);
  write_raw(&w, body);
  rp__jw_end_object(&w);
}

int rp__replay_tool(struct rp__replay *r, const struct rp__past_event *ev, rp_error *err)
{
  struct rp__json acp = rp__json_get(ev->body, "acp"), id = rp__json_get(acp, "toolCallId");
  bool ours = id.type == RP_JSON_STRING;
  if (!ours) id = rp__json_get(ev->body, "call_id");
  if (id.type != RP_JSON_STRING) return 0;
  int rc = rp__run_flush(r, err);
  if (rc) return rc;
  if (ours)
    rc = write_ours(r, ev, acp, err);
  else
    write_others(r, ev->body);
  if (!rc) rc = rp__replay_emit_out(r, err);
  return rc ? rc : track(r, id, rp__json_get(ev->body, "status"), err);
}
