/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a session at its end: made from its state, stored in the transaction of the end together
 * with its audit record, mirrored as a file afterwards.
 *
 *   rp__capture_make → rp__capture_ops into the transaction → commit → rp__capture_mirror → rp__capture_done
 */
#ifndef RP_ENGINE_CAPTURE_H
#define RP_ENGINE_CAPTURE_H

#include "engine/keep/audit.h"
#include "engine/journal/open-streams.h"

#define RP_CAPTURE_OPS 2

struct rp__capture {
  struct rp__record_row row;
  struct rp__audit_note note;
  struct rp__op ops[RP_CAPTURE_OPS];
  size_t n; /* ops made; 0: there is nothing to store */
};

/* The topics of the scope's newest records, which say how common a topic is. */
struct rp__tally;
struct rp__tally *rp__tally_new(void); /* freed with free; NULL without memory */
struct rp__read rp__tally_reading(struct rp__tally *t, const char *scope);

/* `end_ms`: when it ended. `words`: what is told in the same transaction, or NULL. Fails for want of memory or a state
 * that can't be read. */
RP_MUST_USE int rp__capture_make(rp_session *s, int64_t end_ms, bool crash_recovered,
                                 const struct rp__last_words *words, struct rp__capture *ret, rp_error *err);
/*
 * Whether what kept the record from being made will pass: then the end waits for it, for a session that ended without
 * its record has lost what it knew. One that can't be read ends without.
 */
static inline bool rp__capture_passes(int rc)
{
  return rc == RP_E_NOMEM || rc == RP_E_BUSY || rc == RP_E_UNREACHABLE;
}
/* Copies the ops behind those of the end; returns how many. */
size_t rp__capture_ops(const struct rp__capture *c, struct rp__op *ops);
/* After the commit: the JSON file. A failure is logged. */
void rp__capture_mirror(rp_session *s, struct rp__capture *c);
void rp__capture_done(struct rp__capture *c);

/*
 * The record as one JSON document: the members of the mirror file. From session_states, the sealed body, or the cold
 * file. RP_E_RECORD_NOT_FOUND.
 */
RP_MUST_USE int rp__record_read(rp_engine *e, const struct rp__session_row *session, struct rp__buf *out,
                                rp_error *err);
/* The key under which a sealed scope hashes its topics and task ids. */
void rp__topic_key(const struct rp__key *key, unsigned char ret[32]);
/* The same document from a row that is not archived, `key` being the scope's … */
RP_MUST_USE int rp__record_text(const struct rp__record_row *row, const struct rp__key *key, struct rp__buf *out,
                                rp_error *err);
/* … or of an open scope. */
int rp__record_write(const struct rp__record_row *row, struct rp__buf *out);

#endif
