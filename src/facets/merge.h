/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are merged from parts: a later member replaces an earlier one, and null removes it. */
#ifndef RP_FACETS_MERGE_H
#define RP_FACETS_MERGE_H

#include "json/json.h"

#define RP_MEMBERS_MAX 256 /* of one object; further ones are left out */
#define RP_MERGE_DEEP_MAX 2

/* The bytes of a JSON object; zeroes are {}. */
struct rp__object {
  char *p;
  size_t n;
};

void rp__object_done(struct rp__object *o);
struct rp__json rp__object_json(const struct rp__object *o);
bool rp__object_empty(const struct rp__object *o);
/*
 * Takes over the members of `patch`. Those named in `deep` (NULL or RP_MERGE_DEEP_MAX names, unused ones NULL) are
 * merged member by member where both are objects. A member that would bring the object above `max` bytes is left out.
 * What is no object changes nothing. 0 or RP_E_NOMEM.
 */
int rp__object_merge(struct rp__object *o, struct rp__json patch, const char *const *deep, size_t max);
/* From a snapshot; *ret_ok is false when it is no such object. 0 or RP_E_NOMEM. */
int rp__object_load(struct rp__object *o, struct rp__json v, size_t max, bool *ret_ok);

#endif
