/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal secret (C-02): configured, or made once; the same after every restart.
 * Only its hash is kept in memory: hashes compared with it have the same size, and
 * values derived from the secret need only the hash.
 */
#ifndef RP_BASE_SECRET_H
#define RP_BASE_SECRET_H

#include <stdbool.h>

#include "base/error.h"

#define RP_SECRET_FILE "internal-secret" /* beside the database */
#define RP_SECRET_HASH 32
#define RP_SECRET_MIN 16   /* bytes of a secret that somebody chose */
#define RP_SECRET_MAX 1024 /* of any */

struct rp__internal_secret {
  unsigned char hash[RP_SECRET_HASH];
};

/*
 * $INTERNAL_SECRET; else `file`, or, when that is empty, `internal-secret` beside the database, made with 0600 if it is
 * not there; without a database, a random one that nobody keeps. RP_E_CONFIG: too short, or others may read the file.
 */
RP_MUST_USE int rp__secret_load(const char *file, const char *db_path, struct rp__internal_secret *ret, rp_error *err);
/*
 * The secret itself, of the same place, for whoever must write it down (C-11); none is made: RP_E_FILE_NOT_FOUND. Free
 * with rp__secret_text_free, which wipes it.
 */
RP_MUST_USE int rp__secret_text(const char *file, const char *db_path, char **ret, rp_error *err);
void rp__secret_text_free(char *text); /* NULL is fine */
void rp__secret_of(const char *text, struct rp__internal_secret *ret);
void rp__secret_wipe(struct rp__internal_secret *s);
/* In constant time. */
bool rp__secret_is(const struct rp__internal_secret *s, struct rp__str text);
/* A hash of the text that only the holder of the secret can compute. */
void rp__secret_derive(const struct rp__internal_secret *s, const char *purpose, const char *text,
                       unsigned char out[RP_SECRET_HASH]);

#endif
