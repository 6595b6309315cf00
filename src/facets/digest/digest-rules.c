/* SPDX-License-Identifier: Apache-2.0 */
/* What the user lays down: rules and preferences that are stated, and options that are chosen. */
#include "facets/digest/digest-impl.h"

#include "base/text.h"

#define PROMPT_MAX 2500 /* bytes; a longer prompt is a document that was pasted */
#define TYPED_MAX ((size_t)8 * 1024)
#define SAID_MAX ((size_t)8 * 1024)
#define POINTS_MAX 6
#define RULE_MIN 8
#define RULE_WIDTH 220
#define CHOICE_BYTES 80
#define CHOICE_WIDTH 120

/* "2) …" behind a sentence of the same line. */
static bool is_numbered(struct rp__str rest)
{
  while (rest.n && *rest.p == ' ') rest.p++, rest.n--;
  return rest.n > 2 && rp__is_digit(rest.p[0]) && rest.p[0] > '1' && (rest.p[1] == ')' || rest.p[1] == '.');
}

/* Of many rules those go first that were not meant to last. */
static int put_rule(struct rp__digest *d, struct rp__str rule, unsigned flags, int64_t at_ms)
{
  if (d->rules.count == d->rules.shape->max_rows) {
    size_t i = 0;
    while (i < d->rules.count && d->rules.v[i]->flags & RP_RULE_LASTING) i++;
    rp__rows_drop(&d->rules, i < d->rules.count ? i : 0);
  }
  return RP_DIGEST_PUT(&d->rules, flags, at_ms, {RP_RULE_TEXT, rule, 0});
}

/* Headings and points of a list: what has many of them is a plan or a specification, whose sentences are no rules. */
static void count_layout(struct rp__str prompt, unsigned *ret_headings, unsigned *ret_points)
{
  *ret_headings = *ret_points = 0;
  for (const char *at = prompt.p, *end = prompt.p + prompt.n; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    while (at < end && *at == ' ') at++;
    *ret_headings += at < end && *at == '#';
    *ret_points += at + 1 < end && (*at == '-' || *at == '*' || rp__is_digit(*at)) && rp__is_in(at[1], " .)");
    at = stop ? stop + 1 : end;
  }
}

/* Whether a sentence ends with a word that stands for another sentence: "by default I can never do that". */
static bool points_back(rp__cues more, struct rp__str words)
{
  while (words.n && (rp__is_in(words.p[words.n - 1], ".!,;)\"'") || words.p[words.n - 1] == ' ')) words.n--;
  const char *blank = words.n ? memrchr(words.p, ' ', words.n) : NULL;
  struct rp__str last = blank ? (struct rp__str){blank + 1, words.n - (size_t)(blank + 1 - words.p)} : words;
  return last.n && rp__cues_begin(more, RP_CUE_POINTING, last) == last.n;
}

