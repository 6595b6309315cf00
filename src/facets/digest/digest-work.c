/* SPDX-License-Identifier: Apache-2.0 */
/* The work of an agent: what its tool calls change, run, plan and ask, and what the user declined. */
#include "facets/digest/digest-impl.h"

#include <assert.h>
#include <strings.h>

#include "base/text.h"
#include "base/utf8.h"
#include "json/scan.h"
#include "json/text.h"

#define OUTPUT_MAX ((size_t)16 * 1024) /* bytes of an output that are searched for an error */
#define WHAT_MAX 600                   /* bytes of what a call is about to do */
#define LINE_WIDTH 100                 /* of a command */
#define ERROR_WIDTH 120
#define SAID_WIDTH 200 /* of a prompt that may say why a tool was declined */
#define MADE_BYTES 60  /* of an item, by which it is found in the outcome of its making */
#define PATCH_FILES 16 /* of one patch */

enum does { DOES_OTHER, DOES_EDIT, DOES_RUN, DOES_ASK, DOES_PLAN, DOES_PATCH };

/* ---- what a call does ------------------------------------------------------------------- */

/* The first member of these names that is a string. */
static struct rp__json first_of(struct rp__json object, const char *const *names, size_t n)
{
  struct rp__json v[8];
  assert(n <= RP_ARRAY_SIZE(v));
  if (object.type != RP_JSON_OBJECT) return (struct rp__json){0};
  rp__json_members(object, names, n, v);
  for (size_t i = 0; i < n; i++)
    if (v[i].type == RP_JSON_STRING && v[i].n > 2) return v[i];
  return (struct rp__json){0};
}

/* The name of a tool without that of its MCP server ("mcp__files__edit"), in `room`. */
static struct rp__str tool_name(struct rp__json name, char room[256])
{
  struct rp__buf text = {.p = room, .cap = 256, .max = 255};
  struct rp__str s = rp__json_raw(name);
  s.n = RP_MIN(s.n, (size_t)200);
  rp__buf_add(&text, s.p, s.n);
  s.p = room;
  for (size_t i = s.n; i > 2; i--)
    if (s.p[i - 1] == '_' && s.p[i - 2] == '_') return (struct rp__str){s.p + i, s.n - i};
  return s;
}

/* A text of which only the beginning counts. */
static int add_head(struct rp__json string, size_t max, struct rp__buf *out)
{
  const char *at = string.p + 1, *end = string.p + string.n - 1;
  size_t from = out->n;
  while (at < end && out->n - from < max && !out->err) {
    size_t room = RP_MIN((size_t)(end - at), max - (out->n - from));
    const char *slash = memchr(at, '\\', room);
    rp__buf_add(out, at, slash ? (size_t)(slash - at) : room);
    if (!slash) break;
    char c[4];
    at = slash;
    size_t n = rp__json_unescape(&at, end, c);
    if (n == 1 && c[0] == '\0') c[0] = ' ';
    rp__buf_add(out, c, RP_MIN(n, max - (out->n - from)));
  }
  if (!out->err && out->n > from) out->n = from + rp__text_clip(out->p + from, out->n - from);
  return out->err;
}

/* A command: a string, or words of which the last is the script of a shell. */
static int add_command(struct rp__json v, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json word;
  if (v.type == RP_JSON_STRING) return add_head(v, WHAT_MAX, out);
  for (size_t n = 0; v.type == RP_JSON_ARRAY && !out->err && out->n < WHAT_MAX && rp__json_next(v, &it, NULL, &word);
       n++) {
    if (word.type != RP_JSON_STRING) continue;
    bool shell = n < 2 && (rp__json_eq(word, "bash") || rp__json_eq(word, "sh") || rp__json_eq(word, "-c") ||
                           rp__json_eq(word, "-lc") || rp__json_eq(word, "zsh") || rp__json_eq(word, "/bin/bash"));
    if (shell) continue;
    if (out->n) rp__buf_char(out, ' ');
    add_head(word, WHAT_MAX, out);
  }
  return out->err;
}

/* `lists`: those that the name of the tool is in. */
static enum does does_by_name(unsigned lists, struct rp__json acp)
{
  struct rp__json kind = acp.n ? rp__json_get(acp, "kind") : (struct rp__json){0};
  if (rp__json_eq(kind, "edit") || rp__json_eq(kind, "delete") || rp__json_eq(kind, "move")) return DOES_EDIT;
  if (rp__json_eq(kind, "execute")) return DOES_RUN;
  if (lists & 1u << RP_CUE_EDIT_TOOLS) return DOES_EDIT;
  if (lists & 1u << RP_CUE_RUN_TOOLS) return DOES_RUN;
  if (lists & 1u << RP_CUE_ASK_TOOLS) return DOES_ASK;
  return lists & 1u << RP_CUE_PLAN_TOOLS ? DOES_PLAN : DOES_OTHER;
}

