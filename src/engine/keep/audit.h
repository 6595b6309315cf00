/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the audit log. A record is an op of the transaction that makes the recorded change. The note holds the
 * bytes that the op points to, and lives until the commit is over.
 */
#ifndef RP_ENGINE_AUDIT_H
#define RP_ENGINE_AUDIT_H

#include "engine/engine.h"

#define RP_AUDIT_FIELDS_MAX (64 * 1024)

struct rp__audit_note {
  struct rp__buf fields, sealed;
  struct rp__jw w;       /* writes into fields; an object is open */
  unsigned char key[32]; /* of the chain, in a sealed scope */
};

/* Begins the fields: write members with rp__jw_k…(&note->w, …), then make the op. */
void rp__audit_begin(struct rp__audit_note *note);
/* Operations were committed: counts the records among them. */
void rp__audit_count(rp_engine *e, const struct rp__op *ops, size_t n);
/* Ends the object and fills *ret. `scope` and `event` are borrowed until the commit. */
RP_MUST_USE int rp__audit_op(rp_engine *e, const char *scope, const char *event, struct rp__audit_note *note,
                             struct rp__op *ret, rp_error *err);
/* The same for whoever has the scope's key. */
RP_MUST_USE int rp__audit_op_with(rp_engine *e, const char *scope, const struct rp__key *key, const char *event,
                                  struct rp__audit_note *note, struct rp__op *ret, rp_error *err);
void rp__audit_done(struct rp__audit_note *note);

/* A record on its own, for what has no transaction. A failure is logged too. */
int rp__audit_write(rp_engine *e, const char *scope, const char *event, struct rp__audit_note *note);

/* The scope given, or (NULL) all there are, for work that calls back in between. */
struct rp__scope_names {
  char (*p)[RP_NAME];
  size_t n, cap;
};
RP_MUST_USE int rp__scope_names(rp_engine *e, const char *scope, struct rp__scope_names *ret, rp_error *err);
void rp__scope_names_done(struct rp__scope_names *v);

/* Tells what is wrong with the chains of all scopes and their heads; a note: what could not be checked. */
typedef int rp__audit_finding_fn(void *ctx, const char *what, bool note);
RP_MUST_USE int rp__audit_findings(rp_engine *e, rp__audit_finding_fn *fn, void *ctx, rp_error *err);

/*
 * Failures that can't be recorded, because the full disk that caused them holds the log too (O-07). They are kept in
 * the page of `<db>.runs` that all processes map and whose disk block exists already, until a process can write them
 * down.
 */

/* Remembers that a snapshot failed. With no place left, or a store without such a page, it is only logged. */
void rp__unsaid_keep(rp_session *s, const char *reason, int code);
/* Writes down what is remembered, by whomever; what still can't be stays. */
void rp__unsaid_tell(rp_engine *e);

#endif
