/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise redact`: show what would be masked, or mask what was stored before. */
#include <errno.h>
#include <fcntl.h>

#include "cli/out.h"
#include "cli/term.h"

#define TEXT_MAX (64 * 1024 * 1024)
#define SECRET_MAX 65536

enum { CHECK, STRICT, APPLY, TEXT_FILE, DRY_RUN };

static const struct rp__opt opts[] = {
    [CHECK] = {"check", 0, RP_OPT_TEXT, "FILE", "show what would be masked in a file, or, with -, in stdin"},
    [STRICT] = {"strict", 0, RP_OPT_FLAG, NULL, "with --check: exit 8 when anything was found"},
    [APPLY] = {"apply", 0, RP_OPT_TEXT, "ID", "mask a session again, and everything made from it"},
    [TEXT_FILE] = {"text-file", 0, RP_OPT_TEXT, "FILE", "with --apply: also mask the text in this file, or in stdin"},
    [DRY_RUN] = {"dry-run", 0, RP_OPT_FLAG, NULL, "with --apply: only count"},
};

static int read_all(const char *path, size_t max, struct rp__buf *ret, rp_error *err)
{
  bool from_stdin = strcmp(path, "-") == 0;
  RP_AUTOCLOSE int opened = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  int fd = from_stdin ? STDIN_FILENO : opened;
  if (fd < 0) return rp__fail_errno(err, errno, "can't open %s", path);
  int code = rp__read_all(fd, ret);
  if (code == RP_E_NOMEM) return rp__fail_nomem(err);
  if (code == RP_E_TOO_LARGE) return rp__fail(err, code, "%s is larger than %zu bytes", path, max);
  if (code) return rp__fail_errno(err, errno, "can't read %s", path);
  rp__buf_str(ret, "");
  return ret->err ? rp__fail_nomem(err) : 0;
}

/* ---- check ---------------------------------------------------------------- */

struct findings {
  const struct rp__cli *c;
  const char *name, *text;
  size_t at, line, column; /* up to where lines were counted, and where that is; both from 1 */
  int64_t n;
  struct rp__jw w;
};

static int finding(void *ctx, const rp_secret *s)
{
  struct findings *f = ctx;
  /* Columns count characters, as editors do. */
  for (; f->at < s->start; f->at++) {
    if (f->text[f->at] == '\n')
      f->line++, f->column = 1;
    else if (((unsigned char)f->text[f->at] & 0xc0) != 0x80)
      f->column++;
  }
  f->n++;
  if (!rp__json_wanted(f->c)) {
    fprintf(stderr, "%s:%zu:%zu: %s\n", f->name, f->line, f->column, s->kind);
    return 0;
  }
  rp__jw_pack(&f->w, "{kind:s line:i column:i start:i end:i}", s->kind, (int64_t)f->line, (int64_t)f->column,
              (int64_t)s->start, (int64_t)s->end);
  return f->w.out->err;
}

static int check(struct rp__cli *c, rp_error *err)
{
  const char *path = rp__opt_text(c, CHECK);
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX), doc = RP_BUF(RP_CLI_DOC_MAX * 2);
  RP_AUTOTEXT char *masked = NULL;
  int code = read_all(path, TEXT_MAX, &text, err);
  /* The patterns come from the configuration, not from the store. */
  if (!code) code = rp__cli_open_db(c, "memory:", RP_USE_WRITE, err);
  if (code) return code;
  struct findings f = {.c = c, .name = strcmp(path, "-") ? path : "stdin", .text = text.p, .line = 1, .column = 1};
  f.w = RP_JW(&doc);
  rp__jw_pack(&f.w, "{file:s secrets:[", f.name);
  code = rp_redact_check(c->engine, text.p, text.n, finding, &f, &masked, err);
  if (!code) rp__jw_pack(&f.w, "] text:s}", masked);
  if (!code && rp__json_wanted(c))
    code = rp__out_buf(c, &doc, err);
  else if (!code)
    fputs(masked, stdout);
  if (!code && f.n && rp__opt_given(c, STRICT))
    code = rp__fail(err, RP_E_REFUSED, "%lld %s found", (long long)f.n, f.n == 1 ? "secret" : "secrets");
  return code;
}

/* ---- apply ---------------------------------------------------------------- */

/* What a secret was typed as into a file: the line break behind it is not part of it. */
static int read_secret(const char *path, struct rp__buf *ret, rp_error *err)
{
  int code = read_all(path, SECRET_MAX, ret, err);
  if (code) return code;
  while (ret->n > 0 && (ret->p[ret->n - 1] == '\n' || ret->p[ret->n - 1] == '\r')) ret->p[--ret->n] = '\0';
  if (ret->n == 0 || strlen(ret->p) != ret->n) return rp__fail(err, RP_E_USAGE, "%s holds no text to mask", path);
  return 0;
}

static int apply(struct rp__cli *c, rp_error *err)
{
  struct rp__progress p = RP_PROGRESS(c, "masking");
  RP_AUTOBUF struct rp__buf secret = RP_BUF(SECRET_MAX + 65536);
  const char *file = rp__opt_text(c, TEXT_FILE);
  RP_AUTOTEXT char *json = NULL;
  int code = file ? read_secret(file, &secret, err) : 0;
  if (!code) code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code)
    code = rp_redact_session(c->engine, rp__opt_text(c, APPLY), secret.p, rp__opt_given(c, DRY_RUN), rp__progress_step,
                             &p, &json, err);
  rp__progress_clear(&p);
  if (!code) code = rp__out_fields(c, json, err);
  if (secret.p) explicit_bzero(secret.p, secret.n);
  return code;
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool checks = rp__opt_given(c, CHECK);
  if (checks == rp__opt_given(c, APPLY)) return RP_USAGE(c, err, "it needs --check FILE or --apply ID");
  if (checks && (rp__opt_given(c, TEXT_FILE) || rp__opt_given(c, DRY_RUN)))
    return RP_USAGE(c, err, "--text-file and --dry-run belong to --apply");
  if (!checks && rp__opt_given(c, STRICT)) return RP_USAGE(c, err, "--strict belongs to --check");
  return checks ? check(c, err) : apply(c, err);
}

const struct rp__cmd rp__cmd_redact = {
    .name = "redact",
    .theme = RP_THEME_CARE,
    .usage = "--check FILE | --apply ID",
    .summary = "Show what would be masked, or mask what was stored before",
    .detail = "Credentials are masked before anything is stored. --check prints a text as it would be kept,\n"
              "and on stderr where each secret stands and what it looks like; it exits 0, or, with --strict,\n"
              "8 when there was one. --apply masks a stored session again with the patterns of today: events,\n"
              "snapshots, record, mirror, search and memories. With --text-file, so that no shell remembers\n"
              "it, a secret that no pattern knows is masked too.",
    .example = "  $ echo 'password=hunter2' | reprise redact --check -\n"
               "  stdin:1:10: assignment\n"
               "  password=[REDACTED]\n"
               "  $ reprise redact --apply kitchen-chat --text-file found.txt --dry-run\n",
    RP_OPTS(opts),
    .run = run,
};
