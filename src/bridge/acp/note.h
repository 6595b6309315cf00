/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written down of an ACP conversation: messages to events. Pure: no session, no clock. docs/protocol.md has
 * the table. A message's own bytes are kept as they came, what facets read stands beside them.
 */
#ifndef RP_BRIDGE_ACP_NOTE_H
#define RP_BRIDGE_ACP_NOTE_H

#include <reprise/reprise.h>

#include "json/json.h"

#define RP_NOTES_MAX 4     /* events of one message */
#define RP_BOOK_CALLS 64   /* tool calls that are known by name; the oldest makes room */
#define RP_BOOK_ASKED 32   /* requests without an answer, likewise */
#define RP_BOOK_OPTIONS 8  /* options of a permission that are told apart; others are no */
#define RP_BOOK_NAME 96    /* bytes of a tool's name, with its end */
#define RP_BOOK_ID_MAX 255 /* raw bytes of a message's id; a longer one names no message to us */

/* A tool call: updates need not repeat what they do not change, but the ledger wants it. */
struct rp__book_call {
  uint64_t id; /* a hash of its toolCallId; 0: free */
  int64_t turn;
  const char *status; /* the ledger's word */
  char name[RP_BOOK_NAME];
};

/* A request that the editor has not answered: its turn is part of its name. */
struct rp__book_asked {
  uint64_t id; /* a hash; 0: free */
  int64_t turn;
  uint64_t option[RP_BOOK_OPTIONS]; /* hashes of those that allow */
};

/* What must be remembered between messages of one session. Zeroed, it is that of a new one; nothing to free. */
struct rp__book {
  int64_t turn; /* prompts so far: tool ids are unique within a turn only */
  struct rp__book_stream {
    bool open;    /* chunks of a message came, and need an end */
    bool thought; /* … of a thought */
    char role[16];
    char message_id[RP_BOOK_ID_MAX + 1]; /* as JSON; empty: none */
  } stream;
  struct rp__book_call calls[RP_BOOK_CALLS];
  struct rp__book_asked asked[RP_BOOK_ASKED];
  size_t next_call, next_asked;
};

struct rp__notes {
  struct rp__buf bytes;
  struct {
    const char *kind;
    size_t at, n; /* the body, in `bytes` */
  } v[RP_NOTES_MAX];
  size_t n;
  rp_durability durability; /* what decision 16 asks for */
  int odd;                  /* enum rp__rpc_odd of the message: whether the store would take its bytes */
};

void rp__notes_init(struct rp__notes *n);
void rp__notes_done(struct rp__notes *n);

/*
 * Each empties `out` first. RP_E_NOMEM, RP_E_TOO_LARGE (of the buffer as a whole), RP_E_INVALID: not as ACP has it (an
 * update is refused only when it is no object: one that makes no sense is kept as it is). On an error turn and stream
 * are as they were.
 */
int rp__note_prompt(struct rp__book *b, struct rp__json params, struct rp__notes *out, rp_error *err);
int rp__note_update(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err);
/* The same as it came, whatever it is. */
int rp__note_as_it_came(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err);
/* A message of ours, which no agent said. */
int rp__note_told(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err);
/* A message that is told as a whole, instead of what streamed of it before (version 2). */
int rp__note_whole(struct rp__book *b, struct rp__json update, bool thought, struct rp__notes *out, rp_error *err);
/* A call whose agent died: the editor reads that it failed, the ledger that nobody knows. */
int rp__note_cut_off(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err);
/* The end of a turn: its stop reason, or an error's message. */
int rp__note_turn_end(struct rp__book *b, int64_t turn, struct rp__json result, struct rp__json error,
                      struct rp__notes *out, rp_error *err);
/* A request of the agent's to the editor (permission, fs, terminal, elicitation) and what came back. */
int rp__note_request(struct rp__book *b, struct rp__json id, struct rp__json method, struct rp__json params,
                     struct rp__notes *out, rp_error *err);
int rp__note_answer(struct rp__book *b, struct rp__json id, const char *method, struct rp__json result,
                    struct rp__json error, struct rp__notes *out, rp_error *err);
/* A mode or an option that is set: told as the update of it that agents send. `by`: who chose it, or NULL. */
int rp__note_choice(const char *update, const char *member, struct rp__json value, const char *by,
                    struct rp__notes *out, rp_error *err);
/*
 * Bodies over the store's limits (bytes or levels) or with duplicate keys go to blobs of the session; the event keeps
 * where (`acp_blob`) and what facets read of it (decision 16). RP_E_TOO_LARGE: deeper than can be read back.
 */
int rp__notes_spill(rp_session *s, size_t body_max, struct rp__notes *n, rp_error *err);
/* The book of a session that is resumed: turns counted from its journal, which is read from its end. */
int rp__book_load(rp_session *s, struct rp__book *ret, rp_error *err);

#endif
