/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM as a descriptor to poll, so that long commands end in good order. */
#ifndef RP_CLI_SIGNALS_H
#define RP_CLI_SIGNALS_H

#include "base/error.h"

/* Blocks both (before any thread is made) and returns a descriptor that becomes readable when one comes. */
RP_MUST_USE int rp__signals_open(int *ret_fd, rp_error *err);
/* Takes the signal that came, if any, and gives both back their usual effect: a second one ends the process. */
int rp__signals_read(int fd);
/* Sleeps, or returns the signal that came. */
int rp__signals_sleep(int fd, int ms);

#endif
