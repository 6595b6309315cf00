/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a text would tell the reader anything new. A user who edits a prompt and sends it again, or states a rule in
 * two sessions, is told once. Texts are compared by the set of their words, of scripts without spaces by pairs of
 * characters; the set of an item is a bitmap, in which a word costs one bit.
 */
#include "base/text.h"
#include "base/utf8.h"
#include "continuity/brief-impl.h"
#include "facets/words.h"

#define WORD_MIN 3    /* bytes; shorter words stand in every sentence */
#define WORDS_MIN 2   /* a text of fewer is compared as a whole */
#define WORDS_MAX 160 /* of a text; what follows is not looked at */

static uint32_t mix(uint32_t h, uint32_t c)
{
  return (h ^ c) * UINT32_C(16777619);
}

static uint32_t folded(uint32_t c)
{
  return c < 0x80 ? (uint32_t)(uint8_t)rp__ascii_lower((char)c) : rp__utf8_lower(c);
}

/* Hashes of the words of a text, and of each pair of wide characters. Returns how many. */
static size_t each_word(struct rp__str s, uint32_t words[WORDS_MAX])
{
  size_t n = 0, letters = 0;
  uint32_t h = 0, before = 0;
  for (size_t at = 0; at <= s.n && n < WORDS_MAX;) {
    unsigned len = at < s.n ? rp__utf8_len(s.p + at, s.p + s.n) : 1;
    uint32_t c = at == s.n ? ' ' : len > 1 ? rp__utf8_value(s.p + at, len) : (uint8_t)s.p[at];
    bool wide = rp__utf8_wide(c) && c >= 0x3040 && c < 0xff00; /* no punctuation */
    bool letter = !wide && (c < 0x80 ? rp__is_alnum((char)c) || c == '_' : c >= 0xc0 && c < 0x2000);
    if (letter) {
      h = mix(h, folded(c));
      letters += RP_MAX(len, 1u);
    } else {
      if (letters >= WORD_MIN) words[n++] = h;
      h = 0;
      letters = 0;
    }
    if (wide && before && n < WORDS_MAX) words[n++] = mix(mix(1, before), c);
    before = wide ? c : 0;
    at += RP_MAX(len, 1u);
  }
  return n;
}

static void bit_of(uint32_t h, size_t *ret_word, uint64_t *ret_bit)
{
  h ^= h >> 15;
  *ret_word = h / 64 % RP_DRAFT_WORDS;
  *ret_bit = UINT64_C(1) << h % 64;
}

void rp__draft_words(struct rp__str text, uint64_t set[RP_DRAFT_WORDS])
{
  uint32_t words[WORDS_MAX];
  size_t n = each_word(text, words), k;
  uint64_t bit;
  memset(set, 0, RP_DRAFT_WORDS * sizeof *set);
  for (size_t i = 0; i < n; i++) {
    bit_of(words[i], &k, &bit);
    set[k] |= bit;
  }
}

bool rp__words_repeat(struct rp__str text, const uint64_t set[RP_DRAFT_WORDS], unsigned percent)
{
  uint32_t words[WORDS_MAX];
  size_t n = each_word(text, words), had = 0, k;
  uint64_t bit;
  for (size_t i = 0; i < n; i++) {
    bit_of(words[i], &k, &bit);
    had += (set[k] & bit) != 0;
  }
  return n >= WORDS_MIN && had * 100 >= n * percent;
}

bool rp__draft_tells(const struct rp__draft *d, struct rp__str text, unsigned percent)
{
  if (d->bytes.err) return false;
  for (size_t i = 0; i < d->n_items; i++)
    if (rp__words_repeat(text, d->items[i].words, percent)) return true;
  return false;
}

bool rp__draft_mentions(const struct rp__draft *d, struct rp__str name)
{
  for (size_t i = 0; i < d->n_items && !d->bytes.err; i++)
    if (rp__text_has((struct rp__str){d->bytes.p + d->items[i].at, d->items[i].n}, name)) return true;
  return false;
}
