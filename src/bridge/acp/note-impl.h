/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that write notes share. */
#ifndef RP_BRIDGE_ACP_NOTE_IMPL_H
#define RP_BRIDGE_ACP_NOTE_IMPL_H

#include "bridge/acp/note.h"

#define RP_NOTE_OURS "reprise-" /* how ids of messages begin that no agent said */
#define RP_NOTE_ID_MAX 512      /* bytes of an id in an event; a longer one is cut and made unique by a hash */

/* Empties the notes and says how durable they shall be. */
void rp__notes_begin(struct rp__notes *n, rp_durability d);
/* An event: the writer stands inside its body until rp__note_end. */
struct rp__jw rp__note_begin(struct rp__notes *n, const char *kind);
void rp__note_end(struct rp__notes *n, struct rp__jw *w);
/* What all the functions end with: the buffer's error, or 0. */
int rp__notes_finish(struct rp__notes *n, rp_error *err);

void rp__note_member(struct rp__jw *w, struct rp__json key, struct rp__json value);
/* Writes "acp":{…} with the members of `object` whose names are not in the list; nothing when there are none. */
void rp__note_rest(struct rp__jw *w, struct rp__json object, const char *const *but);
/* Writes "NAME":"<prefix><turn>:<id>", `id` being a string's text or a number's digits. */
void rp__note_id(struct rp__jw *w, const char *name, char prefix, int64_t turn, struct rp__json id);
/* Chunks of a message are followed by its end. */
void rp__note_end_stream(struct rp__book *b, struct rp__notes *out);

/* Never 0. Of a string's text; of anything else's bytes. */
uint64_t rp__note_hash(struct rp__json v);

/* Whether a message with that id is the proxy's own word to the editor: no agent said it. */
bool rp__note_is_ours(struct rp__json message_id);

/* tool_call and tool_call_update; false: not as ACP has it, nothing was written. */
bool rp__note_tool(struct rp__book *b, struct rp__json update, bool first, struct rp__notes *out);

struct rp__book_call *rp__book_call(struct rp__book *b, uint64_t id);
struct rp__book_call *rp__book_call_add(struct rp__book *b, uint64_t id);
struct rp__book_asked *rp__book_asked(struct rp__book *b, uint64_t id);
struct rp__book_asked *rp__book_asked_add(struct rp__book *b, uint64_t id);

#endif
