/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a session out of existing events (fork, import). The events are written page by
 * page into a hidden session, which is shown when it is complete and deleted when the
 * copy fails.
 */
#ifndef RP_ENGINE_COPY_H
#define RP_ENGINE_COPY_H

#include "engine/journal/blob.h"

struct rp__copy {
  rp_engine *e;
  rp_session *s;        /* on the hidden session */
  int64_t slot;         /* held while we are at it */
  struct rp__buf bytes; /* of the page's bodies */
  struct rp__new_event events[RP_PAGE_EVENTS];
  char kinds[RP_PAGE_EVENTS][RP_NAME];
  size_t n;
  int64_t written, last_at;
  struct rp__copy_word *words; /* what the scope learns from it, with the transaction that shows it */
  size_t n_words, cap_words;
  struct rp__scope_row past; /* what the scope comes to be with it: starts and robot count */
};

/* `row` describes the session to be; its status, times and counters are set when it is shown. RP_E_EXISTS. */
RP_MUST_USE int rp__copy_begin(rp_engine *e, const struct rp__session_row *row, struct rp__copy **ret, rp_error *err);
/* Adds the next event; seq must follow. The body was checked. */
RP_MUST_USE int rp__copy_event(struct rp__copy *c, int64_t seq, int64_t at_ms, const char *kind, const char *body,
                               size_t n, rp_error *err);
/* The undecided ends of the last chunks, sealed anew, where `from` still has them and their key. */
RP_MUST_USE int rp__copy_tails(struct rp__copy *c, rp_session *from, rp_error *err);
/* Adds a blob, under the id that events name it by. Its bytes were masked. */
RP_MUST_USE int rp__copy_blob(struct rp__copy *c, const struct rp__blob_new *b, rp_error *err);
/*
 * For events that this store has not seen before (import, not fork): the scope's words on tasks, its memories. They
 * are stored when the session is shown, not before: a copy that is cut off leaves nothing of them.
 */
RP_MUST_USE int rp__copy_derive(struct rp__copy *c, rp_error *err);
/*
 * Writes the rest and shows the session with the status, times and marks of `row`, with a first checkpoint. `request`
 * (or NULL) is noted with it: RP_E_FENCED when another one was faster.
 */
RP_MUST_USE int rp__copy_finish(struct rp__copy *c, const struct rp__session_row *row,
                                const struct rp__request_row *request, rp_error *err);
/*
 * Takes away what a copy of that id left behind that was cut off. RP_E_EXISTS: somebody is still copying into it. None
 * is fine.
 */
RP_MUST_USE int rp__copy_clear(rp_engine *e, const char *id, rp_error *err);
/* The same for every copy that was cut off, of which `fn` (or NULL) is told; only told when `look`. */
typedef int rp__copy_fn(void *ctx, const char *id);
RP_MUST_USE int rp__copy_sweep(rp_engine *e, bool look, rp__copy_fn *fn, void *ctx, rp_error *err);
/* Deletes an unfinished one; frees in any case. */
void rp__copy_free(struct rp__copy *c);

#endif
