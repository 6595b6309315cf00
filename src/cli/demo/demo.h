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
#include "cli/tempdir.h"

#define RP_DEMO_KEY "harbour-light"
#define RP_DEMO_SCOPE "demo"
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
  char config[300]; /* its own: the demo is the same everywhere */
  int signals;
};
/* The database of an act: "sqlite:PATH". */
void rp__demo_db(const struct rp__demo *d, const char *act, char *out, size_t n);
RP_MUST_USE int rp__demo_crash(struct rp__demo *d, rp_error *err);
RP_MUST_USE int rp__demo_robot(struct rp__demo *d, rp_error *err);
RP_MUST_USE int rp__demo_coder(struct rp__demo *d, rp_error *err);

/* ---- demo-act.c: acts played in this process ---- */

struct rp__act {
  struct rp__demo *demo;
  char db[320];
  const char *scope;
  char *reasons; /* what `brief --explain` said right before the start */
  rp_error *err;
};
void rp__act_done(struct rp__act *a);

/* One thing that happens. */
struct rp__step {
  const char *who;  /* "you" or a name: a message; else what stands before the text */
  const char *kind; /* NULL: a message */
  const char *body; /* of the event; NULL for a message */
  const char *text; /* what is shown, and what a message says */
  int wait_s;       /* how much later */
};

/* Sets the clock, closing what was open, asks why, and starts a session in the act's scope. */
int rp__act_start(struct rp__act *a, int64_t at_ms, const char *topics);
int rp__act_play(struct rp__act *a, const struct rp__step *steps, size_t n);
int rp__act_remember(struct rp__act *a, const char *text, double confidence);
int rp__act_end(struct rp__act *a);
/* What the start said: restart, what was inherited, and the brief in full. */
int rp__act_tell_start(struct rp__act *a);
/* A part of the state: mood and levels, or what is pinned. */
int rp__act_tell_mood(struct rp__act *a);
int rp__act_tell_pins(struct rp__act *a);
/* Why the brief is as it is. */
int rp__act_tell_reasons(struct rp__act *a);

int64_t rp__demo_now_us(void);
bool rp__demo_send(const struct rp__demo_note *note);

#endif
