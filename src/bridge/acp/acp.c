/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy as a whole: making and freeing it, sending lines, and the work that is due while no line comes in. */
#include "bridge/acp/session/session.h"

#include <stdarg.h>

#include "bridge/line.h"

#define LOG_BYTES 1024
#define NEVER INT64_MAX

/* The engine's own speaks of an option that an editor has not. */
static const char held_hint[] = "close it where it is open, or take it from there: reprise start --force --id ID";

static void out_client(void *ctx, const char *line, size_t n)
{
  struct rp__acp *a = ctx;
  if (!a->ending) a->w.send(a->w.ctx, RP_ACP_CLIENT, line, n);
}

static void out_agent(void *ctx, const char *line, size_t n)
{
  struct rp__acp *a = ctx;
  if (a->agent_state == RP_AGENT_UP || a->agent_state == RP_AGENT_WAKING) a->w.send(a->w.ctx, RP_ACP_AGENT, line, n);
}

int64_t rp__acp_now(struct rp__acp *a)
{
  return a->w.now(a->w.ctx);
}

RP_PRINTF(3, 0)
static void tell(struct rp__acp *a, void (*to)(void *, const char *), const char *fmt, va_list args)
{
  char text[LOG_BYTES];
  if (!to) return;
  vsnprintf(text, sizeof text, fmt, args);
  to(a->o.log_ctx, text);
}

void rp__acp_log(struct rp__acp *a, const char *fmt, ...)
{
  va_list args;
  va_start(args, fmt);
  tell(a, a->o.log, fmt, args);
  va_end(args);
}

void rp__acp_warn(struct rp__acp *a, const char *fmt, ...)
{
  va_list args;
  va_start(args, fmt);
  tell(a, a->o.warn, fmt, args);
  va_end(args);
}

/* ---- lines out ---- */

struct rp__queued_line *rp__acp_queue(struct rp__acp *a, struct rp__line_queue *to, struct rp__str line, unsigned waits)
{
  struct rp__queued_line *item = rp__line_queue_add(to, line.p, line.n, waits);
  if (item) return item;
  rp__acp_journal_settle(a); /* no memory for a copy: once nothing waits before it, it needs none */
  if (rp__line_queue_empty(to)) to->out(to->ctx, line.p, line.n);
  return NULL;
}

void rp__acp_forward(struct rp__acp *a, enum rp__acp_side to, struct rp__str line)
{
  if (line.p)
    rp__acp_queue(a, to == RP_ACP_CLIENT ? &a->to_client : &a->to_agent, line, 0);
  else
    rp__acp_log(a, "out of memory: a line is lost");
}

void rp__acp_send(struct rp__acp *a, enum rp__acp_side to, struct rp__buf *line)
{
  rp__acp_forward(a, to, rp__acp_written(line));
}

void rp__acp_error(struct rp__acp *a, enum rp__acp_side to, struct rp__json id, int code, const char *why,
                   const char *data)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  rp__rpc_error(&out, id, code, why, data);
  rp__acp_send(a, to, &out);
}

void rp__acp_fail(struct rp__acp *a, struct rp__json id, const rp_error *err)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(LOG_BYTES);
  struct rp__jw w = RP_JW(&data);
  const rp_error_info *info = rp_error_lookup(err->code);
  rp__jw_pack(&w, "{code:s hint:?s}", info->name, err->code == RP_E_HELD ? held_hint : err->hint);
  /* ACP has no codes of its own for what a store may say. */
  int code = info->json_rpc >= -32603 && info->json_rpc <= -32600 ? info->json_rpc : RP_ACP_E_INTERNAL;
  rp__acp_error(a, RP_ACP_CLIENT, id, code, err->message, data.err ? NULL : data.p);
}

void rp__acp_answer(struct rp__acp *a, struct rp__call *c, struct rp__buf *line)
{
  rp__acp_send(a, RP_ACP_CLIENT, line);
  rp__call_free(c);
}

void rp__acp_answer_error(struct rp__acp *a, struct rp__call *c, int code, const char *why, const char *data)
{
  rp__acp_error(a, RP_ACP_CLIENT, rp__call_id(c), code, why, data);
  rp__call_free(c);
}

void rp__acp_answer_empty(struct rp__acp *a, struct rp__json id, const char *stop_reason)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = rp__rpc_begin_result(&out, id);
  rp__jw_pack(&w, "{stopReason:?s}", stop_reason);
  rp__rpc_end(&w);
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

/* ---- life ---- */

static const char *given(const char *text)
{
  return text && *text ? text : NULL;
}

