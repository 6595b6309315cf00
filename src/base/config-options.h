/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every option of reprise.ini in one table. The engine parses the file into a struct rp__scope_config for each scope;
 * the server parses the rows that are marked as its own. `config show`, `config sample` and the list of keys in
 * reprise.ini(5) come from this table.
 */
#ifndef RP_BASE_CONFIG_OPTIONS_H
#define RP_BASE_CONFIG_OPTIONS_H

#include "base/option-table.h"

enum rp__template { RP_TEMPLATE_CODER, RP_TEMPLATE_ROBOT };
enum rp__abandon_rule { RP_ABANDON_CHANNEL, RP_ABANDON_ALWAYS, RP_ABANDON_NEVER };
enum rp__local_rule { RP_LOCAL_ANY, RP_LOCAL_UID };

/*
 * Type, member, name, bounds, default, place, meaning. A place is SCOPE (a section [scope NAME] may have its own value)
 * or GLOBAL (one value for all scopes), and with _SERVER an option whose bounds the server checks.
 */
#define RP_CONFIG_OPTIONS(X)                                                                                           \
  X(BOOL, enabled, enabled, ALL, "true", SCOPE, "whether Reprise does anything in this scope")                         \
  X(WORD, template, template, WORDS(template_words, 0), "coder", SCOPE, "form of the brief")                           \
  X(WORD, durability, durability, WORDS(rp__durability_words, RP_OS), "disk", SCOPE, "of an append that does not say") \
  X(SECONDS, heartbeat_ms, heartbeat_s, ALL, "10", SCOPE, "seconds between heartbeats that are written")               \
  X(SECONDS, save_ms, save_s, ALL, "30", SCOPE, "seconds between saves that are made")                                 \
  X(SECONDS, lease_ms, lease_s, ALL, "30", SCOPE,                                                                      \
    "seconds without a sign of life after which a run without an owner is over")                                       \
  X(SECONDS, crash_ms, crash_s, ALL, "30", SCOPE, "an unclean end less than this ago is crash_recovery")               \
  X(SECONDS, short_break_ms, short_break_s, ALL, "3600", SCOPE, "away for less than this is short_break")              \
  X(SECONDS, checkpoint_ms, checkpoint_s, ALL, "300", SCOPE, "seconds between checkpoints of a changing session")      \
  X(INT, checkpoint_notes, checkpoint_notes, ALL, "10", SCOPE, "notes after which a checkpoint is made")               \
  X(SECONDS, idle_ms, idle_s, ALL, "60", SCOPE, "quiet seconds after which a session is idle")                         \
  X(SECONDS, abandon_ms, abandon_s, ALL, "3600", SCOPE, "quiet seconds after which a session is abandoned")            \
  X(WORD, abandon, abandon, WORDS(abandon_words, 0), "channel", SCOPE, "which sessions are ever abandoned")            \
  X(DAYS, lookback_ms, lookback_days, ALL, "7", SCOPE, "how far back restoration looks")                               \
  X(REAL, relevance_threshold, relevance_threshold, ALL, "0.25", SCOPE,                                                \
    "score from which an earlier session is restored")                                                                 \
  X(REAL, pin_threshold, pin_threshold, ALL, "0.4", SCOPE, "score from which its pins are inherited")                  \
  X(INT, max_sessions, max_sessions, ALL, "3", SCOPE, "sessions that contribute at most")                              \
  X(INT, max_inherited_pins, max_inherited_pins, ALL, "5", SCOPE, "pins inherited at most")                            \
  X(DAYS, critical_ms, critical_days, ALL, "7", SCOPE, "how long critical pins are inherited from any session")        \
  X(REAL, decay_rate, decay_rate, ALL, "0.4", SCOPE, "confidence lost over the lookback")                              \
  X(REAL, decay_floor, decay_floor, ALL, "0.3", SCOPE, "confidence never falls below this share")                      \
  X(BOOL, per_channel, per_channel, ALL, "false", SCOPE, "continuity inside one channel only")                         \
  X(SIZE, keep_snapshots, keep_snapshots, ALL, "10", SCOPE, "newest snapshots kept per session")                       \
  X(BOOL, snapshot_on_exit, snapshot_on_exit, ALL, "true", SCOPE, "a snapshot when a run ends")                        \
  X(DAYS, archive_ms, archive_days, ALL, "30", SCOPE, "days after its end a record moves to cold storage")             \
  X(SECONDS, reconnect_ms, reconnect_s, FROM(0, MONTH_S), "120", SCOPE_SERVER,                                         \
    "seconds a lost agent may take to come back")                                                                      \
  X(SECONDS, evict_ms, evict_s, FROM(0, MONTH_S), "300", SCOPE_SERVER,                                                 \
    "seconds before a session whose agent failed is put in the trash; 0: never")                                       \
  X(SECONDS, leave_ms, leave_s, FROM(0, MONTH_S), "5", SCOPE_SERVER,                                                   \
    "seconds after leaving a channel before its session is closed")                                                    \
  X(SIZE, brief_bytes, brief_bytes, FROM(0, 8192), "1500", SCOPE,                                                      \
    "size of the brief at most; of a robot's, where it is not set, 8192")                                              \
  X(SIZE, body_bytes, body_bytes, ALL, "1048576", SCOPE, "size of one event's body at most")                           \
  X(BOOL, redact, redact, ALL, "true", SCOPE, "mask credentials before anything is stored")                            \
  X(BOOL, remote, remote, ALL, "false", SCOPE_SERVER, "records may leave the machine")                                 \
  X(TEXT, redact_patterns, redact_patterns, ALL, "", GLOBAL,                                                           \
    "file of further patterns to mask, one expression per line")                                                       \
  X(BOOL, mirror, mirror, ALL, "true", SCOPE, "write the record of an ended session as a JSON file too")               \
  X(TEXT, mirror_dir, mirror_dir, ALL, "", SCOPE, "where those files go (default: sessions/ beside the database)")     \
  X(TEXT, session_file, session_file, ALL, "", SCOPE, "keep this file as a live mirror (session.json of a robot)")     \
  X(TEXT, store_file, store_file, ALL, "", SCOPE,                                                                      \
    "keep this file as a live mirror of all sessions, tokens included (session-store.json of Clawd)")                  \
  X(REAL, budget_usd, budget_usd, ALL, "0", SCOPE, "cost of one session at most; 0: no budget")                        \
  X(REAL, budget_tokens, budget_tokens, ALL, "0", SCOPE, "tokens of one session at most, in and out; 0: no budget")    \
  X(REAL, budget_warn, budget_warn, ALL, "0.8", SCOPE, "share of a budget from which a warning is given")              \
  X(DAYS, retain_ms, retain_days, ALL, "0", SCOPE, "days after its end a session goes to the trash; 0: never")         \
  X(DAYS, trash_ms, trash_days, ALL, "7", SCOPE, "days in the trash before a session is deleted for good")             \
  X(BYTES, disk_budget, disk_budget, ALL, "", SCOPE,                                                                   \
    "size of the database above which the oldest ended sessions go (512M, 2G)")                                        \
  X(TEXT, emotions_file, emotions_file, ALL, "", SCOPE, "table of emotion events")                                     \
  X(TEXT, cues_file, cues_file, ALL, "", SCOPE, "further words that the digest of a session goes by")                  \
  X(TEXT, key_file, key_file, ALL, "", SCOPE, "seals the scope with the key in this file")                             \
  X(TEXT, allowed_origins, allowed_origins, ALL, "", SCOPE_SERVER, "further origins the server accepts")               \
  X(TEXT, allowed_hosts, allowed_hosts, ALL, "", SCOPE_SERVER, "further host names the server accepts")                \
  X(TEXT, listen, listen, ALL, "127.0.0.1:7377", GLOBAL_SERVER,                                                        \
    "addresses the server listens on, separated by commas")                                                            \
  X(INT, http_threads, http_threads, FROM(0, 256), "0", GLOBAL_SERVER,                                                 \
    "threads that read requests; 0: as many as there are cores, at most 8")                                            \
  X(INT, max_connections, max_connections, FROM(1, 1000000), "12000", GLOBAL_SERVER,                                   \
    "connections at the same time at most")                                                                            \
  X(INT, max_per_address, max_per_address, FROM(0, 1000000), "0", GLOBAL_SERVER,                                       \
    "connections of one address at most; 0: no bound on loopback, 256 elsewhere")                                      \
  X(SIZE, max_request_bytes, max_request_bytes, FROM(1024, GIB), "16777216", GLOBAL_SERVER,                            \
    "size of a request's body at most")                                                                                \
  X(REAL, client_rate, client_rate, FROM(0, 1e9), "0", GLOBAL_SERVER,                                                  \
    "requests per second and client before 429; 0: no limit")                                                          \
  X(INT, idle_connection_s, idle_connection_s, FROM(1, MONTH_S), "60", GLOBAL_SERVER,                                  \
    "quiet seconds after which a connection is closed")                                                                \
  X(INT, request_s, request_s, FROM(1, MONTH_S), "30", GLOBAL_SERVER,                                                  \
    "seconds a client may take to send a request's head; its body may take four times as long")                        \
  X(SIZE, queue_bytes, queue_bytes, FROM(4096, GIB), "1048576", GLOBAL_SERVER,                                         \
    "bytes waiting for one slow reader before it is held back")                                                        \
  X(SECONDS, stall_ms, stall_s, FROM(0.1, MONTH_S), "30", GLOBAL_SERVER,                                               \
    "seconds a reader may take nothing before it is cut off")                                                          \
  X(SECONDS, stop_ms, stop_s, FROM(1, 3600), "25", GLOBAL_SERVER,                                                      \
    "seconds the server may take to stop; whatever still runs then is cut off")                                        \
  X(TEXT, internal_secret_file, internal_secret_file, ALL, "", GLOBAL_SERVER,                                          \
    "holds the secret of the agents' socket (default: internal-secret beside the database)")                           \
  X(TEXT, trusted_proxies, trusted_proxies, ALL, "", GLOBAL_SERVER,                                                    \
    "addresses whose X-Forwarded-For and X-Forwarded-Proto are believed")                                              \
  X(WORD, local, local, WORDS(local_words, 0), "any", GLOBAL_SERVER,                                                   \
    "who needs no token on this machine: any user, or the server's own and root alone (uid)")                          \
  X(SIZE, spill_bytes, spill_bytes, FROM(0, GIB), "16777216", GLOBAL_SERVER,                                           \
    "events kept in memory while the store is away")

/* The values that hold in a scope. Texts are never NULL. */
struct rp__scope_config {
#define X(type, member, name, bounds, value, place, help) RP_OPTION_MEMBER_##type member;
  RP_CONFIG_OPTIONS(X)
#undef X
  bool template_given; /* the template was chosen, and is not the default */
  bool brief_bytes_given;
};

enum {
  RP_CONFIG_N = 0
#define X(...) +1
  RP_CONFIG_OPTIONS(X)
#undef X
};
extern const struct rp__option rp__config_options[RP_CONFIG_N];

/* The row of that name, or NULL. */
const struct rp__option *rp__config_option(const char *name);

#endif
