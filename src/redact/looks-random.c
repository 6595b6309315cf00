/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a text by its look: random, placeholder, prose, path, code. */
#include "redact/looks-random.h"

#include <strings.h>

#include "base/text.h"
#include "redact/redact.h"

#define PLACEHOLDER_MAX 64
#define PROSE_MIN 6           /* bytes of a sentence or a label */
#define MASK_HEAD "[REDACTED" /* of RP_MASK: a value may end before its last byte */
#define LIST RP_LOOK_LIST

/* ---- what it is made of ------------------------------------------------------- */

static bool is_letter(char c)
{
  return rp__is_lower(c) || rp__is_upper(c) || (c & 0x80);
}

struct rp__look rp__look_at(struct rp__str s)
{
  struct rp__look l = {0};
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (rp__is_upper(c))
      l.upper++;
    else if (is_letter(c)) {
      l.lower++;
      l.wide += (c & 0x80) != 0;
    } else if (rp__is_digit(c))
      l.digit++;
    else if (c == ' ' || (c >= '\t' && c <= '\r'))
      l.space++;
    else if (c == '_' || c == '-')
      l.joiner++;
    else
      l.other++;
  }
  return l;
}

bool rp__look_one_of(struct rp__str s, const char *const *set)
{
  for (; *set; set++)
    if (strlen(*set) == s.n && strncasecmp(*set, s.p, s.n) == 0) return true;
  return false;
}

bool rp__look_has(struct rp__str s, const char *needle)
{
  return s.p && s.n > 0 && memmem(s.p, s.n, needle, strlen(needle)) != NULL;
}

bool rp__look_mentions(struct rp__str s, const char *const *needles)
{
  for (; *needles; needles++) {
    size_t n = strlen(*needles);
    for (size_t i = 0; i + n <= s.n; i++)
      if (strncasecmp(s.p + i, *needles, n) == 0) return true;
  }
  return false;
}

/* ---- chosen at random ------------------------------------------------------------ */

/* v1, v1beta2, v1p1beta1 */
static bool is_version(const char *p, size_t n)
{
  return n >= 2 && n <= 12 && (p[0] | 0x20) == 'v' && rp__is_digit(p[1]);
}

/* Of one run of letters and digits. A chunk is what one word or number of a name would be: myKey2 has three. */
static bool run_is_random(const char *p, size_t n)
{
  size_t digits = 0, upper = 0, hex = 0, chunks = 0, vowels = 0, row = 0, consonants = 0; /* in a row, at most */
  for (size_t i = 0; i < n; i++) {
    char c = p[i], low = (char)(c | 0x20), before = i ? p[i - 1] : '\0';
    bool digit = rp__is_digit(c), vowel = !digit && rp__is_in(low, "aeiouy"), capital = rp__is_upper(c);
    digits += digit;
    upper += capital;
    hex += digit || (low >= 'a' && low <= 'f');
    vowels += vowel;
    row = vowel || digit ? 0 : row + 1;
    consonants = RP_MAX(consonants, row);
    chunks += i == 0 || digit != rp__is_digit(before) || (capital && !rp__is_upper(before) && !rp__is_digit(before));
  }
  size_t letters = n - digits;
  if (is_version(p, n)) return false;
  if (hex == n && letters > 0) return n >= (digits ? 16 : 10) || (chunks >= 4 && n >= 8);
  if (digits > 0 && letters > 0) {
    if (n >= 6 && chunks >= 3 && 10 * n < 25 * chunks) return true;
    return n >= 16 && digits >= 2 && chunks >= 4 && 10 * n < 35 * chunks;
  }
  if (letters < 16) return false;
  if (upper > 0 && upper < n) return 10 * n < 26 * chunks;
  return n >= 24 && consonants >= 5 && 4 * vowels < n;
}

bool rp__look_random(struct rp__str s)
{
  for (size_t i = 0; i < s.n; i++) {
    if (!rp__is_alnum(s.p[i])) continue;
    size_t from = i;
    while (i < s.n && rp__is_alnum(s.p[i])) i++;
    if (run_is_random(s.p + from, i - from)) return true;
  }
  /* 3f2504e0-4f89-11d3-9a0c-0305e82c3301 and the like: hexadecimal in groups. */
  struct rp__look l = rp__look_at(s);
  if (l.digit < 4 || l.other + l.space > 0 || s.n < 32 || s.n - l.joiner < 24) return false;
  for (size_t i = 0; i < s.n; i++)
    if (!rp__is_digit(s.p[i]) && s.p[i] != '-' && !((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'f')) return false;
  return true;
}

/* ---- placeholders --------------------------------------------------------------- */

/* ***, xxxx, ...., ---- */
static bool is_filler(struct rp__str s)
{
  if (s.n < 3 && (s.p[0] | 0x20) == 'x') return false;
  for (size_t i = 0; i < s.n; i++)
    if (!rp__is_in(s.p[i], "*xX.-_#?")) return false;
  return true;
}

/* $NAME, $name, $1, ${NAME}, $(cmd); not $ecret!9 nor $aB3dE5gH. */
static bool is_variable(struct rp__str s)
{
  if (s.n < 2 || s.p[0] != '$') return false;
  if (s.p[1] == '{' || s.p[1] == '(') return true;
  for (size_t i = 1; i < s.n; i++)
    if (!rp__look_word(s.p[i]) && !rp__is_in(s.p[i], ".:>[]-")) return false;
  return !rp__look_random((struct rp__str){s.p + 1, s.n - 1});
}

/* %s, {0}, {token}, ${TOKEN}, $(cmd), $TOKEN, #{x}, <your-token>, [password] */
static bool is_template(struct rp__str s)
{
  const char *open = memchr(s.p, '{', s.n), *less = memchr(s.p, '<', s.n);
  if (open && memchr(open, '}', s.n - (size_t)(open - s.p))) return true;
  if (less && memchr(less, '>', s.n - (size_t)(less - s.p))) return true;
  if (s.p[0] == '{' || (s.p[0] == '<' && !rp__look_random(s))) return true;
  if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']' && !rp__look_random(s)) return true;
  if (is_variable(s)) return true;
  if (s.n >= 2 && s.p[0] == '%' && (s.p[s.n - 1] == '%' || s.n <= 3)) return true;
  return rp__look_has(s, "%s") || rp__look_has(s, "%d") || rp__look_has(s, "$(") || rp__look_has(s, "${");
}

