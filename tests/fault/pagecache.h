/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the page cache, for one database and its log, of all processes that
 * this program forks. The file calls of the program and of SQLite end here, because
 * an executable's own functions come before those of shared libraries.
 *
 * What was written is seen by everybody at once, but outlives a power cut only when
 * a sync succeeded after it. A sync that fails marks the pages clean, as Linux does:
 * they are never written again unless somebody writes to them, and later syncs
 * succeed. Each descriptor that was open then is told once, at its own next sync. The
 * names in the folder are treated alike.
 */
#ifndef FAULT_PAGECACHE_H
#define FAULT_PAGECACHE_H

#include <stdbool.h>
#include <stdint.h>

/* How much of what was not synced the cut leaves: nothing, all pages that are still dirty, or some. */
enum pagecache_cut { CUT_NOTHING, CUT_ALL, CUT_SOME, CUT_MAX };

/* Begins anew with an empty folder; `db` is the path the database will have. Before any fork. */
void pagecache_begin(const char *db);
/* The nth sync from now on fails, and all after it if `persistent`; 0: none. */
void pagecache_fail(long nth, bool persistent);
/* The process that gets the failing sync dies in it, before it is told. */
void pagecache_fail_deadly(long nth);
/* The process that makes the nth write or sync from now on dies before it. 0: none. */
void pagecache_die(long nth);
long pagecache_failed(void); /* syncs that failed since pagecache_begin, errors told again not counted */
/* All processes are gone: leaves the files as the next boot finds them. */
void pagecache_cut(enum pagecache_cut how, uint64_t seed);

#endif
