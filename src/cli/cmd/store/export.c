/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise export`: write a session to a file, losing nothing. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/out.h"
#include "cli/term.h"

enum { OUTPUT, FORMAT, ALL, SCOPE, NO_TOKENS, FORCE };
enum { REPRISE, NOVA, CLAWD, ORBITMESH, CORTEX, MARKDOWN };

static const char *const formats[] = {
    [REPRISE] = "reprise", [NOVA] = "nova",         [CLAWD] = "clawd",     [ORBITMESH] = "orbitmesh",
    [CORTEX] = "cortex",   [MARKDOWN] = "markdown", [MARKDOWN + 1] = NULL,
};

static const struct rp__opt opts[] = {
    [OUTPUT] = {"output", 'o', RP_OPT_TEXT, "FILE", "where to (default stdout), or a folder, which gets an index.json"},
    [FORMAT] = {"format", 0, RP_OPT_CHOICE, "F", "the format", formats},
    [ALL] = {"all", 0, RP_OPT_FLAG, NULL, "every session, in one file (clawd)"},
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "every session of the scope, in one file (clawd)"},
    [NO_TOKENS] = {"no-tokens", 0, RP_OPT_FLAG, NULL,
                   "clawd: with tokens that open nothing, for a file that others may see"},
    [FORCE] = {"force", 0, RP_OPT_FLAG, NULL, "write to a terminal, every byte as it is"},
};

struct sink {
  int fd;
  int errnum; /* why writing stopped */
};

static int sink_write(void *ctx, const void *bytes, size_t n)
{
  struct sink *s = ctx;
  const char *p = bytes;
  while (n > 0) {
    ssize_t k = write(s->fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) {
      s->errnum = errno;
      return 1;
    }
    p += k;
    n -= (size_t)k;
  }
  return 0;
}

static int export_store(struct rp__cli *c, struct sink *s, const char *name, rp_error *err)
{
  const rp_store_options o = {.session = c->n_args ? rp_session_id(c->session) : NULL,
                              .scope = rp__opt_text(c, SCOPE),
                              .without_tokens = rp__opt_given(c, NO_TOKENS)};
  rp_store_info info = {0};
  int code = rp_export_store(c->engine, &o, sink_write, s, &info, err);
  if (code || s->errnum || c->globals[RP_G_QUIET].count || o.without_tokens) return code;
  /* A file with tokens in it is as secret as they are, wherever it lies. */
  fprintf(stderr,
          "%lld %s; %s holds the secret of the agents' socket and the tokens of the sessions: it is as secret "
          "as they are\n",
          (long long)info.sessions, info.sessions == 1 ? "session" : "sessions", name);
  if (info.strangers)
    fprintf(stderr, "%lld of %lld agents know another secret than the one in it, and will be refused by it\n",
            (long long)info.strangers, (long long)info.tokens);
  return 0;
}

static int export_to(struct rp__cli *c, int fd, const char *name, rp_error *err)
{
  struct rp__progress p = RP_PROGRESS(c, "exporting");
  struct sink s = {.fd = fd};
  int64_t format = rp__opt_num(c, FORMAT, REPRISE);
  int code = format == REPRISE ? rp_export(c->session, sink_write, &s, rp__progress_step, &p, err)
             : format == CLAWD ? export_store(c, &s, name, err)
                               : rp_export_as(c->session, formats[format], sink_write, &s, err);
  rp__progress_clear(&p);
  /* A reader that left wanted no more. */
  if (s.errnum == EPIPE) return 0;
  return s.errnum ? rp__fail_errno(err, s.errnum, "can't write %s", name) : code;
}

static int keep(void *ctx, const void *bytes, size_t n)
{
  struct rp__buf *b = ctx;
  rp__buf_add(b, bytes, n);
  return b->err != 0;
}

/* A transcript that a person reads right here: what was said in it must not drive the terminal. */
static int show(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_CLI_DOC_MAX), safe = RP_BUF(RP_CLI_DOC_MAX);
  int code = rp_export_as(c->session, formats[MARKDOWN], keep, &text, err);
  if (!code) rp__view_lines(c, &safe, text.p, text.n, "");
  return text.err ? rp__out_text(&text, err) : code ? code : rp__out_text(&safe, err);
}

/* It is put in place once it is whole and on the disk. What earlier exports to that folder left that were killed goes.
 */
static int export_file(struct rp__cli *c, const char *path, rp_error *err)
{
  RP_CLEANUP(rp__file_draft_done) struct rp__file_draft d = {.dir = -1, .fd = -1};
  int code = rp__file_draft_open(path, &d, err);
  if (code) return code;
  rp__temps_sweep(d.dir);
  code = export_to(c, d.fd, path, err);
  return code ? code : rp__file_draft_keep(&d, true, err);
}

/* A device or pipe is written to as it is: a file must not take its place. */
static int export_path(struct rp__cli *c, const char *path, rp_error *err)
{
  struct stat st;
  if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s is a symbolic link", path);
  if (lstat(path, &st) || S_ISREG(st.st_mode)) return export_file(c, path, err);
  RP_AUTOCLOSE int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return rp__fail_errno(err, errno, "can't open %s", path);
  return export_to(c, fd, path, err);
}

/* A database that others keep their own things in: only the engine may write into it. */
static int export_database(struct rp__cli *c, const char *path, rp_error *err)
{
  if (!path || strcmp(path, "-") == 0)
    return rp__hinted(err, rp__fail(err, RP_E_USAGE, "the format cortex is a database"),
                      "name it with -o brain.db; its own tables and rows stay as they are");
  int code = rp__cli_attach(c, c->args[0], RP_USE_LOOK, err);
  if (!code) code = rp_output_check(c->engine, "output", path, err);
  return code ? code : rp_export_file(c->session, formats[CORTEX], path, err);
}

/* One session, or many in a format that holds many. */
static int check_which(const struct rp__cli *c, int64_t format, rp_error *err)
{
  bool many = rp__opt_given(c, ALL) || rp__opt_given(c, SCOPE);
  if (rp__opt_given(c, ALL) && rp__opt_given(c, SCOPE))
    return rp__fail_field(err, RP_E_USAGE, "scope", "--all and --scope exclude each other");
  if (many && c->n_args) return rp__fail(err, RP_E_USAGE, "an ID names one session, --all and --scope many");
  if (!many && !c->n_args)
    return rp__hinted(err, rp__fail(err, RP_E_USAGE, "the ID of a session is missing"),
                      "'reprise ls' lists them; --all --format clawd exports all in one file");
  if (many && format != CLAWD)
    return rp__fail_field(err, RP_E_USAGE, "format", "only --format clawd holds many sessions in one file");
  if (rp__opt_given(c, NO_TOKENS) && format != CLAWD)
    return rp__fail_field(err, RP_E_USAGE, "no-tokens", "only --format clawd holds tokens");
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct stat st;
  const char *path = rp__opt_text(c, OUTPUT);
  int64_t format = rp__opt_num(c, FORMAT, REPRISE);
  bool to_stdout = !path || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
  int code = check_which(c, format, err);
  if (code) return code;
  if (format == CORTEX) return export_database(c, path, err);
  /* A transcript is made for reading. */
  bool shows = to_stdout && c->term.out_tty && !rp__opt_given(c, FORCE);
  if (shows && format != MARKDOWN)
    return rp__hinted(err, rp__fail(err, RP_E_USAGE, "this would flood the terminal"),
                      "name a file with -o FILE, or insist with --force");
  code = c->n_args ? rp__cli_attach(c, c->args[0], RP_USE_LOOK, err) : rp__cli_open(c, RP_USE_LOOK, err);
  if (!code && !to_stdout) code = rp_output_check(c->engine, "output", path, err);
  if (code) return code;
  if (shows) return show(c, err);
  /* A folder gets a file named after the session, and an index that tells what lies there. */
  if (!to_stdout && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return rp_export_file(c->session, formats[format], path, err);
  return to_stdout ? export_to(c, STDOUT_FILENO, "the output", err) : export_path(c, path, err);
}

const struct rp__cmd rp__cmd_export = {
    .name = "export",
    .theme = RP_THEME_MOVE,
    .usage = "ID | --all | --scope S",
    .summary = "Write a session to a file, losing nothing",
    .detail = "reprise is lossless. nova is a robot's session.json, clawd a session-store.json, orbitmesh a\n"
              "snapshot (.json.gz), cortex a row in a brain.db, which may exist; markdown is for people. A file of\n"
              "clawd holds the tokens of running agents and the secret they know: keep it like a password.",
    .example = "  $ reprise export kitchen-chat -o kitchen.reprise\n"
               "  $ reprise export kitchen-chat --format markdown | less\n"
               "  $ reprise export --all --format clawd -o session-store.json\n",
    RP_ARGS(RP_ARG_SESSION, 0, 1),
    RP_OPTS(opts),
    .run = run,
};
