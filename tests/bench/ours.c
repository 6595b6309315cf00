/* SPDX-License-Identifier: Apache-2.0 */
/* Engines, sessions and events for the sections. */
#include "ours.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS 4096
#define BUILD_BATCH 500
#define BIG_TAIL 500

/* ---- bodies ------------------------------------------------------------- */

static uint32_t roll(uint32_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 17;
  *x ^= *x << 5;
  return *x;
}

static size_t put_word(char *out, uint32_t n)
{
  static const char *const syllables[] = {"ka", "lo",  "mi", "ter", "sen", "pra", "vi", "dun",
                                          "or", "bel", "ti", "gra", "nu",  "shi", "ep", "ro"};
  size_t len = 0;
  uint32_t count = 1 + n % 3;
  for (uint32_t i = 0; i <= count; i++, n /= 16) {
    const char *s = syllables[n % 16];
    size_t k = strlen(s);
    memcpy(out + len, s, k);
    len += k;
  }
  return len;
}

/* Few words are frequent and many are rare, as in speech. */
static void fill_body(char *out, uint32_t seed)
{
  int at = snprintf(out, BODY_BYTES + 1, "{\"role\":\"%s\",\"content\":\"", seed % 2 ? "user" : "assistant");
  size_t n = (size_t)at;
  uint32_t x = seed * 2654435761u | 1;
  while (n + 2 < BODY_BYTES) {
    char word[32];
    uint32_t rare = roll(&x) % WORDS, frequent = roll(&x) % 64;
    size_t k = put_word(word, roll(&x) % 2 ? frequent : rare);
    for (size_t i = 0; i < k && n + 2 < BODY_BYTES; i++) out[n++] = word[i];
    if (n + 2 < BODY_BYTES) out[n++] = ' ';
  }
  memcpy(out + n, "\"}", 3);
}

const char *body_at(int64_t i)
{
  static char(*pool)[BODY_BYTES + 1];
  if (pool == NULL) {
    char(*fresh)[BODY_BYTES + 1] = must_alloc(BODY_POOL, sizeof *fresh);
    for (uint32_t k = 0; k < BODY_POOL; k++) fill_body(fresh[k], k);
    pool = fresh;
  }
  return pool[(uint64_t)i % BODY_POOL];
}

struct bare_row row_at(int64_t session, int64_t seq, int64_t i)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  int64_t ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
  return (struct bare_row){session, seq, ms, "message", body_at(i), BODY_BYTES};
}

/* ---- sessions --------------------------------------------------------------- */

void ours_check(int rc, const rp_error *err, const char *what)
{
  if (rc != 0) die("%s: %s: %s", what, rp_error_lookup(rc)->name, err->message);
}

rp_engine *ours_open(const struct bench *b, const char *name)
{
  char path[BENCH_PATH], url[BENCH_PATH + 16], config[BENCH_PATH];
  FILE *f = fopen(bench_path(b, "empty.ini", config), "we");
  if (f == NULL || fclose(f) != 0) die("%s can't be written", config);
  snprintf(url, sizeof url, "sqlite:%s", bench_path(b, name, path));
  rp_options o = {.db = url, .config = config};
  rp_engine *e = NULL;
  rp_error err;
  ours_check(rp_open(&o, &e, &err), &err, "open");
  return e;
}

rp_session *ours_start(rp_engine *e, const char *key)
{
  rp_start_options o = {.scope = "bench", .key = key};
  rp_session *s = NULL;
  rp_error err;
  ours_check(rp_start(e, &o, &s, &err), &err, "start");
  return s;
}

void ours_append(rp_session *s, int64_t i, rp_durability durability, const char *key)
{
  rp_event ev = {.kind = "message", .body = body_at(i), .body_len = BODY_BYTES, .idempotency_key = key};
  rp_append_options o = {0};
  o.durability = durability;
  rp_ack ack;
  rp_error err;
  ours_check(rp_append(s, &ev, &o, &ack, &err), &err, "append");
  if (ack.durability < durability || ack.repeated) die("append: acknowledged as something else");
}

static void append_messages(rp_session *s, int64_t from, int64_t n)
{
  rp_append_options o = {0};
  o.durability = RP_OS;
  rp_error err;
  rp_ack ack;
  for (int64_t i = 0; i < n;) {
    rp_event ev[BUILD_BATCH];
    size_t k = 0;
    for (; k < BUILD_BATCH && i < n; k++, i++)
      ev[k] = (rp_event){.kind = "message", .body = body_at(from + i), .body_len = BODY_BYTES};
    ours_check(rp_append_many(s, ev, k, &o, &ack, &err), &err, "append_many");
  }
}

static int ignore_hit(void *ctx, const rp_hit *hit)
{
  (void)ctx, (void)hit;
  return 0;
}

double ours_index(rp_engine *e)
{
  rp_error err;
  int64_t t = now_ns();
  ours_check(rp_search(e, "nothing", NULL, 1, ignore_hit, NULL, &err), &err, "search");
  return (double)(now_ns() - t);
}

void ours_build(const struct bench *b, const char *name, const char *key, int64_t n, int64_t tail)
{
  rp_engine *e = ours_open(b, name);
  rp_session *s = ours_start(e, key);
  rp_error err;
  append_messages(s, 0, n - tail);
  ours_check(rp_checkpoint(s, NULL, &err), &err, "checkpoint");
  append_messages(s, n - tail, tail);
  ours_check(rp_flush(e, &err), &err, "flush");
  ours_index(e);
  settle(b);
  rp_session_free(s);
  rp_close(e);
}

const char *ours_big(const struct bench *b, int64_t n)
{
  static char name[40];
  char path[BENCH_PATH];
  snprintf(name, sizeof name, "big-%lld.db", (long long)n);
  if (access(bench_path(b, name, path), F_OK) == 0) return name;
  fprintf(stderr, "building a session of %lld messages\n", (long long)n);
  ours_build(b, name, "big", n, n < 2 * BIG_TAIL ? n / 2 : BIG_TAIL);
  return name;
}

static int64_t member(const char *json, const char *name)
{
  const char *at = strstr(json, name);
  if (at == NULL) die("the statistics have no member %s", name);
  return strtoll(at + strlen(name), NULL, 10);
}

struct commits ours_commits(rp_engine *e)
{
  char *json = NULL;
  rp_error err;
  ours_check(rp_stats_json(e, &json, &err), &err, "stats");
  const char *commit = strstr(json, "\"commit\":{");
  if (commit == NULL) die("the statistics have no member \"commit\"");
  struct commits c = {.groups = member(commit, "\"groups\":"), .txns = member(commit, "\"txns\":")};
  rp_free(json);
  return c;
}
