/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/value.h"

#include <strings.h>

#include "redact/redact.h"

#define RANDOM_MIN 20
#define PLACEHOLDER_MAX 64
#define MASK_HEAD "[REDACTED" /* of RP_MASK: a value may end before its last byte */

/* ---- what it is made of ------------------------------------------------------- */

struct look {
  size_t lower, upper, digit, space, other; /* other: neither letter, digit, white space nor _ - */
  size_t joiner;                            /* _ and - */
};

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
  return is_letter(c) || is_digit(c) || c == '_';
}

static struct look look_at(struct rp__str s)
{
  struct look l = {0};
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (c >= 'A' && c <= 'Z')
      l.upper++;
    else if (is_letter(c))
      l.lower++;
    else if (is_digit(c))
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

static bool has_letter(const struct look *l)
{
  return l->lower + l->upper > 0;
}

static bool is_one_of(struct rp__str s, const char *const *list)
{
  for (; *list; list++)
    if (strlen(*list) == s.n && strncasecmp(*list, s.p, s.n) == 0) return true;
  return false;
}

static bool contains(struct rp__str s, const char *needle)
{
  return s.p && s.n > 0 && memmem(s.p, s.n, needle, strlen(needle)) != NULL;
}

static bool mentions(struct rp__str s, const char *const *words)
{
  for (; *words; words++) {
    size_t n = strlen(*words);
    for (size_t i = 0; i + n <= s.n; i++)
      if (strncasecmp(s.p + i, *words, n) == 0) return true;
  }
  return false;
}

static bool is_in(char c, const char *set)
{
  return c != '\0' && strchr(set, c) != NULL;
}

static bool has_any(struct rp__str s, const char *set)
{
  for (size_t i = 0; i < s.n; i++)
    if (is_in(s.p[i], set)) return true;
  return false;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

bool rp__value_is_mixed(const char *s, size_t n)
{
  struct look l = look_at((struct rp__str){s, n});
  return l.space == 0 && has_letter(&l) && l.digit > 0;
}

bool rp__value_is_random(const char *s, size_t n)
{
  return n >= RANDOM_MIN && rp__value_is_mixed(s, n);
}

/* ---- placeholders --------------------------------------------------------------- */

/* ***, xxxx, ...., ---- */
static bool is_filler(struct rp__str s)
{
  if (s.n < 3 && has_any(s, "xX")) return false;
  for (size_t i = 0; i < s.n; i++)
    if (!is_in(s.p[i], "*xX.-_#?")) return false;
  return true;
}

/* %s, {0}, {token}, ${TOKEN}, $(cmd), $TOKEN, #{x}, <your-token> */
static bool is_template(struct rp__str s)
{
  const char *open = memchr(s.p, '{', s.n), *less = memchr(s.p, '<', s.n);
  if (open && memchr(open, '}', s.n - (size_t)(open - s.p))) return true;
  if (less && memchr(less, '>', s.n - (size_t)(less - s.p))) return true;
  if (s.p[0] == '<' || s.p[0] == '{') return true;
  if (s.n >= 2 && s.p[0] == '$' && (is_word(s.p[1]) || s.p[1] == '(' || s.p[1] == '{')) return true;
  if (s.n >= 2 && s.p[0] == '%' && (s.p[s.n - 1] == '%' || s.n <= 3)) return true;
  return contains(s, "%s") || contains(s, "%d") || contains(s, "$(") || contains(s, "${");
}

static bool is_placeholder(struct rp__str s, const struct look *l)
{
  if (s.n == 0 || is_filler(s) || is_template(s) || contains(s, MASK_HEAD)) return true;
  if (contains(s, "...") || contains(s, "\xe2\x80\xa6") || contains(s, "****") || contains(s, "xxxx") ||
      contains(s, "XXXX"))
    return true;
  if (is_one_of(s, LIST("null", "none", "nil", "true", "false", "undefined", "yes", "no", "on", "off", "string", "str",
                        "int", "integer", "bool", "boolean", "bytes", "number", "object", "any", "optional", "required",
                        "text", "char", "const", "void", "self", "this", "new", "empty", "unknown", "default",
                        "redacted", "masked", "hidden", "removed", "foo_bar", "changeit", "nan", "auto", "n/a")))
    return true;
  if (l->digit == 0 && l->other == 0 && s.n <= PLACEHOLDER_MAX &&
      mentions(s, LIST("your", "example", "placeholder", "insert", "replace", "enter", "dummy", "redacted", "goes-here",
                       "goes_here", "-here", "_here")))
    return true;
  return false;
}

/* ---- code ------------------------------------------------------------------------- */

/* sha256, uint32_t, base64, HS256, v2, arg1: a term or a variable with a number behind it. */
static bool is_term(struct rp__str s)
{
  const char *const *terms = LIST(
      "sha", "sha-", "md", "utf", "utf-", "base", "aes", "aes-", "rsa", "hs", "rs", "es", "ps", "int", "uint", "float",
      "u", "i", "f", "v", "x", "http", "oauth", "ipv", "tls", "ssl", "pkcs", "argon", "pbkdf", "ed", "uuid", "s", "k",
      "id", "arg", "var", "val", "tmp", "key", "token", "tok", "t", "p", "n", "a", "b", "c", "str", "secret", "sec",
      "buf", "ptr", "iso-", "iso", "fp", "w", "h", "line", "col", "option", "opt", "user", "group", "field");
  struct rp__str head = s;
  if (head.n > 2 && memcmp(head.p + head.n - 2, "_t", 2) == 0) head.n -= 2;
  size_t digits = 0;
  while (head.n > 0 && is_digit(head.p[head.n - 1])) {
    head.n--;
    digits++;
  }
  return digits > 0 && digits <= 5 && is_one_of(head, terms);
}

static bool is_identifier(struct rp__str s)
{
  if (s.n == 0 || is_digit(s.p[0])) return false;
  for (size_t i = 0; i < s.n; i++)
    if (!is_word(s.p[i])) return false;
  return true;
}

/* a.b, a->b, a::b, with identifiers on both sides of each. */
static bool is_member(struct rp__str s)
{
  size_t from = 0, parts = 0;
  for (size_t i = 0; i <= s.n; i++) {
    if (i < s.n && is_word(s.p[i])) continue;
    struct rp__str part = {s.p + from, i - from};
    if (part.n > 0 && !is_identifier(part)) return false;
    if (part.n == 0 && parts > 0 && i < s.n && s.p[i] != ':' && s.p[i] != '>') return false;
    if (i < s.n && !is_in(s.p[i], ".->:?!")) return false;
    if (i < s.n && s.p[i] == '-' && (i + 1 == s.n || s.p[i + 1] != '>')) return false;
    parts += part.n > 0;
    from = i + 1;
  }
  return parts > 1 && s.n > 0 && is_word(s.p[s.n - 1]);
}

/* name(…, name[…, &name, *name, !name, (…: an expression and no text. */
static bool is_expression(struct rp__str s, int next)
{
  if (is_in(s.p[0], "([{&*!~<>=|,;)]}/.@:+?") && !(s.p[0] == '/' && s.n >= 20)) {
    struct rp__str rest = {s.p + 1, s.n - 1};
    if (is_in(s.p[0], "([{<>=|,;)]}:+?") || rest.n == 0 || is_identifier(rest) || is_member(rest)) return true;
    if (s.p[0] == '/' || s.p[0] == '.' || (s.p[0] == '~' && rest.p[0] == '/')) return true;
  }
  for (size_t i = 1; i < s.n; i++)
    if (is_in(s.p[i], "([") && is_word(s.p[i - 1])) return true;
  if (next == '(' || next == '[' || contains(s, "->") || contains(s, "::") || contains(s, "://")) return true;
  return is_member(s);
}

/* ---- paths and hexadecimal numbers ---------------------------------------------- */

static bool is_path(struct rp__str s, const struct look *l)
{
  if (contains(s, "://")) return true;
  if (memchr(s.p, '/', s.n) && (l->upper == 0 || l->digit == 0)) return true;
  const char *dot = memrchr(s.p, '.', s.n);
  struct rp__str ending = dot ? (struct rp__str){dot + 1, s.n - (size_t)(dot + 1 - s.p)} : (struct rp__str){"", 0};
  return is_one_of(ending,
                   LIST("pem", "key", "txt", "json", "crt", "p12", "pfx", "jks", "yml", "yaml", "toml", "ini", "env",
                        "py", "js", "ts", "c", "h", "go", "rs", "html", "md", "conf", "cfg", "pub", "com"));
}

static bool is_hex_constant(struct rp__str s)
{
  return s.n > 2 && s.n <= 18 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X');
}

/* ---- name = value ----------------------------------------------------------------- */

static bool is_tight(const struct rp__claim *c)
{
  return c->joint.n == 1 && c->joint.p[0] == '=';
}

bool rp__claim_is_env(const struct rp__claim *c)
{
  struct look l = look_at(c->name);
  bool tight = is_tight(c) || (c->quoted && c->joint.n == 2 && c->joint.p[0] == '=');
  return tight && l.lower == 0 && l.upper > 0;
}

/* "name": "value", as data has it: whoever wrote the name in quotes meant a value and no code. */
static bool is_json(const struct rp__claim *c)
{
  return c->quoted && c->joint.n >= 3 && c->joint.p[0] == '"' && c->joint.p[c->joint.n - 1] == '"' &&
         memchr(c->joint.p, ':', c->joint.n);
}

/* name: value or name=value, with nothing but one blank between. */
static bool is_told_plainly(const struct rp__claim *c)
{
  return is_tight(c) || (c->joint.n >= 1 && c->joint.n <= 2 && c->joint.p[0] == ':');
}

static bool ends_line(int next)
{
  return next < 0 || next == '\n' || next == '\r';
}

static bool ends_word(int next)
{
  return ends_line(next) || is_in((char)next, " \t&\"'`<");
}

/* Letters alone, perhaps joined by - and _: a word. Whether it is a password is told by where it stands. */
static bool word_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct look *l)
{
  size_t n = c->value.n;
  bool password = class == RP_KEY_PASSWORD || class == RP_KEY_PHRASE;
  if (rp__key_mentions(c->value.p, n) && !(password && is_one_of(c->value, LIST("secret")))) return false;
  if (c->quoted && rp__claim_is_env(c)) return n >= 6 && !(l->lower == 0 && l->joiner > 0);
  if (c->quoted) {
    if (password) return n >= 3;
    return l->joiner == 0 && n >= (class == RP_KEY_SECRET ? 8 : 24) &&
           !(class == RP_KEY_SECRET && n < 16 && l->upper > 0);
  }
  if (rp__claim_is_env(c)) return !(l->lower == 0 && l->joiner > 0);
  if (is_tight(c) && password) return n >= 4 && ends_word(c->next[0]);
  bool told = memchr(c->joint.p, ':', c->joint.n) && c->joint.n <= 2;
  return told && password && l->joiner == 0 && l->upper == 0 && n >= 6 && ends_line(c->next[0]);
}

/* Letters and digits, and whatever else. */
static bool mixed_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct look *l)
{
  struct rp__str v = c->value;
  bool password = class == RP_KEY_PASSWORD || class == RP_KEY_PHRASE, env = rp__claim_is_env(c);
  if (is_term(v) || is_hex_constant(v) || is_path(v, l)) return false;
  if (password) return v.n >= 5 && (env || c->quoted || !is_identifier(v) || l->joiner == 0);
  if (c->quoted || env) return v.n >= (class == RP_KEY_SECRET || env ? 6 : 12);
  if (is_told_plainly(c) && l->joiner == 0 && l->upper == 0 && v.n >= 6 &&
      (is_tight(c) ? ends_word(c->next[0]) : ends_line(c->next[0])) && !rp__key_mentions(v.p, v.n))
    return true;
  /* An identifier with a number in it, where code would have one. */
  if (is_identifier(v) && (l->joiner > 0 || v.n < 12 || rp__key_mentions(v.p, v.n))) return false;
  return v.n >= 8;
}

