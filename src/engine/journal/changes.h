/* SPDX-License-Identifier: Apache-2.0 */
/* Wakes the thread of this process that waits for changes of the store. */
#ifndef RP_ENGINE_CHANGES_H
#define RP_ENGINE_CHANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rp__changes {
  _Atomic uint32_t moved; /* what the thread sleeps on: counts groups committed, and wakes */
  atomic_bool waits, woken;

  /* The waiting thread's own. */
  uint32_t seen;
  int64_t version;
  bool known; /* `version` is the store's as of the last call */
};

/* Something was committed. One atomic addition when nobody waits. */
void rp__changes_note(struct rp__changes *c);

#endif
