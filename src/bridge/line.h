/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON text per line, as ACP, MCP and streams of hooks send them. Bytes go in as they arrive; lines come out
 * without their end (LF or CRLF). Blank lines are skipped, unless the reader wants lines exactly as they came. Bytes
 * behind the last line end are a line too, once the peer has closed.
 */
#ifndef RP_BRIDGE_LINE_H
#define RP_BRIDGE_LINE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

#define RP_LINE_MAX ((size_t)64 * 1024 * 1024) /* bytes of a line; the kits' own limit is 32 MiB */
#define RP_LINE_KEEP ((size_t)1024 * 1024)     /* memory of a longer line is given back after it */

struct rp__lines {
  struct rp__buf buf;
  size_t at;      /* where the next line begins */
  size_t scanned; /* no end before here */
  bool whole;     /* set by whoever passes them on: a CR before the end is part of the line, and blank ones count */
  bool open;      /* the line that was taken last has no end */
  bool skipping;  /* what comes up to the next end belongs to a line that was given up */
};

void rp__lines_init(struct rp__lines *l, size_t max);
void rp__lines_done(struct rp__lines *l);
/* Where up to n bytes may be read into; then rp__lines_added. NULL: no memory, or the line is over the limit. */
char *rp__lines_room(struct rp__lines *l, size_t n, rp_error *err);
void rp__lines_added(struct rp__lines *l, size_t n);
/* The same with bytes from elsewhere. RP_E_TOO_LARGE, RP_E_NOMEM. */
RP_MUST_USE int rp__lines_add(struct rp__lines *l, const char *bytes, size_t n, rp_error *err);
/*
 * Gives up the line that could not be kept: what was read of it, and what will be. Whole lines that were not taken yet
 * go too, so take them first. Then adding works again.
 */
void rp__lines_skip(struct rp__lines *l);
/* The next whole line, good until the next call that adds; with `last` also one that has no end. */
bool rp__lines_next(struct rp__lines *l, bool last, struct rp__str *ret);
bool rp__line_is_blank(struct rp__str line);

#endif