/* The sentences of a prompt that lay something down for later. */
int rp__digest_rules(struct rp__digest *d, struct rp__str prompt, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf plain = RP_BUF(TYPED_MAX);
  rp__cues more = rp__digest_cues(d);
  unsigned headings, points;
  count_layout(prompt, &headings, &points);
  if (prompt.n > PROMPT_MAX || headings) return 0;
  RP_AUTOBUF struct rp__buf typed = RP_BUF(TYPED_MAX);
  for (const char *at = prompt.p, *end = prompt.p + prompt.n; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop ? stop : end) - at);
    if (!rp__cues_log_line(more, (struct rp__str){at, n})) rp__buf_add(&typed, at, n);
    rp__buf_char(&typed, '\n');
    at += n + (stop != NULL);
  }
  if (typed.err) return RP_E_NOMEM;
  rp__prose_plain((struct rp__str){typed.p ? typed.p : "", typed.n}, &plain);
  struct rp__sentences all = {{plain.p ? plain.p : "", plain.n}};
  struct rp__str s, point;
  int rc = plain.err;
  while (rc == 0 && rp__sentences_next(&all, &s)) {
    /* The points of a numbered list on one line belong together: "1) never … 2) only …". */
    for (struct rp__sentences next = all; is_numbered(next.rest) && rp__sentences_next(&next, &point); all = next) {
      struct rp__str joined = {s.p, (size_t)(point.p + point.n - s.p)};
      if (rp__prose_width(joined) >= RULE_WIDTH) break;
      s = joined;
    }
    if (s.n <= RULE_MIN || rp__prose_width(s) >= RULE_WIDTH || rp__is_question(s)) continue;
    char room[4 * RULE_WIDTH + 1];
    struct rp__buf lower = RP_BUF_IN(room);
    rp__cues_lower(s, &lower);
    struct rp__str words = {room, lower.n};
    if (!rp__cues_in(more, RP_CUE_RULES, words) && !rp__cues_begin(more, RP_CUE_RULE_BEGINNINGS, words)) continue;
    if (rp__cues_in(more, RP_CUE_NO_RULES, words) || points_back(more, words)) continue;
    bool lasts = rp__cues_in(more, RP_CUE_LASTING, words);
    if (!lasts && points >= POINTS_MAX) continue;
    if (s.p[s.n - 1] == ':' || memmem(s.p, s.n, "://", 3) || memmem(s.p, s.n, "\": ", 3)) continue;
    if (memmem(s.p, s.n, ": \"", 3) || memmem(s.p, s.n, "arning: ", 8) || rp__cues_log_line(more, s)) continue;
    rc = put_rule(d, s, lasts ? RP_RULE_LASTING : 0, at_ms);
  }
  return rc;
}

/*
 * The mark of an option that a prompt chooses: it is all of the prompt ("B"), its first word with a mark behind it ("2,
 * as you said"), or the second of two words ("option 2", "la 2"). 0: it chooses none.
 */
static char chosen(struct rp__str prompt)
{
  const char *blank = prompt.n && prompt.n <= CHOICE_BYTES ? memchr(prompt.p, ' ', prompt.n) : NULL;
  size_t first = blank ? (size_t)(blank - prompt.p) : prompt.n, second = blank ? prompt.n - first - 1 : 0;
  char c = 0;
  if (prompt.n == 0 || prompt.n > CHOICE_BYTES) return 0;
  if (first == 1 && !blank)
    c = prompt.p[0];
  else if (first == 2 && rp__is_in(prompt.p[1], ",.):"))
    c = prompt.p[0];
  else if (first > 1 && (second == 1 || (second == 2 && rp__is_in(blank[2], ".!)"))))
    c = blank[1];
  c = rp__ascii_lower(c);
  return (c >= '1' && c <= '9') || (c >= 'a' && c <= 'e') ? c : 0;
}

/* A short choice is a decision: the option's words stand in what the agent said before. */
int rp__digest_choice(struct rp__digest *d, struct rp__str prompt, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf said = RP_BUF(SAID_MAX), plain = RP_BUF(2 * SAID_MAX), rule = RP_BUF(4 * RULE_WIDTH);
  char mark = chosen(prompt);
  if (!mark || d->head.n == 0) return 0;
  if (rp__digest_said(d, &said)) return RP_E_NOMEM;
  rp__prose_plain((struct rp__str){said.p, said.n}, &plain);
  const char *at = plain.p, *end = plain.p + plain.n;
  while (at && at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    struct rp__str line = {at, (size_t)((stop ? stop : end) - at)};
    at = stop ? stop + 1 : end;
    while (line.n && (*line.p == ' ' || *line.p == '-' || *line.p == '*' || *line.p == '(')) line.p++, line.n--;
    const char *word = line.n > 8 && memchr("oO", line.p[0], 2) ? memchr(line.p, ' ', 8) : NULL; /* "Option 2: …" */
    if (word) line = (struct rp__str){word + 1, line.n - (size_t)(word + 1 - line.p)};
    if (line.n < 6 || rp__ascii_lower(line.p[0]) != mark || !memchr(").:", line.p[1], 3)) continue;
    rp__buf_str(&rule, "chosen: ");
    rp__prose_clip((struct rp__str){line.p, line.n}, CHOICE_WIDTH, &rule);
    return rule.err ? RP_E_NOMEM : put_rule(d, (struct rp__str){rule.p, rule.n}, RP_RULE_CHOSEN, at_ms);
  }
  return plain.err;
}
