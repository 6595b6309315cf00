/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare loops that ours is measured against: the same bytes to the same disk
 * with nothing around them, tuned as well as we can. Any failure ends the
 * program, since a loop that failed measures nothing.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bare_row {
  int64_t session, seq, at_ms;
  const char *kind, *body;
  size_t body_len;
};

/* A SQLite file with one table of events (rowid) and a unique index on (session, seq). */
struct bare_db;
struct bare_db *bare_db_open(const char *path, bool full); /* full: synchronous FULL, else NORMAL */
void bare_db_close(struct bare_db *db);
/* Commits `n` rows in one transaction. */
void bare_db_commit(struct bare_db *db, const struct bare_row *rows, size_t n);

/* A file that only grows: one write and one fdatasync per batch. */
struct bare_file;
struct bare_file *bare_file_open(const char *path);
void bare_file_close(struct bare_file *f);
void bare_file_commit(struct bare_file *f, const struct bare_row *rows, size_t n);

/* What people use now: the whole state rewritten per message; temp file, fsync, rename, fsync of the folder. */
void bare_rewrite(const char *dir, const char *name, const struct bare_row *rows, size_t n);

#endif
