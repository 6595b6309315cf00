/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the session documents that were read last. A document is valid as long as the store's number is the one at
 * which the document was read, so that repeated reads make no call of the store.
 */
#ifndef RP_ENGINE_DOCUMENT_H
#define RP_ENGINE_DOCUMENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_DOCUMENTS 1024      /* places; two ids that fall on one take turns */
#define RP_DOCUMENT_LOCKS 16   /* so that readers seldom meet */
#define RP_DOCUMENT_BYTES 4096 /* of one that is kept at most */

struct rp__document;

struct rp__documents {
  pthread_mutex_t lock[RP_DOCUMENT_LOCKS];
  struct rp__document *place[RP_DOCUMENTS]; /* each under one of the locks */
};

void rp__documents_init(struct rp__documents *d);
void rp__documents_done(struct rp__documents *d);
/* A copy of the one kept, to be freed, or NULL. */
char *rp__document_get(struct rp__documents *d, const char *id, int64_t version, int64_t now, size_t *ret_n);
/* Keeps a copy that is given out until `good` at most, if there is memory for it and it is not too big. */
void rp__document_put(struct rp__documents *d, const char *id, int64_t version, int64_t good, const char *doc,
                      size_t n);

#endif
