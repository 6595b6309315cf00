/* SPDX-License-Identifier: Apache-2.0 */
/* The pushes of a channel: started in the order of arrival, each answered when it is done, bounded in number. */
#include "json/ack.h"
#include "server/channel/channel.h"

/* ---- back-pressure: how much of what was pushed is not stored yet ---- */

static size_t pending(const struct rp__channel *ch)
{
  return ch->waiting + ch->flying + ch->busy;
}

static void tell_level(struct rp__channel *ch)
{
  static const char *const names[] = {"normal", "warn", "critical"};
  struct rp__buf out RP_AUTOBUF = RP_BUF(256);
  struct rp__jw w = RP_JW(&out);
  size_t n = pending(ch);
  enum rp__level level = ch->level;
  if (n >= RP_CHANNEL_CRITICAL)
    level = RP_LEVEL_CRITICAL;
  else if (n < RP_CHANNEL_NORMAL)
    level = RP_LEVEL_NORMAL;
  else if (n >= RP_CHANNEL_WARN && level == RP_LEVEL_NORMAL)
    level = RP_LEVEL_WARN;
  if (level == ch->level) return;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "level", names[level]);
  rp__jw_ki64(&w, "pending", (int64_t)n);
  rp__jw_end_object(&w);
  /* Told again at the next push when it did not fit. */
  if (!out.err && !rp__channel_tell(ch, "backpressure", (struct rp__str){out.p, out.n})) ch->level = level;
}

/* ---- pushes ---- */

void rp__push_free(struct rp__push *p)
{
  rp__buf_done(&p->out);
  free(p);
}

/* The bytes of a message, its ref first. */
static struct rp__push *push_new(struct rp__channel *ch, const struct rp__push_row *row, const struct rp__phx *m)
{
  struct rp__str bytes = m->binary ? m->data : (struct rp__str){m->payload.p, m->payload.n};
  size_t n = m->ref.n + 1 + bytes.n;
  struct rp__push *p = calloc(1, sizeof *p + n);
  if (!p) return NULL;
  p->ch = ch;
  p->loop = ch->of->srv->loop;
  p->row = row;
  p->n = n;
  p->out = RP_BUF(RP_PUSH_ANSWER_MAX);
  if (m->ref.p) p->ref = p->bytes;
  if (m->ref.n) memcpy(p->bytes, m->ref.p, m->ref.n);
  char *at = p->bytes + m->ref.n + 1;
  if (bytes.n) memcpy(at, bytes.p, bytes.n);
  p->binary = m->binary;
  if (m->binary)
    p->data = (struct rp__str){at, bytes.n};
  else
    p->payload = (struct rp__json){at, bytes.n, m->payload.type};
  return p;
}

/* ---- answering them ---- */

static void answer(struct rp__push *p)
{
  struct rp__jw w = RP_JW(&p->out);
  if (!p->ack.durability) p->ack.durability = RP_DISK;
  if (!p->rc && p->row->kind) rp__ack_write(&w, &p->ack);
  if (!p->rc && p->out.err) p->rc = rp__fail(&p->err, p->out.err, "the answer is too large");
  if (p->rc) {
    /* Clients of the mapped events know the fields of their payload, not those of the body. */
    if (p->row->kind && p->row->kind[0] && strncmp(p->err.field, "body.", 5) == 0)
      memmove(p->err.field, p->err.field + 5, strlen(p->err.field + 5) + 1);
    atomic_fetch_add_explicit(&p->ch->of->refused, 1, memory_order_relaxed);
    rp__channel_refuse(p->ch, p->ref, &p->err, p->reason);
  } else if (p->row->flags & RP_PUSH_SILENT) {
    return;
  } else if (p->binary && p->ch->socket && p->ref) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
    rp__phx_reply_binary(&out, p->ch->join_ref, p->ref, p->ch->topic, true, p->data);
    rp__socket_must_send(p->ch->socket, out.err ? NULL : rp__ws_binary(out.p, out.n));
  } else {
    rp__channel_reply(p->ch, p->ref, true, p->out.n ? (struct rp__str){p->out.p, p->out.n} : RP_STR("{}"));
  }
}

