/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inheritance of pins. CRITICAL pins come from any session inside critical_hours, also from one that is not
 * restored. Other pins come from the most recent restored session, and from further restored sessions with a high
 * score. A pin that one of these sessions removed or replaced comes from none of the others.
 */
#include "continuity/plan-impl.h"

#include "base/clock.h"
#include "base/text.h"
#include "continuity/pin.h"
#include "continuity/record.h"
#include "facets/pins.h"

#define PINS_OF_ONE 64 /* of one record: ours hold ten at most */

/* Pins with this label that are not newer were taken off or replaced by `by`. */
struct dropped {
  char *label; /* owned, bare */
  int64_t pinned_at;
  const struct rp__candidate *by;
};

struct choosing {
  struct rp__plan *p;
  struct dropped *dropped;
  size_t n_dropped;
  const struct rp__plan_sources *s;
  struct rp__candidate own;           /* who is planned for, when it has taken off pins itself */
  const struct rp__candidate *recent; /* the restored session that ended last */
  bool all;
};

/* ---- gathering ------------------------------------------------------------------- */

static bool ended_later(const struct rp__candidate *a, const struct rp__candidate *b)
{
  if (a->ended_at != b->ended_at) return a->ended_at > b->ended_at;
  return strcmp(a->session_id, b->session_id) < 0;
}

static struct rp__json pins_of(const struct rp__candidate *c)
{
  return rp__json_get(c->record, rp__record_names[RP_PART_WORKING_MEMORY]);
}

/* A pin that says to be newer than the end of its session is not believed. */
static int64_t pinned_at(struct rp__json pin, const struct rp__candidate *from)
{
  struct rp__json at = rp__json_get(pin, "pinned_at");
  int64_t ms;
  if (at.type != RP_JSON_STRING || at.n < 2 || rp__time_parse(at.p + 1, at.n - 2, &ms)) return from->ended_at;
  return RP_MIN(ms, from->ended_at);
}

static int gather_one(struct rp__plan *p, const struct rp__candidate *from, struct rp__json pin)
{
  struct rp__pin_choice *c = &p->pins[p->n_pins];
  struct rp__pin told = rp__pin_in_record(pin);
  struct rp__provenance source = {0};
  *c = (struct rp__pin_choice){.pin = pin, .from = from, .pinned_at = pinned_at(pin, from)};
  c->label = rp__json_dup(told.label);
  if (!c->label) return RP_E_NOMEM;
  p->n_pins++;
  c->label[rp__pin_bare(rp__str(c->label)).n] = '\0';
  c->critical = rp__pin_critical(&told);
  if (rp__pin_provenance(&told, &source)) return RP_E_NOMEM;
  rp__text_copy(c->source_id, sizeof c->source_id, source.id[0] ? source.id : from->session_id);
  if (source.id[0])
    rp__text_copy(c->source_end, sizeof c->source_end, source.end);
  else
    rp__time_format(from->ended_at, c->source_end);
  return 0;
}

static int gather(struct rp__plan *p)
{
  size_t total = 0;
  for (size_t i = 0; i < p->n_slots; i++) {
    if (p->slots[i].refs && p->slots[i].c.opened) total += RP_MIN(rp__json_count(pins_of(&p->slots[i].c)), PINS_OF_ONE);
  }
  if (total == 0) return 0;
  p->pins = calloc(total, sizeof *p->pins);
  if (!p->pins) return RP_E_NOMEM;
  for (size_t i = 0; i < p->n_slots; i++) {
    const struct rp__slot *slot = &p->slots[i];
    struct rp__json_iter it = {0};
    struct rp__json pin;
    if (!slot->refs || !slot->c.opened) continue;
    for (size_t k = 0; k < PINS_OF_ONE && rp__json_next(pins_of(&slot->c), &it, NULL, &pin); k++)
      if (gather_one(p, &slot->c, pin)) return RP_E_NOMEM;
  }
  return 0;
}

static struct rp__json dropped_of(const struct rp__slot *s)
{
  return s->refs && s->c.opened ? rp__json_get(s->c.record, RP_RECORD_DROPPED) : (struct rp__json){0};
}