static const char *const path_names[] = {"file_path",   "path",          "filePath", "notebook_path",
                                         "target_file", "absolute_path", "filename", "relative_path"};
static const char patch_begin[] = "*** Begin Patch";

/* The text of a patch in the form of apply_patch, wherever the input has it. */
static struct rp__json find_patch(struct rp__json input)
{
  struct rp__json_iter it = {0};
  struct rp__json v, inner;
  if (input.type == RP_JSON_STRING)
    return memmem(input.p, input.n, patch_begin, sizeof patch_begin - 1) ? input : (struct rp__json){0};
  while ((input.type == RP_JSON_OBJECT || input.type == RP_JSON_ARRAY) && rp__json_next(input, &it, NULL, &v)) {
    inner = v.type == RP_JSON_STRING || v.type == RP_JSON_ARRAY ? find_patch(v) : (struct rp__json){0};
    if (inner.type) return inner;
  }
  return (struct rp__json){0};
}

/* The files that a patch names, one per line. */
static int add_patch_files(struct rp__json patch, struct rp__buf *out)
{
  static const char mark[] = " File: ";
  RP_AUTOBUF struct rp__buf text = RP_BUF(patch.n);
  if (rp__json_text(patch, &text)) return RP_E_NOMEM;
  const char *at = text.p, *end = text.p + text.n;
  for (size_t n = 0; n < PATCH_FILES && at < end; n++) {
    const char *found = memmem(at, (size_t)(end - at), mark, sizeof mark - 1);
    if (!found) break;
    at = found + sizeof mark - 1;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t len = (size_t)((stop ? stop : end) - at);
    if (out->n + len + 1 > WHAT_MAX) break;
    if (out->n) rp__buf_char(out, '\n');
    rp__buf_add(out, at, len);
  }
  return out->err;
}

/* What the call is about to do, in the words that a reader would use. Nothing when its input does not tell. */
static int find_what(struct rp__json name, struct rp__json input, struct rp__json acp, enum does *does,
                     struct rp__buf *out)
{
  static const char *const commands[] = {"command", "cmd", "script"};
  static const char *const others[] = {"description", "query", "pattern", "url", "prompt", "subject", "text", "skill"};
  struct rp__json v = {0}, lists[3];
  struct rp__json_iter it = {0};
  switch (*does) {
  case DOES_EDIT:
    v = find_patch(input);
    if (v.type) {
      *does = DOES_PATCH;
      return add_patch_files(v, out);
    }
    if (rp__json_eq(rp__json_get(input, "command"), "view")) *does = DOES_OTHER;
    v = first_of(input, path_names, RP_ARRAY_SIZE(path_names));
    if (!v.type && rp__json_next(rp__json_get(acp, "locations"), &it, NULL, &v)) v = rp__json_get(v, "path");
    return v.type == RP_JSON_STRING ? add_head(v, 256, out) : 0;
  case DOES_RUN:
    v = find_patch(input);
    if (v.type) {
      *does = DOES_PATCH;
      return add_patch_files(v, out);
    }
    rp__json_members(input, commands, RP_ARRAY_SIZE(commands), lists);
    for (size_t i = 0; i < RP_ARRAY_SIZE(commands) && !v.type; i++)
      if (lists[i].type == RP_JSON_STRING || lists[i].type == RP_JSON_ARRAY) v = lists[i];
    if (!v.type && acp.type) v = name; /* agents of ACP put the command into the title */
    return add_command(v, out);
  case DOES_ASK:
    rp__json_next(rp__json_get(input, "questions"), &it, NULL, &v);
    v = rp__json_get(v.type == RP_JSON_OBJECT ? v : input, "question");
    return v.type == RP_JSON_STRING ? add_head(v, 200, out) : 0;
  case DOES_PLAN: rp__buf_str(out, "the plan"); return out->err;
  case DOES_PATCH:
  case DOES_OTHER: break;
  }
  add_head(name, 64, out);
  v = first_of(input, path_names, RP_ARRAY_SIZE(path_names));
  if (!v.type) v = first_of(input, others, RP_ARRAY_SIZE(others));
  if (v.type) rp__buf_char(out, ' ');
  return v.type ? add_head(v, 120, out) : out->err;
}

