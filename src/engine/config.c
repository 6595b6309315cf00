/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of an engine: reads the file and the environment, and shows the source of each value. */
#include "engine/config.h"

#include <assert.h>
#include <ctype.h>
#include <ini.h>
#include <search.h>
#include <sys/queue.h>

#include "base/file.h"
#include "base/id.h"

#define CONFIG_FILE_MAX (256 * 1024)
#define SOURCE_MAX 200

/* The options that stand together: outside any section, or in one. The values come first: see rp__config_next. */
struct section {
  struct rp__scope_config values;
  char *scope; /* NULL: outside any section */
  char *given[RP_CONFIG_N];
  bool from_environment[RP_CONFIG_N];
  STAILQ_ENTRY(section) next;
};

struct rp__config {
  STAILQ_HEAD(, section) sections; /* that outside any comes first */
  void *by_scope;                  /* the others, as a tree of <search.h> */
  char *path;                      /* of the file that was read, or NULL */
};

static int compare_scopes(const void *a, const void *b)
{
  return strcmp(((const struct section *)a)->scope, ((const struct section *)b)->scope);
}

static int compare_name(const void *scope, const void *section)
{
  return strcmp(scope, ((const struct section *)section)->scope);
}

static struct section *section_find(const struct rp__config *c, const char *scope)
{
  struct section **hit = scope ? tfind(scope, &c->by_scope, compare_name) : NULL;
  return hit ? *hit : scope ? NULL : STAILQ_FIRST(&c->sections);
}

static struct section *section_new(struct rp__config *c, const char *scope)
{
  struct section *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  STAILQ_INSERT_TAIL(&c->sections, s, next); /* rp__config_free frees it from here on */
  if (scope) s->scope = strdup(scope);
  return !scope || (s->scope && tsearch(s, &c->by_scope, compare_scopes)) ? s : NULL;
}

static enum rp__option_fit section_set(struct section *s, const struct rp__option *o, const char *text)
{
  if (o->offset == offsetof(struct rp__scope_config, template)) s->values.template_given = true;
  if (o->offset == offsetof(struct rp__scope_config, brief_bytes)) s->values.brief_bytes_given = true;
  return rp__option_set(o, text, &s->values);
}

