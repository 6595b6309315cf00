/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for a throwaway database, and the database in it. */
#ifndef RP_CLI_TEMPDIR_H
#define RP_CLI_TEMPDIR_H

#include "base/error.h"

struct rp__tempdir {
  char path[256];
  char db[300]; /* "sqlite:PATH" in it */
};

/* Makes a folder "$TMPDIR/reprise-NAME.XXXXXX", or in `fallback` when TMPDIR is not set. */
RP_MUST_USE int rp__tempdir_make(struct rp__tempdir *t, const char *name, const char *fallback, rp_error *err);
/* Removes it with the files and folders in it. Does nothing for one that was not made. */
void rp__tempdir_remove(struct rp__tempdir *t);

#endif
