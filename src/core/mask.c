/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks a body in one walk. Nothing is copied before the first part that is masked; `copied` marks how much of the body
 * has been copied to `out`. So everything that is not masked stays byte for byte as it came.
 */
#include "core/mask.h"

#include <strings.h>

#include "json/text.h"
#include "redact/value.h"

/*
 * Names that sound like credentials and are none, by the kind of event. Only the name is exempt: what is a secret by
 * its looks is masked there too.
 */
static const struct {
  enum rp__kind kind;
  const char *field; /* of the body itself */
} exempt[] = {
    {RP_KIND_MESSAGE, "token"}, /* the piece of text that a model streamed */
    {RP_KIND_TRANSCRIPT, "token"},
    {RP_KIND_OTHER, "token"},
};

#define PIECE_MAX 12 /* bytes of a piece of text that are never taken for a credential */

struct masker {
  const struct rp__redactor *r;
  enum rp__kind kind;
  struct rp__buf *out;
  const char *copied;
  struct rp__buf scratch; /* decoded strings */
  size_t hits, keys;
};

/* ---- writing ------------------------------------------------------------------------- */

static void take_over(struct masker *m, const char *to)
{
  rp__buf_add(m->out, m->copied, (size_t)(to - m->copied));
  m->copied = to;
}

/* Walks a raw string beside its decoded form, so that a place in the one is found in the other. */
struct mapped {
  struct masker *m;
  const char *at, *end; /* raw */
  size_t decoded;       /* bytes decoded before `at` */
};

/* The raw place of a decoded one: of the escape that holds it, or behind that when `behind`. */
static const char *map_to(struct mapped *x, size_t place, bool behind)
{
  char bytes[4];
  while (x->at < x->end && x->decoded < place) {
    const char *next = x->at + 1;
    size_t n = 1;
    if (*x->at == '\\') {
      next = x->at;
      n = rp__json_unescape(&next, x->end, bytes);
    }
    if (!behind && x->decoded + n > place) break;
    x->decoded += n;
    x->at = next;
  }
  return x->at;
}

static int on_secret(void *ctx, const struct rp__secret *s)
{
  struct mapped *x = ctx;
  take_over(x->m, map_to(x, s->start, false));
  rp__buf_str(x->m->out, RP_MASK);
  x->m->copied = map_to(x, s->end, true);
  x->m->hits++;
  return x->m->out->err;
}

/* ---- strings --------------------------------------------------------------------------- */

/* The decoded text: the raw bytes themselves where nothing is escaped, else in the scratch buffer. */
static int text_of(struct masker *m, struct rp__json v, struct rp__str *ret)
{
  *ret = rp__json_raw(v);
  if (ret->n == 0 || !memchr(ret->p, '\\', ret->n)) return 0;
  rp__buf_reset(&m->scratch);
  m->scratch.max = SIZE_MAX; /* never longer than the body it was read from */
  int rc = rp__json_text(v, &m->scratch);
  *ret = (struct rp__str){m->scratch.p ? m->scratch.p : "", m->scratch.n};
  return rc;
}

static int mask_string(struct masker *m, struct rp__json v)
{
  struct rp__str text, raw = rp__json_raw(v);
  int rc = text_of(m, v, &text);
  if (rc || !rp__redact_suspects(m->r, text.p, text.n)) return rc;
  struct mapped x = {m, raw.p, raw.p + raw.n, 0};
  return rp__redact_find(m->r, text.p, text.n, on_secret, &x);
}

/* A value is masked whole because of its name, unless there is nothing to mask. */
static int mask_whole(struct masker *m, struct rp__json v)
{
  struct rp__str raw = rp__json_raw(v);
  if (raw.n == 0 || rp__str_eq(raw, RP_MASK)) return 0;
  take_over(m, raw.p);
  rp__buf_str(m->out, RP_MASK);
  m->copied = raw.p + raw.n;
  m->hits++;
  return m->out->err;
}

/* ---- names -------------------------------------------------------------------------------- */

static int class_of_name(struct masker *m, struct rp__json key, enum rp__key_class *ret)
{
  struct rp__str name;
  int rc = text_of(m, key, &name);
  if (!rc) *ret = rp__key_class(name.p, name.n);
  return rc;
}

static bool named_any_case(struct rp__json key, const char *name)
{
  struct rp__str raw = rp__json_raw(key);
  return raw.n == strlen(name) && strncasecmp(raw.p, name, raw.n) == 0;
}

