/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/host/agent.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "bridge/host/child.h"

static void on_part_closed(void *ctx)
{
  struct rp__agent *a = ctx;
  if (--a->open == 0) free(a);
}

static void on_timer_closed(uv_handle_t *timer)
{
  on_part_closed(timer->data);
}

static void close_parts(struct rp__agent *a)
{
  rp__inlet_close(&a->in, on_part_closed);
  rp__outlet_close(&a->out, on_part_closed, a);
  uv_close((uv_handle_t *)&a->timer, on_timer_closed);
}

static void settle(struct rp__agent *a)
{
  if (!a->exited || !a->silent || a->told) return;
  a->told = true;
  close_parts(a);
  a->handler->gone(a->ctx, a->status); /* which may start the next one */
}

/* ---- its end ---- */

/* The whole process group, as a terminal would. */
static void send_signal(const struct rp__agent *a, int sig)
{
  if (!a->exited) kill(-a->pid, sig);
}

static void set_stage(struct rp__agent *a, enum rp__agent_stage stage);

/* While nobody reads from it, what it said last is not given up, unless it was told to go. */
static void drain(struct rp__agent *a)
{
  if (a->in.on || a->stopping)
    rp__inlet_cut(&a->in);
  else
    set_stage(a, RP_AGENT_DRAIN);
}

static void on_timer(uv_timer_t *timer)
{
  struct rp__agent *a = timer->data;
  switch (a->stage) {
  case RP_AGENT_LIVE: break;
  case RP_AGENT_TERM:
    send_signal(a, SIGTERM);
    set_stage(a, RP_AGENT_KILL);
    break;
  case RP_AGENT_KILL: send_signal(a, SIGKILL); break;
  case RP_AGENT_DRAIN: drain(a); break;
  }
}

static void set_stage(struct rp__agent *a, enum rp__agent_stage stage)
{
  static const uint64_t ms[] = {0, RP_AGENT_TERM_MS, RP_AGENT_KILL_MS, RP_AGENT_DRAIN_MS};
  a->stage = stage;
  uv_timer_start(&a->timer, on_timer, ms[stage], 0);
}

void rp__agent_stop(struct rp__agent *a)
{
  if (a->stopping) return;
  a->stopping = true;
  rp__outlet_end(&a->out);
  if (!a->exited) set_stage(a, RP_AGENT_TERM);
}

void rp__agent_kill(struct rp__agent *a)
{
  send_signal(a, SIGKILL);
}

/*
 * Helpers that an agent leaves may go on with what it asked of them, beside the next one in the same directory. While
 * the agent is not reaped its id is taken, so the group is its own.
 */
static bool end_helpers(const struct rp__agent *a)
{
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)a->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid != a->pid) return false;
  kill(-a->pid, SIGTERM);
  return true;
}

void rp__agent_reap(struct rp__agent *a)
{
  int st;
  if (a->exited || !end_helpers(a) || waitpid(a->pid, &st, WNOHANG) != a->pid) return;
  a->exited = true;
  a->status = WIFSIGNALED(st) ? -WTERMSIG(st) : WEXITSTATUS(st);
  if (!a->silent) set_stage(a, RP_AGENT_DRAIN);
  settle(a);
}

void rp__agent_abandon(struct rp__agent *a)
{
  if (!a) return;
  send_signal(a, SIGKILL);
  if (!a->exited) TEMP_FAILURE_RETRY(waitpid(a->pid, NULL, 0));
  a->exited = a->told = true;
  close_parts(a);
}

/* ---- its words ---- */

static void on_line(void *ctx, const char *line, size_t n)
{
  const struct rp__agent *a = ctx;
  (a->in.lines.open ? a->handler->rest : a->handler->line)(a->ctx, line, n);
}

static void on_unreadable(void *ctx, const rp_error *why)
{
  const struct rp__agent *a = ctx;
  a->handler->unreadable(a->ctx, why);
}

/* An agent that can say nothing any more is of no use. */
static void on_silent(void *ctx)
{
  struct rp__agent *a = ctx;
  a->silent = true;
  if (!a->exited) rp__agent_stop(a);
  settle(a);
}

static const struct rp__inlet_handler inlet_handler = {on_line, on_unreadable, on_silent};

void rp__agent_read(struct rp__agent *a, bool on)
{
  if (!a->silent) rp__inlet_on(&a->in, on);
}

/* ---- its beginning ---- */

/* Each part that is opened takes its descriptor. */
static int open_parts(struct rp__agent *a, uv_loop_t *loop, struct rp__child *c, rp_error *err)
{
  int code = rp__inlet_open(&a->in, loop, c->out, &inlet_handler, a, err);
  if (code) return code;
  a->open++;
  code = rp__outlet_open(&a->out, loop, c->in, err);
  if (code) return code;
  a->open++;
  uv_timer_init(loop, &a->timer);
  a->timer.data = a;
  a->open++;
  return 0;
}

/* What can't be watched must not run. */
static void undo(struct rp__agent *a, const struct rp__child *c)
{
  kill(-c->pid, SIGKILL);
  TEMP_FAILURE_RETRY(waitpid(c->pid, NULL, 0));
  close(c->in);
  if (a->open)
    rp__inlet_close(&a->in, on_part_closed);
  else
    close(c->out), free(a);
}

int rp__agent_start(uv_loop_t *loop, const char *const *argv, char *const *env, const struct rp__agent_handler *handler,
                    void *ctx, struct rp__agent **ret, rp_error *err)
{
  struct rp__child c;
  RP_AUTOFREE struct rp__agent *a = calloc(1, sizeof *a);
  if (!a) return rp__fail_nomem(err);
  a->handler = handler;
  a->ctx = ctx;
  int code = rp__child_start(argv, env, &c, err);
  if (code) return code;
  a->pid = c.pid;
  code = open_parts(a, loop, &c, err);
  if (code) {
    undo(RP_TAKE(a), &c);
    return code;
  }
  *ret = RP_TAKE(a);
  return 0;
}