int rp__acp_new(rp_engine *e, const struct rp__acp_options *o, const struct rp__acp_world *w, struct rp__acp **ret,
                rp_error *err)
{
  struct rp__acp *a = calloc(1, sizeof *a);
  if (!a) return rp__fail_nomem(err);
  a->e = e;
  a->w = *w;
  a->o = *o;
  a->o.scope = given(o->scope);
  a->o.continue_id = given(o->continue_id);
  a->o.name = given(o->name);
  a->reading[0] = a->reading[1] = true;
  a->timer_at = NEVER;
  for (size_t i = 0; i < RP_ACP_DEATHS; i++) a->deaths[i] = -RP_ACP_LOOP_MS;
  rp__waiting_lines_init(&a->waiting);
  rp__waiting_lines_init(&a->early_updates);
  rp__line_queue_init(&a->to_client, out_client, a);
  rp__line_queue_init(&a->to_agent, out_agent, a);
  a->command = rp__command_copy(e, o->command);
  int rc = a->command ? rp__inbox_new(a, err) : rp__fail_nomem(err);
  if (rc) {
    rp__acp_free(a);
    return rc;
  }
  *ret = a;
  return 0;
}

void rp__acp_free(struct rp__acp *a)
{
  if (!a) return;
  a->ending = a->finished = true; /* nothing goes out any more */
  a->agent_state = RP_AGENT_OFF;
  while (a->sessions) rp__acp_session_free(a->sessions);
  rp__inbox_close(a);
  rp__calls_done(&a->client);
  rp__calls_done(&a->agent);
  rp__waiting_lines_done(&a->waiting);
  rp__waiting_lines_done(&a->early_updates);
  rp__line_queue_done(&a->to_client);
  rp__line_queue_done(&a->to_agent);
  rp__command_free(a->command);
  free(a->initialize);
  free(a->authenticate);
  free(a);
}

int rp__acp_begin(struct rp__acp *a, rp_error *err)
{
  int rc = a->w.start(a->w.ctx, err);
  if (rc) return rc;
  a->agent_state = RP_AGENT_UP;
  a->beat_at = rp__acp_now(a) + RP_ACP_BEAT_MS;
  return 0;
}

/* ---- after each event ---- */

static void press(struct rp__acp *a, enum rp__acp_side from, const struct rp__line_queue *f, enum rp__acp_side to)
{
  size_t behind = a->w.backlog(a->w.ctx, to);
  bool full = rp__line_queue_full(f) || behind > RP_ACP_STOP;
  bool easy = !rp__line_queue_full(f) && behind < RP_ACP_STOP / 2;
  if (a->reading[from] ? !full : !easy) return;
  a->reading[from] = !a->reading[from];
  a->w.read(a->w.ctx, from, a->reading[from]);
}

static void earlier(int64_t *at, int64_t when)
{
  if (when && when < *at) *at = when;
}

