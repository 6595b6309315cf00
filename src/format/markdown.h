/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of a Markdown transcript: the text so far, handed over piece by piece. */
#ifndef RP_FORMAT_MARKDOWN_H
#define RP_FORMAT_MARKDOWN_H

#include "format/give.h"

struct rp__md {
  const struct rp__giver *g;
  struct rp__buf out;
  rp_error *err;
};

/* Hands over when enough has gathered. */
int rp__md_flush(struct rp__md *m);
/* Text on one line, as it is but for control characters; `n` bytes at most are looked at. */
void rp__md_line(struct rp__buf *out, const char *s, size_t n);
/* The decoded string of a value on one line; nothing when it is no string. */
void rp__md_value(struct rp__buf *out, struct rp__json v);
/* Text of several lines; control characters that a terminal would obey are left out. */
void rp__md_text(struct rp__buf *out, const char *s, size_t n);
/* Text in a fence that nothing inside can close. */
void rp__md_fenced(struct rp__buf *out, const char *lang, const char *s, size_t n);
/* "00:49:08". */
void rp__md_clock(struct rp__buf *out, int64_t ms);
/* "16 November 2026". */
void rp__md_day(struct rp__buf *out, int64_t ms);

void rp__md_head(struct rp__md *m);
int rp__md_timeline(struct rp__md *m);
void rp__md_pins(struct rp__md *m);
void rp__md_tasks(struct rp__md *m);

#endif
