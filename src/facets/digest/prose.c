/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what is said in a text. */
#include "facets/digest/prose.h"

#include "base/text.h"
#include "base/utf8.h"
#include "json/scan.h"

#define TEXT_MAX ((size_t)64 * 1024)
#define PASTED_MIN 700   /* bytes; a shorter prompt is told as it is */
#define PASTED_SHARE 3   /* a text of which less than a third is prose is mostly pasted */
#define ASKED_WIDTH 240  /* of the prose beside something pasted */
#define PASTED_WIDTH 110 /* of the line that tells what was pasted */
#define RAW_WIDTH 200    /* of a prompt without any prose */
#define PLAN_LINE 120    /* bytes of a first line that a plan's heading may follow */
#define SAYS_LITTLE 12   /* bytes: prose that may be an accident */
#define ITEMS 4          /* points of a list that are told */
#define ITEM_WIDTH 80
#define FIRST_MIN 12    /* bytes of a sentence that says something */
#define SHORT_WIDTH 130 /* of an answer to which more is added */
#define REFERS_WIDTH 50 /* of a question that refers to what stands before it */
#define ERROR_LINE 400  /* bytes of a line in which errors are looked for */
#define FILLER_MAX 64
#define ANNOUNCED_MAX 260 /* bytes; a longer text is an answer, however it ends */

#define ELLIPSIS "…"

/* ---- characters ----------------------------------------------------------------------- */

/* Bytes at which Markdown may have a mark, and at which a sentence may end; all beyond ASCII may be either. */
enum { MAY_MARK = 1 << 0, MAY_END = 1 << 1 };
static const uint8_t marks[256] = {
    ['`'] = MAY_MARK, ['*'] = MAY_MARK, ['_'] = MAY_MARK,
    ['['] = MAY_MARK, ['\n'] = MAY_END, ['.'] = MAY_END,
    ['!'] = MAY_END,  ['?'] = MAY_END,  [0x80 ... 0xff] = MAY_MARK | MAY_END,
};

static inline unsigned char_len(struct rp__str s, size_t at)
{
  if ((signed char)s.p[at] >= 0) return 1; /* nearly all characters of most texts */
  return RP_MAX(rp__utf8_len(s.p + at, s.p + s.n), 1u);
}

static inline uint32_t char_at(struct rp__str s, size_t at)
{
  if (at < s.n && (signed char)s.p[at] >= 0) return (uint8_t)s.p[at];
  unsigned n = at < s.n ? rp__utf8_len(s.p + at, s.p + s.n) : 0;
  return n ? rp__utf8_value(s.p + at, n) : 0;
}

static bool is_blank(uint32_t c)
{
  return c <= ' ' || c == 0x3000 || c == 0xa0 || c == 0x7f;
}

/* Pictures and dingbats, which say nothing that the words do not. */
static bool is_picture(uint32_t c)
{
  return (c >= 0x2600 && c <= 0x27bf) || (c >= 0x1f000 && c <= 0x1faff) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0x200d;
}

/* The character before `end`. */
static uint32_t last_char(struct rp__str s)
{
  size_t at = s.n;
  while (at && rp__is_continuation(s.p[at - 1])) at--;
  return at ? char_at(s, at - 1) : 0;
}

static struct rp__str trim(struct rp__str s)
{
  for (unsigned n; s.n && is_blank(char_at(s, 0)); s.p += n, s.n -= n) n = char_len(s, 0);
  while (s.n && is_blank(last_char(s))) {
    s.n--;
    while (s.n && rp__is_continuation(s.p[s.n])) s.n--;
  }
  return s;
}