static bool odd_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct look *l)
{
  struct rp__str v = c->value;
  if (class == RP_KEY_TOKEN || !has_letter(l) || is_path(v, l)) return false;
  if (class == RP_KEY_SECRET) return v.n >= 20 && l->upper > 0 && l->lower > 0;
  if (c->quoted) return v.n >= 6;
  return v.n >= 6 && is_tight(c) && has_any(v, "!@#$%^&*~?");
}

/* AWS::IAM::AccessKey, arn:aws:x:secret:y: the name is a part of something longer. */
static bool is_part(const struct rp__claim *c)
{
  if (c->before[0] != ':') return false;
  return c->before[1] == ':' || (c->joint.n == 1 && c->joint.p[0] == ':');
}

static bool named_is_secret(const struct rp__claim *c)
{
  struct look l = look_at(c->value);
  enum rp__key_class class = rp__key_class(c->name.p, c->name.n);
  bool password = class == RP_KEY_PASSWORD;
  if (class == RP_KEY_NONE || is_placeholder(c->value, &l) || is_part(c)) return false;
  if (is_json(c) && l.space == 0) return !rp__redact_key_name(c->value.p, c->value.n);
  if (l.space > 0 && password && c->quoted && c->joint.n == 2 && c->joint.p[0] == '=')
    return l.other == 0 && !rp__key_mentions(c->value.p, c->value.n);
  if (l.space > 0) return class == RP_KEY_PHRASE && l.space >= 2 && l.other == 0;
  if (!c->quoted && is_expression(c->value, c->next[0])) return false;
  if (!has_letter(&l) && l.digit == c->value.n && class == RP_KEY_SECRET && memchr(c->name.p, '-', c->name.n))
    return l.digit >= 5 && is_told_plainly(c); /* x-api-key: 12345, a header */
  if (!has_letter(&l) && l.digit == c->value.n) return password && l.digit >= 4 && l.digit <= 20;
  if (has_letter(&l) && l.digit > 0) return mixed_is_secret(c, class, &l);
  return l.other == 0 && has_letter(&l) ? word_is_secret(c, class, &l) : odd_is_secret(c, class, &l);
}

