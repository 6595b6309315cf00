/* SPDX-License-Identifier: Apache-2.0 */
/* Writing many sessions as one session-store.json. */
#include "base/options.h"
#include "engine/transfer/store-file.h"

#include <sodium.h>

#include "engine/transfer/foreign.h"
#include "engine/transfer/agent-tokens.h"
#include "format/clawd.h"
#include "facets/provider.h"

#define SECRETS_MAX 16          /* that are told apart */
#define OVER_MS (5 * 60 * 1000) /* Clawd forgets a session so long after its end */

/* The sessions that are written: their ids, newest first. */
struct members {
  rp_engine *e;
  const struct rp__store_file *f;
  int64_t now;
  char (*ids)[RP_NAME];
  size_t n, cap;
  rp_error *err;
};

/* A mirror has what Clawd itself would still have. Nothing that is sealed is written in the open (see write_one). */
static bool is_mirrored(const struct members *m, const struct rp__session_row *row)
{
  bool over = rp__status_ended(row->status) && m->now - row->ended_at > OVER_MS;
  if (over || row->sealed) return false;
  return strcmp(rp__config_of(m->e->config, row->scope)->store_file, m->f->mirror) == 0;
}

static int on_row(void *ctx, const struct rp__session_row *row)
{
  struct members *m = ctx;
  if (m->f->mirror && !is_mirrored(m, row)) return 0;
  if (m->n == RP_FOREIGN_SESSIONS)
    return rp__fail(m->err, RP_E_TOO_LARGE, "there are more than %d sessions", RP_FOREIGN_SESSIONS);
  if (!RP__ROOM(m->ids, m->n, m->cap)) return rp__fail_nomem(m->err);
  memcpy(m->ids[m->n++], row->id, sizeof row->id);
  return 0;
}

/* In one reading: in pages, a session that moves in between would be met twice or never. */
static int list_members(struct members *m, rp_error *err)
{
  const struct rp__session_filter all = {.scope = m->f->scope, .limit = RP_FOREIGN_SESSIONS + 1};
  if (!m->f->session) return m->e->store->ops->session_list(m->e->store, &all, on_row, m, err);
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  int rc = rp__session_lookup(m->e, m->f->session, &row, err);
  return rc ? rc : on_row(m, &row);
}

/* ---- writing ---- */

/* A secret and how many agents know it. */
struct known {
  char secret[RP_SECRET_MAX + 1];
  int64_t agents;
};

struct store {
  rp_engine *e;
  const struct rp__store_file *f;
  struct rp__own_secret own;
  struct known known[SECRETS_MAX];
  size_t n_known;
  rp_store_info info;
};

static void store_done(struct store *x)
{
  rp__own_secret_done(&x->own);
  sodium_memzero(x->known, sizeof x->known);
}

static void token_wipe(struct rp__agent_token *t)
{
  sodium_memzero(t, sizeof *t);
}

/* Whether an agent may be out there that holds the token: one that came with its session, or has spoken here. */
static bool has_agent(const struct rp__export_source *g, const struct rp__session_row *row)
{
  if (rp__status_ended(row->status)) return false;
  return strcmp(row->provider, "clawd") == 0 || rp__runtime_status(g->giver.state) != RP_RUNTIME_NONE;
}

/*
 * One secret is all that the file has: that of most agents; the others will have to be told. Without any agent the
 * server's own, for those to come.
 */
static const char *choose_secret(struct store *x)
{
  const struct known *most = NULL;
  for (size_t i = 0; i < x->n_known; i++)
    if (!most || x->known[i].agents > most->agents) most = &x->known[i];
  x->info.strangers = most ? x->info.tokens - most->agents : 0;
  return most ? most->secret : x->own.text;
}

static int write_one(struct store *x, const char *id, rp_error *err)
{
  struct rp__agent_token token RP_CLEANUP(token_wipe) = {0};
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__export_source source;
  rp_session *s = NULL;
  int rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, id, &row, err);
  if (rc == RP_E_SESSION_NOT_FOUND || (!rc && row.trashed_at && !x->f->session)) return 0; /* went meanwhile */
  if (!rc) rc = rp__session_open(x->e, &row, 0, &s, err);
  if (x->f->mirror && (rc == RP_E_KEY_MISSING || rc == RP_E_KEY_WRONG)) return 0;
  if (!rc && x->f->mirror && s->key) {
    rp_session_free(s);
    return 0;
  }
  if (!rc) rc = rp__export_source_open(&source, s, err);
  if (!rc) {
    source.giver.write = x->f->write;
    source.giver.write_ctx = x->f->ctx;
    if (!x->f->without_tokens) rp__agent_token_find(x->e, &x->own, &row, &token);
    if (token.agent.token[0] && has_agent(&source, &row)) {
      size_t i = 0;
      while (i < x->n_known && strcmp(x->known[i].secret, token.secret) != 0) i++;
      if (i == x->n_known && i < SECRETS_MAX) memcpy(x->known[x->n_known++].secret, token.secret, sizeof token.secret);
      if (i < SECRETS_MAX) x->known[i].agents++;
      x->info.tokens++;
    }
    const struct rp__clawd_tokens t = {.session = token.agent.token, .manager = token.agent.manager};
    rc = rp__clawd_session(&source.giver, &t, x->info.sessions == 0, err);
    rp__export_source_done(&source);
  }
  if (s) rp_session_free(s);
  x->info.sessions += !rc;
  return rc ? rp__wrap(err, "session %s", id) : 0;
}

int rp__store_file_write(rp_engine *e, const struct rp__store_file *f, rp_store_info *ret, rp_error *err)
{
  rp_error own = {0};
  struct members m = {.e = e, .f = f, .now = rp__engine_now(e), .err = err ? err : &own};
  struct store x RP_CLEANUP(store_done) = {.e = e, .f = f};
  int rc = list_members(&m, m.err);
  if (!rc) {
    const struct rp__giver g = {.random = &rp__system_random, .write = x.f->write, .write_ctx = x.f->ctx};
    rc = x.f->without_tokens ? 0 : rp__own_secret_load(x.e, &x.own, m.err);
    if (!rc) rc = rp__clawd_begin(&g, m.err);
    for (size_t i = m.n; !rc && i-- > 0;) rc = write_one(&x, m.ids[i], m.err);
    if (!rc) rc = rp__clawd_end(&g, choose_secret(&x), x.info.sessions > 0, m.err);
  }
  free(m.ids);
  if (!rc && ret) *ret = x.info;
  return rc;
}

int rp_export_store(rp_engine *e, const rp_store_options *given, rp_write_fn *write, void *ctx, rp_store_info *ret,
                    rp_error *err)
{
  rp_store_options own, *o = &own;
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(o, given, without_tokens, err);
  if (rc) return rc;
  if (o->session && o->scope)
    return rp__fail_field(err, RP_E_USAGE, "scope", "one session is exported, or those of a scope");
  const struct rp__store_file f = {
      .scope = o->scope, .session = o->session, .without_tokens = o->without_tokens, .write = write, .ctx = ctx};
  rp_error why = {0};
  if (!o->without_tokens && rp__fleet_check(e->fleet, &why))
    rp__log(&e->log, RP_LOG_WARN, "tokens that agents came with are left out: %s", why.message);
  return rp__store_file_write(e, &f, ret, err);
}
