/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folded state of one session: all facets at one seq.
 *
 * The event `restored {to_seq}` (time travel) makes the state what it was at to_seq. A
 * fold does not have that state, so rp__fold_apply returns RP__FOLD_REWIND; the caller,
 * who can read the journal, then builds the state at to_seq and calls rp__fold_adopt.
 * Lasting facets keep the state that they had before the event.
 */
#ifndef RP_CORE_FOLD_H
#define RP_CORE_FOLD_H

#include "core/facet.h"

struct rp__fold;

#define RP__FOLD_REWIND 1
#define RP_FOLD_VERSION 1 /* of the saved form */

int rp__fold_new(const struct rp__facet_table *t, struct rp__fold **ret);
void rp__fold_free(struct rp__fold *f);
static inline void rp__fold_freep(struct rp__fold **f)
{
  rp__fold_free(*f);
}
#define RP_AUTOFOLD RP_CLEANUP(rp__fold_freep)

int64_t rp__fold_seq(const struct rp__fold *f);   /* of the last event applied; 0 at first */
int64_t rp__fold_at_ms(const struct rp__fold *f); /* time of that event */

/*
 * Applies the event with seq = fold's seq + 1. 0; RP__FOLD_REWIND with *ret_to
 * (nothing was applied: adopt, or give up); RP_E_NOMEM: the fold is spoiled, free it.
 * RP_E_CORRUPT: the seq is not the next one.
 */
int rp__fold_apply(struct rp__fold *f, const struct rp__event *ev, int64_t *ret_to);

/*
 * Passes over an event that can't be read. The state is then not what the journal said; the fold remembers which was
 * the first such event, for whoever shows or keeps it. RP_E_CORRUPT as above.
 */
int rp__fold_skip(struct rp__fold *f, const struct rp__event *ev);
int64_t rp__fold_gap(const struct rp__fold *f); /* the seq of that event; 0: none */
/* An event that can't be read may have decided which events count. */
void rp__fold_note_gap(struct rp__fold *f, int64_t seq);

/* Takes over the facets of `past` (which is freed), but for lasting ones, and stands at the seq of `ev`. */
void rp__fold_adopt(struct rp__fold *f, struct rp__fold *past, const struct rp__event *ev);
/* Applies an event to the lasting facets alone, whatever its seq; time travel too. 0 or RP_E_NOMEM. */
int rp__fold_apply_lasting(struct rp__fold *f, const struct rp__event *ev);
/* Exchanges the lasting facets of the two. */
void rp__fold_swap_lasting(struct rp__fold *f, struct rp__fold *other);

/* The content of a snapshot: {"version":1,"seq":…,"at_ms":…,"facets":{…}}. Only facets with something to say. */
void rp__fold_save(const struct rp__fold *f, struct rp__jw *w);
/*
 * Facets unknown to this version are kept out; damage is RP_E_SNAPSHOT_CORRUPT.
 * Whatever the fold held before is gone; after a failure only free it or load again.
 */
RP_MUST_USE int rp__fold_load(struct rp__fold *f, struct rp__json doc, rp_error *err);
/*
 * Members of the state document (conversation, tools, …), written into an open object. The part called `own` (NULL:
 * none) is written by `write`, where it has something to say.
 */
typedef void rp__show_fn(const struct rp__fold *f, const void *ctx, struct rp__jw *w);
void rp__fold_show(const struct rp__fold *f, const char *own, rp__show_fn *write, const void *ctx, int64_t now_ms,
                   struct rp__jw *w);
/* The saved form of one facet as a value; null when it has nothing to say. */
void rp__fold_save_one(const struct rp__fold *f, const char *name, struct rp__jw *w);
/* Whether the named facet is in the fold's table and not empty. */
bool rp__fold_has(const struct rp__fold *f, const char *name);
/* The state of the named facet, or NULL: for callers that know its type. */
const void *rp__fold_facet(const struct rp__fold *f, const char *name);

#endif