/* Answers a push and frees it. The channel is still there. */
static void finish(struct rp__push *p)
{
  struct rp__channel *ch = p->ch;
  ch->bytes -= p->n;
  if (ch->socket) ch->socket->waiting_bytes -= p->n;
  answer(p);
  if (p->row == &rp__push_leave) rp__channel_close(ch);
  rp__push_free(p);
  tell_level(ch);
}

/* ---- starting them ---- */

static void after_store(struct rp__job *job)
{
  struct rp__push *p = (struct rp__push *)job;
  struct rp__channel *ch = p->ch;
  ch->flying--;
  if (!p->rc) rp__channels_budget(ch->of->srv, ch->entry->id, &p->ack);
  finish(p);
  rp__channel_pump(ch);
}

/* In any thread. */
static void on_stored(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct rp__push *p = ctx;
  p->rc = err ? err->code : 0;
  if (p->rc)
    p->err = *err;
  else
    p->ack = *ack;
  p->job.fn = after_store;
  if (!rp__loop_post(p->loop, &p->job)) rp__push_free(p);
}

static int append(struct rp__push *p, rp_error *err)
{
  struct rp__push_event e RP_CLEANUP(rp__push_event_done) = {0};
  struct rp__channel *ch = p->ch;
  /* What was heard ends with what was understood of it. */
  if (p->row->kind && strcmp(p->row->kind, "transcript") == 0) rp__channel_end_audio(ch);
  struct rp__push_moment now = {rp__server_now(ch->of->srv), ch->has_video, ch->video};
  int rc = rp__push_event(p->row, &now, p->payload, &e, err);
  if (rc) return rc;
  rp_event ev = {.kind = e.kind, .body = e.body.p, .body_len = e.body.n, .at_ms = e.at_ms};
  rp_append_options o = {0};
  o.accepts_memory = e.accepts_memory;
  o.durability = e.durability;
  o.client_id = e.client_id;
  o.client_seq = e.client_seq;
  ch->flying++;
  rc = rp_append_async(ch->entry->s, &ev, &o, on_stored, p, err);
  if (rc) ch->flying--;
  return rc;
}

static void after_ask(struct rp__job *job)
{
  struct rp__push *p = (struct rp__push *)job;
  struct rp__channel *ch = p->ch;
  ch->busy = false;
  finish(p);
  rp__channel_pump(ch);
}

static void in_pool(struct rp__task *t)
{
  struct rp__push *p = (struct rp__push *)(void *)((char *)t - offsetof(struct rp__push, task));
  struct rp__jw w = RP_JW(&p->out);
  p->rc = p->row->ask(p, &w, &p->err);
  p->job.fn = after_ask;
  if (!rp__loop_post(p->loop, &p->job)) rp__push_free(p);
}

static int ask(struct rp__push *p, rp_error *err)
{
  struct rp__channel *ch = p->ch;
  p->task.fn = in_pool;
  ch->busy = true;
  if (!ch->of->closing && rp__pool_post(ch->of->srv->pool, &p->task)) return 0;
  ch->busy = false;
  return rp__fail(err, RP_E_BUSY, "too much waits for a thread");
}

/* Once it is on its way, `p` is another thread's. */
static void start(struct rp__push *p)
{
  struct rp__jw w = RP_JW(&p->out);
  rp_error err = {0};
  bool at_once = p->row->now != NULL;
  unsigned flags = p->row->flags;
  int rc = 0;
  if ((flags & RP_PUSH_WRITES) && !p->ch->may_write)
    rc = rp__fail(&err, RP_E_FORBIDDEN, "the token does not allow writing to this session");
  else if (p->binary && !(flags & RP_PUSH_BINARY))
    rc = rp__fail(&err, RP_E_INVALID, "'%s' takes a JSON payload, not a binary one", p->row->name);
  else if (!p->binary && (flags & RP_PUSH_OBJECT) && p->payload.type != RP_JSON_OBJECT)
    rc = rp__fail_field(&err, RP_E_INVALID, "payload", "the payload must be an object");
  else if (at_once)
    rc = p->row->now(p, &w, &err);
  else
    rc = p->row->ask ? ask(p, &err) : append(p, &err);
  if (!rc && !at_once) return;
  p->rc = rc;
  p->err = err;
  finish(p);
}

