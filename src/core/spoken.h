/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spoken text of an event (a message, a transcript) and its speaker. Redaction searches this text across events,
 * because a secret may begin in one event and end in the next (B-14).
 */
#ifndef RP_CORE_SPOKEN_H
#define RP_CORE_SPOKEN_H

#include "core/event.h"

#define RP_SPEAKER_MAX 640 /* bytes of a speaker's name, NUL included */
#define RP_TEXTS_MAX 64    /* text blocks of one message that are looked at */

enum rp__spoken_form {
  RP_SPOKEN_NOTHING, /* nobody speaks */
  RP_SPOKEN_TEXT,    /* one text: a content that is a string, or the only text block; a transcript's text */
  RP_SPOKEN_TEXTS,   /* a message of several text blocks */
  RP_SPOKEN_END,     /* a message with empty content that is no chunk: it ends the speaker's stream */
};

struct rp__spoken {
  enum rp__spoken_form form;
  bool chunk;           /* a message that says "partial":true: a piece of the speaker's stream */
  bool unfinished;      /* a chunk, or a transcript that says "final":false, which the next one replaces */
  bool named;           /* it has a message id */
  bool thought;         /* a speaker thinks in another stream than it talks */
  struct rp__json text; /* TEXT: the string. END: the content. TEXTS: none */
  size_t n_texts;       /* TEXTS: at least 2 */
  struct rp__json texts[RP_TEXTS_MAX];
  size_t voice_length;       /* bytes of the name that stand for kind and role, whatever the message is */
  char name[RP_SPEAKER_MAX]; /* of the stream: kind, role and message id */
};

/* Looks at an event that was checked. */
void rp__spoken_read(const struct rp__event *ev, struct rp__spoken *ret);
/* The body with `text` in place of that string of it. */
int rp__spoken_replace(struct rp__json body, struct rp__json string, const char *text, size_t n, struct rp__buf *out);

#endif