static int add_dropped(struct choosing *ch, struct rp__json label, int64_t pinned_at_ms, const struct rp__candidate *by)
{
  char *text = rp__json_dup(label);
  if (!text) return RP_E_NOMEM;
  text[rp__pin_bare(rp__str(text)).n] = '\0';
  ch->dropped[ch->n_dropped++] = (struct dropped){text, pinned_at_ms, by};
  return 0;
}

static int gather_dropped(struct choosing *ch)
{
  const struct rp__plan *p = ch->p;
  const struct rp__rows *own = ch->s->dropped;
  size_t total = own ? own->count : 0;
  for (size_t i = 0; i < p->n_slots; i++)
    total += RP_MIN(rp__json_count(dropped_of(&p->slots[i])), (size_t)RP_DROPPED_PINS_MAX);
  ch->dropped = total ? calloc(total, sizeof *ch->dropped) : NULL;
  if (!ch->dropped) return total ? RP_E_NOMEM : 0;
  for (size_t i = 0; i < p->n_slots; i++) {
    const struct rp__candidate *by = &p->slots[i].c;
    struct rp__json_iter it = {0};
    struct rp__json v;
    for (size_t k = 0; k < RP_DROPPED_PINS_MAX && rp__json_next(dropped_of(&p->slots[i]), &it, NULL, &v); k++)
      if (add_dropped(ch, rp__json_get(v, "label"), pinned_at(v, by), by)) return RP_E_NOMEM;
  }
  if (!ch->s->dropped_by) return 0;
  rp__text_copy(ch->own.session_id, sizeof ch->own.session_id, ch->s->dropped_by);
  for (size_t i = 0; own && i < own->count; i++) {
    int64_t at = own->v[i]->at_ms; /* a pin without a time counts as taken off now */
    at = at ? RP_MIN(at, ch->own.ended_at) : ch->own.ended_at;
    if (add_dropped(ch, rp__row_cell(own->v[i], RP_PIN_LABEL), at, &ch->own)) return RP_E_NOMEM;
  }
  return 0;
}

/* ---- order --------------------------------------------------------------------------- */

/* CRITICAL first, then the newest; of one record, what was pinned later stands behind. */
static int by_worth(const void *x, const void *y)
{
  const struct rp__pin_choice *a = x, *b = y;
  if (a->critical != b->critical) return a->critical ? -1 : 1;
  if (a->pinned_at != b->pinned_at) return a->pinned_at > b->pinned_at ? -1 : 1;
  if (a->from->ended_at != b->from->ended_at) return a->from->ended_at > b->from->ended_at ? -1 : 1;
  int ids = strcmp(a->from->session_id, b->from->session_id);
  return ids ? ids : a->pin.p > b->pin.p ? -1 : a->pin.p < b->pin.p;
}

static int by_taken(const void *x, const void *y)
{
  const struct rp__pin_choice *a = x, *b = y;
  if (a->taken != b->taken) return a->taken ? -1 : 1;
  return by_worth(x, y);
}

/* ---- deciding -------------------------------------------------------------------------- */

/* Whether its session may give it; writes the reason either way. */
static bool may_come(const struct choosing *ch, struct rp__pin_choice *c)
{
  const struct rp__rules *r = &ch->p->rules;
  const struct rp__candidate *from = c->from;
  bool restored = from->verdict == RP_VERDICT_RESTORED;
  if (ch->all)
    snprintf(c->reason, sizeof c->reason, "its session is continued by name");
  else if (c->critical && from->hours <= r->critical_hours)
    snprintf(c->reason, sizeof c->reason, "CRITICAL, and held %.1f h ago, within %.0f h", from->hours,
             r->critical_hours);
  else if (restored && from == ch->recent)
    snprintf(c->reason, sizeof c->reason, "of the most recent session that is restored");
  else if (restored && from->score >= r->pin_threshold - RP_NEAR)
    snprintf(c->reason, sizeof c->reason, "its session's score %.4f reaches the pin threshold %.2f", from->score,
             r->pin_threshold);
  else {
    c->verdict = restored ? "below_threshold" : "not_restored";
    if (restored)
      snprintf(c->reason, sizeof c->reason, "its session's score %.4f is below the pin threshold %.2f", from->score,
               r->pin_threshold);
    else
      snprintf(c->reason, sizeof c->reason, "its session is not restored, and it is not CRITICAL");
    return false;
  }
  return true;
}

