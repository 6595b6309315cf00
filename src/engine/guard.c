/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/guard.h"

#include <math.h>

#include "facets/pins.h"

/* ---- pins ---- */

static int judge_pin(rp_session *s, const struct rp__fold *f, const struct rp__event *ev, rp_error *err)
{
  char *label RP_AUTOFREE = rp__json_dup(rp__json_get(ev->body, "label"));
  if (!label) return rp__fail_nomem(err);
  if (rp__pins_count(f) < RP_PINS_MAX || rp__pins_has(f, label)) return 0;
  const char *victim = rp__pins_suggest(f);
  rp__fail_field(err, RP_E_PINS_FULL, "body.label", "session %s has %d pins, which is all there is room for", s->id,
                 RP_PINS_MAX);
  rp__hint(err, "unpin one first, for example '%.100s'", victim ? victim : "");
  return RP_E_PINS_FULL;
}

/* ---- budget ---- */

#define WORDS_MAX 400

struct spending {
  int64_t tokens_in, tokens_out, requests; /* so far */
  double usd;
  double budget_usd, budget_tokens; /* 0: none */
};

static double tokens_of(const struct spending *sp)
{
  return (double)sp->tokens_in + (double)sp->tokens_out;
}

static bool begins_work(const struct rp__event *ev)
{
  if (ev->kind == RP_KIND_MESSAGE) return rp__json_eq(rp__json_get(ev->body, "role"), "user");
  return ev->kind == RP_KIND_TOOL && rp__json_eq(rp__json_get(ev->body, "status"), "intended");
}

static bool scope_has_budget(const rp_session *s)
{
  const struct rp__config *c = s->e->config;
  return rp__config_num(c, s->scope, RP_OPT_BUDGET_USD) > 0 || rp__config_num(c, s->scope, RP_OPT_BUDGET_TOKENS) > 0;
}

/* What was spent, and what may be: the session's own word counts before the scope's. */
static int spending_read(rp_session *s, const struct rp__fold *f, struct spending *ret, rp_error *err)
{
  static const char *const parts[] = {"usage", "settings", NULL};
  struct rp__buf out RP_AUTOBUF = RP_BUF(4 * 1024 * 1024);
  struct rp__jw w = RP_JW(&out);
  *ret = (struct spending){.budget_usd = rp__config_num(s->e->config, s->scope, RP_OPT_BUDGET_USD),
                           .budget_tokens = rp__config_num(s->e->config, s->scope, RP_OPT_BUDGET_TOKENS)};
  rp__jw_object(&w);
  rp__fold_show_some(f, parts, 0, &w);
  rp__jw_end_object(&w);
  if (out.err) return rp__fail_nomem(err);
  struct rp__json doc = rp__json_trusted(out.p, out.n), usage = rp__json_get(doc, "usage");
  struct rp__json own = rp__json_get(rp__json_get(doc, "settings"), "settings");
  rp__json_double(rp__json_get(usage, "cost_usd"), &ret->usd);
  rp__json_i64(rp__json_get(usage, "tokens_in"), &ret->tokens_in);
  rp__json_i64(rp__json_get(usage, "tokens_out"), &ret->tokens_out);
  rp__json_i64(rp__json_get(usage, "requests"), &ret->requests);
  rp__json_double(rp__json_get(own, "budget_usd"), &ret->budget_usd);
  rp__json_double(rp__json_get(own, "budget_tokens"), &ret->budget_tokens);
  return 0;
}

static bool whole_cents(double usd)
{
  return fabs(usd * 100 - round(usd * 100)) < 1e-6;
}

/* The budget that is used up to `share` of it, in words; false when none is. */
static bool spent_words(const rp_session *s, const struct spending *sp, double share, char *out, size_t size)
{
  double tokens = tokens_of(sp);
  if (sp->budget_usd > 0 && sp->usd >= share * sp->budget_usd) {
    /* Cents, and fractions of them only where the sums have any. */
    int digits = whole_cents(sp->usd) && whole_cents(sp->budget_usd) ? 2 : 4;
    snprintf(out, size, "session %s has spent $%.*f of its budget of $%.*f", s->id, digits, sp->usd, digits,
             sp->budget_usd);
    return true;
  }
  if (!(sp->budget_tokens > 0) || tokens < share * sp->budget_tokens) return false;
  snprintf(out, size, "session %s has used %.0f tokens of its budget of %.0f", s->id, tokens, sp->budget_tokens);
  return true;
}

