/* SPDX-License-Identifier: Apache-2.0 */
/* Tools about sessions: the chain of sessions up to this one, search in others, and continuing one of them. */
#include "bridge/tool/tool.h"

#define REF_MAX 128
#define DEPTH_DEFAULT 10
#define DEPTH_MAX 100
#define LIMIT_DEFAULT 10
#define LIMIT_MAX 100
#define QUERY_MAX 400

/* The session that an argument names. */
static int resolve(struct rp__tool_session *m, struct rp__json ref, char ret[RP_ID_MAX + 1], rp_error *err)
{
  RP_AUTOFREE char *text = rp__json_dup(ref);
  if (!text) return rp__fail_nomem(err);
  int rc = rp__tool_session_resolve(m, text, ret, err);
  if (rc && err && !err->field[0]) snprintf(err->field, sizeof err->field, "session_id");
  return rc;
}

/* ---- session_continue ---- */

static const struct rp__takes continue_takes[] = {
    {"session_id", "The session to go on with: its id, the beginning of one, or its key", RP_TAKES_TEXT, true, .min = 1,
     .max = REF_MAX},
    {0},
};

/* ---- what found no room ---- */

static struct rp__json pins_of(const char *state)
{
  return state ? rp__json_get(rp__json_trusted(state, strlen(state)), "pins") : (struct rp__json){0};
}

/* The labels of the pins that `from` has and this session has not, behind the engine's own members. */
static void write_left_out(struct rp__tool_session *m, const char *from, struct rp__jw *w)
{
  RP_AUTODOC char *theirs = NULL, *ours = NULL;
  rp_session *s = NULL;
  struct rp__json_iter it = {0};
  struct rp__json item;
  rp__jw_karray(w, "pins_without_room");
  if (rp_attach(m->e, from, &s, NULL) == 0 && rp_state_json(s, -1, &theirs, NULL) == 0 &&
      rp__tool_state(m, &ours, NULL) == 0 && pins_of(theirs).type == RP_JSON_ARRAY)
    while (rp__json_next(pins_of(theirs), &it, NULL, &item)) {
      struct rp__json label = rp__json_get(item, "label");
      if (!rp__tool_named(pins_of(ours), "label", label).type) rp__jw_value(w, label);
    }
  rp_session_detach(s);
  rp__jw_end_array(w);
}

static int continue_check(struct rp__tool_session *m, const struct rp__json *args, rp_error *err)
{
  char from[RP_ID_MAX + 1];
  return resolve(m, args[0], from, err);
}

static int continue_run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTODOC char *doc = NULL;
  char from[RP_ID_MAX + 1];
  int rc = rp__tool_session_may_write(m, err);
  if (!rc) rc = resolve(m, args[0], from, err);
  if (rc) return rc;
  if (strcmp(from, rp_session_id(m->s)) == 0) {
    rc = rp__fail_field(err, RP_E_INVALID, "session_id", "that is this session itself");
    rp__hint(err, "session_chain lists the sessions before this one");
    return rc;
  }
  rc = rp_continue(m->s, from, m->by[0] ? m->by : m->channel, &doc, err);
  if (rc) return rc;
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__jw_object(w);
  while (rp__json_next(rp__json_trusted(doc, strlen(doc)), &it, &key, &value)) {
    RP_AUTOFREE char *name = rp__json_dup(key);
    if (name) rp__jw_kvalue(w, name, value);
  }
  write_left_out(m, from, w);
  rp__jw_end_object(w);
  return 0;
}

static int64_t number(struct rp__json doc, const char *name)
{
  int64_t n = 0;
  rp__json_i64(rp__json_get(doc, name), &n);
  return n;
}

