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