static double share_of(const struct spending *sp)
{
  double usd = sp->budget_usd > 0 ? sp->usd / sp->budget_usd : 0;
  double tokens = sp->budget_tokens > 0 ? tokens_of(sp) / sp->budget_tokens : 0;
  return usd > tokens ? usd : tokens;
}

static double warns_at(const rp_session *s)
{
  return rp__config_num(s->e->config, s->scope, RP_OPT_BUDGET_WARN);
}

/* Once per crossing: a budget that was raised may come close again. */
static void note_share(rp_session *s, const struct spending *sp)
{
  char words[WORDS_MAX];
  bool low = spent_words(s, sp, warns_at(s), words, sizeof words);
  atomic_store(&s->budget_share, share_of(sp));
  if (atomic_exchange(&s->budget_told, low) || !low) return;
  rp__log(&s->e->log, RP_LOG_WARN, "%s", words);
}

void rp__guard_ack(rp_session *s, rp_ack *ack)
{
  double share = atomic_load(&s->budget_share);
  if (!(share > 0)) return;
  ack->budget_share = share;
  ack->budget_low = share >= warns_at(s);
}

int rp__guard_budget(rp_session *s, const struct rp__fold *f, rp_error *err)
{
  struct spending sp;
  char words[WORDS_MAX];
  int rc = spending_read(s, f, &sp, err);
  if (!rc) note_share(s, &sp);
  if (rc || !spent_words(s, &sp, 1, words, sizeof words)) return rc;
  rc = rp__fail(err, RP_E_BUDGET, "%s", words);
  rp__hint(err, "raise budget_usd or budget_tokens in the configuration, or in this session's settings");
  return rc;
}

bool rp__guard_watches(rp_session *s)
{
  return scope_has_budget(s);
}

void rp__guard_spent(rp_session *s)
{
  struct spending sp;
  struct rp__fold *f = NULL;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  if (!rp__guard_watches(s)) return;
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, &warnings, NULL);
  if (!rc) rc = spending_read(s, f, &sp, NULL);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  if (!rc) note_share(s, &sp);
}

/* ---- telling what was spent ---- */

static void write_budget(struct rp__jw *w, const char *name, const char *share, double budget, double spent)
{
  if (!(budget > 0)) return;
  rp__jw_kdouble(w, name, budget);
  rp__jw_kdouble(w, share, spent / budget);
}

static void spending_write(const struct spending *sp, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_ki64(w, "tokens_in", sp->tokens_in);
  rp__jw_ki64(w, "tokens_out", sp->tokens_out);
  rp__jw_kdouble(w, "cost_usd", sp->usd);
  rp__jw_ki64(w, "requests", sp->requests);
  write_budget(w, "budget_usd", "budget_usd_share", sp->budget_usd, sp->usd);
  write_budget(w, "budget_tokens", "budget_tokens_share", sp->budget_tokens, tokens_of(sp));
  rp__jw_end_object(w);
}

int rp_usage_json(rp_session *s, char **ret, rp_error *err)
{
  struct spending sp;
  struct rp__fold *f = NULL;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096), warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__jw w = RP_JW(&out);
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  pthread_mutex_lock(&s->lock);
  rc = rp__state_use(s, &f, &warnings, err);
  if (!rc) rc = spending_read(s, f, &sp, err);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  if (rc) return rc;
  spending_write(&sp, &w);
  char *doc = rp__buf_take(&out);
  if (!doc) return rp__fail_nomem(err);
  *ret = doc;
  return 0;
}

/* ---- both ---- */

int rp__guard(rp_session *s, const struct rp__event *ev, int64_t *ret_seq, rp_error *err)
{
  struct rp__fold *f = NULL;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  bool pin = ev->kind == RP_KIND_PIN, work = begins_work(ev) && scope_has_budget(s);
  *ret_seq = -1;
  if (!pin && !work) return 0;
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, &warnings, err);
  if (!rc && pin) *ret_seq = rp__fold_seq(f);
  if (!rc && pin) rc = judge_pin(s, f, ev, err);
  if (!rc && work) rc = rp__guard_budget(s, f, err);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  return rc;
}