static void tell_left_out(struct rp__json labels, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json label;
  const char *between = " ";
  size_t n = rp__json_count(labels);
  if (!n) return;
  rp__buf_printf(out, " %zu of its pins found no room:", n);
  while (rp__json_next(labels, &it, NULL, &label)) {
    rp__buf_str(out, between);
    rp__tell_text(out, label, RP_TOOL_CELL);
    between = ", ";
  }
  rp__buf_str(out, ". Unpin what is settled and call this again.");
}

static void continue_tell(struct rp__json doc, struct rp__buf *out)
{
  int64_t pins = number(doc, "pins"), tasks = number(doc, "tasks"), memories = number(doc, "memories");
  rp__buf_str(out, "Inherited from session ");
  rp__tell_text(out, rp__json_get(doc, "from"), 0);
  rp__buf_printf(out, ": %lld pins, %lld pending tasks, %lld memories.", (long long)pins, (long long)tasks,
                 (long long)memories);
  if (pins) rp__buf_str(out, " Use working_memory view to see the pins.");
  if (tasks) rp__buf_str(out, " Use task list to see the tasks.");
  struct rp__json left_out = rp__json_get(doc, "pins_without_room");
  tell_left_out(left_out, out);
  if (!pins && !tasks && !memories && !rp__json_count(left_out))
    rp__buf_str(out, " It has nothing that is not here already.");
}

const struct rp__tool rp__tool_session_continue = {
    .name = "session_continue",
    .title = "Continue a session",
    .description = "Inherits pins, open tasks and memories of an earlier session into this one, however old it is. Use "
                   "it when the user wants to go on with work of that session; find its id with session_search or "
                   "session_chain.",
    .takes = continue_takes,
    .repeats = true,
    .check = continue_check,
    .run = continue_run,
    .tell = continue_tell,
};

const struct rp__tool rp__tool_cortex_session_continue = {
    .name = "cortex_session_continue",
    .title = "Continue a session (older name)",
    .description = "The same as session_continue, under its older name; use that one.",
    .takes = continue_takes,
    .repeats = true,
    .check = continue_check,
    .run = continue_run,
    .tell = continue_tell,
};

/* ---- session_chain ---- */

enum { CHAIN_SESSION, CHAIN_DEPTH };

static const struct rp__takes chain_takes[] = {
    [CHAIN_SESSION] = {"session_id", "Where the chain ends; this session when left out", RP_TAKES_TEXT, .min = 1,
                       .max = REF_MAX},
    [CHAIN_DEPTH] = {"depth", "At most so many sessions; 10 when left out", RP_TAKES_INT, .min = 1, .max = DEPTH_MAX},
    {0},
};

static int chain_run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTODOC char *doc = NULL;
  char id[RP_ID_MAX + 1];
  int rc = 0;
  bool own = args[CHAIN_SESSION].type == RP_JSON_NONE;
  if (own && !m->s) return rp__tool_state(m, &doc, err);
  if (own)
    snprintf(id, sizeof id, "%s", rp_session_id(m->s));
  else
    rc = resolve(m, args[CHAIN_SESSION], id, err);
  if (!rc) rc = rp_chain_json(m->e, id, rp__takes_int(args[CHAIN_DEPTH], DEPTH_DEFAULT), &doc, err);
  if (rc) return rc;
  rp__jw_object(w);
  rp__jw_kstr(w, "session_id", id);
  rp__jw_key(w, "sessions");
  rp__jw_raw(w, doc, strlen(doc));
  rp__jw_end_object(w);
  return 0;
}

static void tell_session(struct rp__json s, struct rp__buf *out)
{
  struct rp__json name = rp__json_get(s, "name"), ended = rp__json_get(s, "ended_at");
  rp__buf_str(out, "- ");
  rp__tell_text(out, rp__json_get(s, "session_id"), 0);
  if (name.type == RP_JSON_STRING) {
    rp__buf_str(out, " \"");
    rp__tell_text(out, name, RP_TOOL_CELL);
    rp__buf_char(out, '"');
  }
  rp__buf_str(out, " from ");
  rp__tell_text(out, rp__json_get(s, "created_at"), 0);
  rp__buf_str(out, ended.type == RP_JSON_STRING ? " to " : ", open, ");
  rp__tell_text(out, ended, 0);
  rp__buf_str(out, ended.type == RP_JSON_STRING ? ", " : "");
  rp__tell_text(out, rp__json_get(s, "status"), 0);
  rp__buf_char(out, '\n');
}

