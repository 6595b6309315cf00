/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One speaker's stream of chunks, in which a secret split over two chunks is found. The undecided
 * tail of a chunk is held back until the next chunk, or the end of the stream, decides. A stream can be saved and
 * loaded, so that the held tail may be stored, sealed, beside the text that was given out.
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

/*
 * Whether it has to be written down with its last chunk, of which the last `told` bytes of the context were given out:
 * something is undecided, or a name whose value may follow began in an earlier chunk.
 */
bool rp__redact_stream_matters(const struct rp__redactor *r, const struct rp__redact_stream *s, size_t told);
/* As bytes: at most RP_REDACT_SAVED. */
#define RP_REDACT_SAVED (RP_REDACT_TAIL_MAX + RP_REDACT_CONTEXT + 8)
void rp__redact_stream_save(const struct rp__redact_stream *s, struct rp__buf *out);
/* RP_E_CORRUPT: these are no saved stream. RP_E_NOMEM. */
int rp__redact_stream_load(const void *bytes, size_t n, struct rp__redact_stream *ret);
/* A stream that goes on behind a text that was given out, masked: a mask at its end may stand for a part of a secret.
 */
void rp__redact_stream_resume(const char *text, size_t n, struct rp__redact_stream *ret);
/* A secret may have begun in a text that is lost: what follows directly is taken for its rest. */
void rp__redact_stream_doubt(struct rp__redact_stream *s);
void rp__redact_stream_done(struct rp__redact_stream *s);

/* Takes the next chunk and appends to `out` what may be stored now: everything decided, masked. A push that fails
 * changes nothing but `out`. */
int rp__redact_stream_push(const struct rp__redactor *r, struct rp__redact_stream *s, const char *chunk, size_t n,
                           struct rp__buf *out, size_t *ret_hits);

/*
 * The stream is over: appends what was held, masked if it is a secret. What its speaker finished (`cut` false) is
 * judged as a whole text; of what was cut off, everything is masked that begins like a credential: a vendor's prefix, a
 * key's first line, the password of a URL, the value behind a credential's name.
 */
int rp__redact_stream_end(const struct rp__redactor *r, struct rp__redact_stream *s, bool cut, struct rp__buf *out,
                          size_t *ret_hits);

/*
 * The stream is over and `next`, which is stored apart from it, follows directly: appends what was held. A secret that
 * reaches from it into `next` is masked as far as it stands here; rp__redact_after masks the rest.
 */
int rp__redact_stream_end_before(const struct rp__redactor *r, struct rp__redact_stream *s, const char *next, size_t n,
                                 struct rp__buf *out, size_t *ret_hits);

/*
 * For speakers whose earlier chunk is stored already and can't be held any more (another process wrote it): given the
 * stored (masked) tail of the previous text, masks in `text` what continues a secret begun there. `joined`: the two are
 * parts of one message, so a mask at the very end of `before` that is directly continued is continued as a secret.
 */
int rp__redact_after(const struct rp__redactor *r, const char *before, size_t n_before, bool joined, const char *text,
                     size_t n, struct rp__buf *out, size_t *ret_hits);

#endif
