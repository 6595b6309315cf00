/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_FACETS_SETTINGS_H
#define RP_FACETS_SETTINGS_H

#include "core/fold.h"

/* Bytes of a session's name as JSON; a longer one is not taken. */
#define RP_SESSION_NAME_MAX ((size_t)2048)

#define RP_SETTINGS "settings" /* the facet's name */

/* The facet's part of the state document with this meta, an object: the row's, which also has what a start gave. */
void rp__settings_write(const struct rp__fold *f, struct rp__json meta, struct rp__jw *w);

#endif
