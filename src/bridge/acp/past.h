/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's journal read as a conversation: event by event, each with what it means to the proxy. Pages are copied,
 * so that whoever reads may ask the store for something else meanwhile.
 *
 * What guests wrote while a turn was running (a hook inside the agent tells the same prompt again) is passed over; what
 * others wrote outside of turns is part of the conversation.
 */
#ifndef RP_BRIDGE_ACP_PAST_H
#define RP_BRIDGE_ACP_PAST_H

#include <reprise/reprise.h>

#include "json/json.h"

#define RP_PAST_PAGE 256                        /* events of a page */
#define RP_PAST_BYTES ((size_t)256 * 1024)      /* … and bytes, after which no further event is taken */
#define RP_PAST_BLOB ((size_t)72 * 1024 * 1024) /* the largest that is read back */

enum rp__past_kind {
  RP_PAST_OTHER,
  RP_PAST_PROMPT,  /* of the editor's user; a turn begins */
  RP_PAST_MESSAGE, /* a chunk, the end of a stream, or somebody's whole message */
  RP_PAST_TOOL,
  RP_PAST_UPDATE,  /* an update as it came */
  RP_PAST_REQUEST, /* of the agent's: files and terminals */
  RP_PAST_ANSWER,
  RP_PAST_TURN_END,
  RP_PAST_DIED, /* the agent did; the proxy ends its turn */
  RP_PAST_RUN,  /* a new run began: nobody goes on with what is open */
  RP_PAST_BACK, /* the session was set back to `to` */
};

struct rp__past_event {
  int64_t seq, to;
  enum rp__past_kind kind;
  struct rp__json body; /* good until the next call */
};

struct rp__past {
  rp_session *s;
  int64_t at, end; /* read so far; the last that counts */
  struct rp__buf bytes, blob;
  struct {
    int64_t seq;
    enum rp__past_kind kind;
    size_t at, n;
  } page[RP_PAST_PAGE];
  size_t i, n;
  bool turn; /* one is running */
};

/* `end` < 0: as far as the journal goes now. */
int rp__past_open(struct rp__past *p, rp_session *s, int64_t end, rp_error *err);
void rp__past_done(struct rp__past *p);
void rp__past_rewind(struct rp__past *p); /* to the beginning */
/* 1 and the next event; 0 at the end; an error. */
int rp__past_next(struct rp__past *p, struct rp__past_event *ret, rp_error *err);
/* Makes ev->body whole when it is in a blob. One that is gone leaves the body as it is. */
int rp__past_whole(struct rp__past *p, struct rp__past_event *ev, rp_error *err);
/* One event's body by its number, whole, into `out`. */
int rp__past_read(struct rp__past *p, int64_t seq, struct rp__buf *out, rp_error *err);

#endif
