/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends many events at once and prints their acknowledgements in order. The slots form a ring. The main thread puts
 * lines in at the tail and prints acknowledgements at the head; an engine thread fills a slot in between. No
 * acknowledgement is printed before its event is durable.
 */
#include "cli/batch/batch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "cli/batch/batch-input.h"
#include "cli/out.h"
#include "cli/signals.h"

struct slot {
  struct batch *batch;
  int64_t line;
  bool done, failed;
  rp_ack ack;
  rp_error err;
};

struct batch {
  struct rp__cli *c;
  const rp_append_options *o;
  struct rp__input in;
  struct rp__batch_line parsed;
  struct rp__buf text; /* of one answer */
  struct slot *slots;
  size_t head, tail; /* count up; the slot is that number modulo the window */
  int signals;       /* descriptor, or -1 */
  bool stop;         /* no more input is taken */
  bool full;         /* the engine's queue is; an answer must come first */

  pthread_mutex_t lock; /* of the rest, and of `done` in the slots */
  bool sleeping;
  int wake; /* an eventfd that ends the sleep */
  size_t in_flight;

  int64_t refused, first_line;
  rp_error first; /* code 0: all went well */
};

static struct slot *slot_at(const struct batch *b, size_t n)
{
  return &b->slots[n % RP_BATCH_WINDOW];
}

static void slot_finish(struct slot *s, const rp_ack *ack, const rp_error *err)
{
  s->failed = err != NULL;
  if (err)
    s->err = *err;
  else
    s->ack = *ack;
  s->done = true;
}

/* From an engine thread. */
static void answered(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct slot *s = ctx;
  struct batch *b = s->batch;
  const uint64_t one = 1;
  pthread_mutex_lock(&b->lock);
  slot_finish(s, ack, err);
  b->in_flight--;
  bool wake = b->sleeping;
  b->sleeping = false;
  /* Inside the lock: once it is released, the main thread may be done with the batch. */
  if (wake) (void)!write(b->wake, &one, sizeof(one));
  pthread_mutex_unlock(&b->lock);
}

static bool slot_ready(struct batch *b, const struct slot *s)
{
  pthread_mutex_lock(&b->lock);
  bool done = s->done;
  pthread_mutex_unlock(&b->lock);
  return done;
}

/* Whether an error says that no later event can succeed either. */
static bool is_final(int code)
{
  int exit_code = rp_error_lookup(code)->exit_code;
  return code == RP_E_FENCED || code == RP_E_ENDED || code == RP_E_SESSION_NOT_FOUND || exit_code == 1 ||
         (exit_code >= 5 && exit_code <= 7);
}

static void note_error(struct batch *b, const rp_error *err, int64_t line)
{
  b->refused++;
  if (!b->first.code) {
    b->first = *err;
    b->first_line = line;
  }
  if (is_final(err->code)) b->stop = true;
}

static int print_answer(struct batch *b, const struct slot *s, rp_error *err)
{
  struct rp__jw w = RP_JW(&b->text);
  rp__buf_reset(&b->text);
  if (!s->failed) {
    rp__ack_write(&w, &s->ack);
  } else {
    rp__jw_object(&w);
    rp__jw_key(&w, "error");
    rp__error_write(&w, &s->err, s->line);
    rp__jw_end_object(&w);
    note_error(b, &s->err, s->line);
  }
  return rp__out_line(&b->text, err);
}

static int print_ready(struct batch *b, bool *moved, rp_error *err)
{
  while (b->head < b->tail) {
    struct slot *s = slot_at(b, b->head);
    if (!slot_ready(b, s)) break;
    int code = print_answer(b, s, err);
    if (code) return code;
    b->head++;
    b->full = false;
    *moved = true;
  }
  return 0;
}

static bool is_blank(struct rp__str s)
{
  for (size_t i = 0; i < s.n; i++)
    if (!strchr(" \t\r", s.p[i])) return false;
  return true;
}

/* Gives one line to the engine. False when its queue is full: the line must come again. */
static bool submit(struct batch *b, struct rp__str line)
{
  rp_error err = {0};
  struct slot *s = slot_at(b, b->tail);
  *s = (struct slot){.batch = b, .line = b->in.line};
  pthread_mutex_lock(&b->lock);
  b->in_flight++;
  bool alone = b->in_flight == 1;
  pthread_mutex_unlock(&b->lock);
  int code = line.p ? rp__batch_line_read(&b->parsed, line.p, line.n, &err)
                    : rp__fail(&err, RP_E_TOO_LARGE, "the line is longer than %d bytes", RP_BATCH_LINE_MAX);
  if (!code) code = rp_append_async(b->c->session, &b->parsed.event, b->o, answered, s, &err);
  if (code) {
    pthread_mutex_lock(&b->lock);
    b->in_flight--;
    if (code != RP_E_LIMIT || alone) slot_finish(s, NULL, &err);
    pthread_mutex_unlock(&b->lock);
    if (code == RP_E_LIMIT && !alone) return false;
  }
  b->tail++;
  return true;
}

