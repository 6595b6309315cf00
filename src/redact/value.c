/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a value in the place of a secret is one. */
#include "redact/value.h"

#include "redact/looks-random.h"
#include "redact/redact.h"

#define RANDOM_MIN 20
#define JUDGED_MAX 256 /* bytes of a string in JSON that are looked at */
#define LIST RP_LOOK_LIST

static bool has_any(struct rp__str s, const char *set)
{
  for (size_t i = 0; i < s.n; i++)
    if (rp__is_in(s.p[i], set)) return true;
  return false;
}

bool rp__value_is_mixed(const char *s, size_t n)
{
  struct rp__look l = rp__look_at((struct rp__str){s, n});
  return l.space == 0 && rp__look_letter(&l) && l.digit > 0;
}

/* ---- code ------------------------------------------------------------------------- */

static bool is_identifier(struct rp__str s)
{
  if (s.n == 0 || rp__is_digit(s.p[0])) return false;
  for (size_t i = 0; i < s.n; i++)
    if (!rp__look_word(s.p[i]) && s.p[i] != '$') return false;
  return true;
}

/* a.b, a->b, a::b, with identifiers on both sides of each. */
static bool is_member(struct rp__str s)
{
  size_t from = 0, parts = 0;
  for (size_t i = 0; i <= s.n; i++) {
    if (i < s.n && rp__look_word(s.p[i])) continue;
    struct rp__str part = {s.p + from, i - from};
    if (part.n > 0 && !is_identifier(part)) return false;
    if (part.n == 0 && parts > 0 && i < s.n && s.p[i] != ':' && s.p[i] != '>' && s.p[i] != '.') return false;
    if (i < s.n && !rp__is_in(s.p[i], ".->:?!")) return false;
    if (i < s.n && s.p[i] == '-' && (i + 1 == s.n || s.p[i + 1] != '>')) return false;
    parts += part.n > 0;
    from = i + 1;
  }
  return parts > 1 && s.n > 0 && rp__look_word(s.p[s.n - 1]);
}

/* A name as code has them, with or without members; no password that happens to be made of the same bytes. */
static bool is_name(struct rp__str s)
{
  return (is_identifier(s) || is_member(s)) && !rp__look_random(s);
}

/*
 * name(… and name[…, as far as the value goes: it ends before a closing bracket. Brackets that are never closed are no
 * code, nor are those behind which the value goes on.
 */
static bool is_call(const struct rp__claim *c)
{
  struct rp__str s = c->value;
  size_t at = 1;
  while (at < s.n && !(rp__is_in(s.p[at], "([") && rp__look_word(s.p[at - 1]))) at++;
  if (at >= s.n || !is_name((struct rp__str){s.p, at})) return false;
  if (rp__is_in(s.p[s.n - 1], "([")) return true;
  int next = c->next[0];
  if (next == ')' || next == ']') return !rp__claim_is_env(c) || c->next[1] < 0 || !rp__look_word((char)c->next[1]);
  return !(next < 0 || next == '\n' || next == '\r');
}

/*
 * A literal that reads like a variable or a placeholder and is neither: $ecret99, $3cret, $uper9Secret
 * (names end with their digits, if they have any), <abc123 without an end.
 */
static bool is_odd_literal(const struct rp__claim *c)
{
  struct rp__str s = c->value;
  size_t digits = 0, inner = 0;
  if (c->quoted || !rp__claim_is_env(c) || s.n < 6) return false;
  if (s.p[0] == '<') return c->next[0] != '>' && rp__value_is_mixed(s.p, s.n) && !rp__is_in(s.p[s.n - 1], "}>");
  if (s.p[0] != '$') return false;
  for (size_t i = 1; i < s.n; i++) {
    if (!rp__look_word(s.p[i]) || s.p[i] == '_') return false;
    digits += rp__is_digit(s.p[i]);
    inner += i > 1 && rp__is_digit(s.p[i - 1]) && !rp__is_digit(s.p[i]);
  }
  if (digits == 0 || digits == s.n - 1) return false;
  if (inner) return !rp__look_mentions(s, LIST("oauth2", "sha256", "sha1", "b64", "base64", "k8s", "s3", "md5"));
  return (rp__is_digit(s.p[1]) || digits >= 2) && !rp__key_mentions(s.p, s.n);
}

