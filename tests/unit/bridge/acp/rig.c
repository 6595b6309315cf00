/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy in a world that the test plays: editor, agent, clock, store. */
#include "unit/bridge/acp/rig.h"

#define PATIENCE_S 20

/* ---- the world ---- */

static void on_send(void *ctx, enum rp__acp_side to, const char *line, size_t n)
{
  struct acp_rig *x = ctx;
  struct acp_lines *l = &x->to[to];
  assert_true(l->n < ACP_LINES);
  assert_null(memchr(line, '\n', n));
  l->line[l->n++] = strndup(line, n);
}

static size_t on_backlog(void *ctx, enum rp__acp_side to)
{
  return ((struct acp_rig *)ctx)->backlog[to];
}

static void on_read(void *ctx, enum rp__acp_side from, bool on)
{
  ((struct acp_rig *)ctx)->reading[from] = on;
}

static int on_start(void *ctx, rp_error *err)
{
  struct acp_rig *x = ctx;
  x->starts++;
  if (!x->fail_starts) return 0;
  x->fail_starts--;
  err->code = RP_E_FILE_NOT_FOUND;
  snprintf(err->message, sizeof err->message, "no such program");
  return RP_E_FILE_NOT_FOUND;
}

static void on_stop(void *ctx)
{
  ((struct acp_rig *)ctx)->stops++;
}

static void on_timer(void *ctx, int64_t ms)
{
  struct acp_rig *x = ctx;
  x->timer = ms < 0 ? -1 : x->now + ms;
}

static int64_t on_now(void *ctx)
{
  return ((struct acp_rig *)ctx)->now;
}

static void on_poke(void *ctx)
{
  struct acp_rig *x = ctx;
  pthread_mutex_lock(&x->lock);
  x->pokes++;
  pthread_cond_signal(&x->poked);
  pthread_mutex_unlock(&x->lock);
}

static void on_finish(void *ctx, int code)
{
  ((struct acp_rig *)ctx)->finished = code;
}

static void on_log(void *ctx, const char *text)
{
  struct acp_rig *x = ctx;
  assert_true(text[0]);
  x->logs++;
}

static void on_warn(void *ctx, const char *text)
{
  struct acp_rig *x = ctx;
  assert_true(text[0]);
  x->warnings++;
}

/* ---- life ---- */

rp_engine *acp_other_engine(struct acp_rig *x)
{
  rp_engine *e = NULL;
  rp_error err = {0};
  rp_options o = {.db = x->r->url};
  OK(rp_open(&o, &e, &err), err);
  return e;
}

int acp_setup(void **state)
{
  struct acp_rig *x = calloc(1, sizeof *x);
  void *r = NULL;
  unsetenv("REPRISE_SESSION");
  unsetenv("REPRISE_SCOPE");
  if (!x || rig_setup(&r)) return -1;
  x->r = r;
  rp_close(x->r->e);
  x->r->e = NULL;
  pthread_mutex_init(&x->lock, NULL);
  pthread_cond_init(&x->poked, NULL);
  x->now = 1000000;
  x->timer = x->finished = -1;
  x->e = acp_other_engine(x);
  acp_open(x, NULL);
  *state = x;
  return 0;
}

static void lines_clear(struct acp_lines *l)
{
  for (size_t i = 0; i < l->n; i++) free(l->line[i]);
  *l = (struct acp_lines){0};
}

void acp_free(struct acp_rig *x)
{
  rp__acp_free(x->a);
  x->a = NULL;
  lines_clear(&x->to[0]);
  lines_clear(&x->to[1]);
}

int acp_teardown(void **state)
{
  struct acp_rig *x = *state;
  void *r = x->r;
  acp_free(x);
  rp_close(x->e);
  pthread_cond_destroy(&x->poked);
  pthread_mutex_destroy(&x->lock);
  free(x);
  return rig_teardown(&r);
}

void acp_open(struct acp_rig *x, const struct rp__acp_options *o)
{
  static const char *const command[] = {"agent", "--acp", NULL};
  struct rp__acp_options all = {.scope = "acp-test"};
  struct rp__acp_world w = {x, on_send, on_backlog, on_read, on_start, on_stop, on_timer, on_now, on_poke, on_finish};
  rp_error err = {0};
  if (o) all = *o;
  if (!all.command) all.command = command;
  all.log = on_log;
  all.warn = on_warn;
  all.log_ctx = x;
  acp_free(x);
  x->reading[0] = x->reading[1] = true;
  x->finished = -1;
  OK(rp__acp_new(x->e, &all, &w, &x->a, &err), err);
  OK(rp__acp_begin(x->a, &err), err);
}

/* ---- playing ---- */

void acp_say(struct acp_rig *x, enum rp__acp_side from, const char *line)
{
  char *copy = strdup(line); /* of its exact size: a read beyond it is seen */
  rp__acp_line(x->a, from, copy, strlen(copy));
  free(copy);
}