/* Who took it off or replaced it, the last of them; or NULL. */
static const struct rp__candidate *dropped_by(const struct choosing *ch, const struct rp__pin_choice *c)
{
  const struct rp__candidate *last = NULL;
  for (size_t i = 0; i < ch->n_dropped; i++) {
    const struct dropped *d = &ch->dropped[i];
    if (d->by == c->from || c->pinned_at > d->pinned_at || strcmp(d->label, c->label) != 0) continue;
    if (!last || ended_later(d->by, last)) last = d->by;
  }
  return last;
}

static void choosing_done(struct choosing *ch)
{
  for (size_t i = 0; i < ch->n_dropped; i++) free(ch->dropped[i].label);
  free(ch->dropped);
}

/* Whether a pin with the label of the one at i is present, or a better one stands before it: the reason, or NULL. */
static const char *label_taken(const struct choosing *ch, size_t i, const char **ret_verdict)
{
  const struct rp__pin_choice *pins = ch->p->pins;
  for (size_t k = 0; k < ch->s->n_labels; k++) {
    *ret_verdict = "label_present";
    if (rp__str_eq(rp__pin_bare(rp__str(ch->s->labels[k])), pins[i].label))
      return "a pin with this label is present, and wins";
  }
  *ret_verdict = "duplicate";
  for (size_t k = 0; k < i; k++) {
    bool could_come = strcmp(pins[k].verdict, "below_threshold") != 0 && strcmp(pins[k].verdict, "not_restored") != 0 &&
                      strcmp(pins[k].verdict, "dropped") != 0;
    if (could_come && strcmp(pins[k].label, pins[i].label) == 0) return "a newer pin has this label";
  }
  return NULL;
}

int rp__plan_choose_pins(struct rp__plan *p, const struct rp__plan_sources *s, bool all)
{
  RP_CLEANUP(choosing_done) struct choosing ch = {.p = p, .s = s, .own.ended_at = p->now_ms, .all = all};
  size_t slots = s->n_labels < RP_PINS_MAX ? RP_PINS_MAX - s->n_labels : 0, taken = 0;
  size_t limit = all ? RP_PINS_MAX : (size_t)RP_MAX(p->rules.max_pins, 0);
  for (size_t i = 0; i < p->n_restored; i++)
    if (!ch.recent || ended_later(p->restored[i], ch.recent)) ch.recent = p->restored[i];
  int rc = gather(p);
  if (rc == 0) rc = gather_dropped(&ch);
  if (rc || p->n_pins == 0) return rc;
  qsort(p->pins, p->n_pins, sizeof *p->pins, by_worth);
  for (size_t i = 0; i < p->n_pins; i++) {
    struct rp__pin_choice *c = &p->pins[i];
    const struct rp__candidate *by = dropped_by(&ch, c);
    if (by) {
      c->verdict = "dropped";
      snprintf(c->reason, sizeof c->reason, "session %.60s took it off or replaced it", by->session_id);
      continue;
    }
    if (!may_come(&ch, c)) continue;
    const char *verdict, *why = label_taken(&ch, i, &verdict);
    if (why) {
      c->verdict = verdict;
      rp__text_copy(c->reason, sizeof c->reason, why);
    } else if (taken == slots) {
      c->verdict = "no_free_slot";
      snprintf(c->reason, sizeof c->reason, "no free slot: %zu of %d were taken", s->n_labels, RP_PINS_MAX);
    } else if (taken == limit) {
      c->verdict = "beyond_limit";
      snprintf(c->reason, sizeof c->reason, "at most %zu are inherited", limit);
    } else {
      c->verdict = "inherited";
      c->taken = true;
      taken++;
    }
  }
  qsort(p->pins, p->n_pins, sizeof *p->pins, by_taken);
  return 0;
}

const struct rp__pin_choice *rp__plan_pins(const struct rp__plan *p, size_t *ret_n)
{
  *ret_n = p->n_pins;
  return p->pins;
}