/* name(…, name[…, &name, *name, !name, (…, a path: an expression and no text. */
static bool is_expression(const struct rp__claim *c)
{
  struct rp__str s = c->value;
  while (s.n > 1 && rp__is_in(s.p[s.n - 1], ".:")) s.n--;
  struct rp__str rest = {s.p + 1, s.n - 1};
  struct rp__look l = rp__look_at(s);
  bool env = rp__claim_is_env(c), mixed = rp__look_letter(&l) && l.digit > 0;
  if (rp__look_has(s, "://")) return true;
  if (s.p[0] == '/' || s.p[0] == '.' || (s.p[0] == '~' && s.n > 1 && s.p[1] == '/')) {
    if (s.n >= 20 && s.p[0] == '/' && mixed && l.upper > 0) return false;
    if (rp__look_random(s)) return false;
    return !(env && mixed && s.n >= 6 && s.p[0] == '/' && !memchr(rest.p, '/', rest.n) && !memchr(rest.p, '.', rest.n));
  }
  if (rp__is_in(s.p[0], "([{<>=|,;)]}:+?"))
    return !(env && mixed && s.n >= 6) && !(s.p[0] == '<' && rp__look_random(rest));
  if (rp__is_in(s.p[0], "&*!~@") && (rest.n == 0 || is_name(rest))) return !(env && mixed && s.n >= 6);
  if (is_call(c)) return true;
  if (rp__look_mentions(s, LIST("??", "&&", "||", "==", "!=")) && !rp__look_random(s)) return true;
  if (rp__look_has(s, "->") || rp__look_has(s, "::")) return !rp__look_random(s);
  return is_member(s) && !rp__look_random(s) && !(env && mixed && l.upper > 0 && l.lower > 0);
}

static bool is_hex_constant(struct rp__str s)
{
  return s.n > 2 && s.n <= 18 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X');
}

/* "+ name +": what stands between two strings. */
static bool is_joined(struct rp__str s)
{
  return s.n > 0 && (rp__is_in(s.p[0], "+.,") || s.p[s.n - 1] == '+');
}

/* A word for the kind of a value or its source: schemas, options, labels. */
static bool is_kind(struct rp__str s)
{
  return rp__look_one_of(
      s, LIST("header", "cookie", "cookies", "query", "querystring", "body", "include", "omit", "same-origin", "basic",
              "digest", "bearer", "env", "file", "prompt", "stdin", "plain", "plaintext", "hashed", "encrypted",
              "disabled", "enabled", "inherit", "private", "public", "internal", "external", "readonly", "sensitive",
              "array", "structure", "map", "list", "blob", "long", "double", "float", "date", "uuid", "email", "uri",
              "input", "output", "varchar", "bytea", "symbol", "identifier", "keyword", "punctuation", "operator",
              "function", "variable", "value", "hmac", "none", "always", "never", "manual", "automatic", "missing",
              "invalid", "valid", "expired", "minutes", "hours", "days", "seconds", "user", "username", "name", "id",
              /* the label in other languages */
              "passwort", "kennwort", "senha", "wachtwoord", "parola", "heslo", "salasana", "lozinka", "geslo",
              "passord", "adgangskode", "sifre", "geheimnis", "secreto", "segreto", "segredo", "hemmelighet"));
}

/* ---- a member of an object ------------------------------------------------------------ */

/* "Bearer x": a scheme and what belongs to it. */
static bool has_scheme(struct rp__str s)
{
  for (const char *const *w = LIST("bearer ", "basic ", "token ", "apikey ", "negotiate "); *w; w++) {
    size_t n = strlen(*w);
    if (s.n > n && rp__look_mentions((struct rp__str){s.p, n}, LIST(*w))) return !memchr(s.p + n, ' ', s.n - n);
  }
  return false;
}

