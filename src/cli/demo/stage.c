/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's stage: scenes, pauses, and lines in colour. */
#include <stdarg.h>
#include <time.h>

#include "base/text.h"
#include "base/ticks.h"
#include "cli/demo/demo.h"
#include "cli/term.h"

#define LETTER_MS 7

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

static const char *colour_of(const char *who)
{
  return strcmp(who, "you") == 0 ? RP_GREEN : strcmp(who, "tool") == 0 ? RP_YELLOW : RP_CYAN;
}

void rp__stage_say(const struct rp__stage *s, const char *who, const char *text)
{
  printf("  %s%-9s%s ", RP_SGR(s->colour, colour_of(who)), who, RP_RESET(s->colour));
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

int64_t rp__demo_now_us(void)
{
  return rp__ticks_us();
}

bool rp__demo_send(const struct rp__demo_note *note)
{
  return write(RP_DEMO_FD, note, sizeof(*note)) == (ssize_t)sizeof(*note);
}
