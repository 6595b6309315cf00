/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's watchdog: checks the parts of the server before it reports that the server is alive. */
#include "server/watchdog.h"
#include "base/ticks.h"

#include "server/server.h"

#define TELLS_PER_PERIOD 3 /* one may be late, and another lost */

struct rp__watchdog {
  struct rp__job probe;
  atomic_bool in_flight;
  int64_t every_ms, told_ms; /* monotonic */
  uint64_t pool_begun;       /* as seen the last time */
};

static int64_t env_number(const char *name)
{
  const char *text = getenv(name);
  char *end = NULL;
  long long n = text && *text ? strtoll(text, &end, 10) : 0;
  return end && *end == '\0' && n > 0 ? n : 0;
}

int rp__watchdog_new(struct rp__watchdog **ret, rp_error *err)
{
  int64_t usec = env_number("WATCHDOG_USEC"), pid = env_number("WATCHDOG_PID");
  *ret = NULL;
  if (!usec || (pid && pid != getpid())) return 0;
  struct rp__watchdog *d = calloc(1, sizeof *d);
  if (!d) return rp__fail_nomem(err);
  d->every_ms = RP_MAX(usec / 1000 / TELLS_PER_PERIOD, 1);
  *ret = d;
  return 0;
}

void rp__watchdog_free(struct rp__watchdog *d)
{
  free(d);
}

static void on_probe(struct rp__job *job)
{
  atomic_store(&((struct rp__watchdog *)job)->in_flight, false);
}

static bool pool_moves(struct rp__watchdog *d, struct rp__pool *pool)
{
  uint64_t begun = rp__pool_begun(pool);
  bool moves = begun != d->pool_begun || rp__pool_waiting(pool) == 0;
  d->pool_begun = begun;
  return moves;
}

int rp__watchdog_run(struct rp__server *srv, rp_error *err)
{
  struct rp__watchdog *d = srv->watchdog;
  if (!d) return 0;
  int64_t now = rp__ticks_ms();
  if (now - d->told_ms < d->every_ms) return 0;
  if (atomic_load(&d->in_flight)) return rp__fail(err, RP_E_BUSY, "the loop does not answer");
  if (!pool_moves(d, srv->pool)) return rp__fail(err, RP_E_BUSY, "the pool does not move");
  rp__notify("WATCHDOG=1");
  d->told_ms = now;
  d->probe.fn = on_probe;
  atomic_store(&d->in_flight, true);
  if (!rp__loop_post(srv->loop, &d->probe)) atomic_store(&d->in_flight, false);
  return 0;
}
