/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who speaks in a session: for each voice how what it said last ended, for a secret may go on in the next message. What
 * is said in chunks has a stream besides (engine/streams.h).
 */
#ifndef RP_ENGINE_SPEAKER_H
#define RP_ENGINE_SPEAKER_H

#include "engine/streams.h"

#define RP_SPEAKERS 8        /* remembered per handle; the one silent for longest makes room */
#define RP_SPEAKER_TAIL 4096 /* bytes of the last thing said, in which a secret may have begun */
#define RP_SPEAKER_PLAIN 64  /* bytes of it that matter when nothing in it looked like a secret */
#define RP_SPEAKER_BASE 32

struct rp__speaker {
  char name[RP_SPEAKER_MAX];
  char base[RP_SPEAKER_BASE]; /* kind and role: whose voice it is, whatever the message */
  char tail[RP_SPEAKER_TAIL];
  size_t n_tail;
  bool open;       /* a secret may have begun in the tail */
  bool unfinished; /* the last thing said was a chunk, or a transcript that was not final */
  uint64_t used;
};

struct rp__speech {
  struct rp__streams streams;
  struct rp__speaker speakers[RP_SPEAKERS];
  uint64_t clock;
  bool looked_back; /* at what was said before this handle was opened */
};

/* What stands before the message's id in a name. */
void rp__speaker_base(const char *name, char base[RP_SPEAKER_BASE]);
/* The one of that voice, or a free place, or that of the one silent for longest. */
struct rp__speaker *rp__speaker_find(struct rp__speech *sp, const char *base);
/* Adds to the tail what is stored of it. */
void rp__speaker_said(const struct rp__redactor *r, struct rp__speaker *k, const char *text, size_t n);
/* Whether a secret may go on, or begin, where the voice was interrupted. */
bool rp__speaker_seam_open(const struct rp__redactor *r, const struct rp__speaker *k, const char *text, size_t n);

#endif
