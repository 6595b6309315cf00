/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two names that come from the original programs: the table session_states, which may exist already and then
 * belongs to another program, and the view agent_session_states in the form of Lossy. An existing table or view
 * is used or left alone, never changed. OWN_STATES in rp_meta records that the table was made here.
 */
#include "store/sqlite/sqlite.h"

#define OWN_STATES "own_states"

static const char states_sql[] =
    "CREATE TABLE session_states (id TEXT PRIMARY KEY, start_time TEXT NOT NULL, end_time TEXT,"
    " channel TEXT DEFAULT 'unknown', working_memory TEXT NOT NULL DEFAULT '[]', hot_topics TEXT NOT NULL DEFAULT '[]',"
    " active_projects TEXT NOT NULL DEFAULT '[]', pending_tasks TEXT NOT NULL DEFAULT '[]',"
    " recent_learnings TEXT NOT NULL DEFAULT '[]', confidence_updates TEXT NOT NULL DEFAULT '[]',"
    " sop_interactions TEXT NOT NULL DEFAULT '[]', previous_session_id TEXT, continued_by TEXT,"
    " crash_recovered INTEGER DEFAULT 0, schema_version INTEGER DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT);"
    "CREATE INDEX IF NOT EXISTS idx_session_endtime ON session_states (end_time, start_time);"
    "CREATE INDEX IF NOT EXISTS idx_session_prev ON session_states (previous_session_id);"
    "CREATE INDEX IF NOT EXISTS idx_session_channel ON session_states (channel, start_time)";

static const char *const states_columns[] = {
    "id",
    "start_time",
    "end_time",
    "channel",
    "working_memory",
    "hot_topics",
    "active_projects",
    "pending_tasks",
    "recent_learnings",
    "confidence_updates",
    "sop_interactions",
    "previous_session_id",
    "continued_by",
    "crash_recovered",
    "schema_version",
    "created_at",
    "updated_at",
};

#define ISO(column) "strftime('%Y-%m-%dT%H:%M:%fZ', " column " / 1000.0, 'unixepoch')"

/*
 * Notes, frames, transcript and memory are the journal's, asked when somebody looks: as `evidence` has them, with what
 * a restore turned away from. What can't be read is left out; of a sealed session they are NULL. The memory is as
 * rp__gist_merge has it: topics by their last mention, the last intent, the members of a context by their last word.
 */
/* clang-format off */
#define BODY(e) "(CASE WHEN json_valid(" e ".body) THEN " e ".body END)"
#define OF(e, kind) e ".session = s.ref AND " e ".kind = '" kind "' AND " e ".flags = 0"
#define BODIES(kind)                                                                                                   \
  "(SELECT json_group_array(json(t.body)) FROM"                                                                        \
  " (SELECT " BODY("e") " AS body FROM rp_events e WHERE " OF("e", kind) " ORDER BY e.seq) t WHERE t.body IS NOT NULL)"
/* The JSON of a value that json_each gives. */
#define EACH_JSON(j)                                                                                                   \
  "CASE " j ".type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'object' THEN " j ".value"                   \
  " WHEN 'array' THEN " j ".value ELSE json_quote(" j ".value) END"

static const char view_sql[] =
    "CREATE VIEW agent_session_states AS SELECT s.id AS id, s.id AS session_id,"
    " CASE WHEN json_valid(s.meta) THEN json_extract(s.meta, '$.video_id') END AS video_id,"
    " CASE h.status WHEN 0 THEN 'created' WHEN 1 THEN 'active' WHEN 2 THEN 'idle' WHEN 3 THEN 'checkpointed'"
    " WHEN 4 THEN 'closed' ELSE 'abandoned' END AS status,"
    " CASE s.sealed WHEN 0 THEN " BODIES("note") " END AS notes,"
    " CASE s.sealed WHEN 0 THEN " BODIES("frame") " END AS frames,"
    " CASE s.sealed WHEN 0 THEN (SELECT group_concat(t.text, ' ') FROM"
    "  (SELECT " BODY("e") " ->> '$.text' AS text FROM rp_events e WHERE " OF("e", "transcript")
    "   AND (coalesce(" BODY("e") " -> '$.final', '') <> 'false' OR e.seq ="
    "    (SELECT max(n.seq) FROM rp_events n WHERE " OF("n", "transcript") ")) ORDER BY e.seq) t"
    "  WHERE t.text <> '') END AS transcript_buffer,"
    " CASE s.sealed WHEN 0 THEN json_object("
    "  'topics', json((SELECT json_group_array(t.value) FROM"
    "   (SELECT j.value AS value, max(e.seq) AS last, j.key AS place FROM rp_events e, json_each(" BODY("e")
    ", '$.topics') j WHERE " OF("e", "intent") " AND j.type = 'text' GROUP BY j.value ORDER BY last, place) t)),"
    "  'intent', (SELECT " BODY("e") " ->> '$.intent' FROM rp_events e WHERE " OF("e", "intent")
    "   AND json_type(" BODY("e") ", '$.intent') = 'text' ORDER BY e.seq DESC LIMIT 1),"
    "  'context', json((SELECT CASE json_type(" BODY("e") ", '$.context') WHEN 'object' THEN"
    "    (SELECT json_group_object(t.key, json(t.value)) FROM"
    "     (SELECT j.key AS key, " EACH_JSON("j") " AS value, max(o.seq) FROM rp_events o, json_each(" BODY("o")
    ", '$.context') j WHERE " OF("o", "intent") " AND json_type(" BODY("o") ", '$.context') = 'object' GROUP BY j.key) t)"
    "    ELSE " BODY("e") " -> '$.context' END FROM rp_events e WHERE " OF("e", "intent")
    "   AND coalesce(json_type(" BODY("e") ", '$.context'), 'null') <> 'null' ORDER BY e.seq DESC LIMIT 1)))"
    " END AS conversation_memory,"
    " " ISO("s.created_at") " AS created_at, " ISO("h.last_activity_at") " AS last_activity_at,"
    " CASE WHEN h.ended_at > 0 THEN " ISO("h.ended_at") " END AS closed_at,"
    " " ISO("s.created_at") " AS inserted_at, " ISO("h.last_activity_at") " AS updated_at"
    " FROM rp_sessions s JOIN rp_heads h ON h.session = s.ref WHERE s.hidden = 0 AND s.trashed_at = 0";
