/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of an engine: an INI file with [scope NAME] overrides, then REPRISE_<KEY> variables. It is parsed
 * when the engine opens and never changes afterwards, so any thread reads it without a lock.
 */
#ifndef RP_ENGINE_CONFIG_H
#define RP_ENGINE_CONFIG_H

#include "base/config-options.h"
#include "json/json.h"

struct rp__config;

/* Reads `path` (NULL: $REPRISE_CONFIG, else `<home>/reprise.ini` if there is one), then the environment. */
RP_MUST_USE int rp__config_load(const char *path, struct rp__config **ret, rp_error *err);
void rp__config_free(struct rp__config *c);

/* The values in a scope (NULL: outside any), which live as long as `c`. Scopes without a section share one struct. */
const struct rp__scope_config *rp__config_of(const struct rp__config *c, const char *scope);
/* The values outside any scope (prev NULL), then those of each section; NULL after the last. */
const struct rp__scope_config *rp__config_next(const struct rp__config *c, const struct rp__scope_config *prev);
/* The text that was given to an option, or its default. Borrowed. */
const char *rp__config_text(const struct rp__config *c, const char *scope, const struct rp__option *o);
/* A file of every option, commented out, each below its meaning. */
void rp__config_sample(struct rp__buf *out);
/* {"file":…,"options":[{"name","value","source","help"}]} */
void rp__config_show(const struct rp__config *c, const char *scope, struct rp__jw *w);

#endif
