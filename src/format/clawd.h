/* SPDX-License-Identifier: Apache-2.0 */
/* What reading and writing a session store of Clawd agree on. */
#ifndef RP_FORMAT_CLAWD_H
#define RP_FORMAT_CLAWD_H

#include "format/format.h"

#define RP_CLAWD_MESSAGES 500 /* Clawd keeps no more of a session */
#define RP_CLAWD_PREVIEW 100  /* characters of lastMessagePreview */

struct rp__clawd_field {
  const char *name;
  bool setting;         /* of the session's settings; else of its meta */
  const char *fallback; /* JSON; NULL: left out when it is not known */
};
extern const struct rp__clawd_field rp__clawd_fields[]; /* ends with one without a name */

int rp__clawd_export(const struct rp__giver *g, rp_error *err);

#endif
