/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials in text: finding them, and masking them before anything is stored.
 *
 * Patterns are a table (pattern.c): a name, the literals for the cheap prefilter, and a PCRE2 expression whose group
 * `secret` is masked, so that key names stay. Expressions are compiled when the prefilter first finds something: text
 * without a literal costs one pass over its bytes, and a program that never meets one compiles nothing.
 *
 * The functions take decoded text; core/mask.h handles JSON bodies.
 */
#ifndef RP_REDACT_H
#define RP_REDACT_H

#include <reprise/error.h>
#include <stdbool.h>

#include "base/buf.h"

#define RP_MASK "[REDACTED]"
#define RP_REDACT_TAIL_MAX 16384 /* bytes of an undecided tail at most (a PEM block) */

/* The compiled patterns: one per engine, used by any number of threads. */
struct rp__redactor;

/* `own` are a user's patterns, one PCRE2 expression per line (# comments), or NULL. RP_E_CONFIG names the line. */
RP_MUST_USE int rp__redactor_new(const char *own, struct rp__redactor **ret, rp_error *err);
void rp__redactor_free(struct rp__redactor *r);

/* A finding: bytes [start, end) of the text are a secret of the kind `name` (a static string). */
struct rp__secret {
  size_t start, end;
  const char *name;
};
typedef int rp__secret_fn(void *ctx, const struct rp__secret *s);

/* Whether the prefilter sees anything worth a closer look: no allocation, one pass. */
bool rp__redact_suspects(const struct rp__redactor *r, const char *text, size_t n);

/* The same for JSON that was not decoded (no \u and no \/ in it): also says yes where only a name would be of interest.
 */
bool rp__redact_glance(const struct rp__redactor *r, const char *bytes, size_t n);

/* The secrets of a text in order, not overlapping. 0, RP_E_NOMEM, or what the callback returned. Fails closed: where
 * the matcher gives up (its limits), the suspicious run is reported as a secret. */
int rp__redact_find(const struct rp__redactor *r, const char *text, size_t n, rp__secret_fn *fn, void *ctx);

/* Appends the text with its secrets masked. *ret_hits (may be NULL): how many. */
int rp__redact_text(const struct rp__redactor *r, const char *text, size_t n, struct rp__buf *out, size_t *ret_hits);

/* Whether a member of that name holds a credential, whatever its value ("password", "api_key", "x-internal-secret"). */
bool rp__redact_key_name(const char *name, size_t n);

/*
 * Where the undecided tail of a text begins: everything from there on may be the beginning of a secret that the next
 * chunk completes ("sk-ant-ab", "password=hun", "-----BEGIN RSA PRIV"). n when nothing is open.
 */
size_t rp__redact_tail(const struct rp__redactor *r, const char *text, size_t n);

#endif
