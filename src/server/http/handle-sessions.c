/* SPDX-License-Identifier: Apache-2.0 */
/* Routes on sessions: list, show, heartbeat, close, fork, restore, delete. */
#include "base/given-values.h"
#include "server/http/handle.h"
#include "base/text.h"

#define LIST_MAX 1000
#define DAY_MS (24LL * 3600 * 1000)

/* ---- listing ---- */

struct page {
  struct rp__http_call *c;
  int n, limit;
  bool more;
  char last[RP_ID_MAX + 1];
};

static int on_listed(void *ctx, const rp_session_info *info)
{
  struct page *p = ctx;
  char *json = NULL;
  if (p->n == p->limit || (p->n && p->c->out.n > RP_HANDLE_PAGE_BYTES)) {
    p->more = true;
    return RP_HANDLE_STOP;
  }
  int rc = rp_session_json(info, &json, NULL);
  if (rc) return rc;
  rp__jw_raw(&p->c->w, json, strlen(json));
  rp_free(json);
  snprintf(p->last, sizeof p->last, "%s", info->id);
  p->n++;
  return 0;
}

int rp__handle_list(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1], cursor[RP_ID_MAX + 1] = "";
  rp_filter f = {0};
  char status[32] = "";
  int64_t limit = 50;
  int rc = rp__handle_scope(c, scope, err);
  if (!rc) rc = rp__call_text(c, "status", status, 32, err);
  if (!rc) rc = rp__call_text(c, "cursor", cursor, RP_ID_MAX + 1, err);
  if (!rc) rc = rp__call_since(c, "since", &f.since_ms, err);
  if (!rc) rc = rp__call_i64(c, "limit", 1, LIST_MAX, &limit, err);
  if (!rc) rc = rp__call_bool(c, "trashed", &f.trashed, err);
  if (!rc) rc = rp__given_status(status, &f.status, err);
  if (rc) return rc;
  f.scope = scope[0] ? scope : NULL;
  f.cursor = cursor[0] ? cursor : NULL;
  f.limit = (int)limit + 1; /* one more tells whether there is a next page */
  struct page p = {.c = c, .limit = f.limit - 1};
  rp__jw_object(&c->w);
  rp__jw_karray(&c->w, "sessions");
  rc = rp_list(c->srv->engine, &f, on_listed, &p, err);
  if (rc == RP_E_SESSION_NOT_FOUND && f.cursor)
    return rp__fail_field(err, RP_E_USAGE, "cursor", "there is no session '%s' to go on from", rp__text_shown(cursor));
  if (rc && rc != RP_HANDLE_STOP) return rc;
  rp__jw_end_array(&c->w);
  rp__jw_kstr(&c->w, "next_cursor", p.more ? p.last : NULL);
  rp__jw_end_object(&c->w);
  return 0;
}

/* ---- showing ---- */

static int check_shown(const struct rp__http_call *c, struct rp__json doc, rp_error *err)
{
  static const char trashed[] = "\"trashed_at\"";
  char *id RP_AUTOFREE = NULL, *scope RP_AUTOFREE = NULL;
  /* Most are not, and have not even the word: only the others are worth taking apart. */
  bool maybe = memmem(doc.p, doc.n, trashed, sizeof trashed - 1) != NULL;
  if (maybe && rp__json_get(doc, "trashed_at").type != RP_JSON_NONE)
    return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is in the trash", c->param[0]);
  if (c->who.who == RP_WHO_LOCAL || (c->who.who == RP_WHO_TOKEN && !c->who.scope[0])) return 0;
  id = rp__json_dup(rp__json_get(doc, "session_id"));
  scope = rp__json_dup(rp__json_get(doc, "scope"));
  if (!id || !scope) return rp__fail_nomem(err);
  rp__birth birth = RP_BIRTH_ANY;
  int rc = c->who.who == RP_WHO_SESSION ? rp__birth_find(c->srv->engine, id, &birth, err) : 0;
  return rc ? rc : rp__auth_allows(&c->who, RP_RIGHT_READ, id, scope, birth, err);
}

/* An exact id, which most are, is answered from memory; what else the name may mean depends on the scope. */
static int fetch(struct rp__http_call *c, char **ret, size_t *ret_n, rp_error *err)
{
  char scope[RP_ID_MAX + 1], id[RP_ID_MAX + 1];
  rp_error none = {0};
  int rc = rp__call_scope(c, scope, err);
  if (rc) return rc;
  if (rp_session_get_json(c->srv->engine, c->param[0], ret, ret_n, &none) == 0) {
    struct rp__json doc = rp__json_trusted(*ret, *ret_n);
    if (rp__json_eq(rp__json_get(doc, "session_id"), c->param[0]) &&
        (!scope[0] || rp__json_eq(rp__json_get(doc, "scope"), scope)))
      return 0;
    rp_free(*ret);
    *ret = NULL;
  }
  rc = rp_resolve_in(c->srv->engine, scope[0] ? scope : NULL, c->param[0], id, err);
  return rc ? rc : rp_session_get_json(c->srv->engine, id, ret, ret_n, err);
}

