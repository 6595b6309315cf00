/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's world on libuv. In a turn of the loop, incoming lines go to the proxy's core. Before the loop sleeps,
 * `settle` writes the lines that the core sent, tells the core what was written, and decides from which peers to read
 * next. The core is never called from within itself.
 */
#include "bridge/acp/acp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bridge/host/agent.h"
#include "bridge/host/child.h"
#include "bridge/host/guardian.h"
#include "bridge/host/process-tree.h"

#define CHOKE ((size_t)8 * 1024 * 1024) /* bytes that wait for one side until the other is not read from any more */
#define FINISH_MS 2000                  /* for the editor to take the last lines */
#define KEEPERS_MAX 64                  /* of former agents that have left something */
#define FORMER_MAX 64                   /* children that this process had before it was ours */
#define STRAYS_ROUNDS 100               /* of SIGKILL: what was forked meanwhile gets the next one */
#define STRAYS_MS 5                     /* between two of them */

struct host {
  uv_loop_t loop;
  uv_prepare_t settle;
  uv_idle_t again; /* there is more to settle: don't sleep */
  uv_timer_t tick, deadline;
  uv_async_t poke;
  uv_signal_t chld, term, intr, hup;
  struct rp__inlet in; /* the editor */
  struct rp__outlet out;
  struct rp__host_agent *agent; /* NULL: none lives */
  pid_t keepers[KEEPERS_MAX];
  size_t n_keepers;
  pid_t former[FORMER_MAX]; /* whoever became us by exec may have had children */
  size_t n_former;
  struct rp__acp *core;
  const struct rp__acp_options *o;
  char **env;
  char *scope;    /* "REPRISE_SCOPE=…" */
  bool wanted[2]; /* whether the core wants to read from a side */
  bool leaving;   /* the core was told that the editor is gone */
  bool finishing;
  int code;
};

static void on_again(uv_idle_t *again)
{
  uv_idle_stop(again);
}

static void wake(struct host *h)
{
  uv_idle_start(&h->again, on_again);
}

/* ---- the agent ---- */

/* A keeper was killed. What it kept is ours by now, and must not go on beside the next agent. */
static void end_strays(void *ctx)
{
  const struct host *h = ctx;
  pid_t spare[KEEPERS_MAX + FORMER_MAX + 1];
  size_t n = 0;
  for (size_t i = 0; i < h->n_keepers; i++) spare[n++] = h->keepers[i];
  for (size_t i = 0; i < h->n_former; i++) spare[n++] = h->former[i];
  if (h->agent && h->agent->pid) spare[n++] = h->agent->pid;
  for (int i = 0; i < STRAYS_ROUNDS && rp__tree_signal(spare, n, SIGKILL) > 0; i++) poll(NULL, 0, STRAYS_MS);
}

static void on_child(uv_signal_t *handle, int sig)
{
  struct host *h = handle->data;
  bool killed = false;
  int st = 0;
  (void)sig;
  for (pid_t pid; (pid = waitpid(-1, &st, WNOHANG)) > 0;) {
    bool known = h->agent && h->agent->pid == pid;
    for (size_t i = 0; i < h->n_keepers; i++) {
      if (h->keepers[i] != pid) continue;
      h->keepers[i--] = h->keepers[--h->n_keepers];
      known = true;
    }
    if (h->agent) rp__agent_reaped(h->agent, pid);
    killed |= known && WIFSIGNALED(st);
  }
  if (killed) end_strays(h);
}

static void agent_line(void *ctx, const char *line, size_t n)
{
  const struct host *h = ctx;
  if (!h->finishing) rp__acp_line(h->core, RP_ACP_AGENT, line, n);
}

static void agent_rest(void *ctx, const char *line, size_t n)
{
  const struct host *h = ctx;
  if (!h->finishing) rp__acp_rest(h->core, line, n);
}

static void agent_unreadable(void *ctx, const rp_error *why)
{
  const struct host *h = ctx;
  if (!h->finishing) rp__acp_unreadable(h->core, RP_ACP_AGENT, why);
}

static void agent_gone(void *ctx, int status, pid_t keeper)
{
  struct host *h = ctx;
  h->agent = NULL;
  if (keeper && h->n_keepers < KEEPERS_MAX)
    h->keepers[h->n_keepers++] = keeper;
  else if (keeper)
    kill(keeper, RP_KEEPER_TERM); /* one more than we can remember does not wait until we end */
  if (!h->finishing) rp__acp_agent_gone(h->core, status);
  wake(h);
}

static const struct rp__agent_handler agent_handler = {agent_line, agent_rest, agent_unreadable, agent_gone,
                                                       end_strays};

/* ---- the editor ---- */

static void client_gone(struct host *h, const char *reason)
{
  if (h->leaving) return;
  h->leaving = true;
  rp__acp_client_gone(h->core, reason);
}

static void client_line(void *ctx, const char *line, size_t n)
{
  const struct host *h = ctx;
  if (!h->leaving) rp__acp_line(h->core, RP_ACP_CLIENT, line, n);
}

