/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the handlers share: checks of rights, acknowledgements, documents. */
#ifndef RP_SERVER_HANDLE_H
#define RP_SERVER_HANDLE_H

#include "server/http/route.h"
#include "server/server.h"

#define RP_HANDLE_PAGE_BYTES (8 * 1024 * 1024) /* of one page of a list; the next page goes on from there */
#define RP_HANDLE_STOP 1000 /* what a callback returns when it has enough: neither a code nor a word of call.h */

/*
 * The scope that a question about no session in particular is about: the query's `scope`, narrowed to what the asker
 * may see; empty: all. RP_E_FORBIDDEN for another one, and for a session's token, which opens that session alone.
 */
RP_MUST_USE int rp__handle_scope(struct rp__http_call *c, char scope[RP_ID_MAX + 1], rp_error *err);
/* The same for a scope that came some other way. */
RP_MUST_USE int rp__handle_narrow(const struct rp__http_call *c, char scope[RP_ID_MAX + 1], rp_error *err);
/* The body must be an object (or nothing, where the route allows that) with no members but these. */
RP_MUST_USE int rp__handle_object(const struct rp__http_call *c, const char *const *names, rp_error *err);

/* Whether an event of that kind is wanted; `kinds` are separated by commas, none or NULL: all. */
bool rp__handle_wants(const char *kinds, const char *kind);
/* The header Idempotency-Key, checked, or NULL in *ret. */
RP_MUST_USE int rp__handle_key(const struct rp__http_call *c, const char **ret, rp_error *err);
/* {"seq","durability"}, of several events with "first_seq". */
void rp__handle_ack(struct rp__jw *w, const rp_ack *ack, bool many);
/* The answer is this document, which the call frees. */
void rp__handle_give(struct rp__http_call *c, char *json, size_t n);

/* PATCH goes the way of an append: the body's bytes become one event of that kind. */
RP_MUST_USE int rp__handle_append_body(struct rp__http_call *c, const char *kind, rp_error *err);

/*
 * Into the trash. Where no process holds the session, it is ended first with the reason `ended`: clients need not close
 * it. RP_E_HELD: a process does.
 */
RP_MUST_USE int rp__trash_session(struct rp__server *srv, struct rp__entry *e, const char *reason, const char *ended,
                                  rp_error *err);

#endif