int rp__handle_show(struct rp__http_call *c, rp_error *err)
{
  char *json = NULL;
  size_t n;
  int rc = fetch(c, &json, &n, err);
  if (!rc) rc = check_shown(c, rp__json_trusted(json, n), err);
  if (!rc)
    rp__handle_give(c, json, n);
  else
    rp_free(json);
  return rc;
}

int rp__handle_update(struct rp__http_call *c, rp_error *err)
{
  static const char *const members[] = {"name", "settings", "meta", NULL};
  int rc = rp__handle_object(c, members, err);
  if (!rc && rp__json_count(c->body) == 0)
    rc = rp__fail_field(err, RP_E_INVALID, "body", "there is nothing to change: name, settings or meta");
  return rc ? rc : rp__handle_append_body(c, "session", err);
}

/* ---- deleting ---- */

int rp__handle_delete(struct rp__http_call *c, rp_error *err)
{
  char reason[RP_CALL_TEXT] = "";
  int rc = rp__call_text(c, "reason", reason, sizeof reason, err);
  if (rc) return rc;
  rc = rp__trash_session(c->srv, c->entry, reason[0] ? reason : NULL, "deleted", err);
  if (rc) return rc;
  rp__registry_forget(c->srv->registry, c->entry->id);
  const char *id = c->entry->id;
  double days = 0;
  struct rp__shown row;
  rc = rp__show(c->srv->engine, id, &row, err);
  if (!rc) rc = rp_config_number(c->srv->engine, c->entry->scope, "trash_days", &days, err);
  if (rc) return rc;
  rp__jw_object(&c->w);
  rp__jw_kstr(&c->w, "session_id", id);
  rp__jw_ktime(&c->w, "trashed_at", row.trashed_at);
  rp__jw_ktime(&c->w, "until", row.trashed_at + (int64_t)(days * (double)DAY_MS));
  rp__jw_end_object(&c->w);
  return 0;
}

/* ---- signs of life, checkpoints, the end ---- */

int rp__handle_heartbeat(struct rp__http_call *c, rp_error *err)
{
  const char *id = c->entry->id;
  struct rp__shown row;
  int rc = rp__show(c->srv->engine, id, &row, err);
  if (!rc && row.ended) rc = rp__fail(err, RP_E_ENDED, "session %s is %s", id, row.status);
  if (!rc) rc = rp_heartbeat(rp__call_session(c), err);
  if (rc) return rc;
  rp__jw_object(&c->w);
  rp__jw_kstr(&c->w, "session_id", id);
  rp__jw_kstr(&c->w, "status", row.status);
  rp__jw_end_object(&c->w);
  return 0;
}

int rp__handle_checkpoint(struct rp__http_call *c, rp_error *err)
{
  int64_t n;
  int rc = rp_checkpoint(rp__call_session(c), &n, err);
  if (rc) return rc;
  rp__jw_object(&c->w);
  rp__jw_kstr(&c->w, "session_id", c->entry->id);
  rp__jw_ki64(&c->w, "snapshot", n);
  rp__jw_end_object(&c->w);
  return 0;
}

int rp__handle_close(struct rp__http_call *c, rp_error *err)
{
  static const char *const members[] = {"reason", NULL};
  char *reason RP_AUTOFREE = NULL;
  int rc = rp__handle_object(c, members, err);
  if (!rc) rc = rp__body_text(c->body, "reason", &reason, err);
  if (rc) return rc;
  rc = rp_end(rp__call_session(c), reason, err);
  if (rc == RP_E_USAGE) return err->code = RP_E_INVALID; /* a bad member here */
  if (rc) return rc;
  rp__registry_forget(c->srv->registry, c->entry->id);
  char *json;
  size_t n;
  rc = rp_session_get_json(c->srv->engine, c->entry->id, &json, &n, err);
  if (!rc) rp__handle_give(c, json, n);
  return rc;
}

/* ---- copies and inheritance ---- */

/* `at` of the body or of the query; -1: the last event. */
static int read_at(struct rp__http_call *c, int64_t *ret, rp_error *err)
{
  int64_t at = -1;
  int rc = rp__call_i64(c, "at", 0, INT64_MAX, &at, err);
  if (!rc) rc = rp__body_i64(c->body, "at", &at, err);
  if (!rc && at < -1) rc = rp__fail_field(err, RP_E_INVALID, "at", "'at' must be an event's number");
  if (!rc) *ret = at;
  return rc;
}

