/* SPDX-License-Identifier: Apache-2.0 */
/* Installing, removing and finding our hooks in agents' settings files. */
#include "cli/hook-install.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/out.h"
#include "cli/term.h"

#define BACKUP ".reprise-backup"
#define PATH_TEXT 8192
#define MODE_NEW 0600
#define STATUS_MAX ((size_t)4 * 1024 * 1024)
#define DIFF_MAX ((size_t)4 * RP_HOOK_SETTINGS_MAX)

/* The file as it is, and as it shall be. */
struct work {
  char path[PATH_MAX]; /* where links lead */
  char backup[PATH_MAX + sizeof BACKUP];
  struct rp__buf before, after;
  bool exists, gone;
  mode_t mode;
};

static void work_done(struct work *w)
{
  rp__buf_done(&w->before);
  rp__buf_done(&w->after);
}

/* ---- where ---- */

int rp__hook_file(const struct rp__hook_agent *agent, const char *project, char ret[PATH_MAX], rp_error *err)
{
  const char *folder = !project && agent->folder_env ? getenv(agent->folder_env) : NULL;
  const char *root = project ? project : getenv("HOME");
  const char *below = project && agent->project_folder ? agent->project_folder : agent->folder;
  int n;
  if (folder && *folder)
    n = snprintf(ret, PATH_MAX, "%s/%s", folder, agent->file);
  else if (root && *root)
    n = snprintf(ret, PATH_MAX, "%s/%s/%s", root, below, agent->file);
  else
    return rp__fail(err, RP_E_USAGE, "HOME is not set; say --project DIR");
  return n < PATH_MAX ? 0 : rp__fail(err, RP_E_USAGE, "the path is too long");
}

/* A settings file may be a link into somebody's collection of them: the link stays, what it leads to is written. */
static int follow(struct work *w, rp_error *err)
{
  char real[PATH_MAX];
  struct stat st;
  w->mode = MODE_NEW;
  if (!realpath(w->path, real)) {
    if (errno == ENOENT && lstat(w->path, &st) != 0) return 0;
    return rp__fail_errno(err, errno, "%s", w->path);
  }
  if (stat(real, &st)) return rp__fail_errno(err, errno, "%s", real);
  w->exists = true;
  w->mode = st.st_mode & 07777;
  snprintf(w->path, sizeof w->path, "%s", real);
  return rp__file_read(w->path, RP_HOOK_SETTINGS_MAX, &w->before, err);
}

/* ---- what the agent will call ---- */

static void add_word(struct rp__buf *out, const char *word)
{
  if (out->n) rp__buf_char(out, ' ');
  if (word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")] == '\0') {
    rp__buf_str(out, word);
    return;
  }
  rp__buf_char(out, '\'');
  for (; *word; word++) {
    if (*word == '\'')
      rp__buf_str(out, "'\\''");
    else
      rp__buf_char(out, *word);
  }
  rp__buf_char(out, '\'');
}

/*
 * How the agent finds this very program. By its name alone only from a folder that every user's PATH has: an agent may
 * be started by a desktop, a service or another user's shell. Else by the path in $PATH, which outlives an update that
 * a link there points to, or by our own.
 */
static void choose_program(const char *self, char ret[PATH_MAX])
{
  static const char *const everywhere[] = {"/usr/bin/reprise", "/usr/local/bin/reprise", "/bin/reprise", NULL};
  char real[PATH_MAX];
  bool found = rp__on_path("reprise", ret) && ret[0] == '/' && realpath(ret, real) && strcmp(real, self) == 0;
  if (!found) memcpy(ret, self, strlen(self) + 1);
  for (size_t i = 0; found && everywhere[i]; i++)
    if (strcmp(ret, everywhere[i]) == 0) snprintf(ret, PATH_MAX, "reprise");
}

/* Agents run their hooks in the folder of the project, wherever that is. */
static int add_path(struct rp__buf *out, const char *option, const char *prefix, const char *path, rp_error *err)
{
  char here[PATH_MAX], word[PATH_TEXT];
  bool whole = path[0] == '/';
  if (!whole && !getcwd(here, sizeof here)) return rp__fail_errno(err, errno, "can't find the current directory");
  if (snprintf(word, sizeof word, "%s%s%s%s", prefix, whole ? "" : here, whole ? "" : "/", path) >= (int)sizeof word)
    return rp__fail(err, RP_E_USAGE, "%s: the path is too long", option);
  add_word(out, option);
  add_word(out, word);
  return 0;
}

