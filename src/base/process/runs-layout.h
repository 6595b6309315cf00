/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of `<db>.runs`: the only place that knows its offsets.
 *
 * Locks and contents share the file but are independent: a lock on a byte says nothing
 * about the content of that byte. Byte 0 is the lock of the queue of writers; runs lock
 * random bytes behind the header. Versions of the program without the header locked any
 * byte from 1 on, and their locks still exclude one another.
 *
 * The only content is the header page, which all processes map and share. The header
 * may be absent: files of older versions are empty, and so are files on a full disk or
 * on a file system without shared mappings. Bytes that were never written are 0, and 0
 * means "not known" in every field. Correctness between processes does not depend on
 * the header, because a power cut may lose it.
 */
#ifndef RP_BASE_RUNS_LAYOUT_H
#define RP_BASE_RUNS_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define RP_RUNS_QUEUE_BYTE 0 /* locked by whoever has the turn to write */
#define RP_RUNS_GROW_BYTE 1  /* locked while zeros are written where the header will be */
#define RP_RUNS_SERVE_BYTE 2 /* locked by a server while it looks for another one and takes its place */
#define RP_RUNS_NAME_BYTE 3  /* locked, shared, by whoever has made a file and syncs its folder */
#define RP_RUNS_HEADER 4096  /* bytes; locks of runs lie behind it */

/* The process that has the turn to write; written after the lock was taken, zeroed before it is given back. */
struct rp__runs_writer {
  _Atomic uint64_t pid;   /* as in rp__proc; 0: nobody, or not known */
  _Atomic uint64_t start; /* its start time */
  _Atomic uint64_t ns;    /* its pid namespace */
  _Atomic uint64_t turns; /* counts them: one that stays the same while the lock is held is one turn */
  uint64_t reserved[4];
};

/* The state after a sync of the log. Two records take turns, so that a record torn by a kill leaves the one before it.
 */
struct rp__runs_synced {
  uint64_t n;           /* counts up: of two that fit their sums the higher is the newer */
  uint32_t salt[2];     /* of the log, as they stand in its header */
  uint32_t frame;       /* the last one that was synced; 0: none is known */
  uint32_t backfilled;  /* frames that were in the database file by then */
  int64_t row;          /* the newest event's; 0: not known */
  uint64_t inode;       /* of the database file */
  _Atomic uint64_t sum; /* of all before it */
};

/* A loss found at an opening, until somebody accepts it. */
struct rp__runs_loss {
  int64_t first_row, last_row; /* of events; first > last: none of them */
  uint32_t first_frame, frame; /* of the log: from the first that can't be read to the last that was synced */
  int64_t at_ms;               /* when it was found */
  uint64_t inode;              /* of the database file */
  _Atomic uint64_t sum;        /* of all before it; 0: nothing is lost */
};

struct rp__runs_sync {
  _Atomic uint32_t failures;      /* syncs that failed, ever */
  _Atomic uint32_t made_good;     /* what it was when everything had been written once more; equal: all is well */
  _Atomic uint32_t committing;    /* a commit's sync is under way, in the writers' turn */
  _Atomic uint32_t checkpointing; /* so many syncs of checkpoints are under way */
  /* Of the database file, after the last checkpoint of ours, in ns. */
  _Atomic int64_t changed, modified; /* its ctime and mtime */
  struct rp__runs_synced synced[2];
  struct rp__runs_loss loss;
  _Atomic uint32_t names, named; /* syncs of folders that were begun, and that ended; equal: none is under way */
  _Atomic uint32_t names_good;   /* what `names` was when everything had been written once more */
  unsigned char room[896 - 32 - 3 * 48 - 12];
};

#define RP_RUNS_UNSAID 8        /* failures that are remembered */
#define RP_RUNS_UNSAID_NAME 136 /* bytes of an id, with its end */

/* A snapshot that failed while the audit log could not be written (engine/keep/audit.c). */
struct rp__runs_unsaid {
  _Atomic uint32_t state; /* 0: none */
  int32_t code;           /* an error's */
  int64_t at_ms;
  char scope[RP_RUNS_UNSAID_NAME], session[RP_RUNS_UNSAID_NAME], reason[32];
};

struct rp__runs_header {
  unsigned char locks[64];                       /* lock bytes; never written */
  struct rp__runs_writer writer;                 /* at 64 */
  struct rp__runs_sync sync;                     /* at 128 */
  struct rp__runs_unsaid unsaid[RP_RUNS_UNSAID]; /* at 1024 */
  unsigned char reserved[3072 - RP_RUNS_UNSAID * 320];
};

_Static_assert(offsetof(struct rp__runs_header, writer) == 64, "holder of the turn");
_Static_assert(offsetof(struct rp__runs_header, sync) == 128, "record of syncs");
_Static_assert(offsetof(struct rp__runs_header, unsaid) == 1024, "what the audit log has no room for");
_Static_assert(sizeof(struct rp__runs_header) == RP_RUNS_HEADER, "one page");

#endif
