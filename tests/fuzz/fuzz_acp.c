/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile editor and a hostile agent on the two sides of the proxy (B-06). A line's first byte says what it is: 'c'
 * from the editor, 'a' from the agent, 't' time passes (as many tenths of a second as its length squared), 'd' the
 * agent dies, 'b' the editor takes nothing more, 'r' it reads again, 'g' the editor goes. What must hold: each line
 * sent is a message, no request gets a second answer, and nobody an answer to what he did not ask, unless that is what
 * the other side said, byte for byte; nothing goes to an editor that went, or to an agent that is dead; the end comes,
 * once.
 */
#include "bridge/acp/acp.h"
#include "bridge/broken-line.h"
#include "bridge/line.h"
#include "bridge/rpc.h"

/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

#define BYTES_MAX ((size_t)256 * 1024)
#define LINES_MAX 400
#define ASKED_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Requests of one side that have no answer yet. */
struct asked {
  char *id[ASKED_MAX];
  bool said[ASKED_MAX]; /* the other side has answered; it may be on its way */
  size_t n;
};

struct world {
  struct rp__acp *a;
  struct rp__str input; /* all that was and will be said */
  struct asked by[2], ever[2];
  struct asked loose[2]; /* ids used twice, or answered before they were asked: of these nobody can say what is due */
  int64_t now, timer;
  size_t backlog;
  bool leaving, gone, finished, alive;
};

/* No configuration of the user running this has a say. */
__attribute__((constructor)) static void leave_home(void)
{
  setenv("REPRISE_HOME", "/nonexistent/reprise", 1);
}

static size_t find(const struct asked *q, struct rp__json id)
{
  size_t i = 0;
  while (i < q->n && !rp__rpc_same_id(rp__json_trusted(q->id[i], strlen(q->id[i])), id)) i++;
  return i;
}

static void ask(struct asked *q, struct rp__json id)
{
  MUST(q->n < ASKED_MAX);
  q->said[q->n] = false;
  q->id[q->n] = strndup(id.p, id.n);
  MUST(q->id[q->n++]);
}

static void forget(struct asked *q, size_t i)
{
  free(q->id[i]);
  q->id[i] = q->id[--q->n];
  q->said[i] = q->said[q->n];
}

static void forget_all(struct asked *q)
{
  while (q->n) forget(q, 0);
}

/* ---- the world ---- */

static bool came(const struct world *w, const char *line, size_t n)
{
  return memmem(w->input.p, w->input.n, line, n) != NULL;
}

static void on_send(void *ctx, enum rp__acp_side to, const char *line, size_t n)
{
  struct world *w = ctx;
  struct rp__rpc r;
  rp__rpc_route(line, n, &r);
  MUST(!memchr(line, '\n', n));
  MUST(to == RP_ACP_CLIENT ? !w->gone : w->alive);
  if (r.type == RP_RPC_BROKEN) {
    MUST(to == RP_ACP_CLIENT || rp__line_is_blank((struct rp__str){line, n}));
    MUST(came(w, line, n));
    return;
  }
  if (r.id.type == RP_JSON_NULL) return; /* complaints about what had no id */
  if (r.type == RP_RPC_REQUEST) {
    struct asked *q = &w->by[to == RP_ACP_CLIENT ? RP_ACP_AGENT : RP_ACP_CLIENT];
    bool own = r.id.n > 9 && memcmp(r.id.p, "\"reprise/", 9) == 0;
    size_t i = find(q, r.id);
    if (own && i == q->n) ask(q, r.id); /* one of ours: it is answered to us */
  } else if (r.type != RP_RPC_NOTE) {
    struct asked *q = &w->by[to];
    size_t i = find(q, r.id);
    bool theirs = came(w, line, n);
    if (find(&w->loose[to], r.id) < w->loose[to].n) return;
    MUST(i < q->n || theirs);
    if (i < q->n) forget(q, i);
  }
}

static size_t on_backlog(void *ctx, enum rp__acp_side to)
{
  return to == RP_ACP_CLIENT ? ((struct world *)ctx)->backlog : 0;
}

static void on_read(void *ctx, enum rp__acp_side from, bool on)
{
  (void)ctx, (void)from, (void)on;
}

static int on_start(void *ctx, rp_error *err)
{
  struct world *w = ctx;
  (void)err;
  MUST(!w->alive);
  w->alive = true;
  forget_all(&w->by[RP_ACP_AGENT]);
  return 0;
}

static void on_stop(void *ctx)
{
  (void)ctx; /* it dies when the input says so, or at the end */
}

static void on_timer(void *ctx, int64_t ms)
{
  struct world *w = ctx;
  w->timer = ms < 0 ? -1 : w->now + ms;
}

static int64_t on_now(void *ctx)
{
  return ((struct world *)ctx)->now;
}

static void on_poke(void *ctx)
{
  (void)ctx; /* settle() looks anyway */
}

static void on_finish(void *ctx, int code)
{
  struct world *w = ctx;
  MUST(!w->finished && code == 0 && w->leaving);
  w->finished = true;
}

/* ---- playing ---- */

static void settle(struct world *w, rp_engine *e)
{
  MUST(rp_flush(e, NULL) == 0);
  rp__acp_poke(w->a);
}

