/* SPDX-License-Identifier: Apache-2.0 */
/* Turns WebSocket frames into messages: the rules for sequences of frames, on top of libwslay's heads and masks. */
#include "net/frames.h"

#include <wslay/wslay.h>

#include "base/buf.h"
#include "base/utf8.h"

#define NO_STATUS 1005

struct rp__frames {
  wslay_frame_context_ptr wslay;
  const char *bytes; /* of the feed that runs */
  size_t n;
  uint64_t given, used; /* to wslay, and by frames that are whole: equal between two frames */
  uint64_t seen;        /* of the payload of the frame at hand */
  bool in_frame, in_message, binary;
  struct rp__utf8 utf8;
  struct rp__buf message;
  uint8_t n_control;
  char control[RP_CONTROL_MAX];
};

struct feed {
  struct rp__frames *f;
  size_t max_message;
  const struct rp__frames_handler *h;
  void *ctx;
  const char *why;
  bool enough; /* the handler wants no more */
};

static ssize_t give(uint8_t *buf, size_t n, int flags, void *user)
{
  struct rp__frames *f = user;
  (void)flags;
  n = RP_MIN(n, f->n);
  if (n == 0) return -1;
  memcpy(buf, f->bytes, n);
  f->bytes += n;
  f->n -= n;
  f->given += n;
  return (ssize_t)n;
}

static struct rp__frames *frames_new(size_t max_message)
{
  static const struct wslay_frame_callbacks callbacks = {.recv_callback = give};
  struct rp__frames *f = calloc(1, sizeof(*f));
  if (!f) return NULL;
  f->message = RP_BUF(max_message);
  if (wslay_frame_context_init(&f->wslay, &callbacks, f)) {
    free(f);
    return NULL;
  }
  return f;
}

void rp__frames_free(struct rp__frames *f)
{
  if (!f) return;
  wslay_frame_context_free(f->wslay);
  rp__buf_done(&f->message);
  free(f);
}

/* ---- one frame ---- */

static int wrong(struct feed *d, int code, const char *why)
{
  d->why = why;
  return code;
}

static int check_head(struct feed *d, const struct wslay_frame_iocb *io)
{
  struct rp__frames *f = d->f;
  bool control = wslay_is_ctrl_frame(io->opcode);
  if (io->rsv) return wrong(d, 1002, "a frame with reserved bits");
  if (!io->mask) return wrong(d, 1002, "a frame without a mask");
  if (io->opcode > WSLAY_PONG || (io->opcode > WSLAY_BINARY_FRAME && io->opcode < WSLAY_CONNECTION_CLOSE))
    return wrong(d, 1002, "a frame with an unknown opcode");
  if (control) return 0;
  if (io->opcode == WSLAY_CONTINUATION_FRAME && !f->in_message) return wrong(d, 1002, "a continuation of no message");
  if (io->opcode != WSLAY_CONTINUATION_FRAME && f->in_message) return wrong(d, 1002, "a message inside another one");
  if (f->message.n > d->max_message || io->payload_length > d->max_message - f->message.n)
    return wrong(d, 1009, "a message over the limit");
  if (!f->in_message) {
    f->in_message = true;
    f->binary = io->opcode == WSLAY_BINARY_FRAME;
    f->utf8 = (struct rp__utf8){0};
  }
  return 0;
}

static int on_control(struct feed *d, const struct wslay_frame_iocb *io, bool whole)
{
  struct rp__frames *f = d->f;
  const char *bytes = (const char *)io->data;
  size_t n = io->data_length;
  if (f->n_control + n > RP_CONTROL_MAX) return wrong(d, 1002, "a control frame over 125 bytes");
  if (!whole || f->n_control) {
    if (n) memcpy(f->control + f->n_control, bytes, n);
    f->n_control += (uint8_t)n;
    bytes = f->control;
    n = f->n_control;
  }
  if (!whole) return 0;
  f->n_control = 0;
  d->enough = !d->h->control(d->ctx, (enum rp__control)io->opcode, bytes, n);
  return 0;
}

/* A message that came in one piece is handed on as it lies there; others are joined. */
static int on_data(struct feed *d, const struct wslay_frame_iocb *io, bool whole)
{
  struct rp__frames *f = d->f;
  struct rp__str m = {io->data_length ? (const char *)io->data : "", io->data_length};
  bool last = whole && io->fin;
  if (!f->binary && !rp__utf8_feed(&f->utf8, m.p, m.n)) return wrong(d, 1007, "a text that is not UTF-8");
  if (last && f->utf8.need) return wrong(d, 1007, "a text that ends inside a character");
  if (!last || f->message.n) {
    rp__buf_add(&f->message, m.p, m.n);
    if (f->message.err) return wrong(d, 1011, "out of memory");
    m = (struct rp__str){f->message.p, f->message.n};
  }
  if (!last) return 0;
  f->in_message = false;
  d->enough = !d->h->message(d->ctx, f->binary, m.p, m.n);
  rp__buf_done(&f->message);
  return 0;
}

static int on_piece(struct feed *d, const struct wslay_frame_iocb *io)
{
  struct rp__frames *f = d->f;
  int rc = f->in_frame ? 0 : check_head(d, io);
  if (rc) return rc;
  f->seen += io->data_length;
  bool whole = f->seen == io->payload_length;
  f->in_frame = !whole;
  if (whole) {
    uint64_t length_bytes = io->payload_length > 0xffff ? 8 : io->payload_length > 125 ? 2 : 0;
    f->used += 2 + length_bytes + (io->mask ? 4 : 0) + io->payload_length;
    f->seen = 0;
  }
  return wslay_is_ctrl_frame(io->opcode) ? on_control(d, io, whole) : on_data(d, io, whole);
}

/* ---- all of them ---- */

int rp__frames_feed(struct rp__frames **f, const char *bytes, size_t n, size_t max_message,
                    const struct rp__frames_handler *h, void *ctx, const char **ret_why)
{
  struct feed d = {.max_message = max_message, .h = h, .ctx = ctx};
  if (!*f) *f = frames_new(max_message);
  if (!*f) {
    *ret_why = "out of memory";
    return 1011;
  }
  d.f = *f;
  d.f->bytes = bytes;
  d.f->n = n;
  int rc = 0;
  while (!rc && !d.enough) {
    struct wslay_frame_iocb io = {0};
    ssize_t got = wslay_frame_recv(d.f->wslay, &io);
    if (got == WSLAY_ERR_WANT_READ) break;
    rc = got < 0 ? wrong(&d, 1002, "a broken frame") : on_piece(&d, &io);
  }
  if (rc) {
    *ret_why = d.why;
  } else if (d.f->given == d.f->used && !d.f->in_message) {
    rp__frames_free(*f);
    *f = NULL;
  }
  return rc;
}

int rp__close_code(const char *bytes, size_t n, int *ret_wrong)
{
  struct rp__utf8 utf8 = {0};
  if (n == 0) return NO_STATUS;
  int code = n < 2 ? 0 : (uint8_t)bytes[0] << 8 | (uint8_t)bytes[1];
  bool may_be_sent =
      (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) || (code >= 3000 && code <= 4999);
  if (!may_be_sent) {
    *ret_wrong = 1002;
    return 0;
  }
  if (!rp__utf8_feed(&utf8, bytes + 2, n - 2) || utf8.need) {
    *ret_wrong = 1007;
    return 0;
  }
  return code;
}
