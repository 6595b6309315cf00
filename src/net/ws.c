/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket. Its states: open → closing (our close frame is queued, the peer's is awaited) → over (both close frames
 * are there, or the peer broke the rules: nothing more is read). The end of the connection leads to over from any
 * state.
 */
#include "net/ws.h"

#include "base/text.h"
#include "net/frames.h"

#define REASON_MAX (RP_CONTROL_MAX - 2)
#define ABNORMAL 1006
#define FIN 0x80

enum state {
  OPEN,
  CLOSING,
  OVER,
};

struct rp__ws {
  struct rp__loop *l;
  struct rp__conn *c;
  struct rp__frames *in; /* NULL at rest */
  struct rp__ws_options o;
  const struct rp__ws_handler *h; /* NULL: its opener gets an error instead */
  void *ctx;
  struct rp__timer timer; /* idleness, then the closing handshake */
  struct rp__job end;
  int64_t heard_ms;
  size_t waited;   /* in the queue a round of closing ago */
  const char *why; /* of the end that has begun */
  uint16_t code;
  uint8_t state, rounds;
  bool pinged; /* and nothing heard since */
};

#define OF(member, p) ((struct rp__ws *)(void *)((char *)(p)-offsetof(struct rp__ws, member)))

/* ---- frames to send ---- */

static size_t head(int opcode, size_t n, char out[10])
{
  size_t more = n > 0xffff ? 8 : n > 125 ? 2 : 0;
  out[0] = (char)(FIN | opcode);
  out[1] = (char)(more == 8 ? 127 : more == 2 ? 126 : (int)n);
  for (size_t i = 0; i < more; i++) out[2 + i] = (char)((uint64_t)n >> 8 * (more - 1 - i));
  return 2 + more;
}

size_t rp__ws_frame_head(bool binary, size_t n, char out[10])
{
  return head(binary ? 2 : 1, n, out);
}

static struct rp__net_msg *frame(bool binary, const void *bytes, size_t n)
{
  char top[10];
  size_t k = rp__ws_frame_head(binary, n, top);
  struct rp__net_msg *m = n > SIZE_MAX / 4 ? NULL : rp__msg_new(NULL, k + n);
  if (!m) return NULL;
  memcpy(m->bytes, top, k);
  if (n) memcpy(m->bytes + k, bytes, n);
  return m;
}

struct rp__net_msg *rp__ws_text(const char *text, size_t n)
{
  return frame(false, text, n);
}

struct rp__net_msg *rp__ws_binary(const void *bytes, size_t n)
{
  return frame(true, bytes, n);
}

/* Ahead of the messages that wait. Who does not read his pongs gets no more of them. */
static int send_control(struct rp__ws *ws, enum rp__control kind, const char *bytes, size_t n)
{
  char out[10 + RP_CONTROL_MAX];
  size_t k = head((int)kind, n, out);
  if (n) memcpy(out + k, bytes, n);
  return rp__conn_send_urgent(ws->c, out, k + n);
}

/* Code 1005: a frame that says nothing. */
static int send_close(struct rp__ws *ws, int code, const char *reason)
{
  char out[2 + RP_CONTROL_MAX] = {0};
  size_t n = reason ? rp__text_clip(reason, strnlen(reason, REASON_MAX)) : 0, payload = code == 1005 ? 0 : 2 + n;
  size_t k = head(RP_FRAME_CLOSE, payload, out);
  if (payload) {
    out[k] = (char)(code >> 8);
    out[k + 1] = (char)code;
    if (n) memcpy(out + k + 2, reason, n);
  }
  struct rp__net_msg *m = rp__msg_new(out, k + payload);
  int rc = m ? rp__conn_send_last(ws->c, m) : RP_E_NOMEM;
  rp__msg_unref(m);
  return rc;
}

/* ---- the end ---- */

static void end(struct rp__job *job)
{
  struct rp__ws *ws = OF(end, job);
  rp__frames_free(ws->in);
  free(ws);
}

static void on_closed(void *ctx, const char *why)
{
  struct rp__ws *ws = ctx;
  ws->state = OVER; /* for frames that are being told */
  rp__timer_stop(ws->l, &ws->timer);
  rp__loop_defer(ws->l, &ws->end);
  if (ws->h) ws->h->closed(ws->ctx, ws->code ? ws->code : ABNORMAL, ws->why ? ws->why : why);
}

/* From here on the timer watches over the end. */
static void begin_end(struct rp__ws *ws, enum state state, int code, const char *why)
{
  ws->state = (uint8_t)state;
  ws->code = (uint16_t)code;
  ws->why = why;
  ws->waited = SIZE_MAX;
  if (rp__timer_start(ws->l, &ws->timer, RP_WS_CLOSE_MS)) rp__conn_cut(ws->c, why);
}

static void fail(struct rp__ws *ws, int code, const char *why)
{
  bool told = ws->state != OPEN;
  if (told)
    ws->state = OVER;
  else
    begin_end(ws, OVER, code, why);
  if (!told) send_close(ws, code, why);
  rp__conn_finish(ws->c);
}

