/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a handoff. */
#include "bridge/mcp/handoff.h"

#include "bridge/tool/tool.h"

#define MESSAGES 8      /* of the end of the conversation */
#define MESSAGE_MAX 600 /* characters of one */
#define PIN_MAX 4000    /* characters of one */
#define ITEMS_MAX 50    /* tasks and tools told of, each */

typedef bool keep_fn(struct rp__json item);
typedef void line_fn(struct rp__json item, struct rp__buf *out);

/* A headed list of those that are kept; nothing at all when there are none. */
static void section(struct rp__json array, const char *heading, keep_fn *keep, line_fn *line, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int n = 0;
  while (array.type == RP_JSON_ARRAY && rp__json_next(array, &it, NULL, &item)) {
    if (keep && !keep(item)) continue;
    if (n == 0) rp__buf_printf(out, "\n## %s\n", heading);
    if (n++ == ITEMS_MAX) {
      rp__buf_str(out, "- … and others\n");
      return;
    }
    rp__buf_str(out, "- ");
    line(item, out);
    rp__buf_char(out, '\n');
  }
}

static void pin_line(struct rp__json pin, struct rp__buf *out)
{
  rp__buf_char(out, '[');
  rp__tell_text(out, rp__json_get(pin, "label"), 0);
  rp__buf_str(out, rp__json_get(pin, "critical").type == RP_JSON_TRUE ? "] (critical) " : "] ");
  rp__tell_text(out, rp__json_get(pin, "content"), PIN_MAX);
}

static bool task_open(struct rp__json task)
{
  return rp__json_eq(rp__json_get(task, "status"), "open") && !rp__json_eq(rp__json_get(task, "stage"), "done");
}

static void task_line(struct rp__json task, struct rp__buf *out)
{
  rp__buf_char(out, '[');
  rp__tell_text(out, rp__json_get(task, "task_id"), 0);
  rp__buf_str(out, "] ");
  rp__tell_text(out, rp__json_get(task, "title"), 0);
  rp__buf_str(out, " (stage: ");
  rp__tell_text(out, rp__json_get(task, "stage"), 0);
  rp__buf_char(out, ')');
}

/* Began and never told how it ended: it may or may not have happened (B-04). */
static bool tool_unknown(struct rp__json tool)
{
  struct rp__json status = rp__json_get(tool, "status");
  return rp__json_eq(status, "unknown") || rp__json_eq(status, "intended") || rp__json_eq(status, "running");
}

static void tool_line(struct rp__json tool, struct rp__buf *out)
{
  rp__tell_text(out, rp__json_get(tool, "name"), RP_TOOL_CELL);
  rp__buf_str(out, " (");
  rp__tell_text(out, rp__json_get(tool, "call_id"), RP_TOOL_CELL);
  rp__buf_str(out, ", ");
  rp__tell_text(out, rp__json_get(tool, "status"), 0);
  rp__buf_char(out, ')');
}

static bool is_pending(struct rp__json item)
{
  return rp__json_eq(rp__json_get(item, "status"), "pending");
}

static void pending_line(struct rp__json item, struct rp__buf *out)
{
  struct rp__json id = rp__json_get(item, "id");
  if (id.type == RP_JSON_STRING)
    rp__tell_text(out, id, RP_TOOL_CELL);
  else
    rp__buf_add(out, id.p, id.n);
}

/* ---- the conversation's end ---- */

static void last_messages(struct rp__json messages, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item, block;
  size_t n = rp__json_count(messages), skip = n > MESSAGES ? n - MESSAGES : 0;
  if (messages.type != RP_JSON_ARRAY || n == 0) return;
  rp__buf_str(out, "\n## The end of the conversation\n");
  for (size_t i = 0; rp__json_next(messages, &it, NULL, &item); i++) {
    if (i < skip) continue;
    struct rp__json content = rp__json_get(item, "content");
    struct rp__json_iter blocks = {0};
    rp__buf_str(out, "- ");
    rp__tell_text(out, rp__json_get(item, "role"), 0);
    rp__buf_str(out, ": ");
    if (content.type == RP_JSON_STRING) rp__tell_text(out, content, MESSAGE_MAX);
    while (content.type == RP_JSON_ARRAY && rp__json_next(content, &blocks, NULL, &block))
      rp__tell_text(out, rp__json_get(block, "text"), MESSAGE_MAX);
    rp__buf_char(out, '\n');
  }
}

/* ---- all of it ---- */

static void text_line(struct rp__json item, struct rp__buf *out)
{
  rp__tell_text(out, item, RP_TOOL_CELL);
}

static void write_state(struct rp__json state, struct rp__buf *out)
{
  struct rp__json session = rp__json_get(state, "session"), ended = rp__json_get(session, "ended_at");
  rp__buf_str(out, "You take over the work of session ");
  rp__tell_text(out, rp__json_get(session, "session_id"), 0);
  rp__buf_str(out, " (scope ");
  rp__tell_text(out, rp__json_get(session, "scope"), 0);
  rp__buf_str(out, ", ");
  rp__tell_text(out, rp__json_get(session, "status"), 0);
  rp__buf_str(out, ", begun ");
  rp__tell_text(out, rp__json_get(session, "created_at"), 0);
  rp__buf_str(out, ended.type == RP_JSON_STRING ? ", ended " : ", last active ");
  rp__tell_text(out, ended.type == RP_JSON_STRING ? ended : rp__json_get(session, "last_activity_at"), 0);
  rp__buf_str(out, ").\n" RP_HANDOFF_RECORDED "\n");
  section(rp__json_get(state, "tools"), "Tools of unknown outcome: look before you repeat them", tool_unknown,
          tool_line, out);
  section(rp__json_get(state, "tasks"), "Open tasks", task_open, task_line, out);
  section(rp__json_get(state, "pins"), "Pinned", NULL, pin_line, out);
  section(rp__json_get(state, "approvals"), "Waiting for approval", is_pending, pending_line, out);
  section(rp__json_get(state, "questions"), "Waiting for an answer", is_pending, pending_line, out);
  section(rp__json_get(state, "projects"), "Projects", NULL, text_line, out);
  section(rp__json_get(state, "topics"), "Topics", NULL, text_line, out);
  last_messages(rp__json_get(rp__json_get(state, "conversation"), "messages"), out);
}

int rp__handoff_write(rp_engine *e, const char *id, struct rp__buf *out, rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  rp_session *s = NULL;
  int rc = rp_attach(e, id, &s, err);
  if (!rc) rc = rp_state_json(s, -1, &state, err);
  rp_session_free(s);
  if (!rc) write_state(rp__json_trusted(state, strlen(state)), out);
  return rc;
}
