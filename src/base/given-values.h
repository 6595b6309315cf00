/* SPDX-License-Identifier: Apache-2.0 */
/* Turns values from command lines and requests into options of the library. */
#ifndef RP_BASE_GIVEN_H
#define RP_BASE_GIVEN_H

#include <reprise/reprise.h>

#include "base/error.h"
#include "base/text.h"

/* An event number: -1 (not given) is 0, and 0 is RP_SEQ_NONE. */
static inline int64_t rp__given_seq(int64_t given)
{
  return given < 0 ? 0 : given == 0 ? RP_SEQ_NONE : given;
}

/* The name of a status; NULL and "" are RP_SESSION_ANY. */
static inline int rp__given_status(const char *word, rp_session_status *ret, rp_error *err)
{
  rp_session_status status = word && *word ? rp_session_status_parse(word) : RP_SESSION_ANY;
  if (word && *word && status == RP_SESSION_ANY)
    return rp__fail_field(err, RP_E_USAGE, "status", "there is no status '%s'", rp__text_shown(word));
  *ret = status;
  return 0;
}

#endif