static void chain_tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json sessions = rp__json_get(doc, "sessions"), item;
  struct rp__json_iter it = {0};
  rp__buf_printf(out, "%zu sessions, the oldest first:\n", rp__json_count(sessions));
  while (rp__json_next(sessions, &it, NULL, &item)) tell_session(item, out);
}

const struct rp__tool rp__tool_session_chain = {
    .name = "session_chain",
    .title = "Chain of sessions",
    .description =
        "Lists the sessions that led to this one, the oldest first, with their times and how they ended. Use "
        "it to see what came before, or to find the session to continue.",
    .takes = chain_takes,
    .reads = true,
    .repeats = true,
    .run = chain_run,
    .tell = chain_tell,
};

/* ---- session_search ---- */

enum { QUERY, LIMIT };

static const struct rp__takes search_takes[] = {
    [QUERY] = {"query", "Words that were said; all of them must occur", RP_TAKES_TEXT, true, .min = 1,
               .max = QUERY_MAX},
    [LIMIT] = {"limit", "At most so many hits; 10 when left out", RP_TAKES_INT, .min = 1, .max = LIMIT_MAX},
    {0},
};

static int on_hit(void *ctx, const rp_hit *hit)
{
  struct rp__jw *w = ctx;
  rp__jw_object(w);
  rp__jw_kstr(w, "session_id", hit->session_id);
  rp__jw_ki64(w, "seq", hit->seq);
  rp__jw_ktime(w, "at", hit->at_ms);
  rp__jw_kstr(w, "kind", hit->kind);
  rp__jw_kstr(w, "snippet", hit->snippet);
  rp__jw_end_object(w);
  return 0;
}

static int search_run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTOFREE char *query = rp__json_dup(args[QUERY]);
  if (!query) return rp__fail_nomem(err);
  if (!query[strspn(query, " \t\r\n")])
    return rp__fail_field(err, RP_E_INVALID, "query", "there are no words to search for");
  rp__jw_object(w);
  rp__jw_karray(w, "hits");
  int rc = rp_search(m->e, query, m->scope, rp__takes_int(args[LIMIT], LIMIT_DEFAULT), on_hit, w, err);
  rp__jw_end_array(w);
  rp__jw_end_object(w);
  if (rc == RP_E_USAGE && err) snprintf(err->field, sizeof err->field, "query");
  return rc;
}

static void search_tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json hits = rp__json_get(doc, "hits"), item;
  struct rp__json_iter it = {0};
  if (rp__json_count(hits) == 0) rp__buf_str(out, "Nothing was found. Fewer or other words may help.");
  while (rp__json_next(hits, &it, NULL, &item)) {
    rp__buf_str(out, "- session ");
    rp__tell_text(out, rp__json_get(item, "session_id"), 0);
    rp__buf_printf(out, " #%lld, ", (long long)number(item, "seq"));
    rp__tell_text(out, rp__json_get(item, "at"), 0);
    rp__buf_str(out, ": ");
    rp__tell_text(out, rp__json_get(item, "snippet"), 0);
    rp__buf_char(out, '\n');
  }
}

const struct rp__tool rp__tool_session_search = {
    .name = "session_search",
    .title = "Search sessions",
    .description = "Searches everything that was said and done in this project's sessions, by words. Use it when the "
                   "user refers to an earlier conversation, or to find the session to continue.",
    .takes = search_takes,
    .reads = true,
    .repeats = true,
    .lone = true,
    .run = search_run,
    .tell = search_tell,
};
