/* SPDX-License-Identifier: Apache-2.0 */
/* A brief in the making: one buffer of text, with sections and items as ranges of it. */
#include "continuity/brief-impl.h"

#define DRAFT_MAX ((size_t)8 * 1024 * 1024) /* the bounds of items and sections keep it well below */
#define WHY_MAX 400

void rp__draft_init(struct rp__draft *d)
{
  *d = (struct rp__draft){.bytes = RP_BUF(DRAFT_MAX)};
}

void rp__draft_done(struct rp__draft *d)
{
  rp__buf_done(&d->bytes);
  free(d->items);
  d->items = NULL;
}

/* ---- filling -------------------------------------------------------------------- */

static void add_why(struct rp__draft *d, const char *fmt, va_list args, size_t *ret_at, size_t *ret_n) RP_PRINTF(2, 0);
static void add_why(struct rp__draft *d, const char *fmt, va_list args, size_t *ret_at, size_t *ret_n)
{
  char text[WHY_MAX];
  int n = vsnprintf(text, sizeof text, fmt, args);
  *ret_at = d->bytes.n;
  if (n > 0) rp__plain_text(&d->bytes, text, WHY_MAX);
  *ret_n = d->bytes.n - *ret_at;
}

static struct rp__draft_section *last_section(struct rp__draft *d)
{
  return &d->sections[d->n_sections - 1];
}

void rp__draft_section(struct rp__draft *d, enum rp__section kind, const char *why, ...)
{
  va_list args;
  if (d->n_sections && last_section(d)->n == 0) d->n_sections--;
  if (d->n_sections == RP_SECTIONS_MAX) return;
  struct rp__draft_section *s = &d->sections[d->n_sections++];
  *s = (struct rp__draft_section){.kind = kind, .first = d->n_items};
  va_start(args, why);
  add_why(d, why, args, &s->why_at, &s->why_n);
  va_end(args);
}

struct rp__buf *rp__draft_item(struct rp__draft *d)
{
  if (d->n_items == d->cap_items) {
    size_t cap = d->cap_items ? 2 * d->cap_items : 64;
    struct rp__draft_item *items = realloc(d->items, cap * sizeof *items);
    if (!items) {
      if (!d->bytes.err) d->bytes.err = RP_E_NOMEM;
      return &d->bytes;
    }
    d->items = items;
    d->cap_items = cap;
  }
  d->items[d->n_items] = (struct rp__draft_item){.at = d->bytes.n};
  return &d->bytes;
}

void rp__draft_short(struct rp__draft *d)
{
  if (d->bytes.err) return;
  struct rp__draft_item *item = &d->items[d->n_items];
  item->short_n = d->bytes.n - item->at;
}

void rp__draft_cancel(struct rp__draft *d)
{
  if (d->bytes.err) return;
  d->bytes.n = d->items[d->n_items].at;
  if (d->bytes.p) d->bytes.p[d->bytes.n] = '\0';
}

void rp__draft_drop(struct rp__draft *d)
{
  struct rp__draft_section *s = last_section(d);
  d->n_items = s->first;
  s->n = s->left_out = 0;
}

static void mask(struct rp__draft *d, struct rp__draft_item *item)
{
  RP_AUTOBUF struct rp__buf masked = RP_BUF(DRAFT_MAX);
  size_t hits = 0;
  if (rp__redact_text(d->redactor, d->bytes.p + item->at, item->n, &masked, &hits)) d->bytes.err = RP_E_NOMEM;
  if (d->bytes.err || hits == 0) return;
  d->bytes.n = item->at;
  rp__buf_add(&d->bytes, masked.p, masked.n);
  item->n = masked.n;
  item->short_n = 0;
}

void rp__draft_why(struct rp__draft *d, const char *why, ...)
{
  struct rp__draft_section *s = last_section(d);
  va_list args;
  if (d->bytes.err) return;
  struct rp__draft_item *item = &d->items[d->n_items];
  if (s->n == RP_ITEMS_MAX) {
    s->left_out++;
    rp__draft_cancel(d);
    return;
  }
  item->n = d->bytes.n - item->at;
  if (d->redactor && rp__redact_suspects(d->redactor, d->bytes.p + item->at, item->n)) mask(d, item);
  rp__draft_words((struct rp__str){d->bytes.p + item->at, item->n}, item->words);
  va_start(args, why);
  add_why(d, why, args, &item->why_at, &item->why_n);
  va_end(args);
  d->n_items++;
  s->n++;
}

bool rp__draft_repeats(const struct rp__draft *d)
{
  if (d->bytes.err || d->n_sections == 0) return false;
  const struct rp__draft_section *s = &d->sections[d->n_sections - 1];
  size_t at = d->items[d->n_items].at, n = d->bytes.n - at;
  for (size_t i = s->first; i < s->first + s->n; i++) {
    const struct rp__draft_item *item = &d->items[i];
    if (item->n == n && memcmp(d->bytes.p + item->at, d->bytes.p + at, n) == 0) return true;
  }
  return false;
}
