/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open streams of a session (B-14): for each speaker, as much of the earlier chunks as is needed to decide which
 * part of the next chunk may be stored readably. The undecided end of a chunk is stored sealed with the chunk's event
 * (core/tails.h). Once decided, this text is stored with the speaker's next event. When the session ends or its run is
 * recovered first, the text is stored in an event of its own, which names the event that it continues.
 *
 * A handle keeps the streams as they will be in the store once everything that the handle prepared is stored. If the
 * store has other streams at the commit, it refuses the append, which is then prepared again on the store's streams.
 */
#ifndef RP_ENGINE_STREAMS_H
#define RP_ENGINE_STREAMS_H

#include "core/mask.h"
#include "core/spoken.h"
#include "engine/engine.h"
#include "redact/stream.h"

/* How a speaker is known to the store. Never 0. */
uint64_t rp__voice(const char *speaker);

struct rp__stream {
  uint64_t voice;
  int64_t seq; /* of its newest chunk, in streams that were read from the store */
  struct rp__redact_stream text;
  struct rp__buf shell; /* the newest chunk's body with an empty text: what is held is told in one like it */
  bool named;           /* it has a message id; one without is over when another message comes */
  bool thought;
};

struct rp__streams {
  bool known;     /* else they have to be read before they are used */
  int64_t number; /* see core/tails.h */
  int64_t next;   /* the next number of this handle's own range */
  size_t n;
  struct rp__stream at[RP_TAILS_MAX]; /* in the order of their newest chunks, as in the store */
};
void rp__streams_done(struct rp__streams *t);

/* Reads them anew. A stream whose key is gone, or that is damaged, goes on without what it held, and the log says so.
 */
RP_MUST_USE int rp__streams_read(rp_session *s, struct rp__streams *t, rp_error *err);
/* The read of a view's streams into view->streams; whoever makes it sets `known`. */
struct rp__read rp__streams_reading(rp_session *s);
struct rp__stream *rp__streams_find(struct rp__streams *t, uint64_t voice);
/* The stream of that speaker as the newest, a new one if there was none. The caller has made room. */
struct rp__stream *rp__streams_take(struct rp__streams *t, uint64_t voice);
void rp__streams_drop(struct rp__streams *t, struct rp__stream *k);
/* A number that nobody else gives out. */
int64_t rp__streams_number(struct rp__streams *t);

/* Notes what an event that tells the rest of a stream has to look like: like this chunk of it. */
int rp__stream_shape(struct rp__stream *k, const struct rp__event *ev, const struct rp__spoken *spoken);
/* Such an event's body around `text`; `continues` is left out when it is 0. RP_E_NOMEM. */
int rp__stream_body(const struct rp__stream *k, const char *text, size_t n, int64_t continues, struct rp__buf *out);

/* A stream, sealed into `out`. */
int rp__stream_seal(const rp_session *s, const struct rp__key *key, const struct rp__redact_stream *text,
                    struct rp__buf *out);

/* Seals anew, for events of `to`, which is a copy of `from`, what the same events of `from` hold. */
RP_MUST_USE int rp__streams_copy(rp_session *from, rp_session *to, rp_error *err);
/* Tells of each tail that can't be read any more (`fn` gets the event's number and what is wrong). With `repair` it is
 * taken away, and its stream goes on without it. */
typedef int rp__tail_fault_fn(void *ctx, int64_t seq, const char *what);
RP_MUST_USE int rp__streams_check(rp_session *s, bool repair, rp__tail_fault_fn *fn, void *ctx, rp_error *err);
/* No event of the session has a sealed tail any more. */
RP_MUST_USE int rp__streams_forget(rp_session *s, rp_error *err);

/* ---- the last words: what the streams held when the session, or its run, ended ---- */

struct rp__last_words {
  struct rp__new_event events[RP_TAILS_MAX + 1]; /* room for the caller's own event behind them */
  size_t n;
  int64_t heard_number, streams_number;
  int64_t at_ms;
  struct rp__buf plain[RP_TAILS_MAX], sealed[RP_TAILS_MAX];
};
/* Reads the streams and decides them: masked is what begins like a credential, the rest is told. */
RP_MUST_USE int rp__last_words_make(rp_session *s, struct rp__last_words *ret, rp_error *err);
/* The append of the words and of the `more` events that the caller put behind them. */
void rp__last_words_append(const struct rp__last_words *l, size_t more, struct rp__op *op);
/* The state at the end of the journal and behind the words: the one that is kept (see rp__state_use), or, where there
 * are words, one of the caller's own. s->lock is held. */
RP_MUST_USE int rp__last_words_state(rp_session *s, const struct rp__last_words *l, struct rp__fold **ret_kept,
                                     struct rp__fold **ret_own, struct rp__buf *warnings, rp_error *err);
void rp__last_words_done(struct rp__last_words *l);
/* How often a transaction with last words is tried while others go on speaking. */
#define RP_LAST_WORDS_TRIES 64

#endif
