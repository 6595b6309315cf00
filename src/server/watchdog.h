/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the service manager that the server is alive ($WATCHDOG_USEC), as long as the
 * background jobs run, the loop answers, and the pool is idle or makes progress.
 */
#ifndef RP_SERVER_WATCHDOG_H
#define RP_SERVER_WATCHDOG_H

#include "base/error.h"

struct rp__server;
struct rp__watchdog;

/* *ret is NULL when nobody asked for it. */
RP_MUST_USE int rp__watchdog_new(struct rp__watchdog **ret, rp_error *err);
void rp__watchdog_free(struct rp__watchdog *d); /* after the loop has stopped */
/* Job of background-work.c. Fails when somebody does not answer; then nothing is told. */
RP_MUST_USE int rp__watchdog_run(struct rp__server *srv, rp_error *err);

#endif
