/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server and its parts. Threads: those of libmicrohttpd read requests and run quick
 * handlers; the pool runs slow ones; the loop owns every WebSocket and event stream and
 * the objects built on them; the publisher reads journals that grew; the work threads
 * do the jobs that are due; the engine has its own. No thread waits for a client.
 *
 * The server uses the engine through the public API alone, as any user's program would.
 */
#ifndef RP_SERVER_H
#define RP_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "net/http.h"
#include "net/listen.h"
#include "net/loop.h"
#include "server/http/auth.h"
#include "server/succession.h"
#include "server/live/live.h"
#include "server/pool.h"
#include "server/registry.h"
#include "server/settings.h"
#include "server/log.h"
#include "server/background-work.h"

struct rp__server {
  rp_engine *engine;
  struct rp__scope_config set;
  struct rp__slog log;
  rp_clock clock; /* the engine's */
  struct rp__listeners listeners;
  struct rp__http *http;
  struct rp__loop *loop;
  struct rp__pool *pool;
  struct rp__registry *registry;
  struct rp__auth *auth;
  struct rp__live *live;
  struct rp__sse *sse;
  struct rp__channels *channels;
  struct rp__agents *agents;
  struct rp__mcp_clients *mcp;
  struct rp__work *work;
  struct rp__watchdog *watchdog; /* NULL: nobody asked for it */
  struct rp__control *control;   /* NULL: there is none */
  atomic_bool replaced;          /* another server has taken over */
  int replaced_fd;               /* an eventfd, readable then */
  char *db_path;                 /* of the database file, or NULL */
  char *openapi;                 /* made at start */
  size_t openapi_len;
  int64_t started_ms;
  atomic_bool ready, draining;
  const atomic_bool *hurry;          /* or NULL */
  bool bounded;                      /* stopping for longer than stop_s ends the process */
  struct rp__stop *stop;             /* while it stops; or NULL */
  atomic_llong requests, answers[6]; /* by hundreds of the status */
};

struct rp__server_options {
  const char *db, *config; /* as rp_options */
  const rp_clock *clock;   /* NULL: the system's */
  enum rp__slog_format log_format;
  rp_log_level log_level;
  bool access_log;
  const char *const *listen; /* overrides the configuration; ends with NULL; or NULL */
  int threads;               /* 0: as configured */
  bool replace;              /* take the sockets over from the server that runs on this database */
  const atomic_bool *hurry;  /* once true, the end waits for no client; or NULL */
  bool bounded;              /* stopping for longer than stop_s ends the process: for programs */
};

/* Opens the engine, makes all parts, binds, and serves. Nothing runs when it fails. */
RP_MUST_USE int rp__server_open(const struct rp__server_options *o, struct rp__server **ret, rp_error *err);
#define RP_SERVER_DRAIN_MS 5000 /* at the end: for requests in flight, and sockets' goodbyes */
#define RP_SERVER_LEAVE_MS 3000 /* … for closing sessions that were left */
#define RP_SERVER_STOP_MS 25000 /* … for all of it where stop_s is not known yet */
#define RP_SERVER_GRACE_MS 1000 /* … for connections that have asked for nothing yet */

/*
 * The time that stopping may take begins here, or with rp__server_close where this was not called: whoever has
 * something to do before, even to log, may be held up by it. Nothing happens unless the server is `bounded`.
 */
void rp__server_stopping(struct rp__server *s);
/*
 * Stops: no new connections, requests in flight are answered, sockets are closed with `code` (1012: come back, 1001:
 * it is over), sessions that were left are closed, everything is flushed. Agents are left alone. Returns how many
 * events that were accepted as `memory` could not be stored.
 */
int64_t rp__server_close(struct rp__server *s, int code);

static inline int64_t rp__server_now(const struct rp__server *s)
{
  return s->clock.wall_ms(s->clock.ctx);
}

/* ---- stop.c: the time limit for stopping ---- */

#define RP_STOP_HURRY_MS 3000 /* from the second signal on, if that is sooner */

/* `hurry` may be NULL. Without a thread to be had SIGALRM takes its place, which tells nothing. */
struct rp__stop *rp__stop_begin(struct rp__slog *log, int64_t ms, const atomic_bool *hurry);
/* What is waited for from now on, a constant, for the log. NULL is fine. */
void rp__stop_step(struct rp__stop *s, const char *step);
void rp__stop_end(struct rp__stop *s); /* it was in time; NULL is fine */

/* ---- metrics.c: for Prometheus, beside those of the engine. The names are a contract. ---- */

struct rp__metric {
  const char *name, *type, *help;
  long long value;
};
void rp__metrics_write(struct rp__buf *out, const struct rp__metric *rows, size_t n);
void rp__server_metrics(struct rp__server *srv, struct rp__buf *out);

/* http/dispatch.c: between libmicrohttpd and the routes. */
void rp__serve_options(struct rp__server *s, struct rp__http_options *ret);

#endif
