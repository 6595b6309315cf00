/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise rm`: put a session in the trash, or delete it for good. */
#include "cli/out.h"
#include "cli/term.h"

enum { NOW, YES, REASON };

static const struct rp__opt opts[] = {
    [NOW] = {"now", 0, RP_OPT_FLAG, NULL, "delete it for good instead, after asking"},
    [YES] = {"yes", 'y', RP_OPT_FLAG, NULL, "do not ask"},
    [REASON] = {"reason", 0, RP_OPT_TEXT, "R", "why, for the audit log"},
};

static int ask(const struct rp__cli *c, const struct rp__subject *s, rp_error *err)
{
  char size[32], question[RP_ID_MAX + 160];
  if (rp__opt_given(c, YES)) return 0;
  rp__size_format(s->bytes, size, sizeof(size));
  snprintf(question, sizeof(question), "Delete session %s (%lld events, %s) for good?", s->id, (long long)s->events,
           size);
  return rp__cli_confirm(c, question, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct rp__subject s = {0};
  char moment[RP_MOMENT_TEXT];
  int64_t until;
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code) code = rp__subject_find(c, c->args[0], false, &s, err);
  if (code) return code;
  if (rp__opt_given(c, NOW)) {
    code = ask(c, &s, err);
    if (!code) code = rp_purge(c->engine, s.id, true, err);
    if (code) return code;
    if (rp__json_wanted(c)) return RP_OUT_PACK(c, err, "{session_id:s deleted:b}", s.id, true);
    printf("deleted %s for good\n", s.id);
    return 0;
  }
  code = rp_trash(c->engine, s.id, rp__opt_text(c, REASON), err);
  if (!code) code = rp__subject_find(c, s.id, true, &s, err);
  if (!code) code = rp__trash_until(c, s.scope, s.trashed_at, &until, err);
  if (code) return code;
  if (rp__json_wanted(c)) return RP_OUT_PACK(c, err, "{session_id:s trashed_at:t until:t}", s.id, s.trashed_at, until);
  printf("%s is in the trash; until %s 'reprise untrash %s' takes it back\n", s.id, rp__moment_format(c, until, moment),
         s.id);
  return 0;
}

const struct rp__cmd rp__cmd_rm = {
    .name = "rm",
    .theme = RP_THEME_CARE,
    .usage = "ID",
    .summary = "Put a session in the trash, or delete it for good",
    .detail =
        "From the trash it can be taken back until trash_days have passed and 'gc' runs. With --now it is gone at\n"
        "once: journal, snapshots, record and its files. A session that somebody lives in stays (exit code 4), and\n"
        "so does one on hold (exit code 8). Each deletion leaves a record in the audit log.",
    .example =
        "  $ reprise rm kitchen-chat\n"
        "  0197a3c2-5b1e-7… is in the trash; until 2026-02-07 12:00:00 CET 'reprise untrash 0197a3c2-5b1e-7…' takes "
        "it back\n"
        "  $ reprise rm kitchen-chat --now --yes\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