/* clang-format on */

/* The type of whatever has a name in the file: 1 and `type`, or 0, or an error. */
static int object_find(struct rp__sq_conn *c, const char *name, char *type, size_t size, rp_error *err)
{
  static const char sql[] = "SELECT type FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE";
  struct rp__sq_q q = {.c = c};
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  rp__sq_text(&q, 1, name);
  int rc = rp__sq_next(&q, "read schema", err);
  if (rc > 0) rp__sq_col_str(&q, 0, type, size);
  sqlite3_finalize(q.st);
  return rc;
}

static int refuse_shape(const struct rp__sq_conn *c, const char *what, const char *column, rp_error *err)
{
  rp__fail(err, RP_E_VERSION, "%s has a table session_states of another kind: %s%s", c->store->path, what, column);
  rp__hint(err, "keep the sessions in a file of their own");
  return RP_E_VERSION;
}

static bool column_note(const char *name, bool *have)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(states_columns); i++)
    if (sqlite3_stricmp(name, states_columns[i]) == 0) return have[i] = true;
  return false;
}

/* All columns of the seed must be there; further ones must take care of themselves. */
static int columns_check(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] = "SELECT name, \"notnull\" AND dflt_value IS NULL AND NOT pk"
                            " FROM pragma_table_info('session_states')";
  bool have[RP_ARRAY_SIZE(states_columns)] = {false};
  char name[RP_NAME];
  struct rp__sq_q q = {.c = c};
  int rc, bad = 0;
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  while (bad == 0 && (rc = rp__sq_next(&q, "read schema", err)) > 0) {
    rp__sq_col_str(&q, 0, name, sizeof name);
    if (!column_note(name, have) && rp__sq_col_int(&q, 1)) bad = refuse_shape(c, "every row must have a ", name, err);
  }
  sqlite3_finalize(q.st);
  if (bad != 0 || rc < 0) return bad ? bad : rc;
  for (size_t i = 0; i < RP_ARRAY_SIZE(states_columns); i++)
    if (!have[i]) return refuse_shape(c, "it has no column ", states_columns[i], err);
  return 0;
}

int rp__sq_states_check(struct rp__sq_conn *c, int64_t version, rp_error *err)
{
  char type[16];
  int64_t own = 0;
  int rc = object_find(c, "session_states", type, sizeof type, err);
  if (rc <= 0) return rc;
  if (strcmp(type, "table") != 0) return refuse_shape(c, "it is no table but a ", type, err);
  rc = version > 0 ? rp__sq_meta_get(c, OWN_STATES, 0, &own, err) : 0;
  return rc != 0 || own ? rc : columns_check(c, err);
}

/* The view of an earlier version has columns that are NULL. One that is somebody else's stays. */
int rp__sq_view_renew(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] = "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = 'agent_session_states'"
                            " AND sql LIKE '%FROM rp\\_sessions s JOIN rp\\_heads h ON h.session = s.ref%' ESCAPE '\\'";
  struct rp__sq_q q = {.c = c};
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  int rc = rp__sq_next(&q, "read schema", err);
  sqlite3_finalize(q.st);
  return rc > 0 ? rp__sq_exec(c, "DROP VIEW agent_session_states", err) : rc;
}

int rp__sq_states_make(struct rp__sq_conn *c, rp_error *err)
{
  char type[16];
  int found = object_find(c, "session_states", type, sizeof type, err), rc = found < 0 ? found : 0;
  if (found == 0) {
    rc = rp__sq_exec(c, states_sql, err);
    if (rc == 0) rc = rp__sq_meta_set(c, OWN_STATES, 1, err);
  }
  if (rc != 0) return rc;
  found = object_find(c, "agent_session_states", type, sizeof type, err);
  return found == 0 ? rp__sq_exec(c, view_sql, err) : RP_MIN(found, 0);
}

int rp__sq_file_is_ours(struct rp__sq_conn *c, bool *ret, rp_error *err)
{
  static const char sql[] =
      "SELECT 1 FROM sqlite_schema WHERE name NOT LIKE 'rp\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'rp\\_%' ESCAPE '\\'"
      " AND tbl_name NOT IN ('session_states', 'agent_session_states') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
      " LIMIT 1";
  struct rp__sq_q q = {.c = c};
  int64_t own;
  int rc = rp__sq_meta_get(c, OWN_STATES, 0, &own, err);
  if (rc != 0) return rc;
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  rc = rp__sq_next(&q, "read schema", err);
  sqlite3_finalize(q.st);
  if (rc < 0) return rc;
  *ret = own && rc == 0;
  return 0;
}