static int name_program(const struct rp__cli *c, struct rp__buf *out, rp_error *err)
{
  static const char sqlite[] = "sqlite:";
  char self[PATH_MAX], program[PATH_MAX];
  int rc = rp__agent_self(self, err);
  if (rc) return rc;
  choose_program(self, program);
  add_word(out, program);
  const char *db = c->globals[RP_G_DB].text, *config = c->globals[RP_G_CONFIG].text;
  if (db && strncmp(db, sqlite, strlen(sqlite)) == 0 && db[strlen(sqlite)]) {
    rc = add_path(out, "--db", sqlite, db + strlen(sqlite), err);
  } else if (db) {
    add_word(out, "--db");
    add_word(out, db);
  }
  if (!rc && config) rc = add_path(out, "--config", "", config, err);
  return !rc && out->err ? rp__fail_nomem(err) : rc;
}

/* Where only our own entries were changed since install, what was there before comes back to the byte. */
static void recall(const struct rp__hook_install *o, const struct rp__hook_command *command, struct work *w)
{
  RP_AUTOBUF struct rp__buf old = RP_BUF(RP_HOOK_SETTINGS_MAX), with = RP_BUF(0), again = RP_BUF(0);
  if (rp__file_read(w->backup, RP_HOOK_SETTINGS_MAX, &old, NULL)) return;
  struct rp__str before = {old.p ? old.p : "", old.n};
  if (rp__hook_settings_add(o->agent, command, before, &with, NULL)) return;
  if (rp__hook_settings_remove(o->agent, (struct rp__str){with.p, with.n}, &again, NULL)) return;
  if (again.n != w->after.n || memcmp(again.p, w->after.p, again.n) != 0) return;
  struct rp__buf cut = w->after;
  w->after = old;
  old = cut;
}

static int plan(const struct rp__cli *c, const struct rp__hook_install *o, struct work *w, rp_error *err)
{
  RP_AUTOBUF struct rp__buf program = RP_BUF(PATH_TEXT);
  struct stat st;
  if (o->project && stat(o->project, &st)) return rp__fail_errno(err, errno, "%s", o->project);
  if (o->project && !S_ISDIR(st.st_mode))
    return rp__fail_field(err, RP_E_USAGE, "project", "%s is no directory", o->project);
  int rc = rp__hook_file(o->agent, o->project, w->path, err);
  if (!rc) rc = follow(w, err);
  if (!rc) rc = name_program(c, &program, err);
  if (rc) return rc;
  snprintf(w->backup, sizeof w->backup, "%s" BACKUP, w->path);
  struct rp__str before = {w->before.p ? w->before.p : "", w->before.n};
  const struct rp__hook_command command = {.program = program.p, .scope = o->scope};
  rc = o->remove ? rp__hook_settings_remove(o->agent, before, &w->after, err)
                 : rp__hook_settings_add(o->agent, &command, before, &w->after, err);
  if (!rc && o->remove) recall(o, &command, w);
  if (!rc) return 0;
  rp__wrap(err, "%s", w->path);
  if (rc == RP_E_JSON) rp__hint(err, "the file was left as it is; it must be plain JSON, without comments");
  return rc;
}

/* ---- telling and doing ---- */

static void show_diff(const struct rp__cli *c, const struct rp__buf *diff)
{
  const char *p = diff->p, *end = p + diff->n;
  if (!c->term.out_tty) fwrite(p, 1, diff->n, stdout);
  while (c->term.out_tty && p < end) {
    RP_AUTOBUF struct rp__buf line = RP_BUF(RP_HOOK_SETTINGS_MAX);
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    bool head = strncmp(p, "--- ", 4) == 0 || strncmp(p, "+++ ", 4) == 0;
    const char *colour = head ? RP_DIM : *p == '+' ? RP_GREEN : *p == '-' ? RP_RED : RP_DIM;
    bool on = c->term.out_colour && *p != ' ';
    rp__term_cut(&line, p, (size_t)((nl ? nl : end) - p), 0);
    if (!line.err) printf("%s%s%s\n", RP_SGR(on, colour), line.p, RP_RESET(on));
    p = nl ? nl + 1 : end;
  }
  fflush(stdout);
}

static bool is_same(const struct rp__buf *a, const struct rp__buf *b)
{
  return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}

