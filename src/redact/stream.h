/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One speaker's stream of chunks (decision 11): a secret split over two chunks is still one once they are joined. The
 * undecided tail of a chunk is held back until the next chunk, or the end of the stream, decides. What was held when a
 * process dies is lost, and nothing else.
 */
#ifndef RP_REDACT_STREAM_H
#define RP_REDACT_STREAM_H

#include "redact/redact.h"

#define RP_REDACT_CONTEXT                                                                                              \
  160 /* bytes given out that are kept to read what follows: a name, what stands before a token */

/* Start with {0}. */
struct rp__redact_stream {
  struct rp__buf held;  /* raw bytes not given out yet; zeroed before they are freed */
  unsigned char inside; /* the last thing given out was a secret whose end was not seen: what follows directly belongs
                           to it (an enum rp__run says which bytes; 0: none) */
  char quote;           /* the quote that ends it, or 0 */
  bool cut;             /* there was text before the context */
  size_t n_context;
  char context[RP_REDACT_CONTEXT];
};

/* A copy to go back to, for chunks that turn out not to be stored. RP_E_NOMEM. */
int rp__redact_stream_copy(const struct rp__redact_stream *s, struct rp__redact_stream *ret);
void rp__redact_stream_done(struct rp__redact_stream *s);

/* Takes the next chunk and appends to `out` what may be stored now: everything decided, masked. A push that fails
 * changes nothing but `out`. */
int rp__redact_stream_push(const struct rp__redactor *r, struct rp__redact_stream *s, const char *chunk, size_t n,
                           struct rp__buf *out, size_t *ret_hits);

/* The stream is over: appends what was held, masked if it is a secret, or long enough a part of one to be worth hiding.
 */
int rp__redact_stream_end(const struct rp__redactor *r, struct rp__redact_stream *s, struct rp__buf *out,
                          size_t *ret_hits);

/*
 * For speakers whose earlier chunk is stored already and can't be held any more (another process wrote it): given the
 * stored (masked) tail of the previous text, masks in `text` what continues a secret begun there. `joined`: the two are
 * parts of one message, so a mask at the very end of `before` that is directly continued is continued as a secret.
 */
int rp__redact_after(const struct rp__redactor *r, const char *before, size_t n_before, bool joined, const char *text,
                     size_t n, struct rp__buf *out, size_t *ret_hits);

#endif
