/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pins: whether a pin is critical, and which session it comes from. */
#include "continuity/pin.h"

#include "base/clock.h"
#include "base/text.h"
#include "facets/words.h"
#include "json/text.h"

struct rp__pin rp__pin_in_record(struct rp__json pin)
{
  return (struct rp__pin){.label = rp__json_get(pin, "label"),
                          .content = rp__json_get(pin, "content"),
                          .importance = rp__json_get(pin, "importance"),
                          .inherited_from = rp__json_get(pin, "inherited_from"),
                          .inherited_end = rp__json_get(pin, "inherited_end"),
                          .marked = rp__json_get(pin, "critical").type == RP_JSON_TRUE};
}

struct rp__pin rp__pin_in_state(const struct rp__row *row)
{
  return (struct rp__pin){.label = rp__row_cell(row, RP_PIN_LABEL),
                          .content = rp__row_cell(row, RP_PIN_CONTENT),
                          .importance = rp__row_cell(row, RP_PIN_IMPORTANCE),
                          .inherited_from = rp__row_cell(row, RP_PIN_INHERITED_FROM),
                          .inherited_end = rp__row_cell(row, RP_PIN_INHERITED_END),
                          .marked = row->flags & RP_PIN_CRITICAL};
}

/* ---- CRITICAL -------------------------------------------------------------------- */

/* On the decoded bytes, so that "\nCRITICAL" has a word and "nCRITICAL" has not. */
static bool says_critical(struct rp__json text)
{
  static const char word[] = "CRITICAL";
  if (text.type != RP_JSON_STRING || text.n < 2) return false;
  struct rp__json_cursor at = {.at = text.p + 1, .end = text.p + text.n - 1};
  size_t n = 0, same = 0;
  for (;;) {
    int c = rp__json_cursor_next(&at);
    if (c >= 0 && rp__is_alnum((char)c)) {
      if (n < sizeof word - 1 && word[n] == c) same++;
      n++;
      continue;
    }
    if (n == sizeof word - 1 && same == n) return true;
    if (c < 0) return false;
    n = same = 0;
  }
}

bool rp__pin_critical(const struct rp__pin *p)
{
  return p->marked || rp__json_eq(p->importance, "critical") || says_critical(p->label) || says_critical(p->content);
}

/* ---- where it came from ------------------------------------------------------------ */

/* What a label tells behind its bare part: " [inherited from ID @ END]"; of several the first one is the first
 * source's. */
static bool suffix_of(struct rp__str label, struct rp__str *ret_id, struct rp__str *ret_end)
{
  static const char mark[] = " [inherited from ", sep[] = " @ ";
  size_t bare = rp__pin_bare(label).n, n = sizeof mark - 1;
  if (label.n - bare <= n) return false;
  const char *id = label.p + bare + n, *last = label.p + label.n;
  const char *at = memmem(id, (size_t)(last - id), sep, sizeof sep - 1);
  if (!at || at == id) return false;
  const char *end = at + sizeof sep - 1, *close = memchr(end, ']', (size_t)(last - end));
  if (!close) return false;
  *ret_id = (struct rp__str){id, (size_t)(at - id)};
  *ret_end = (struct rp__str){end, (size_t)(close - end)};
  return true;
}

static void copy(struct rp__str from, char *out, size_t size)
{
  size_t n = from.n < size ? from.n : rp__text_clip(from.p, size - 1);
  for (size_t i = 0; i < n; i++) out[i] = (unsigned char)from.p[i] < 0x20 || from.p[i] == 0x7f ? ' ' : from.p[i];
  out[n] = '\0';
}

static void set(struct rp__provenance *p, struct rp__str id, struct rp__str end)
{
  int64_t ms;
  copy(id, p->id, sizeof p->id);
  if (end.n && rp__time_parse(end.p, end.n, &ms) == 0)
    rp__time_format(ms, p->end);
  else
    copy(end, p->end, sizeof p->end);
}

static int decode(struct rp__json v, struct rp__buf *out)
{
  *out = RP_BUF(v.n);
  if (v.type == RP_JSON_STRING) (void)rp__json_text(v, out);
  return out->err;
}

int rp__pin_provenance(const struct rp__pin *p, struct rp__provenance *ret)
{
  RP_AUTOBUF struct rp__buf from = {0}, ended = {0}, label = {0};
  struct rp__provenance found = {0};
  struct rp__str id, end;
  if (decode(p->inherited_from, &from) || decode(p->inherited_end, &ended) || decode(p->label, &label))
    return RP_E_NOMEM;
  if (from.n)
    set(&found, (struct rp__str){from.p, from.n}, (struct rp__str){ended.p ? ended.p : "", ended.n});
  else if (label.p && suffix_of((struct rp__str){label.p, label.n}, &id, &end))
    set(&found, id, end);
  *ret = found;
  return 0;
}
