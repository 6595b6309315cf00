/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise demo`: watch an agent being killed with -9, and coming back. */
#include <stdarg.h>
#include <time.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/demo/demo.h"
#include "cli/term.h"

#define LETTER_MS 7

enum { FAST, KEEP };

static const struct rp__opt opts[] = {
    [FAST] = {"fast", 0, RP_OPT_FLAG, NULL, "without the pauses, which only a terminal gets"},
    [KEEP] = {"keep", 0, RP_OPT_FLAG, NULL, "leave the databases behind, to look around in them"},
};

/* ---- the stage ---- */

struct rp__stage rp__stage(const struct rp__cli *c, bool fast)
{
  /* Without a terminal nobody watches. */
  return (struct rp__stage){.fast = fast || !c->term.out_tty, .colour = c->term.out_colour};
}

void rp__stage_pause(const struct rp__stage *s, int ms)
{
  struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
  fflush(stdout);
  if (!s->fast) nanosleep(&ts, NULL);
}

void rp__stage_scene(const struct rp__stage *s, const char *title)
{
  printf("\n%s── %s ", RP_SGR(s->colour, RP_BOLD), title);
  for (int i = rp__term_columns(title, strlen(title)); i < 60; i++) fputs("─", stdout);
  printf("%s\n\n", RP_RESET(s->colour));
  rp__stage_pause(s, 300);
}

void rp__stage_say(const struct rp__stage *s, const char *who, const char *text)
{
  const char *colour = strcmp(who, "you") == 0 ? RP_GREEN : strcmp(who, "tool") == 0 ? RP_YELLOW : RP_CYAN;
  printf("  %s%-9s%s ", RP_SGR(s->colour, colour), who, RP_RESET(s->colour));
  while (*text) {
    size_t n = strlen(text);
    size_t part = s->fast ? n : RP_MAX(rp__text_clip(text, RP_MIN(n, 2)), 1);
    fwrite(text, 1, part, stdout);
    rp__stage_pause(s, LETTER_MS * (int)part);
    text += part;
  }
}

void rp__stage_fact(const struct rp__stage *s, const char *label, const char *fmt, ...)
{
  char text[512];
  va_list args;
  va_start(args, fmt);
  rp__text_vformat(text, sizeof(text), fmt, args);
  va_end(args);
  printf("  %s%-9s%s %s\n", RP_SGR(s->colour, RP_DIM), label, RP_RESET(s->colour), text);
  rp__stage_pause(s, 120);
}

/* ---- the command ---- */

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

static int run(struct rp__cli *c, rp_error *err)
{
  static const char *const acts[] = {"crash", "robot", "coder", NULL};
  const char *act = c->n_args ? c->args[0] : acts[0];
  RP_AUTOCLOSE int signals = -1;
  struct rp__demo d = {.c = c, .stage = rp__stage(c, rp__opt_given(c, FAST))};
  size_t i = 0;
  while (acts[i] && strcmp(acts[i], act) != 0) i++;
  if (!acts[i]) {
    rp__fail(err, RP_E_USAGE, "there is no act '%s'", act);
    rp__hint_near(err, act, acts, "one of crash, robot, coder; none is crash");
    return RP_E_USAGE;
  }
  /* An interrupt ends the act; we notice, and still clean up. */
  int code = rp__signals_open(&signals, err);
  if (code) return code;
  d.signals = signals;
  code = prepare(&d, err);
  snprintf(d.db, sizeof(d.db), "sqlite:%s/%s.db", d.dir.path, act);
  if (!code) code = i == 0 ? rp__demo_crash(&d, err) : rp__demo_play(&d, act, err);
  rp__cli_done(c);
  if (rp__opt_given(c, KEEP))
    printf("\nkept: reprise --db %s ls\n", d.db);
  else
    rp__tempdir_remove(&d.dir);
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