/* ---- commands ------------------------------------------------------------------------------ */

/* Without changes of the folder before it, and what only trims its output. */
static struct rp__str bare_command(struct rp__str c)
{
  static const char *const ends[] = {" 2>&1",  " | tail", " | head",      " | tee",   " |tail",
                                     " |head", "; echo ", " 2>/dev/null", " && echo "};
  const char *line;
  for (;;) {
    while (c.n && (unsigned char)c.p[0] <= ' ') c.p++, c.n--;
    if (c.n < 4 || memcmp(c.p, "cd ", 3) != 0) break;
    size_t i = 3;
    while (i < c.n && c.p[i] != '\n' && c.p[i] != ';' && !(c.p[i] == '&' && i + 1 < c.n && c.p[i + 1] == '&')) i++;
    if (i == c.n || c.p[i] == '\n') break;
    i += c.p[i] == '&' ? 2 : 1;
    c.p += i;
    c.n -= i;
  }
  if ((line = memchr(c.p, '\n', c.n))) c.n = (size_t)(line - c.p);
  for (size_t i = 0; i < RP_ARRAY_SIZE(ends); i++) {
    const char *at = memmem(c.p, c.n, ends[i], strlen(ends[i]));
    if (at && at > c.p) c.n = (size_t)(at - c.p);
  }
  while (c.n && (unsigned char)c.p[c.n - 1] <= ' ') c.n--;
  return c;
}

/* Whether two command lines are tries of one: their first three words that are no options are the same. */
static bool same_try(struct rp__str a, struct rp__str b)
{
  for (unsigned words = 0; words < 3;) {
    struct rp__str w[2], *of[2] = {&a, &b};
    for (unsigned k = 0; k < 2; k++) {
      do {
        size_t n = 0;
        while (of[k]->n && of[k]->p[0] == ' ') of[k]->p++, of[k]->n--;
        while (n < of[k]->n && of[k]->p[n] != ' ') n++;
        w[k] = (struct rp__str){of[k]->p, n};
        of[k]->p += n;
        of[k]->n -= n;
      } while (w[k].n && w[k].p[0] == '-');
    }
    if (w[0].n == 0 || w[1].n == 0) return w[0].n == w[1].n || words == 2;
    if (w[0].n != w[1].n || memcmp(w[0].p, w[1].p, w[0].n) != 0) return false;
    words++;
  }
  return true;
}

/* The text of an output: itself, or the members that agents put it into. */
static int output_text(struct rp__json v, struct rp__buf *out)
{
  static const char *const names[] = {"stderr", "error",   "text",    "output",
                                      "stdout", "message", "content", "llmContent"};
  struct rp__json part[RP_ARRAY_SIZE(names)];
  if (v.type == RP_JSON_STRING) return add_head(v, OUTPUT_MAX, out);
  if (v.type != RP_JSON_OBJECT) return 0;
  rp__json_members(v, names, RP_ARRAY_SIZE(names), part);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names) && out->n < OUTPUT_MAX; i++) {
    if (part[i].type != RP_JSON_STRING || part[i].n <= 2) continue;
    if (out->n) rp__buf_char(out, '\n');
    add_head(part[i], OUTPUT_MAX - RP_MIN(out->n, OUTPUT_MAX - 1), out);
  }
  return out->err;
}

/* Whether an output that came as a result tells of a failure. */
static bool output_failed(struct rp__json output)
{
  static const char *const names[] = {"exit_code", "exitCode", "code"};
  int64_t code;
  for (size_t i = 0; output.type == RP_JSON_OBJECT && i < RP_ARRAY_SIZE(names); i++)
    if (rp__json_i64(rp__json_get(output, names[i]), &code)) return code != 0;
  return false;
}

/* "[main 1a2b3c4] …" that git prints: the hash, or nothing. */
static struct rp__str commit_hash(struct rp__str out)
{
  for (size_t i = 0; i < out.n; i++) {
    const char *close = out.p[i] == '[' ? memchr(out.p + i, ']', RP_MIN(out.n - i, (size_t)120)) : NULL;
    if (!close) continue;
    const char *at = close;
    while (at > out.p + i && (rp__is_digit(at[-1]) || (at[-1] >= 'a' && at[-1] <= 'f'))) at--;
    if (close - at >= 7 && at[-1] == ' ') return (struct rp__str){at, (size_t)(close - at)};
  }
  return (struct rp__str){0};
}