static bool has_room(const struct batch *b)
{
  return !b->stop && !b->full && b->tail - b->head < RP_BATCH_WINDOW;
}

static void take_lines(struct batch *b, bool *moved)
{
  struct rp__str line;
  while (has_room(b) && rp__input_next(&b->in, &line)) {
    if (line.p && is_blank(line)) continue;
    if (submit(b, line)) {
      *moved = true;
    } else {
      rp__input_unread(&b->in, line);
      b->full = true;
    }
  }
}

/* Says that we are about to sleep, unless an answer came meanwhile. */
static bool may_sleep(struct batch *b)
{
  pthread_mutex_lock(&b->lock);
  b->sleeping = b->head == b->tail || !slot_at(b, b->head)->done;
  bool ok = b->sleeping;
  pthread_mutex_unlock(&b->lock);
  return ok;
}

static int wait_more(struct batch *b, rp_error *err)
{
  uint64_t count;
  bool reading = has_room(b) && !b->in.ended;
  struct pollfd fds[] = {
      {.fd = b->wake, .events = POLLIN},
      {.fd = b->signals, .events = POLLIN},
      {.fd = reading ? b->in.fd : -1, .events = POLLIN},
  };
  if (!may_sleep(b)) return 0;
  if (poll(fds, RP_ARRAY_SIZE(fds), -1) < 0 && errno != EINTR) return rp__fail_errno(err, errno, "can't wait");
  /* Its count means nothing; reading only makes it quiet again. */
  if ((fds[0].revents & POLLIN) && read(b->wake, &count, sizeof(count)) < 0) return 0;
  if ((fds[1].revents & POLLIN) && rp__signals_read(b->signals)) {
    b->stop = true;
    return rp__fail(err, RP_E_CANCELLED, "stopped by a signal after line %lld", (long long)b->in.line);
  }
  return fds[2].revents ? rp__input_fill(&b->in, err) : 0;
}

static bool is_finished(const struct batch *b)
{
  if (b->head < b->tail) return false;
  return b->stop || (b->in.ended && b->in.start == b->in.buf.n);
}

static int step(struct batch *b, rp_error *err)
{
  bool moved = false;
  int code = print_ready(b, &moved, err);
  if (code) return code;
  take_lines(b, &moved);
  if (moved || is_finished(b)) return 0;
  if (fflush(stdout) || rp__out_gone()) {
    rp__fail(err, RP_E_CANCELLED, "nobody reads the acknowledgements");
    return RP_E_CANCELLED;
  }
  return wait_more(b, err);
}

static int verdict(const struct batch *b, rp_error *err)
{
  if (!b->first.code) return 0;
  *err = b->first;
  rp__wrap(err, "line %lld%s", (long long)b->first_line, b->refused > 1 ? " and others" : "");
  return err->code;
}

static int batch_loop(struct batch *b, rp_error *err)
{
  int code = 0;
  while (!is_finished(b)) {
    rp_error e = {0};
    int failed = step(b, &e);
    if (!failed) continue;
    /* What is in flight is still answered, unless answering is what fails. */
    bool again = code != 0;
    b->stop = true;
    if (!again) *err = e, code = failed;
    if (again || rp__out_gone()) break;
  }
  return code ? code : verdict(b, err);
}

/* No slot may be freed while the engine can still answer into it. */
static void batch_drain(struct batch *b)
{
  for (;;) {
    uint64_t count;
    pthread_mutex_lock(&b->lock);
    bool busy = b->in_flight > 0;
    b->sleeping = busy;
    pthread_mutex_unlock(&b->lock);
    if (!busy) return;
    struct pollfd p = {.fd = b->wake, .events = POLLIN};
    if (poll(&p, 1, -1) > 0 && read(b->wake, &count, sizeof(count)) < 0) return;
  }
}

int rp__batch_run(struct rp__cli *c, int in, const rp_append_options *o, int signals, rp_error *err)
{
  struct batch b = {
      .c = c,
      .o = o,
      .in = {.fd = in, .line_max = RP_BATCH_LINE_MAX},
      .text = RP_BUF(16384),
      .signals = signals,
      .lock = PTHREAD_MUTEX_INITIALIZER,
  };
  RP_AUTOCLOSE int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return rp__fail_errno(err, errno, "can't make an event descriptor");
  b.wake = wake;
  b.slots = calloc(RP_BATCH_WINDOW, sizeof(*b.slots));
  int code = b.slots ? batch_loop(&b, err) : rp__fail_nomem(err);
  batch_drain(&b);
  rp__batch_line_done(&b.parsed);
  rp__input_done(&b.in);
  rp__buf_done(&b.text);
  free(b.slots);
  return code;
}
