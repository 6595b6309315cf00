/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials of an imported document: gathered first, and written after the last session was imported. */
#include "engine/transfer/import-tokens.h"

#include <sodium.h>

#include "engine/transfer/agent-tokens.h"

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
