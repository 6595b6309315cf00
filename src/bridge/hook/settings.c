/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes settings files of agents. These files belong to people, so everything that is not Reprise's stays byte for
 * byte. The text is changed at one place at a time, and parsed again after each change. Inserted text is formatted like
 * the text around it.
 *
 *   {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "reprise hook …"}]}]}}
 */
#include "bridge/hook/hook.h"

#include <errno.h>

#define PROGRAM_NAME "reprise"
#define COMMAND_MAX 8192
#define UNIT_MAX 16
#define NEST_MAX 8 /* levels of what we insert */

/* ---- reading ---- */

static int read_settings(const struct rp__buf *text, struct rp__json *ret, rp_error *err)
{
  struct rp__json_limits limits = {.max_bytes = RP_HOOK_SETTINGS_MAX, .max_depth = RP_HOOK_DEPTH};
  int rc = rp__json_parse(text->p, text->n, &limits, ret, err);
  if (rc) return rc;
  if (ret->type != RP_JSON_OBJECT) return rp__fail(err, RP_E_FORMAT, "it holds no object");
  struct rp__json hooks = rp__json_get(*ret, "hooks");
  if (hooks.type && hooks.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_FORMAT, "hooks", "'hooks' is no object");
  return 0;
}

static int list_of(struct rp__json root, const char *event, struct rp__json *ret, rp_error *err)
{
  *ret = rp__json_get(rp__json_get(root, "hooks"), event);
  if (!ret->type || ret->type == RP_JSON_ARRAY) return 0;
  return rp__fail_field(err, RP_E_FORMAT, event, "'hooks.%s' is no array", event);
}

#define SCOPE_OPTION " --scope "

/* " hook EVENT --agent NAME": what stands in every command of ours behind the program and its options. */
static void tail_of(const struct rp__hook_agent *a, const char *event, char ret[COMMAND_MAX])
{
  snprintf(ret, COMMAND_MAX, " hook %s --agent %s", event, a->name);
}

/* A program of our name, or of the one we were started by, wherever it is; behind it options of ours alone. */
static bool runs_us(const char *text, const char *tail)
{
  bool quoted = false;
  const char *name = text, *p = text;
  for (; p < tail && (quoted || *p != ' '); p++) {
    if (*p == '\'') quoted = !quoted;
    if (*p == '/' || (p == text && *p == '\'')) name = p + 1;
  }
  size_t n = (size_t)(p - name);
  if (n && name[n - 1] == '\'') n--;
  const char *const ours[] = {PROGRAM_NAME, program_invocation_short_name};
  bool ok = false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(ours); i++) ok = ok || (strlen(ours[i]) == n && memcmp(ours[i], name, n) == 0);
  return ok && (p == tail || strncmp(p, " --db ", 6) == 0 || strncmp(p, " --config ", 10) == 0);
}

static bool is_ours(struct rp__json command, const char *tail)
{
  RP_AUTOFREE char *text = rp__json_dup(command);
  const char *at = text ? strstr(text, tail) : NULL, *rest = at ? at + strlen(tail) : NULL;
  return at && runs_us(text, at) && (!*rest || strncmp(rest, SCOPE_OPTION, strlen(SCOPE_OPTION)) == 0);
}

/* One of our entries: the group that holds it, and itself. */
struct found {
  struct rp__json group, hooks, hook, command;
};

static bool find_ours(struct rp__json list, const char *tail, struct found *ret)
{
  struct rp__json_iter groups = {0};
  while (rp__json_next(list, &groups, NULL, &ret->group)) {
    struct rp__json_iter hooks = {0};
    ret->hooks = rp__json_get(ret->group, "hooks");
    if (ret->hooks.type != RP_JSON_ARRAY) continue;
    while (rp__json_next(ret->hooks, &hooks, NULL, &ret->hook)) {
      ret->command = rp__json_get(ret->hook, "command");
      if (is_ours(ret->command, tail)) return true;
    }
  }
  return false;
}

