/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns messages of the protocol into events of the journal. Pure: no session, no clock. docs/protocol.md has the
 * table. An event holds the message's bytes as they came, and beside them the members that facets read.
 */
#ifndef RP_BRIDGE_ACP_EVENT_H
#define RP_BRIDGE_ACP_EVENT_H

#include <reprise/host.h>
#include <reprise/reprise.h>

#include "bridge/acp/session/known-calls.h"
#include "json/json.h"

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
  rp_durability durability;      /* what decision 16 asks for */
  struct rp__known_calls *known; /* whose stream is as it was before when the events can't be written */
  struct rp__known_stream before;
  int odd; /* enum rp__rpc_odd of the message: whether the store would take its bytes */
};

void rp__acp_events_init(struct rp__acp_events *n);
void rp__acp_events_done(struct rp__acp_events *n);

/* Never 0. Of a string's text; of anything else's bytes. */
uint64_t rp__acp_event_hash(struct rp__json v);
/* Whether a message with that id is the proxy's own word to the editor: no agent said it. */
bool rp__acp_event_is_ours(struct rp__json message_id);
void rp__acp_event_member(struct rp__jw *w, struct rp__json key, struct rp__json value);

/*
 * Each empties `out` first. RP_E_NOMEM, RP_E_TOO_LARGE (of the buffer as a whole), RP_E_INVALID: not as ACP has it (an
 * update is refused only when it is no object: one that makes no sense is kept as it is). On an error turn and stream
 * are as they were.
 */
RP_MUST_USE int rp__acp_event_prompt(struct rp__known_calls *b, struct rp__json params, struct rp__acp_events *out,
                                     rp_error *err);
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
 * where (`acp_blob`) and what facets read of it (decision 16). RP_E_TOO_LARGE: deeper than can be read back.
 */
RP_MUST_USE int rp__acp_events_large_body(rp_session *s, size_t body_max, struct rp__acp_events *n, rp_error *err);
#endif
