/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of the objects that are open while a text is checked, innermost on
 * top. When an object closes, its keys are compared and dropped. A few live in the struct
 * itself, so that ordinary messages allocate nothing.
 */
#ifndef RP_JSON_KEYS_H
#define RP_JSON_KEYS_H

#include <stdbool.h>

#include "base/macros.h"

struct rp__json_key {
  const char *p;
  size_t n;
  uint64_t head; /* the first eight decoded bytes: most comparisons end here */
  bool escaped;
};

struct rp__json_keys {
  struct rp__json_key *v;
  size_t n, cap;
  struct rp__json_key few[48];
};

void rp__json_keys_init(struct rp__json_keys *k);
void rp__json_keys_done(struct rp__json_keys *k);
/* Adds a raw key (between its quotes); false without memory. */
bool rp__json_keys_push(struct rp__json_keys *k, const char *p, size_t n, bool escaped);
/* Drops the keys above `base`; returns where the first key stands that came a second time, or NULL. Time n log n. */
const char *rp__json_keys_close(struct rp__json_keys *k, size_t base);

#endif
