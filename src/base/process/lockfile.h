/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte locks in `<db>.runs`. They are OFD locks, which the kernel frees when the last
 * descriptor of the open file is closed. Byte 0 is the queue of writers. The other
 * bytes stand for runs: each run locks a random byte before it becomes visible in the
 * store.
 */
#ifndef RP_BASE_LOCKFILE_H
#define RP_BASE_LOCKFILE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "base/process/proc.h"
#include "base/process/runs-layout.h"

struct rp__lockfile {
  int fd;
  struct rp__runs_header *header; /* shared with all processes; NULL unless mapped */
};

RP_MUST_USE int rp__lockfile_open(struct rp__lockfile *l, const char *path, rp_error *err);
/* To see what others hold, without making the file or writing to it: rp__lockfile_held alone works. fd -1: no such file
 * that could be looked at. */
void rp__lockfile_look(struct rp__lockfile *l, const char *path);
/*
 * Maps the header and, unless the file is only looked at, makes the file long enough first, its blocks allocated.
 * Where that can't be done (a full disk, a file system without shared mappings) l->header stays NULL: nothing depends
 * on it.
 */
void rp__lockfile_map(struct rp__lockfile *l);
void rp__lockfile_close(struct rp__lockfile *l);
/* Takes a free random slot, behind the header. */
RP_MUST_USE int rp__lockfile_take(struct rp__lockfile *l, const struct rp__random *r, int64_t *ret_slot, rp_error *err);
/* That very slot. 0, RP_E_BUSY, or RP_E_IO. */
int rp__lockfile_take_slot(struct rp__lockfile *l, int64_t slot);
/* Beside others that share it; waits for one who has it alone. */
int rp__lockfile_share_slot(struct rp__lockfile *l, int64_t slot);
void rp__lockfile_drop(struct rp__lockfile *l, int64_t slot);
/* Whether another open description holds the slot. Our own locks do not show: ask whoever took them. */
bool rp__lockfile_held(const struct rp__lockfile *l, int64_t slot);
/* The queue of writers: try without waiting; or wait in the kernel's queue. 0, RP_E_BUSY (try only) or an error. */
int rp__lockfile_queue_try(struct rp__lockfile *l);
int rp__lockfile_queue_wait(struct rp__lockfile *l);
void rp__lockfile_queue_leave(struct rp__lockfile *l);

/* After try or wait: says in the header, if it is mapped, who has the turn. No system call. */
void rp__lockfile_queue_sign(struct rp__lockfile *l, const struct rp__proc *self);
/* Whether another open description has the turn. */
bool rp__lockfile_queue_held(const struct rp__lockfile *l);

/* The process that signed for the turn, as far as it can be known; it may have passed the turn on meanwhile. */
struct rp__turn {
  int64_t pid;             /* 0: not known */
  uint64_t n;              /* the turn's number */
  bool here;               /* it lives in our pid namespace, so that name and stopped are right */
  bool stopped;            /* by a signal or a debugger */
  char name[RP_PROC_NAME]; /* of the program */
};
void rp__lockfile_queue_look(const struct rp__lockfile *l, struct rp__turn *ret);
#define RP_TURN_TEXT 160
/* "process 4711 (reprise)", or what is known of it. */
const char *rp__turn_text(const struct rp__turn *t, char out[RP_TURN_TEXT]);

#endif
