/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus reads about the server, beside what the engine tells of itself. The names are a contract. */
#ifndef RP_SERVER_METRICS_H
#define RP_SERVER_METRICS_H

#include "base/buf.h"

struct rp__server;

void rp__server_metrics(struct rp__server *srv, struct rp__buf *out);

#endif
