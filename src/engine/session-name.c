/* SPDX-License-Identifier: Apache-2.0 */
/* Names that other programs have for sessions: rows of their own, which no list of sessions shows. */
#include "base/text.h"
#include "engine/engine.h"

static int check(rp_engine *e, const char *name, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  if (!name || !rp__name_ok(name))
    return rp__fail_field(err, RP_E_INVALID, "name", "'%s' can't be a name", name ? rp__text_shown(name) : "");
  return 0;
}

int rp_name_put(rp_engine *e, const char *name, const char *session_id, rp_error *err)
{
  struct rp__name_row row = {0};
  int rc = check(e, name, err);
  if (rc) return rc;
  if (session_id && !rp__name_ok(session_id))
    return rp__fail_field(err, RP_E_INVALID, "session_id", "'%s' can't be an id", rp__text_shown(session_id));
  snprintf(row.name, sizeof row.name, "%s", name);
  if (session_id) snprintf(row.session_id, sizeof row.session_id, "%s", session_id);
  struct rp__op op = {.type = RP_OP_NAME_PUT, .now_ms = rp__engine_now(e), .u.name.row = &row};
  return rp__engine_commit(e, &op, 1, RP_DISK, err);
}

int rp_name_find(rp_engine *e, const char *name, char *ret_id, rp_error *err)
{
  struct rp__name_row row;
  bool found = false;
  int rc = check(e, name, err);
  if (!rc) rc = e->store->ops->name_get(e->store, name, &row, &found, err);
  if (rc) return rc;
  if (!found) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session has the name '%s'", name);
  memcpy(ret_id, row.session_id, sizeof row.session_id);
  return 0;
}
