/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place where lines to one peer leave the process. Lines sent within one turn of the loop are written with one call
 * at the end of that turn. Bytes that the peer does not take wait in memory; rp__outlet_backlog gives their number.
 */
#ifndef RP_BRIDGE_HOST_OUTLET_H
#define RP_BRIDGE_HOST_OUTLET_H

#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"

#define RP_OUTLET_MAX ((size_t)256 * 1024 * 1024) /* bytes that wait; with more the peer counts as gone */
#define RP_OUTLET_CORK ((size_t)64 * 1024)        /* so many are written before the turn ends */
#define RP_OUTLET_KEEP ((size_t)1024 * 1024)      /* memory beyond is given back once it is written */

/* libuv's side of a descriptor that is no file. */
union rp__uv_end {
  uv_handle_t handle;
  uv_stream_t stream;
  uv_pipe_t pipe;
  uv_tty_t tty;
};
/* 0 or libuv's error. */
RP_MUST_USE int rp__uv_end_open(union rp__uv_end *u, uv_loop_t *loop, int fd);

struct rp__outlet {
  union rp__uv_end u;
  uv_write_t req;
  struct rp__buf waiting; /* not given to the kernel yet */
  struct rp__buf flying;  /* what req writes */
  int fd;
  bool open, is_file;
  bool writing; /* req is under way */
  bool broken;  /* the peer is gone: what comes is dropped */
  bool ending;  /* closed once all is written */
  bool moved;   /* something was written; the owner's to take back */
  void (*closed)(void *ctx);
  void *ctx;
};

/* Takes the descriptor on success; the standard ones are left open in the end. */
RP_MUST_USE int rp__outlet_open(struct rp__outlet *o, uv_loop_t *loop, int fd, rp_error *err);
void rp__outlet_send(struct rp__outlet *o, const char *line, size_t n);
void rp__outlet_flush(struct rp__outlet *o);
size_t rp__outlet_backlog(const struct rp__outlet *o);
/* The peer sees the end after what was sent. */
void rp__outlet_end(struct rp__outlet *o);
/* Now. The memory may go once `closed` was called, which may be at once. */
void rp__outlet_close(struct rp__outlet *o, void (*closed)(void *ctx), void *ctx);

#endif
