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

/* The labels of the pins that `from` has and this session has not, behind the engine's own members. */
static void write_left_out(struct rp__tool_session *m, const char *from, struct rp__jw *w)
{
  RP_AUTODOC char *theirs = NULL, *ours = NULL;
  rp_session *s = NULL;
  struct rp__json_iter it = {0};
  struct rp__json item;
  rp__jw_karray(w, "pins_without_room");
  if (rp_attach(m->e, from, &s, NULL) == 0 && rp_state_json(s, -1, &theirs, NULL) == 0 &&
      rp__tool_state(m, &ours, NULL) == 0)
    while (rp__json_next(rp__tool_part(theirs, "pins"), &it, NULL, &item)) {
      struct rp__json label = rp__json_get(item, "label");
      if (!rp__tool_named(rp__tool_part(ours, "pins"), "label", label).type) rp__jw_value(w, label);
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

static void continue_tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json left_out = rp__json_get(doc, "pins_without_room"), label;
  struct rp__json_iter it = {0};
  int64_t pins = number(doc, "pins"), tasks = number(doc, "tasks");
  size_t n = rp__json_count(left_out);
  rp__tell(out, doc, "Inherited from session {from}: {pins} pins, {tasks} pending tasks, {memories} memories.");
  if (pins) rp__buf_str(out, " Use working_memory view to see the pins.");
  if (tasks) rp__buf_str(out, " Use task list to see the tasks.");
  if (n) rp__buf_printf(out, " %zu of its pins found no room:", n);
  for (const char *pattern = " {:160}"; rp__json_next(left_out, &it, NULL, &label); pattern = ", {:160}")
    rp__tell(out, label, pattern);
  if (n) rp__buf_str(out, ". Unpin what is settled and call this again.");
  if (!pins && !tasks && !number(doc, "memories") && !n) rp__buf_str(out, " It has nothing that is not here already.");
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
  rp__jw_pack(w, "{session_id:s sessions:r}", id, doc);
  return 0;
}

static void chain_tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json sessions = rp__json_get(doc, "sessions"), item;
  struct rp__json_iter it = {0};
  rp__buf_printf(out, "%zu sessions, the oldest first:\n", rp__json_count(sessions));
  while (rp__json_next(sessions, &it, NULL, &item)) {
    bool named = rp__json_get(item, "name").type == RP_JSON_STRING;
    bool ended = rp__json_get(item, "ended_at").type == RP_JSON_STRING;
    rp__tell(out, item, named ? "- {session_id} \"{name:160}\" from {created_at}" : "- {session_id} from {created_at}");
    rp__tell(out, item, ended ? " to {ended_at}, {status}\n" : ", open, {status}\n");
  }
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
  rp__jw_pack(w, "{session_id:s seq:i at:t kind:s snippet:s}", hit->session_id, hit->seq, hit->at_ms, hit->kind,
              hit->snippet);
  return 0;
}

static int search_run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTOFREE char *query = rp__json_dup(args[QUERY]);
  if (!query) return rp__fail_nomem(err);
  if (!query[strspn(query, " \t\r\n")])
    return rp__fail_field(err, RP_E_INVALID, "query", "there are no words to search for");
  rp__jw_pack(w, "{hits:[");
  int rc = rp_search(m->e, query, m->scope, rp__takes_int(args[LIMIT], LIMIT_DEFAULT), on_hit, w, err);
  rp__jw_pack(w, "]}");
  if (rc == RP_E_USAGE && err) snprintf(err->field, sizeof err->field, "query");
  return rc;
}

static void search_tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json hits = rp__json_get(doc, "hits"), item;
  struct rp__json_iter it = {0};
  if (rp__json_count(hits) == 0) rp__buf_str(out, "Nothing was found. Fewer or other words may help.");
  while (rp__json_next(hits, &it, NULL, &item)) rp__tell(out, item, "- session {session_id} #{seq}, {at}: {snippet}\n");
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