/* ---- the other rows ---------------------------------------------------------------- */

static bool element_is_secret(const struct rp__claim *c)
{
  struct look l = look_at(c->value);
  if (c->before[0] != '<' && c->before[0] != ':') return false;
  if (rp__key_class(c->name.p, c->name.n) == RP_KEY_NONE || is_placeholder(c->value, &l)) return false;
  if (l.digit == 0 && l.other == 0) {
    struct rp__claim quoted = *c;
    quoted.quoted = true;
    return word_is_secret(&quoted, rp__key_class(c->name.p, c->name.n), &l);
  }
  return has_letter(&l) && l.digit > 0 && !is_term(c->value) && !is_path(c->value, &l);
}

/* Letters and digits, no term of the trade, nothing that goes on like code or a compound word. */
static bool is_strict(const struct rp__claim *c, size_t least)
{
  struct look l = look_at(c->value);
  if (is_placeholder(c->value, &l) || c->value.n < least || l.space > 0) return false;
  if (!has_letter(&l) || l.digit == 0 || is_term(c->value) || is_path(c->value, &l)) return false;
  if (is_identifier(c->value) && (rp__key_mentions(c->value.p, c->value.n) || (l.lower == 0 && l.joiner > 0)))
    return false;
  return !is_expression(c->value, c->next[0]) && !mentions(c->value, LIST("base64", "sha256", "utf-8", "-bit", "256-"));
}

