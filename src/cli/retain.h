/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands of retention: the trash's grace period, the question before a deletion, finding sessions. */
#ifndef RP_CLI_RETAIN_H
#define RP_CLI_RETAIN_H

#include "cli/cli.h"

/* Until when a session that is in the trash since `trashed_ms` can be taken back (trash_days of its scope). */
RP_MUST_USE int rp__trash_until(struct rp__cli *c, const char *scope, int64_t trashed_ms, int64_t *ret, rp_error *err);
/*
 * Asks on the terminal. Anything but a yes is RP_E_CANCELLED. Without a terminal nobody can be asked: RP_E_USAGE, which
 * says that --yes is needed.
 */
RP_MUST_USE int rp__cli_confirm(const struct rp__cli *c, const char *question, rp_error *err);
/* A session as these commands speak of it, copied: they tell of it after it has gone. */
struct rp__subject {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1];
  int64_t events, bytes, trashed_at, held_at;
};
/* Finds it by id, unique beginning of an id, or key: outside the trash and then in it, or the other way round. */
RP_MUST_USE int rp__subject_find(struct rp__cli *c, const char *ref, bool trash_first, struct rp__subject *ret,
                                 rp_error *err);

/* The id in the width of a table: the beginning of one that was made here, else all of it. */
const char *rp__id_short(const char *id, char out[RP_ID_MAX + 1]);

#endif
