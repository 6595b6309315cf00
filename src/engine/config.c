/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/id.h"

#define CONFIG_FILE_MAX (256 * 1024)

struct option {
  const char *name, *type, *def, *help;
};
static const struct option options[RP_OPT_MAX] = {
#define X(symbol, name_, type_, def_, help_) [RP_OPT_##symbol] = {#name_, type_, def_, help_},
    RP_CONFIG_TABLE(X)
#undef X
};

/* A value somebody gave. Later ones win over earlier ones. */
struct setting {
  struct setting *next; /* towards earlier ones */
  enum rp__option option;
  char *scope; /* NULL: everywhere */
  char *value;
  char source[200]; /* where it came from, for `config show` */
};

struct rp__config {
  struct setting *last;
  char *path; /* of the file that was read, or NULL */
};

static enum rp__option option_find(const char *name)
{
  int i = 0;
  while (i < RP_OPT_MAX && strcmp(options[i].name, name) != 0) i++;
  return (enum rp__option)i;
}

static bool word_allowed(const char *words, const char *value)
{
  size_t n = strlen(value);
  while (*words) {
    size_t len = strcspn(words, "|");
    if (len == n && memcmp(words, value, n) == 0) return true;
    words += len + (words[len] == '|');
  }
  return false;
}

static bool number_parse(const char *text, double *ret)
{
  struct rp__json v;
  struct rp__json_limits limits = {.max_bytes = 64};
  const char *p = text[0] == '.' ? "0" : ""; /* CONTRACT writes .25 */
  char copy[72];
  snprintf(copy, sizeof copy, "%s%s", p, text);
  return rp__json_parse(copy, strlen(copy), &limits, &v, NULL) == 0 && rp__json_double(v, ret) && *ret >= 0;
}

static bool value_ok(const struct option *o, const char *value)
{
  double d;
  if (strcmp(o->type, "bool") == 0) return word_allowed("true|false|yes|no|on|off|1|0", value);
  if (strcmp(o->type, "num") == 0) return number_parse(value, &d);
  if (strncmp(o->type, "word:", 5) == 0) return word_allowed(o->type + 5, value);
  return true;
}

/* What an option takes, for a person. */
static void type_words(const char *type, struct rp__buf *out)
{
  if (strncmp(type, "word:", 5) != 0) {
    rp__buf_str(out, strcmp(type, "bool") == 0 ? "true or false" : "a number, 0 or more");
    return;
  }
  rp__buf_str(out, "one of ");
  for (const char *p = type + 5; *p; p++) {
    if (*p == '|')
      rp__buf_str(out, ", ");
    else
      rp__buf_char(out, *p);
  }
}

static int refuse_value(const struct option *o, const char *value, const char *source, rp_error *err)
{
  struct rp__buf words RP_AUTOBUF = RP_BUF(256);
  type_words(o->type, &words);
  if (words.err) return rp__fail_nomem(err);
  return rp__fail_field(err, RP_E_CONFIG, o->name, "%s: '%.60s' is no value for %s: it must be %s", source, value,
                        o->name, words.p);
}

/* Redaction has one table for all, and a server is one for all scopes. */
static bool per_scope(enum rp__option o)
{
  return o != RP_OPT_REDACT_PATTERNS && (o < RP_OPT_LISTEN || o > RP_OPT_SPILL_BYTES);
}

static int add(struct rp__config *c, const char *scope, const char *name, const char *value, const char *source,
               rp_error *err)
{
  enum rp__option o = option_find(name);
  if (o == RP_OPT_MAX) return rp__fail_field(err, RP_E_CONFIG, name, "%s: unknown option '%s'", source, name);
  if (!value_ok(&options[o], value)) return refuse_value(&options[o], value, source, err);
  if (scope && !per_scope(o))
    return rp__fail_field(err, RP_E_CONFIG, name, "%s: %s is for all scopes and stands outside of any", source, name);
  struct setting *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  s->option = o;
  s->value = strdup(value);
  s->scope = scope ? strdup(scope) : NULL;
  snprintf(s->source, sizeof s->source, "%s", source);
  s->next = c->last;
  c->last = s;
  return s->value && (s->scope || !scope) ? 0 : rp__fail_nomem(err);
}