/* Letters and digits that no name has, or a few of each without a sign of being a name. */
static bool looks_secret(struct rp__str s, const struct rp__look *l)
{
  if (l->space > 0 || l->wide > 0 || rp__look_path(s, l) || rp__look_term(s) || is_hex_constant(s)) return false;
  return rp__look_random(s) || (s.n >= 6 && l->digit > 0 && l->lower > 0 && l->digit + l->lower == s.n);
}

/* ^6.0.0, 1.2.1: what a package of that name is needed in. */
static bool is_release(struct rp__str s)
{
  size_t dots = 0;
  while (s.n > 0 && rp__is_in(s.p[0], "^~<>=v")) s.p++, s.n--;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '-' && dots > 0) break;
    if (s.p[i] != '.' && s.p[i] != 'x' && !rp__is_digit(s.p[i])) return false;
    dots += s.p[i] == '.';
  }
  return dots > 0;
}

/* Six words or more, of letters alone: what wallets are restored from. */
static bool is_mnemonic(struct rp__str s)
{
  struct rp__look l = rp__look_at(s);
  return l.space >= 5 && l.upper + l.digit + l.other + l.joiner == 0 && !rp__look_prose(s);
}

bool rp__value_is_secret(enum rp__key_class class, struct rp__str s)
{
  if (s.n > JUDGED_MAX) s.n = JUDGED_MAX;
  struct rp__look l = rp__look_at(s);
  bool password = class == RP_KEY_PASSWORD || class == RP_KEY_PHRASE, word = l.digit + l.other + l.space == 0;
  if (class == RP_KEY_NONE || rp__look_placeholder(s, &l)) return false;
  if (class == RP_KEY_MNEMONIC) return is_mnemonic(s);
  if (class == RP_KEY_TOKEN) return has_scheme(s) || looks_secret(s, &l);
  if (class == RP_KEY_PASS && (l.space > 0 || s.n < 6 || l.joiner > 0)) return looks_secret(s, &l);
  if (rp__look_random(s) && l.space == 0) return !rp__look_has(s, "://");
  if (rp__look_prose(s) || is_kind(s) || rp__look_mentions(s, LIST("username")) || is_release(s) || rp__look_term(s))
    return false;
  if (rp__redact_key_name(s.p, s.n) || ((word || l.space > 0) && rp__key_mentions(s.p, s.n))) return false;
  if (rp__look_path(s, &l) && (!password || s.p[0] == '/' || s.p[0] == '~')) return false;
  if (l.space > 0) return password || class == RP_KEY_SECRET;
  if (password) return true;
  return !word || l.upper + l.joiner == 0;
}

/* ---- name = value ----------------------------------------------------------------- */

static bool is_tight(const struct rp__claim *c)
{
  return c->joint.n == 1 && c->joint.p[0] == '=';
}

bool rp__claim_is_env(const struct rp__claim *c)
{
  struct rp__look l = rp__look_at(c->name);
  bool tight = is_tight(c) || (c->quoted && c->joint.n == 2 && c->joint.p[0] == '=');
  return tight && l.lower == 0 && l.upper > 0;
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
  return ends_line(next) || rp__is_in((char)next, " \t&\"'`<");
}

/* Words that code assigns from and prose goes on with: bare, behind "password = " or "secret: ", they tell nothing. */
static bool is_common(struct rp__str s)
{
  return is_kind(s) ||
         rp__look_one_of(s, LIST("value", "data", "line", "result", "args", "argv", "param", "params", "buffer", "arg",
                                 "match", "item", "option", "options", "config", "entry", "current", "temp", "the",
                                 "see", "below", "above", "again", "first", "last", "next", "other"));
}

/* correct-horse-battery: three words or more. Two are as often a kind or a label. */
static bool is_dashed(struct rp__str s, const struct rp__look *l)
{
  return l->joiner >= 2 && l->upper == 0 && !memchr(s.p, '_', s.n) && s.p[0] != '-' && s.p[s.n - 1] != '-';
}

