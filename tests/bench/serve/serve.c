/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: reads against a bare libmicrohttpd, appends against the engine in this
 * process, both again with a crowd connected, and the seed's limits (L-11) under all
 * of that. What is compared runs in turns; the server that has the crowd is stopped
 * together with it while the others have theirs.
 */
#include "serve.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSIONS 1000
#define CHANNELS 10000
#define READERS 1000
#define FAN 50           /* events that are fanned out */
#define LONG_EVENTS 1000 /* of the session that is restored */
#define TAIL 90          /* of them after its last checkpoint */
#define BATCH_BYTES (128 * 1024)
#define LOOK_PAUSE_MS 20
#define IDLE_SHARE 0.04 /* of a processor: a server with nothing to do */
#define CROWD_SHARE 0.1 /* the same with a crowd, whose heartbeats it answers and writes */

struct turns {
  struct samples rate, p50, p90, p95, p99, max, cpu;
};

struct scene {
  const struct bench *bench;
  struct report *report;
  bool wrk;
  int rounds, seconds;
  int64_t sessions, channels, readers;
  struct program plain, crowded, swarm;
  struct embedded *embedded;
};

static void pause_ms(int ms)
{
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* ---- turns ---- */

static void turns_add(struct turns *t, const struct load *l)
{
  samples_add(&t->rate, l->per_second);
  samples_add(&t->p50, l->p50);
  samples_add(&t->p90, l->p90);
  samples_add(&t->p95, l->p95);
  samples_add(&t->p99, l->p99);
  samples_add(&t->max, l->max);
  samples_add(&t->cpu, l->cpu);
}

static void turns_done(struct turns *t)
{
  samples_done(&t->rate), samples_done(&t->p50), samples_done(&t->p90), samples_done(&t->p95);
  samples_done(&t->p99), samples_done(&t->max), samples_done(&t->cpu);
}

static void head_line(struct report *r)
{
  report_line(r, "| round | | per second | CPU each | median | p90 | p95 | p99 | slowest |");
  report_line(r, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
}

static void load_line(struct report *r, const char *round, const char *what, const struct load *l)
{
  report_line(r, "| %s | %s | %.0f | %s | %s | %s | %s | %s | %s |", round, what, l->per_second, text_ns(l->cpu),
              text_ns(l->p50), text_ns(l->p90), text_ns(l->p95), text_ns(l->p99), text_ns(l->max));
}

static void turn_line(struct report *r, int round, const char *what, const struct load *l, struct turns *t)
{
  char number[16];
  snprintf(number, sizeof number, "%d", round);
  load_line(r, number, what, l);
  turns_add(t, l);
}

/* The median of each column; returns that of the rate. */
static double turns_line(struct report *r, const char *what, struct turns *t)
{
  struct load l = {.per_second = samples_median(&t->rate),
                   .p50 = samples_median(&t->p50),
                   .p90 = samples_median(&t->p90),
                   .p95 = samples_median(&t->p95),
                   .p99 = samples_median(&t->p99),
                   .max = samples_median(&t->max),
                   .cpu = samples_median(&t->cpu)};
  load_line(r, "**median**", what, &l);
  turns_done(t);
  return l.per_second;
}

static struct load load_run(const struct scene *s, struct program *server, const char *path)
{
  struct program wrk;
  load_start(&wrk, s->bench, server, path, s->seconds);
  return load_end(&wrk, server);
}

/* ---- reading ---- */

static void session_make(struct client *c, const char *id)
{
  char body[128];
  snprintf(body, sizeof body, "{\"scope\":\"bench\",\"id\":\"%s\",\"key\":\"%s\"}", id, id);
  client_must(c, 201, "POST", "/v1/sessions", body);
}

static int64_t seq_of(const struct client *c)
{
  const char *at = strstr(c->body, "\"seq\":");
  if (at == NULL) die("the answer names no number: %.200s", c->body);
  return strtoll(at + strlen("\"seq\":"), NULL, 10);
}

/* An event of this process, which the very next answer of the server has to know. */
static void look(struct client *c, rp_session *pen, int64_t i)
{
  rp_event ev = {.kind = "message", .body = body_at(i), .body_len = BODY_BYTES};
  rp_ack ack;
  rp_error err;
  ours_check(rp_append(pen, &ev, NULL, &ack, &err), &err, "append");
  client_must(c, 200, "GET", "/v1/sessions/small", NULL);
  if (seq_of(c) != ack.seq)
    die("event %lld was stored, and the server shows %lld", (long long)ack.seq, (long long)seq_of(c));
}

struct reading {
  struct client client;
  rp_engine *engine;
  rp_session *pen;
  struct program bare;
  int64_t looks;
};

static void reading_open(struct reading *x, struct scene *s)
{
  rp_error err;
  client_open(&x->client, s->plain.port);
  session_make(&x->client, "small");
  x->engine = ours_open(s->bench, "serve-plain.db");
  ours_check(rp_attach(x->engine, "small", &x->pen, &err), &err, "attach");
  for (int i = 0; i < 10; i++) look(&x->client, x->pen, x->looks++);
  bare_start(&x->bare, s->bench, x->client.n, x->client.type, s->plain.threads);
}

static void reading_close(struct reading *x)
{
  program_stop(&x->bare);
  rp_session_free(x->pen);
  rp_close(x->engine);
  client_close(&x->client);
}

static struct load reading_turn(struct reading *x, struct scene *s)
{
  struct program wrk;
  load_start(&wrk, s->bench, &s->plain, "/v1/sessions/small", s->seconds);
  char line[LINE_BYTES];
  program_line(&wrk, "Running", line);
  for (int64_t until = now_ns() + (int64_t)s->seconds * 1000000000; now_ns() < until; pause_ms(LOOK_PAUSE_MS))
    look(&x->client, x->pen, x->looks++);
  return load_end(&wrk, &s->plain);
}

static void measure_reading(struct scene *s)
{
  struct report *r = s->report;
  struct reading x = {0};
  struct turns bare = {0}, ours = {0};
  reading_open(&x, s);
  report_line(r,
              "`GET /v1/sessions/ID`, %d connections of wrk, answers of %zu bytes. The bare server is libmicrohttpd "
              "with the same flags and as many threads (%d), and a constant of that size; ours writes its log of "
              "requests, and meanwhile another process appends to the session.\n",
              SERVE_CLIENTS, x.client.n, s->plain.threads);
  if (s->wrk) head_line(r);
  for (int i = 0; i < s->rounds && s->wrk; i++) {
    struct load b = load_run(s, &x.bare, "/"), o = reading_turn(&x, s);
    turn_line(r, i + 1, "bare", &b, &bare);
    turn_line(r, i + 1, "ours", &o, &ours);
  }
  if (s->wrk) {
    double theirs = turns_line(r, "bare", &bare), mine = turns_line(r, "ours", &ours);
    report_limit(r, "GET of a small session against a bare libmicrohttpd", 100 * mine / theirs, 60, false, " %");
  }
  report_line(r, "\nThe other process appended %lld times; each time the next GET showed it.\n", (long long)x.looks);
  reading_close(&x);
}

/* ---- the crowd ---- */

static void sessions_make(int port, int64_t n)
{
  struct client c;
  client_open(&c, port);
  for (int64_t i = 0; i < n; i++) {
    char id[32];
    load_id(i, id);
    session_make(&c, id);
  }
  client_close(&c);
}

static void crowd_pause(const struct scene *s, bool pause)
{
  program_pause(&s->swarm, pause);
  program_pause(&s->crowded, pause);
}

static void crowd_come(struct scene *s)
{
  struct report *r = s->report;
  struct client c;
  char line[LINE_BYTES], word[32];
  double seconds, median, p95, most;
  client_open(&c, s->crowded.port);
  session_make(&c, "swarm-fan");
  client_close(&c);
  double before = program_rss(&s->crowded);
  swarm_start(&s->swarm, s->bench, s->crowded.port, s->channels, s->readers);
  program_line(&s->swarm, "joined ", line);
  double grown = program_rss(&s->crowded) - before;
  if (sscanf(line, "joined %*d reading %*d seconds %lf", &seconds) != 1) die("swarm said: %s", line);
  report_line(
      r, "\n%lld channels, each joined to a session of its own, and %lld readers of one event stream came in %.1f s.",
      (long long)s->channels, (long long)s->readers, seconds);
  report_limit(r, "Memory per idle channel or reader (growth of the whole process)",
               grown / 1024 / (double)(s->channels + s->readers), 16, true, " KiB");
  snprintf(word, sizeof word, "fan %d\n", FAN);
  program_tell(&s->swarm, word);
  program_line(&s->swarm, "fan ", line);
  if (sscanf(line, "fan %*d median %lf p95 %lf max %lf", &median, &p95, &most) != 3) die("swarm said: %s", line);
  report_line(r, "\nAn event posted until the last of %lld readers has it: median %s, p95 %s, slowest %s.\n",
              (long long)s->readers, text_ns(median * 1e3), text_ns(p95 * 1e3), text_ns(most * 1e3));
  program_settle(&s->crowded, s->bench, CROWD_SHARE);
}

/* ---- appending ---- */

static void measure_appending(struct scene *s)
{
  struct report *r = s->report;
  struct turns engine = {0}, plain = {0}, crowded = {0};
  head_line(r);
  for (int i = 0; i < s->rounds; i++) {
    struct load e = embedded_run(s->embedded, s->seconds), p = load_run(s, &s->plain, NULL);
    program_settle(&s->plain, s->bench, IDLE_SHARE);
    crowd_pause(s, false);
    program_settle(&s->crowded, s->bench, CROWD_SHARE); /* what came due while it stood still is not the crowd's cost */
    struct load c = load_run(s, &s->crowded, NULL);
    program_settle(&s->crowded, s->bench, CROWD_SHARE);
    crowd_pause(s, true);
    turn_line(r, i + 1, "embedded, 64 threads", &e, &engine);
    turn_line(r, i + 1, "server", &p, &plain);
    turn_line(r, i + 1, "server with the crowd", &c, &crowded);
  }
  double e = turns_line(r, "embedded, 64 threads", &engine), p = turns_line(r, "server", &plain);
  double c = turns_line(r, "server with the crowd", &crowded);
  report_limit(r, "Durable POST of events against the embedded engine", 100 * p / e, 60, false, " %");
  report_limit(r, "The same with 10,000 channels and 1,000 readers, against without", 100 * c / p, 80, false, " %");
}

/* ---- L-11 ---- */

struct limits {
  struct client client;
  struct samples create, checkpoint, restore;
  char *batch;
  int64_t events;
};

/* `n` messages in one request. */
static void add_events(struct limits *l, int n)
{
  size_t at = 0;
  for (int i = 0; i < n; i++) {
    at += (size_t)snprintf(l->batch + at, BATCH_BYTES - at, "%c{\"kind\":\"message\",\"body\":%s}", i ? ',' : '[',
                           body_at(l->events++));
    if (at + 2 > BATCH_BYTES) die("a batch of %d is too large", n);
  }
  memcpy(l->batch + at, "]", 2);
  client_must(&l->client, 200, "POST", "/v1/sessions/long/events?durability=os", l->batch);
}

static void limits_round(struct limits *l)
{
  int64_t t0 = now_ns();
  client_must(&l->client, 201, "POST", "/v1/sessions", "{\"scope\":\"create\"}");
  int64_t t1 = now_ns();
  add_events(l, 10);
  int64_t t2 = now_ns();
  client_must(&l->client, 200, "POST", "/v1/sessions/long/checkpoint", NULL);
  int64_t t3 = now_ns();
  add_events(l, TAIL);
  int64_t t4 = now_ns();
  client_must(&l->client, 200, "POST", "/v1/sessions",
              "{\"scope\":\"bench\",\"id\":\"long\",\"mode\":\"resume\",\"force\":true}");
  client_must(&l->client, 200, "GET", "/v1/sessions/long/state", NULL);
  int64_t t5 = now_ns();
  samples_add(&l->create, (double)(t1 - t0));
  samples_add(&l->checkpoint, (double)(t3 - t2));
  samples_add(&l->restore, (double)(t5 - t4));
}

static void limits_line(struct report *r, const char *what, struct samples *v)
{
  report_line(r, "| %s | %zu | %s | %s | %s |", what, v->n, text_ns(samples_median(v)), text_ns(samples_at(v, 95)),
              text_ns(samples_at(v, 100)));
}

static void limits_tell(struct report *r, struct limits *l)
{
  report_line(r, "| | calls | median | p95 | slowest |");
  report_line(r, "| --- | ---: | ---: | ---: | ---: |");
  limits_line(r, "create", &l->create);
  limits_line(r, "checkpoint", &l->checkpoint);
  limits_line(r, "restore", &l->restore);
  report_limit(r, "Create over HTTP under load, p95 (L-11)", samples_at(&l->create, 95) / 1e6, 100, true, " ms");
  report_limit(r, "Checkpoint over HTTP under load, p95 (L-11)", samples_at(&l->checkpoint, 95) / 1e6, 500, true,
               " ms");
  report_limit(r, "Restore over HTTP under load, p95 (L-11)", samples_at(&l->restore, 95) / 1e6, 1000, true, " ms");
}

static void measure_limits(struct scene *s)
{
  struct limits l = {.batch = must_alloc(1, BATCH_BYTES)};
  struct program wrk = {0};
  int seconds = 4 * s->seconds;
  crowd_pause(s, false);
  client_open(&l.client, s->crowded.port);
  session_make(&l.client, "long");
  for (int i = 0; i < LONG_EVENTS / 100; i++) add_events(&l, 100);
  report_line(s->report,
              "\nCreate, checkpoint (ten messages after the last one) and restore (resume by force and state of a "
              "session of more than %d messages, %d of them after its last checkpoint), one after the other, with the "
              "crowd there and %d connections posting events:\n",
              LONG_EVENTS, TAIL, SERVE_CLIENTS);
  if (s->wrk) load_start(&wrk, s->bench, &s->crowded, NULL, seconds);
  for (int64_t until = now_ns() + (int64_t)seconds * 1000000000; now_ns() < until && (s->wrk || !l.restore.n);)
    limits_round(&l);
  if (s->wrk) load_end(&wrk, &s->crowded);
  limits_tell(s->report, &l);
  samples_done(&l.create), samples_done(&l.checkpoint), samples_done(&l.restore);
  client_close(&l.client);
  free(l.batch);
}

/* ---- all of it ---- */

static void scene_open(struct scene *s, const struct bench *b, struct report *r)
{
  *s = (struct scene){.bench = b, .report = r, .wrk = load_found()};
  s->rounds = b->quick ? 1 : b->rounds;
  s->seconds = b->quick ? 1 : 5;
  s->sessions = bench_count(b, SESSIONS, 10);
  s->channels = bench_count(b, CHANNELS, 10);
  s->readers = bench_count(b, READERS, 10);
  serve_start(&s->plain, b, "serve-plain", "serve-plain.db");
  serve_start(&s->crowded, b, "serve-crowded", "serve-crowded.db");
}

static void scene_close(struct scene *s)
{
  program_stop(&s->swarm);
  program_stop(&s->crowded);
  program_stop(&s->plain);
}

void section_serve(const struct bench *b)
{
  struct report r;
  struct scene s;
  report_open(&r, b, "serve", "The server");
  scene_open(&s, b, &r);
  if (!s.wrk) report_line(&r, "wrk is not there: what it would measure is left out.\n");
  measure_reading(&s);
  report_line(&r,
              "Durable `POST …/events` of messages of 1 KiB to %lld sessions at random, %d connections of wrk, against "
              "%d threads of this process with the engine and as many sessions; and the same by a server that a crowd "
              "is connected to, which is stopped during the others' turns and has caught up before its own.",
              (long long)s.sessions, SERVE_CLIENTS, SERVE_CLIENTS);
  load_prepare(b, s.sessions);
  sessions_make(s.plain.port, s.sessions);
  crowd_come(&s);
  sessions_make(s.crowded.port, s.sessions);
  crowd_pause(&s, true);
  s.embedded = embedded_open(b, s.sessions);
  if (s.wrk) measure_appending(&s);
  embedded_close(s.embedded);
  measure_limits(&s);
  scene_close(&s);
  report_close(&r);
}
