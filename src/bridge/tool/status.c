/* SPDX-License-Identifier: Apache-2.0 */
/* session_status: which session this is, how its run began, what it has used and what is in it. */
#include "bridge/tool/tool.h"

static const struct rp__takes takes[] = {{0}};

static int run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  static const char *const members[] = {"session_id",       "scope",    "key",
                                        "channel",          "status",   "created_at",
                                        "last_activity_at", "ended_at", "previous_session_id"};
  RP_AUTODOC char *state = NULL, *run = NULL, *usage = NULL;
  int64_t events = 0, messages = 0, open = 0, pending = 0, unknown = 0;
  struct rp__json_iter task = {0}, tool = {0};
  struct rp__json item;
  (void)args;
  int rc = rp__tool_state(m, &state, err);
  if (!rc) rc = rp_session_status_json(m->e, rp_session_id(m->s), NULL, &run, err);
  if (!rc) rc = rp_usage_json(m->s, &usage, err);
  if (rc) return rc;
  struct rp__json doc = rp__json_trusted(state, strlen(state)), session = rp__json_get(doc, "session");
  rp__json_i64(rp__json_get(session, "seq"), &events);
  rp__json_i64(rp__json_get(rp__json_get(doc, "conversation"), "total"), &messages);
  while (rp__json_next(rp__json_get(doc, "tasks"), &task, NULL, &item)) {
    open += rp__json_eq(rp__json_get(item, "status"), "open");
    pending += rp__json_get(item, "pending").type == RP_JSON_TRUE;
  }
  while (rp__json_next(rp__json_get(doc, "tools"), &tool, NULL, &item))
    unknown += rp__json_eq(rp__json_get(item, "status"), "unknown");
  rp__jw_object(w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++) rp__jw_kvalue(w, members[i], rp__json_get(session, members[i]));
  rp__jw_pack(w, "guest:b run:r usage:r", m->guest, run, usage);
  rp__jw_pack(w, "counts:{events:i messages:i pins:i open_tasks:i pending_tasks:i unknown_tools:i}}", events, messages,
              (int64_t)rp__json_count(rp__json_get(doc, "pins")), open, pending, unknown);
  return 0;
}

static void tell_all(struct rp__buf *out, struct rp__json object, const char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    struct rp__json v = rp__json_get(object, names[i]);
    if (v.type == RP_JSON_NULL || v.type == RP_JSON_NONE) continue;
    rp__buf_printf(out, "%s: ", names[i]);
    rp__tell(out, v, "{}\n");
  }
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
