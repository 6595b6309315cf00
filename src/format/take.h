/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that importers share: reading values of other programs' documents, and handing on events one by one. */
#ifndef RP_FORMAT_TAKE_H
#define RP_FORMAT_TAKE_H

#include "format/format.h"

/* A moment: ISO text, or a number of seconds (or, from 1e11 on, milliseconds). 0 when it is none. */
int64_t rp__when(struct rp__json v);
int64_t rp__when_text(const char *s, size_t n);
/* The first member of those names that is there and not null; RP_JSON_NONE without any. The list ends with NULL. */
struct rp__json rp__any(struct rp__json object, const char *const *names);
#define RP_ANY(object, ...) rp__any(object, (const char *const[]){__VA_ARGS__, NULL})
/* The decoded text, cut to fit; empty when it is no string. */
void rp__text_of(struct rp__json v, char *out, size_t size);
/* A title: as many whole words of a text as fit, for half a credential is not known for one when it is masked. */
void rp__title_of(struct rp__json v, char *out, size_t size);
/* Whether the value is a name that we may use as id, channel or provider; then it is copied. */
bool rp__name_of(struct rp__json v, char out[RP_ID_MAX + 1]);
/* The id as it is where we may use it, else one made of it: "PREFIX-<16 hex digits>". */
void rp__id_of(struct rp__json v, const char *prefix, char out[RP_ID_MAX + 1]);

/* One session on its way to the taker. */
struct rp__take {
  const struct rp__taker *to;
  rp_error *err;
  struct rp__buf body;
  struct rp__jw w;
  int64_t events, left_out, last_at;
  char at[64];   /* the part of the document that is being read; empty: not said */
  char why[224]; /* the first event left out */
};
void rp__take_init(struct rp__take *t, const struct rp__taker *to, rp_error *err);
void rp__take_done(struct rp__take *t);
#define RP_AUTOTAKE RP_CLEANUP(rp__take_done)

int rp__take_begin(struct rp__take *t, const struct rp__foreign *f);
/* What follows is read from the n-th item (from 0) of that list of the document, or, with -1, from that member. */
void rp__take_at(struct rp__take *t, const char *name, int64_t n);
/* That part is left out, and counted. */
int rp__take_left(struct rp__take *t, const char *why);
/* A new body: write members, then call rp__take_event. */
struct rp__jw *rp__take_body(struct rp__take *t);
/* at_ms 0: the time of the event before. What does not pass the check is left out and counted. */
int rp__take_event(struct rp__take *t, int64_t at_ms, const char *kind);
/* The body as it came instead of a written one. */
int rp__take_value(struct rp__take *t, int64_t at_ms, const char *kind, struct rp__json body);
/* One of a kind that only the engine writes: `restored`, `runtime`. */
int rp__take_own(struct rp__take *t, int64_t at_ms, enum rp__kind kind);
/* A credential, when it is a string that is not empty. */
int rp__take_secret(struct rp__take *t, enum rp__foreign_secret which, struct rp__json v);
int rp__take_end(struct rp__take *t);
void rp__take_note(struct rp__take *t, const char *fmt, ...) RP_PRINTF(2, 3);

/* A member as it came, when it is there and not null. */
void rp__copy_member(struct rp__jw *w, const char *name, struct rp__json v);
/* A number as the nearest one from 0 to 1: what is known is worth more than how sure somebody was of it. */
void rp__put_share(struct rp__jw *w, const char *name, double v);

#endif
