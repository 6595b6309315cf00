/* SPDX-License-Identifier: Apache-2.0 */
/* What the proxy remembers between two messages of a session: the turn, the open stream, tool calls and requests. */
#ifndef RP_BRIDGE_ACP_KNOWN_CALLS_H
#define RP_BRIDGE_ACP_KNOWN_CALLS_H

#include <reprise/reprise.h>

#include "json/json.h"

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

#endif
