/* SPDX-License-Identifier: Apache-2.0 */
/* Schema version 1 as it was released. Files of it exist: neither this nor the step in schema.c may ever change. */
#ifndef TEST_STORE_SCHEMA_1_H
#define TEST_STORE_SCHEMA_1_H

static const char schema_1[] =
    "CREATE TABLE rp_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE rp_scopes (scope TEXT PRIMARY KEY, starts INTEGER NOT NULL, sealed INTEGER NOT NULL, key_id BLOB)"
    " WITHOUT ROWID;"

    "CREATE TABLE rp_sessions (ref INTEGER PRIMARY KEY, id TEXT NOT NULL, scope TEXT NOT NULL, key TEXT, channel TEXT,"
    " provider TEXT, created_at INTEGER NOT NULL, previous_id TEXT, continued_by TEXT, forked_from TEXT,"
    " forked_at_seq INTEGER NOT NULL, crash_recovered INTEGER NOT NULL, sealed INTEGER NOT NULL,"
    " hidden INTEGER NOT NULL, started INTEGER NOT NULL, meta TEXT);"
    "CREATE UNIQUE INDEX rp_sessions_id ON rp_sessions (id);"
    "CREATE INDEX rp_sessions_key ON rp_sessions (key, scope) WHERE key IS NOT NULL;"
    "CREATE INDEX rp_sessions_scope ON rp_sessions (scope);"
    "CREATE INDEX rp_sessions_scope_started ON rp_sessions (scope, started);"
    "CREATE INDEX rp_sessions_started ON rp_sessions (started);"

    "CREATE TABLE rp_heads (session INTEGER PRIMARY KEY, tag INTEGER NOT NULL, status INTEGER NOT NULL, epoch INTEGER "
    "NOT NULL,"
    " last_seq INTEGER NOT NULL, snap_seq INTEGER NOT NULL, snap_n INTEGER NOT NULL, tail_bytes INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, last_activity_at INTEGER NOT NULL, ended_at INTEGER NOT NULL);"

    "CREATE TABLE rp_runs (ref INTEGER PRIMARY KEY, session INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " owner TEXT NOT NULL, slot INTEGER NOT NULL, pid INTEGER NOT NULL, pid_start INTEGER NOT NULL,"
    " pid_ns INTEGER NOT NULL, boot_id TEXT, host TEXT, version TEXT, started_at INTEGER NOT NULL,"
    " heartbeat_at INTEGER NOT NULL, heartbeat_boot INTEGER NOT NULL, ended_at INTEGER NOT NULL, cause TEXT,"
    " evidence TEXT, reason TEXT);"
    "CREATE UNIQUE INDEX rp_runs_epoch ON rp_runs (session, epoch);"
    "CREATE INDEX rp_runs_open ON rp_runs (session) WHERE ended_at = 0;"

    "CREATE TABLE rp_events (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " at INTEGER NOT NULL, kind TEXT NOT NULL, flags INTEGER NOT NULL, sum INTEGER NOT NULL, body NOT NULL);"
    "CREATE UNIQUE INDEX rp_events_seq ON rp_events (session, seq);"

    "CREATE TABLE rp_snapshots (ref INTEGER PRIMARY KEY, session INTEGER NOT NULL, n INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, at INTEGER NOT NULL, raw_size INTEGER NOT NULL, size INTEGER NOT NULL,"
    " sealed INTEGER NOT NULL, reason TEXT, data BLOB NOT NULL);"
    "CREATE UNIQUE INDEX rp_snapshots_n ON rp_snapshots (session, n);"

    "CREATE TABLE rp_idem (session INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL,"
    " at INTEGER NOT NULL, PRIMARY KEY (session, key)) WITHOUT ROWID;"
    "CREATE INDEX rp_idem_at ON rp_idem (at);"

    "CREATE TABLE rp_clients (session INTEGER NOT NULL, client TEXT NOT NULL, mark INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, PRIMARY KEY (session, client)) WITHOUT ROWID;"
    "INSERT INTO rp_meta VALUES ('schema_version', 1);";

#endif
