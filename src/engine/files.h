/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that the engine writes into: `archive/` and `sessions/` beside the database, and folders that the
 * configuration names. Everything below these folders belongs to the engine, and no symlink below them is followed.
 */
#ifndef RP_ENGINE_FILES_H
#define RP_ENGINE_FILES_H

#include "engine/engine.h"

/* The folder that holds the database, as a prefix of paths: ends with a slash or is empty. NULL: a store without a
 * file, or without memory. The caller frees it. */
char *rp__files_root(const rp_engine *e);

/* Where the records of a scope's sessions are mirrored to; NULL in *ret: nowhere. The caller frees it. */
RP_MUST_USE int rp__files_mirror(rp_engine *e, const char *scope, char **ret, rp_error *err);
/* Opens such a folder; only its parents may be reached by symlinks. RP_E_REFUSED, RP_E_FILE_NOT_FOUND. */
RP_MUST_USE int rp__files_open(const char *folder, bool make, int *ret, rp_error *err);

/*
 * Deletes what writers left that were killed: temp files in every folder above and beside the session files, and
 * sessions that were being imported or forked. A living writer's are left alone. What can't be deleted is logged.
 */
void rp__files_sweep(rp_engine *e);

#endif
