/* SPDX-License-Identifier: Apache-2.0 */
/* Events as JSON lines in, acknowledgements as JSON lines out, in the same order. */
#ifndef RP_CLI_BATCH_H
#define RP_CLI_BATCH_H

#include "cli/cli.h"

#define RP_BATCH_WINDOW 2048                /* lines taken and not yet answered */
#define RP_BATCH_LINE_MAX (4 * 1024 * 1024) /* bytes of one line */

/* Lines of bounded length from a descriptor, without copying them. */
struct rp__input {
  int fd;
  size_t line_max;
  struct rp__buf buf;
  size_t start, scanned; /* the first byte not yet handed out; up to where no newline was found */
  int64_t line;          /* number of the line handed out last */
  bool skipping, ended;
};

/* Takes what there is (blocking if there is nothing). Sets `ended` at the end. */
RP_MUST_USE int rp__input_fill(struct rp__input *in, rp_error *err);
/*
 * The next whole line, valid until the next fill. False when there is none yet.
 * A line over the maximum is handed out once, with a NULL pointer, and skipped.
 */
bool rp__input_next(struct rp__input *in, struct rp__str *ret);
/* Makes the last line be handed out again. */
void rp__input_unread(struct rp__input *in, struct rp__str line);
void rp__input_done(struct rp__input *in);

/* One line, read. The texts live in the struct until the next reading. */
struct rp__batch_line {
  rp_event event;
  struct rp__buf kind, key;
};
RP_MUST_USE int rp__batch_line_read(struct rp__batch_line *l, const char *line, size_t n, rp_error *err);
void rp__batch_line_done(struct rp__batch_line *l);

/*
 * Appends what comes on descriptor `in` to the attached session until its end, a
 * signal, a failing store or a reader that left. Returns the code of the first
 * error, whose line was printed in its place. `signals` is from rp__signals_open.
 */
RP_MUST_USE int rp__batch_run(struct rp__cli *c, int in, const rp_append_options *o, int signals, rp_error *err);

#endif
