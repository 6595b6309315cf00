/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of errors. Return codes of the library, exit codes of the program, HTTP statuses, JSON-RPC codes and
 * the names on the wire all come from this table. New rows go last in their group; numbers are never reused.
 */
#ifndef REPRISE_ERROR_H
#define REPRISE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define RP_API __attribute__((visibility("default")))
/* The compiler warns when the result is ignored, because only the result shows that the function failed. */
#define RP_MUST_USE __attribute__((warn_unused_result))

/* clang-format off */
/*  symbol            code  wire name               http  json-rpc exit retry text */
#define RP_ERROR_TABLE(X)                                                                      \
  X(FAILED,            -1,  "internal",              500, -32603,  1, 0, "internal error")       \
  X(NOMEM,             -2,  "out_of_memory",         503, -32603,  1, 1, "out of memory")        \
  X(FORKED,            -3,  "engine.forked",         500, -32603,  1, 0, "the engine was opened before a fork") \
  X(CANCELLED,         -4,  "cancelled",             503, -32603,  1, 1, "the engine is closing") \
  X(AGENT_DIED,        -5,  "agent.died",            502, -32603,  1, 1, "the agent ended in the middle of a turn") \
  X(USAGE,            -10,  "usage",                 400, -32602,  2, 0, "bad argument")         \
  X(JSON,             -11,  "json.malformed",        400, -32700,  2, 0, "malformed JSON")       \
  X(INVALID,          -12,  "event.invalid",         422, -32602,  2, 0, "invalid event")        \
  X(AMBIGUOUS,        -13,  "session.ambiguous",     400, -32602,  2, 0, "the prefix names several sessions") \
  X(CONFIG,           -14,  "config.invalid",        500, -32603,  2, 0, "bad configuration")    \
  X(FORMAT,           -15,  "import.format",         422, -32602,  2, 0, "not a document of that format") \
  X(METHOD,           -16,  "http.method",           405, -32601,  2, 0, "the route does not take that method") \
  X(MEDIA_TYPE,       -17,  "http.media_type",       415, -32600,  2, 0, "the body is of another type than wanted") \
  X(SESSION_NOT_FOUND, -20, "session.not_found",     404, -32002,  3, 0, "no such session")      \
  X(SNAPSHOT_NOT_FOUND,-21, "snapshot.not_found",    404, -32002,  3, 0, "no such snapshot")     \
  X(SEQ_NOT_FOUND,    -22,  "event.not_found",       404, -32002,  3, 0, "no such event")        \
  X(FILE_NOT_FOUND,   -23,  "file.not_found",        404, -32002,  3, 0, "no such file")         \
  X(MEMORY_NOT_FOUND, -24,  "memory.not_found",      404, -32002,  3, 0, "no such memory")       \
  X(RECORD_NOT_FOUND, -25,  "record.not_found",      404, -32002,  3, 0, "the session has no record") \
  X(TOKEN_NOT_FOUND,  -26,  "token.not_found",       404, -32002,  3, 0, "no such token")        \
  X(ROUTE_NOT_FOUND,  -27,  "http.not_found",        404, -32601,  3, 0, "no such route")        \
  X(BLOB_NOT_FOUND,   -28,  "blob.not_found",        404, -32002,  3, 0, "no such blob")         \
  X(HELD,             -30,  "session.held",          409, -32001,  4, 0, "somebody else holds the session") \
  X(FENCED,           -31,  "session.fenced",        409, -32001,  4, 0, "a newer run holds the session") \
  X(ENDED,            -32,  "session.ended",         409, -32001,  4, 0, "the session has ended") \
  X(SEQ_CONFLICT,     -33,  "event.seq_conflict",    409, -32001,  4, 0, "the journal is at another sequence number") \
  X(CLIENT_GAP,       -34,  "event.client_gap",      409, -32001,  4, 0, "a client's event is missing") \
  X(EXISTS,           -35,  "session.exists",        409, -32001,  4, 0, "the session exists already") \
  X(TRANSITION,       -36,  "session.transition",    409, -32001,  4, 0, "the status can't change that way") \
  X(KEY_REUSED,       -37,  "request.key_reused",    409, -32001,  4, 0, "the idempotency key was used for another request") \
  X(CANNOT_LOAD,      -38,  "agent.cannot_load",     409, -32001,  4, 0, "the agent can't load the session") \
  X(CORRUPT,          -40,  "store.corrupted",       500, -32003,  5, 0, "stored data is damaged") \
  X(SNAPSHOT_CORRUPT, -41,  "snapshot.corrupted",    500, -32003,  5, 0, "the snapshot is damaged") \
  X(FORMAT_CORRUPT,   -42,  "import.corrupted",      422, -32003,  5, 0, "the document is damaged") \
  X(AUDIT_BROKEN,     -43,  "audit.broken",          500, -32003,  5, 0, "the audit log was altered") \
  X(VERSION,          -50,  "store.version",         500, -32004,  6, 0, "the store was made by another version") \
  X(SNAPSHOT_VERSION, -51,  "snapshot.version",      500, -32004,  6, 0, "the snapshot was made by a newer version") \
  X(FORMAT_VERSION,   -52,  "import.version",        422, -32004,  6, 0, "the document was made by a newer version") \
  X(UNREACHABLE,      -60,  "store.unreachable",     503, -32005,  7, 1, "the store can't be reached") \
  X(FULL,             -61,  "store.full",            503, -32005,  7, 1, "no space left for the store") \
  X(BUSY,             -62,  "store.busy",            503, -32005,  7, 1, "the store is busy")    \
  X(READONLY,         -63,  "store.readonly",        503, -32005,  7, 0, "the store can't be written") \
  X(IO,               -64,  "store.io",              503, -32005,  7, 1, "input or output failed") \
  X(NO_STORE,         -65,  "store.not_found",       503, -32005,  7, 0, "there is no store")     \
  X(TOO_LARGE,        -70,  "limit.size",            413, -32602,  8, 0, "over a size limit")    \
  X(LIMIT,            -71,  "limit.count",           429, -32006,  8, 1, "over a limit")         \
  X(REFUSED,          -72,  "refused",               403, -32006,  8, 0, "refused")              \
  X(KEY_MISSING,      -73,  "seal.key_missing",      403, -32006,  8, 0, "the scope is sealed and no key is set") \
  X(KEY_WRONG,        -74,  "seal.key_wrong",        403, -32006,  8, 0, "the key is not the one this was sealed with") \
  X(BUDGET,           -75,  "limit.budget",          429, -32006,  8, 0, "the session's budget is spent") \
  X(ON_HOLD,          -76,  "session.on_hold",       409, -32006,  8, 0, "the session is on hold") \
  X(PINS_FULL,        -77,  "limit.pins",            409, -32006,  8, 0, "all places for pins are taken") \
  X(UNAUTHORIZED,     -78,  "auth.required",         401, -32006,  8, 0, "a valid token is needed") \
  X(FORBIDDEN,        -79,  "auth.forbidden",        403, -32006,  8, 0, "the token does not allow that") \
  X(ORIGIN,           -80,  "auth.origin",           403, -32006,  8, 0, "requests from that origin are not accepted") \
  X(HOST,             -81,  "auth.host",             403, -32006,  8, 0, "the server does not go by that host name")
/* clang-format on */

enum rp_code {
  RP_OK = 0,
#define X(symbol, code, name, http, rpc, exit, retry, text) RP_E_##symbol = (code),
  RP_ERROR_TABLE(X)
#undef X
};

/*
 * An error, for people and programs. A function writes it only when the function fails. It owns no memory. `field`
 * names the part of the input at fault ("body.role"), or is empty.
 */
typedef struct rp_error {
  int code;          /* enum rp_code */
  char message[400]; /* the fault and its cause, one line, no full stop */
  char hint[200];    /* a remedy, or empty */
  char field[80];
} rp_error;

/* A row of the table of errors. */
typedef struct rp_error_info {
  int code;
  const char *name;
  int http, json_rpc, exit_code, retryable;
  const char *text;
} rp_error_info;

/* The row of `code`, or, when there is none, the row of RP_E_FAILED. */
RP_API const rp_error_info *rp_error_lookup(int code);

#ifdef __cplusplus
}
#endif
#endif
