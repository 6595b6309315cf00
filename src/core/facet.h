/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A facet is a pure reducer: events in, one part of the session's state out.
 * To add one: a file in src/facets/ with its rp__facet_ops, and a row in
 * facets/table.c. The law (tested at every cut of random journals): replaying
 * everything equals loading any snapshot and replaying the tail.
 *
 * Facets touch no file, clock or environment, and never fail but for memory.
 */
#ifndef RP_CORE_FACET_H
#define RP_CORE_FACET_H

#include "core/event.h"

struct rp__facet_ops {
  const char *name;  /* the key in snapshots and in the state document */
  size_t state_size; /* bytes of the state, zeroed before init */
  size_t max_bytes;  /* the facet keeps its saved form within this, dropping its oldest parts */

  bool lasting; /* time travel takes nothing of it back: it is made of all events, also of those turned away from */

  const void *data;                                           /* for slots that several facets share */
  void (*init)(const struct rp__facet_ops *ops, void *state); /* NULL: zeroes are right */
  /* Total and deterministic; kinds it does not know change nothing. 0 or RP_E_NOMEM (state then undefined). */
  int (*apply)(void *state, const struct rp__event *ev);
  /* How long the session was away; called for `restored` before apply. NULL: ages not. */
  int (*age)(void *state, double elapsed_seconds, const struct rp__event *ev);
  bool (*empty)(const void *state);
  /* Has nothing for the state document, though it is not empty. NULL: never. */
  bool (*silent)(const void *state);
  /* Writes one JSON value: the part of a snapshot, exact enough to load. */
  void (*save)(const void *state, struct rp__jw *w);
  /* Writes the part of the state document as of now_ms. NULL: the same as save. */
  void (*show)(const void *state, int64_t now_ms, struct rp__jw *w);
  /* Fills an initialised state from what save wrote. RP_E_SNAPSHOT_CORRUPT names the field. */
  int (*load)(void *state, struct rp__json v, rp_error *err);
  /* The highest seq it refers to; a snapshot in which that is ahead of the fold is damaged. NULL: refers to none. */
  int64_t (*newest)(const void *state);
  void (*done)(void *state); /* frees what the state holds */
};

/* A set of facets, in the order of documents. facets/table.c has the product's. */
struct rp__facet_table {
  const struct rp__facet_ops *const *ops;
  size_t n;
};

#endif
