/* SPDX-License-Identifier: Apache-2.0 */
/* What schema version 3 added to version 2 as it was released. As with schema_1.h: it may never change. */
#ifndef TEST_STORE_SCHEMA_3_H
#define TEST_STORE_SCHEMA_3_H

static const char schema_3[] =
    "CREATE TABLE rp_tokens (ref INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT, scope TEXT,"
    " read_only INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,"
    " last_used_at INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX rp_tokens_id ON rp_tokens (id);"

    "CREATE INDEX rp_runs_owned ON rp_runs (scope) WHERE ended_at = 0 AND owner <> 'none';"
    "CREATE INDEX rp_runs_boot ON rp_runs (scope, boot_id) WHERE ended_at = 0 AND owner = 'none';"
    "CREATE INDEX rp_runs_beat ON rp_runs (scope, heartbeat_boot) WHERE ended_at = 0 AND owner = 'none';"
    "UPDATE rp_meta SET value = 3 WHERE name = 'schema_version';";

#endif