/* Without the marks of a list before it. */
static struct rp__str trim_item(struct rp__str s)
{
  for (s = trim(s); s.n;) {
    uint32_t c = char_at(s, 0);
    if (c != '-' && c != '*' && c != 0x2022 && c != '>') break;
    unsigned n = char_len(s, 0);
    s = trim((struct rp__str){s.p + n, s.n - n});
  }
  size_t digits = 0;
  while (digits < s.n && digits < 3 && rp__is_digit(s.p[digits])) digits++;
  if (digits && digits + 1 < s.n && (s.p[digits] == '.' || s.p[digits] == ')') && s.p[digits + 1] == ' ')
    s = trim((struct rp__str){s.p + digits + 1, s.n - digits - 1});
  return s;
}

static bool begins(struct rp__str s, const char *with)
{
  size_t n = strlen(with);
  return s.n >= n && memcmp(s.p, with, n) == 0;
}

/* ---- widths ------------------------------------------------------------------------------- */

size_t rp__prose_width(struct rp__str text)
{
  size_t width = 0;
  for (size_t at = 0; at < text.n; at += char_len(text, at)) {
    for (; text.n - at >= 8 && !(rp__load8(text.p + at) & RP_BYTES(0x80)); at += 8) width += 8;
    if (at < text.n) width += rp__utf8_wide(char_at(text, at)) ? 2 : 1;
  }
  return width;
}

/* Bytes of the beginning that is `max` wide, ended at a word where one ends near. */
static size_t head_bytes(struct rp__str s, size_t max)
{
  size_t at = 0, width = 0, word = 0;
  while (at < s.n) {
    uint32_t c = char_at(s, at);
    width += rp__utf8_wide(c) ? 2 : 1;
    if (width > max) break;
    if (c == ' ' || rp__utf8_wide(c)) word = at + (c == ' ' ? 0 : char_len(s, at));
    at += char_len(s, at);
  }
  return at < s.n && at - word < 16 && word ? word : at;
}

static size_t tail_bytes(struct rp__str s, size_t max)
{
  size_t at = s.n, width = 0, word = s.n;
  while (at > 0) {
    size_t before = at - 1;
    while (before && rp__is_continuation(s.p[before])) before--;
    uint32_t c = char_at(s, before);
    width += rp__utf8_wide(c) ? 2 : 1;
    if (width > max) break;
    at = before;
    if (c == ' ' || rp__utf8_wide(c)) word = at + (c == ' ');
  }
  return s.n - (at && word - at < 16 ? word : at);
}

/* Whether eight bytes stay as they are in one line: ASCII that can be seen, with one blank between, none at the end. */
static bool is_one_line(uint64_t x)
{
  uint64_t y = x ^ RP_BYTES(' '), blank = ~(((y & RP_BYTES(0x7f)) + RP_BYTES(0x7f)) | y) & RP_BYTES(0x80);
  uint64_t other = (x | (x - RP_BYTES(0x20)) | (x + RP_BYTES(0x01))) & RP_BYTES(0x80);
  return !other && !(blank & blank << 8) && !(blank >> 63);
}

/* Copies a text as one line: runs of blanks are one, none at the ends. */
static void one_line(struct rp__str text, struct rp__buf *out)
{
  text = trim(text);
  char *from = text.n ? rp__buf_room(out, text.n) : NULL, *to = from; /* it does not grow */
  if (!from) return;
  for (size_t at = 0; at < text.n;) {
    size_t begin = at;
    for (;;) {
      if (at < text.n && !is_blank((uint8_t)text.p[at]))
        while (text.n - at >= 8 && is_one_line(rp__load8(text.p + at))) at += 8;
      while (at < text.n && (unsigned char)(text.p[at] - 0x21) < 0x5e) at++; /* ASCII that can be seen */
      if (at + 1 >= text.n || text.p[at] != ' ' || (unsigned char)(text.p[at + 1] - 0x21) >= 0x5e) break;
      at += 2; /* one blank between two words */
    }
    while (at < text.n && (signed char)text.p[at] < 0 && !is_blank(char_at(text, at))) at += char_len(text, at);
    memcpy(to, text.p + begin, at - begin);
    to += at - begin;
    bool blank = false;
    for (; at < text.n && is_blank(char_at(text, at)); blank = true) at += char_len(text, at);
    if (blank) *to++ = ' ';
  }
  out->n += (size_t)(to - from);
  out->p[out->n] = '\0';
}

