/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core for trying the host: what one side says the other gets. Lines of the editor that begin with '!' are for it,
 * and what it has to tell goes to the editor with a '#' before it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "bridge/acp/acp.h"

struct rp__acp {
  struct rp__acp_world w;
  bool leaving, restart, alive;
  unsigned drained;
};

int rp__acp_new(rp_engine *e, const struct rp__acp_options *o, const struct rp__acp_world *w, struct rp__acp **ret,
                rp_error *err)
{
  struct rp__acp *a = calloc(1, sizeof *a);
  (void)e, (void)o;
  if (!a) return rp__fail_nomem(err);
  a->w = *w;
  *ret = a;
  return 0;
}

void rp__acp_free(struct rp__acp *a)
{
  free(a);
}

int rp__acp_begin(struct rp__acp *a, rp_error *err)
{
  int code = a->w.start(a->w.ctx, err);
  a->alive = code == 0;
  return code;
}

static void tell(struct rp__acp *a, const char *fmt, const char *text, int n)
{
  char line[512];
  int len = snprintf(line, sizeof(line), "#%s %s%d", fmt, text, n);
  a->w.send(a->w.ctx, RP_ACP_CLIENT, line, (size_t)len);
}

static void *poke_from_afar(void *arg)
{
  struct rp__acp *a = arg;
  a->w.poke(a->w.ctx);
  return NULL;
}

static void poke(struct rp__acp *a)
{
  pthread_t t;
  if (pthread_create(&t, NULL, poke_from_afar, a)) abort();
  pthread_join(t, NULL);
}

static void obey(struct rp__acp *a, struct rp__str word)
{
  if (rp__str_eq(word, "!tick")) a->w.timer(a->w.ctx, 5);
  if (rp__str_eq(word, "!poke")) poke(a);
  if (rp__str_eq(word, "!restart")) a->restart = true;
  if (rp__str_eq(word, "!stop")) a->w.stop(a->w.ctx);
  if (rp__str_eq(word, "!drained")) tell(a, "drained", "", (int)a->drained);
  if (rp__str_eq(word, "!pause")) { /* the agent is not heard until the tick */
    a->w.read(a->w.ctx, RP_ACP_AGENT, false);
    a->w.timer(a->w.ctx, 50);
  }
}

void rp__acp_line(struct rp__acp *a, enum rp__acp_side from, const char *line, size_t n)
{
  if (from == RP_ACP_CLIENT && n && line[0] == '!')
    obey(a, (struct rp__str){line, n});
  else
    a->w.send(a->w.ctx, from == RP_ACP_CLIENT ? RP_ACP_AGENT : RP_ACP_CLIENT, line, n);
}

void rp__acp_rest(struct rp__acp *a, const char *line, size_t n)
{
  tell(a, "rest", "", (int)n);
  rp__acp_line(a, RP_ACP_AGENT, line, n);
}

void rp__acp_unreadable(struct rp__acp *a, enum rp__acp_side from, const rp_error *why)
{
  tell(a, from == RP_ACP_CLIENT ? "unreadable client" : "unreadable agent", "", why->code);
}

void rp__acp_agent_gone(struct rp__acp *a, int status)
{
  rp_error err = {0};
  a->alive = false;
  tell(a, "gone", "", status);
  if (a->leaving) {
    a->w.finish(a->w.ctx, 0);
  } else if (a->restart) {
    tell(a, "started", "", rp__acp_begin(a, &err));
  }
}

void rp__acp_client_gone(struct rp__acp *a, const char *reason)
{
  tell(a, "leaving", reason, 0);
  a->leaving = true;
  if (a->alive)
    a->w.stop(a->w.ctx);
  else
    a->w.finish(a->w.ctx, 0);
}

void rp__acp_tick(struct rp__acp *a)
{
  a->w.read(a->w.ctx, RP_ACP_AGENT, true);
  tell(a, "tick", "", 0);
}

void rp__acp_poke(struct rp__acp *a)
{
  tell(a, "poke", "", 0);
}

void rp__acp_drained(struct rp__acp *a, enum rp__acp_side to)
{
  if (to == RP_ACP_CLIENT) a->drained++;
}
