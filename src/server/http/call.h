/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request on its way through a route: its row in the table, its caller, its
 * parameters, and the answer that grows. A handler returns 0 with the answer in `out`
 * (JSON unless `type` says otherwise), a negative code with `err` filled, or one of the
 * two constants below.
 */
#ifndef RP_SERVER_CALL_H
#define RP_SERVER_CALL_H

#include "json/json.h"
#include "net/http.h"
#include "net/uri.h"
#include "server/http/auth.h"
#include "server/pool.h"
#include "server/registry.h"

#define RP_CALL_PARAMS 2                   /* variable segments of a path */
#define RP_CALL_OUT_MAX (64 * 1024 * 1024) /* bytes of one answer */
#define RP_CALL_TEXT 1024                  /* bytes of one query parameter */

enum {
  RP_CALL_LATER = 1, /* somebody will call rp__call_finish */
  RP_CALL_TAKEN = 2, /* the socket left HTTP by rp__request_take; for routes with RP_ROUTE_TAKES */
};

struct rp__server;
struct rp__route;

struct rp__http_call {
  struct rp__task task; /* in the pool */
  struct rp__server *srv;
  struct rp__request *req;
  const struct rp__route *route;
  struct rp__identity who;
  char param[RP_CALL_PARAMS][RP_ID_MAX + 1]; /* of ":id", decoded and checked */
  struct rp__entry *entry;                   /* of the session that :id names, where the route wants one */
  struct rp__json body;                      /* of a route that wants JSON; RP_JSON_NONE when there was none */
  struct rp__buf out;
  struct rp__jw w; /* writes to out */
  int status;      /* 200 unless set */
  const char *type;
  int file;                 /* the answer, instead of `out`, in a file without a name; < 0: none */
  size_t file_bytes;        /* of it */
  struct rp__header header; /* one more, of static strings or `header_text` */
  char header_text[RP_ID_MAX + 32];
  void *later; /* whatever a handler keeps until it finishes */
};

static inline rp_session *rp__call_session(const struct rp__http_call *c)
{
  return c->entry->s;
}

/* ---- query parameters, by name; absent ones leave *ret as it was ---- */

/*
 * The scope that a name of a session is looked up in: the query's, or else that of a token bound to one; empty: all.
 * Whether the asker may is asked of the session that is found.
 */
RP_MUST_USE int rp__call_scope(struct rp__http_call *c, char ret[RP_ID_MAX + 1], rp_error *err);
RP_MUST_USE int rp__call_text(struct rp__http_call *c, const char *name, char *ret, size_t size, rp_error *err);
RP_MUST_USE int rp__call_i64(struct rp__http_call *c, const char *name, int64_t min, int64_t max, int64_t *ret,
                             rp_error *err);
RP_MUST_USE int rp__call_bool(struct rp__http_call *c, const char *name, bool *ret,
                              rp_error *err); /* 1, true, 0, false, nothing: true */
RP_MUST_USE int rp__call_double(struct rp__http_call *c, const char *name, double min, double max, double *ret,
                                rp_error *err);
RP_MUST_USE int rp__call_time(struct rp__http_call *c, const char *name, int64_t *ret_ms, rp_error *err); /* ISO 8601 */
RP_MUST_USE int rp__call_since(struct rp__http_call *c, const char *name, int64_t *ret_ms,
                               rp_error *err); /* ISO, or "2h" ago */

/* ---- members of the JSON body; a wrong type is RP_E_INVALID naming the field ---- */

/* A decoded copy in *ret (freed by the caller), NULL when absent or null. */
RP_MUST_USE int rp__body_text(struct rp__json body, const char *name, char **ret, rp_error *err);
RP_MUST_USE int rp__body_i64(struct rp__json body, const char *name, int64_t *ret, rp_error *err);
RP_MUST_USE int rp__body_bool(struct rp__json body, const char *name, bool *ret, rp_error *err);
RP_MUST_USE int rp__body_double(struct rp__json body, const char *name, double *ret, rp_error *err);
/* Refuses members that are not in the list (ends with NULL), with a suggestion. */
RP_MUST_USE int rp__body_known(struct rp__json body, const char *const *names, rp_error *err);

/* ---- answering ---- */

/* Deferred calls: answers with `out`, or, with rc, with the error; frees `c`. Any thread. */
void rp__call_finish(struct rp__http_call *c, int rc, const rp_error *err);
/*
 * The call becomes a WebSocket, with a subprotocol or NULL: RP_CALL_TAKEN, or the error. `fn` gets the connection in
 * the loop, and owns it; `head` is the rest of the handshake. Where the loop has ended it is closed.
 */
typedef void rp__upgrade_fn(struct rp__server *srv, const struct rp__identity *who, int fd, struct rp__str head);
RP_MUST_USE int rp__call_upgrade(struct rp__http_call *c, const char *protocol, rp__upgrade_fn *fn, rp_error *err);

/* The problem document (RFC 9457) of an error, and the answer around it, Retry-After and all. */
void rp__problem_write(const rp_error *err, struct rp__buf *out);
/* The message as it may leave the machine: without the paths of files. Never empty. */
#define RP_PROBLEM_TEXT (sizeof(((rp_error *)0)->message) + 64)
void rp__problem_text(const rp_error *err, char ret[RP_PROBLEM_TEXT]);
void rp__problem_answer(struct rp__server *srv, struct rp__request *r, const rp_error *err);

#endif
