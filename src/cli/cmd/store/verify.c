/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise verify`: read everything, or one session, and report what is damaged. */
#include "cli/out.h"
#include "cli/term.h"

enum { REPAIR, ACCEPT };

static const struct rp__opt opts[] = {
    [REPAIR] = {"repair", 0, RP_OPT_FLAG, NULL, "mend what can be mended without inventing anything"},
    [ACCEPT] = {"accept", 0, RP_OPT_FLAG, NULL, "end the alarm of a loss that can't be undone, then verify"},
};

struct findings {
  const struct rp__cli *c;
  int64_t repaired, notes;
  struct rp__progress progress;
  struct rp__jw w;
};

static int finding(void *ctx, const rp_finding *f)
{
  struct findings *fs = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  bool colour = fs->c->term.out_colour;
  rp__progress_clear(&fs->progress);
  fs->repaired += f->repaired;
  fs->notes += f->note;
  if (rp__json_wanted(fs->c)) {
    rp__jw_pack(&fs->w, "{session_id:s seq:?i what:s repaired:b note:?b}", f->session_id, f->seq, f->what, f->repaired,
                f->note);
    return 0;
  }
  const char *word = f->note ? "note    " : f->repaired ? "repaired" : "damaged ";
  rp__buf_printf(&line, "%s%s%s  %s", RP_SGR(colour, f->repaired ? RP_GREEN : RP_RED), word, RP_RESET(colour),
                 f->session_id ? f->session_id : "store");
  if (f->seq) rp__buf_printf(&line, "  %lld", (long long)f->seq);
  rp__buf_str(&line, "  ");
  rp__term_cut(&line, f->what, strlen(f->what), 0);
  rp__out_line(&line, NULL);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool repair = rp__opt_given(c, REPAIR), accept = rp__opt_given(c, ACCEPT);
  struct findings fs = {.c = c, .progress = RP_PROGRESS(c, "verifying")};
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  fs.w = RP_JW(&doc);
  rp__jw_pack(&fs.w, "{findings:[");
  int code = rp__cli_open(c, repair || accept ? RP_USE_MEND : RP_USE_READ, err);
  if (!code && accept) code = rp_accept_loss(c->engine, err);
  if (code) return code;
  const char *ref = c->n_args ? c->args[0] : NULL;
  code = rp_verify(c->engine, ref, repair, finding, &fs, rp__progress_step, &fs.progress, err);
  rp__progress_clear(&fs.progress);
  if (code == RP_E_CORRUPT && !err->hint[0] && !repair) rp__hint(err, "'reprise verify --repair' mends what it can");
  if (rp__json_wanted(c)) {
    rp__jw_pack(&fs.w, "] ok:b}", code == 0);
    rp_error e = {0};
    int printed = rp__out_buf(c, &doc, code ? &e : err);
    return code ? code : printed;
  }
  if (!code) printf("ok%s%s\n", fs.repaired ? ", after repairs" : "", fs.notes ? ", but see the notes" : "");
  return code;
}

const struct rp__cmd rp__cmd_verify = {
    .name = "verify",
    .theme = RP_THEME_CARE,
    .usage = "[ID]",
    .summary = "Read everything, or one session, and report what is damaged",
    .detail = "Exit code 5 when something is left that is damaged, or when the database's log lost\n"
              "what had been acknowledged as disk: --accept ends that alarm, it brings nothing back.",
    .example = "  $ reprise verify\n"
               "  ok\n",
    RP_ARGS(RP_ARG_SESSION, 0, 1),
    RP_OPTS(opts),
    .run = run,
};