/* The subject of `git commit -m …`, also of one that comes through a here document. */
static struct rp__str commit_subject(struct rp__str command)
{
  static const char heredoc[] = "<<";
  const char *at = command.p, *end = command.p + command.n;
  for (bool stands = false; at && !stands;) { /* as a command of its own, not as a word in another's */
    at = memmem(at, (size_t)(end - at), "git commit", 10);
    const char *before = at;
    while (before && before > command.p && rp__is_in(before[-1], " \t")) before--;
    stands = before && (before == command.p || rp__is_in(before[-1], "&;|\n("));
    if (at && !stands) at += 10;
  }
  if (at && memmem(at, (size_t)(end - at), "--dry-run", 9)) return (struct rp__str){0};
  /* The option stands alone or behind others: -m, -am, --message. */
  while (at && (at = memmem(at, (size_t)(end - at), " -", 2))) {
    at += 2;
    size_t n = 0;
    bool whole = at < end && *at == '-';
    while (at + n < end && (rp__is_alnum(at[n]) || at[n] == '-')) n++;
    bool message = whole ? n == 8 && memcmp(at, "-message", n) == 0 : n && at[n - 1] == 'm';
    at += n;
    if (message) break;
  }
  if (!at) return (struct rp__str){0};
  while (at < end && (*at == ' ' || *at == '=')) at++;
  char quote = at < end && (*at == '"' || *at == '\'') ? *at++ : ' ';
  if (end - at > 2 && memcmp(at, "$(", 2) == 0) {
    at = memmem(at, (size_t)(end - at), heredoc, 2);
    at = at ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!at) return (struct rp__str){0};
    at++;
    quote = '\n';
  }
  const char *stop = at;
  while (stop < end && *stop != quote && *stop != '\n') stop += *stop == '\\' && quote == '"' && end - stop > 1 ? 2 : 1;
  return (struct rp__str){at, (size_t)(stop - at)};
}

static int ran(struct rp__digest *d, struct rp__str command, bool failed, struct rp__json output, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(OUTPUT_MAX + 64), line = RP_BUF(1024), error = RP_BUF(1024);
  struct rp__str bare = bare_command(command), subject = failed ? (struct rp__str){0} : commit_subject(command);
  rp__cues more = rp__digest_cues(d);
  if (failed || subject.n) output_text(output, &out);
  rp__prose_clip(bare, LINE_WIDTH, &line);
  struct rp__str text = {line.p ? line.p : "", line.n};
  if (out.err || line.err) return RP_E_NOMEM;
  if (text.n == 0) return 0;
  if (subject.n) {
    struct rp__str hash = commit_hash((struct rp__str){out.p ? out.p : "", out.n});
    if (hash.n == 0 && out.n && memmem(out.p, out.n, "nothing ", 8)) return 0; /* … to commit, … added */
    rp__buf_printf(&error, "%.*s%s", (int)hash.n, hash.n ? hash.p : "", hash.n ? " " : "");
    rp__prose_clip(subject, LINE_WIDTH, &error);
    return error.err ? RP_E_NOMEM : RP_DIGEST_PUT(&d->commits, 0, at_ms, {0, {error.p, error.n}, 0});
  }
  char room[4 * LINE_WIDTH + 8];
  struct rp__buf lower = RP_BUF_IN(room);
  rp__cues_lower(text, &lower);
  if (rp__cues_begin(more, RP_CUE_QUIET, (struct rp__str){room, lower.n})) return 0;
  for (size_t i = d->commands.count; i > 0; i--) {
    RP_AUTOBUF struct rp__buf had = RP_BUF(1024);
    if (rp__json_text(rp__row_cell(d->commands.v[i - 1], RP_COMMAND_LINE), &had)) return RP_E_NOMEM;
    if (same_try((struct rp__str){had.p, had.n}, text)) rp__rows_drop(&d->commands, i - 1);
  }
  if (!failed) return 0;
  rp__prose_error(more, (struct rp__str){out.p ? out.p : "", out.n}, ERROR_WIDTH, &error);
  if (error.err) return RP_E_NOMEM;
  return RP_DIGEST_PUT(&d->commands, 0, at_ms, {RP_COMMAND_LINE, text, 0},
                       {RP_COMMAND_ERROR, {error.p ? error.p : "", error.n}, 0}, {RP_COMMAND_CALL, {0}, d->n_calls});
}

/* ---- files ------------------------------------------------------------------------------------ */

