/* SPDX-License-Identifier: Apache-2.0 */
/* The server's metrics for Prometheus, beside those of the engine. The names are a contract. */
#ifndef RP_SERVER_METRICS_H
#define RP_SERVER_METRICS_H

#include "base/buf.h"

struct rp__server;

struct rp__metric {
  const char *name, *type, *help;
  long long value;
};
void rp__metrics_write(struct rp__buf *out, const struct rp__metric *rows, size_t n);
void rp__server_metrics(struct rp__server *srv, struct rp__buf *out);

#endif
