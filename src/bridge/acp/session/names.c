/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves ids on the wire. An id is a session's own, another name of a session (from the store's table of names), or
 * the name of a deleted session.
 */
#include "bridge/acp/session/session.h"

struct looked {
  const char *want;
  enum rp__journal_row row;
};

static int on_row(void *ctx, const rp_session_info *info)
{
  struct looked *l = ctx; /* `info` may be of another, of which that is a prefix or a key */
  if (strcmp(info->id, l->want) == 0) l->row = info->trashed_at ? RP_ROW_TRASHED : RP_ROW_LIVE;
  return 0;
}

enum rp__journal_row rp__name_row(struct rp__acp *a, const char *id)
{
  struct looked l = {.want = id};
  return rp_show(a->e, id, on_row, &l, NULL) ? RP_ROW_NONE : l.row;
}

enum rp__name rp__name_find(struct rp__acp *a, const char *sid, char ret_id[RP_ID_MAX + 1])
{
  char id[RP_SCOPE_MAX + 1], other[RP_ID_MAX + 1] = "";
  rp__workspace_id("acp", sid, id);
  snprintf(ret_id, RP_ID_MAX + 1, "%s", id);
  enum rp__journal_row row = rp__name_row(a, id);
  if (row) return row == RP_ROW_LIVE ? RP_NAME_OURS : RP_NAME_DELETED;
  if (rp_name_find(a->e, id, other, NULL)) return RP_NAME_FREE;
  if (!other[0]) return RP_NAME_DELETED;
  snprintf(ret_id, RP_ID_MAX + 1, "%s", other);
  return rp__name_row(a, other) == RP_ROW_LIVE ? RP_NAME_OTHER : RP_NAME_DELETED;
}

char *rp__name_own(const char *id, const char *said)
{
  char named[RP_SCOPE_MAX + 1] = "";
  if (said) rp__workspace_id("acp", said, named);
  return strdup(strcmp(named, id) == 0 ? said : id);
}

void rp__name_put(struct rp__acp *a, const char *sid, const char *name_of)
{
  char id[RP_SCOPE_MAX + 1], target[RP_ID_MAX + 1];
  rp_error why = {0};
  if (rp__name_find(a, sid, target) != RP_NAME_FREE) return; /* agents count from one in each process */
  rp__workspace_id("acp", sid, id);
  if (rp_name_put(a->e, id, name_of, &why)) rp__acp_log(a, "'%s' is not remembered: %s", sid, why.message);
}
