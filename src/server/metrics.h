/* SPDX-License-Identifier: Apache-2.0 */
/* The server's metrics for Prometheus, beside those of the engine. The names are a contract. */
#ifndef RP_SERVER_METRICS_H
#define RP_SERVER_METRICS_H

#include "base/buf.h"

struct rp__server;

void rp__server_metrics(struct rp__server *srv, struct rp__buf *out);

#endif
