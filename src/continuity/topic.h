/* SPDX-License-Identifier: Apache-2.0 */
/* Topics as sets of hashes, and their ranking at capture. */
#ifndef RP_CONTINUITY_TOPIC_H
#define RP_CONTINUITY_TOPIC_H

#include <stddef.h>
#include <stdint.h>

#define RP_TOPICS_MAX 20

/* Of the lower-cased topic; with a key (32 bytes, a sealed scope's) nobody without it can test a guess. */
uint64_t rp__topic_hash(const char *topic, size_t n, const unsigned char *key);
/*
 * Cuts them to the 32 bits that rows keep, which is enough to tell twenty topics from three (two that differ look alike
 * once in four thousand million), sorts and drops repeats; returns how many are left.
 */
size_t rp__topic_set(uint64_t *hashes, size_t n);

struct rp__topic {
  const char *text;
  size_t n;
  double weight;    /* from the facet; in: frequency, out: frequency × inverse frequency */
  int64_t sessions; /* in how many of the scope's recent sessions it is a topic */
};
/*
 * Ranks by weight × log(1 + total/(1 + sessions)), ties in the order given. A topic of more than half of the sessions
 * is a stop word of the scope, once there are RP_TOPIC_SESSIONS of them: it is left out. Returns how many are left; the
 * first RP_TOPICS_MAX are the hot ones.
 */
#define RP_TOPIC_SESSIONS 6
size_t rp__topic_rank(struct rp__topic *topics, size_t n, int64_t total);

#endif
