/* SPDX-License-Identifier: Apache-2.0 */
/* Name, settings and metadata of a session (C-11). */
#ifndef RP_FACETS_SETTINGS_H
#define RP_FACETS_SETTINGS_H

#include "core/fold.h"

/* Bytes of a session's name as JSON; a longer one is not taken. */
#define RP_SESSION_NAME_MAX ((size_t)2048)

#define RP_SETTINGS "settings" /* the facet's name */

/* The session's name, a JSON string; RP_JSON_NULL without one, RP_JSON_NONE of a session that has no settings at all.
 * Lasts until the fold changes. */
struct rp__json rp__settings_name(const struct rp__fold *f);
/* One of its settings, as it came; RP_JSON_NONE when it was never set. Lasts until the fold changes. */
struct rp__json rp__setting(const struct rp__fold *f, const char *name);

/* The facet's part of the state document with this meta, an object: the row's, which also has what a start gave. */
void rp__settings_write(const struct rp__fold *f, struct rp__json meta, struct rp__jw *w);

#endif