static int changed(struct rp__digest *d, struct rp__str path, int64_t at_ms)
{
  int64_t count = 0;
  char name[512 + 2];
  if (path.n == 0 || path.n >= sizeof name - 2) return 0;
  name[0] = '"';
  memcpy(name + 1, path.p, path.n);
  memcpy(name + 1 + path.n, "\"", 2);
  bool plain = rp__json_plain(path.p, path.p + path.n) == path.p + path.n; /* JSON as it stands */
  if (!plain) name[1 + path.n] = '\0';
  size_t i =
      plain ? rp__rows_find(&d->files, (struct rp__str){name, path.n + 2}) : rp__rows_find_text(&d->files, name + 1);
  if (i < d->files.count) count = rp__digest_number(d->files.v[i], RP_FILE_COUNT);
  d->edits++;
  return RP_DIGEST_PUT(&d->files, 0, at_ms, {RP_FILE_PATH, path, 0}, {RP_FILE_COUNT, {0}, count + 1});
}

/* ---- todos -------------------------------------------------------------------------------------- */

static bool is_closed(struct rp__json status)
{
  static const char *const words[] = {"completed", "complete", "done", "cancelled", "canceled", "deleted"};
  return rp__json_one_of(status, words, RP_ARRAY_SIZE(words)) < RP_ARRAY_SIZE(words);
}

static int add_todo(struct rp__digest *d, struct rp__json text, struct rp__json status, const char *id, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf t = RP_BUF(1024), s = RP_BUF(64);
  if (text.type != RP_JSON_STRING || text.n <= 2) return 0;
  add_head(text, 160, &t);
  if (status.type == RP_JSON_STRING) add_head(status, 24, &s);
  if (t.err || s.err) return RP_E_NOMEM;
  return RP_DIGEST_PUT(&d->todos, 0, at_ms, {RP_TODO_TEXT, {t.p, t.n}, 0}, {RP_TODO_STATUS, {s.p ? s.p : "", s.n}, 0},
                       {RP_TODO_ID, rp__str(id), 0});
}

int rp__digest_todo(struct rp__digest *d, struct rp__json items, int64_t at_ms)
{
  static const char *const names[] = {"content", "description", "step", "title", "text", "subject"};
  struct rp__json_iter it = {0};
  struct rp__json item;
  int rc = 0;
  if (items.type != RP_JSON_ARRAY) return 0;
  while (d->todos.count) rp__rows_drop(&d->todos, d->todos.count - 1);
  while (rc == 0 && d->todos.count < d->todos.shape->max_rows && rp__json_next(items, &it, NULL, &item)) {
    struct rp__json status = rp__json_get(item, "status");
    if (!is_closed(status)) rc = add_todo(d, first_of(item, names, RP_ARRAY_SIZE(names)), status, "", at_ms);
  }
  return rc;
}

/* A todo list as a tool writes it: all of it, or one item made or changed. Items are numbered as they are made. */
static int todo_tool(struct rp__digest *d, struct rp__str name, struct rp__json input, int64_t at_ms)
{
  static const char *const lists[] = {"todos", "plan", "todoList", "items"};
  char id[24];
  if (name.n == 10 && strncasecmp(name.p, "taskcreate", 10) == 0) {
    snprintf(id, sizeof id, "%lld", (long long)++d->n_todos);
    return add_todo(d, rp__json_get(input, "subject"), (struct rp__json){0}, id, at_ms);
  }
  if (name.n == 10 && strncasecmp(name.p, "taskupdate", 10) == 0) {
    struct rp__json which = rp__json_get(input, "taskId");
    for (size_t i = d->todos.count; i > 0 && is_closed(rp__json_get(input, "status")); i--) {
      struct rp__json had = rp__row_cell(d->todos.v[i - 1], RP_TODO_ID);
      struct rp__str a = rp__json_raw(had), b = rp__json_raw(which);
      if (a.n && a.n == b.n && memcmp(a.p, b.p, a.n) == 0) rp__rows_drop(&d->todos, i - 1);
    }
    return 0;
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) {
    struct rp__json list = rp__json_get(input, lists[i]);
    if (list.type == RP_JSON_ARRAY) return rp__digest_todo(d, list, at_ms);
  }
  return 0;
}

/*
 * An item that was made: its outcome has the number that later changes name ("Task #3 created: SUBJECT"). Numbers begin
 * anew when a list is done, so that counting does not do.
 */
