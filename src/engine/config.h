/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: one table of options (config.c), an INI file with [scope NAME] overrides, REPRISE_<KEY> variables. */
#ifndef RP_ENGINE_CONFIG_H
#define RP_ENGINE_CONFIG_H

#include "json/json.h"

/* Name, type, default, what it is. Types: bool, num, text, word:choices. */
#define RP_CONFIG_TABLE(X)                                                                                             \
  X(ENABLED, enabled, "bool", "true", "whether Reprise does anything in this scope")                                   \
  X(TEMPLATE, template, "word:coder|robot", "coder", "form of the brief")                                              \
  X(DURABILITY, durability, "word:os|disk", "disk", "of an append that does not say")                                  \
  X(HEARTBEAT_S, heartbeat_s, "num", "10", "seconds between heartbeats that are written")                              \
  X(SAVE_S, save_s, "num", "30", "seconds between saves that are made")                                                \
  X(LEASE_S, lease_s, "num", "30", "seconds without a sign of life after which a run without an owner is over")        \
  X(CRASH_S, crash_s, "num", "30", "an unclean end less than this ago is crash_recovery")                              \
  X(SHORT_BREAK_S, short_break_s, "num", "3600", "away for less than this is short_break")                             \
  X(CHECKPOINT_S, checkpoint_s, "num", "300", "seconds between checkpoints of a changing session")                     \
  X(CHECKPOINT_NOTES, checkpoint_notes, "num", "10", "notes after which a checkpoint is made")                         \
  X(IDLE_S, idle_s, "num", "60", "quiet seconds after which a session is idle")                                        \
  X(ABANDON_S, abandon_s, "num", "3600", "quiet seconds after which a session is abandoned")                           \
  X(ABANDON, abandon, "word:channel|always|never", "channel", "which sessions are ever abandoned")                     \
  X(LOOKBACK_DAYS, lookback_days, "num", "7", "how far back restoration looks")                                        \
  X(RELEVANCE_THRESHOLD, relevance_threshold, "num", "0.25", "score from which an earlier session is restored")        \
  X(PIN_THRESHOLD, pin_threshold, "num", "0.4", "score from which its pins are inherited")                             \
  X(MAX_SESSIONS, max_sessions, "num", "3", "sessions that contribute at most")                                        \
  X(MAX_INHERITED_PINS, max_inherited_pins, "num", "5", "pins inherited at most")                                      \
  X(CRITICAL_DAYS, critical_days, "num", "7", "how long critical pins are inherited from any session")                 \
  X(DECAY_RATE, decay_rate, "num", "0.4", "confidence lost over the lookback")                                         \
  X(DECAY_FLOOR, decay_floor, "num", "0.3", "confidence never falls below this share")                                 \
  X(PER_CHANNEL, per_channel, "bool", "false", "continuity inside one channel only")                                   \
  X(KEEP_SNAPSHOTS, keep_snapshots, "num", "10", "newest snapshots kept per session")                                  \
  X(SNAPSHOT_ON_EXIT, snapshot_on_exit, "bool", "true", "a snapshot when a run ends")                                  \
  X(ARCHIVE_DAYS, archive_days, "num", "30", "days after its end a record moves to cold storage")                      \
  X(RECONNECT_S, reconnect_s, "num", "120", "seconds a lost agent may take to come back")                              \
  X(EVICT_S, evict_s, "num", "300", "seconds before a session whose agent failed is put in the trash; 0: never")       \
  X(LEAVE_S, leave_s, "num", "5", "seconds after leaving a channel before its session is closed")                      \
  X(BRIEF_BYTES, brief_bytes, "num", "8192", "size of the brief at most")                                              \
  X(BODY_BYTES, body_bytes, "num", "1048576", "size of one event's body at most")                                      \
  X(REDACT, redact, "bool", "true", "mask credentials before anything is stored")                                      \
  X(REMOTE, remote, "bool", "false", "records may leave the machine")                                                  \
  X(REDACT_PATTERNS, redact_patterns, "text", "", "file of further patterns to mask, one expression per line")         \
  X(MIRROR, mirror, "bool", "true", "write the record of an ended session as a JSON file too")                         \
  X(MIRROR_DIR, mirror_dir, "text", "", "where those files go (default: sessions/ beside the database)")               \
  X(SESSION_FILE, session_file, "text", "", "keep this file as a live mirror (session.json of a robot)")               \
  X(STORE_FILE, store_file, "text", "",                                                                                \
    "keep this file as a live mirror of all sessions, tokens included (session-store.json of Clawd)")                  \
  X(BUDGET_USD, budget_usd, "num", "0", "cost of one session at most; 0: no budget")                                   \
  X(BUDGET_TOKENS, budget_tokens, "num", "0", "tokens of one session at most, in and out; 0: no budget")               \
  X(BUDGET_WARN, budget_warn, "num", "0.8", "share of a budget from which a warning is given")                         \
  X(RETAIN_DAYS, retain_days, "num", "0", "days after its end a session goes to the trash; 0: never")                  \
  X(TRASH_DAYS, trash_days, "num", "7", "days in the trash before a session is deleted for good")                      \
  X(DISK_BUDGET, disk_budget, "text", "", "size of the database above which the oldest ended sessions go (512M, 2G)")  \
  X(EMOTIONS_FILE, emotions_file, "text", "", "table of emotion events")                                               \
  X(KEY_FILE, key_file, "text", "", "seals the scope with the key in this file")                                       \
  X(ALLOWED_ORIGINS, allowed_origins, "text", "", "further origins the server accepts")                                \
  X(ALLOWED_HOSTS, allowed_hosts, "text", "", "further host names the server accepts")                                 \
  X(LISTEN, listen, "text", "127.0.0.1:7377", "addresses the server listens on, separated by commas")                  \
  X(HTTP_THREADS, http_threads, "num", "0", "threads that read requests; 0: as many as there are cores, at most 8")    \
  X(MAX_CONNECTIONS, max_connections, "num", "12000", "connections at the same time at most")                          \
  X(MAX_PER_ADDRESS, max_per_address, "num", "0",                                                                      \
    "connections of one address at most; 0: no bound on loopback, 256 elsewhere")                                      \
  X(MAX_REQUEST_BYTES, max_request_bytes, "num", "16777216", "size of a request's body at most")                       \
  X(CLIENT_RATE, client_rate, "num", "0", "requests per second and client before 429; 0: no limit")                    \
  X(IDLE_CONNECTION_S, idle_connection_s, "num", "60", "quiet seconds after which a connection is closed")             \
  X(REQUEST_S, request_s, "num", "30",                                                                                 \
    "seconds a client may take to send a request's head; its body may take four times as long")                        \
  X(QUEUE_BYTES, queue_bytes, "num", "1048576", "bytes waiting for one slow reader before it is held back")            \
  X(STALL_S, stall_s, "num", "30", "seconds a reader may take nothing before it is cut off")                           \
  X(STOP_S, stop_s, "num", "25", "seconds the server may take to stop; whatever still runs then is cut off")           \
  X(INTERNAL_SECRET_FILE, internal_secret_file, "text", "",                                                            \
    "holds the secret of the agents' socket (default: internal-secret beside the database)")                           \
  X(TRUSTED_PROXIES, trusted_proxies, "text", "",                                                                      \
    "addresses whose X-Forwarded-For and X-Forwarded-Proto are believed")                                              \
  X(LOCAL, local, "word:any|uid", "any",                                                                               \
    "who needs no token on this machine: any user, or the server's own and root alone (uid)")                          \
  X(SPILL_BYTES, spill_bytes, "num", "16777216", "events kept in memory while the store is away")

