/* SPDX-License-Identifier: Apache-2.0 */
/* Ours, through the public API alone. A call that fails ends the program with the library's own words. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "bare.h"
#include "bench.h"

#define BODY_BYTES 1024
#define BODY_POOL 4096 /* different bodies, so that no snapshot compresses better than a conversation would */

/* The i-th body (any i): a message of BODY_BYTES bytes of words. The first call, by one thread, makes them all. */
const char *body_at(int64_t i);
/* The same message for the bare loops. */
struct bare_row row_at(int64_t session, int64_t seq, int64_t i);

void ours_check(int rc, const rp_error *err, const char *what);
/* An engine over the file dir/name with the default configuration. */
rp_engine *ours_open(const struct bench *b, const char *name);
/* Begins or resumes the session with that key as its holder. */
rp_session *ours_start(rp_engine *e, const char *key);
/* Appends the i-th body and waits for it; `key` is an idempotency key or NULL. */
void ours_append(rp_session *s, int64_t i, rp_durability durability, const char *key);
/* Has full text brought up to date by asking it something; how long that took (ns). */
double ours_index(rp_engine *e);
/* Makes a session of `n` messages that was checkpointed `tail` messages before its end, and lets go of it. */
void ours_build(const struct bench *b, const char *name, const char *key, int64_t n, int64_t tail);
/* The database with a session "big" of that many messages, made when it is first asked for. */
const char *ours_big(const struct bench *b, int64_t n);

/* How many group commits there were, and how many appends in them. */
struct commits {
  int64_t groups, txns;
};
struct commits ours_commits(rp_engine *e);

/* What one resume took in a process of its own. */
struct resume {
  double open_ns, start_ns, state_ns;
  double hwm_kib, rss_kib;
};
struct resume ours_resume(const struct bench *b, const char *name, const char *key);

#endif
