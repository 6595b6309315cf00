/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one server follows another without refusing a connection (decision 12): a
 * socket beside the database (`<db>.serve`), for the same user alone. The new
 * server connects and is given the listening sockets, begins to accept from them,
 * puts its own control socket in the place of the old one, and says "go": only
 * then does the old one stop. One that fails in between changes nothing.
 */
#ifndef RP_SERVER_CONTROL_H
#define RP_SERVER_CONTROL_H

#include <stdbool.h>

#include "base/error.h"
#include "net/listen.h"
#include "server/slog.h"

#define RP_CONTROL_ANSWER_MS 5000 /* for a server to hand its sockets over */
#define RP_CONTROL_GO_MS 30000    /* for the new one to begin */

struct rp__control;

struct rp__control_options {
  const char *db_path;
  struct rp__listeners *listeners; /* borrowed; handed to whoever replaces us */
  struct rp__slog *log;
  void (*replaced)(void *ctx); /* "go" came: called once, from the control's thread */
  void *ctx;
};

/*
 * `over`: in the place of the one that handed its sockets over to us. Otherwise RP_E_BUSY when another server has the
 * control socket; one that nobody answers on was left behind and is replaced.
 */
int rp__control_open(const struct rp__control_options *o, bool over, struct rp__control **ret, rp_error *err);
void rp__control_close(struct rp__control *c); /* NULL is fine */

/*
 * The other end. Adds the sockets of the server that runs to `l`; *ret_fd is for rp__control_go, or to be closed if
 * nothing comes of it; -1: nobody runs. RP_E_REFUSED: it is another user's; RP_E_BUSY: it does not answer.
 */
int rp__control_take(const char *db_path, struct rp__listeners *l, int *ret_fd, rp_error *err);
int64_t rp__control_peer(int fd); /* the other process' pid; 0: unknown */
void rp__control_go(int fd);      /* closes it */

#endif
