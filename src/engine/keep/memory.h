/* SPDX-License-Identifier: Apache-2.0 */
/* Memories: reads the content and confidence of a stored one, and makes damaged ones again from the journals. */
#ifndef RP_ENGINE_MEMORY_H
#define RP_ENGINE_MEMORY_H

#include "engine/engine.h"

/* Content and categories (or NULL) of a memory, unsealed where need be. Both are freed by the caller. */
RP_MUST_USE int rp__memory_open(const struct rp__key *key, const struct rp__memory_row *row, char **ret_content,
                                char **ret_categories, rp_error *err);

/* The stored confidence of a memory; *ret_known is false when the scope has none of that id. */
RP_MUST_USE int rp__memory_score(rp_engine *e, const char *scope, const char *id, double *ret, bool *ret_known,
                                 rp_error *err);

/*
 * Repair: makes damaged memories of the scope again from the journals of the sessions that learned them. `fn` is told
 * of each that could be; the others stay as they are.
 */
typedef int rp__memory_renewed_fn(void *ctx, const char *scope, const char *id);
RP_MUST_USE int rp__memories_renew(rp_engine *e, const char *scope, rp__memory_renewed_fn *fn, void *ctx,
                                   rp_error *err);

#endif
