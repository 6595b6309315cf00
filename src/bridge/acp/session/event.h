/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns messages of the protocol into events of the journal. Pure: no session, no clock. docs/protocol.md has the
 * table. An event holds the message's bytes as they came, and beside them the members that facets read.
 */
#ifndef RP_BRIDGE_ACP_EVENT_H
#define RP_BRIDGE_ACP_EVENT_H

#include <reprise/host.h>
#include <reprise/reprise.h>

#include "bridge/line.h"
#include "json/json.h"

/* ---- the memory between messages of one session: its turn, an open stream, calls, requests (known-calls.c) ---- */

#define RP_KNOWN_CALLS 64   /* tool calls that are known by name; the oldest makes room */
#define RP_KNOWN_ASKED 32   /* requests without an answer, likewise */
#define RP_KNOWN_OPTIONS 8  /* options of a permission that are told apart; others are no */
#define RP_KNOWN_NAME 96    /* bytes of a tool's name, with its end */
#define RP_KNOWN_ID_MAX 255 /* raw bytes of a message's id; a longer one names no message to us */

/* A tool call: updates need not repeat what they do not change, but the ledger wants it. */
struct rp__known_call {
  uint64_t id; /* a hash of its toolCallId; 0: free */
  int64_t turn;
  const char *status; /* the ledger's word */
  char name[RP_KNOWN_NAME];
};

/* A request that the editor has not answered: its turn is part of its name. */
struct rp__known_request {
  uint64_t id; /* a hash; 0: free */
  int64_t turn;
  uint64_t option[RP_KNOWN_OPTIONS]; /* hashes of those that allow */
};

/* What must be remembered between messages of one session. Zeroed, it is that of a new one; nothing to free. */
struct rp__known_calls {
  int64_t turn; /* prompts so far: tool ids are unique within a turn only */
  struct rp__known_stream {
    bool open;    /* chunks of a message came, and need an end */
    bool thought; /* … of a thought */
    char role[16];
    char message_id[RP_KNOWN_ID_MAX + 1]; /* as JSON; empty: none */
  } stream;
  struct rp__known_call calls[RP_KNOWN_CALLS];
  struct rp__known_request asked[RP_KNOWN_ASKED];
  size_t next_call, next_asked;
};

struct rp__known_call *rp__known_call(struct rp__known_calls *b, uint64_t id);
struct rp__known_call *rp__known_call_add(struct rp__known_calls *b, uint64_t id);
struct rp__known_request *rp__known_request(struct rp__known_calls *b, uint64_t id);
struct rp__known_request *rp__known_request_add(struct rp__known_calls *b, uint64_t id);
/* The known calls of a session that is resumed: turns counted from its journal, which is read from its end. */
RP_MUST_USE int rp__known_calls_load(rp_session *s, struct rp__known_calls *ret, rp_error *err);

/* ---- events ---- */

#define RP_ACP_EVENTS_MAX 4           /* events of one message */
#define RP_ACP_OUR_MESSAGE "reprise-" /* how ids of messages begin that no agent said */
#define RP_ACP_EVENT_ID_MAX 512       /* bytes of an id in an event; a longer one is cut and made unique by a hash */

struct rp__acp_events {
  struct rp__buf bytes;
  struct {
    const char *kind;
    size_t at, n; /* the body, in `bytes` */
  } v[RP_ACP_EVENTS_MAX];
  size_t n;
  rp_durability durability;      /* that the kind of message needs */
  struct rp__known_calls *known; /* whose stream is as it was before when the events can't be written */
  struct rp__known_stream before;
  int odd; /* enum rp__rpc_odd of the message: whether the store would take its bytes */
};

/* None yet, with room for the longest line and what is written around it. */
#define RP_ACP_EVENTS ((struct rp__acp_events){.bytes = RP_BUF(RP_LINE_MAX + ((size_t)1 << 20))})
#define RP_AUTOEVENTS RP_CLEANUP(rp__acp_events_done)
void rp__acp_events_done(struct rp__acp_events *n);
void rp__acp_events_list(const struct rp__acp_events *n,
                         rp_event ret[RP_ACP_EVENTS_MAX]); /* as the engine takes them */

/* Never 0. Of a string's text; of anything else's bytes. */
uint64_t rp__acp_event_hash(struct rp__json v);
/* Whether a message with that id is the proxy's own word to the editor: no agent said it. */
bool rp__acp_event_is_ours(struct rp__json message_id);
/* A member as it came; nothing where a peer sent an array in the place of an object. */
void rp__acp_copy_member(struct rp__jw *w, struct rp__json key, struct rp__json value);

/*
 * Each empties `out` first. RP_E_NOMEM, RP_E_TOO_LARGE (of the buffer as a whole), RP_E_INVALID: not as ACP has it (an
 * update is refused only when it is no object: one that makes no sense is kept as it is). On an error turn and stream
 * are as they were. `project`: the name of the folder in which the user asks, or NULL.
 */
RP_MUST_USE int rp__acp_event_prompt(struct rp__known_calls *b, struct rp__json params, const char *project,
                                     struct rp__acp_events *out, rp_error *err);
RP_MUST_USE int rp__acp_event_update(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out,
                                     rp_error *err);
/* The same as it came, whatever it is. */
RP_MUST_USE int rp__acp_event_as_it_came(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out,
                                         rp_error *err);
/* A message of ours, which no agent said. */
RP_MUST_USE int rp__acp_event_told(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out,
                                   rp_error *err);
/* A message that is told as a whole, instead of what streamed of it before (version 2). */
RP_MUST_USE int rp__acp_event_whole(struct rp__known_calls *b, struct rp__json update, bool thought,
                                    struct rp__acp_events *out, rp_error *err);
/* A call whose agent died: the editor reads that it failed, the ledger that nobody knows. */
RP_MUST_USE int rp__acp_event_cut_off(struct rp__known_calls *b, struct rp__json update, struct rp__acp_events *out,
                                      rp_error *err);
/* The end of a turn: its stop reason, or an error's message. */
RP_MUST_USE int rp__acp_event_turn_end(struct rp__known_calls *b, int64_t turn, struct rp__json result,
                                       struct rp__json error, struct rp__acp_events *out, rp_error *err);
/* A request of the agent's to the editor (permission, fs, terminal, elicitation) and what came back. */
RP_MUST_USE int rp__acp_event_request(struct rp__known_calls *b, struct rp__json id, struct rp__json method,
                                      struct rp__json params, struct rp__acp_events *out, rp_error *err);
RP_MUST_USE int rp__acp_event_answer(struct rp__known_calls *b, struct rp__json id, const char *method,
                                     struct rp__json result, struct rp__json error, struct rp__acp_events *out,
                                     rp_error *err);
/* A mode or an option that is set: told as the update of it that agents send. `by`: who chose it, or NULL. */
RP_MUST_USE int rp__acp_event_choice(const char *update, const char *member, struct rp__json value, const char *by,
                                     struct rp__acp_events *out, rp_error *err);
/*
 * Bodies over the store's limits (bytes or levels) or with duplicate keys go to blobs of the session; the event keeps
 * where (`acp_blob`) and what facets read of it. RP_E_TOO_LARGE: deeper than can be read back.
 */
RP_MUST_USE int rp__acp_events_large_body(rp_session *s, size_t body_max, struct rp__acp_events *n, rp_error *err);
#endif
