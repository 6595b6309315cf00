/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container of snapshots and blobs: a header (magic, version, sizes, BLAKE2b of the stored bytes), then the text,
 * which is compressed with zstd and, when the scope has a key, sealed.
 */
#ifndef RP_CORE_CONTAINER_H
#define RP_CORE_CONTAINER_H

#include "core/seal.h"

/* One kind of container. */
struct rp__container {
  const char *magic;  /* four letters; another layout gets another magic */
  const char *noun;   /* for messages */
  size_t max;         /* bytes of the text; hostile headers stop here */
  uint32_t sealed;    /* the bit of the version's word that says so */
  int corrupt, newer; /* the errors for damage and for a version above what is read */
};

/* Appends to `out`, or leaves it as it was. `key` NULL: not sealed. RP_E_NOMEM, RP_E_TOO_LARGE. */
RP_MUST_USE int rp__container_write(const struct rp__container *c, uint32_t version, struct rp__str text,
                                    const struct rp__key *key, const struct rp__random *r, struct rp__str ad,
                                    struct rp__buf *out, rp_error *err);

/* Gets the text in pieces; what it returns ends the reading when it is not 0, and is returned. */
typedef int rp__container_fn(void *ctx, const void *bytes, size_t n);

struct rp__stored {
  const void *p;
  size_t n;
  const struct rp__key *key; /* NULL: none is known */
  struct rp__str ad;
};

/*
 * All of the sum is checked before anything is given. ret_version is at most `newest`.
 * c->corrupt, c->newer, RP_E_KEY_MISSING, RP_E_KEY_WRONG, RP_E_NOMEM, or what `fn` returned.
 */
RP_MUST_USE int rp__container_read(const struct rp__container *c, uint32_t newest, struct rp__stored in,
                                   rp__container_fn *fn, void *ctx, uint32_t *ret_version, rp_error *err);

/* A function for that which appends the pieces to the buffer `ctx`, and returns its error. */
int rp__container_collect(void *ctx, const void *bytes, size_t n);

/* The error of a buffer that did not take a container or its text. */
RP_MUST_USE int rp__container_full(const struct rp__container *c, const struct rp__buf *b, rp_error *err);
RP_MUST_USE int rp__container_corrupt(const struct rp__container *c, const char *why, rp_error *err);

/* ---- blobs ---- */

#define RP_BLOB_MAX ((size_t)64 * 1024 * 1024)       /* bytes of a blob */
#define RP_PACK_MAX (RP_BLOB_MAX + RP_BLOB_MAX / 64) /* bytes of a packed one at most */

/* `key` NULL: not sealed. RP_E_NOMEM, RP_E_TOO_LARGE. */
RP_MUST_USE int rp__pack(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r,
                         struct rp__str ad, struct rp__buf *out, rp_error *err);
/* In pieces, all of the sum checked before any is given. RP_E_CORRUPT, RP_E_VERSION, RP_E_KEY_*, RP_E_NOMEM. */
RP_MUST_USE int rp__unpack(const void *packed, size_t n, const struct rp__key *key, struct rp__str ad,
                           rp__container_fn *fn, void *ctx, rp_error *err);

#endif
