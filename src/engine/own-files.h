/* SPDX-License-Identifier: Apache-2.0 */
/* The store's own files, which no export and no mirror may replace. */
#ifndef RP_ENGINE_OWN_FILES_H
#define RP_ENGINE_OWN_FILES_H

#include "engine/engine.h"

/* What lies beside a database under its name and one of these. */
#define RP_SEAL_SUFFIX ".seal"

/*
 * Whether a file may be written to `path`: RP_E_REFUSED, about `field`, when that is the database, a file beside it,
 * the secret of the agents' socket or a scope's key, by that name, a link or another name.
 */
RP_MUST_USE int rp__own_files_check(rp_engine *e, const char *field, const char *path, rp_error *err);
/* The same for the files that the configuration wants kept (RP_E_CONFIG). Needs e->path. */
RP_MUST_USE int rp__own_files_config(rp_engine *e, rp_error *err);

#endif
