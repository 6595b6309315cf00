/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages that clients may push on a session's channel: one table from the names
 * of Phoenix events to events of the journal, queries, or immediate actions. Lossy's
 * own names are rows like the others.
 */
#ifndef RP_SERVER_PUSH_H
#define RP_SERVER_PUSH_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "json/json.h"
#include "server/pool.h"
#include "net/loop.h"

#define RP_PUSH_BODY_MAX (8 * 1024 * 1024) /* bytes of a body made here; the engine's own bound is smaller */
#define RP_PUSH_ANSWER_MAX (4 * 1024 * 1024)
#define RP_SYNC_GAP_MAX 100 /* events; a client further behind must begin anew */

enum {
  RP_PUSH_WRITES = 1,  /* needs the right to write */
  RP_PUSH_SILENT = 2,  /* no reply when it goes well */
  RP_PUSH_BINARY = 4,  /* takes binary payloads too */
  RP_PUSH_ALONE = 8,   /* starts when all before it is done; what follows waits for it */
  RP_PUSH_OBJECT = 16, /* the payload must be an object */
};

struct rp__channel;
struct rp__push;

/* Where a member of the body comes from. */
enum rp__push_fill {
  RP_FILL_NOTHING,
  RP_FILL_UUID,  /* a new id */
  RP_FILL_NOW,   /* the server's clock */
  RP_FILL_VIDEO, /* the channel's place in the video, when it is known */
  RP_FILL_TRUE,
};
struct rp__push_field {
  const char *to;          /* in the body; NULL ends the list */
  const char *from, *alt;  /* in the payload; alt is taken when `from` is absent; NULL: nowhere */
  enum rp__push_fill fill; /* when the payload has neither */
};

struct rp__push_row {
  const char *name; /* NULL ends the table */
  unsigned flags;
  /* An append: the kind, and how the payload becomes its body. Members that no field names are kept as they are. */
  const char *kind;
  const struct rp__push_field *fields;
  /* Or: at once, in the loop. Writes the reply's response. */
  int (*now)(struct rp__push *p, struct rp__jw *w, rp_error *err);
  /* Or: in the pool, alone. */
  int (*ask)(struct rp__push *p, struct rp__jw *w, rp_error *err);
};

extern const struct rp__push_row rp__pushes[];
extern const struct rp__push_row rp__push_leave;            /* phx_leave */
extern const struct rp__push_row rp__push_audio;            /* of the server itself: what a segment of audio was */
const struct rp__push_row *rp__push_find(const char *name); /* NULL: there is none */

/* What the channel knows at that moment. */
struct rp__push_moment {
  int64_t now_ms;
  bool has_video;
  double video; /* seconds into it */
};

/* An append made of a payload. Strings are owned; done with rp__push_event_done. */
struct rp__push_event {
  char *kind, *client_id;
  struct rp__buf body;
  int64_t at_ms, client_seq;
  rp_durability durability;
  bool accepts_memory; /* while the store is away */
};
/* RP_E_INVALID names the field of the payload. The event itself is checked by the engine. */
RP_MUST_USE int rp__push_event(const struct rp__push_row *row, const struct rp__push_moment *m, struct rp__json payload,
                               struct rp__push_event *ret, rp_error *err);
void rp__push_event_done(struct rp__push_event *e);

/* The bytes that a chunk of audio stands for: an array or object of numbers, a string, or what is binary. */
int64_t rp__push_chunk_bytes(struct rp__json data);
/* The `client_seq` that a refusal of the store asks for, or 0. */
int64_t rp__push_expected(const rp_error *err);
/* {"reason","message","field"?,"hint"?,"retryable","expected"?}; `reason` NULL: the error's name. */
void rp__push_refusal(const rp_error *err, const char *reason, struct rp__jw *w);

/* One push on its way. Made in the loop; its channel is held until it is done. */
struct rp__push {
  struct rp__job job;   /* back into the loop */
  struct rp__task task; /* in the pool */
  struct rp__push *next;
  struct rp__channel *ch;
  struct rp__loop *loop; /* for threads that may not look into the channel */
  const struct rp__push_row *row;
  struct rp__json payload; /* in `bytes`; RP_JSON_NONE when it is binary */
  struct rp__str data;     /* binary */
  bool binary;
  const char *ref; /* in `bytes`, or NULL: nobody waits for a reply */
  int rc;
  rp_error err;
  const char *reason; /* a word of the seed's for the error, or NULL */
  rp_ack ack;
  struct rp__buf out; /* the response */
  size_t n;
  char bytes[];
};

#endif