/* Hands over what the engine has told since. False: nothing came in time. */
static bool take_pokes(struct acp_rig *x, int seconds)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds;
  pthread_mutex_lock(&x->lock);
  while (!x->pokes && seconds && pthread_cond_timedwait(&x->poked, &x->lock, &until) == 0) {
  }
  bool any = x->pokes > 0;
  x->pokes = 0;
  pthread_mutex_unlock(&x->lock);
  if (any) rp__acp_poke(x->a);
  return any;
}

/* Until all that was accepted is stored and told. */
static void settle(struct acp_rig *x)
{
  rp_error err = {0};
  OK(rp_flush(x->e, &err), err);
  while (take_pokes(x, 0)) {
  }
}

const char *acp_next(struct acp_rig *x, enum rp__acp_side to)
{
  struct acp_lines *l = &x->to[to];
  if (l->taken == l->n) settle(x);
  if (l->taken == l->n) take_pokes(x, 1);
  return l->taken < l->n ? l->line[l->taken++] : NULL;
}

bool acp_like(const char *text, const char *pattern)
{
  for (; *pattern; pattern++, text++) {
    if (*pattern == '*') {
      while (pattern[1] == '*') pattern++;
      if (!pattern[1]) return true;
      for (; *text; text++)
        if (acp_like(text, pattern + 1)) return true;
      return false;
    }
    if (*text != *pattern) return false;
  }
  return !*text;
}

static void expect(struct acp_rig *x, enum rp__acp_side to, const char *pattern, int step)
{
  const char *line = acp_next(x, to);
  if (!line) fail_msg("step %d: nothing came, not %s", step, pattern);
  if (!acp_like(line, pattern)) fail_msg("step %d:\n  came %s\n  not  %s", step, line, pattern);
}

void acp_wait(struct acp_rig *x, int64_t ms)
{
  int64_t until = x->now + ms;
  settle(x);
  while (x->timer >= 0 && x->timer <= until) {
    x->now = RP_MAX(x->now, x->timer);
    x->timer = -1;
    rp__acp_tick(x->a);
    settle(x);
  }
  x->now = until;
}

void acp_play(struct acp_rig *x, const struct acp_step *steps)
{
  for (int i = 0; steps[i].what != END; i++) {
    const struct acp_step *s = &steps[i];
    switch (s->what) {
    case C:
    case A: acp_say(x, s->what == C ? RP_ACP_CLIENT : RP_ACP_AGENT, s->text); break;
    case TO_C:
    case TO_A: expect(x, s->what == TO_C ? RP_ACP_CLIENT : RP_ACP_AGENT, s->text, i); break;
    case C_A:
    case A_C:
      acp_say(x, s->what == C_A ? RP_ACP_CLIENT : RP_ACP_AGENT, s->text);
      expect(x, s->what == C_A ? RP_ACP_AGENT : RP_ACP_CLIENT, s->text, i);
      break;
    case NONE:
      settle(x);
      for (int side = 0; side < 2; side++)
        if (x->to[side].taken < x->to[side].n)
          fail_msg("step %d: %s got %s", i, side ? "the agent" : "the editor", x->to[side].line[x->to[side].taken]);
      break;
    case WAIT: acp_wait(x, s->ms); break;
    case DIE: rp__acp_agent_gone(x->a, (int)s->ms); break;
    case END: break;
    }
  }
}

/* ---- the journal ---- */

struct tally {
  const char *kind, *pattern;
  int n;
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct tally *t = ctx;
  char *body = strndup(ev->body, ev->body_len);
  if (strcmp(ev->kind, t->kind) == 0 && acp_like(body, t->pattern)) t->n++;
  free(body);
  return 0;
}

int acp_count(struct acp_rig *x, const char *id, const char *kind, const char *pattern)
{
  struct tally t = {kind, pattern, 0};
  rp_session *s = NULL;
  rp_error err = {0};
  settle(x);
  OK(rp_attach(x->e, id, &s, &err), err);
  OK(rp_events(s, 0, 0, on_event, &t, &err), err);
  rp_session_free(s);
  return t.n;
}

/* ---- beginnings ---- */

void acp_greet(struct acp_rig *x, const char *caps)
{
  char line[2048];
  acp_say(x, RP_ACP_CLIENT, INIT);
  assert_string_equal(acp_next(x, RP_ACP_AGENT), INIT);
  snprintf(line, sizeof line,
           "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{%s},"
           "\"agentInfo\":{\"name\":\"fake\",\"version\":\"1\"}}}",
           caps);
  acp_say(x, RP_ACP_AGENT, line);
  assert_non_null(acp_next(x, RP_ACP_CLIENT));
}

void acp_begin(struct acp_rig *x, const char *caps)
{
  acp_greet(x, caps);
  acp_play(x, (struct acp_step[]){
                  {C_A, NEW("1"), 0},
                  {A_C, RESULT("1", "{\"sessionId\":\"s1\"}"), 0},
                  {NONE, NULL, 0},
                  {END, NULL, 0},
              });
}
