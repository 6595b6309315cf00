/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo: three acts, each on a throwaway database. In the first act a director
 * (`demo`) starts and kills agents (`demo-agent`), each of them a process. The other
 * acts run in this process with a clock that can be moved. The spoken lines are
 * scripted; every fact shown is read from the database or measured.
 */
#ifndef RP_CLI_DEMO_H
#define RP_CLI_DEMO_H

#include "cli/cli.h"

#define RP_DEMO_KEY "harbour-light"
#define RP_DEMO_FD 3 /* where an agent finds its director */

/* What an agent tells its director, through a socket, in this machine's own form. */
enum rp__demo_what {
  RP_DEMO_ACK,      /* an event is durable */
  RP_DEMO_MID_TURN, /* a tool is running and the agent is in the middle of a sentence */
  RP_DEMO_BACK,     /* resumed; waits for a word to go on */
};
struct rp__demo_note {
  int64_t what, seq, us;
};

/* The stage: where things are shown, and how fast. */
struct rp__stage {
  bool fast, colour;
};
struct rp__stage rp__stage(const struct rp__cli *c, bool fast);
void rp__stage_pause(const struct rp__stage *s, int ms);
/* A heading. */
void rp__stage_scene(const struct rp__stage *s, const char *title);
/* A label in colour, then text, letter by letter; no end of line. */
void rp__stage_say(const struct rp__stage *s, const char *who, const char *text);
/* "  label  text" at once, with an end of line. */
void rp__stage_fact(const struct rp__stage *s, const char *label, const char *fmt, ...) RP_PRINTF(3, 4);

/* What the acts share. */
struct rp__demo {
  struct rp__cli *c;
  struct rp__stage stage;
  struct rp__tempdir dir;
  char db[320];     /* of the act: "sqlite:PATH" */
  char config[300]; /* its own: the demo is the same everywhere */
  int signals;
};
RP_MUST_USE int rp__demo_crash(struct rp__demo *d, rp_error *err);
/* The acts of a script: robot and coder. */
RP_MUST_USE int rp__demo_play(struct rp__demo *d, const char *name, rp_error *err);

#endif