static int todo_made(struct rp__digest *d, struct rp__json output)
{
  struct rp__str raw = rp__json_raw(output);
  const char *hash = raw.n ? memchr(raw.p, '#', raw.n) : NULL;
  int64_t number = 0;
  for (const char *at = hash ? hash + 1 : NULL; at && at < raw.p + raw.n && rp__is_digit(*at) && number < 1000000; at++)
    number = 10 * number + (*at - '0');
  for (size_t i = d->todos.count; i > 0 && number > 0; i--) {
    const struct rp__row *row = d->todos.v[i - 1];
    RP_AUTOBUF struct rp__buf text = RP_BUF(1024), status = RP_BUF(64);
    struct rp__str stored = rp__json_raw(rp__row_cell(row, RP_TODO_TEXT));
    if (!memmem(raw.p, raw.n, stored.p, RP_MIN(stored.n, (size_t)MADE_BYTES))) continue;
    struct rp__json had = rp__row_cell(row, RP_TODO_STATUS);
    int64_t at_ms = row->at_ms;
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)number);
    if (rp__json_text(rp__row_cell(row, RP_TODO_TEXT), &text)) return RP_E_NOMEM;
    if (had.type == RP_JSON_STRING && rp__json_text(had, &status)) return RP_E_NOMEM;
    rp__rows_drop(&d->todos, i - 1);
    d->n_todos = number;
    return RP_DIGEST_PUT(&d->todos, 0, at_ms, {RP_TODO_TEXT, {text.p, text.n}, 0},
                         {RP_TODO_STATUS, {status.p ? status.p : "", status.n}, 0}, {RP_TODO_ID, rp__str(id), 0});
  }
  return 0;
}

/* ---- what was declined ----------------------------------------------------------------------------- */

static int declined(struct rp__digest *d, struct rp__json what, enum does does, struct rp__str said, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(2048), line = RP_BUF(1024), why = RP_BUF(1024);
  if (rp__json_text(what, &text)) return RP_E_NOMEM;
  struct rp__str s = {text.p ? text.p : "", text.n};
  rp__prose_clip(does == DOES_RUN ? bare_command(s) : s, LINE_WIDTH, &line);
  rp__prose_middle(said, SAID_WIDTH, &why);
  if (line.err || why.err) return RP_E_NOMEM;
  if (line.n == 0) return 0;
  int64_t count = 0;
  size_t i = rp__rows_find_text(&d->declined, line.p);
  if (i < d->declined.count) {
    count = rp__digest_number(d->declined.v[i], RP_DECLINED_COUNT);
    struct rp__json before = rp__row_cell(d->declined.v[i], RP_DECLINED_SAID);
    if (why.n == 0 && before.type == RP_JSON_STRING && rp__json_text(before, &why)) return RP_E_NOMEM;
  }
  return RP_DIGEST_PUT(&d->declined, 0, at_ms, {RP_DECLINED_WHAT, {line.p, line.n}, 0},
                       {RP_DECLINED_COUNT, {0}, count + 1}, {RP_DECLINED_SAID, {why.p ? why.p : "", why.n}, 0});
}

int rp__digest_decline(struct rp__digest *d, struct rp__str said, int64_t at_ms)
{
  char room[4 * SAID_WIDTH + 1];
  struct rp__buf lower = RP_BUF_IN(room);
  rp__cues more = rp__digest_cues(d);
  if (d->calls.count == 0) return 0;
  if (rp__prose_width(said) < SAID_WIDTH) rp__cues_lower(said, &lower);
  struct rp__str s = {room, lower.n};
  bool tells = s.n && (rp__cues_begin(more, RP_CUE_REFUSALS, s) || rp__cues_in(more, RP_CUE_RULES, s));
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < d->calls.count; i++) {
    const struct rp__row *call = d->calls.v[i];
    if (call->flags & RP_CALL_DOUBT) continue;
    enum does does = (enum does)rp__digest_number(call, RP_CALL_DOES);
    rc = declined(d, rp__row_cell(call, RP_CALL_WHAT), does, tells ? said : RP_STR(""), at_ms);
  }
  /* A call in doubt stays for one more request, which may ask whether it happened. */
  const struct rp__row *last = d->requests.count ? d->requests.v[d->requests.count - 1] : NULL;
  for (size_t i = d->calls.count; rc == 0 && i > 0; i--) {
    const struct rp__row *call = d->calls.v[i - 1];
    bool asked = last && rp__digest_number(last, RP_REQUEST_SEQ) > rp__digest_number(call, RP_CALL_SEQ);
    if (!(call->flags & RP_CALL_DOUBT) || asked) rp__rows_drop(&d->calls, i - 1);
  }
  return rc;
}