/* Letters alone, perhaps joined by - and _: a word. Whether it is a password is told by where it stands. */
static bool word_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct rp__look *l)
{
  size_t n = c->value.n;
  bool password = class == RP_KEY_PASSWORD || class == RP_KEY_PHRASE, env = rp__claim_is_env(c);
  if (rp__look_random(c->value)) return true;
  if (class == RP_KEY_TOKEN) return env && !c->quoted && n >= 16 && l->joiner == 0;
  if ((rp__key_mentions(c->value.p, n) || rp__redact_key_name(c->value.p, n)) &&
      !(password && rp__look_one_of(c->value, LIST("secret"))))
    return false;
  if (c->quoted && env) return n >= 6 && !(l->lower == 0 && l->joiner > 0);
  if (c->quoted) {
    if (password) return n >= 3;
    return l->joiner == 0 && n >= 8 && !(n < 16 && l->upper > 0);
  }
  if (env) return !(l->lower == 0 && l->joiner > 0);
  /* --password=PASSWORD, HASŁO: what a manual writes where a value goes. */
  bool manual = l->lower == l->wide && l->digit + l->other + l->space == 0;
  if (is_tight(c) && password && c->name.p[0] == '-' && manual) return false;
  if (is_tight(c) && password) return n >= 4 && ends_word(c->next[0]);
  /* Alone on its line, as in a file of settings. */
  bool colon = memchr(c->joint.p, ':', c->joint.n) != NULL;
  return (l->joiner == 0 || (password && is_dashed(c->value, l))) && n >= 6 && ends_line(c->next[0]) &&
         (l->upper == 0 || (!colon && l->lower > 0 && l->upper == 1)) && c->joint.n <= (colon ? 2 : 3) &&
         l->wide == 0 && !is_common(c->value);
}

/* Letters and digits, and whatever else. */
static bool mixed_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct rp__look *l)
{
  struct rp__str v = c->value;
  bool password = class == RP_KEY_PASSWORD || class == RP_KEY_PHRASE, env = rp__claim_is_env(c);
  /* The name of a file, unless it is all that a variable is set to: a slash may begin a password, too. */
  bool slashed = env && v.p[0] == '/' && l->digit > 0 && !memchr(v.p + 1, '/', v.n - 1) && !memchr(v.p, '.', v.n);
  if (rp__look_term(v) || is_hex_constant(v) || (rp__look_path(v, l) && !slashed)) return false;
  /* Of the weak names, "token" is the one that mostly holds one where letters and digits are mixed. */
  bool token = c->name.n >= 5 && rp__look_mentions((struct rp__str){c->name.p + c->name.n - 5, 5}, LIST("token"));
  if (class == RP_KEY_TOKEN && !token && !rp__look_random(v)) return false;
  if (password) return v.n >= 5 && (env || c->quoted || !is_identifier(v) || l->joiner == 0);
  if (class == RP_KEY_SECRET || env) {
    if (c->quoted && !env && rp__key_mentions(v.p, v.n)) return rp__look_random(v);
    if (c->quoted || env) return v.n >= 6;
  } else if (c->quoted)
    return v.n >= 12;
  /* Under a strong name a capital makes no code of it: names in code seldom have digits, and end in them. */
  bool strong = class == RP_KEY_SECRET;
  if (strong && is_told_plainly(c) && l->joiner == 0 && v.n >= 8 && ends_word(c->next[0]) && rp__look_random(v))
    return true;
  if (is_told_plainly(c) && l->joiner == 0 && (l->upper == 0 || (strong && l->digit > 1)) && v.n >= 6 &&
      (is_tight(c) ? ends_word(c->next[0]) : ends_line(c->next[0])) && !rp__key_mentions(v.p, v.n))
    return true;
  /* An identifier with a number in it, where code would have one. */
  if (is_identifier(v) && (l->joiner > 0 || v.n < 12 || rp__key_mentions(v.p, v.n))) return false;
  return v.n >= 8;
}

