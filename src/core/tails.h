/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open streams of a session (B-14): for each speaker that speaks in chunks, the event with the newest chunk. When
 * the end of that chunk may be the beginning of a secret, the event holds this end sealed. The end is undecided as long
 * as the event is in this list.
 *
 * The list is part of the session's head, so it changes in the transaction of the append. The list has a number, which
 * changes with it: a writer that prepared a chunk on another number has not seen all earlier chunks. The writer chooses
 * the new number, from a range of its own. So the writer can prepare further chunks before the first is stored, and
 * none of them can follow a chunk of another writer.
 */
#ifndef RP_CORE_TAILS_H
#define RP_CORE_TAILS_H

#include <stdbool.h>

#include "base/buf.h"

#define RP_TAILS_MAX 64 /* streams; another one takes the place of the stream that was silent for longest */
#define RP_TAILS_BYTES (8 + RP_TAILS_MAX * 16)

struct rp__tail_at {
  uint64_t voice; /* never 0 */
  int64_t seq;
};

struct rp__tails {
  int64_t number;
  size_t n;
  struct rp__tail_at at[RP_TAILS_MAX];
};

/* A voice has said something: its stream is open with this event, or, with seq 0, over. A list that is full forgets its
 * first stream. */
void rp__tails_note(struct rp__tails *t, uint64_t voice, int64_t seq);
/* As stored: the number and the entries, little-endian. 0 bytes for a list that was never used. */
size_t rp__tails_write(const struct rp__tails *t, unsigned char out[RP_TAILS_BYTES]);
/* False: these bytes are no list. */
bool rp__tails_read(const void *bytes, size_t n, struct rp__tails *ret);

#endif
