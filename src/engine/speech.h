/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction in the journal's funnel (X-14, decision 11): every body is masked before it is stored, and what a speaker
 * says in chunks is looked at as one stream, so that a secret split over two chunks is still found.
 */
#ifndef RP_ENGINE_SPEECH_H
#define RP_ENGINE_SPEECH_H

#include "core/mask.h"
#include "engine/engine.h"
#include "redact/stream.h"

struct rp__speech; /* of one session handle; made when somebody first speaks in it */

/* What a chunk changed in its speaker's stream, for taking it back when the chunk was not stored. */
struct rp__speech_undo {
  void *speaker; /* NULL: nothing */
  struct rp__redact_stream before;
};

/*
 * The body of a checked event as it may be stored: the bytes that came, or masked ones in `out`. `undo` (zeroed by the
 * caller) is given to settle or undo afterwards. RP_E_NOMEM, RP_E_TOO_LARGE.
 */
int rp__speech_mask(rp_session *s, const struct rp__event *ev, struct rp__buf *out, struct rp__str *ret,
                    struct rp__speech_undo *undo);
/* The event was not stored (`stored` false), or it was. */
void rp__speech_settle(rp_session *s, struct rp__speech_undo *undo, bool stored);

/* Nobody goes on speaking: what was held back is stored now, masked where it is part of a secret. */
void rp__speech_end(rp_session *s);
void rp__speech_free(struct rp__speech *sp);

/* The same for bodies and texts without a speaker. *ret is the input itself when nothing was masked. */
int rp__engine_mask(rp_engine *e, const char *scope, enum rp__kind kind, struct rp__json body, struct rp__buf *out,
                    struct rp__str *ret);
int rp__engine_mask_bytes(rp_engine *e, const char *scope, const void *bytes, size_t n, struct rp__buf *out,
                          struct rp__str *ret);
int rp__engine_mask_text(rp_engine *e, const char *scope, const char *text, struct rp__buf *out, const char **ret);

#endif