void rp__digest_doubt(struct rp__digest *d)
{
  for (size_t i = d->calls.count; i > 0; i--) rp__rows_flag(&d->calls, i - 1, RP_CALL_DOUBT, true);
}

/* The user's words in the outcome of a tool that was declined, as Claude Code writes them. */
static struct rp__str said_instead(struct rp__str output)
{
  static const char mark[] = "the user said:";
  const char *at = memmem(output.p, output.n, mark, sizeof mark - 1);
  if (!at) return (struct rp__str){"", 0};
  at += sizeof mark - 1;
  return (struct rp__str){at, output.n - (size_t)(at - output.p)};
}

/* ---- events ------------------------------------------------------------------------------------------ */

static int answered(struct rp__digest *d, struct rp__str question, struct rp__json output, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(OUTPUT_MAX + 64), rule = RP_BUF(4096);
  output_text(output, &out);
  if (out.err) return RP_E_NOMEM;
  if (out.n == 0 || question.n == 0 || memchr(out.p, '{', out.n)) return 0;
  rp__buf_str(&rule, "asked «");
  rp__prose_clip(question, 90, &rule);
  rp__buf_str(&rule, "»: ");
  rp__prose_clip((struct rp__str){out.p, out.n}, 120, &rule);
  return rule.err ? RP_E_NOMEM : RP_DIGEST_PUT(&d->rules, 0, at_ms, {RP_RULE_TEXT, {rule.p, rule.n}, 0});
}

/* A call has ended: what it was about to do is done, or failed. */
static int finished(struct rp__digest *d, struct rp__json what, enum does does, bool failed, struct rp__json output,
                    int64_t at_ms)
{
  char room[2049];
  struct rp__buf text = RP_BUF_IN(room);
  if (does == DOES_OTHER || does == DOES_PLAN) return 0;
  if (rp__json_text(what, &text)) return RP_E_NOMEM;
  struct rp__str s = {room, text.n};
  int rc = 0;
  switch (does) {
  case DOES_EDIT: return failed ? 0 : changed(d, s, at_ms);
  case DOES_RUN: return ran(d, s, failed || output_failed(output), output, at_ms);
  case DOES_ASK: return failed ? 0 : answered(d, s, output, at_ms);
  case DOES_PATCH:
    while (rc == 0 && !failed && s.n) {
      const char *end = memchr(s.p, '\n', s.n);
      size_t n = end ? (size_t)(end - s.p) : s.n;
      rc = changed(d, (struct rp__str){s.p, n}, at_ms);
      s.p += n + (end != NULL);
      s.n -= n + (end != NULL);
    }
    return rc;
  case DOES_OTHER:
  case DOES_PLAN: break;
  }
  return 0;
}

static size_t find_call(const struct rp__digest *d, struct rp__json id)
{
  size_t i = rp__rows_find(&d->calls, (struct rp__str){id.p, id.n});
  if (i < d->calls.count || !memchr(id.p, '\\', id.n)) return i;
  char room[RP_EVENT_ID_MAX + 2];
  struct rp__buf text = RP_BUF_IN(room);
  return rp__json_text(id, &text) ? d->calls.count : rp__rows_find_text(&d->calls, room);
}

/* A call that begins. */
static int begun(struct rp__digest *d, struct rp__json id, struct rp__json name, struct rp__json input,
                 struct rp__json acp, const struct rp__event *ev)
{
  char room[256], what_room[4096], text_room[RP_EVENT_ID_MAX + 2];
  struct rp__buf what = RP_BUF_IN(what_room), text = RP_BUF_IN(text_room);
  struct rp__str short_name = tool_name(name, room);
  unsigned named = rp__cues_lists(rp__digest_cues(d), short_name);
  if (named & 1u << RP_CUE_TODO_TOOLS) return todo_tool(d, short_name, input, ev->at_ms);
  /* Only an agent's own tool asks the user; another server's tool of that name answers for itself. */
  if (short_name.n < rp__json_raw(name).n) named &= ~(1u << RP_CUE_ASK_TOOLS);
  enum does does = does_by_name(named, acp);
  if (find_what(name, input, acp, &does, &what)) return RP_E_NOMEM;
  if (what.n == 0) { /* its input does not tell */
    does = DOES_OTHER;
    add_head(name, 64, &what);
  }
  (void)rp__json_text(id, &text);
  if (what.n == 0 || text.err || text.n == 0) return 0;
  if (find_call(d, id) == d->calls.count) {
    d->tools++;
    d->n_calls++;
  }
  return RP_DIGEST_PUT(&d->calls, 0, ev->at_ms, {RP_CALL_ID, {text.p, text.n}, 0}, {RP_CALL_WHAT, {what.p, what.n}, 0},
                       {RP_CALL_DOES, {0}, (int64_t)does}, {RP_CALL_SEQ, {0}, ev->seq});
}

