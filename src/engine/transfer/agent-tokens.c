/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the tokens of agents, for a store file. */
#include "engine/transfer/agent-tokens.h"

#include <sodium.h>

rp__birth rp__row_birth(const struct rp__session_row *row)
{
  return rp__birth_of(&(rp_session_info){.number = row->ref, .created_at = row->created_at, .scope = row->scope});
}

int rp__own_secret_load(rp_engine *e, struct rp__own_secret *ret, rp_error *err)
{
  const char *file = rp__config_of(e->config, NULL)->internal_secret_file;
  rp_error own = {0};
  *ret = (struct rp__own_secret){0};
  int rc = rp__secret_text(file, e->path, &ret->text, &own);
  if (rc == RP_E_FILE_NOT_FOUND) return 0;
  if (rc && err) *err = own;
  if (!rc) rp__secret_of(ret->text, &ret->secret);
  return rc;
}

void rp__own_secret_done(struct rp__own_secret *s)
{
  rp__secret_text_free(s->text);
  sodium_memzero(s, sizeof *s);
}

void rp__agent_token_find(rp_engine *e, const struct rp__own_secret *own, const struct rp__session_row *row,
                          struct rp__agent_token *ret)
{
  *ret = (struct rp__agent_token){0};
  rp__birth birth = rp__row_birth(row);
  if (rp__fleet_find(e->fleet, row->id, birth, &ret->agent, ret->secret) || !own->text) return;
  rp__session_token(&own->secret, row->id, birth, ret->agent.token);
  snprintf(ret->secret, sizeof ret->secret, "%s", own->text);
}

/* ---- of an imported document ---- */

void rp__import_tokens_init(struct rp__import_tokens *t, rp_engine *e)
{
  *t = (struct rp__import_tokens){.e = e, .why_not = "the file has no internalSecret to go with it"};
  t->blocked = rp__fleet_check(e->fleet, NULL) != 0;
  if (t->blocked)
    t->why_not = "the token of its agent was not taken: the file that keeps them is not the owner's alone";
  if (!e->path) t->why_not = "a store without a file keeps none";
}

void rp__import_tokens_done(struct rp__import_tokens *t)
{
  if (t->agents) sodium_memzero(t->agents, t->n * sizeof *t->agents);
  free(t->agents);
  sodium_memzero(t, sizeof *t);
}

static bool take(char *out, size_t size, const char *text, size_t n, bool spaces)
{
  bool good = rp__fleet_takes((struct rp__str){text, n}, size - 1, spaces);
  if (good) memcpy(out, text, n + 1);
  return good;
}

static void take_secret(struct rp__import_tokens *t, const char *text, size_t n)
{
  if (!t->e->path || t->blocked) return;
  bool good = take(t->secret, sizeof t->secret, text, n, true);
  t->why_not = good ? NULL : "the file's internalSecret is no secret: 16 to 1024 printable characters are";
}

void rp__import_tokens_secret(struct rp__import_tokens *t, enum rp__foreign_secret which, const char *text, size_t n)
{
  if (which == RP_SECRET_STORE) take_secret(t, text, n);
  if (which == RP_SECRET_SESSION) t->refused = !take(t->now.token, sizeof t->now.token, text, n, false);
  if (which == RP_SECRET_MANAGER) take(t->now.manager, sizeof t->now.manager, text, n, false);
}

const char *rp__import_tokens_verdict(const struct rp__import_tokens *t, bool *ret_taken)
{
  *ret_taken = t->now.token[0] && !t->why_not;
  if (*ret_taken) return "the token of its agent was taken";
  if (t->refused) return "its sessionToken was not taken: it is no token of 16 to 256 printable characters";
  return t->now.token[0] ? t->why_not : NULL;
}

int rp__import_tokens_keep(struct rp__import_tokens *t, const struct rp__session_row *row, rp_error *err)
{
  if (t->n == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 64;
    struct rp__fleet_agent *agents = calloc(cap, sizeof *agents);
    if (!agents) return rp__fail_nomem(err);
    if (t->n) {
      memcpy(agents, t->agents, t->n * sizeof *agents);
      sodium_memzero(t->agents, t->n * sizeof *agents);
    }
    free(t->agents);
    t->agents = agents;
    t->cap = cap;
  }
  t->now.birth = rp__row_birth(row);
  memcpy(t->now.id, row->id, sizeof t->now.id);
  t->agents[t->n++] = t->now;
  return 0;
}

void rp__import_tokens_next(struct rp__import_tokens *t)
{
  t->withheld |= t->blocked && t->now.token[0];
  sodium_memzero(&t->now, sizeof t->now);
  t->refused = false;
}

int rp__import_tokens_commit(struct rp__import_tokens *t, rp_error *err)
{
  int rc = t->withheld ? rp__fleet_check(t->e->fleet, err) : 0;
  if (!rc && t->n) rc = rp__fleet_add(t->e->fleet, t->secret, t->agents, t->n, err);
  return rc ? rp__wrap(err, "the sessions are taken, the tokens of their agents are not") : 0;
}
