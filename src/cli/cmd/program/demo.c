/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise demo`: watch an agent being killed with -9, and coming back. */
#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "cli/demo/demo.h"
#include "cli/signals.h"
#include "cli/term.h"

enum { FAST, KEEP };

static const struct rp__opt opts[] = {
    [FAST] = {"fast", 0, RP_OPT_FLAG, NULL, "without the pauses, which only a terminal gets"},
    [KEEP] = {"keep", 0, RP_OPT_FLAG, NULL, "leave the databases behind, to look around in them"},
};

static const struct {
  const char *name;
  int (*play)(struct rp__demo *d, rp_error *err);
} acts[] = {{"crash", rp__demo_crash}, {"robot", rp__demo_robot}, {"coder", rp__demo_coder}};

void rp__demo_db(const struct rp__demo *d, const char *act, char *out, size_t n)
{
  snprintf(out, n, "sqlite:%s/%s.db", d->dir.path, act);
}

static int prepare(struct rp__demo *d, rp_error *err)
{
  static const char config[] = "[scope nova]\ntemplate = robot\n\n[scope workbench]\ntemplate = coder\n";
  int code = rp__tempdir_make(&d->dir, "demo", "/tmp", err);
  if (code) return code;
  snprintf(d->config, sizeof(d->config), "%s/reprise.ini", d->dir.path);
  code = rp__file_write(d->config, config, strlen(config), err);
  if (code) return code;
  d->c->globals[RP_G_CONFIG] = (struct rp__value){.text = d->config, .count = 1};
  printf("%sreprise demo%s   scripted talk, real processes, measured numbers; in %s\n",
         RP_SGR(d->stage.colour, RP_BOLD), RP_RESET(d->stage.colour), d->dir.path);
  return 0;
}

static bool wanted(const struct rp__cli *c, const char *act)
{
  return strcmp(c->n_args == 0 ? acts[0].name : c->args[0], act) == 0;
}

static int play(struct rp__demo *d, rp_error *err)
{
  int code = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(acts) && !code; i++)
    if (wanted(d->c, acts[i].name)) code = acts[i].play(d, err);
  return code;
}

static void leave(struct rp__demo *d)
{
  if (!rp__opt_given(d->c, KEEP)) {
    rp__tempdir_remove(&d->dir);
    return;
  }
  putchar('\n');
  for (size_t i = 0; i < RP_ARRAY_SIZE(acts); i++) {
    char db[320];
    rp__demo_db(d, acts[i].name, db, sizeof(db));
    if (wanted(d->c, acts[i].name)) printf("kept: reprise --db %s ls\n", db);
  }
}

static int check(const struct rp__cli *c, rp_error *err)
{
  const char *names[RP_ARRAY_SIZE(acts) + 1] = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(acts); i++) {
    names[i] = acts[i].name;
    if (wanted(c, acts[i].name)) return 0;
  }
  rp__fail(err, RP_E_USAGE, "there is no act '%s'", c->args[0]);
  const char *near = rp__suggest(c->args[0], names);
  if (near)
    rp__hint(err, "did you mean '%s'?", near);
  else
    rp__hint(err, "one of crash, robot, coder; none is crash");
  return RP_E_USAGE;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOCLOSE int signals = -1;
  struct rp__demo d = {.c = c, .stage = rp__stage(c, rp__opt_given(c, FAST))};
  int code = check(c, err);
  /* An interrupt ends the act; we notice, and still clean up. */
  if (!code) code = rp__signals_open(&signals, err);
  if (code) return code;
  d.signals = signals;
  code = prepare(&d, err);
  if (!code) code = play(&d, err);
  rp__cli_done(c);
  leave(&d);
  return code;
}

const struct rp__cmd rp__cmd_demo = {
    .name = "demo",
    .theme = RP_THEME_MORE,
    .usage = "[crash|robot|coder]",
    .summary = "Watch an agent being killed with -9, and coming back",
    .detail = "On a throwaway database. crash (the default, about ten seconds): two real processes, a real SIGKILL in\n"
              "the middle of a turn. robot: hurt, asleep for two hours, and glad to see its person. coder: back\n"
              "after 48 hours with pins, tasks and topics. The talk is scripted and the hours are skipped by a\n"
              "clock; every number is measured and every memory is read back from the journal.",
    .example = "  $ reprise demo\n"
               "  $ reprise demo robot --fast\n",
    .words = "crash robot coder",
    RP_ARGS(RP_ARG_NONE, 0, 1),
    RP_OPTS(opts),
    .reopens = true,
    .run = run,
};