static void client_unreadable(void *ctx, const rp_error *why)
{
  const struct host *h = ctx;
  if (!h->leaving) rp__acp_unreadable(h->core, RP_ACP_CLIENT, why);
}

static void client_end(void *ctx)
{
  client_gone(ctx, "editor closed");
}

static const struct rp__inlet_handler client_handler = {client_line, client_unreadable, client_end};

static void on_signal(uv_signal_t *handle, int sig)
{
  struct host *h = handle->data;
  if (h->leaving && h->agent && !h->o->outlive) rp__agent_kill(h->agent); /* a second signal stops without waiting */
  client_gone(h, sig == SIGHUP ? "editor closed" : sig == SIGINT ? "interrupted" : "terminated");
}

/* ---- before the loop sleeps ---- */

static struct rp__outlet *outlet(struct host *h, enum rp__acp_side to)
{
  if (to == RP_ACP_CLIENT) return &h->out;
  return h->agent ? &h->agent->out : NULL;
}

static void flush_all(struct host *h)
{
  rp__outlet_flush(&h->out);
  if (h->agent) rp__outlet_flush(&h->agent->out);
}

static void on_deadline(uv_timer_t *timer)
{
  uv_stop(timer->loop);
}

static void on_settle(uv_prepare_t *settle)
{
  struct host *h = settle->data;
  if (h->out.broken) client_gone(h, "editor closed");
  flush_all(h);
  for (enum rp__acp_side side = RP_ACP_CLIENT; side <= RP_ACP_AGENT; side++) {
    struct rp__outlet *o = outlet(h, side);
    if (!o || !o->moved) continue;
    o->moved = false;
    if (!h->finishing) rp__acp_drained(h->core, side);
  }
  flush_all(h);
  if (h->agent && h->agent->out.broken) rp__agent_stop(h->agent); /* it does not listen any more */
  /* A side is read from when the core wants to and what was read has somewhere to go. */
  size_t to_agent = h->agent ? rp__outlet_backlog(&h->agent->out) : 0;
  rp__inlet_on(&h->in, h->wanted[RP_ACP_CLIENT] && !h->leaving && to_agent < CHOKE);
  if (h->agent) rp__host_agent_read(h->agent, h->wanted[RP_ACP_AGENT] && rp__outlet_backlog(&h->out) < CHOKE);
  if (h->out.moved || (h->agent && h->agent->out.moved) || (h->out.broken && !h->leaving)) wake(h);
  if (!h->finishing) return;
  /* All is said; the agent ends, then the last lines get a moment. */
  if (h->agent)
    rp__agent_stop(h->agent);
  else if (!rp__outlet_backlog(&h->out))
    uv_stop(&h->loop);
  else if (!uv_is_active((uv_handle_t *)&h->deadline))
    uv_timer_start(&h->deadline, on_deadline, FINISH_MS, 0);
}

/* ---- what the core asks for ---- */

static void world_send(void *ctx, enum rp__acp_side to, const char *line, size_t n)
{
  struct rp__outlet *o = outlet(ctx, to);
  if (o) rp__outlet_send(o, line, n);
}

static size_t world_backlog(void *ctx, enum rp__acp_side to)
{
  const struct rp__outlet *o = outlet(ctx, to);
  return o ? rp__outlet_backlog(o) : 0;
}

/* Reading stops immediately, because more lines may be buffered; settle resumes it. */
static void world_read(void *ctx, enum rp__acp_side from, bool on)
{
  struct host *h = ctx;
  h->wanted[from] = on;
  if (on)
    wake(h);
  else if (from == RP_ACP_CLIENT)
    rp__inlet_on(&h->in, false);
  else if (h->agent)
    rp__host_agent_read(h->agent, false);
}

static int world_start(void *ctx, rp_error *err)
{
  struct host *h = ctx;
  h->wanted[RP_ACP_AGENT] = true;
  wake(h);
  return rp__agent_start(&h->loop, h->o->command, h->env, h->o->outlive, &agent_handler, h, &h->agent, err);
}

static void world_stop(void *ctx)
{
  struct host *h = ctx;
  if (h->agent && h->leaving && h->o->outlive)
    rp__agent_leave(h->agent);
  else if (h->agent)
    rp__agent_stop(h->agent);
}

static void on_tick(uv_timer_t *timer)
{
  const struct host *h = timer->data;
  if (!h->finishing) rp__acp_tick(h->core);
}

static void world_timer(void *ctx, int64_t ms)
{
  struct host *h = ctx;
  uv_update_time(&h->loop);
  if (ms < 0)
    uv_timer_stop(&h->tick);
  else
    uv_timer_start(&h->tick, on_tick, (uint64_t)ms, 0);
}

static int64_t world_now(void *ctx)
{
  (void)ctx;
  return (int64_t)(uv_hrtime() / 1000000);
}

static void on_poke(uv_async_t *poke)
{
  const struct host *h = poke->data;
  rp__acp_poke(h->core);
}

static void world_poke(void *ctx)
{
  struct host *h = ctx;
  uv_async_send(&h->poke);
}

static void world_finish(void *ctx, int code)
{
  struct host *h = ctx;
  h->finishing = true;
  h->code = code;
  wake(h);
}