void rp__prose_middle(struct rp__str text, size_t max, struct rp__buf *out)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(TEXT_MAX);
  one_line(text, &line);
  struct rp__str s = {line.p, line.n};
  if (line.err) out->err = line.err;
  if (rp__prose_width(s) <= max) {
    rp__buf_add(out, s.p, s.n);
    return;
  }
  size_t head = head_bytes(s, max * 2 / 3), tail = tail_bytes(s, max / 3);
  struct rp__str begin = trim((struct rp__str){s.p, head});
  rp__buf_add(out, begin.p, begin.n);
  rp__buf_str(out, " " ELLIPSIS " ");
  rp__buf_add(out, s.p + s.n - tail, tail);
}

void rp__prose_fit(struct rp__str text, size_t max_bytes, struct rp__buf *out)
{
  size_t from = out->n;
  for (size_t width = max_bytes; width > 0;) {
    rp__prose_middle(text, width, out);
    size_t n = out->n - from;
    if (out->err || n <= max_bytes) return;
    out->n = from;
    width = RP_MIN(width - 1, width * max_bytes / n);
  }
}

void rp__prose_clip(struct rp__str text, size_t max, struct rp__buf *out)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(TEXT_MAX);
  one_line(text, &line);
  struct rp__str s = {line.p, line.n};
  if (line.err) out->err = line.err;
  bool cut = rp__prose_width(s) > max;
  if (cut) s = trim((struct rp__str){s.p, head_bytes(s, max - 1)});
  rp__buf_add(out, s.p, s.n);
  if (cut) rp__buf_str(out, ELLIPSIS);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static struct rp__str next_line(struct rp__str *rest)
{
  const char *end = memchr(rest->p, '\n', rest->n);
  size_t n = end ? (size_t)(end - rest->p) : rest->n, skip = n + (end != NULL);
  struct rp__str line = {rest->p, n};
  rest->p += skip;
  rest->n -= skip;
  return line;
}

/* A line that only lays out: a heading, a row of a table, a rule. */
static bool is_layout(struct rp__str line)
{
  size_t i = 0;
  line = trim(line);
  if (line.n == 0) return false;
  if (line.p[0] == '|') return true;
  while (i < line.n && line.p[i] == '#') i++;
  if (i && i <= 6 && i < line.n && line.p[i] == ' ') return true;
  for (i = 0; i < line.n && (line.p[i] == '-' || line.p[i] == '*' || line.p[i] == '_'); i++) continue;
  return i == line.n && i >= 3;
}

/* "[text](address)" at that byte: the bytes of all of it and of its text; "[Image #1]" has no text. */
static bool is_link(struct rp__str s, size_t at, size_t *ret_all, struct rp__str *ret_text)
{
  const char *close = s.p[at] == '[' ? memchr(s.p + at, ']', RP_MIN(s.n - at, (size_t)300)) : NULL;
  if (!close) return false;
  size_t i = (size_t)(close - s.p);
  *ret_text = (struct rp__str){s.p + at + 1, i - at - 1};
  if (begins(*ret_text, "Image #")) {
    *ret_all = i + 1 - at;
    ret_text->n = 0;
    return true;
  }
  const char *end = i + 1 < s.n && s.p[i + 1] == '(' ? memchr(close, ')', RP_MIN(s.n - i, (size_t)500)) : NULL;
  if (!end) return false;
  *ret_all = (size_t)(end - s.p) + 1 - at;
  return true;
}