void rp__channel_pump(struct rp__channel *ch)
{
  while (ch->head && !ch->busy && !(ch->flying && (ch->head->row->flags & RP_PUSH_ALONE))) {
    struct rp__push *p = ch->head;
    ch->head = p->next;
    if (!ch->head) ch->tail = NULL;
    ch->waiting--;
    start(p);
  }
  if (ch->ending && ch->socket && pending(ch) == 0) rp__channel_close(ch);
  if (!ch->socket && pending(ch) == 0) rp__channel_retire(ch);
}

void rp__channel_end(struct rp__channel *ch)
{
  ch->ending = true;
  rp__channel_pump(ch);
}

/* ---- what comes in ---- */

void rp__channel_take(struct rp__channel *ch, const struct rp__push_row *row, const struct rp__phx *m)
{
  rp_error err = {0};
  size_t n = m->binary ? m->data.n : m->payload.n, before = ch->socket->waiting_bytes;
  int rc = 0;
  if (row == &rp__push_leave)
    rc = 0;
  else if (ch->ending)
    rc = rp__fail(&err, RP_E_ENDED, "the session has ended"); /* who goes on pushing is not waited for */
  else if (pending(ch) >= RP_CHANNEL_PENDING)
    rc = rp__fail(&err, RP_E_LIMIT, "%d pushes of this channel are not done yet", RP_CHANNEL_PENDING);
  else if (before && before + n > RP_SOCKET_WAITING_MAX)
    rc = rp__fail(&err, RP_E_LIMIT, "%d bytes pushed on this socket are not done yet", RP_SOCKET_WAITING_MAX);
  struct rp__push *p = rc ? NULL : push_new(ch, row, m);
  atomic_fetch_add_explicit(&ch->of->pushes, 1, memory_order_relaxed);
  if (!rc && !p) rc = rp__fail_nomem(&err);
  if (rc) {
    rp__channel_refuse(ch, m->ref.p, &err, NULL);
    if (++ch->refused >= RP_CHANNEL_REFUSED) rp__socket_close(ch->socket, 1001, "too many pushes");
    return;
  }
  ch->refused = 0;
  if (ch->tail)
    ch->tail->next = p;
  else
    ch->head = p;
  ch->tail = p;
  ch->waiting++;
  ch->bytes += p->n;
  ch->socket->waiting_bytes += p->n;
  tell_level(ch);
  rp__channel_pump(ch);
}

/* ---- of its own ---- */

void rp__channel_end_audio(struct rp__channel *ch)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(4096);
  struct rp__audio a = ch->audio;
  struct rp__jw w = RP_JW(&body);
  if (!a.chunks || !ch->entry) return;
  rp__jw_object(&w);
  rp__jw_ki64(&w, "chunks", a.chunks);
  rp__jw_ki64(&w, "bytes", a.bytes);
  rp__jw_kdouble(&w, "seconds", (double)a.bytes / RP_AUDIO_RATE);
  rp__jw_ktime(&w, "from", a.from_ms);
  rp__jw_ktime(&w, "to", a.to_ms);
  if (ch->has_video) rp__jw_kdouble(&w, "timestamp", ch->video);
  rp__jw_end_object(&w);
  ch->audio = (struct rp__audio){0};
  if (body.err) return;
  struct rp__phx m = {.payload = {body.p, body.n, RP_JSON_OBJECT}};
  struct rp__push *p = push_new(ch, &rp__push_audio, &m);
  if (!p) return;
  ch->bytes += p->n;
  if (ch->socket) ch->socket->waiting_bytes += p->n;
  start(p);
}