/*
 * {"name":"API_KEY","value":"…"}, {"Key":…,"Value":…}: variables, headers and tags are often told so. Such a pair holds
 * a literal, so a name that elsewhere is as often a parser's as a credential's is taken at its word here.
 */
static int class_beside(struct masker *m, struct rp__json object, enum rp__key_class *ret)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  enum rp__key_class class = RP_KEY_NONE;
  while (class == RP_KEY_NONE && rp__json_next(object, &it, &key, &value)) {
    if (value.type != RP_JSON_STRING || (!named_any_case(key, "name") && !named_any_case(key, "key"))) continue;
    int rc = class_of_name(m, value, &class);
    if (rc) return rc;
    struct rp__str raw = rp__json_raw(value);
    bool header = memchr(raw.p, '-', raw.n) || memchr(raw.p, '_', raw.n) || named_any_case(value, "authorization");
    if (class == RP_KEY_TOKEN && header) class = RP_KEY_SECRET;
  }
  *ret = class;
  return 0;
}

/* ---- the walk ------------------------------------------------------------------------------- */

static int walk(struct masker *m, struct rp__json v, enum rp__key_class class, unsigned depth);

/* Members that describe their object, and may look random: {"token":{"id":…,"integrity":…}}. */
static bool tells_of(struct rp__json key)
{
  static const char *const endings[] = {
      "id",  "hash", "sha",  "digest", "integrity", "commit", "version",  "revision", "etag", "checksum", "url",
      "uri", "arn",  "name", "ref",    "type",      "shape",  "location", "path",     "date", "time",     "at"};
  struct rp__str raw = rp__json_raw(key);
  for (size_t i = 0; i < RP_ARRAY_SIZE(endings); i++) {
    size_t n = strlen(endings[i]);
    if (raw.n >= n && strncasecmp(raw.p + raw.n - n, endings[i], n) == 0) return true;
  }
  return false;
}

/*
 * A member of an object that has a credential's name itself ({"password":{"type":"string"}}) is one if it looks like
 * one, or if it is called the value of it.
 */
static int walk_member(struct masker *m, struct rp__json object, struct rp__json key, struct rp__json value,
                       enum rp__key_class outer, unsigned depth)
{
  enum rp__key_class named = RP_KEY_NONE, beside = RP_KEY_NONE;
  bool is_value = named_any_case(key, "value");
  int rc = class_of_name(m, key, &named);
  if (!rc && is_value && value.type == RP_JSON_STRING) rc = class_beside(m, object, &beside);
  size_t before = m->hits;
  if (!rc) rc = mask_string(m, key);
  /* A second name that holds a secret gets a number, for names in one object must differ. */
  if (!rc && m->hits > before && m->keys++ > 0) {
    take_over(m, key.p + key.n);
    rp__buf_printf(m->out, "-%zu", m->keys);
    rc = m->out->err;
  }
  if (rc) return rc;
  struct rp__str raw = rp__json_raw(value);
  for (size_t i = 0; named && depth == 0 && raw.n < PIECE_MAX && i < RP_ARRAY_SIZE(exempt); i++)
    if (exempt[i].kind == m->kind && rp__json_eq(key, exempt[i].field)) named = RP_KEY_NONE;
  /* A shell's working folder is called pwd too. */
  if (named && raw.n > 0 && (raw.p[0] == '/' || raw.p[0] == '~') &&
      (rp__json_eq(key, "pwd") || rp__json_eq(key, "PWD") || rp__json_eq(key, "OLDPWD")))
    named = RP_KEY_NONE;
  if (beside) named = beside;
  if (!named && outer) named = is_value ? outer : tells_of(key) ? RP_KEY_NONE : RP_KEY_TOKEN;
  return walk(m, value, named, depth + 1);
}