static void plain_line(struct rp__str s, struct rp__buf *out)
{
  size_t from = 0, at = 0; /* what stays is copied in one piece */
  while (at < s.n) {
    while (at < s.n && !(marks[(uint8_t)s.p[at]] & MAY_MARK)) at++;
    if (at == s.n) break;
    size_t n = 0, all;
    struct rp__str text = {0};
    char c = s.p[at];
    if (c == '`' || ((signed char)c < 0 && is_picture(char_at(s, at))))
      n = char_len(s, at);
    else if (at + 1 < s.n &&
             ((c == '*' && s.p[at + 1] == '*') || (c == '_' && s.p[at + 1] == '_' && (at == 0 || s.p[at - 1] == ' '))))
      n = 2;
    else if (c == '[' && is_link(s, at, &all, &text))
      n = all;
    if (n == 0) {
      at += char_len(s, at);
      continue;
    }
    rp__buf_add(out, s.p + from, at - from);
    if (text.n) rp__buf_add(out, text.p, text.n);
    at += n;
    from = at;
  }
  rp__buf_add(out, s.p + from, s.n - from);
}

void rp__prose_plain(struct rp__str text, struct rp__buf *out)
{
  bool code = false;
  while (text.n) {
    struct rp__str line = next_line(&text), bare = trim(line);
    if (begins(bare, "```")) {
      /* A fence that opens and closes on one line hides that line alone. */
      bool closed = bare.n > 6 && memmem(bare.p + 3, bare.n - 3, "```", 3);
      /* One that nothing closes hides nothing: its end may have been cut off. */
      if (!closed) code = !code && text.n && memmem(text.p, text.n, "```", 3);
      continue;
    }
    if (!code && !is_layout(line)) plain_line(line, out);
    rp__buf_char(out, '\n');
  }
}

/* ---- sentences ---------------------------------------------------------------------------------- */

static bool ends_sentence(uint32_t c)
{
  return c == '.' || c == '!' || c == '?' || c == 0x2026;
}

static bool ends_wide(uint32_t c)
{
  return c == 0x3002 || c == 0xff01 || c == 0xff1f;
}

bool rp__is_question(struct rp__str text)
{
  uint32_t c = last_char(trim(text));
  return c == '?' || c == 0xff1f;
}

/* "12.": the number of a list's item. */
static bool is_number(struct rp__str s)
{
  size_t n = 0;
  s = trim(s);
  while (n < s.n && rp__is_digit(s.p[n])) n++;
  return n && n + 1 == s.n && s.p[n] == '.';
}

/* Whether a text ends with letters that have a dot each: "z.B.", "e.g.", "т.е.". */
static bool ends_with_initials(struct rp__str s)
{
  size_t initials = 0;
  while (s.n && s.p[s.n - 1] == '.') {
    s.n--;
    uint32_t c = last_char(s);
    if (c < 'A' || c > 0x52f) return false;
    do s.n--;
    while (s.n && rp__is_continuation(s.p[s.n]));
    initials++;
  }
  return initials > 1 && (s.n == 0 || is_blank(last_char(s)) || s.p[s.n - 1] == '(');
}

bool rp__sentences_next(struct rp__sentences *s, struct rp__str *ret)
{
  while (s->rest.n) {
    size_t at = 0;
    while (at < s->rest.n) {
      while (at < s->rest.n && !(marks[(uint8_t)s->rest.p[at]] & MAY_END)) at++;
      if (at == s->rest.n) break;
      uint32_t c = char_at(s->rest, at);
      at += char_len(s->rest, at);
      if (c == '\n' || ends_wide(c)) break;
      if (!ends_sentence(c) || (at < s->rest.n && !is_blank(char_at(s->rest, at)))) continue;
      struct rp__str so_far = {s->rest.p, at};
      if (c != '.' || (!ends_with_initials(so_far) && !is_number(so_far))) break;
    }
    *ret = trim_item((struct rp__str){s->rest.p, at});
    s->rest.p += at;
    s->rest.n -= at;
    if (ret->n > 1) return true;
  }
  return false;
}

/* ---- what a prompt asks for ------------------------------------------------------------------------ */

