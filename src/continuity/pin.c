/* SPDX-License-Identifier: Apache-2.0 */
#include "continuity/pin.h"

#include "base/clock.h"
#include "base/text.h"
#include "facets/pins.h"
#include "facets/words.h"
#include "json/text.h"

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

bool rp__pin_critical(struct rp__json pin)
{
  return rp__json_get(pin, "critical").type == RP_JSON_TRUE ||
         rp__json_eq(rp__json_get(pin, "importance"), "critical") || says_critical(rp__json_get(pin, "label")) ||
         says_critical(rp__json_get(pin, "content"));
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
  if (v.type == RP_JSON_STRING) (void)rp__json_text(v, out);
  return out->err;
}

int rp__pin_provenance(struct rp__json pin, struct rp__provenance *ret)
{
  RP_AUTOBUF struct rp__buf a = RP_BUF(pin.n), b = RP_BUF(pin.n);
  struct rp__provenance found = {0};
  struct rp__str id, end;
  if (decode(rp__json_get(pin, "inherited_from"), &a) || decode(rp__json_get(pin, "inherited_end"), &b))
    return RP_E_NOMEM;
  if (a.n) {
    set(&found, (struct rp__str){a.p, a.n}, (struct rp__str){b.p ? b.p : "", b.n});
  } else {
    rp__buf_reset(&a);
    if (decode(rp__json_get(pin, "label"), &a)) return RP_E_NOMEM;
    if (a.p && suffix_of((struct rp__str){a.p, a.n}, &id, &end)) set(&found, id, end);
  }
  *ret = found;
  return 0;
}