/* ---- splicing ---- */

/* Replaces bytes [from, to) of the text. */
static int splice(struct rp__buf *text, const char *from, const char *to, struct rp__str with, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(2 * RP_HOOK_SETTINGS_MAX);
  rp__buf_add(&out, text->p, (size_t)(from - text->p));
  rp__buf_add(&out, with.p, with.n);
  rp__buf_add(&out, to, (size_t)(text->p + text->n - to));
  if (out.err) return rp__fail_nomem(err);
  struct rp__buf old = *text;
  *text = out;
  out = old;
  return 0;
}

/* Where an element begins: its key's quote, or itself. */
static const char *begin_of(struct rp__json key, struct rp__json value)
{
  return key.type ? key.p - 1 : value.p;
}

struct span {
  const char *from, *to;
};

/* The elements of a container: first, last, and, where `want` is one of them, those around it. */
struct around {
  size_t n;
  struct span first, last, before, self, after;
};

static void look_around(struct rp__json container, const char *want, struct around *ret)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  *ret = (struct around){0};
  while (rp__json_next(container, &it, &key, &value)) {
    struct span at = {begin_of(key, value), value.p + value.n};
    if (!ret->n++) ret->first = at;
    if (ret->self.from && !ret->after.from) ret->after = at;
    if (value.p == want) {
      ret->self = at;
      ret->before = ret->last;
    }
    ret->last = at;
  }
}

/* ---- what is inserted ---- */

/* How the text is laid out: one level's indentation, NULL when everything stands on one line. */
struct layout {
  char unit[UNIT_MAX + 1];
  const char *end; /* of a line */
  bool lines;
};

static void look_layout(const struct rp__buf *text, struct rp__json root, struct layout *ret)
{
  struct around a;
  look_around(root, NULL, &a);
  *ret = (struct layout){.unit = "  ", .lines = true, .end = strstr(text->p, "\r\n") ? "\r\n" : "\n"};
  if (!a.n) return;
  const char *p = a.first.from;
  while (p > text->p && (p[-1] == ' ' || p[-1] == '\t')) p--;
  size_t n = (size_t)(a.first.from - p);
  ret->lines = memchr(root.p, '\n', (size_t)(a.first.from - root.p)) != NULL;
  if (ret->lines && n && n <= UNIT_MAX) snprintf(ret->unit, sizeof ret->unit, "%.*s", (int)n, p);
}

static void new_line(struct rp__buf *out, const struct layout *l, unsigned depth)
{
  if (!l->lines) return;
  rp__buf_str(out, l->end);
  for (unsigned i = 0; i < depth; i++) rp__buf_str(out, l->unit);
}

/* A value of ours, laid out like its surroundings. */
static void lay_out(struct rp__buf *out, const struct layout *l, struct rp__json v, unsigned depth)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  bool object = v.type == RP_JSON_OBJECT, any = false;
  if ((!object && v.type != RP_JSON_ARRAY) || depth > 2 * NEST_MAX) {
    rp__buf_add(out, v.p, v.n);
    return;
  }
  rp__buf_char(out, object ? '{' : '[');
  while (rp__json_next(v, &it, &key, &value)) {
    if (any) rp__buf_char(out, ',');
    any = true;
    new_line(out, l, depth + 1);
    if (object) {
      rp__buf_add(out, key.p - 1, key.n + 2);
      rp__buf_str(out, l->lines ? ": " : ":");
    }
    lay_out(out, l, value, depth + 1);
  }
  new_line(out, l, depth);
  rp__buf_char(out, object ? '}' : ']');
}

