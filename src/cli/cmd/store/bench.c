/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reprise bench`: measures how fast appends are on this machine: one writer that waits for each acknowledgement, then
 * the same events with many in flight. The throwaway database is in /var/tmp, which is seldom kept in memory, so the
 * numbers are those of the disk.
 */
#include <pthread.h>
#include <time.h>

#include "cli/out.h"
#include "base/ticks.h"
#include "cli/signals.h"
#include "cli/tempdir.h"
#include "cli/term.h"

#define EVENTS_DEFAULT 2000
#define SIZE_DEFAULT 1024
#define IN_FLIGHT 256
#define CHECK_EVERY 64 /* events between looks for a signal */

enum { EVENTS, SIZE, DURABILITY };

static const struct rp__opt opts[] = {
    [EVENTS] = {"events", 'n', RP_OPT_NUMBER, "N", "how many (default 2000)", NULL, 1, 1000000},
    [SIZE] = {"size", 0, RP_OPT_NUMBER, "BYTES", "of a body (default 1024)", NULL, 64, RP_BODY_MAX},
    [DURABILITY] = {"durability", 0, RP_OPT_CHOICE, "D", "what each must survive", rp__durability_words + RP_MEMORY},
};

struct bench {
  struct rp__cli *c;
  int64_t n, size;
  int signals;
  rp_append_options o;
  rp_event event;
  int64_t *ns; /* of each waited append, then sorted */
  double waited_s, flight_s;

  pthread_mutex_t lock;
  pthread_cond_t moved;
  int64_t in_flight;
  rp_error failed;
};

static int by_value(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int append_waiting(struct bench *b, rp_error *err)
{
  struct rp__progress p = RP_PROGRESS(b->c, "one by one");
  int64_t begin = rp__ticks_ns();
  for (int64_t i = 0; i < b->n; i++) {
    rp_ack ack;
    int64_t from = rp__ticks_ns();
    int code = rp_append(b->c->session, &b->event, &b->o, &ack, err);
    if (code) return code;
    b->ns[i] = rp__ticks_ns() - from;
    if (i % CHECK_EVERY == 0 && rp__signals_read(b->signals)) return rp__fail(err, RP_E_CANCELLED, "interrupted");
    rp__progress_step(&p, i, b->n);
  }
  b->waited_s = (double)(rp__ticks_ns() - begin) / 1e9;
  rp__progress_clear(&p);
  qsort(b->ns, (size_t)b->n, sizeof(*b->ns), by_value);
  return 0;
}

static void landed(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct bench *b = ctx;
  (void)ack;
  pthread_mutex_lock(&b->lock);
  b->in_flight--;
  if (err && !b->failed.code) b->failed = *err;
  pthread_cond_signal(&b->moved);
  pthread_mutex_unlock(&b->lock);
}

static void wait_below(struct bench *b, int64_t limit)
{
  pthread_mutex_lock(&b->lock);
  while (b->in_flight >= limit) pthread_cond_wait(&b->moved, &b->lock);
  pthread_mutex_unlock(&b->lock);
}

static int append_in_flight(struct bench *b, rp_error *err)
{
  int64_t begin = rp__ticks_ns();
  int code = 0;
  for (int64_t i = 0; i < b->n && !code; i++) {
    wait_below(b, IN_FLIGHT);
    pthread_mutex_lock(&b->lock);
    b->in_flight++;
    pthread_mutex_unlock(&b->lock);
    if (i % CHECK_EVERY == 0 && rp__signals_read(b->signals))
      code = rp__fail(err, RP_E_CANCELLED, "interrupted");
    else
      code = rp_append_async(b->c->session, &b->event, &b->o, landed, b, err);
    if (code) landed(b, NULL, err);
  }
  wait_below(b, 1);
  b->flight_s = (double)(rp__ticks_ns() - begin) / 1e9;
  if (!code && b->failed.code) *err = b->failed, code = err->code;
  return code;
}

static double percentile_us(const struct bench *b, double p)
{
  int64_t i = (int64_t)(p * (double)(b->n - 1) + 0.5);
  return (double)b->ns[i] / 1e3;
}

static int print_json(const struct bench *b, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(2048);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_ki64(&w, "events", b->n);
  rp__jw_ki64(&w, "size", b->size);
  rp__jw_kstr(&w, "durability", rp__durability_name(b->o.durability));
  rp__jw_kdouble(&w, "p50_us", percentile_us(b, 0.5));
  rp__jw_kdouble(&w, "p90_us", percentile_us(b, 0.9));
  rp__jw_kdouble(&w, "p99_us", percentile_us(b, 0.99));
  rp__jw_kdouble(&w, "max_us", percentile_us(b, 1));
  rp__jw_kdouble(&w, "one_by_one_per_s", (double)b->n / b->waited_s);
  rp__jw_kdouble(&w, "in_flight_per_s", (double)b->n / b->flight_s);
  rp__jw_end_object(&w);
  return rp__out_line(&out, err);
}

static void print_person(const struct bench *b)
{
  printf("%lld events of %lld bytes, durability %s\n", (long long)b->n, (long long)b->size,
         rp__durability_name(b->o.durability));
  printf("one by one    %10.0f /s   p50 %.0f µs   p90 %.0f µs   p99 %.0f µs   max %.0f µs\n",
         (double)b->n / b->waited_s, percentile_us(b, 0.5), percentile_us(b, 0.9), percentile_us(b, 0.99),
         percentile_us(b, 1));
  printf("%d in flight %10.0f /s\n", IN_FLIGHT, (double)b->n / b->flight_s);
}

/* A message whose body has exactly the size asked for. */
static char *make_body(int64_t size)
{
  static const char head[] = "{\"role\":\"user\",\"content\":\"", tail[] = "\"}";
  char *body = malloc((size_t)size + 1);
  if (!body) return NULL;
  memset(body, 'x', (size_t)size);
  memcpy(body, head, sizeof(head) - 1);
  memcpy(body + size - (sizeof(tail) - 1), tail, sizeof(tail));
  return body;
}

static int measure(struct bench *b, rp_error *err)
{
  const rp_start_options so = {.scope = "bench", .channel = "cli", .mode = RP_MODE_SUCCESSOR};
  RP_AUTOFREE char *body = make_body(b->size);
  b->ns = calloc((size_t)b->n, sizeof(*b->ns));
  if (!body || !b->ns) return rp__fail_nomem(err);
  b->event = (rp_event){.kind = "message", .body = body};
  int code = rp_start(b->c->engine, &so, &b->c->session, err);
  if (!code) code = append_waiting(b, err);
  if (!code) code = append_in_flight(b, err);
  if (!code) code = rp_end(b->c->session, "bench", err);
  return code;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOCLOSE int signals = -1;
  struct rp__tempdir dir = {0};
  struct bench b = {
      .c = c,
      .n = rp__opt_num(c, EVENTS, EVENTS_DEFAULT),
      .size = rp__opt_num(c, SIZE, SIZE_DEFAULT),
      .lock = PTHREAD_MUTEX_INITIALIZER,
      .moved = PTHREAD_COND_INITIALIZER,
  };
  b.o.durability = (rp_durability)(RP_MEMORY + rp__opt_num(c, DURABILITY, RP_DISK - RP_MEMORY));
  const char *db = c->globals[RP_G_DB].text;
  int code = rp__signals_open(&signals, err);
  b.signals = signals;
  if (!code && !db) code = rp__tempdir_make(&dir, "bench", "/var/tmp", err);
  if (!code) code = rp__cli_open_db(c, db ? db : dir.db, RP_USE_LIVE, err);
  if (!code) code = measure(&b, err);
  rp__cli_done(c);
  rp__tempdir_remove(&dir);
  if (!code && rp__json_wanted(c))
    code = print_json(&b, err);
  else if (!code)
    print_person(&b);
  free(b.ns);
  return code;
}

const struct rp__cmd rp__cmd_bench = {
    .name = "bench",
    .theme = RP_THEME_CARE,
    .usage = "",
    .summary = "Measure appends on this machine",
    .detail = "Uses a throwaway database in $TMPDIR or /var/tmp, unless --db names one; there the session stays.",
    .example = "  $ reprise bench --events 5000\n",
    .max_args = 0,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .reopens = true,
    .run = run,
};