static bool odd_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct rp__look *l)
{
  struct rp__str v = c->value;
  if (class == RP_KEY_TOKEN || !rp__look_letter(l) || rp__look_path(v, l) || is_joined(v)) return false;
  if (rp__claim_is_env(c) && v.n >= 6 && has_any(v, "!@#$%^&*~?([<")) return true;
  if (class == RP_KEY_SECRET) return v.n >= 20 && l->upper > 0 && l->lower > 0;
  if (c->quoted) return v.n >= 6;
  return v.n >= 6 && (is_tight(c) || ends_line(c->next[0])) && has_any(v, "!@#$%^&*~?([<");
}

/* PASSWORD="let me in": a few small words, all that a variable is set to. */
static bool is_short_phrase(const struct rp__claim *c, enum rp__key_class class, const struct rp__look *l)
{
  return class == RP_KEY_PASSWORD && rp__claim_is_env(c) && l->space <= 3 && l->space + l->lower == c->value.n &&
         l->wide == 0 && !rp__key_mentions(c->value.p, c->value.n) &&
         !rp__look_mentions(c->value, LIST("invalid", "wrong", "missing", "not ", "no "));
}

/* Words between quotes: a phrase, or a sentence about one. */
static bool spaced_is_secret(const struct rp__claim *c, enum rp__key_class class, const struct rp__look *l)
{
  if (!c->quoted || class == RP_KEY_TOKEN || is_joined(c->value)) return false;
  if (rp__look_prose(c->value)) return is_short_phrase(c, class, l);
  if (!rp__claim_is_env(c) && rp__key_mentions(c->value.p, c->value.n)) return false;
  if (class == RP_KEY_PHRASE) return l->space >= 2 && l->other == 0;
  bool tight = c->joint.n == 2 && c->joint.p[0] == '=';
  if (has_any(c->value, "(){}[]<>=|\\;,")) return false;
  return tight || rp__claim_is_env(c) || class == RP_KEY_PASSWORD;
}

/* pass=hunter2, pass: "hunter2"; not pass=1, "PASS: tests/x1" nor what a compiler does. */
static bool pass_is_secret(const struct rp__claim *c, const struct rp__look *l)
{
  struct rp__look name = rp__look_at(c->name);
  bool mixed = rp__look_letter(l) && l->digit > 0 && c->value.n >= 6 && l->joiner == 0 && !rp__look_path(c->value, l);
  if (l->space > 0 || rp__look_term(c->value) || (memchr(c->joint.p, ':', c->joint.n) && name.upper > 0)) return false;
  if (rp__look_random(c->value)) return true;
  if (c->quoted || is_tight(c)) {
    bool word = l->digit + l->other + l->joiner + l->upper == 0 && c->value.n >= 6;
    return mixed ||
           (word && ends_word(c->next[0]) && !is_common(c->value) && !rp__key_mentions(c->value.p, c->value.n));
  }
  return mixed && ends_line(c->next[0]);
}

/* AWS::IAM::AccessKey, arn:aws:x:secret:y: the name is a part of something longer. */
static bool is_part(const struct rp__claim *c)
{
  if (c->before[0] == '/' && c->before[1] == '/')
    return c->joint.n == 1 && c->joint.p[0] == ':'; /* the user of a URL */
  if (c->before[0] != ':') return false;
  return c->before[1] == ':' || (c->joint.n == 1 && c->joint.p[0] == ':');
}

