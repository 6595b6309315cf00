/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call fails: the nth since the plan was armed, or all from the nth on.
 * A plan belongs to one kind of call; the interposers of this folder ask theirs
 * on every call. Counting is atomic, for the engine may have threads.
 */
#ifndef FAULT_PLAN_H
#define FAULT_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>

struct plan {
  atomic_long calls, hits;
  atomic_long nth; /* 0: none fails */
  atomic_bool persistent;
  atomic_int how; /* for the interposer: which error to give */
};

static inline void plan_arm(struct plan *p, long nth, bool persistent, int how)
{
  p->calls = 0;
  p->hits = 0;
  p->persistent = persistent;
  p->how = how;
  p->nth = nth;
}

/* Ends the failing; `hits` keeps telling whether it ever happened. */
static inline void plan_disarm(struct plan *p)
{
  p->nth = 0;
}

static inline bool plan_fails(struct plan *p)
{
  long nth = p->nth;
  if (nth == 0) return false;
  long call = atomic_fetch_add(&p->calls, 1) + 1;
  if (call < nth || (call > nth && !p->persistent)) return false;
  atomic_fetch_add(&p->hits, 1);
  return true;
}

extern struct plan plan_alloc;  /* our own malloc and its kin (wrap_alloc.c) */
extern struct plan plan_sqlite; /* SQLite's allocations (sqlite_mem.c) */
extern struct plan plan_vfs;    /* SQLite's file calls (vfs.c) */
extern struct plan plan_file;   /* our own file calls (wrap_file.c) */

/* Allocations of ours that are not freed yet. */
long alloc_outstanding(void);
/* Bytes SQLite holds. Before anything uses SQLite: sqlite_mem_install. */
int sqlite_mem_install(void);
long sqlite_mem_outstanding(void);

/* The default VFS from now on: everything goes through plan_vfs. */
int vfs_install(void);
enum { VFS_EIO, VFS_ENOSPC };

#endif