/* ["--token","…"], ["curl","-u","user:password"]: the words of a command. */
static int walk_words(struct masker *m, struct rp__json array, enum rp__key_class outer, unsigned depth)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  bool curl = false, user = false;
  enum rp__key_class flag = RP_KEY_NONE;
  int rc = 0;
  while (!rc && rp__json_next(array, &it, &key, &value)) {
    struct rp__str raw = rp__json_raw(value), login = {0};
    bool dashed = value.type == RP_JSON_STRING && raw.n > 1 && raw.p[0] == '-';
    /* user:password behind -u. Of a command not known to take one it must look like it: docker's is a user:group. */
    const char *colon = user && !dashed && value.type == RP_JSON_STRING ? memchr(raw.p, ':', raw.n) : NULL;
    if (colon) login = (struct rp__str){colon + 1, raw.n - (size_t)(colon + 1 - raw.p)};
    bool looks = login.n > 0 && login.p[0] != '/' && rp__value_is_secret(RP_KEY_TOKEN, login);
    if (colon && (curl || looks))
      rc = mask_whole(m, (struct rp__json){.type = RP_JSON_STRING, .p = login.p, .n = login.n});
    else
      rc = walk(m, value, flag && !dashed ? flag : outer, depth + 1);
    if (rc) break;
    flag = RP_KEY_NONE;
    if (dashed && raw.n > 2 && raw.p[1] == '-' && !memchr(raw.p, '=', raw.n)) rc = class_of_name(m, value, &flag);
    if (flag == RP_KEY_TOKEN) flag = RP_KEY_SECRET;
    user = rp__str_eq(raw, "-u") || rp__str_eq(raw, "--user");
    curl |= raw.n >= 4 && memcmp(raw.p + raw.n - 4, "curl", 4) == 0;
  }
  return rc;
}

static int walk(struct masker *m, struct rp__json v, enum rp__key_class class, unsigned depth)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  int rc = 0;
  if (v.type == RP_JSON_STRING) {
    struct rp__str text;
    rc = class ? text_of(m, v, &text) : 0;
    if (rc) return rc;
    return class && rp__value_is_secret(class, text) ? mask_whole(m, v) : mask_string(m, v);
  }
  if ((v.type != RP_JSON_ARRAY && v.type != RP_JSON_OBJECT) || depth > RP_JSON_DEPTH_LIMIT) return 0;
  if (v.type == RP_JSON_ARRAY) return walk_words(m, v, class, depth);
  while (!rc && rp__json_next(v, &it, &key, &value)) rc = walk_member(m, v, key, value, class, depth);
  return rc;
}

int rp__mask_bytes(const struct rp__redactor *r, const void *bytes, size_t n, struct rp__buf *out, struct rp__str *ret,
                   size_t *ret_hits)
{
  static const struct rp__json_limits limits = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__str all = {bytes ? bytes : "", n};
  struct rp__str masked;
  struct rp__json v;
  size_t hits = 0;
  int rc = rp__json_parse(all.p, n, &limits, &v, NULL);
  if (rc == RP_E_NOMEM) return rc;
  if (rc == 0) { /* white space around the JSON stays, as everything does that is not masked */
    rp__buf_add(out, all.p, (size_t)(v.p - all.p));
    rc = rp__mask_body(r, RP_KIND_OTHER, v, out, &masked, &hits);
    if (!rc && hits) rp__buf_add(out, v.p + v.n, (size_t)(all.p + all.n - (v.p + v.n)));
  } else {
    rc = rp__redact_suspects(r, all.p, n) ? rp__redact_text(r, all.p, n, out, &hits) : 0;
  }
  if (!rc && hits) rc = out->err;
  if (rc) return rc;
  *ret = hits ? (struct rp__str){out->p, out->n} : all;
  if (ret_hits) *ret_hits = hits;
  return 0;
}

int rp__mask_body(const struct rp__redactor *r, enum rp__kind kind, struct rp__json body, struct rp__buf *out,
                  struct rp__str *ret, size_t *ret_hits)
{
  struct masker m = {.r = r, .kind = kind, .out = out, .copied = body.p};
  const char *end = body.p + body.n;
  bool look = body.n > 0 && rp__redact_glance(r, body.p, body.n);
  /* Escapes can hide a letter or a slash: then only the decoded strings tell. */
  for (const char *at = body.p; !look && at < end && (at = memchr(at, '\\', (size_t)(end - at))); at += 2)
    look = at + 1 >= end || at[1] == 'u' || at[1] == '/';
  int rc = look ? walk(&m, body, RP_KEY_NONE, 0) : 0;
  if (!rc && m.hits > 0) take_over(&m, body.p + body.n);
  rp__buf_done(&m.scratch);
  if (!rc && m.hits > 0) rc = out->err;
  if (rc) return rc;
  *ret = m.hits > 0 ? (struct rp__str){out->p, out->n} : (struct rp__str){body.p, body.n};
  if (ret_hits) *ret_hits = m.hits;
  return 0;
}