static bool named_is_secret(const struct rp__claim *c)
{
  struct rp__look l = rp__look_at(c->value);
  enum rp__key_class class = rp__key_class(c->name.p, c->name.n);
  bool password = class == RP_KEY_PASSWORD;
  if (class == RP_KEY_NONE || is_part(c)) return false;
  if (class == RP_KEY_MNEMONIC) return is_mnemonic(c->value);
  if (rp__look_placeholder(c->value, &l)) return is_odd_literal(c);
  /* "name": "value", as data has it: whoever wrote the name in quotes meant a value and no code. */
  if (c->quoted && c->joint.n >= 3 && c->joint.p[0] == '"' && c->joint.p[c->joint.n - 1] == '"' &&
      memchr(c->joint.p, ':', c->joint.n))
    return rp__value_is_secret(class, c->value);
  if (l.space > 0) return spaced_is_secret(c, class, &l);
  if (!c->quoted && is_expression(c)) return false;
  if (class == RP_KEY_PASS) return pass_is_secret(c, &l);
  if (!rp__look_letter(&l) && l.digit == c->value.n && class == RP_KEY_SECRET && memchr(c->name.p, '-', c->name.n))
    return l.digit >= 5 && is_told_plainly(c); /* x-api-key: 12345, a header */
  if (!rp__look_letter(&l) && l.digit == c->value.n && !c->quoted) {
    struct rp__look joint = rp__look_at(c->joint); /* PASSWORD: Final = 1304 */
    if (rp__look_letter(&joint)) return false;
  }
  if (!rp__look_letter(&l) && l.digit == c->value.n) return password && l.digit >= 4 && l.digit <= 20;
  if (rp__look_letter(&l) && l.digit > 0) return mixed_is_secret(c, class, &l);
  return l.other == 0 && rp__look_letter(&l) ? word_is_secret(c, class, &l) : odd_is_secret(c, class, &l);
}

/* ---- the other rows ---------------------------------------------------------------- */

static bool element_is_secret(const struct rp__claim *c)
{
  struct rp__look l = rp__look_at(c->value);
  if (c->before[0] != '<' && c->before[0] != ':') return false;
  if (rp__key_class(c->name.p, c->name.n) == RP_KEY_NONE || rp__look_placeholder(c->value, &l)) return false;
  if (l.digit == 0 && l.other == 0) {
    struct rp__claim quoted = *c;
    quoted.quoted = true;
    return word_is_secret(&quoted, rp__key_class(c->name.p, c->name.n), &l);
  }
  return rp__look_letter(&l) && l.digit > 0 && !rp__look_term(c->value) && !rp__look_path(c->value, &l);
}

/* Letters and digits, no term of the trade, nothing that goes on like code or a compound word. */
static bool is_strict(const struct rp__claim *c, size_t least)
{
  struct rp__look l = rp__look_at(c->value);
  if (rp__look_placeholder(c->value, &l) || c->value.n < least || l.space > 0) return false;
  if (!rp__look_letter(&l) || l.digit == 0 || rp__look_term(c->value) || rp__look_path(c->value, &l)) return false;
  if (!rp__look_random(c->value) && rp__key_mentions(c->value.p, c->value.n) && l.joiner > 0) return false;
  if (is_identifier(c->value) && (rp__key_mentions(c->value.p, c->value.n) || (l.lower == 0 && l.joiner > 0)))
    return false;
  return !is_expression(c) && !rp__look_mentions(c->value, LIST("base64", "sha256", "utf-8", "-bit", "256-"));
}

/* eloAWonlguyQ: capitals inside a word that is no camel's, as a generator of passwords makes them. */
static bool is_jumbled(const struct rp__claim *c)
{
  struct rp__str s = c->value;
  struct rp__look l = rp__look_at(s);
  size_t odd = 0;
  if (s.n < 8 || l.lower + l.upper != s.n || l.wide > 0 || l.lower == 0 || !ends_word(c->next[0])) return false;
  for (size_t i = 1; i < s.n; i++) {
    bool upper = s.p[i] >= 'A' && s.p[i] <= 'Z', before = s.p[i - 1] >= 'A' && s.p[i - 1] <= 'Z';
    odd += upper && (before || i + 1 == s.n);
  }
  return odd > 0 && !rp__key_mentions(s.p, s.n) && !rp__look_placeholder(s, &l);
}

