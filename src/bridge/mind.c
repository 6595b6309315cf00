/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/mind.h"

#include "bridge/kin.h"

#define META_MAX 256

/* ---- finding ---- */

struct found {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], key[RP_ID_MAX + 1];
  bool trashed;
};

static int on_found(void *ctx, const rp_session_info *info)
{
  struct found *f = ctx;
  snprintf(f->id, sizeof f->id, "%s", info->id);
  snprintf(f->scope, sizeof f->scope, "%s", info->scope);
  snprintf(f->key, sizeof f->key, "%s", info->key ? info->key : "");
  f->trashed = info->trashed_at != 0;
  return 0;
}

/* What lies elsewhere is not told of: a token may open this scope alone. */
static int find(const struct rp__mind *m, const char *ref, struct found *ret, rp_error *err)
{
  struct found f = {0};
  char id[RP_ID_MAX + 1];
  int rc = rp_resolve_in(m->e, m->scope, ref, id, err);
  if (!rc) rc = rp_show(m->e, id, on_found, &f, err);
  if (!rc && (strcmp(f.scope, m->scope) != 0 || f.trashed))
    rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session of scope %s has the id, key or prefix '%s'", m->scope, ref);
  if (rc) return rc;
  *ret = f;
  return 0;
}

int rp__mind_resolve(const struct rp__mind *m, const char *ref, char ret[RP_ID_MAX + 1], rp_error *err)
{
  struct found f;
  int rc = find(m, ref, &f, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rp__hint(err, "session_search finds sessions by words said in them");
  if (!rc) memcpy(ret, f.id, sizeof f.id);
  return rc;
}

/* ---- joining ---- */

/* A guest goes by the session's own scope, whatever its directory says. */
static int join(struct rp__mind *m, const char *id, rp_error *err)
{
  struct found f = {0};
  rp_session *s = NULL;
  int rc = rp_show(m->e, id, on_found, &f, err);
  if (!rc) rc = rp_attach(m->e, f.id, &s, err);
  if (rc) return rc;
  memcpy(m->scope, f.scope, sizeof m->scope);
  m->s = s;
  m->guest = true;
  return 0;
}

/* Which session the bridge around us has may show only once its editor made one. */
static int join_host(struct rp__mind *m, rp_error *err)
{
  char id[RP_SCOPE_MAX + 1];
  m->guest = true;
  int rc = rp__place_host(m->e, m->scope, NULL, id, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rp__hint(err, "try again after the first prompt");
  return rc ? rc : join(m, id, err);
}

static int join_last(struct rp__mind *m, rp_error *err)
{
  struct found f;
  int rc = find(m, m->ref[0] ? m->ref : "last", &f, err);
  return rc ? rc : join(m, f.id, err);
}

/* ---- beginning ---- */

static int take_brief(struct rp__mind *m)
{
  const char *doc = rp_start_json(m->s);
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type != RP_JSON_STRING) return 0;
  m->brief = rp__json_dup(brief);
  return m->brief ? 0 : RP_E_NOMEM;
}

static int start(struct rp__mind *m, const struct found *f, rp_error *err)
{
  rp_start_options o = {.scope = m->scope, .channel = m->channel, .owner = m->owner, .owner_pid = m->owner_pid};
  RP_AUTOBUF struct rp__buf meta = RP_BUF(META_MAX);
  struct rp__jw w = RP_JW(&meta);
  rp__jw_object(&w);
  rp__kin_mark(&w, m->agent_pid, "mcp");
  rp__jw_end_object(&w);
  if (m->agent_pid && !meta.err) o.meta = meta.p;
  /* By its key an ended one gets a successor; named otherwise it is itself resumed. */
  if (f->id[0] && strcmp(f->key, m->ref) != 0)
    o.id = f->id;
  else if (m->ref[0])
    o.key = m->ref;
  int rc = rp_start(m->e, &o, &m->s, err);
  if (rc) return rc;
  if (take_brief(m)) {
    rp__mind_leave(m);
    return rp__fail_nomem(err);
  }
  return 0;
}

/* Who runs us may have hooks that began one; while we look and begin, they wait. */
static int begin_beside(struct rp__mind *m, rp_error *err)
{
  static const struct found none = {0};
  RP_AUTOCLOSE int lock = rp__kin_lock(m->agent_pid);
  char id[RP_SCOPE_MAX + 1];
  (void)lock; /* its end is its use */
  if (rp__kin_find(m->e, m->scope, m->agent_pid, "hook", id, NULL) == 0 && join(m, id, NULL) == 0) return 0;
  return start(m, &none, err);
}

static int begin(struct rp__mind *m, rp_error *err)
{
  struct found f = {0};
  bool alive = false;
  if (!m->remote && rp__place_nested()) return join_host(m, err);
  if (m->reads_only) return join_last(m, err);
  if (!m->ref[0]) return begin_beside(m, err);
  int rc = find(m, m->ref, &f, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rc = 0;
  if (!rc && f.id[0]) rc = rp_alive(m->e, f.id, &alive, err);
  if (rc) return rc;
  /* One brief per run: who comes to a run that lives is told nothing. */
  if (!alive) rc = start(m, &f, err);
  bool outrun = rc == RP_E_HELD; /* somebody began it between our look and our start */
  if (outrun) rc = find(m, m->ref, &f, err);
  return !rc && (alive || outrun) ? join(m, f.id, err) : rc;
}

int rp__mind_open(struct rp__mind *m, rp_error *err)
{
  if (m->e) return 0;
  return m->open ? m->open(m->open_ctx, &m->e, err) : rp__fail(err, RP_E_UNREACHABLE, "there is no store");
}

/* Steps on the way may fail and be mended: the caller's error is written only when all failed. */
int rp__mind_begin(struct rp__mind *m, rp_error *err)
{
  rp_error why = {0};
  if (m->s) return 0;
  int rc = rp__mind_open(m, &why);
  if (!rc) rc = begin(m, &why);
  m->begun = !rc;
  if (rc && err) *err = why;
  return rc;
}

const char *rp__mind_brief(struct rp__mind *m)
{
  return m->guest ? NULL : m->brief;
}

int rp__mind_brief_now(struct rp__mind *m, struct rp__buf *out, rp_error *err)
{
  const rp_brief_options o = {.scope = m->scope};
  char *doc = NULL;
  int rc = rp__mind_open(m, err);
  if (!rc) rc = m->s ? rp_brief(m->s, false, &doc, err) : rp_brief_scope(m->e, &o, &doc, err);
  if (rc) return rc;
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, out);
  rp_free(doc);
  return 0;
}

void rp__mind_leave(struct rp__mind *m)
{
  rp_session_detach(m->s);
  free(m->brief);
  m->s = NULL;
  m->brief = NULL;
  m->guest = m->begun = m->told = false;
}

void rp__mind_end(struct rp__mind *m, const char *reason)
{
  if (m->s && !m->guest) {
    rp_end(m->s, reason, NULL);
    rp_session_free(m->s);
    m->s = NULL;
  }
  rp__mind_leave(m);
}

int rp__mind_may_write(const struct rp__mind *m, rp_error *err)
{
  if (!m->reads_only) return 0;
  return rp__fail(err, RP_E_FORBIDDEN, "this connection may only read");
}