static int add(struct rp__config *c, const char *scope, const char *name, const char *text, const char *source,
               rp_error *err)
{
  const struct rp__option *o = rp__config_option(name);
  struct section *s = section_find(c, scope);
  if (!o) return rp__fail_field(err, RP_E_CONFIG, name, "%s: unknown option '%s'", source, name);
  if (!s) s = section_new(c, scope);
  char *copy = s ? strdup(text) : NULL;
  if (!copy) return rp__fail_nomem(err);
  size_t i = (size_t)(o - rp__config_options);
  free(s->given[i]);
  s->given[i] = copy;
  enum rp__option_fit fit = section_set(s, o, copy);
  if (fit == RP_OPTION_NO_VALUE || (fit == RP_OPTION_BOUNDS && !(o->flags & RP_OPTION_SERVER))) {
    struct rp__buf words RP_AUTOBUF = RP_BUF(256);
    rp__option_expects(o, &words);
    if (fit == RP_OPTION_BOUNDS) rp__buf_printf(&words, ", and %.15g at most", rp__option_max(o));
    if (words.err) return rp__fail_nomem(err);
    return rp__fail_field(err, RP_E_CONFIG, name, "%s: '%.60s' is no value for %s: it must be %s", source, text, name,
                          words.p);
  }
  if (scope && o->flags & RP_OPTION_GLOBAL)
    return rp__fail_field(err, RP_E_CONFIG, name, "%s: %s is for all scopes and stands outside of any", source, name);
  return 0;
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

static void source_write(const struct rp__config *c, const char *scope, char ret[SOURCE_MAX])
{
  snprintf(ret, SOURCE_MAX, "%s%s%s%s", c->path, scope ? " [scope " : "", scope ? scope : "", scope ? "]" : "");
}

static int on_ini(void *user, const char *section, const char *name, const char *value)
{
  struct ini_ctx *x = user;
  const char *scope = NULL;
  char source[SOURCE_MAX], name_of[SECTION_CHARS + 1];
  if (strncmp(section, "scope ", 6) == 0 && take_scope(section + 6, name_of))
    scope = name_of;
  else if (strncmp(section, "scope ", 6) == 0)
    x->rc = rp__fail(x->err, RP_E_CONFIG, "%s: [%s] names no scope: up to 42 letters, digits and . _ : -",
                     x->config->path, section);
  else if (section[0])
    x->rc = rp__fail(x->err, RP_E_CONFIG, "%s: unknown section [%s]; use [scope NAME]", x->config->path, section);
  source_write(x->config, scope, source);
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

static void variable_name(const struct rp__option *o, char ret[SOURCE_MAX])
{
  size_t n = (size_t)snprintf(ret, SOURCE_MAX, "REPRISE_%s", o->name);
  for (size_t i = 0; i < n; i++) ret[i] = (char)toupper((unsigned char)ret[i]);
}

int rp__config_load(const char *path, struct rp__config **ret, rp_error *err)
{
  struct rp__config *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  STAILQ_INIT(&c->sections);
  struct section *all = section_new(c, NULL);
  for (size_t i = 0; all && i < RP_CONFIG_N; i++)
    rp__option_set(&rp__config_options[i], rp__config_options[i].value, &all->values);
  bool required = path != NULL;
  if (!path) path = getenv("REPRISE_CONFIG"), required = path && *path;
  char *home RP_AUTOFREE = required ? NULL : rp__home();
  if (required)
    c->path = strdup(path);
  else if (home)
    c->path = rp__path_join(home, "reprise.ini");
  int rc = !all || (!c->path && (required || home)) ? rp__fail_nomem(err) : 0;
  if (!rc && c->path) rc = read_file(c, required, err);
  for (size_t i = 0; !rc && i < RP_CONFIG_N; i++) {
    char name[SOURCE_MAX];
    variable_name(&rp__config_options[i], name);
    const char *value = getenv(name);
    if (value) rc = add(c, NULL, rp__config_options[i].name, value, name, err);
    all->from_environment[i] = value != NULL;
  }
  if (rc) {
    rp__config_free(c);
    return rc;
  }
  /* Each section holds what is said outside of any, and on top of that its own. */
  for (struct section *s = all; (s = STAILQ_NEXT(s, next));) {
    s->values = all->values;
    for (size_t i = 0; i < RP_CONFIG_N; i++)
      if (s->given[i]) section_set(s, &rp__config_options[i], s->given[i]);
  }
  *ret = c;
  return 0;
}

static void keep_section(void *section)
{
  (void)section; /* the list frees it */
}

void rp__config_free(struct rp__config *c)
{
  if (!c) return;
  tdestroy(c->by_scope, keep_section);
  for (struct section *s; (s = STAILQ_FIRST(&c->sections));) {
    STAILQ_REMOVE_HEAD(&c->sections, next);
    for (size_t i = 0; i < RP_CONFIG_N; i++) free(s->given[i]);
    free(s->scope);
    free(s);
  }
  free(c->path);
  free(c);
}

const struct rp__scope_config *rp__config_of(const struct rp__config *c, const char *scope)
{
  const struct section *s = c->by_scope ? section_find(c, scope) : NULL;
  return s ? &s->values : &STAILQ_FIRST(&c->sections)->values;
}

const struct rp__scope_config *rp__config_next(const struct rp__config *c, const struct rp__scope_config *prev)
{
  const struct section *s = (const struct section *)(const void *)prev;
  s = s ? STAILQ_NEXT(s, next) : STAILQ_FIRST(&c->sections);
  return s ? &s->values : NULL;
}

/* The section whose word counts, or NULL: the default. */
static const struct section *section_of(const struct rp__config *c, const char *scope, size_t option)
{
  const struct section *s = section_find(c, scope), *all = STAILQ_FIRST(&c->sections);
  return s && s->given[option] ? s : all->given[option] ? all : NULL;
}

const char *rp__config_text(const struct rp__config *c, const char *scope, const struct rp__option *o)
{
  size_t i = (size_t)(o - rp__config_options);
  assert(i < RP_CONFIG_N);
  const struct section *s = section_of(c, scope, i);
  return s ? s->given[i] : o->value;
}

void rp__config_sample(struct rp__buf *out)
{
  static const char *const titles[] = {"For all scopes, or for one in a section [scope NAME]",
                                       "For all scopes at once"};
  rp__buf_str(out, "# Configuration of Reprise, read from reprise.ini in $REPRISE_HOME or from $REPRISE_CONFIG.\n"
                   "# Every option is here with its default; take the # away and change it. REPRISE_<KEY> in the\n"
                   "# environment wins over what stands outside of sections. See reprise.ini(5).\n");
  for (unsigned global = 0; global < 2; global++) {
    rp__buf_printf(out, "\n# ---- %s ----\n", titles[global]);
    for (const struct rp__option *o = rp__config_options; o < rp__config_options + RP_CONFIG_N; o++) {
      if ((o->flags & RP_OPTION_GLOBAL) != global) continue;
      rp__buf_printf(out, "\n# %s", o->help);
      if (o->type != RP_OPTION_TEXT && o->type != RP_OPTION_BYTES) {
        rp__buf_str(out, " (");
        rp__option_expects(o, out);
        rp__buf_char(out, ')');
      }
      rp__buf_printf(out, "\n#%s =%s%s\n", o->name, *o->value ? " " : "", o->value);
    }
  }
  rp__buf_str(out, "\n# A scope's own values stand last.\n#[scope my-robot]\n#template = robot\n");
}

void rp__config_show(const struct rp__config *c, const char *scope, struct rp__jw *w)
{
  rp__jw_pack(w, "{file:s options:[", c->path);
  for (size_t i = 0; i < RP_CONFIG_N; i++) {
    const struct rp__option *o = &rp__config_options[i];
    const struct section *s = section_of(c, scope, i);
    char source[SOURCE_MAX] = "default";
    if (s && s->from_environment[i])
      variable_name(o, source);
    else if (s)
      source_write(c, s->scope, source);
    rp__jw_pack(w, "{name:s value:s source:s help:s}", o->name, s ? s->given[i] : o->value, source, o->help);
  }
  rp__jw_pack(w, "]}");
}