static bool pair_is_secret(const struct rp__claim *c)
{
  enum rp__key_class class = rp__key_class(c->name.p, c->name.n);
  struct rp__look l = rp__look_at(c->name);
  bool flag = c->name.n > 2 && memcmp(c->name.p, "--", 2) == 0, env = l.lower == 0 && l.upper > 0;
  bool told = rp__look_mentions(c->joint, LIST("value"));
  if (!c->quoted || rp__is_in(c->value.p[0], "-,+)")) return false;
  struct rp__look v = rp__look_at(c->value);
  if (!told && !rp__look_random(c->value) && (v.lower == 0 || v.joiner > 0)) return false;
  if ((flag || (told && l.joiner > 0)) && class == RP_KEY_TOKEN) class = RP_KEY_SECRET;
  if (!flag && !told && !env) class = class == RP_KEY_NONE ? RP_KEY_NONE : RP_KEY_TOKEN;
  return rp__value_is_secret(class, c->value);
}

/* A scheme makes a secret of any word, unless the sentence goes on. */
static bool header_is_secret(const struct rp__claim *c)
{
  struct rp__look l = rp__look_at(c->value), j = rp__look_at(c->joint);
  if (rp__look_placeholder(c->value, &l) || l.space > 0 || l.digit + l.lower + l.upper == 0) return false;
  bool word = l.digit == 0 && l.other == 0;
  if (!rp__look_letter(&j)) return is_strict(c, 12);
  if (has_any(c->value, "([") || c->next[0] == '(' || c->next[0] == '[') return false;
  if (!word) return !(is_member(c->value) && rp__key_mentions(c->value.p, c->value.n));
  return !rp__key_mentions(c->value.p, c->value.n) && ends_word(c->next[0]) &&
         !(c->next[0] == ' ' && c->next[1] >= 0 && (rp__look_word((char)c->next[1]) || c->next[1] == '['));
}

bool rp__claim_goes_on(const struct rp__claim *c)
{
  struct rp__look l = rp__look_at(c->value);
  if (!rp__is_in((char)(c->next[0] < 0 ? 0 : c->next[0]), ",;") || !rp__look_letter(&l) || l.space > 0) return false;
  if (has_any(c->value, "$(){}[]<>/\\=") || rp__look_placeholder(c->value, &l)) return false;
  return has_any(c->value, "!@#%^*~");
}

bool rp__claim_holds(enum rp__judge judge, const struct rp__claim *c)
{
  struct rp__look l;
  enum rp__key_class class;
  switch (judge) {
  case RP_JUDGE_NAMED: return named_is_secret(c);
  case RP_JUDGE_ELEMENT: return element_is_secret(c);
  case RP_JUDGE_TOLD:
    class = rp__key_class(c->name.p, c->name.n);
    if (class == RP_KEY_NONE || class == RP_KEY_PASS) return false;
    return is_strict(c, class == RP_KEY_PASSWORD ? 6 : class == RP_KEY_TOKEN ? 20 : 12);
  case RP_JUDGE_FLAG:
    if (c->name.n < 3 || memcmp(c->name.p, "--", 2) != 0) return false;
    class = rp__key_class(c->name.p, c->name.n);
    return class != RP_KEY_NONE && (is_strict(c, 6) || (class != RP_KEY_TOKEN && is_jumbled(c)));
  case RP_JUDGE_HEADER: return header_is_secret(c);
  case RP_JUDGE_RANDOM: return is_strict(c, 12) || (is_strict(c, 8) && ends_line(c->next[0]));
  case RP_JUDGE_PAIR: return pair_is_secret(c);
  case RP_JUDGE_LOGIN: return rp__value_is_secret(RP_KEY_TOKEN, c->value);
  case RP_JUDGE_USER:
    l = rp__look_at(c->value);
    if (c->next[0] == ':' && c->next[1] == 'x') return !rp__look_placeholder(c->value, &l); /* …:x-oauth-basic@ */
    return c->value.n >= RANDOM_MIN && rp__look_random(c->value) && !rp__look_has(c->value, "%");
  case RP_JUDGE_USERPASS:
    l = rp__look_at(c->value);
    return !rp__look_placeholder(c->value, &l) && !is_kind(c->value) &&
           !rp__look_one_of(c->value, LIST("password", "passwd", "pass"));
  case RP_JUDGE_FILLED: l = rp__look_at(c->value); return !rp__look_placeholder(c->value, &l);
  case RP_JUDGE_NONE: break;
  }
  return true;
}