struct ini_ctx {
  struct rp__config *config;
  rp_error *err;
  int rc;
};

#define SECTION_CHARS 48 /* libinih cuts a longer section, and would name another scope */

/* The NAME of [scope NAME], also in quotes, as other files of this kind have it. */
static bool take_scope(const char *section, char ret[SECTION_CHARS + 1])
{
  const char *from = section, *to = section + strlen(section);
  while (*from == ' ' || *from == '\t') from++;
  while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
  if (to - from >= 2 && *from == '"' && to[-1] == '"') from++, to--;
  if (strlen(section) > SECTION_CHARS - strlen("scope ")) return false;
  memcpy(ret, from, (size_t)(to - from));
  ret[to - from] = '\0';
  return rp__name_ok(ret);
}

static int on_ini(void *user, const char *section, const char *name, const char *value)
{
  struct ini_ctx *x = user;
  const char *scope = NULL;
  char source[200], name_of[SECTION_CHARS + 1];
  if (strncmp(section, "scope ", 6) == 0 && take_scope(section + 6, name_of))
    scope = name_of;
  else if (strncmp(section, "scope ", 6) == 0)
    x->rc = rp__fail(x->err, RP_E_CONFIG, "%s: [%s] names no scope: up to 42 letters, digits and . _ : -",
                     x->config->path, section);
  else if (section[0])
    x->rc = rp__fail(x->err, RP_E_CONFIG, "%s: unknown section [%s]; use [scope NAME]", x->config->path, section);
  snprintf(source, sizeof source, "%s%s%s%s", x->config->path, scope ? " [scope " : "", scope ? scope : "",
           scope ? "]" : "");
  if (!x->rc) x->rc = add(x->config, scope, name, value, source, x->err);
  return x->rc == 0;
}

static int read_file(struct rp__config *c, bool required, rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(CONFIG_FILE_MAX);
  rp_error why = {0};
  int rc = rp__file_read(c->path, CONFIG_FILE_MAX, &text, &why);
  if (rc == RP_E_FILE_NOT_FOUND && !required) {
    free(RP_TAKE(c->path));
    return 0;
  }
  if (rc) return rp__fail(err, rc == RP_E_NOMEM ? rc : RP_E_CONFIG, "configuration: %s", why.message);
  rp__buf_char(&text, '\n');
  struct ini_ctx x = {c, err, 0};
  int line = ini_parse_string(text.p, on_ini, &x);
  if (x.rc) return x.rc;
  if (line < 0) return rp__fail_nomem(err);
  if (line > 0) return rp__fail(err, RP_E_CONFIG, "%s: line %d is neither 'key = value' nor a section", c->path, line);
  return 0;
}

static int read_environment(struct rp__config *c, rp_error *err)
{
  for (int i = 0; i < RP_OPT_MAX; i++) {
    char name[64] = "REPRISE_";
    size_t n = strlen(name);
    for (const char *p = options[i].name; *p && n + 1 < sizeof name; p++) name[n++] = (char)toupper((unsigned char)*p);
    name[n] = 0;
    const char *value = getenv(name);
    int rc = value ? add(c, NULL, options[i].name, value, name, err) : 0;
    if (rc) return rc;
  }
  return 0;
}

int rp__config_load(const char *path, struct rp__config **ret, rp_error *err)
{
  struct rp__config *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  bool required = path != NULL;
  if (!path) path = getenv("REPRISE_CONFIG"), required = path && *path;
  char *home RP_AUTOFREE = required ? NULL : rp__home();
  int rc = 0;
  if (required)
    c->path = strdup(path);
  else if (home)
    c->path = rp__path_join(home, "reprise.ini");
  if (!c->path && (required || home)) rc = rp__fail_nomem(err);
  if (!rc && c->path) rc = read_file(c, required, err);
  if (!rc) rc = read_environment(c, err);
  if (rc)
    rp__config_free(c);
  else
    *ret = c;
  return rc;
}