/* Without the stamps and counters before it. */
static struct rp__str trim_stamp(struct rp__str s)
{
  for (char before = ' '; s.n; before = *s.p, s.p++, s.n--) {
    bool in_date = rp__is_digit(before) && rp__is_in(s.p[0], "-/");
    if (!rp__is_digit(s.p[0]) && !rp__is_in(s.p[0], ":. |[]") && !in_date) break;
  }
  if (begins(s, "AM: ") || begins(s, "PM: ")) s.p += 4, s.n -= 4;
  return s;
}

static bool has_error(rp__cues more, struct rp__str line)
{
  char room[ERROR_LINE + 1];
  struct rp__buf lower = RP_BUF_IN(room);
  if (line.n > ERROR_LINE) line.n = rp__text_clip(line.p, ERROR_LINE);
  rp__cues_lower(line, &lower);
  struct rp__str s = {room, lower.n};
  bool named = memmem(line.p, line.n, "Error: ", 7) || memmem(line.p, line.n, "Exception: ", 11);
  return (named || rp__cues_in(more, RP_CUE_ERRORS, s)) && !rp__cues_in(more, RP_CUE_NOISE, s);
}

void rp__prose_error(rp__cues more, struct rp__str text, size_t max, struct rp__buf *out)
{
  while (text.n) {
    struct rp__str line = trim(next_line(&text));
    if (line.n < 8 || !has_error(more, line)) continue;
    struct rp__str bare = trim_stamp(line);
    rp__prose_clip(bare.n > 8 ? bare : line, max, out);
    return;
  }
}

/* A prompt that hands over a plan: its first line and the plan's title ("Implement the following plan:", "# Title"). */
static bool tells_plan(struct rp__str prompt, struct rp__buf *out)
{
  struct rp__str rest = trim(prompt), first = trim(next_line(&rest)), line = {0};
  uint32_t end = last_char(first);
  if (first.n > PLAN_LINE || (end != ':' && end != 0xff1a)) return false;
  while (rest.n && line.n == 0) line = trim(next_line(&rest));
  if (line.n < 3 || line.p[0] != '#') return false;
  while (line.n && (line.p[0] == '#' || line.p[0] == ' ')) line.p++, line.n--;
  one_line(first, out);
  rp__buf_char(out, ' ');
  one_line(line, out);
  return true;
}

/* One long pasted line: the wish stands behind the last closing tag, brace or bracket. */
static struct rp__str behind_pasted(struct rp__str line)
{
  size_t from = 0;
  for (size_t i = 0; i + 1 < line.n; i++)
    if ((rp__is_in(line.p[i], "\"'}]") && line.p[i + 1] == ' ') || line.p[i] == '>') from = i + 1;
  struct rp__str tail = trim((struct rp__str){line.p + from, line.n - from});
  return tail.n > 8 && tail.n < 400 ? tail : (struct rp__str){0};
}

/* "status: 200": of something that was pasted. */
static bool is_field(struct rp__str line)
{
  const char *colon = memchr(line.p, ':', line.n);
  size_t key = colon ? (size_t)(colon - line.p) : 0;
  return key && key + 2 < line.n && colon[1] == ' ' && !memchr(line.p, ' ', key) &&
         !memchr(colon + 2, ' ', line.n - key - 2);
}

/* The marks below a line of source. */
static bool is_carets(struct rp__str line)
{
  size_t i = 0;
  while (i < line.n && rp__is_in(line.p[i], "^~ ")) i++;
  return line.n && i == line.n;
}

/* Without the frames of a stack that stand in one line with their error: " at name (file:1:2)". */
static void add_without_frames(struct rp__str line, struct rp__buf *out)
{
  while (line.n) {
    const char *at = memmem(line.p, line.n, " at ", 4), *end = line.p + line.n, *open, *close;
    size_t n = at ? (size_t)(at - line.p) : line.n;
    rp__buf_add(out, line.p, n);
    if (!at) return;
    open = memchr(at + 4, '(', (size_t)(end - at - 4));
    const char *blank = memchr(at + 4, ' ', (size_t)(end - at - 4));
    close = open && blank == open - 1 ? memchr(open, ')', (size_t)(end - open)) : NULL;
    bool place = close && rp__is_digit(close[-1]) && !memchr(open, ' ', (size_t)(close - open));
    if (!place) rp__buf_add(out, at, 4);
    const char *next = place ? close + 1 : at + 4;
    line = (struct rp__str){next, (size_t)(end - next)};
  }
}

