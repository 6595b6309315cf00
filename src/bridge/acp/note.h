/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written down of an ACP conversation: messages to events. Pure: no session, no clock. docs/protocol.md has
 * the table. A message's own bytes are kept as they came, what facets read stands beside them.
 */
#ifndef RP_BRIDGE_ACP_NOTE_H
#define RP_BRIDGE_ACP_NOTE_H

#include <reprise/reprise.h>

#include "json/json.h"

#define RP_NOTES_MAX 4 /* events of one message */

/* What must be remembered between messages of one session. */
struct rp__book {
  int64_t turn;   /* prompts so far: tool ids are unique within a turn only */
  bool streaming; /* chunks of a message are open and need an end */
  bool thought;   /* … of a thought */
  char role[16];
  char message_id[256];
};

struct rp__notes {
  struct rp__buf bytes;
  struct {
    const char *kind;
    size_t at, n; /* the body, in `bytes` */
  } v[RP_NOTES_MAX];
  size_t n;
  rp_durability durability; /* what decision 16 asks for */
};

void rp__notes_init(struct rp__notes *n);
void rp__notes_done(struct rp__notes *n);

/* Each empties `out` first. RP_E_NOMEM, RP_E_TOO_LARGE (of the buffer as a whole), RP_E_INVALID: not as ACP has it. */
int rp__note_prompt(struct rp__book *b, struct rp__json params, struct rp__notes *out, rp_error *err);
int rp__note_update(struct rp__book *b, struct rp__json update, struct rp__notes *out, rp_error *err);
/* The end of a turn: its stop reason, or an error's message. */
int rp__note_turn_end(struct rp__book *b, struct rp__json result, struct rp__json error, struct rp__notes *out,
                      rp_error *err);
/* A request of the agent's to the editor (permission, fs, terminal, elicitation) and what came back. */
int rp__note_request(struct rp__book *b, struct rp__json id, struct rp__json method, struct rp__json params,
                     struct rp__notes *out, rp_error *err);
int rp__note_answer(struct rp__book *b, struct rp__json id, const char *method, struct rp__json result,
                    struct rp__json error, struct rp__notes *out, rp_error *err);
/* Bodies over the store's limit go to blobs of the session; the event keeps where (decision 16). */
int rp__notes_spill(rp_session *s, size_t body_max, struct rp__notes *n, rp_error *err);
/* The book of a session that is resumed: turns counted from its journal. */
int rp__book_load(rp_session *s, struct rp__book *ret, rp_error *err);

#endif