/* Agents and editors write the file, too, maybe while somebody reads the question. */
static int check_unchanged(const struct work *w, rp_error *err)
{
  RP_AUTOBUF struct rp__buf now = RP_BUF(RP_HOOK_SETTINGS_MAX);
  struct stat st;
  bool same = !w->exists && stat(w->path, &st) != 0 && errno == ENOENT;
  if (w->exists) {
    int rc = rp__file_read(w->path, RP_HOOK_SETTINGS_MAX, &now, err);
    if (rc) return rc;
    same = is_same(&now, &w->before);
  }
  if (same) return 0;
  return rp__hinted(err, rp__fail(err, RP_E_REFUSED, "%s was changed meanwhile; nothing was written", w->path),
                    "run it again to see what would change now");
}

static int store(const struct work *w, rp_error *err)
{
  int rc = rp__file_write(w->path, w->after.p ? w->after.p : "", w->after.n, err);
  if (!rc && w->exists && chmod(w->path, w->mode)) rc = rp__fail_errno(err, errno, "%s: can't set its mode", w->path);
  return rc;
}

static int install(const struct rp__hook_install *o, struct work *w, rp_error *err)
{
  RP_AUTOFREE char *folder = strdup(w->path);
  RP_AUTOBUF struct rp__buf without = RP_BUF(0);
  if (!folder) return rp__fail_nomem(err);
  *strrchr(folder, '/') = '\0';
  int rc = *folder ? rp__mkdirs(folder, err) : 0;
  /* Where our hooks are in it already, it is not what there was before them. */
  struct rp__str before = {w->before.p ? w->before.p : "", w->before.n};
  bool ours = before.n && rp__hook_settings_remove(o->agent, before, &without, NULL) == 0 && without.n != before.n;
  if (!rc && w->exists && !ours) rc = rp__file_write(w->backup, w->before.p ? w->before.p : "", w->before.n, err);
  return rc ? rc : store(w, err);
}

/*
 * What install made goes with it: a file that holds nothing else and was not so before, and a backup that tells nothing
 * new. A backup of something else is older than the file.
 */
static int uninstall(struct work *w, rp_error *err)
{
  RP_AUTOBUF struct rp__buf old = RP_BUF(0);
  struct rp__json left = w->after.n ? rp__json_trusted(w->after.p, w->after.n) : (struct rp__json){0};
  bool kept = rp__file_read(w->backup, RP_HOOK_SETTINGS_MAX, &old, NULL) == 0 && is_same(&old, &w->after);
  w->gone = left.type == RP_JSON_OBJECT && rp__json_count(left) == 0 && !kept;
  if (w->gone) return unlink(w->path) ? rp__fail_errno(err, errno, "%s", w->path) : rp__sync_parent(w->path, err);
  int rc = store(w, err);
  if (!rc && kept) unlink(w->backup);
  return rc;
}

/* A program that the next build replaces, or that goes with the tree. */
static bool in_build_tree(void)
{
  char self[PATH_MAX], marker[PATH_MAX];
  if (rp__agent_self(self, NULL)) return false;
  for (int i = 0; i < 3; i++) { /* BUILD/src/cli/reprise */
    char *slash = strrchr(self, '/');
    if (!slash) return false;
    *slash = '\0';
  }
  return snprintf(marker, sizeof marker, "%s/build.ninja", self) < (int)sizeof marker && access(marker, F_OK) == 0;
}

static void print_result(const struct rp__hook_install *o, const struct work *w, bool changed)
{
  if (!changed)
    fprintf(stderr, "%s: nothing to change\n", w->path);
  else if (w->gone)
    fprintf(stderr, "%s: removed, for it held nothing but our hooks.\n", w->path);
  else if (!o->dry_run)
    fprintf(stderr, "%s: %s. %s reads it at its next start.\n", w->path,
            o->remove ? "our hooks are taken out" : "written", o->agent->title);
  if (!o->remove && in_build_tree())
    fprintf(stderr,
            "The hooks run the program of a build tree: once it is installed, run 'hook install' with that one.\n");
}