int rp__digest_tool(struct rp__digest *d, const struct rp__event *ev)
{
  struct rp__json id = rp__event_get(ev, "call_id"), name = rp__event_get(ev, "name");
  struct rp__json status = rp__event_get(ev, "status"), input = rp__event_get(ev, "input");
  int rc = 0;
  if (id.type != RP_JSON_STRING || name.type != RP_JSON_STRING) return 0;
  bool done = rp__json_eq(status, "done"), failed = !done && rp__json_eq(status, "failed");
  bool unknown = !done && !failed && rp__json_eq(status, "unknown"), ended = done || failed || unknown;
  size_t i = find_call(d, id);
  if (input.type != RP_JSON_NONE || (i == d->calls.count && !ended)) {
    rc = begun(d, id, name, input, rp__event_get(ev, "acp"), ev);
    if (rc || !ended) return rc;
    i = find_call(d, id);
  }
  if (!ended) return 0;
  if (i == d->calls.count)
    return done && rp__json_eq(name, "TaskCreate") ? todo_made(d, rp__event_get(ev, "output")) : 0;
  if (unknown) {
    rp__rows_flag(&d->calls, i, RP_CALL_DOUBT, true);
    return 0;
  }
  struct rp__json what = rp__row_cell(d->calls.v[i], RP_CALL_WHAT);
  enum does does = (enum does)rp__digest_number(d->calls.v[i], RP_CALL_DOES);
  struct rp__json output = rp__event_get(ev, "output");
  if (failed && rp__event_get(ev, "declined").type == RP_JSON_TRUE) {
    RP_AUTOBUF struct rp__buf said = RP_BUF(OUTPUT_MAX + 64);
    struct rp__json told = rp__event_get(ev, "said");
    if (told.type == RP_JSON_STRING)
      add_head(told, 1024, &said);
    else
      output_text(output, &said);
    struct rp__str words = {said.p ? said.p : "", said.n};
    if (told.type != RP_JSON_STRING) words = said_instead(words);
    rc = said.err ? RP_E_NOMEM : declined(d, what, does, words, ev->at_ms);
  } else {
    rc = finished(d, what, does, failed, output, ev->at_ms);
  }
  if (rc == 0) rp__rows_drop(&d->calls, i);
  return rc;
}

/* The permission for a tool of ACP: when it is denied, its call will not run. */
int rp__digest_approval(struct rp__digest *d, const struct rp__event *ev)
{
  struct rp__json status = rp__event_get(ev, "status"), id = rp__event_get(ev, "id");
  struct rp__json call = rp__json_get(rp__event_get(ev, "acp"), "toolCall");
  if (id.type != RP_JSON_STRING) return 0;
  if (rp__json_eq(status, "pending")) {
    struct rp__json title = rp__json_get(call, "title");
    int64_t tools = d->tools, n_calls = d->n_calls;
    int rc = title.type == RP_JSON_STRING ? begun(d, id, title, rp__json_get(call, "rawInput"), call, ev) : 0;
    d->tools = tools; /* the call itself is counted */
    d->n_calls = n_calls;
    return rc;
  }
  size_t i = find_call(d, id);
  if (i == d->calls.count) return 0;
  RP_AUTOBUF struct rp__buf what = RP_BUF(4096);
  struct rp__json told = rp__row_cell(d->calls.v[i], RP_CALL_WHAT);
  rp__buf_add(&what, told.p, told.n);
  enum does does = (enum does)rp__digest_number(d->calls.v[i], RP_CALL_DOES);
  rp__rows_drop(&d->calls, i);
  if (what.err || !rp__json_eq(status, "denied")) return what.err;
  for (i = d->calls.count; i > 0; i--) {
    told = rp__row_cell(d->calls.v[i - 1], RP_CALL_WHAT);
    if (told.n == what.n && memcmp(told.p, what.p, what.n) == 0) rp__rows_drop(&d->calls, i - 1);
  }
  return declined(d, rp__json_trusted(what.p, what.n), does, RP_STR(""), ev->at_ms);
}
