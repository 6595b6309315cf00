/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are whole or absent: temp file, fsync, rename, fsync of the folder; 0600 in 0700; no symlink followed. */
#ifndef RP_BASE_FILE_H
#define RP_BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

/* Makes the folder and its parents, durably, 0700 each that is new. Symlinks to folders on the way are followed. */
int rp__mkdirs(const char *path, rp_error *err);
/* Replaces `path` by the bytes, atomically and durably. A symlink at `path` is an error (RP_E_REFUSED). */
int rp__file_write(const char *path, const void *bytes, size_t n, rp_error *err);
/*
 * Reads a whole regular file of at most `max` bytes (RP_E_TOO_LARGE beyond); no
 * symlink is followed (RP_E_REFUSED). `ret` is a live buffer, RP_BUF(0) will do:
 * what it held is replaced on success and left alone on failure.
 */
int rp__file_read(const char *path, size_t max, struct rp__buf *ret, rp_error *err);
/* fsync of the folder that holds `path`. */
int rp__sync_parent(const char *path, rp_error *err);
/*
 * The absolute path of the file that `path` means: symbolic links are followed, also where the file, or its folder, is
 * yet to be made. RP_E_REFUSED: links that go on for ever.
 */
int rp__path_real(const char *path, char **ret, rp_error *err);
/* "$dir/$name" in a fresh string, or NULL without memory. */
char *rp__path_join(const char *dir, const char *name);
/* $REPRISE_HOME, else $XDG_DATA_HOME/reprise, else $HOME/.local/share/reprise; NULL without any, or without memory. */
char *rp__home(void);

#endif
