/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the sessions that a retention rule applies to, made from rows that are read once. */
#ifndef RP_ENGINE_AGED_H
#define RP_ENGINE_AGED_H

#include "engine/engine.h"

struct rp__retention {
  char id[RP_NAME];
  int64_t ended_at; /* or the last activity of one that is open */
  bool gone, kept;  /* for whoever goes through the list */
};

/* The oldest end first. */
struct rp__retention_list {
  struct rp__retention *p;
  size_t n, cap;
};

struct rp__retention_lists {
  struct rp__retention_list abandon; /* open and quiet, as far as their rows say */
  struct rp__retention_list archive; /* with a record that is due for its cold file */
  struct rp__retention_list trash;   /* ended longer ago than is kept */
  struct rp__retention_list doomed;  /* long enough in the trash, or due for one without a grace period */
  struct rp__retention_list ended;   /* all that have ended, those in the trash included: only when asked for */
};

struct rp__retention_options {
  const char *scope; /* or NULL: all */
  int64_t now;
  int64_t older_than_ms; /* 0: retain_days of each scope */
  bool all_ended;
};

RP_MUST_USE int rp__retention_read(rp_engine *e, const struct rp__retention_options *o, struct rp__retention_lists *ret,
                                   rp_error *err);
/* The same session in another list, or NULL. */
const struct rp__retention *rp__retention_find(const struct rp__retention_list *l, const struct rp__retention *a);
void rp__retention_done(struct rp__retention_lists *l);

#endif