/* Adds `value` (under `name`, in an object) behind the container's last element. */
static int insert(struct rp__buf *text, const struct layout *l, struct rp__json container, const char *name,
                  struct rp__json value, unsigned depth, rp_error *err)
{
  RP_AUTOBUF struct rp__buf add = RP_BUF(RP_HOOK_SETTINGS_MAX);
  struct around a;
  look_around(container, NULL, &a);
  if (a.n) rp__buf_char(&add, ',');
  new_line(&add, l, depth);
  if (name) {
    struct rp__jw w = RP_JW(&add);
    rp__jw_str(&w, name);
    rp__buf_str(&add, l->lines ? ": " : ":");
  }
  lay_out(&add, l, value, depth);
  if (!a.n) new_line(&add, l, depth - 1);
  if (add.err) return rp__fail_nomem(err);
  const char *from = a.n ? a.last.to : container.p + 1, *to = a.n ? from : container.p + container.n - 1;
  return splice(text, from, to, (struct rp__str){add.p, add.n}, err);
}

static void write_group(struct rp__jw *w, const struct rp__hook_agent *a, const struct rp__hook_word *word,
                        const char *command)
{
  rp__jw_object(w);
  if (word->entry == RP_HOOK_MATCHED) rp__jw_kstr(w, "matcher", "*");
  rp__jw_karray(w, "hooks");
  rp__jw_object(w);
  if (a->named) rp__jw_kstr(w, "name", "reprise");
  rp__jw_kstr(w, "type", "command");
  rp__jw_kstr(w, "command", command);
  rp__jw_ki64(w, "timeout", a->timeout);
  rp__jw_end_object(w);
  rp__jw_end_array(w);
  rp__jw_end_object(w);
}

/* The value that is missing: a group, or the list around it, or the object around that. */
static int insert_group(struct rp__buf *text, struct rp__json root, const struct rp__hook_agent *a,
                        const struct rp__hook_word *word, const char *command, rp_error *err)
{
  RP_AUTOBUF struct rp__buf made = RP_BUF(4 * COMMAND_MAX);
  struct rp__jw w = RP_JW(&made);
  struct rp__json hooks = rp__json_get(root, "hooks"), list = rp__json_get(hooks, word->name);
  struct layout l;
  look_layout(text, root, &l);
  if (!hooks.type) {
    rp__jw_object(&w);
    rp__jw_key(&w, word->name);
  }
  if (!list.type) rp__jw_array(&w);
  write_group(&w, a, word, command);
  if (!list.type) rp__jw_end_array(&w);
  if (!hooks.type) rp__jw_end_object(&w);
  if (made.err) return rp__fail_nomem(err);
  struct rp__json value = rp__json_trusted(made.p, made.n);
  if (list.type) return insert(text, &l, list, NULL, value, 3, err);
  if (hooks.type) return insert(text, &l, hooks, word->name, value, 2, err);
  return insert(text, &l, root, "hooks", value, 1, err);
}

/* ---- adding ---- */

static int add_event(struct rp__buf *text, const struct rp__hook_agent *a, const struct rp__hook_word *word,
                     const struct rp__hook_command *c, rp_error *err)
{
  char command[COMMAND_MAX], tail[COMMAND_MAX];
  struct rp__json root, list;
  struct found f;
  tail_of(a, word->name, tail);
  int n = snprintf(command, sizeof command, "%s%s%s%s", c->program, tail, c->scope ? SCOPE_OPTION : "",
                   c->scope ? c->scope : "");
  if ((size_t)n >= sizeof command) return rp__fail(err, RP_E_TOO_LARGE, "the program's name is too long");
  int rc = read_settings(text, &root, err);
  if (!rc) rc = list_of(root, word->name, &list, err);
  if (rc) return rc;
  if (!find_ours(list, tail, &f)) return insert_group(text, root, a, word, command, err);
  if (rp__json_eq(f.command, command)) return 0;
  RP_AUTOBUF struct rp__buf quoted = RP_BUF(8 * COMMAND_MAX);
  struct rp__jw w = RP_JW(&quoted);
  rp__jw_str(&w, command);
  if (quoted.err) return rp__fail_nomem(err);
  return splice(text, f.command.p, f.command.p + f.command.n, (struct rp__str){quoted.p, quoted.n}, err);
}