int rp__hook_install_run(struct rp__cli *c, const struct rp__hook_install *o, rp_error *err)
{
  struct work w RP_CLEANUP(work_done) = {.before = RP_BUF(RP_HOOK_SETTINGS_MAX)};
  RP_AUTOBUF struct rp__buf diff = RP_BUF(DIFF_MAX);
  int rc = plan(c, o, &w, err);
  if (rc) return rc;
  struct rp__str before = {w.before.p ? w.before.p : "", w.before.n}, after = {w.after.p ? w.after.p : "", w.after.n};
  /* Where there is no file, there is nothing to remove. */
  bool changed = !is_same(&w.after, &w.before) && (w.exists || !o->remove);
  if (changed) {
    rp__buf_printf(&diff, "--- %s\n+++ %s\n", w.exists ? w.path : "/dev/null", w.path);
    rc = rp__hook_diff(before, after, &diff, err);
  }
  if (!rc && changed && !rp__json_wanted(c)) show_diff(c, &diff);
  if (!rc && changed && !o->dry_run) {
    rc = o->yes ? 0 : rp__cli_confirm(c, "Write this?", err);
    if (rc == RP_E_CANCELLED) return rp__fail(err, rc, "nothing was written");
    if (!rc) rc = check_unchanged(&w, err);
    if (!rc) rc = o->remove ? uninstall(&w, err) : install(o, &w, err);
  }
  if (!rc && rp__json_wanted(c))
    return RP_OUT_PACK(c, err, "{agent:s file:s changed:b written:b diff:n}", o->agent->name, w.path, changed,
                       changed && !o->dry_run, diff.p ? diff.p : "", diff.n);
  if (!rc) print_result(o, &w, changed);
  return rc;
}

/* ---- status: which agents run us, and how ---- */

struct status {
  const struct rp__cli *c;
  const struct rp__hook_agent *agent; /* the one told last */
  struct rp__jw *w;                   /* NULL: for a person */
  int uses;
};

static void write_use(struct rp__jw *w, const struct rp__agent_use *use)
{
  rp__jw_pack(w, "{agent:s as:s for:s file:s", use->agent->name, use->mcp ? "mcp" : "hooks",
              use->project ? "project" : "user", use->file);
  if (use->trouble) {
    rp__jw_pack(w, "error:s}", use->trouble);
    return;
  }
  if (use->mcp)
    rp__jw_kstr(w, "name", use->name);
  else
    rp__jw_pack(w, "events:i events_wanted:i", (int64_t)use->events, (int64_t)use->wanted);
  rp__jw_pack(w, "command:s program:s exists:b this_program:b}", use->command, use->program, use->exists, use->own);
}

static void print_use(struct status *s, const struct rp__agent_use *use)
{
  static const char *const marks[][2] = {{"✗", RP_RED}, {"✓", RP_GREEN}, {"!", RP_YELLOW}};
  const char *const *mark = marks[use->trouble || !use->exists ? 0 : use->own ? 1 : 2];
  bool colour = s->c->term.out_colour;
  if (s->agent != use->agent) printf("%s%s%s\n", RP_SGR(colour, RP_BOLD), use->agent->title, RP_RESET(colour));
  printf("  %s%s%s %-5s %s", RP_SGR(colour, mark[1]), mark[0], RP_RESET(colour), use->mcp ? "mcp" : "hooks", use->file);
  if (use->trouble) {
    printf(": %s\n", use->trouble);
    return;
  }
  if (use->mcp)
    printf(", as %s", use->name);
  else
    printf(", %d of %d events", use->events, use->wanted);
  printf(": %s%s\n", use->program,
         !use->exists ? ", which is not there"
         : use->own   ? ""
                      : ", which is another program");
  if (s->c->globals[RP_G_VERBOSE].count) printf("      %s\n", use->command);
}

static int on_use(void *ctx, const struct rp__agent_use *use)
{
  struct status *s = ctx;
  if (s->w)
    write_use(s->w, use);
  else
    print_use(s, use);
  s->agent = use->agent;
  s->uses++;
  return 0;
}

int rp__hook_status_run(struct rp__cli *c, const struct rp__hook_agent *agent, const char *project, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(STATUS_MAX);
  struct rp__jw w = RP_JW(&doc);
  char folder[PATH_MAX];
  struct status s = {.c = c, .w = rp__json_wanted(c) ? &w : NULL};
  if (!realpath(project ? project : ".", folder)) return rp__fail_errno(err, errno, "%s", project ? project : ".");
  rp__jw_pack(&w, "{uses:[");
  int rc = rp__agent_look(agent, folder, on_use, &s, err);
  rp__jw_pack(&w, "]}");
  if (rc || s.w) return rc ? rc : rp__out_buf(c, &doc, err);
  if (!s.uses) printf("%s told to run this program\n", agent ? "it is not" : "no agent is");
  return 0;
}
