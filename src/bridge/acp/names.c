/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of the agent's that are no sessions of ours, and yet known: another name of one, or one that was deleted. Each is
 * a row of its own in the trash, on hold, in a scope of its own, so that every process finds it by its id, and nobody
 * else meets it.
 */
#include "bridge/acp/impl.h"

#define SCOPE "acp-names"
#define META_BYTES ((size_t)16 * RP_ACP_SID)

struct looked {
  const char *want;
  char *id; /* gets the session's own */
  bool row, other, live;
};

static int on_row(void *ctx, const rp_session_info *info)
{
  struct looked *l = ctx;
  if (strcmp(info->id, l->want) != 0) return 0; /* a prefix or a key of another */
  l->row = true;
  l->live = !info->trashed_at;
  struct rp__json meta = {0};
  if (info->meta && strcmp(info->scope, SCOPE) == 0) meta = rp__json_trusted(info->meta, strlen(info->meta));
  char *other RP_AUTOFREE = rp__json_dup(rp__json_get(meta, "name_of"));
  l->other = other != NULL;
  if (other) snprintf(l->id, RP_ID_MAX + 1, "%s", other);
  return 0;
}

enum rp__name rp__name_find(struct rp__acp *a, const char *sid, char ret_id[RP_ID_MAX + 1])
{
  char id[RP_SCOPE_MAX + 1], target[RP_ID_MAX + 1] = "", none[RP_ID_MAX + 1];
  rp__place_id("acp", sid, id);
  struct looked l = {.want = id, .id = target};
  snprintf(ret_id, RP_ID_MAX + 1, "%s", id);
  if (rp_show(a->e, id, on_row, &l, NULL) || !l.row) return RP_NAME_FREE;
  if (l.other) snprintf(ret_id, RP_ID_MAX + 1, "%s", target);
  if (!l.other) return l.live ? RP_NAME_OURS : RP_NAME_DELETED;
  struct looked t = {.want = target, .id = none};
  if (rp_show(a->e, target, on_row, &t, NULL) || !t.row || !t.live) return RP_NAME_DELETED;
  return RP_NAME_OTHER;
}

static int put(struct rp__acp *a, const char *sid, const char *name_of, rp_error *err)
{
  struct rp__buf meta RP_AUTOBUF = RP_BUF(META_BYTES);
  struct rp__jw w = RP_JW(&meta);
  char id[RP_SCOPE_MAX + 1];
  rp_session *s = NULL;
  rp__place_id("acp", sid, id);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "acp_session_id", sid);
  if (name_of) rp__jw_kstr(&w, "name_of", name_of);
  rp__jw_end_object(&w);
  if (meta.err) return rp__fail_nomem(err);
  rp_start_options o = {.scope = SCOPE, .id = id, .channel = "acp", .meta = meta.p, .owner = RP_OWNER_SELF};
  int rc = rp_start(a->e, &o, &s, err);
  if (rc) return rc;
  rc = rp_end(s, name_of ? "a name" : "deleted", err);
  rp_session_free(s);
  if (!rc) rc = rp_trash(a->e, id, name_of ? "another name of a session" : "deleted in the editor", err);
  return rc ? rc : rp_hold(a->e, id, true, err);
}

void rp__name_put(struct rp__acp *a, const char *sid, const char *name_of)
{
  char id[RP_ID_MAX + 1];
  rp_error why = {0};
  if (rp__name_find(a, sid, id) != RP_NAME_FREE) return; /* agents count from one in each process */
  if (put(a, sid, name_of, &why)) rp__acp_log(a, "'%s' is not remembered: %s", sid, why.message);
}