/* ---- its life ---- */

/* A signal that was ignored when we were started stays so: nohup means it. */
static int watch(struct host *h, uv_signal_t *handle, int sig, uv_signal_cb fn)
{
  struct sigaction was;
  int rc = uv_signal_init(&h->loop, handle);
  handle->data = h;
  if (rc) return rc;
  if (sig != SIGCHLD && sigaction(sig, NULL, &was) == 0 && was.sa_handler == SIG_IGN) return 0;
  return uv_signal_start(handle, fn, sig);
}

static void on_end_closed(void *ctx)
{
  (void)ctx;
}

static void close_rest(uv_handle_t *handle, void *ctx)
{
  (void)ctx;
  if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

/* An agent that still lives here is one whose start the core could not finish. */
static void close_all(struct host *h)
{
  bool killed = false;
  rp__agent_abandon(RP_TAKE(h->agent));
  if (!h->o->outlive) {
    for (size_t i = 0; i < h->n_keepers; i++) kill(h->keepers[i], RP_KEEPER_TERM);
    for (size_t i = 0; i < h->n_keepers; i++) {
      int st = 0;
      TEMP_FAILURE_RETRY(waitpid(h->keepers[i], &st, 0));
      killed |= WIFSIGNALED(st);
    }
    h->n_keepers = 0;
    if (killed) end_strays(h);
  }
  if (h->in.handles) rp__inlet_close(&h->in, on_end_closed);
  rp__outlet_close(&h->out, on_end_closed, h);
  uv_walk(&h->loop, close_rest, NULL);
  uv_run(&h->loop, UV_RUN_DEFAULT);
  uv_loop_close(&h->loop);
  free(h->env);
  free(h->scope);
}

static int serve(struct host *h, rp_engine *e, rp_error *err)
{
  const struct rp__acp_world world = {h,          world_send,  world_backlog, world_read, world_start,
                                      world_stop, world_timer, world_now,     world_poke, world_finish};
  const char *extra[] = {"REPRISE_BRIDGE=acp", NULL, NULL};
  int rc = uv_async_init(&h->loop, &h->poke, on_poke);
  if (!rc) rc = uv_prepare_init(&h->loop, &h->settle);
  if (!rc) rc = uv_idle_init(&h->loop, &h->again);
  if (!rc) rc = uv_timer_init(&h->loop, &h->tick);
  if (!rc) rc = uv_timer_init(&h->loop, &h->deadline);
  if (!rc) rc = watch(h, &h->chld, SIGCHLD, on_child);
  if (!rc) rc = watch(h, &h->term, SIGTERM, on_signal);
  if (!rc) rc = watch(h, &h->intr, SIGINT, on_signal);
  if (!rc) rc = watch(h, &h->hup, SIGHUP, on_signal);
  h->poke.data = h->settle.data = h->again.data = h->tick.data = h;
  if (!rc) rc = uv_prepare_start(&h->settle, on_settle);
  if (rc) return rp__fail(err, RP_E_FAILED, "the event loop can't be set up: %s", uv_strerror(rc));
  if (h->o->scope && asprintf(&h->scope, "REPRISE_SCOPE=%s", h->o->scope) < 0) return rp__fail_nomem(err);
  extra[1] = h->scope;
  h->env = rp__child_env(extra);
  int code = h->env ? 0 : rp__fail_nomem(err);
  if (!code) code = rp__inlet_open(&h->in, &h->loop, STDIN_FILENO, &client_handler, h, err);
  if (!code) code = rp__outlet_open(&h->out, &h->loop, STDOUT_FILENO, err);
  if (!code) code = rp__acp_new(e, h->o, &world, &h->core, err);
  if (!code) code = rp__acp_begin(h->core, err);
  if (!code) uv_run(&h->loop, UV_RUN_DEFAULT);
  rp__acp_free(RP_TAKE(h->core));
  return code;
}

/* Descriptors are shared with whoever started us: what libuv changed of their flags is put back. */
int rp__acp_run(rp_engine *e, const struct rp__acp_options *o, int *ret_code, rp_error *err)
{
  int flags[] = {fcntl(STDIN_FILENO, F_GETFL), fcntl(STDOUT_FILENO, F_GETFL)};
  if (flags[0] < 0 || flags[1] < 0) return rp__fail(err, RP_E_USAGE, "stdin and stdout must be open");
  struct host *h = calloc(1, sizeof *h);
  if (!h) return rp__fail_nomem(err);
  h->o = o;
  h->n_former = rp__tree_children(h->former, FORMER_MAX);
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* of keepers that are killed */
  h->wanted[RP_ACP_CLIENT] = h->wanted[RP_ACP_AGENT] = true;
  int rc = uv_loop_init(&h->loop);
  int code = rc ? rp__fail(err, RP_E_FAILED, "no event loop: %s", uv_strerror(rc)) : serve(h, e, err);
  if (!rc) close_all(h);
  fcntl(STDIN_FILENO, F_SETFL, flags[0]);
  fcntl(STDOUT_FILENO, F_SETFL, flags[1]);
  if (!code) *ret_code = h->code;
  free(h);
  return code;
}
