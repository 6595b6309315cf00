/* SPDX-License-Identifier: Apache-2.0 */
/* The text of every statement. */
#include "store/sqlite/statements.h"

/* The order in which rp__sq_head_read and rp__sq_session_read take columns. */
#define HEAD_COLUMNS                                                                                                   \
  "h.session, h.tag, h.status, h.epoch, h.last_seq, h.snap_seq, h.tail_bytes, h.bytes, h.last_activity_at, "           \
  "h.ended_at, h.tails"
#define SESSION_COLUMNS                                                                                                \
  HEAD_COLUMNS ", s.id, s.scope, s.key, s.channel, s.provider, s.created_at, s.previous_id, s.continued_by, "          \
               "s.forked_from, s.forked_at_seq, s.crash_recovered, s.sealed, s.hidden, s.trashed_at, s.held_at, "      \
               "s.meta, s.name"
#define SESSION_FROM " FROM rp_sessions s JOIN rp_heads h ON h.session = s.ref "
#define SESSION SESSION_COLUMNS SESSION_FROM

/* Sessions that are looked for by anything but their exact id. */
#define SHOWN " s.hidden = 0 AND s.trashed_at = 0 "

/* Open sessions (statuses below RP_STATUS_CLOSED) first, then the newest. */
#define KEY_ORDER " ORDER BY h.status >= 4, s.ref DESC LIMIT 1"

#define PAGE_FILTER                                                                                                    \
  " s.ref < ?1 AND s.hidden = 0 AND (?2 = 0 OR (?2 >> h.status) & 1) AND h.last_activity_at >= ?3 "                    \
  "ORDER BY s.ref DESC LIMIT ?4"

/* The whole order in numbers alone; rows are read by them. */
#define ACTIVE_PAGE                                                                                                    \
  "SELECT s.ref" SESSION_FROM "WHERE (h.last_activity_at, s.ref) < (?6, ?1) AND s.hidden = 0 AND "                     \
  "(?2 = 0 OR (?2 >> h.status) & 1) AND h.last_activity_at >= ?3 AND "
#define ACTIVE_ORDER " ORDER BY h.last_activity_at DESC, s.ref DESC LIMIT ?4"

#define RUN                                                                                                            \
  "SELECT r.ref, r.session, s.id, r.epoch, r.owner, r.slot, r.pid, r.pid_start, r.pid_ns, r.boot_id, r.host, "         \
  "r.version, r.started_at, r.heartbeat_at, r.heartbeat_boot, r.ended_at, r.cause, r.evidence, r.reason, r.restart, "  \
  "r.previous_cause, r.elapsed, r.start_number "                                                                       \
  "FROM rp_runs r JOIN rp_sessions s ON s.ref = r.session "
#define RUN_FILTER " r.ref < ?1 AND (?2 IS NULL OR s.scope = ?2) "
#define RUN_ORDER " ORDER BY r.ref DESC LIMIT ?3"
#define QUIET " UNION ALL SELECT ref FROM rp_runs WHERE scope = ?1 AND ended_at = 0 AND owner = 'none' AND "

/* Memories of every channel, or of one. */
#define OF_CHANNEL "(?5 IS NULL OR EXISTS (SELECT 1 FROM rp_sessions s WHERE s.id = m.session_id AND s.channel = ?5))"

/* sum() fails on numbers of a damaged row that overflow; exact up to 2^53. */
#define TOTAL(column) "CAST(total(" #column ") AS INTEGER)"
#define BODY_BYTES "coalesce(sum(length(CAST(body AS BLOB))), 0)"

/* The row of session_states that belongs to the session ?1 and is ours: neither archived (2) nor another's (8). */
#define OUR_STATE "(SELECT id FROM rp_recall WHERE session = ?1 AND flags & 10 = 0)"