void rp__prose_request(rp__cues more, struct rp__str prompt, struct rp__buf *out)
{
  RP_AUTOBUF struct rp__buf plain = RP_BUF(TEXT_MAX), kept = RP_BUF(TEXT_MAX);
  if (tells_plan(prompt, out)) return;
  rp__prose_plain(prompt, &plain);
  struct rp__str rest = {plain.p ? plain.p : "", plain.n}, first = {0}, above = {0};
  bool framed = false; /* a frame of a Python stack stands above, whose source is indented more */
  while (rest.n) {
    struct rp__str raw = next_line(&rest), line = trim(raw);
    bool source = framed && begins(raw, "    ");
    framed = source || begins(line, "File \"");
    if (source || is_carets(line)) continue;
    bool again = line.n == above.n && line.n && memcmp(line.p, above.p, line.n) == 0;
    if (line.n == 0 || again) continue;
    above = line;
    if (!first.n) first = line;
    if (rp__cues_log_line(more, line) || (prompt.n > PASTED_MIN && is_field(line))) continue;
    if (kept.n) rp__buf_char(&kept, ' ');
    add_without_frames(line, &kept);
  }
  struct rp__str said = {kept.p ? kept.p : "", kept.n};
  if (plain.err || kept.err) out->err = plain.err ? plain.err : kept.err;
  if (prompt.n > PASTED_MIN && said.n < prompt.n / PASTED_SHARE) {
    rp__prose_middle(said, ASKED_WIDTH, out);
    size_t before = out->n;
    if (said.n) rp__buf_char(out, ' ');
    rp__buf_str(out, "[pasted: ");
    size_t at = out->n;
    rp__prose_error(more, prompt, PASTED_WIDTH, out);
    if (out->n > at)
      rp__buf_char(out, ']');
    else if (!out->err)
      out->p[out->n = before] = '\0';
    if (out->n) return;
  }
  if (said.n < SAYS_LITTLE && first.n && rp__cues_log_line(more, first)) {
    struct rp__str tail = behind_pasted(trim(prompt));
    if (tail.n) {
      one_line(tail, out);
      return;
    }
  }
  if (said.n)
    one_line(said, out);
  else
    rp__prose_middle(prompt, RAW_WIDTH, out);
}

/* ---- how an answer ends ------------------------------------------------------------------------------- */

static bool is_mark(uint32_t c)
{
  return is_blank(c) || (c < 0x80 && rp__is_in((char)c, "!.:,;")) || (c > 0x2fff && c < 0x3040) || c >= 0xff00;
}

static bool is_filler(rp__cues more, struct rp__str sentence)
{
  char room[FILLER_MAX + 1];
  struct rp__buf lower = RP_BUF_IN(room);
  if (sentence.n > FILLER_MAX) return false;
  rp__cues_lower(sentence, &lower);
  struct rp__str s = {room, lower.n};
  size_t n = rp__cues_begin(more, RP_CUE_FILLERS, s);
  while (n && n < s.n && is_mark(char_at(s, n))) n += char_len(s, n);
  return n >= s.n;
}

/* Whether a sentence tells what came of the work: no pleasantry, no step that is only announced, no code. */
static bool tells_something(rp__cues more, struct rp__str s)
{
  char room[2 * FILLER_MAX + 1];
  struct rp__buf lower = RP_BUF_IN(room);
  const char *blank = memchr(s.p, ' ', s.n), *call = memchr(s.p, '(', s.n);
  if (s.n <= FIRST_MIN || is_filler(more, s)) return false;
  if (call && call > s.p && call[1] != ')' && (!blank || call < blank)) return false;
  rp__cues_lower((struct rp__str){s.p, rp__text_clip(s.p, RP_MIN(s.n, (size_t)2 * FILLER_MAX))}, &lower);
  return !rp__cues_begin(more, RP_CUE_ANNOUNCEMENTS, (struct rp__str){room, lower.n});
}

