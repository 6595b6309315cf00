/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of a session (L-07): notes, frames, the tail of the transcript, and the subject of the conversation. */
#ifndef RP_FACETS_EVIDENCE_H
#define RP_FACETS_EVIDENCE_H

#include "facets/rows.h"
#include "facets/table.h"

enum { RP_NOTE_ID, RP_NOTE_TEXT, RP_NOTE_CATEGORY, RP_NOTE_CONFIDENCE, RP_NOTE_TIMESTAMP, RP_NOTE_SEQ };
enum { RP_FRAME_ID, RP_FRAME_TIMESTAMP, RP_FRAME_EMBEDDING, RP_FRAME_UPLOADED, RP_FRAME_SEQ };

/* What a conversation is about, merged from `intent` events: JSON as it came; empty: none. */
struct rp__gist {
  struct rp__buf topics, intent, context;
};

struct rp__evidence_heard {
  struct rp__rows notes, frames;      /* oldest first */
  struct rp__buf transcript, interim; /* plain text; interim: what is not final yet */
  struct rp__gist gist;
  int64_t context_used; /* notes that say which context they used */
};

/* Lasts until the fold changes. NULL of a fold that is NULL. */
const struct rp__evidence_heard *rp__evidence_heard(const struct rp__fold *f);
bool rp__gist_empty(const struct rp__gist *g);
/* The member `memory` of an open object. */
void rp__gist_write(const struct rp__gist *g, struct rp__jw *w);
/* The tail of the transcript and behind it what is not final yet; errors stick in `out`. */
void rp__evidence_transcript(const struct rp__evidence_heard *e, struct rp__buf *out);

#endif