enum rp__option {
#define X(symbol, name, type, def, help) RP_OPT_##symbol,
  RP_CONFIG_TABLE(X)
#undef X
      RP_OPT_MAX
};

struct rp__config;

/* Reads `path` (NULL: $REPRISE_CONFIG, else `<home>/reprise.ini` if there is one), then the environment. */
int rp__config_load(const char *path, struct rp__config **ret, rp_error *err);
void rp__config_free(struct rp__config *c);

/* The option of that name; false when there is none. */
bool rp__config_find(const char *name, enum rp__option *ret);
/* The value in a scope (NULL: outside any). Text is borrowed. */
/* Whether somebody chose a value. */
bool rp__config_given(const struct rp__config *c, const char *scope, enum rp__option o);
const char *rp__config_text(const struct rp__config *c, const char *scope, enum rp__option o);
double rp__config_num(const struct rp__config *c, const char *scope, enum rp__option o);
bool rp__config_bool(const struct rp__config *c, const char *scope, enum rp__option o);
static inline int64_t rp__config_ms(const struct rp__config *c, const char *scope, enum rp__option o)
{
  return (int64_t)(rp__config_num(c, scope, o) * 1000.0);
}
/* A file of every option, commented out, each below what it means. */
void rp__config_sample(struct rp__buf *out);
/* Whether anybody, in any scope, gave the option a value that is not empty. */
bool rp__config_set(const struct rp__config *c, enum rp__option o);
/* The value at place `i` among those given to the option, in whichever scope; NULL after the last. Borrowed. */
const char *rp__config_each(const struct rp__config *c, enum rp__option o, size_t i);
/* {"file":…,"options":[{"name","value","source","help"}]} */
void rp__config_show(const struct rp__config *c, const char *scope, struct rp__jw *w);

#endif