static bool ends_with_colon(struct rp__str s)
{
  uint32_t c = last_char(s);
  return c == ':' || c == 0xff1a;
}

/* The points of the list that a sentence announces. */
static void add_items(struct rp__str rest, struct rp__buf *out)
{
  for (size_t n = 0; n < ITEMS && rest.n;) {
    struct rp__str item = trim_item(next_line(&rest));
    if (item.n <= 6) continue;
    rp__buf_str(out, n++ ? "; " : " ");
    rp__prose_clip(item, ITEM_WIDTH, out);
  }
}

void rp__prose_answer(rp__cues more, struct rp__str answer, size_t max, struct rp__buf *out)
{
  RP_AUTOBUF struct rp__buf plain = RP_BUF(TEXT_MAX), told = RP_BUF(TEXT_MAX);
  rp__prose_plain(answer, &plain);
  struct rp__sentences all = {{plain.p ? plain.p : "", plain.n}};
  struct rp__str s, any = {0}, last = {0}, before = {0}, question = {0};
  bool shorter = true; /* a first sentence that is short has the next ones beside it */
  while (rp__sentences_next(&all, &s)) {
    bool asks = rp__is_question(s);
    if (!any.n) any = s;
    if (!asks && shorter && tells_something(more, s)) {
      bool listed = ends_with_colon(s); /* the points of a list are told, and come as sentences again */
      if (told.n) rp__buf_char(&told, ' ');
      rp__buf_add(&told, s.p, s.n);
      if (listed) add_items(all.rest, &told);
      shorter = !listed && rp__prose_width((struct rp__str){told.p, told.n}) < SHORT_WIDTH;
    }
    /* A question counts while no more than a sentence or two follow it. */
    if (asks) {
      question = s;
      before = last;
    } else if (question.n && all.rest.n && rp__prose_width(trim(all.rest)) > 160) {
      question.n = 0;
    }
    last = s;
  }
  if (told.n == 0) rp__buf_add(&told, any.p ? any.p : "", any.n);
  if (told.err || plain.err) out->err = RP_E_NOMEM;
  struct rp__str gist = {told.p ? told.p : "", told.n};
  bool asks = question.n && question.p != any.p;
  if (any.n == 0)
    rp__prose_clip(answer, max, out);
  else
    rp__prose_clip(gist, asks ? max * 3 / 5 : max, out);
  if (!asks) return;
  /* "Which of them?" is told with what it refers to. */
  bool refers = rp__prose_width(question) < REFERS_WIDTH && before.n && !memmem(gist.p, gist.n, before.p, before.n);
  rp__buf_str(out, " " ELLIPSIS " «");
  if (refers) rp__prose_clip(before, max / 4, out);
  if (refers) rp__buf_char(out, ' ');
  rp__prose_clip(question, refers ? max / 4 : max / 2, out);
  rp__buf_str(out, "»");
}

bool rp__prose_cut_off(rp__cues more, struct rp__str text)
{
  char room[ANNOUNCED_MAX];
  struct rp__buf lower = RP_BUF_IN(room);
  text = trim(text);
  if (text.n == 0 || text.n >= ANNOUNCED_MAX || memchr(text.p, '?', text.n)) return false;
  if (memmem(text.p, text.n, "？", 3)) return false;
  if (ends_with_colon(text)) return true;
  rp__cues_lower(text, &lower);
  if (rp__cues_begin(more, RP_CUE_ANNOUNCEMENTS, (struct rp__str){room, lower.n})) return true;
  uint32_t c = last_char(text);
  return c == ',' || c == ';';
}