const char *const rp__sq_sql[RP_SQ_ID_MAX] = {
    [RP_SQ_BEGIN] = "BEGIN IMMEDIATE",
    [RP_SQ_COMMIT] = "COMMIT",
    [RP_SQ_ROLLBACK] = "ROLLBACK",
    [RP_SQ_SAVE] = "SAVEPOINT rp_txn",
    [RP_SQ_SAVE_UNDO] = "ROLLBACK TO rp_txn",
    [RP_SQ_SAVE_DONE] = "RELEASE rp_txn",
    [RP_SQ_META_GET] = "SELECT value FROM rp_meta WHERE name = ?1",
    [RP_SQ_META_SET] = "INSERT INTO rp_meta (name, value) VALUES (?1, ?2) "
                       "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [RP_SQ_META_COUNT] = "INSERT INTO rp_meta (name, value) VALUES (?1, 1) "
                         "ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
    /* Above every session there is, should the counter have been damaged. */
    [RP_SQ_SESSION_COUNT] =
        "INSERT INTO rp_meta (name, value) VALUES (?1, (SELECT coalesce(max(ref), 0) + 1 FROM rp_sessions)) "
        "ON CONFLICT (name) DO UPDATE SET value = max(value + 1, excluded.value) RETURNING value",

    [RP_SQ_META_DELETE] = "DELETE FROM rp_meta WHERE name = ?1",
    [RP_SQ_DATA_VERSION] = "PRAGMA data_version",

    [RP_SQ_HEAD_BY_REF] = "SELECT " HEAD_COLUMNS " FROM rp_heads h WHERE h.session = ?1",
    [RP_SQ_HEAD_BY_ID] = "SELECT " HEAD_COLUMNS SESSION_FROM "WHERE s.id = ?1",
    [RP_SQ_HEAD_PUT] = "INSERT INTO rp_heads (session, tag, status, epoch, last_seq, snap_seq, snap_n, tail_bytes, "
                       "bytes, last_activity_at, "
                       "ended_at) VALUES (?1, ?6, ?2, ?3, 0, 0, 0, 0, 0, ?4, ?5)",
    [RP_SQ_HEAD_APPEND] = "UPDATE rp_heads SET status = ?2, last_seq = ?3, tail_bytes = ?4, bytes = ?5, "
                          "last_activity_at = ?6, tails = ?7 WHERE session = ?1",
    [RP_SQ_HEAD_SET] = "UPDATE rp_heads SET status = ?2, epoch = ?3, last_seq = ?4, snap_seq = ?5, tail_bytes = ?6, "
                       "bytes = ?7, last_activity_at = ?8, ended_at = ?9, tails = ?10 WHERE session = ?1",
    [RP_SQ_HEAD_SNAPSHOT] = "UPDATE rp_heads SET snap_seq = ?2, tail_bytes = ?3 WHERE session = ?1",
    [RP_SQ_HEAD_NUMBER] = "UPDATE rp_heads SET snap_n = snap_n + 1 WHERE session = ?1 RETURNING snap_n",
    [RP_SQ_HEAD_DELETE] = "DELETE FROM rp_heads WHERE session = ?1",

    [RP_SQ_EVENT_PUT] = "INSERT INTO rp_events (session, seq, at, kind, flags, sum, body, tail) VALUES (?1, ?2, ?3, "
                        "?4, ?5, ?6, ?7, ?9)",
    [RP_SQ_EVENT_PUT_ABOVE] = "INSERT INTO rp_events (id, session, seq, at, kind, flags, sum, body, tail) VALUES "
                              "(1 + max(?8, (SELECT coalesce(max(id), 0) FROM rp_events)), ?1, ?2, ?3, ?4, ?5, ?6, "
                              "?7, ?9)",
    [RP_SQ_EVENT_CHANGES] = "SELECT id, session, seq FROM rp_events WHERE id > ?1 ORDER BY id LIMIT ?2",
    [RP_SQ_EVENT_GET] = "SELECT id, seq, at, kind, flags, sum, body FROM rp_events WHERE session = ?1 AND seq = ?2",
    [RP_SQ_EVENT_REPLACE] = "UPDATE rp_events SET at = ?2, kind = ?3, flags = ?4, sum = ?5, body = ?6, tail = ?7 "
                            "WHERE id = ?1",
    [RP_SQ_EVENT_TAIL] = "SELECT seq, at, kind, flags, sum, body, tail FROM rp_events WHERE session = ?1 AND seq = ?2",
    [RP_SQ_EVENT_TAILS_FORGET] = "UPDATE rp_events SET tail = NULL WHERE session = ?1 AND tail IS NOT NULL",
    [RP_SQ_TAILS_PAGE] = "SELECT h.session, h.tails, s.id, s.scope FROM rp_heads h JOIN rp_sessions s ON s.ref = "
                         "h.session WHERE h.session > ?1 AND h.tails IS NOT NULL ORDER BY h.session LIMIT 1",
    [RP_SQ_TAILS_OF] = "SELECT h.session, h.tails, s.id, s.scope FROM rp_heads h JOIN rp_sessions s ON s.ref = "
                       "h.session WHERE h.session = ?1",
    [RP_SQ_EVENT_PAGE] = "SELECT seq, at, kind, flags, sum, body FROM rp_events WHERE session = ?1 AND seq > ?2 "
                         "ORDER BY seq LIMIT ?3",
    [RP_SQ_EVENT_KIND_SINCE] = "SELECT 1 FROM rp_events WHERE session = ?1 AND seq > ?2 AND kind = ?3 LIMIT 1",
    [RP_SQ_EVENT_BYTES] = "SELECT coalesce(max(seq), 0), " BODY_BYTES " FROM rp_events WHERE session = ?1 AND seq > ?2",
    [RP_SQ_EVENT_INDEXED] = "SELECT id, seq, at, kind, flags, sum, body FROM rp_events "
                            "WHERE session = ?1 AND id <= ?2",
    [RP_SQ_EVENT_DELETE] = "DELETE FROM rp_events WHERE session = ?1",
    [RP_SQ_EVENT_MAX] = "SELECT coalesce(max(id), 0) FROM rp_events",
    [RP_SQ_EVENT_UNINDEXED] = "SELECT id, seq, at, kind, flags, sum, body FROM rp_events "
                              "WHERE id > ?1 ORDER BY id LIMIT ?2",
    [RP_SQ_EVENT_LEFT] = "SELECT count(*) FROM rp_events WHERE id > ?1",

    [RP_SQ_IDEM_GET] = "SELECT seq, n, digest FROM rp_idem WHERE session = ?1 AND key = ?2",
    [RP_SQ_IDEM_PUT] = "INSERT INTO rp_idem (session, key, seq, n, at, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [RP_SQ_IDEM_PRUNE] = "DELETE FROM rp_idem WHERE (session, key) IN "
                         "(SELECT session, key FROM rp_idem WHERE at < ?1 ORDER BY at LIMIT ?2)",
    [RP_SQ_IDEM_DELETE] = "DELETE FROM rp_idem WHERE session = ?1",
    [RP_SQ_REQUEST_GET] = "SELECT digest, session_id FROM rp_requests WHERE scope = ?1 AND key = ?2",
    [RP_SQ_REQUEST_PUT] = "INSERT INTO rp_requests (scope, key, digest, session_id, at) VALUES (?1, ?2, ?3, ?4, ?5) "
                          "ON CONFLICT (scope, key) DO NOTHING",
    [RP_SQ_REQUEST_PRUNE] = "DELETE FROM rp_requests WHERE (scope, key) IN "
                            "(SELECT scope, key FROM rp_requests WHERE at < ?1 ORDER BY at LIMIT ?2)",

    [RP_SQ_NAME_GET] = "SELECT session_id, at FROM rp_names WHERE name = ?1",
    [RP_SQ_NAME_PUT] = "INSERT INTO rp_names (name, session_id, at) SELECT ?1, ?2, ?3 "
                       "WHERE ?2 IS NULL OR EXISTS (SELECT 1 FROM rp_sessions WHERE id = ?2) "
                       "ON CONFLICT (name) DO UPDATE SET session_id = excluded.session_id, at = excluded.at",
    [RP_SQ_NAME_BOUND] = "DELETE FROM rp_names WHERE name IN (SELECT name FROM rp_names WHERE name <> ?1 "
                         "ORDER BY session_id IS NOT NULL, at, name "
                         "LIMIT max(0, (SELECT count(*) FROM rp_names) - ?2))",
    [RP_SQ_NAME_BEREAVE] = "UPDATE rp_names SET session_id = NULL, at = ?2 "
                           "WHERE session_id = (SELECT id FROM rp_sessions WHERE ref = ?1)",
    [RP_SQ_NAME_PRUNE] = "DELETE FROM rp_names WHERE name IN "
                         "(SELECT name FROM rp_names WHERE session_id IS NULL AND at < ?1 LIMIT ?2)",
    [RP_SQ_CLIENT_GET] = "SELECT mark, seq FROM rp_clients WHERE session = ?1 AND client = ?2",
    [RP_SQ_CLIENT_PUT] = "INSERT INTO rp_clients (session, client, mark, seq) VALUES (?1, ?2, ?3, ?4) "
                         "ON CONFLICT (session, client) DO UPDATE SET mark = excluded.mark, seq = excluded.seq",
    [RP_SQ_CLIENT_DELETE] = "DELETE FROM rp_clients WHERE session = ?1",

    [RP_SQ_SESSION_PUT] =
        "INSERT INTO rp_sessions (ref, id, scope, key, channel, provider, created_at, previous_id, continued_by, "
        "forked_from, forked_at_seq, crash_recovered, sealed, hidden, started, meta, trashed_at, held_at, name) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, ?15, ?16, ?17, ?18)",
    [RP_SQ_SESSION_SET] = "UPDATE rp_sessions SET created_at = ?2, continued_by = ?3, crash_recovered = ?4, "
                          "hidden = ?5, meta = ?6, trashed_at = ?7, held_at = ?8, name = ?9 WHERE ref = ?1",
    [RP_SQ_SESSION_STARTED] =
        "UPDATE rp_sessions SET started = 1 + (SELECT max(started) FROM rp_sessions) WHERE ref = ?1",
    [RP_SQ_SESSION_DELETE] = "DELETE FROM rp_sessions WHERE ref = ?1",
    [RP_SQ_SESSION_BY_REF] = "SELECT " SESSION "WHERE s.ref = ?1",
    [RP_SQ_SESSION_BY_ID] = "SELECT " SESSION "WHERE s.id = ?1 AND s.hidden = 0",
    [RP_SQ_SESSION_COPY] = "SELECT " SESSION "WHERE s.id = ?1 AND s.hidden = 1",
    [RP_SQ_SESSION_BY_NAME] =
        "SELECT " SESSION "WHERE s.ref = coalesce((SELECT ref FROM rp_sessions WHERE id = ?1 AND hidden = 0), "
        "(SELECT s.ref" SESSION_FROM "WHERE s.key = ?1 AND" SHOWN KEY_ORDER "))",
    /* The range is everything that begins with ?1: ?2 is ?1 followed by the last code point. */
    [RP_SQ_SESSION_BY_PREFIX] = "SELECT " SESSION "WHERE s.id >= ?1 AND s.id < ?2 AND" SHOWN
                                "AND (?3 IS NULL OR s.scope = ?3) ORDER BY s.id LIMIT 2",
    [RP_SQ_SESSION_BY_KEY_IN] = "SELECT " SESSION "WHERE s.key = ?1 AND s.scope = ?2 AND" SHOWN KEY_ORDER,
    [RP_SQ_SESSION_BY_KEY_BUT] = "SELECT " SESSION "WHERE s.key = ?1 AND s.scope <> ?2 AND" SHOWN KEY_ORDER,
    [RP_SQ_SESSION_IS_HIDDEN] = "SELECT hidden FROM rp_sessions WHERE ref = ?1",
    [RP_SQ_SESSION_HIDDEN] = "SELECT " SESSION "WHERE s.hidden = 1 AND s.id > ?1 ORDER BY s.id LIMIT 1",
    [RP_SQ_SESSION_LAST] = "SELECT " SESSION "WHERE (?2 IS NULL OR s.channel = ?2) AND" SHOWN
                           "ORDER BY s.started DESC, s.ref DESC LIMIT 1",
    [RP_SQ_SESSION_LAST_IN] = "SELECT " SESSION "WHERE s.scope = ?1 AND (?2 IS NULL OR s.channel = ?2) AND" SHOWN
                              "ORDER BY s.started DESC, s.ref DESC LIMIT 1",
    [RP_SQ_SESSION_PAGE] = "SELECT " SESSION "WHERE s.trashed_at = 0 AND" PAGE_FILTER,
    [RP_SQ_SESSION_PAGE_IN] = "SELECT " SESSION "WHERE s.scope = ?5 AND s.trashed_at = 0 AND" PAGE_FILTER,
    [RP_SQ_SESSION_PAGE_TRASH] =
        "SELECT " SESSION "WHERE s.trashed_at > 0 AND (?5 IS NULL OR s.scope = ?5) AND" PAGE_FILTER,
    [RP_SQ_SESSION_ACTIVE] = ACTIVE_PAGE "(s.trashed_at > 0) = ?7" ACTIVE_ORDER,
    [RP_SQ_SESSION_ACTIVE_IN] = ACTIVE_PAGE "(s.trashed_at > 0) = ?7 AND s.scope = ?5" ACTIVE_ORDER,
    [RP_SQ_SESSION_STATS] =
        "SELECT h.status, count(*), " TOTAL(h.last_seq) ", " TOTAL(h.bytes) ", "
                                                                            "sum(s.trashed_at > 0)" SESSION_FROM
                                                                            "GROUP BY h.status",

    [RP_SQ_SCOPE_START] = "INSERT INTO rp_scopes (scope, starts, sealed, key_id) VALUES (?1, 1, 0, NULL) "
                          "ON CONFLICT (scope) DO UPDATE SET starts = starts + 1 RETURNING starts",
    [RP_SQ_SCOPE_SET] = "INSERT INTO rp_scopes (scope, starts, sealed, key_id) VALUES (?1, 0, ?2, ?3) "
                        "ON CONFLICT (scope) DO UPDATE SET sealed = excluded.sealed, key_id = excluded.key_id",
    [RP_SQ_SCOPE_RAISE] =
        "INSERT INTO rp_scopes (scope, starts, sealed, key_id, robot) VALUES (?1, ?2, 0, NULL, ?3) "
        "ON CONFLICT (scope) DO UPDATE SET starts = max(starts, excluded.starts), robot = max(robot, excluded.robot)",
    [RP_SQ_SCOPE_GET] = "SELECT starts, sealed, key_id, robot FROM rp_scopes WHERE scope = ?1",
    [RP_SQ_SCOPE_PAGE] = "SELECT scope FROM rp_scopes WHERE scope > ?1 UNION SELECT scope FROM rp_audit_heads "
                         "WHERE scope > ?1 ORDER BY 1 LIMIT ?2",

    [RP_SQ_RUN_PUT] =
        "INSERT INTO rp_runs (session, epoch, owner, slot, pid, pid_start, pid_ns, boot_id, host, version, started_at, "
        "heartbeat_at, heartbeat_boot, ended_at, restart, previous_cause, elapsed, start_number, scope) VALUES (?1, "
        "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14, ?15, ?16, ?17, "
        "(SELECT scope FROM rp_sessions WHERE ref = ?1))",
    [RP_SQ_RUN_CURRENT] = "SELECT ref, ended_at FROM rp_runs WHERE session = ?1 AND epoch = ?2",
    [RP_SQ_RUN_END] = "UPDATE rp_runs SET ended_at = ?3, cause = ?4, evidence = ?5, reason = ?6 "
                      "WHERE ref = ?1 AND session = ?2 AND ended_at = 0 AND (?7 = 0 OR heartbeat_at = ?7)",
    [RP_SQ_RUN_BEAT] = "UPDATE rp_runs SET heartbeat_at = ?2, heartbeat_boot = ?3 WHERE ref = ?1",
    [RP_SQ_RUN_DELETE] = "DELETE FROM rp_runs WHERE session = ?1",
    [RP_SQ_RUN_PAGE] = RUN "WHERE" RUN_FILTER RUN_ORDER,
    [RP_SQ_RUN_PAGE_IN] = RUN "WHERE r.scope = ?2 AND r.ref < ?1 AND (?5 IS NULL OR s.channel = ?5)" RUN_ORDER,
    /* Few runs are open: found by an index of their own, not by a walk over all, which the plus keeps SQLite from. */
    [RP_SQ_RUN_PAGE_OPEN] = RUN "WHERE r.ended_at = 0 AND +r.ref < ?1 "
                                "AND (?2 IS NULL OR s.scope = ?2) ORDER BY +r.ref DESC LIMIT ?3",
    [RP_SQ_RUN_PAGE_OPEN_IN] = RUN "WHERE r.ended_at = 0 AND r.scope = ?2 "
                                   "AND r.ref < ?1 AND (?5 IS NULL OR s.channel = ?5)" RUN_ORDER,
    [RP_SQ_RUN_PAGE_OPEN_OF] = RUN "WHERE r.ended_at = 0 AND r.session = ?4 AND" RUN_FILTER RUN_ORDER,
    [RP_SQ_RUN_PAGE_OF] = RUN "WHERE r.session = ?4 AND" RUN_FILTER RUN_ORDER,
    /* Those with an owner, and of the others all but the ones that beat between ?3 and ?4 of the boot ?2; some twice.
     */
    [RP_SQ_RUN_QUIET] =
        "SELECT ref FROM rp_runs WHERE scope = ?1 AND ended_at = 0 AND owner <> 'none'" QUIET "boot_id IS NULL" QUIET
        "boot_id < ?2" QUIET "boot_id > ?2" QUIET "heartbeat_boot <= ?3" QUIET "heartbeat_boot > ?4 LIMIT ?5",
    [RP_SQ_RUN_GET] = RUN "WHERE r.ref = ?1 AND r.ended_at = 0",
    [RP_SQ_RUN_EPOCH] = "SELECT coalesce(max(epoch), 0) FROM rp_runs WHERE session = ?1",
    [RP_SQ_RUN_STATS] = "SELECT count(*) FROM rp_runs WHERE ended_at = 0",

    [RP_SQ_SNAPSHOT_PUT] = "INSERT INTO rp_snapshots (session, n, seq, at, raw_size, size, sealed, reason, data) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [RP_SQ_SNAPSHOT_DELETE] = "DELETE FROM rp_snapshots WHERE session = ?1 AND n = ?2",
    [RP_SQ_SNAPSHOT_DELETE_ALL] = "DELETE FROM rp_snapshots WHERE session = ?1",
    [RP_SQ_SNAPSHOT_NEWEST] = "SELECT coalesce(max(seq), 0) FROM rp_snapshots WHERE session = ?1",
    [RP_SQ_SNAPSHOT_PAGE] = "SELECT n, seq, at, raw_size, size, sealed, reason FROM rp_snapshots "
                            "WHERE session = ?1 AND n < ?2 ORDER BY n DESC LIMIT ?3",
    [RP_SQ_SNAPSHOT_GET] = "SELECT n, seq, at, raw_size, size, sealed, reason, data FROM rp_snapshots "
                           "WHERE session = ?1 AND n = ?2",
    [RP_SQ_SNAPSHOT_LAST] = "SELECT n, seq, at, raw_size, size, sealed, reason, data FROM rp_snapshots "
                            "WHERE session = ?1 ORDER BY n DESC LIMIT 1",
    [RP_SQ_SNAPSHOT_STATS] = "SELECT count(*), " TOTAL(size) " FROM rp_snapshots",

    [RP_SQ_RECALL_FLAGS] = "SELECT flags FROM rp_recall WHERE session = ?1",
    [RP_SQ_RECALL_PUT] = "INSERT INTO rp_recall (scope, ended_at, id, session, channel, n_tasks, flags, topics) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [RP_SQ_RECALL_SET_OUT] = "UPDATE rp_recall SET flags = CASE WHEN ?2 THEN flags | 4 ELSE flags & ~4 END "
                             "WHERE session = ?1",
    [RP_SQ_RECALL_ARCHIVE] = "UPDATE rp_recall SET flags = flags | 2 WHERE session = ?1",
    [RP_SQ_RECALL_DELETE] = "DELETE FROM rp_recall WHERE session = ?1",
    [RP_SQ_RECALL_PAGE] = "SELECT ended_at, id, session, n_tasks, flags, topics FROM rp_recall "
                          "WHERE scope = ?1 AND ended_at BETWEEN ?3 AND ?2 ORDER BY ended_at DESC, id DESC",
    [RP_SQ_RECALL_PAGE_OF] = "SELECT ended_at, id, session, n_tasks, flags, topics FROM rp_recall "
                             "WHERE scope = ?1 AND ended_at BETWEEN ?3 AND ?2 AND channel = ?4 "
                             "ORDER BY ended_at DESC, id DESC",
    [RP_SQ_RECALL_NEXT] = "SELECT session FROM rp_recall WHERE session > ?1 ORDER BY session LIMIT 1",
    [RP_SQ_RECALL_STATS] = "SELECT count(*) FROM rp_recall",

    [RP_SQ_RECORD_PUT] = "INSERT OR REPLACE INTO rp_records (session, start_at, created_at, updated_at, "
                         "crash_recovered, previous_id, continued_by, sealed, body, sum) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [RP_SQ_RECORD_GET] =
        "SELECT r.id, r.scope, r.ended_at, r.channel, r.n_tasks, r.flags, r.topics, d.start_at, d.created_at, "
        "d.updated_at, d.crash_recovered, d.previous_id, d.continued_by, d.sealed, d.body, d.sum "
        "FROM rp_recall r JOIN rp_records d ON d.session = r.session WHERE r.session = ?1",
    [RP_SQ_RECORD_CONTINUED] = "UPDATE rp_records SET continued_by = ?2 WHERE session = ?1 AND continued_by IS NULL",
    [RP_SQ_RECORD_ERASE] = "UPDATE rp_records SET body = NULL, sum = NULL WHERE session = ?1",
    [RP_SQ_RECORD_DELETE] = "DELETE FROM rp_records WHERE session = ?1",

    [RP_SQ_STATE_EXISTS] = "SELECT 1 FROM session_states WHERE id = ?1 LIMIT 1",
    [RP_SQ_STATE_PUT] =
        "INSERT INTO session_states (id, start_time, end_time, channel, working_memory, hot_topics, active_projects, "
        "pending_tasks, recent_learnings, confidence_updates, sop_interactions, previous_session_id, continued_by, "
        "crash_recovered, schema_version, created_at, updated_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 1, ?15, ?16)",
    [RP_SQ_STATE_REPLACE] =
        "UPDATE session_states SET start_time = ?2, end_time = ?3, channel = ?4, working_memory = ?5, hot_topics = ?6, "
        "active_projects = ?7, pending_tasks = ?8, recent_learnings = ?9, confidence_updates = ?10, "
        "sop_interactions = ?11, previous_session_id = ?12, continued_by = ?13, crash_recovered = ?14, "
        "schema_version = 1, created_at = ?15, updated_at = ?16 WHERE id = ?1",
    [RP_SQ_STATE_PARTS] = "SELECT working_memory, hot_topics, active_projects, pending_tasks, recent_learnings, "
                          "confidence_updates, sop_interactions FROM session_states WHERE id = ?1",
    [RP_SQ_STATE_CONTINUED] =
        "UPDATE session_states SET continued_by = ?2 WHERE id = " OUR_STATE " AND continued_by IS NULL",
    [RP_SQ_STATE_DELETE] = "DELETE FROM session_states WHERE id = " OUR_STATE,

    [RP_SQ_TASK_PUT] = "INSERT INTO rp_tasks (scope, hash, session, seq, at, open) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                       "ON CONFLICT (scope, hash) DO UPDATE SET session = excluded.session, seq = excluded.seq, "
                       "at = excluded.at, open = excluded.open WHERE excluded.at >= at",
    [RP_SQ_TASK_GET] = "SELECT t.session, t.seq, t.at, t.open, s.id FROM rp_tasks t "
                       "JOIN rp_sessions s ON s.ref = t.session WHERE t.scope = ?1 AND t.hash = ?2",
    [RP_SQ_TASK_DELETE] = "DELETE FROM rp_tasks WHERE session = ?1",

    [RP_SQ_MEMORY_PUT] = "INSERT INTO rp_memories (scope, id, session_id, confidence, created_at, updated_at, sealed, "
                         "content, categories, sum, uses, used_at) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    /* A memory that is older than sums stays without one: nobody knows what it was. */
    [RP_SQ_MEMORY_SET] = "UPDATE rp_memories SET uses = uses + (?2 >= confidence), confidence = ?2, updated_at = ?3, "
                         "sum = CASE WHEN sum IS NULL THEN NULL ELSE ?4 END WHERE ref = ?1",
    [RP_SQ_MEMORY_USED] = "UPDATE rp_memories SET uses = uses + 1, used_at = ?3 "
                          "WHERE scope = ?1 AND id = ?2 AND used_at NOT BETWEEN ?3 - ?4 + 1 AND ?3",
    [RP_SQ_MEMORY_DELETE] = "DELETE FROM rp_memories WHERE ref = ?1",
    [RP_SQ_MEMORY_FIND] = "SELECT ref FROM rp_memories WHERE scope = ?1 AND id = ?2",
    [RP_SQ_MEMORY_NEXT] = "SELECT ref FROM rp_memories WHERE ref > ?1 ORDER BY ref LIMIT 1",
    [RP_SQ_MEMORY_GET] =
        "SELECT m.id, m.scope, m.session_id, m.confidence, m.created_at, m.updated_at, "
        "CASE WHEN h.ended_at > 0 THEN h.ended_at ELSE m.created_at END, m.sealed, m.content, m.categories, m.sum, "
        "m.uses, m.used_at "
        "FROM rp_memories m LEFT JOIN rp_sessions s ON s.id = m.session_id "
        "LEFT JOIN rp_heads h ON h.session = s.ref WHERE m.ref = ?1",
    [RP_SQ_MEMORY_BEST] = "SELECT ref, 0.0 FROM rp_memories WHERE scope = ?1 AND (?2 IS NULL OR id = ?2) "
                          "ORDER BY confidence DESC, created_at DESC, ref DESC LIMIT ?3",
    [RP_SQ_MEMORY_SEARCH] = "SELECT m.ref, -f.rank * m.confidence FROM rp_memory_fts f "
                            "JOIN rp_memories m ON m.ref = f.rowid WHERE rp_memory_fts MATCH ?2 AND m.scope = ?1 "
                            "ORDER BY 2 DESC, m.created_at DESC, m.ref DESC LIMIT ?3",
    /* The inner limits bound the work where few memories are of the channel or the scope. */
    [RP_SQ_MEMORY_FRESH] = "SELECT m.ref, 0.0 FROM (SELECT ref, session_id FROM rp_memories WHERE scope = ?1 "
                           "ORDER BY max(updated_at, used_at) DESC, ref DESC LIMIT ?4) m WHERE " OF_CHANNEL " LIMIT ?3",
    [RP_SQ_MEMORY_ABOUT] = "SELECT m.ref, 0.0 FROM (SELECT rowid AS ref FROM rp_memory_fts "
                           "WHERE rp_memory_fts MATCH ?2 ORDER BY rowid DESC LIMIT ?4) f "
                           "CROSS JOIN rp_memories m ON m.ref = f.ref WHERE m.scope = ?1 AND " OF_CHANNEL " LIMIT ?3",
    [RP_SQ_MEMORY_OPEN] = "SELECT ref, content FROM rp_memories WHERE sealed = 0",
    [RP_SQ_MEMORY_STATS] = "SELECT count(*) FROM rp_memories",
    [RP_SQ_MEMORY_INDEX_PUT] = "INSERT INTO rp_memory_fts (rowid, text) VALUES (?1, ?2)",
    [RP_SQ_MEMORY_INDEX_REMOVE] = "INSERT INTO rp_memory_fts (rp_memory_fts, rowid, text) VALUES ('delete', ?1, ?2)",
    [RP_SQ_MEMORY_INDEX_CHECK] = "INSERT INTO rp_memory_fts (rp_memory_fts) VALUES ('integrity-check')",

    [RP_SQ_AUDIT_PUT] = "INSERT INTO rp_audit (scope, n, at, event, fields, sealed, salt, digest, prev, hash) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [RP_SQ_AUDIT_ERASE] = "UPDATE rp_audit SET fields = NULL WHERE scope = ?1 AND n = ?2",
    [RP_SQ_AUDIT_PAGE] = "SELECT n, at, event, fields, sealed, salt, digest, prev, hash FROM rp_audit "
                         "WHERE scope = ?1 AND n > ?2 ORDER BY n LIMIT ?3",
    [RP_SQ_AUDIT_HEAD] = "SELECT n, hash FROM rp_audit_heads WHERE scope = ?1",
    [RP_SQ_AUDIT_HEAD_SET] = "INSERT OR REPLACE INTO rp_audit_heads (scope, n, hash) VALUES (?1, ?2, ?3)",
    [RP_SQ_AUDIT_STATS] =
        "SELECT coalesce((SELECT value FROM rp_meta WHERE name = 'audits'), (SELECT " TOTAL(n) " FROM "
                                                                                               "rp_audit_heads), 0)",
    [RP_SQ_AUDIT_TOTAL] = "SELECT " TOTAL(n) " FROM rp_audit_heads",

    [RP_SQ_TOKEN_PUT] =
        "INSERT INTO rp_tokens (id, name, scope, read_only, hash, created_at, expires_at, last_used_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [RP_SQ_TOKEN_USED] = "UPDATE rp_tokens SET last_used_at = ?2 WHERE id = ?1",
    [RP_SQ_TOKEN_DELETE] = "DELETE FROM rp_tokens WHERE id = ?1",
    [RP_SQ_TOKEN_GET] = "SELECT ref, id, name, scope, read_only, hash, created_at, expires_at, last_used_at "
                        "FROM rp_tokens WHERE id = ?1",
    [RP_SQ_TOKEN_PAGE] = "SELECT ref, id, name, scope, read_only, hash, created_at, expires_at, last_used_at "
                         "FROM rp_tokens WHERE ref > ?1 ORDER BY ref LIMIT ?2",

    [RP_SQ_BLOB_PUT] = "INSERT INTO rp_blobs (session, id, at, raw_size, size, sealed, hash, data) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [RP_SQ_BLOB_REPLACE] = "UPDATE rp_blobs SET at = ?3, raw_size = ?4, size = ?5, sealed = ?6, hash = ?7, data = ?8 "
                           "WHERE session = ?1 AND id = ?2",
    [RP_SQ_BLOB_DELETE] = "DELETE FROM rp_blobs WHERE session = ?1 AND id = ?2",
    [RP_SQ_BLOB_DELETE_ALL] = "DELETE FROM rp_blobs WHERE session = ?1",
    [RP_SQ_BLOB_EXISTS] = "SELECT 1 FROM rp_blobs WHERE session = ?1 AND id = ?2",
    [RP_SQ_BLOB_SAME] =
        "SELECT id FROM rp_blobs WHERE session = ?1 AND hash = ?2 AND raw_size = ?3 ORDER BY id LIMIT 1",
    [RP_SQ_BLOB_GET] = "SELECT id, at, raw_size, size, sealed, hash, data FROM rp_blobs WHERE session = ?1 AND id = ?2",
    [RP_SQ_BLOB_PAGE] = "SELECT id, at, raw_size, size, sealed, hash FROM rp_blobs "
                        "WHERE session = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
    [RP_SQ_BLOB_STATS] = "SELECT count(*), " TOTAL(size) " FROM rp_blobs",

    [RP_SQ_INDEX_EXISTS] = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'rp_fts'",
    [RP_SQ_INDEX_PUT] = "INSERT INTO rp_fts (rowid, text) VALUES (?1, ?2)",
    [RP_SQ_INDEX_REMOVE] = "INSERT INTO rp_fts (rp_fts, rowid, text) VALUES ('delete', ?1, ?2)",
    [RP_SQ_INDEX_CHECK] = "INSERT INTO rp_fts (rp_fts) VALUES ('integrity-check')",
    [RP_SQ_INDEX_SEARCH] =
        "SELECT s.id, s.scope, f.rank, e.seq, e.at, e.kind, e.flags, e.sum, e.body FROM rp_fts f JOIN rp_events e ON "
        "e.id = f.rowid "
        "JOIN rp_sessions s ON s.ref = e.session WHERE rp_fts MATCH ?1 AND" SHOWN "AND (?2 IS NULL OR s.scope = ?2) "
        "ORDER BY f.rank LIMIT ?3",
};