bool rp__look_placeholder(struct rp__str s, const struct rp__look *l)
{
  if (s.n == 0 || is_filler(s) || is_template(s) || rp__look_has(s, MASK_HEAD)) return true;
  if (rp__look_has(s, "...") || rp__look_has(s, "\xe2\x80\xa6") || rp__look_has(s, "****") || rp__look_has(s, "xxxx") ||
      rp__look_has(s, "XXXX"))
    return true;
  if (rp__look_one_of(s, LIST("null", "none", "nil", "true", "false", "undefined", "yes", "no", "on", "off", "string",
                              "str", "int", "integer", "bool", "boolean", "bytes", "number", "object", "any",
                              "optional", "required", "text", "char", "const", "void", "self", "this", "new", "empty",
                              "unknown", "default", "redacted", "masked", "hidden", "removed", "foo_bar", "changeit",
                              "nan", "auto", "n/a")))
    return true;
  return l->digit == 0 && l->other == 0 && s.n <= PLACEHOLDER_MAX &&
         rp__look_mentions(s, LIST("your", "example", "placeholder", "insert", "replace", "enter", "dummy", "redacted",
                                   "goes-here", "goes_here", "-here", "_here"));
}

/* ---- prose ------------------------------------------------------------------------ */

static const char *const function_words[] = {
    "the", "a",    "an",   "is",   "are",  "was",  "be",    "of",      "to",     "for",  "in",    "on",    "at",
    "or",  "and",  "not",  "no",   "your", "you",  "must",  "should",  "with",   "by",   "this",  "that",  "it",
    "as",  "from", "if",   "when", "will", "can",  "has",   "have",    "please", "use",  "used",  "using", "via",
    "per", "only", "than", "then", "how",  "what", "which", "invalid", "wrong",  "new",  "old",   "le",    "la",
    "les", "de",   "du",   "des",  "et",   "un",   "une",   "el",      "los",    "las",  "der",   "die",   "das",
    "den", "und",  "ein",  "eine", "ist",  "il",   "di",    "per",     "een",    "het",  "van",   "och",   "att",
    "i",   "na",   "do",   "nie",  "bir",  "ve",   "wird",  "nicht",   "your",   "mode", "value", "type",  NULL};

bool rp__look_prose(struct rp__str s)
{
  if (s.n == 0) return false;
  struct rp__look l = rp__look_at(s);
  if (l.wide > 0) return true;
  if (s.n < PROSE_MIN || l.space == 0) return false;
  if (rp__is_in(s.p[s.n - 1], ".:!?,")) return true;
  for (size_t i = 0; i < s.n; i++) {
    if (!is_letter(s.p[i])) continue;
    size_t from = i;
    while (i < s.n && (is_letter(s.p[i]) || s.p[i] == '\'')) i++;
    bool alone = (from == 0 || s.p[from - 1] == ' ') && (i == s.n || s.p[i] == ' ');
    if (alone && rp__look_one_of((struct rp__str){s.p + from, i - from}, function_words)) return true;
  }
  return false;
}

/* ---- terms, files -------------------------------------------------------------------- */

bool rp__look_term(struct rp__str s)
{
  const char *const *terms = LIST(
      "sha", "sha-", "md", "utf", "utf-", "base", "aes", "aes-", "rsa", "hs", "rs", "es", "ps", "int", "uint", "float",
      "u", "i", "f", "v", "x", "http", "oauth", "ipv", "tls", "ssl", "pkcs", "argon", "pbkdf", "ed", "uuid", "s", "k",
      "id", "arg", "var", "val", "tmp", "key", "token", "tok", "t", "p", "n", "a", "b", "c", "str", "secret", "sec",
      "buf", "ptr", "iso-", "iso", "fp", "w", "h", "line", "col", "option", "opt", "user", "group", "field");
  struct rp__str head = s;
  if (is_version(s.p, s.n)) return true;
  if (head.n > 2 && memcmp(head.p + head.n - 2, "_t", 2) == 0) head.n -= 2;
  size_t digits = 0;
  while (head.n > 0 && rp__is_digit(head.p[head.n - 1])) {
    head.n--;
    digits++;
  }
  return digits > 0 && digits <= 5 && rp__look_one_of(head, terms);
}

bool rp__look_path(struct rp__str s, const struct rp__look *l)
{
  if (rp__look_has(s, "://")) return true;
  if (memchr(s.p, '/', s.n) && (l->upper == 0 || l->digit == 0) && !rp__look_random(s)) return true;
  const char *dot = memrchr(s.p, '.', s.n);
  struct rp__str ending = dot ? (struct rp__str){dot + 1, s.n - (size_t)(dot + 1 - s.p)} : (struct rp__str){"", 0};
  return rp__look_one_of(ending, LIST("pem", "key", "txt", "json", "crt", "p12", "pfx", "jks", "yml", "yaml", "toml",
                                      "ini", "env", "py", "js", "ts", "c", "h", "go", "rs", "html", "md", "conf", "cfg",
                                      "pub", "com"));
}
