/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's log: one line per event, logfmt or JSON, on stderr. The log has no payloads, tokens, secrets or queries.
 * Text from others in a value (paths, errors) is masked before it is cut.
 */
#ifndef RP_SERVER_SLOG_H
#define RP_SERVER_SLOG_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <reprise/admin.h>

#include "base/macros.h"

/* Bytes of lines that wait while another is written; who has more to say waits too. A pipe takes so many as one. */
#define RP_SLOG_WAITING PIPE_BUF

enum rp__slog_format { RP_SLOG_LOGFMT, RP_SLOG_JSON };

struct rp__slog {
  enum rp__slog_format format;
  rp_log_level level;
  int fd;                     /* 2 */
  bool access;                /* requests are logged too */
  _Atomic(rp_engine *) masks; /* whose patterns mask; NULL while there is none */
  pthread_mutex_t lock;
  pthread_cond_t room;
  bool writing;     /* somebody writes, and will write what waits */
  int filling;      /* which of the two */
  size_t n_waiting; /* bytes in that one */
  char waiting[2][RP_SLOG_WAITING];
};

struct rp__field {
  const char *name; /* NULL ends a list */
  bool is_number;
  int64_t number;
  const char *text; /* NULL: the field is left out */
};
#define RP_F(name_, text_) ((struct rp__field){.name = (name_), .text = (text_)})
#define RP_FN(name_, number_) ((struct rp__field){.name = (name_), .is_number = true, .number = (int64_t)(number_)})

void rp__slog_init(struct rp__slog *l);
void rp__slog_done(struct rp__slog *l);
void rp__slog_write(struct rp__slog *l, rp_log_level level, const char *event, const struct rp__field *fields);
/* rp__slog(&srv->log, RP_LOG_INFO, "listening", RP_F("address", a), RP_FN("pid", p)); at least one field. */
#define rp__slog(l, level, event, ...)                                                                                 \
  rp__slog_write((l), (level), (event), (const struct rp__field[]){__VA_ARGS__, {0}})
/* An rp_log_fn for the engine; ctx is the rp__slog. */
void rp__slog_engine(void *ctx, rp_log_level level, const char *text);

#endif