void rp__config_free(struct rp__config *c)
{
  if (!c) return;
  while (c->last) {
    struct setting *s = c->last;
    c->last = s->next;
    free(s->scope);
    free(s->value);
    free(s);
  }
  free(c->path);
  free(c);
}

bool rp__config_find(const char *name, enum rp__option *ret)
{
  enum rp__option o = option_find(name);
  if (o == RP_OPT_MAX) return false;
  *ret = o;
  return true;
}

/* The scope's own word first, then the last word for everywhere. */
static const struct setting *lookup(const struct rp__config *c, const char *scope, enum rp__option o)
{
  const struct setting *general = NULL;
  for (const struct setting *s = c->last; s; s = s->next) {
    if (s->option != o) continue;
    if (s->scope && scope && strcmp(s->scope, scope) == 0) return s;
    if (!s->scope && !general) general = s;
  }
  return general;
}

bool rp__config_given(const struct rp__config *c, const char *scope, enum rp__option o)
{
  return lookup(c, scope, o) != NULL;
}

bool rp__config_set(const struct rp__config *c, enum rp__option o)
{
  for (const struct setting *s = c->last; s; s = s->next)
    if (s->option == o && s->value[0]) return true;
  return false;
}

const char *rp__config_each(const struct rp__config *c, enum rp__option o, size_t i)
{
  for (const struct setting *s = c->last; s; s = s->next)
    if (s->option == o && i-- == 0) return s->value;
  return NULL;
}

const char *rp__config_text(const struct rp__config *c, const char *scope, enum rp__option o)
{
  const struct setting *s = lookup(c, scope, o);
  return s ? s->value : options[o].def;
}

double rp__config_num(const struct rp__config *c, const char *scope, enum rp__option o)
{
  double d = 0;
  number_parse(rp__config_text(c, scope, o), &d);
  return d;
}

bool rp__config_bool(const struct rp__config *c, const char *scope, enum rp__option o)
{
  return word_allowed("true|yes|on|1", rp__config_text(c, scope, o));
}

void rp__config_sample(struct rp__buf *out)
{
  static const char *const titles[] = {"For all scopes, or for one in a section [scope NAME]",
                                       "For all scopes at once"};
  rp__buf_str(out, "# Configuration of Reprise, read from reprise.ini in $REPRISE_HOME or from $REPRISE_CONFIG.\n"
                   "# Every option is here with its default; take the # away and change it. REPRISE_<KEY> in the\n"
                   "# environment wins over what stands outside of sections. See reprise.ini(5).\n");
  for (int shared = 0; shared < 2; shared++) {
    rp__buf_printf(out, "\n# ---- %s ----\n", titles[shared]);
    for (int i = 0; i < RP_OPT_MAX; i++) {
      const struct option *o = &options[i];
      if (per_scope((enum rp__option)i) == (shared == 1)) continue;
      rp__buf_printf(out, "\n# %s", o->help);
      if (strcmp(o->type, "text") != 0) {
        rp__buf_str(out, " (");
        type_words(o->type, out);
        rp__buf_char(out, ')');
      }
      rp__buf_printf(out, "\n#%s =%s%s\n", o->name, *o->def ? " " : "", o->def);
    }
  }
  rp__buf_str(out, "\n# A scope's own values stand last.\n#[scope my-robot]\n#template = robot\n");
}

void rp__config_show(const struct rp__config *c, const char *scope, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "file", c->path);
  rp__jw_key(w, "options");
  rp__jw_array(w);
  for (int i = 0; i < RP_OPT_MAX; i++) {
    const struct setting *s = lookup(c, scope, (enum rp__option)i);
    rp__jw_object(w);
    rp__jw_kstr(w, "name", options[i].name);
    rp__jw_kstr(w, "value", s ? s->value : options[i].def);
    rp__jw_kstr(w, "source", s ? s->source : "default");
    rp__jw_kstr(w, "help", options[i].help);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  rp__jw_end_object(w);
}