static void after(struct rp__acp *a)
{
  if (a->finished) return;
  rp__early_updates_settle(a);
  rp__restore_wanted(a);
  for (struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (!s->h && s->open_at <= rp__acp_now(a)) rp__acp_session_retry(s); /* as soon as that works */
  for (struct rp__acp_session *s = a->sessions, *next; s; s = next) {
    next = s->next;
    rp__load_pump(s);
  }
  press(a, RP_ACP_AGENT, &a->to_client, RP_ACP_CLIENT);
  press(a, RP_ACP_CLIENT, &a->to_agent, RP_ACP_AGENT);
  int64_t at = a->sessions ? a->beat_at : NEVER, now = rp__acp_now(a);
  for (const struct rp__call *c = a->client.head; c; c = c->next) earlier(&at, c->deadline);
  for (const struct rp__acp_session *s = a->sessions; s; s = s->next) {
    if (s->ladder.phase == RP_LADDER_QUIET) earlier(&at, s->ladder.quiet_at);
    earlier(&at, s->end_by);
    if (!s->h) earlier(&at, s->open_at);
  }
  if (at == a->timer_at) return;
  a->timer_at = at;
  a->w.timer(a->w.ctx, at == NEVER ? -1 : RP_MAX(at - now, 0));
}

/* What the agent says does not count any more. */
static bool deaf(const struct rp__acp *a)
{
  return a->agent_state == RP_AGENT_DYING || a->agent_state == RP_AGENT_OFF || a->agent_state == RP_AGENT_BROKEN;
}

static void take(struct rp__acp *a, enum rp__acp_side from, struct rp__str line)
{
  struct rp__buf once RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__msg m = {.line = line, .text = line};
  rp__rpc_route(line.p, line.n, &m.r);
  rp__msg_single_members(&m, &once);
  if (from == RP_ACP_CLIENT)
    rp__acp_from_client(a, &m);
  else
    rp__acp_from_agent(a, &m);
}

/* Nobody reads batches; but what is in one is heard, each message as a line of its own. */
static bool take_batch(struct rp__acp *a, struct rp__str line)
{
  struct rp__json batch = rp__json_trusted(line.p, line.n), v;
  struct rp__json_limits lenient = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json_iter it = {0};
  if (batch.type != RP_JSON_ARRAY || !rp__json_next(batch, &it, NULL, &v) || v.type != RP_JSON_OBJECT) return false;
  if (rp__json_parse(line.p, line.n, &lenient, &v, NULL)) return false;
  for (it = (struct rp__json_iter){0}; !deaf(a) && rp__json_next(batch, &it, NULL, &v);)
    take(a, RP_ACP_AGENT, (struct rp__str){v.p, v.n});
  return true;
}

void rp__acp_line(struct rp__acp *a, enum rp__acp_side from, const char *line, size_t n)
{
  struct rp__str all = {line, n};
  if (a->ending) return;
  if (from == RP_ACP_AGENT && deaf(a)) return;
  rp__inbox_take(a);
  if (rp__line_is_blank(all))
    rp__acp_forward(a, from == RP_ACP_CLIENT ? RP_ACP_AGENT : RP_ACP_CLIENT, all);
  else if (from == RP_ACP_CLIENT || !take_batch(a, all))
    take(a, from, all);
  after(a);
}

void rp__acp_unreadable(struct rp__acp *a, enum rp__acp_side from, const rp_error *why)
{
  struct rp__json none = {0};
  char text[sizeof a->why];
  if (a->ending) return;
  snprintf(text, sizeof text, "sent what can't be read: %s", why->message);
  if (from == RP_ACP_CLIENT)
    rp__acp_error(a, RP_ACP_CLIENT, none, RP_ACP_E_REQUEST, why->message, NULL);
  else
    rp__death_replace(a, text);
  after(a);
}

void rp__acp_poke(struct rp__acp *a)
{
  rp__inbox_take(a);
  after(a);
}

void rp__acp_drained(struct rp__acp *a, enum rp__acp_side to)
{
  (void)to;
  rp__acp_poke(a);
}

void rp__acp_tick(struct rp__acp *a)
{
  int64_t now = rp__acp_now(a);
  a->timer_at = NEVER;
  if (a->ending) return;
  rp__inbox_take(a);
  for (struct rp__call *c = a->client.head, *next; c; c = next) {
    next = c->next;
    if (!c->deadline || c->deadline > now) continue;
    rp__call_take(c);
    if (c->done) c->done(a, c, NULL);
    rp__call_free(c);
    next = a->client.head; /* anything may have changed */
  }
  bool beat = now >= a->beat_at;
  if (beat) a->beat_at = now + RP_ACP_BEAT_MS;
  for (struct rp__acp_session *s = a->sessions; s && beat; s = s->next) {
    rp_error why = {0};
    if (!s->h || s->state == RP_ACP_TAKEN) continue;
    if (rp_heartbeat(s->h, &why)) rp__acp_journal_refused(s, &why);
  }
  for (struct rp__acp_session *s = a->sessions, *next; s; s = next) {
    const struct rp__ladder *l = &s->ladder;
    next = s->next;
    if (s->end_by && s->end_by <= now)
      rp__close_go_on(s, true);
    else if (l->phase == RP_LADDER_QUIET && RP_MIN(l->quiet_at, l->quiet_max) <= now)
      rp__settings_again(s);
  }
  after(a);
}

/* ---- the end ---- */

void rp__acp_client_gone(struct rp__acp *a, const char *reason)
{
  struct rp__buf error RP_AUTOBUF = RP_BUF(LOG_BYTES);
  struct rp__jw w = RP_JW(&error);
  struct rp__json none = {0};
  if (a->ending) return;
  rp__acp_journal_settle(a); /* what was said last is still delivered */
  a->ending = true;
  for (struct rp__acp_session *s = a->sessions; s; s = s->next) {
    rp__acp_session_retry(s);
    rp__tools_leave(s);
  }
  rp__jw_pack(&w, "{message:s}", reason);
  for (const struct rp__call *c = a->client.head; c && !error.err; c = c->next) {
    if (c->kind != RP_CALL_PROMPT || !c->s) continue;
    struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
    if (!rp__acp_event_turn_end(&c->s->known, c->turn, none, rp__json_trusted(error.p, error.n), &events, NULL))
      rp__acp_journal_put(c->s, &events, &a->to_client, (struct rp__str){0});
  }
  while (a->sessions) rp__acp_session_end(a->sessions, reason);
  a->w.timer(a->w.ctx, -1);
  if (a->agent_state == RP_AGENT_OFF || a->agent_state == RP_AGENT_BROKEN) {
    a->finished = true;
    a->w.finish(a->w.ctx, 0);
    return;
  }
  a->agent_state = RP_AGENT_DYING;
  a->w.stop(a->w.ctx);
}
