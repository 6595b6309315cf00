/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cli/out.h"
#include "cli/term.h"

enum { FORMAT };

static const char *const formats[] = {"reprise", NULL};

static const struct rp__opt opts[] = {
    [FORMAT] = {"format", 0, RP_OPT_CHOICE, "F", "the format", formats},
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

static int run(struct rp__cli *c, rp_error *err)
{
  struct source s = {.fd = STDIN_FILENO};
  if (strcmp(c->args[0], "-") == 0) return import(c, &s, "the input", err);
  RP_AUTOCLOSE int fd = open(c->args[0], O_RDONLY | O_CLOEXEC);
  if (fd < 0) return rp__fail_errno(err, errno, "can't open %s", c->args[0]);
  s.fd = fd;
  return import(c, &s, c->args[0], err);
}

const struct rp__cmd rp__cmd_import = {
    .name = "import",
    .theme = RP_THEME_MOVE,
    .usage = "FILE|-",
    .summary = "Take in a session that was exported",
    .example = "  $ reprise export last | ssh other-host reprise import -\n"
               "  {\"session_id\":\"0197…\"}\n",
    .arg = RP_ARG_FILE,
    .min_args = 1,
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
