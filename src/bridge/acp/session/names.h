/* SPDX-License-Identifier: Apache-2.0 */
/* Ids on the wire. An id is a session's own, another name of a session, or the name of a deleted session. */
#ifndef RP_BRIDGE_ACP_NAMES_H
#define RP_BRIDGE_ACP_NAMES_H

#include <reprise/reprise.h>

struct rp__acp;

enum rp__name {
  RP_NAME_FREE,  /* nobody here knows it */
  RP_NAME_OURS,  /* a session's own */
  RP_NAME_OTHER, /* another name of a session: the agent's since it was restored with a new one */
  RP_NAME_DELETED,
};

/* What the journal knows of an id on the wire; `ret_id` gets that of the session, there or not. */
enum rp__name rp__name_find(struct rp__acp *a, const char *sid, char ret_id[RP_ID_MAX + 1]);
/* The id by which the editor finds that session: what its meta says, unless that is another's, of whom it is a fork. */
char *rp__name_own(const char *id, const char *said);
/* An id that is free is from now on another name of that session, or (NULL) that of a deleted one. */
void rp__name_put(struct rp__acp *a, const char *sid, const char *name_of);

#endif