static void die(struct world *w)
{
  if (!w->alive) return;
  w->alive = false;
  rp__acp_agent_gone(w->a, 1);
}

static void leave(struct world *w)
{
  if (w->gone) return;
  w->leaving = true;
  rp__acp_client_gone(w->a, "editor closed"); /* the last things may still be said */
  w->gone = true;
}

static void pass_time(struct world *w, rp_engine *e, int64_t ms)
{
  int64_t until = w->now + ms;
  for (int i = 0; i < 1000 && w->timer >= 0 && w->timer <= until; i++) {
    w->now = RP_MAX(w->now, w->timer);
    w->timer = -1;
    rp__acp_tick(w->a);
    settle(w, e);
  }
  w->now = until;
}

/* An answer that nobody waits for goes on as it came, and may meet a request that is asked meanwhile. */
static void note_answer(struct world *w, enum rp__acp_side to, struct rp__str line)
{
  struct rp__rpc r;
  rp__rpc_route(line.p, line.n, &r);
  bool broken = r.type == RP_RPC_BROKEN; /* may have ended what it names */
  if (broken) r.id = rp__broken_line_id(line.p, line.n);
  if (!r.id.type || r.type == RP_RPC_REQUEST) return;
  size_t i = find(&w->by[to], r.id);
  if (broken && i == w->by[to].n) return;
  if (i == w->by[to].n || w->by[to].said[i])
    ask(&w->loose[to], r.id);
  else
    w->by[to].said[i] = true;
}

static void note_answers(struct world *w, enum rp__acp_side to, struct rp__str line)
{
  struct rp__json batch = rp__json_trusted(line.p, line.n), v;
  struct rp__json_iter it = {0};
  note_answer(w, to, line);
  while (batch.type == RP_JSON_ARRAY && rp__json_next(batch, &it, NULL, &v))
    note_answer(w, to, (struct rp__str){v.p, v.n});
}

static void say(struct world *w, enum rp__acp_side from, struct rp__str line)
{
  struct rp__rpc r;
  rp__rpc_route(line.p, line.n, &r);
  if (from == RP_ACP_AGENT && !w->alive) return;
  bool asks = r.type == RP_RPC_REQUEST || r.type == RP_RPC_BROKEN; /* such a one has an id if it is answered with it */
  if (asks && r.id.type > RP_JSON_NULL) {
    ask(find(&w->ever[from], r.id) < w->ever[from].n ? &w->loose[from] : &w->ever[from], r.id);
    ask(&w->by[from], r.id);
  }
  note_answers(w, from == RP_ACP_CLIENT ? RP_ACP_AGENT : RP_ACP_CLIENT, line);
  rp__acp_line(w->a, from, line.p, line.n);
}

static void step(struct world *w, rp_engine *e, struct rp__str line)
{
  struct rp__str rest = {line.p + 1, line.n - 1};
  if (!line.n) return;
  switch (line.p[0]) {
  case 'c':
    if (!w->gone) say(w, RP_ACP_CLIENT, rest);
    break;
  case 'a': say(w, RP_ACP_AGENT, rest); break;
  case 'd': die(w); break;
  case 't': pass_time(w, e, (int64_t)(rest.n * rest.n) * 100); break;
  case 'b':
  case 'r':
    w->backlog = line.p[0] == 'b' ? (size_t)16 << 20 : 0;
    rp__acp_drained(w->a, RP_ACP_CLIENT);
    break;
  case 'g': leave(w); break;
  default: settle(w, e);
  }
}

static void play(struct world *w, rp_engine *e, struct rp__lines *lines)
{
  struct rp__str line;
  for (int i = 0; i < LINES_MAX && !w->finished && rp__lines_next(lines, true, &line); i++) step(w, e, line);
  w->backlog = 0;
  rp__acp_drained(w->a, RP_ACP_CLIENT);
  settle(w, e);
  pass_time(w, e, 200000);
  leave(w);
  die(w);
  MUST(w->finished);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static const char *const command[] = {"agent", NULL};
  const rp_options o = {.db = "memory:", .short_lived = true};
  struct world w = {.input = {(const char *)data, n}, .now = 100000, .timer = -1};
  struct rp__acp_world hooks = {&w,      on_send,  on_backlog, on_read, on_start,
                                on_stop, on_timer, on_now,     on_poke, on_finish};
  struct rp__acp_options options = {.scope = "fuzz", .command = command};
  struct rp__lines lines;
  rp_engine *e = NULL;
  if (n > BYTES_MAX) return 0;
  rp__lines_init(&lines, BYTES_MAX + 1);
  lines.whole = true;
  MUST(rp_open(&o, &e, NULL) == 0);
  MUST(rp__lines_add(&lines, (const char *)data, n, NULL) == 0);
  MUST(rp__acp_new(e, &options, &hooks, &w.a, NULL) == 0 && rp__acp_begin(w.a, NULL) == 0);
  play(&w, e, &lines);
  rp__acp_free(w.a);
  forget_all(&w.by[0]);
  forget_all(&w.by[1]);
  forget_all(&w.loose[0]);
  forget_all(&w.loose[1]);
  forget_all(&w.ever[0]);
  forget_all(&w.ever[1]);
  rp__lines_done(&lines);
  rp_close(e);
  return 0;
}
