/* SPDX-License-Identifier: Apache-2.0 */
/* What schema version 2 added to version 1 as it was released. As with schema_1.h: it may never change. */
#ifndef TEST_STORE_SCHEMA_2_H
#define TEST_STORE_SCHEMA_2_H

static const char schema_2[] =
    "ALTER TABLE rp_sessions ADD COLUMN trashed_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE rp_sessions ADD COLUMN held_at INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX rp_sessions_trashed ON rp_sessions (trashed_at) WHERE trashed_at > 0;"

    "ALTER TABLE rp_runs ADD COLUMN scope TEXT;"
    "UPDATE rp_runs SET scope = (SELECT scope FROM rp_sessions WHERE ref = rp_runs.session);"
    "ALTER TABLE rp_runs ADD COLUMN restart TEXT;"
    "ALTER TABLE rp_runs ADD COLUMN previous_cause TEXT;"
    "ALTER TABLE rp_runs ADD COLUMN elapsed REAL;"
    "ALTER TABLE rp_runs ADD COLUMN start_number INTEGER;"
    "CREATE INDEX rp_runs_scope ON rp_runs (scope);"
    "CREATE INDEX rp_runs_scope_open ON rp_runs (scope) WHERE ended_at = 0;"

    "CREATE TABLE rp_recall (scope TEXT NOT NULL, ended_at INTEGER NOT NULL, id TEXT NOT NULL,"
    " session INTEGER NOT NULL, channel TEXT, n_tasks INTEGER NOT NULL, flags INTEGER NOT NULL, topics BLOB NOT NULL,"
    " PRIMARY KEY (scope, ended_at, id)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX rp_recall_session ON rp_recall (session);"
    "CREATE TABLE rp_records (session INTEGER PRIMARY KEY, start_at INTEGER NOT NULL, created_at INTEGER NOT NULL,"
    " updated_at INTEGER NOT NULL, crash_recovered INTEGER NOT NULL, previous_id TEXT, continued_by TEXT,"
    " sealed INTEGER NOT NULL, body BLOB);"

    "CREATE TABLE rp_tasks (scope TEXT NOT NULL, hash INTEGER NOT NULL, session INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, at INTEGER NOT NULL, open INTEGER NOT NULL, PRIMARY KEY (scope, hash)) WITHOUT ROWID;"
    "CREATE INDEX rp_tasks_session ON rp_tasks (session);"

    "CREATE TABLE rp_memories (ref INTEGER PRIMARY KEY, scope TEXT NOT NULL, id TEXT NOT NULL, session_id TEXT,"
    " confidence REAL NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, sealed INTEGER NOT NULL,"
    " content NOT NULL, categories TEXT);"
    "CREATE UNIQUE INDEX rp_memories_id ON rp_memories (scope, id);"
    "CREATE INDEX rp_memories_best ON rp_memories (scope, confidence, created_at);"
    "CREATE VIRTUAL TABLE rp_memory_fts USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2');"

    "CREATE TABLE rp_audit (scope TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL, fields,"
    " sealed INTEGER NOT NULL, salt BLOB NOT NULL, digest BLOB NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL,"
    " PRIMARY KEY (scope, n)) WITHOUT ROWID;"
    "CREATE TABLE rp_audit_heads (scope TEXT PRIMARY KEY, n INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;"

    "CREATE TABLE session_states (id TEXT PRIMARY KEY, start_time TEXT NOT NULL, end_time TEXT,"
    " channel TEXT DEFAULT 'unknown', working_memory TEXT NOT NULL DEFAULT '[]', hot_topics TEXT NOT NULL DEFAULT '[]',"
    " active_projects TEXT NOT NULL DEFAULT '[]', pending_tasks TEXT NOT NULL DEFAULT '[]',"
    " recent_learnings TEXT NOT NULL DEFAULT '[]', confidence_updates TEXT NOT NULL DEFAULT '[]',"
    " sop_interactions TEXT NOT NULL DEFAULT '[]', previous_session_id TEXT, continued_by TEXT,"
    " crash_recovered INTEGER DEFAULT 0, schema_version INTEGER DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT);"
    "CREATE INDEX IF NOT EXISTS idx_session_endtime ON session_states (end_time, start_time);"
    "CREATE INDEX IF NOT EXISTS idx_session_prev ON session_states (previous_session_id);"
    "CREATE INDEX IF NOT EXISTS idx_session_channel ON session_states (channel, start_time);"

    "CREATE VIEW agent_session_states AS SELECT s.id AS id, s.id AS session_id, CASE WHEN json_valid(s.meta) THEN "
    "json_extract(s.meta, '$.video_id') END AS video_id, CASE h.status WHEN 0 THEN 'created' WHEN 1 THEN 'active' "
    "WHEN 2 THEN 'idle' WHEN 3 THEN 'checkpointed' WHEN 4 THEN 'closed' ELSE 'abandoned' END AS status, NULL AS "
    "notes, NULL AS frames, NULL AS transcript_buffer, NULL AS conversation_memory, strftime('%Y-%m-%dT%H:%M:%fZ', "
    "s.created_at / 1000.0, 'unixepoch') AS created_at, strftime('%Y-%m-%dT%H:%M:%fZ', h.last_activity_at / "
    "1000.0, 'unixepoch') AS last_activity_at, CASE WHEN h.ended_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', "
    "h.ended_at / 1000.0, 'unixepoch') END AS closed_at, strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1000.0, "
    "'unixepoch') AS inserted_at, strftime('%Y-%m-%dT%H:%M:%fZ', h.last_activity_at / 1000.0, 'unixepoch') AS "
    "updated_at FROM rp_sessions s JOIN rp_heads h ON h.session = s.ref WHERE s.hidden = 0 AND s.trashed_at = 0;"
    "INSERT INTO rp_meta VALUES ('own_states', 1); UPDATE rp_meta SET value = 2 WHERE name = 'schema_version';";

#endif