int rp__handle_fork(struct rp__http_call *c, rp_error *err)
{
  static const char *const members[] = {"at", NULL};
  struct rp__str body = rp__request_body(c->req);
  rp_request request = {.bytes = body.p, .n = body.n};
  char id[RP_ID_MAX + 1], token[RP_SESSION_TOKEN_TEXT];
  bool repeated = false;
  int64_t at;
  int rc = rp__handle_object(c, members, err);
  if (!rc) rc = read_at(c, &at, err);
  if (!rc) rc = rp__handle_key(c, &request.key, err);
  if (rc) return rc;
  rp_fork_options o = {.at_seq = rp__given_seq(at), .request = request.key ? &request : NULL};
  rc = rp_fork(rp__call_session(c), &o, id, &repeated, err);
  if (rc) return rc;
  rp__birth birth = RP_BIRTH_ANY;
  rc = rp__birth_find(c->srv->engine, id, &birth, err);
  if (rc) return rc;
  rp__auth_session_token(c->srv->auth, id, birth, token);
  rp__jw_object(&c->w);
  rp__jw_kstr(&c->w, "session_id", id);
  rp__jw_kstr(&c->w, "forked_from", c->entry->id);
  if (repeated) rp__jw_kbool(&c->w, "repeated", true);
  rp__jw_kstr(&c->w, "token", token);
  rp__jw_end_object(&c->w);
  c->status = 201;
  snprintf(c->header_text, sizeof c->header_text, "/v1/sessions/%s", id);
  c->header = (struct rp__header){"Location", c->header_text};
  return 0;
}

struct seen {
  const struct rp__http_call *c;
  rp_error *err;
};

static int on_seen(void *ctx, const rp_session_info *info)
{
  const struct seen *x = ctx;
  return rp__auth_allows(&x->c->who, RP_RIGHT_READ, info->id, info->scope, rp__birth_of(info), x->err);
}

int rp__handle_continue(struct rp__http_call *c, rp_error *err)
{
  static const char *const members[] = {"from", "by", NULL};
  char *from RP_AUTOFREE = NULL, *by RP_AUTOFREE = NULL, *json = NULL, id[RP_ID_MAX + 1];
  int rc = rp__handle_object(c, members, err);
  if (!rc) rc = rp__body_text(c->body, "from", &from, err);
  if (!rc) rc = rp__body_text(c->body, "by", &by, err);
  if (!rc && !from) rc = rp__fail_field(err, RP_E_INVALID, "from", "'from' is missing: the session to inherit from");
  if (!rc) rc = rp_resolve_in(c->srv->engine, c->who.scope[0] ? c->who.scope : NULL, from, id, err);
  struct seen x = {c, err};
  if (!rc) rc = rp_show(c->srv->engine, id, on_seen, &x, err);
  if (!rc) rc = rp_continue(rp__call_session(c), id, by ? by : c->who.name, &json, err);
  if (rc == RP_E_USAGE) return err->code = RP_E_INVALID; /* a bad member here */
  if (!rc) rp__handle_give(c, json, strlen(json));
  return rc;
}

static int on_newest(void *ctx, const rp_snapshot_info *s)
{
  int64_t *n = ctx;
  *n = RP_MAX(*n, s->n);
  return 0;
}

int rp__handle_restore(struct rp__http_call *c, rp_error *err)
{
  static const char *const members[] = {"at", "snapshot", NULL};
  int64_t at, n = 0;
  rp_ack ack;
  int rc = rp__handle_object(c, members, err);
  if (!rc) rc = read_at(c, &at, err);
  if (!rc) rc = rp__body_i64(c->body, "snapshot", &n, err);
  if (!rc && n < 0) rc = rp__fail_field(err, RP_E_INVALID, "snapshot", "'snapshot' must be a snapshot's number");
  if (!rc && n && at >= 0) rc = rp__fail_field(err, RP_E_INVALID, "at", "'at' and 'snapshot' exclude each other");
  /* To an event, to a snapshot, or to the newest snapshot. */
  rp_session *s = rp__call_session(c);
  if (!rc && at < 0 && !n) rc = rp_snapshots(s, on_newest, &n, err);
  if (!rc && at < 0 && !n)
    rc = rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "the session has no snapshot yet; go back to an event with 'at'");
  if (!rc) rc = at >= 0 ? rp_restore(s, at, &ack, err) : rp_restore_snapshot(s, n, &ack, err);
  if (!rc) rp__handle_ack(&c->w, &ack, false);
  return rc;
}
