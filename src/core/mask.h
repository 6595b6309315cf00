/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking the credentials of an event's body: every string value is looked at decoded, a member whose name says that
 * it is a credential is masked whole (where the name is weak evidence, if it looks like one), protocol fields that only
 * sound like one are exempt by table (mask.c). A body without a secret stays the bytes that came.
 */
#ifndef RP_CORE_MASK_H
#define RP_CORE_MASK_H

#include "core/event.h"
#include "redact/redact.h"

/* *ret is `body` itself when nothing was masked, else bytes in `out`. *ret_hits may be NULL. RP_E_NOMEM, _TOO_LARGE. */
int rp__mask_body(const struct rp__redactor *r, enum rp__kind kind, struct rp__json body, struct rp__buf *out,
                  struct rp__str *ret, size_t *ret_hits);

/* The same for bytes that may be no event's: the strings of what is JSON, anything else as one text. */
int rp__mask_bytes(const struct rp__redactor *r, const void *bytes, size_t n, struct rp__buf *out, struct rp__str *ret,
                   size_t *ret_hits);

/*
 * The text of a chunk that belongs to a speaker's stream: the `content` of a message whose body says "partial":true.
 * RP_JSON_NONE for everything else: a transcript that says "final":false is whole, the next one replaces it. `speaker`
 * (RP_SPEAKER_MAX bytes) names the stream: kind, role and message_id. Who thinks is another speaker than who says.
 */
#define RP_SPEAKER_MAX 640
struct rp__json rp__mask_chunk(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX]);
/* The text of any event that has a speaker, whether it is a chunk or whole; for looking across the seam. */
struct rp__json rp__mask_spoken(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX]);
/* The content of a message that says nothing and is no chunk: it ends the speaker's stream. */
struct rp__json rp__mask_closing(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX]);
/* The texts of a message that has several text blocks, the first RP_TEXTS_MAX of them; 0 for everything else. */
#define RP_TEXTS_MAX 64
size_t rp__mask_texts(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX], struct rp__json texts[RP_TEXTS_MAX]);
/* The same body with `text` in place of that string. */
int rp__mask_with_text(struct rp__json body, struct rp__json string, const char *text, size_t n, struct rp__buf *out);

#endif
