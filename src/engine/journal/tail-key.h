/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key that seals the undecided tails of streams (B-14) in a scope without a key of its own. The key is in the file
 * `<db>.seal`, 0600. It is made when a tail is first sealed, and replaced every day, so that a tail can't be read from
 * a copy of the database, nor from the database itself a day or two later. The file has the current key and the one
 * before; the older key is removed once no undecided tail needs it.
 *
 * The store knows the number of the current key and refuses tails sealed with another one. A process that missed a
 * change of the key is refused once, and then reads the file again.
 */
#ifndef RP_ENGINE_TAIL_KEY_H
#define RP_ENGINE_TAIL_KEY_H

#include <pthread.h>

#include "core/seal.h"

struct rp_engine;

#define RP_TAIL_KEYS 2

struct rp__tail_key_set {
  size_t n; /* 0: not read yet */
  struct rp__key key[RP_TAIL_KEYS];
  int64_t made_at[RP_TAIL_KEYS];
  int64_t look_at; /* when to see again whether a change that could not be made can be */
};

struct rp__tail_keys {
  pthread_mutex_t lock;
  struct rp__tail_key_set set;
};

void rp__tail_keys_init(struct rp__tail_keys *k);
void rp__tail_keys_done(struct rp__tail_keys *k);

/* Makes sure that there is a key, and, with `change`, a new one where it is due. May write the file and commit: no lock
 * is held. */
RP_MUST_USE int rp__tail_key_ready(struct rp_engine *e, bool change, rp_error *err);
/* Whether this process has sealed with it, or read it. */
bool rp__tail_keys_used(struct rp_engine *e);
/* The current key; it must be ready. */
void rp__tail_key_current(struct rp_engine *e, struct rp__key *ret);
/* The one a tail is sealed with. RP_E_KEY_MISSING. */
RP_MUST_USE int rp__tail_key_find(struct rp_engine *e, const unsigned char id[RP_KEY_ID], struct rp__key *ret,
                                  rp_error *err);
/* The store refused a tail: reads the file again and tells the store which key it has now. */
RP_MUST_USE int rp__tail_key_again(struct rp_engine *e, rp_error *err);

#endif
