/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of the session documents that were read last. */
#include "engine/capture/document-cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/seal.h"
#include "store/store.h"

struct rp__document {
  char id[RP_NAME];
  int64_t version, good; /* `good`: until then, on the caller's clock */
  size_t n;
  char text[]; /* n bytes and a NUL */
};

void rp__documents_init(struct rp__documents *d)
{
  memset(d, 0, sizeof *d);
  for (size_t i = 0; i < RP_DOCUMENT_LOCKS; i++) pthread_mutex_init(&d->lock[i], NULL);
}

void rp__documents_done(struct rp__documents *d)
{
  for (size_t i = 0; i < RP_DOCUMENTS; i++) free(d->place[i]);
  for (size_t i = 0; i < RP_DOCUMENT_LOCKS; i++) pthread_mutex_destroy(&d->lock[i]);
}

static size_t place_of(const char *id)
{
  return (size_t)(rp__checksum(id, strlen(id), 0) % RP_DOCUMENTS);
}

char *rp__document_get(struct rp__documents *d, const char *id, int64_t version, int64_t now, size_t *ret_n)
{
  size_t i = place_of(id);
  char *copy = NULL;
  pthread_mutex_lock(&d->lock[i % RP_DOCUMENT_LOCKS]);
  const struct rp__document *doc = d->place[i];
  if (doc && doc->version == version && now <= doc->good && strcmp(doc->id, id) == 0 && (copy = malloc(doc->n + 1))) {
    memcpy(copy, doc->text, doc->n + 1);
    *ret_n = doc->n;
  }
  pthread_mutex_unlock(&d->lock[i % RP_DOCUMENT_LOCKS]);
  return copy;
}

void rp__document_put(struct rp__documents *d, const char *id, int64_t version, int64_t good, const char *text,
                      size_t n)
{
  size_t i = place_of(id);
  if (n > RP_DOCUMENT_BYTES) return;
  struct rp__document *doc = malloc(sizeof *doc + n + 1);
  if (!doc) return;
  memcpy(doc->id, id, strlen(id) + 1);
  doc->version = version;
  doc->good = good;
  doc->n = n;
  memcpy(doc->text, text, n + 1);
  pthread_mutex_lock(&d->lock[i % RP_DOCUMENT_LOCKS]);
  struct rp__document *old = d->place[i];
  d->place[i] = doc;
  pthread_mutex_unlock(&d->lock[i % RP_DOCUMENT_LOCKS]);
  free(old);
}