void rp__ws_close(struct rp__ws *ws, int code, const char *reason)
{
  if (ws->state != OPEN) return;
  begin_end(ws, CLOSING, code, "closed by this side");
  if (send_close(ws, code, reason)) rp__conn_finish(ws->c);
}

void rp__ws_cut(struct rp__ws *ws, const char *why)
{
  rp__conn_cut(ws->c, why);
}

/* ---- what comes in ---- */

static bool on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  struct rp__ws *ws = ctx;
  if (ws->state == OPEN) ws->h->message(ws->ctx, binary, bytes, n);
  return ws->state != OVER;
}

static bool on_control(void *ctx, enum rp__control kind, const char *bytes, size_t n)
{
  struct rp__ws *ws = ctx;
  int bad = 0, code = kind == RP_FRAME_CLOSE ? rp__close_code(bytes, n, &bad) : 0;
  if (kind == RP_FRAME_CLOSE && !code) {
    fail(ws, bad, "a broken close frame");
  } else if (kind == RP_FRAME_CLOSE) {
    /* Answered with its own code, unless it is the answer. */
    if (ws->state == OPEN) {
      begin_end(ws, OVER, code, "closed by the peer");
      send_close(ws, code, NULL);
    }
    ws->state = OVER;
    rp__conn_finish(ws->c);
  }
  if (kind == RP_FRAME_PING && ws->state == OPEN) send_control(ws, RP_FRAME_PONG, bytes, n);
  return ws->state != OVER;
}

static void on_input(void *ctx, const char *bytes, size_t n)
{
  static const struct rp__frames_handler handler = {.message = on_message, .control = on_control};
  struct rp__ws *ws = ctx;
  const char *why = NULL;
  ws->heard_ms = rp__loop_now(ws->l);
  ws->pinged = false;
  if (ws->state == OVER) return;
  int code = rp__frames_feed(&ws->in, bytes, n, ws->o.max_message, &handler, ws, &why);
  if (code) fail(ws, code, why);
}

static void on_drained(void *ctx)
{
  struct rp__ws *ws = ctx;
  if (ws->state == OPEN && ws->h->drained) ws->h->drained(ws->ctx);
}

/* ---- time ---- */

static void on_timer(struct rp__timer *t)
{
  struct rp__ws *ws = OF(timer, t);
  if (ws->state != OPEN) {
    /* A slow reader of a long queue may go on for some rounds; one that takes nothing may not. */
    size_t waiting = rp__conn_waiting(ws->c);
    bool slow = waiting > 0 && waiting < ws->waited && ++ws->rounds < RP_WS_CLOSE_ROUNDS;
    ws->waited = waiting;
    if (!slow || rp__timer_start(ws->l, &ws->timer, RP_WS_CLOSE_MS)) rp__conn_cut(ws->c, ws->why);
    return;
  }
  if (ws->pinged) {
    rp__ws_close(ws, 1001, "no sign of life");
    return;
  }
  /* What was heard since the timer was started shows in heard_ms; no message touches the timer. */
  int64_t next = ws->heard_ms + ws->o.idle_ms - rp__loop_now(ws->l);
  if (next <= 0) {
    ws->pinged = send_control(ws, RP_FRAME_PING, NULL, 0) == 0; /* no room: stall_ms decides about it */
    next = ws->o.idle_ms;
  }
  if (rp__timer_start(ws->l, &ws->timer, next)) rp__conn_cut(ws->c, "out of memory");
}

/* ---- life ---- */

int rp__ws_open(struct rp__loop *l, int fd, struct rp__str bytes, const struct rp__ws_options *o,
                const struct rp__ws_handler *h, void *ctx, struct rp__ws **ret, rp_error *err)
{
  static const struct rp__conn_handler handler = {.input = on_input, .drained = on_drained, .closed = on_closed};
  const struct rp__conn_options co = {.queue_bytes = o->queue_bytes, .stall_ms = o->stall_ms};
  struct rp__ws *ws = calloc(1, sizeof(*ws));
  if (!ws) {
    close(fd);
    return rp__fail_nomem(err);
  }
  *ws = (struct rp__ws){.l = l, .o = *o, .ctx = ctx, .heard_ms = rp__loop_now(l)};
  ws->timer.fn = on_timer;
  ws->end.fn = end;
  int rc = rp__conn_open(l, fd, &co, &handler, ws, &ws->c, err);
  if (rc) {
    free(ws);
    return rc;
  }
  struct rp__net_msg *m = rp__msg_new(bytes.p, bytes.n);
  rc = m ? rp__conn_send(ws->c, m) : RP_E_NOMEM;
  rp__msg_unref(m);
  if (!rc && ws->o.idle_ms > 0) rc = rp__timer_start(ws->l, &ws->timer, ws->o.idle_ms);
  if (rc) rp__conn_cut(ws->c, "out of memory");
  if (rc) return rp__fail(err, rc, "no memory for a WebSocket"); /* closing its connection frees it */
  ws->h = h;
  *ret = ws;
  return 0;
}

int rp__ws_send(struct rp__ws *ws, struct rp__net_msg *m)
{
  return ws->state == OPEN ? rp__conn_send(ws->c, m) : RP_E_CANCELLED;
}

size_t rp__ws_waiting(const struct rp__ws *ws)
{
  return rp__conn_waiting(ws->c);
}
