/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message as the conversation keeps it: one block of memory, with the content's bytes as they came. Chunks of a
 * stream (`message` with "partial":true) are joined to the message that the first chunk began.
 */
#ifndef RP_FACETS_MESSAGE_H
#define RP_FACETS_MESSAGE_H

#include "core/fold.h"

#define RP_MESSAGE_JOINED_MAX                                                                                          \
  ((size_t)256 * 1024)            /* bytes of a joined content; the next chunk begins a new message                    \
                                   */
#define RP_MESSAGE_SMALL_MAX 4096 /* raw bytes of role, message_id and source; what the check lets in is below */

/* The parts of a message that are kept, in the order of their bytes. */
enum rp__message_part { RP_MSG_ROLE, RP_MSG_CONTENT, RP_MSG_ID, RP_MSG_SOURCE, RP_MSG_PARTS };

/* A body, looked at. */
struct rp__message_body {
  struct rp__json part[RP_MSG_PARTS];
  bool partial;
  bool thought; /* what somebody thought is no part of what was said */
  bool whole;   /* all of a message, by its message_id, of which chunks may have come */
};

struct rp__message {
  int64_t seq, at_ms;       /* of the first chunk */
  int64_t omitted;          /* bytes of a content too large to keep, which is null then; else 0 */
  int64_t text_end;         /* message.c's own */
  bool carried;             /* from an earlier session; its seq is that of the event that brought it */
  bool turn;                /* the user's or the assistant's */
  bool open;                /* a stream that may go on */
  bool follows;             /* goes on with a stream that was too long for the message before of that id */
  uint32_t n[RP_MSG_PARTS]; /* 0: absent */
  size_t cap;
  char bytes[];
};

/* One walk over the object, because the content may be long. */
struct rp__message_body rp__message_look(struct rp__json object);
/* Whether it is a message; leaves out optional parts of the wrong kind. */
bool rp__message_ok(struct rp__message_body *b);

/* Freed with free(); NULL without memory. */
struct rp__message *rp__message_new(const struct rp__message_body *b, int64_t seq, int64_t at_ms);
size_t rp__message_bytes(const struct rp__message *m);
/* One part as it came; RP_JSON_NONE when it is absent. */
struct rp__json rp__message_part(const struct rp__message *m, enum rp__message_part part);

/* Whether both are of one message: the same role and the same message_id, or none on both sides. What was carried from
 * an earlier session is no message of this one. */
bool rp__message_same(const struct rp__message *m, const struct rp__message_body *b);
/* Whether the body, of the same message, is a further chunk of it: the same kind of content, and room for it; or it
 * says nothing more and only ends it. */
bool rp__message_goes_on(const struct rp__message *m, const struct rp__message_body *b);
/* Whether the body, of the same message, is all of it: it says so, or it is no chunk and its text is longer than that
 * of `m` and begins with it. 0 or RP_E_NOMEM. */
int rp__message_is_whole(const struct rp__message *m, const struct rp__message_body *b, bool *ret);
/* Appends it: strings are one string, content blocks one array, in which a text goes on in the last text block. The
 * message may move. RP_E_NOMEM: it is as it was. */
int rp__message_join(struct rp__message **m, const struct rp__message_body *b);

/* The messages that a session's conversation keeps, oldest first, and how many there were in all. A fold that is NULL
 * has none; messages last until the fold changes. */
size_t rp__conversation_count(const struct rp__fold *f);
const struct rp__message *rp__conversation_at(const struct rp__fold *f, size_t i);
int64_t rp__conversation_total(const struct rp__fold *f);

/* `show`: for the state document, with the time as text. */
void rp__message_write(const struct rp__message *m, bool show, struct rp__jw *w);

#endif
