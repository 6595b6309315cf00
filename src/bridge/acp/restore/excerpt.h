/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded excerpt of a tool's input or output: its beginning, its end, and the number of bytes left out between them.
 * Text from others is quoted before it goes into the text for an agent, so that none of its lines looks like a line of
 * Reprise.
 */
#ifndef RP_BRIDGE_ACP_PIECE_H
#define RP_BRIDGE_ACP_PIECE_H

#include "base/buf.h"

struct rp__excerpt {
  struct rp__buf text; /* as it was said */
  size_t gap, left;    /* where the text has a hole, and how many bytes are missing there; 0: none */
};

void rp__excerpt_done(struct rp__excerpt *p);
/* Takes the text instead of what it had, at most `max` bytes of it as they will be written. RP_E_NOMEM. */
int rp__excerpt_set(struct rp__excerpt *p, const char *text, size_t n, size_t max);
/* Leaves out what is over `max` bytes, unless saying so takes as much. */
void rp__excerpt_fit(struct rp__excerpt *p, size_t max);
/* The bytes that rp__excerpt_write needs at most, label included. */
size_t rp__excerpt_size(const struct rp__excerpt *p);
/* "Output: …", further lines behind "> ", and a line of ours where something is left out. */
void rp__excerpt_write(const struct rp__excerpt *p, const char *label, struct rp__buf *out);

/* "[… 12,345 bytes left out]" */
void rp__left_out(struct rp__buf *out, size_t n);

/* One character of others' words, `len` bytes: a line's end begins a quoted line, a control character is a space. */
void rp__quote(struct rp__buf *out, const char *c, unsigned len);

#endif
