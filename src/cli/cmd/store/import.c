/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise import`: import sessions that were exported, or that other programs kept. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cli/out.h"
#include "cli/term.h"

enum { FORMAT, SCOPE, DRY_RUN };
enum { REPRISE, NOVA, CLAWD, ORBITMESH, CORTEX };

static const char *const formats[] = {
    [REPRISE] = "reprise", [NOVA] = "nova", [CLAWD] = "clawd", [ORBITMESH] = "orbitmesh", [CORTEX] = "cortex", NULL,
};

static const struct rp__opt opts[] = {
    [FORMAT] = {"format", 0, RP_OPT_CHOICE, "F", "the format (default told from the content)", formats},
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "whose sessions they become (other formats than reprise)"},
    [DRY_RUN] = {"dry-run", 0, RP_OPT_FLAG, NULL, "only tell what would come in (other formats than reprise)"},
};

struct source {
  int fd, errnum;
  int64_t done, total; /* bytes; total 0 when it can't be known */
  struct rp__progress progress;
};

static long source_read(void *ctx, void *bytes, size_t n)
{
  struct source *s = ctx;
  ssize_t k;
  do k = read(s->fd, bytes, n);
  while (k < 0 && errno == EINTR);
  if (k < 0)
    s->errnum = errno;
  else
    s->done += k;
  rp__progress_step(&s->progress, s->done, s->total);
  return (long)k;
}

static int import(struct rp__cli *c, struct source *s, const char *name, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  struct rp__jw w = RP_JW(&b);
  char id[RP_ID_MAX + 1];
  struct stat st;
  if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode)) s->total = st.st_size;
  s->progress = RP_PROGRESS(c, "importing");
  int code = rp__cli_open(c, RP_USE_WRITE, err);
  if (!code) code = rp_import(c->engine, source_read, s, NULL, NULL, id, err);
  rp__progress_clear(&s->progress);
  if (s->errnum) return rp__fail_errno(err, s->errnum, "can't read %s", name);
  if (code) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", id);
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

/* ---- what others wrote ---------------------------------------------------- */

struct taken {
  struct rp__cli *c;
  struct rp__progress progress;
  int64_t tokens;
  int64_t n, skipped, refused; /* skipped: there already; refused: they can't be understood */
  rp_error *err;
};

static void item_json(struct rp__buf *line, const rp_import_item *i)
{
  struct rp__jw w = RP_JW(line);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", i->session_id);
  rp__jw_kstr(&w, "name", i->name);
  rp__jw_ki64(&w, "events", i->events);
  rp__jw_kbool(&w, "skipped", i->skipped);
  rp__jw_kstr(&w, "why", i->why);
  if (i->token) rp__jw_kbool(&w, "token", true);
  rp__jw_end_object(&w);
}

static void item_line(const struct rp__cli *c, struct rp__buf *line, const rp_import_item *i)
{
  bool colour = c->term.out_colour;
  const char *verdict = !i->skipped ? "taken" : i->session_id ? "skipped" : "refused";
  rp__buf_printf(line, "%s%-8s%s ", RP_SGR(colour, i->skipped ? RP_DIM : RP_GREEN), verdict, RP_RESET(colour));
  rp__term_cell(line, i->session_id ? i->session_id : "-", 36);
  rp__buf_printf(line, "  %6lld events", (long long)i->events);
  if (i->name) {
    rp__buf_str(line, "  ");
    rp__term_cut(line, i->name, strlen(i->name), 0);
  }
  if (i->why) {
    rp__buf_str(line, "  (");
    rp__term_cut(line, i->why, strlen(i->why), 0);
    rp__buf_char(line, ')');
  }
}

static int item(void *ctx, const rp_import_item *i)
{
  struct taken *t = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(65536);
  rp__progress_clear(&t->progress);
  t->n++;
  t->tokens += i->token;
  t->skipped += i->skipped && i->session_id;
  t->refused += i->skipped && !i->session_id;
  if (rp__json_wanted(t->c))
    item_json(&line, i);
  else
    item_line(t->c, &line, i);
  return rp__out_line(&line, t->err);
}

static void tell_sum(const struct taken *t, bool dry_run)
{
  int64_t in = t->n - t->skipped - t->refused;
  fprintf(stderr, "%lld %s%s, %lld skipped", (long long)in, in == 1 ? "session" : "sessions",
          dry_run ? " would be taken in" : " taken in", (long long)t->skipped);
  if (t->refused) fprintf(stderr, ", %lld refused", (long long)t->refused);
  fputc('\n', stderr);
  if (t->tokens && !dry_run)
    fprintf(stderr, "agents come in with the tokens they hold; %s is as secret as these: delete it, or keep it 0600\n",
            t->c->args[0]);
}

static int import_foreign(struct rp__cli *c, rp_error *err)
{
  struct taken t = {.c = c, .progress = RP_PROGRESS(c, "importing"), .err = err};
  const rp_import_options o = {
      .format = rp__opt_text(c, FORMAT),
      .scope = rp__opt_text(c, SCOPE),
      .dry_run = rp__opt_given(c, DRY_RUN),
  };
  int code = rp__cli_open(c, RP_USE_WRITE, err);
  if (!code) code = rp_import_file(c->engine, c->args[0], &o, item, &t, rp__progress_step, &t.progress, err);
  rp__progress_clear(&t.progress);
  if ((!code || t.n) && !rp__json_wanted(c) && !c->globals[RP_G_QUIET].count) tell_sum(&t, o.dry_run);
  return code;
}

/* ---- which way ------------------------------------------------------------ */

/* An export of our own begins with its name; reading ahead must not take anything from a pipe, which is read as one. */
static bool looks_ours(int fd)
{
  static const char mark[] = "{\"reprise\":";
  char head[sizeof(mark) - 1];
  ssize_t n = pread(fd, head, sizeof(head), 0);
  return n < 0 || ((size_t)n == sizeof(head) && memcmp(head, mark, sizeof(head)) == 0);
}

static int check_ours(const struct rp__cli *c, rp_error *err)
{
  if (!rp__opt_given(c, SCOPE) && !rp__opt_given(c, DRY_RUN)) return 0;
  return rp__fail(err, RP_E_USAGE, "an export of reprise knows its scope, and comes in whole or not at all");
}

static int import_stdin(struct rp__cli *c, rp_error *err)
{
  struct source s = {.fd = STDIN_FILENO};
  if (rp__opt_num(c, FORMAT, REPRISE) != REPRISE) {
    rp__fail(err, RP_E_USAGE, "the format %s is read from a file", rp__opt_text(c, FORMAT));
    return RP_E_USAGE;
  }
  int code = check_ours(c, err);
  return code ? code : import(c, &s, "the input", err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct source s = {0};
  if (strcmp(c->args[0], "-") == 0) return import_stdin(c, err);
  if (rp__opt_num(c, FORMAT, REPRISE) != REPRISE) return import_foreign(c, err);
  RP_AUTOCLOSE int fd = open(c->args[0], O_RDONLY | O_CLOEXEC);
  if (fd < 0) return rp__fail_errno(err, errno, "can't open %s", c->args[0]);
  bool ours = rp__opt_given(c, FORMAT) || looks_ours(fd);
  if (!ours) return import_foreign(c, err);
  s.fd = fd;
  int code = check_ours(c, err);
  return code ? code : import(c, &s, c->args[0], err);
}

const struct rp__cmd rp__cmd_import = {
    .name = "import",
    .theme = RP_THEME_MOVE,
    .usage = "FILE|-",
    .summary = "Take in sessions that were exported, or that others kept",
    .detail = "Understands nova's session.json, clawd's session-store.json, orbitmesh's snapshots (.json.gz)\n"
              "and a Cortex brain.db. What is there already is skipped; with --json one line per session.",
    .example = "  $ reprise export last | ssh other-host reprise import -\n"
               "  {\"session_id\":\"0197…\"}\n"
               "  $ reprise import ~/.openclaw/workspace/memory/brain.db --scope openclaw --dry-run\n",
    .arg = RP_ARG_FILE,
    .min_args = 1,
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
