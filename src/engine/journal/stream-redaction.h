/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction on the way into the journal (X-14, B-14). Every body is masked before it is stored.
 * The chunks of one speaker are searched as one stream, so that a secret split over two chunks is found.
 */
#ifndef RP_ENGINE_SPEECH_H
#define RP_ENGINE_SPEECH_H

#include "core/mask.h"
#include "engine/engine.h"

struct rp__stream_redaction; /* of one session handle; made when somebody first speaks in it */
struct rp__batch;

/*
 * Around the events of a batch that was checked: catch_up locks the handle's streams and makes them known, which may
 * ask the store; end unlocks. Each event between them goes through rp__stream_redaction_take, which adds it to the
 * batch, masked, behind what it makes other streams tell. After a failure, or when the batch is not stored, the streams
 * are read anew. RP__PREPARE_LATER from catch_up: see RP_PREPARE_ORDER.
 */
RP_MUST_USE int rp__stream_redaction_catch_up(struct rp__batch *b, rp_error *err);
RP_MUST_USE int rp__stream_redaction_take(struct rp__batch *b, const struct rp__event *ev, rp_error *err);
void rp__stream_redaction_end(struct rp__batch *b, bool prepared);
/* A batch that changed the streams was not stored. */
void rp__stream_redaction_forget(rp_session *s);
void rp__stream_redaction_free(struct rp__stream_redaction *sp);

/* The same for bodies and texts without a speaker. *ret is the input itself when nothing was masked. */
int rp__engine_mask(rp_engine *e, const char *scope, enum rp__kind kind, struct rp__json body, struct rp__buf *out,
                    struct rp__str *ret);
int rp__engine_mask_bytes(rp_engine *e, const char *scope, const void *bytes, size_t n, struct rp__buf *out,
                          struct rp__str *ret);
int rp__engine_mask_text(rp_engine *e, const char *scope, const char *text, struct rp__buf *out, const char **ret);

#endif
