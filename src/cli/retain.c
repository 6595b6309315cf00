/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the retention commands: the trash's grace period, the question before a deletion, finding a session. */
#include "cli/retain.h"

#include <limits.h>

#define DAY_MS (24LL * 3600 * 1000)
#define ID_SHOWN 13 /* of a UUIDv7: its whole time, one dash */

int rp__trash_until(struct rp__cli *c, const char *scope, int64_t trashed_ms, int64_t *ret, rp_error *err)
{
  double days = 0;
  int code = rp_config_number(c->engine, scope, "trash_days", &days, err);
  if (code) return code;
  *ret = trashed_ms + (int64_t)(days * (double)DAY_MS);
  return 0;
}

int rp__cli_confirm(const struct rp__cli *c, const char *question, rp_error *err)
{
  char answer[16] = "";
  if (!c->term.in_tty || !c->term.err_tty) {
    rp__fail_field(err, RP_E_USAGE, "yes", "there is no terminal to ask on");
    rp__hint(err, "say --yes if you are sure");
    return RP_E_USAGE;
  }
  fprintf(stderr, "%s [y/N] ", question);
  fflush(stderr);
  if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y')) return 0;
  return rp__fail(err, RP_E_CANCELLED, "nothing was deleted");
}

/* ---- finding ---- */

static int subject_take(void *ctx, const rp_session_info *info)
{
  struct rp__subject *s = ctx;
  *s = (struct rp__subject){
      .events = info->seq, .bytes = info->bytes, .trashed_at = info->trashed_at, .held_at = info->held_at};
  snprintf(s->id, sizeof(s->id), "%s", info->id);
  snprintf(s->scope, sizeof(s->scope), "%s", info->scope);
  return 0;
}

struct search {
  const char *ref;
  struct rp__subject *hit;
  int n;
};

static int search_step(void *ctx, const rp_session_info *info)
{
  struct search *x = ctx;
  bool exact = strcmp(info->id, x->ref) == 0;
  bool key = info->key && strcmp(info->key, x->ref) == 0;
  if (!exact && !key && strncmp(info->id, x->ref, strlen(x->ref)) != 0) return 0;
  x->n = exact ? INT_MIN : x->n + 1; /* a whole id is never ambiguous */
  if (exact || x->n > 0) subject_take(x->hit, info);
  return 0;
}

static int find_trashed(struct rp__cli *c, const char *ref, struct rp__subject *ret, rp_error *err)
{
  struct search x = {.ref = ref, .hit = ret};
  rp_filter f = {.limit = INT_MAX, .trashed = true};
  int code = *ref ? rp_list(c->engine, &f, search_step, &x, err) : 0;
  if (code || x.n == 1 || x.n < 0) return code;
  if (x.n > 1) return rp__fail(err, RP_E_AMBIGUOUS, "'%s' names several sessions in the trash", ref);
  rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session in the trash has the id, key or prefix '%s'", ref);
  rp__hint(err, "'reprise trash' lists what is there");
  return RP_E_SESSION_NOT_FOUND;
}

int rp__subject_find(struct rp__cli *c, const char *ref, bool trash_first, struct rp__subject *ret, rp_error *err)
{
  rp_error second = {0};
  int code = trash_first ? find_trashed(c, ref, ret, err) : rp_show(c->engine, ref, subject_take, ret, err);
  if (code != RP_E_SESSION_NOT_FOUND) return code;
  /* Where neither has it, the first answer is the one that fits the question. */
  code = trash_first ? rp_show(c->engine, ref, subject_take, ret, &second) : find_trashed(c, ref, ret, &second);
  if (code == RP_E_SESSION_NOT_FOUND) return code;
  *err = code ? second : (rp_error){0};
  return code;
}

const char *rp__id_short(const char *id, char out[RP_ID_MAX + 1])
{
  snprintf(out, RP_ID_MAX + 1, "%.*s", strlen(id) == 36 ? ID_SHOWN : RP_ID_MAX, id);
  return out;
}
