/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a session, checked against its state: pins, and the budget, whose use is reported too (L-12). */
#include "engine/journal/limits.h"

#include <math.h>

#include "facets/pins.h"
#include "facets/settings.h"
#include "facets/usage.h"

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

bool rp__limits_watches(const rp_session *s)
{
  return s->config->budget_usd > 0 || s->config->budget_tokens > 0;
}

/* Spending so far and the budget: the session's own setting counts before the scope's. */
static struct spending spending_of(const rp_session *s, const struct rp__fold *f)
{
  const struct rp__usage *u = rp__usage(f);
  struct spending sp = {.tokens_in = u->tokens_in,
                        .tokens_out = u->tokens_out,
                        .requests = u->requests,
                        .usd = u->cost_usd,
                        .budget_usd = s->config->budget_usd,
                        .budget_tokens = s->config->budget_tokens};
  rp__json_double(rp__setting(f, "budget_usd"), &sp.budget_usd);
  rp__json_double(rp__setting(f, "budget_tokens"), &sp.budget_tokens);
  return sp;
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

/* Once per crossing: a budget that was raised may come close again. */
static void note_share(rp_session *s, const struct spending *sp)
{
  char words[WORDS_MAX];
  bool low = spent_words(s, sp, s->config->budget_warn, words, sizeof words);
  double usd = sp->budget_usd > 0 ? sp->usd / sp->budget_usd : 0;
  double tokens = sp->budget_tokens > 0 ? tokens_of(sp) / sp->budget_tokens : 0;
  atomic_store(&s->budget_share, RP_MAX(usd, tokens));
  if (atomic_exchange(&s->budget_told, low) || !low) return;
  rp__log(&s->e->log, RP_LOG_WARN, "%s", words);
}

void rp__limits_ack(rp_session *s, rp_ack *ack)
{
  double share = atomic_load(&s->budget_share);
  if (!(share > 0)) return;
  ack->budget_share = share;
  ack->budget_low = share >= s->config->budget_warn;
}

int rp__limits_budget(rp_session *s, const struct rp__fold *f, rp_error *err)
{
  struct spending sp = spending_of(s, f);
  char words[WORDS_MAX];
  note_share(s, &sp);
  if (!spent_words(s, &sp, 1, words, sizeof words)) return 0;
  int rc = rp__fail(err, RP_E_BUDGET, "%s", words);
  rp__hint(err, "raise budget_usd or budget_tokens in the configuration, or in this session's settings");
  return rc;
}

static int spending_read(rp_session *s, struct spending *ret, rp_error *err)
{
  struct rp__fold *f = NULL;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, &warnings, err);
  if (!rc) *ret = spending_of(s, f);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

void rp__limits_spent(rp_session *s)
{
  struct spending sp;
  if (rp__limits_watches(s) && !spending_read(s, &sp, NULL)) note_share(s, &sp);
}

/* ---- telling what was spent ---- */

static void write_budget(struct rp__jw *w, const char *name, const char *share, double budget, double spent)
{
  if (!(budget > 0)) return;
  rp__jw_kdouble(w, name, budget);
  rp__jw_kdouble(w, share, spent / budget);
}

int rp_usage_json(rp_session *s, char **ret, rp_error *err)
{
  struct spending sp;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  int rc = rp__session_check(s, err);
  if (!rc) rc = spending_read(s, &sp, err);
  if (rc) return rc;
  rp__jw_pack(&w, "{tokens_in:i tokens_out:i cost_usd:d requests:i", sp.tokens_in, sp.tokens_out, sp.usd, sp.requests);
  write_budget(&w, "budget_usd", "budget_usd_share", sp.budget_usd, sp.usd);
  write_budget(&w, "budget_tokens", "budget_tokens_share", sp.budget_tokens, tokens_of(&sp));
  rp__jw_end_object(&w);
  return rp__text_give(&out, ret, err);
}

/* ---- events ---- */

bool rp__limits_apply(const rp_session *s, const struct rp__event *ev)
{
  bool work = false;
  if (ev->kind == RP_KIND_PIN) return true;
  if (ev->kind == RP_KIND_MESSAGE) work = rp__json_eq(rp__json_get(ev->body, "role"), "user");
  if (ev->kind == RP_KIND_TOOL) work = rp__json_eq(rp__json_get(ev->body, "status"), "intended");
  return work && rp__limits_watches(s);
}

int rp__limits_check(rp_session *s, const struct rp__fold *f, const struct rp__event *ev, rp_error *err)
{
  if (ev->kind != RP_KIND_PIN) return rp__limits_apply(s, ev) ? rp__limits_budget(s, f, err) : 0;
  char *label RP_AUTOFREE = rp__json_dup(rp__json_get(ev->body, "label"));
  if (!label) return rp__fail_nomem(err);
  if (rp__pins_count(f) < RP_PINS_MAX || rp__pins_has(f, label)) return 0;
  const char *victim = rp__pins_suggest(f);
  rp__fail_field(err, RP_E_PINS_FULL, "body.label", "session %s has %d pins, which is all there is room for", s->id,
                 RP_PINS_MAX);
  rp__hint(err, "unpin one first, for example '%.100s'", victim ? victim : "");
  return RP_E_PINS_FULL;
}
