/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one server follows another without refusing a connection, over a
 * socket beside the database (`<db>.serve`) that only the same user may use. The new
 * server connects, gets the listening sockets, begins to accept from them, puts its own
 * control socket in the place of the old one, and says "go". Only then does the old
 * server stop. A new server that fails before "go" changes nothing. The old server
 * closes the connection once all its clients are gone.
 *
 * A server that starts without taking over learns from this socket that another server
 * is alive, and does not start: each of two servers would take the other's agents and
 * members for gone.
 */
#ifndef RP_SERVER_CONTROL_H
#define RP_SERVER_CONTROL_H

#include <stdbool.h>

#include "base/error.h"
#include "net/listen.h"
#include "server/log.h"

#define RP_CONTROL_ANSWER_MS 5000 /* for a server to hand its sockets over */
#define RP_CONTROL_GO_MS 30000    /* for the new one to begin */
#define RP_CONTROL_GONE_MS 15000  /* for the old one to let go of its clients */

struct rp__control;

struct rp__control_options {
  const char *db_path;
  struct rp__listeners *listeners; /* borrowed; handed to whoever replaces us */
  struct rp__slog *log;
  void (*replaced)(void *ctx); /* "go" came: called once, from the control's thread */
  void (*alone)(void *ctx);    /* the one before has let go, or died: called once, from there; not without one */
  void *ctx;
};

/* RP_E_HELD: a server that lives has the control socket. One that nobody answers on was left behind, and is nobody's.
 */
RP_MUST_USE int rp__control_check(const char *db_path, rp_error *err);
/*
 * `before`: of rp__control_take, to come in the place of the one that handed its sockets over to us (and to be told
 * "go" after this); -1: of nobody; then RP_E_HELD as above. RP_E_BUSY: another one has been at it for too long.
 */
RP_MUST_USE int rp__control_open(const struct rp__control_options *o, int before, struct rp__control **ret,
                                 rp_error *err);
void rp__control_close(struct rp__control *c); /* NULL is fine */

/*
 * The other end. Adds the sockets of the server that runs to `l`; *ret_fd is for rp__control_go, or to be closed if
 * nothing comes of it; -1: nobody runs. RP_E_REFUSED: it is another user's; RP_E_BUSY: it does not answer.
 */
RP_MUST_USE int rp__control_take(const char *db_path, struct rp__listeners *l, int *ret_fd, rp_error *err);
int64_t rp__control_peer(int fd); /* the other process' pid; 0: unknown */
void rp__control_go(int fd);      /* closes it */

#endif
