/* SPDX-License-Identifier: Apache-2.0 */
/* Many sessions as one session-store.json of Clawd, with the tokens that open them (C-11). */
#ifndef RP_ENGINE_STORE_FILE_H
#define RP_ENGINE_STORE_FILE_H

#include "engine/engine.h"

struct rp__store_file {
  const char *scope;   /* NULL: of every scope */
  const char *mirror;  /* NULL, or: only of scopes whose store_file this is, and none that ended long ago */
  const char *session; /* an id: this one alone; NULL: all */
  bool without_tokens; /* fresh ones instead, which open nothing */
  rp_write_fn *write;
  void *ctx;
};

RP_MUST_USE int rp__store_file_write(rp_engine *e, const struct rp__store_file *f, rp_store_info *ret, rp_error *err);

#endif
