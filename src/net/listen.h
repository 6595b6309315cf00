/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: made, inherited from systemd, or handed over by the server that ran before (SCM_RIGHTS). */
#ifndef RP_NET_LISTEN_H
#define RP_NET_LISTEN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/macros.h"

#define RP_LISTEN_MAX 8
#define RP_ADDRESS_TEXT 128

struct rp__listener {
  int fd;
  char address[RP_ADDRESS_TEXT]; /* "127.0.0.1:7377", "[::1]:7377", "unix:PATH", as bound (port 0 resolved) */
  bool loopback;                 /* nobody from another machine can reach it (unix sockets too) */
  bool owned;                    /* a unix socket whose path goes when the listener is closed */
};

struct rp__listeners {
  struct rp__listener v[RP_LISTEN_MAX];
  size_t n;
};

void rp__listeners_init(struct rp__listeners *l);
void rp__listeners_close(struct rp__listeners *l); /* unix sockets made by us are unlinked unless handed over */
/*
 * Adds "HOST:PORT", ":PORT", "PORT", "[V6]:PORT" or "unix:PATH". Without a host it is 127.0.0.1; "*" is every
 * address. A unix socket is for its owner alone (0600). RP_E_USAGE, RP_E_BUSY when the address is in use.
 */
RP_MUST_USE int rp__listen_add(struct rp__listeners *l, const char *address, rp_error *err);
/* Whether it reads like one; nothing is looked up. RP_E_USAGE. */
RP_MUST_USE int rp__listen_check(const char *address, rp_error *err);
/* Adds what systemd passed (LISTEN_PID, LISTEN_FDS), if anything; the variables are taken out of the environment. */
RP_MUST_USE int rp__listen_inherit(struct rp__listeners *l, rp_error *err);

/*
 * One message with the sockets over a unix socket, and the other end of it (which adds to what it has). Whoever is at
 * the other end must have been checked before, and timeouts are the socket's. Once sent, closing unlinks no path.
 */
RP_MUST_USE int rp__listen_send(int unix_fd, struct rp__listeners *l, rp_error *err);
RP_MUST_USE int rp__listen_receive(int unix_fd, struct rp__listeners *l, rp_error *err);

/* Tells the service manager ("READY=1", "STOPPING=1", "WATCHDOG=1" …) when $NOTIFY_SOCKET is set; else does nothing. */
void rp__notify(const char *state);

#endif
