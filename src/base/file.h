/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are whole or absent. A file is written without a name, synced and linked into its place, and then its
 * folder is synced. Files have the mode 0600 and folders 0700, and no symlink is followed. A file that replaces
 * another, or one on a file system without unnamed files, has a temporary name for a moment. The writer holds a lock on
 * a file with a temporary name, so that a sweep can tell the files of dead writers from those of living ones.
 */
#ifndef RP_BASE_FILE_H
#define RP_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Makes the folder and its parents, durably, 0700 each that is new. Symlinks to folders on the way are followed. */
RP_MUST_USE int rp__mkdirs(const char *path, rp_error *err);
/*
 * Opens the folder `below` (parts separated by slashes, all of them ours) of the folder `root`, making them if wanted,
 * as rp__mkdirs does. A symlink is followed on the way to `root` and nowhere below it: RP_E_REFUSED.
 */
RP_MUST_USE int rp__folder_open(const char *root, const char *below, bool make, int *ret, rp_error *err);

#define RP_TEMP_PREFIX ".reprise-tmp-"
#define RP_TEMP_NAME (sizeof RP_TEMP_PREFIX + 32)

/* A file on its way into its place. Whoever opened one calls done, which drops what was not kept. */
struct rp__file_draft {
  int dir, fd; /* fd is to be written to */
  char *path;  /* owned; `name` is its last part */
  const char *name;
  char temp[RP_TEMP_NAME]; /* the name it has meanwhile; empty: none */
  int64_t bytes;           /* written by rp__file_draft_write … */
  int errnum;              /* … and why it stopped; 0: it did not */
};
/* A symlink or anything but a regular file at `path` is an error (RP_E_REFUSED). */
RP_MUST_USE int rp__file_draft_open(const char *path, struct rp__file_draft *ret, rp_error *err);
/* All of the bytes, to the draft `ctx`; 1 when it can't. The shape of rp_write_fn. */
int rp__file_draft_write(void *ctx, const void *bytes, size_t n);
/* Syncs it and puts it into its place. Without `replace`, RP_E_EXISTS when somebody was first. */
RP_MUST_USE int rp__file_draft_keep(struct rp__file_draft *d, bool replace, rp_error *err);
void rp__file_draft_done(struct rp__file_draft *d);

/* Deletes temp files of dead writers in the folder. How many. */
int64_t rp__temps_sweep(int dir);

/*
 * The same as below for the last part of `path` in the open folder `dir`; all of `path` is for messages. Removing a
 * file that is not there is fine.
 */
RP_MUST_USE int rp__file_draft_open_at(int dir, const char *path, struct rp__file_draft *ret, rp_error *err);
RP_MUST_USE int rp__file_write_at(int dir, const char *path, const void *bytes, size_t n, rp_error *err);
RP_MUST_USE int rp__file_read_at(int dir, const char *path, size_t max, struct rp__buf *ret, rp_error *err);
RP_MUST_USE int rp__file_remove_at(int dir, const char *path, rp_error *err);

/* Replaces `path` by the bytes, atomically and durably. A symlink at `path` is an error (RP_E_REFUSED). */
RP_MUST_USE int rp__file_write(const char *path, const void *bytes, size_t n, rp_error *err);
/*
 * Reads a whole regular file of at most `max` bytes (RP_E_TOO_LARGE beyond); no
 * symlink is followed (RP_E_REFUSED). `ret` is a live buffer, RP_BUF(0) will do:
 * what it held is replaced on success and left alone on failure.
 */
RP_MUST_USE int rp__file_read(const char *path, size_t max, struct rp__buf *ret, rp_error *err);
/* fsync of the folder that holds `path`. */
RP_MUST_USE int rp__sync_parent(const char *path, rp_error *err);
/*
 * The absolute path of the file that `path` means: symbolic links are followed, also where the file, or its folder, is
 * yet to be made. RP_E_REFUSED: links that go on for ever.
 */
RP_MUST_USE int rp__path_real(const char *path, char **ret, rp_error *err);
/* "$dir/$name" in a fresh string, or NULL without memory. */
char *rp__path_join(const char *dir, const char *name);
/* $REPRISE_HOME, else $XDG_DATA_HOME/reprise, else $HOME/.local/share/reprise; NULL without any, or without memory. */
char *rp__home(void);

#endif