static bool told_is_secret(const struct rp__claim *c)
{
  enum rp__key_class class = rp__key_class(c->name.p, c->name.n);
  if (class == RP_KEY_NONE) return false;
  return is_strict(c, class == RP_KEY_PASSWORD ? 6 : class == RP_KEY_TOKEN ? 20 : 12);
}

static bool flag_is_secret(const struct rp__claim *c)
{
  if (c->name.n < 3 || memcmp(c->name.p, "--", 2) != 0) return false;
  return rp__key_class(c->name.p, c->name.n) != RP_KEY_NONE && is_strict(c, 6);
}

/* A scheme makes a secret of any word, unless the sentence goes on. */
static bool header_is_secret(const struct rp__claim *c)
{
  struct look l = look_at(c->value), j = look_at(c->joint);
  if (is_placeholder(c->value, &l) || l.space > 0 || l.digit + l.lower + l.upper == 0) return false;
  bool word = l.digit == 0 && l.other == 0;
  if (!has_letter(&j)) return is_strict(c, 12);
  if (has_any(c->value, "([") || c->next[0] == '(' || c->next[0] == '[') return false;
  if (!word) return !(is_member(c->value) && rp__key_mentions(c->value.p, c->value.n));
  return !rp__key_mentions(c->value.p, c->value.n) && ends_word(c->next[0]) &&
         !(c->next[0] == ' ' && c->next[1] >= 0 && (is_word((char)c->next[1]) || c->next[1] == '['));
}

bool rp__claim_holds(enum rp__judge judge, const struct rp__claim *c)
{
  struct look l;
  switch (judge) {
  case RP_JUDGE_NAMED: return named_is_secret(c);
  case RP_JUDGE_ELEMENT: return element_is_secret(c);
  case RP_JUDGE_TOLD: return told_is_secret(c);
  case RP_JUDGE_FLAG: return flag_is_secret(c);
  case RP_JUDGE_HEADER: return header_is_secret(c);
  case RP_JUDGE_RANDOM: return is_strict(c, 12) || (is_strict(c, 8) && ends_line(c->next[0]));
  case RP_JUDGE_FILLED: l = look_at(c->value); return !is_placeholder(c->value, &l);
  case RP_JUDGE_NONE: break;
  }
  return true;
}
