/* SPDX-License-Identifier: Apache-2.0 */
/* session_status: which session this is, how its run began, what it has used and what is in it. */
#include "bridge/tool/tool.h"

static const struct rp__takes takes[] = {{0}};

struct counts {
  int64_t pins, open, pending, unknown;
};

static struct counts count(struct rp__json state)
{
  struct counts c = {.pins = (int64_t)rp__json_count(rp__json_get(state, "pins"))};
  struct rp__json tasks = rp__json_get(state, "tasks"), tools = rp__json_get(state, "tools"), item;
  struct rp__json_iter task = {0}, tool = {0};
  while (tasks.type == RP_JSON_ARRAY && rp__json_next(tasks, &task, NULL, &item)) {
    c.open += rp__json_eq(rp__json_get(item, "status"), "open");
    c.pending += rp__json_get(item, "pending").type == RP_JSON_TRUE;
  }
  while (tools.type == RP_JSON_ARRAY && rp__json_next(tools, &tool, NULL, &item))
    c.unknown += rp__json_eq(rp__json_get(item, "status"), "unknown");
  return c;
}

static void write_counts(struct rp__json state, struct rp__jw *w)
{
  struct counts c = count(state);
  int64_t events = 0, messages = 0;
  rp__json_i64(rp__json_get(rp__json_get(state, "session"), "seq"), &events);
  rp__json_i64(rp__json_get(rp__json_get(state, "conversation"), "total"), &messages);
  rp__jw_pack(w, "counts:{events:i messages:i pins:i open_tasks:i pending_tasks:i unknown_tools:i}", events, messages,
              c.pins, c.open, c.pending, c.unknown);
}

static void write_member(struct rp__jw *w, struct rp__json from, const char *name)
{
  rp__jw_kvalue(w, name, rp__json_get(from, name));
}

static int run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  static const char *const members[] = {"session_id",       "scope",    "key",
                                        "channel",          "status",   "created_at",
                                        "last_activity_at", "ended_at", "previous_session_id"};
  RP_AUTODOC char *state = NULL, *run = NULL, *usage = NULL;
  (void)args;
  int rc = rp__tool_state(m, &state, err);
  if (!rc) rc = rp_session_status_json(m->e, rp_session_id(m->s), NULL, &run, err);
  if (!rc) rc = rp_usage_json(m->s, &usage, err);
  if (rc) return rc;
  struct rp__json doc = rp__json_trusted(state, strlen(state)), session = rp__json_get(doc, "session");
  rp__jw_object(w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++) write_member(w, session, members[i]);
  rp__jw_pack(w, "guest:b run:r usage:r", m->guest, run, usage);
  write_counts(doc, w);
  rp__jw_end_object(w);
  return 0;
}

/* ---- telling ---- */

static void tell_field(struct rp__buf *out, const char *name, struct rp__json v)
{
  if (v.type == RP_JSON_NULL || v.type == RP_JSON_NONE) return;
  rp__buf_printf(out, "%s: ", name);
  if (v.type == RP_JSON_STRING)
    rp__tell_text(out, v, 0);
  else
    rp__buf_add(out, v.p, v.n);
  rp__buf_char(out, '\n');
}

static void tell_all(struct rp__buf *out, struct rp__json object, const char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++) tell_field(out, names[i], rp__json_get(object, names[i]));
}

static void tell(struct rp__json doc, struct rp__buf *out)
{
  static const char *const own[] = {"session_id",         "scope", "key", "channel", "status", "created_at",
                                    "previous_session_id"};
  static const char *const runs[] = {"restart_type", "cause", "uptime", "total_sessions"};
  static const char *const uses[] = {"tokens_in", "tokens_out", "cost_usd", "budget_usd", "budget_tokens"};
  static const char *const counts[] = {"events", "messages", "pins", "open_tasks", "pending_tasks", "unknown_tools"};
  tell_all(out, doc, own, RP_ARRAY_SIZE(own));
  tell_all(out, rp__json_get(doc, "run"), runs, RP_ARRAY_SIZE(runs));
  tell_all(out, rp__json_get(doc, "usage"), uses, RP_ARRAY_SIZE(uses));
  tell_all(out, rp__json_get(doc, "counts"), counts, RP_ARRAY_SIZE(counts));
}

const struct rp__tool rp__tool_session_status = {
    .name = "session_status",
    .title = "Session status",
    .description =
        "Tells which session this is, its project scope, how and why the current run began, what it has used "
        "so far and how much is pinned, open or of unknown outcome. Use it to orient yourself.",
    .takes = takes,
    .reads = true,
    .repeats = true,
    .run = run,
    .tell = tell,
};
