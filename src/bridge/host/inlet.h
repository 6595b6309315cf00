/* SPDX-License-Identifier: Apache-2.0 */
/* The place where lines from one peer come in: a pipe, a socket, a terminal or a file. */
#ifndef RP_BRIDGE_HOST_INLET_H
#define RP_BRIDGE_HOST_INLET_H

#include "bridge/host/outlet.h"
#include "bridge/line.h"

#define RP_INLET_CHUNK ((size_t)64 * 1024) /* bytes read at once */

struct rp__inlet_handler {
  void (*line)(void *ctx, const char *line, size_t n);
  /* A line was over the limit or memory was short; it is skipped up to its end. */
  void (*unreadable)(void *ctx, const rp_error *why);
  /* All lines were told. Called once. */
  void (*end)(void *ctx);
};

struct rp__inlet {
  union rp__uv_end u;
  uv_idle_t pump; /* tells what was left when reading stopped; reads files */
  const struct rp__inlet_handler *handler;
  void *ctx;
  struct rp__lines lines;
  int fd;
  unsigned handles; /* not closed yet */
  bool is_file;
  bool on;    /* lines are wanted */
  bool eof;   /* nothing more will come */
  bool ended; /* … and that was told */
  void (*closed)(void *ctx);
  char chunk[RP_INLET_CHUNK];
};

/* Takes the descriptor on success; the standard ones are left open in the end. Reading is off at first. */
RP_MUST_USE int rp__inlet_open(struct rp__inlet *in, uv_loop_t *loop, int fd, const struct rp__inlet_handler *handler,
                               void *ctx, rp_error *err);
/* Off: no line is told any more, not even one that was read. On: told soon, never from within. */
void rp__inlet_on(struct rp__inlet *in, bool on);
/* Nobody else will write, whatever the descriptor says: tells what was read, then the end. */
void rp__inlet_cut(struct rp__inlet *in);
/* The memory may go once `closed` was called with the handler's ctx. Call it after a successful open alone. */
void rp__inlet_close(struct rp__inlet *in, void (*closed)(void *ctx));

#endif
