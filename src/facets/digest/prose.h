/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prose: what a person or an agent says in a text, without pasted logs, code, tables and marks of Markdown. All texts
 * are UTF-8 on one line when they come out. Lengths are widths: a Chinese, Japanese or Korean character counts as two,
 * because it says about as much as two letters and more.
 */
#ifndef RP_FACETS_PROSE_H
#define RP_FACETS_PROSE_H

#include "facets/digest/cues.h"

/* Appends a text: its beginning and end when it is wider than `max`, for a wish stands before or behind what is pasted.
 */
void rp__prose_middle(struct rp__str text, size_t max, struct rp__buf *out);
/* As rp__prose_middle, in at most so many bytes, whatever the script. */
void rp__prose_fit(struct rp__str text, size_t max_bytes, struct rp__buf *out);
/* Appends a text, cut at the end when it is wider than `max`. */
void rp__prose_clip(struct rp__str text, size_t max, struct rp__buf *out);
size_t rp__prose_width(struct rp__str text);

/* Without code blocks, headings, tables, rules and the marks of Markdown; line ends stay. */
void rp__prose_plain(struct rp__str text, struct rp__buf *out);
/* What a prompt asks for. */
void rp__prose_request(rp__cues more, struct rp__str prompt, struct rp__buf *out);
/* How an answer ends: its first sentence that says something, and a question at its end. */
void rp__prose_answer(rp__cues more, struct rp__str answer, size_t max, struct rp__buf *out);
/* Whether a text only announces a step, or breaks off: the work was not at its end. */
bool rp__prose_cut_off(rp__cues more, struct rp__str text);
/* The first line that tells what went wrong; nothing when none does. */
void rp__prose_error(rp__cues more, struct rp__str text, size_t max, struct rp__buf *out);

/* Sentences of a text, without blanks and list marks around them. */
struct rp__sentences {
  struct rp__str rest;
};
bool rp__sentences_next(struct rp__sentences *s, struct rp__str *ret);
/* Whether a text ends with a question mark. */
bool rp__is_question(struct rp__str text);

#endif
