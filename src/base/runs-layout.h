/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of `<db>.runs`: the only place that knows its offsets.
 *
 * Locks and contents share the file but not a meaning. Locks are advisory: a lock
 * on a byte says nothing about what the byte holds. Byte 0 is the lock of the
 * queue of writers; runs lock random bytes behind the header (versions before the
 * header took any byte from 1 on, which excludes as it always did).
 *
 * Contents are the header page alone, which processes map and share. It may be
 * absent: files of older versions are empty, and a full disk or a file system
 * without shared mappings leaves them so. Bytes that nobody wrote are 0, and 0
 * means "not known" in every field. Nothing in it is needed for correctness
 * between processes, for a power cut may lose it.
 */
#ifndef RP_BASE_RUNS_LAYOUT_H
#define RP_BASE_RUNS_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define RP_RUNS_QUEUE_BYTE 0 /* locked by whoever has the turn to write */
#define RP_RUNS_GROW_BYTE 1  /* locked while zeros are written where the header will be */
#define RP_RUNS_HEADER 4096  /* bytes; locks of runs lie behind it */

/* Who has the turn to write; written after the lock was taken, zeroed before it is given back. */
struct rp__runs_writer {
  _Atomic uint64_t pid;   /* as in rp__proc; 0: nobody, or not known */
  _Atomic uint64_t start; /* its start time */
  _Atomic uint64_t ns;    /* its pid namespace */
  uint64_t reserved[5];
};

struct rp__runs_header {
  unsigned char locks[64];       /* lock bytes; never written */
  struct rp__runs_writer writer; /* at 64 */
  unsigned char sync[896];       /* at 128: for what is known of the log's last sync */
  unsigned char reserved[3072];  /* at 1024 */
};

_Static_assert(offsetof(struct rp__runs_header, writer) == 64, "holder of the turn");
_Static_assert(offsetof(struct rp__runs_header, sync) == 128, "record of syncs");
_Static_assert(offsetof(struct rp__runs_header, reserved) == 1024, "reserved bytes");
_Static_assert(sizeof(struct rp__runs_header) == RP_RUNS_HEADER, "one page");

#endif
