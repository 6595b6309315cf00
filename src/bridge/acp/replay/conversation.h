/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a session's journal as a conversation: event by event, each with its meaning for the proxy. Pages are copied,
 * so that a reader may make other calls of the store between two events.
 *
 * Events that guests wrote during a turn are skipped, because they repeat the turn: a hook inside the agent reports the
 * same prompt again. Events that others wrote outside of turns are part of the conversation.
 */
#ifndef RP_BRIDGE_ACP_PAST_H
#define RP_BRIDGE_ACP_PAST_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "json/json.h"

#define RP_CONVERSATION_PAGE 256                        /* events of a page */
#define RP_CONVERSATION_BYTES ((size_t)256 * 1024)      /* … and bytes, after which no further event is taken */
#define RP_CONVERSATION_BLOB ((size_t)72 * 1024 * 1024) /* the largest that is read back */

enum rp__conversation_kind {
  RP_CONVERSATION_OTHER,
  RP_CONVERSATION_PROMPT,  /* of the editor's user; a turn begins */
  RP_CONVERSATION_MESSAGE, /* a chunk, the end of a stream, or somebody's whole message */
  RP_CONVERSATION_TOOL,
  RP_CONVERSATION_UPDATE,  /* an update as it came */
  RP_CONVERSATION_REQUEST, /* of the agent's: files and terminals */
  RP_CONVERSATION_ANSWER,
  RP_CONVERSATION_TURN_END,
  RP_CONVERSATION_DIED, /* the agent did; the proxy ends its turn */
  RP_CONVERSATION_RUN,  /* a new run began: nobody goes on with what is open */
  RP_CONVERSATION_BACK, /* the session was set back to `to` */
};

struct rp__conversation_event {
  int64_t seq, to;
  enum rp__conversation_kind kind;
  struct rp__json body; /* good until the next call */
};

struct rp__conversation {
  rp_session *s;
  int64_t at, end; /* read so far; the last that counts */
  struct rp__buf bytes, blob;
  struct {
    int64_t seq;
    enum rp__conversation_kind kind;
    size_t at, n;
  } page[RP_CONVERSATION_PAGE];
  size_t i, n;
  bool turn; /* one is running */
};

/* `end` < 0: as far as the journal goes now. */
RP_MUST_USE int rp__conversation_open(struct rp__conversation *p, rp_session *s, int64_t end, rp_error *err);
void rp__conversation_done(struct rp__conversation *p);
/* 1 and the next event; 0 at the end; an error. */
RP_MUST_USE int rp__conversation_next(struct rp__conversation *p, struct rp__conversation_event *ret, rp_error *err);
/* Makes ev->body whole when it is in a blob. One that is gone leaves the body as it is. */
RP_MUST_USE int rp__conversation_whole(struct rp__conversation *p, struct rp__conversation_event *ev, rp_error *err);
/* One event's body by its number, whole, into `out`. */
RP_MUST_USE int rp__conversation_read(struct rp__conversation *p, int64_t seq, struct rp__buf *out, rp_error *err);

/* ---- the survey: the last value of each state update, what was undone, and the place of each terminal's output ----
 */

#define RP_TERMINALS_MAX 4096  /* terminals whose output is found again; the oldest are forgotten */
#define RP_TERMINALS_ASKED 256 /* requests on their way */
#define RP_COMPACTIONS_MAX 256 /* told at their place; further ones are left out */
#define RP_BACKS_MAX 65536     /* times that a session was set back */

/* The updates of which only the last value counts; a title has a last value of its own. */
enum rp__state_update {
  RP_STATE_COMMANDS,
  RP_STATE_USAGE,
  RP_STATE_MODE,
  RP_STATE_CONFIG,
  RP_STATE_INFO,
  RP_STATE_TITLE,
  RP_STATES,
};

struct rp__stretch {
  int64_t after, upto; /* events that no longer count: after < seq <= upto */
};

struct rp__terminal {
  uint64_t id;
  int64_t created, output; /* numbers of the answers; output 0: nobody asked */
};

struct rp__compaction {
  uint64_t id;
  int64_t first, last;
};

struct rp__survey {
  struct rp__stretch *undone; /* in order */
  size_t n_undone, cap_undone;
  int64_t last[RP_STATES];
  int64_t last_run;
  struct rp__terminal *terminals; /* a ring */
  size_t n_terminals, cap_terminals;
  struct {
    uint64_t request, terminal;
  } asked[RP_TERMINALS_ASKED];
  size_t next_asked;
  struct rp__compaction compactions[RP_COMPACTIONS_MAX];
  size_t n_compactions;
};

/* Which of the state updates it is; -1: none of them. */
int rp__state_update(struct rp__json name);
bool rp__is_compaction(struct rp__json name);

/* Reads a conversation that was just opened, and rewinds it. */
RP_MUST_USE int rp__survey(struct rp__conversation *c, struct rp__survey *s, rp_error *err);
void rp__survey_done(struct rp__survey *s);
bool rp__survey_undone(const struct rp__survey *s, int64_t seq);
/*
 * The output of the terminal that had this id when event `seq` was written: a string in `room`, or NONE where nobody
 * asked for it.
 */
RP_MUST_USE int rp__survey_output(const struct rp__survey *s, struct rp__conversation *c, struct rp__json id,
                                  int64_t seq, struct rp__buf *room, struct rp__json *ret, rp_error *err);

#endif
