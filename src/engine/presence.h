/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's table of the clients in its sessions; the functions are declared in reprise/host.h. */
#ifndef RP_ENGINE_PRESENCE_H
#define RP_ENGINE_PRESENCE_H

#include <pthread.h>
#include <sodium.h>
#include <sys/queue.h>

#include <reprise/host.h>

#define RP_PRESENCE_BUCKETS 4096

struct rp_presence {
  rp_presence_row row;
  rp_presence_host host;
  bool taken;  /* for its end, by a caller that will settle it */
  bool gone;   /* off the table; freed when nobody uses it */
  size_t uses; /* by heartbeats that are being sent without the lock */
  LIST_ENTRY(rp_presence) by_session, by_name;
  TAILQ_ENTRY(rp_presence) by_use, by_deadline; /* among those of its kind */
};

TAILQ_HEAD(rp__presence_queue, rp_presence);
LIST_HEAD(rp__presence_bucket, rp_presence);

struct rp__presence {
  pthread_mutex_t lock;
  pthread_cond_t settled; /* an entry is no longer taken */
  struct rp__presence_bucket sessions[RP_PRESENCE_BUCKETS], names[RP_PRESENCE_BUCKETS];
  struct rp__presence_of_kind {
    struct rp__presence_queue used, due;
    size_t entries, ending;
  } kind[RP_PRESENCE_KINDS];
  unsigned char seed[crypto_shorthash_KEYBYTES];
};

RP_MUST_USE int rp__presence_new(struct rp__presence **ret, rp_error *err);
void rp__presence_free(struct rp__presence *t); /* NULL is fine */

/* For those who hold the lock: an entry off the table that is ready to be freed, without the lock; else NULL. */
rp_presence *rp__presence_unuse(rp_presence *p);
void rp__presence_entry_free(rp_presence *p); /* NULL is fine; without the lock */

#endif
