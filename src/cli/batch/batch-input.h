/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of bounded length from a descriptor, without copying them. */
#ifndef RP_CLI_BATCH_INPUT_H
#define RP_CLI_BATCH_INPUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

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

#endif
