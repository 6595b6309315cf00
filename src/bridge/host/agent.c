/* SPDX-License-Identifier: Apache-2.0 */
/* One life of the agent's process, from its start to its end. */
#include "bridge/host/agent.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "bridge/host/child.h"
#include "bridge/host/guardian.h"

static void on_part_closed(void *ctx)
{
  struct rp__host_agent *a = ctx;
  if (--a->open == 0) free(a);
}

static void on_timer_closed(uv_handle_t *timer)
{
  on_part_closed(timer->data);
}

static void on_watch_closed(uv_handle_t *watch)
{
  struct rp__host_agent *a = watch->data;
  close(a->ended);
  on_part_closed(a);
}

static void close_parts(struct rp__host_agent *a)
{
  uv_close((uv_handle_t *)&a->watch, on_watch_closed);
  rp__inlet_close(&a->in, on_part_closed);
  rp__outlet_close(&a->out, on_part_closed, a);
  uv_close((uv_handle_t *)&a->timer, on_timer_closed);
}

static void settle(struct rp__host_agent *a)
{
  if (!a->exited || !a->silent || a->told) return;
  a->told = true;
  close_parts(a);
  a->handler->gone(a->ctx, a->status, a->pid); /* which may start the next one */
}

/* ---- its end ---- */

/* All that it has started, by its keeper. */
static void send_signal(const struct rp__host_agent *a, int sig)
{
  if (!a->exited && a->pid) kill(a->pid, sig);
}

static void set_stage(struct rp__host_agent *a, enum rp__agent_stage stage);

static void on_timer(uv_timer_t *timer)
{
  struct rp__host_agent *a = timer->data;
  switch (a->stage) {
  case RP_AGENT_LIVE: break;
  case RP_AGENT_TERM:
    if (a->leaving) {
      a->exited = a->silent = true;
      settle(a);
      break;
    }
    send_signal(a, RP_KEEPER_TERM);
    set_stage(a, RP_AGENT_KILL);
    break;
  case RP_AGENT_KILL: send_signal(a, RP_KEEPER_KILL); break;
  case RP_AGENT_DRAIN: /* while nobody reads from it, what it said last is not given up, unless it was told to go */
    if (a->in.on || a->stopping)
      rp__inlet_cut(&a->in);
    else
      set_stage(a, RP_AGENT_DRAIN);
    break;
  }
}

static void set_stage(struct rp__host_agent *a, enum rp__agent_stage stage)
{
  static const uint64_t ms[] = {0, RP_AGENT_TERM_MS, RP_AGENT_KILL_MS, RP_AGENT_DRAIN_MS};
  a->stage = stage;
  uv_timer_start(&a->timer, on_timer, ms[stage], 0);
}

void rp__agent_stop(struct rp__host_agent *a)
{
  if (a->stopping) return;
  a->stopping = true;
  rp__outlet_end(&a->out);
  if (!a->exited) set_stage(a, RP_AGENT_TERM);
}

void rp__agent_leave(struct rp__host_agent *a)
{
  a->leaving = true;
  rp__agent_stop(a);
}

void rp__agent_kill(struct rp__host_agent *a)
{
  send_signal(a, RP_KEEPER_KILL);
}

void rp__agent_reaped(struct rp__host_agent *a, pid_t pid)
{
  if (pid == a->pid) a->pid = 0;
}

static void on_ended(uv_poll_t *watch, int rc, int events)
{
  struct rp__host_agent *a = watch->data;
  (void)rc, (void)events;
  uv_poll_stop(watch);
  if (a->exited) return;
  if (TEMP_FAILURE_RETRY(read(a->ended, &a->status, sizeof a->status)) != (ssize_t)sizeof a->status) {
    /* Only when its keeper is reaped its children are ours for sure. */
    if (a->pid) TEMP_FAILURE_RETRY(waitpid(a->pid, NULL, 0));
    a->pid = 0;
    a->status = -SIGKILL; /* the agent does not survive it */
    a->handler->orphaned(a->ctx);
  }
  a->exited = true;
  if (!a->silent) set_stage(a, RP_AGENT_DRAIN);
  settle(a);
}

void rp__agent_abandon(struct rp__host_agent *a)
{
  if (!a) return;
  send_signal(a, RP_KEEPER_KILL);
  if (!a->exited && a->pid) TEMP_FAILURE_RETRY(waitpid(a->pid, NULL, 0));
  a->exited = a->told = true;
  close_parts(a);
}

/* ---- its words ---- */

static void on_line(void *ctx, const char *line, size_t n)
{
  const struct rp__host_agent *a = ctx;
  (a->in.lines.open ? a->handler->rest : a->handler->line)(a->ctx, line, n);
}

static void on_unreadable(void *ctx, const rp_error *why)
{
  const struct rp__host_agent *a = ctx;
  a->handler->unreadable(a->ctx, why);
}

/* An agent that can say nothing any more is of no use. */
static void on_silent(void *ctx)
{
  struct rp__host_agent *a = ctx;
  a->silent = true;
  if (!a->exited) rp__agent_stop(a);
  settle(a);
}

static const struct rp__inlet_handler inlet_handler = {on_line, on_unreadable, on_silent};

void rp__host_agent_read(struct rp__host_agent *a, bool on)
{
  if (!a->silent) rp__inlet_on(&a->in, on);
}

/* ---- its beginning ---- */

/* Each part that is opened takes its descriptor. */
static int open_parts(struct rp__host_agent *a, uv_loop_t *loop, struct rp__child *c, rp_error *err)
{
  a->timer.data = a->watch.data = a;
  a->ended = c->ended;
  int rc = uv_poll_init(loop, &a->watch, c->ended);
  if (rc) return rp__fail(err, RP_E_FAILED, "the agent can't be watched: %s", uv_strerror(rc));
  a->open++;
  int code = rp__inlet_open(&a->in, loop, c->out, &inlet_handler, a, err);
  if (code) return code;
  a->open++;
  code = rp__outlet_open(&a->out, loop, c->in, err);
  if (code) return code;
  a->open++;
  uv_timer_init(loop, &a->timer);
  a->open++;
  uv_poll_start(&a->watch, UV_READABLE, on_ended);
  return 0;
}

int rp__agent_start(uv_loop_t *loop, const char *const *argv, char *const *env, bool outlive,
                    const struct rp__agent_handler *handler, void *ctx, struct rp__host_agent **ret, rp_error *err)
{
  struct rp__child c;
  RP_AUTOFREE struct rp__host_agent *a = calloc(1, sizeof *a);
  if (!a) return rp__fail_nomem(err);
  a->handler = handler;
  a->ctx = ctx;
  int code = rp__child_start(argv, env, outlive, &c, err);
  if (code) return code;
  a->pid = c.pid;
  code = open_parts(a, loop, &c, err);
  struct rp__host_agent *made = RP_TAKE(a);
  if (!code) {
    *ret = made;
    return 0;
  }
  /* What can't be watched must not run. */
  unsigned open = made->open;
  kill(c.pid, RP_KEEPER_KILL);
  TEMP_FAILURE_RETRY(waitpid(c.pid, NULL, 0));
  close(c.in);
  if (open < 2) close(c.out);
  if (open == 2) rp__inlet_close(&made->in, on_part_closed);
  if (open)
    uv_close((uv_handle_t *)&made->watch, on_watch_closed);
  else
    close(c.ended), free(made);
  return code;
}