static bool blank(struct rp__str s)
{
  for (size_t i = 0; i < s.n; i++)
    if (!strchr(" \t\r\n", s.p[i])) return false;
  return true;
}

static int copy(struct rp__str text, struct rp__buf *ret, rp_error *err)
{
  rp__buf_done(ret);
  *ret = RP_BUF(2 * RP_HOOK_SETTINGS_MAX);
  rp__buf_add(ret, text.p, text.n);
  return ret->err ? rp__fail_nomem(err) : 0;
}

int rp__hook_settings_add(const struct rp__hook_agent *a, const struct rp__hook_command *command, struct rp__str before,
                          struct rp__buf *ret, rp_error *err)
{
  int rc = copy(blank(before) ? RP_STR("{}\n") : before, ret, err);
  for (const struct rp__hook_word *w = a->words; !rc && w->name; w++)
    if (w->entry != RP_HOOK_UNASKED) rc = add_event(ret, a, w, command, err);
  return rc;
}

/* ---- removing ---- */

/* Takes an element out, with the comma and the space that came with it. */
static int cut(struct rp__buf *text, struct rp__json container, struct rp__json element, rp_error *err)
{
  struct around a;
  look_around(container, element.p, &a);
  const char *from = a.before.from ? a.before.to : a.after.from ? a.self.from : container.p + 1;
  const char *to = a.before.from ? a.self.to : a.after.from ? a.after.from : container.p + container.n - 1;
  return splice(text, from, to, (struct rp__str){"", 0}, err);
}

/* One entry of ours; with it what would be left empty around it. False in `ret_any`: there is none. */
static int cut_one(struct rp__buf *text, const struct rp__hook_agent *a, const char *event, bool *ret_any,
                   rp_error *err)
{
  char tail[COMMAND_MAX];
  struct rp__json root, list, hooks;
  struct found f;
  tail_of(a, event, tail);
  *ret_any = false;
  int rc = read_settings(text, &root, err);
  if (!rc) rc = list_of(root, event, &list, err);
  if (rc || !find_ours(list, tail, &f)) return rc;
  *ret_any = true;
  hooks = rp__json_get(root, "hooks");
  if (rp__json_count(f.hooks) > 1) return cut(text, f.hooks, f.hook, err);
  if (rp__json_count(list) > 1) return cut(text, list, f.group, err);
  if (rp__json_count(hooks) > 1) return cut(text, hooks, list, err);
  return cut(text, root, hooks, err);
}

int rp__hook_settings_remove(const struct rp__hook_agent *a, struct rp__str before, struct rp__buf *ret, rp_error *err)
{
  int rc = copy(before, ret, err);
  for (const struct rp__hook_word *w = a->words; !rc && !blank(before) && w->name; w++) {
    bool any = true;
    while (!rc && any) rc = cut_one(ret, a, w->name, &any, err);
  }
  return rc;
}

/* ---- looking ---- */

int rp__hook_settings_each(const struct rp__hook_agent *a, struct rp__str text,
                           int (*fn)(void *ctx, const char *event, const char *command), void *ctx, rp_error *err)
{
  RP_AUTOBUF struct rp__buf whole = RP_BUF(0);
  struct rp__json root, list;
  if (blank(text)) return 0;
  int rc = copy(text, &whole, err);
  if (!rc) rc = read_settings(&whole, &root, err);
  for (const struct rp__hook_word *w = a->words; !rc && w->name; w++) {
    char tail[COMMAND_MAX];
    struct found f;
    tail_of(a, w->name, tail);
    rc = list_of(root, w->name, &list, err);
    if (rc || w->entry == RP_HOOK_UNASKED || !find_ours(list, tail, &f)) continue;
    RP_AUTOFREE char *command = rp__json_dup(f.command);
    rc = command ? fn(ctx, w->name, command) : rp__fail_nomem(err);
  }
  return rc;
}
