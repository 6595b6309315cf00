/* SPDX-License-Identifier: Apache-2.0 */
/* Types and constants that the reader and the writer of Clawd's session store share. */
#ifndef RP_FORMAT_CLAWD_H
#define RP_FORMAT_CLAWD_H

#include "format/format.h"

#define RP_CLAWD_MESSAGES 500 /* Clawd keeps no more of a session */
#define RP_CLAWD_PREVIEW 100  /* characters of lastMessagePreview */

struct rp__clawd_field {
  const char *name;
  bool setting;            /* of the session's settings; else of its meta */
  enum rp__json_type type; /* of its value; RP_JSON_TRUE: a bool */
  const char *fallback;    /* JSON; NULL: left out when it is not known */
};
const struct rp__clawd_field *rp__clawd_field(const char *name); /* one that is there */
/* Whether it is a value of that field that Clawd can do with. */
bool rp__clawd_fits(const struct rp__clawd_field *f, struct rp__json v);

/*
 * A store of several sessions: begin, each session, end. Of the giver, begin and end use the writer and the randomness
 * alone. Tokens that are NULL are fresh ones; a manager's is left out.
 */
struct rp__clawd_tokens {
  const char *session, *manager;
};
RP_MUST_USE int rp__clawd_begin(const struct rp__giver *g, rp_error *err);
RP_MUST_USE int rp__clawd_session(const struct rp__giver *g, const struct rp__clawd_tokens *t, bool first,
                                  rp_error *err);
RP_MUST_USE int rp__clawd_end(const struct rp__giver *g, const char *secret, bool any, rp_error *err);

/* One session, with tokens and a secret that are nobody's: for whoever may read the session, not act as its agent. */
RP_MUST_USE int rp__clawd_export(const struct rp__giver *g, rp_error *err);

#endif
