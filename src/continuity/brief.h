/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The brief: the one text for the model (N-04, N-05, X-09, L-13), written by one of two templates from the same
 * material. Every line has a reason. The text has a bound; the table of sections in brief.c says which sections are cut
 * first.
 */
#ifndef RP_CONTINUITY_BRIEF_H
#define RP_CONTINUITY_BRIEF_H

#include "base/config-options.h"
#include "continuity/plan.h"
#include "core/fold.h"
#include "core/liveness.h"
#include "facets/digest/digest.h"
#include "redact/redact.h"

/* A session that speaks: what was asked in it, and what came of that. */
struct rp__brief_session {
  const char *session_id;
  const struct rp__digest *digest;
  int64_t begun_ms, end_ms; /* end: of what was said last, while it lives */
  bool lives;               /* it is open, and not the session that the brief is for */
  bool crashed;             /* its run died, and nobody has resumed it */
};
#define RP_SPEAKERS_MAX 16

struct rp__brief_input {
  enum rp__template form;
  enum rp__restart restart;
  enum rp__cause cause; /* of the end of the run before */
  const char *evidence; /* what the cause was judged by, or NULL */
  double elapsed_seconds;
  int64_t now_ms, total_sessions;
  const struct rp__plan *plan;  /* NULL: none was made (a session that is resumed) */
  const struct rp__fold *state; /* of the session resumed, or of the previous one; NULL: none */
  bool resumed;                 /* `state` is the session's own */
  /* By what was done last, newest first; of a session that is resumed itself alone. */
  const struct rp__brief_session *sessions;
  size_t n_sessions;
  const char *root; /* the project's folder, or NULL */
  /* Masks what only shows itself as a credential in the form that a brief tells it in, without marks and code. */
  const struct rp__redactor *redactor; /* or NULL */
  size_t max_bytes;
};

/* Writes the brief; leaves `out` empty when there is nothing to say. `why` (or NULL) gets [{"line","reason"}].
 * RP_E_TOO_LARGE: there is something to say, but max_bytes does not hold header and instruction; both are then whole
 * and say nothing. RP_E_NOMEM. */
int rp__brief_write(const struct rp__brief_input *in, struct rp__buf *out, struct rp__jw *why);

/* "about 2 hours", "3 days": time away in words. */
void rp__time_words(double seconds, struct rp__buf *out);

#endif
