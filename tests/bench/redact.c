/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What redaction costs: the scan of a corpus of ordinary chat ("chat": the talk below, over and over) against memchr
 * and memcpy of the same bytes, and the share it takes of an append's processor time.
 */
#include "ours.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "redact/redact.h"

#define CORPUS_BYTES ((size_t)4 << 20)
#define SCAN_LEAST 300.0 /* MB/s */
#define SHARE_MOST 15.0  /* per cent */

static const char *const chat[] = {
    "Could you have a look at why the import is so slow? It took four minutes this morning, and yesterday it was done "
    "before I was back with my coffee. Nothing changed on our side, as far as I know.",
    "Sure. I'll start with the log of the last run and compare it with the one from Tuesday; the difference should "
    "show in the first hundred lines. Do you remember whether the nightly backup was still running at that time?",
    "It was, but it always is at eight. The files are under /srv/data/import/2026-02, about two gigabytes, most of it "
    "pictures. See also https://example.org/wiki/import#limits for what we agreed on.",
    "Found something: `for (size_t i = 0; i < n; i++) total += weigh(items[i]);` is called for every row, and weigh "
    "opens the file again each time. With a cache of 64 entries the run goes from 241 s to 19 s on my copy.",
    "That is a lot better than I hoped for. Before we merge it, please make sure that the results are the same as "
    "before, to the last digit; the people downstairs compare them with their own spreadsheet every Friday.",
    "They are: I ran both over the same input and the checksums agree (da39a3ee5e6b4b0d3255bfef95601890afd80709). The "
    "model used 1,412 tokens for the summary, so the budget is fine too.",
    "Good. And the page where people change their password still says that it has to have eight characters, although "
    "it is twelve since the summer. Can you correct that text while you are at it?",
    "Done; it was in three languages. I also noticed that the button below it is cut off on small screens, which is a "
    "matter of one line in the style sheet. Shall I open a second request for that, or put it into this one?",
    "Put it into this one, it is so small. By the way, Ann asked whether we could show the weather on the start page. "
    "I told her no, but if you know of something simple, I would not mind being wrong about it.",
    "There is a feed without registration that gives temperature and wind for a place once an hour: a request of 300 "
    "bytes, {\"place\": \"Bremen\", \"hours\": 12, \"units\": \"metric\"}, and an answer of about 2 KiB.",
};

static char *corpus_make(size_t n)
{
  char *text = must_alloc(n, 1);
  size_t at = 0;
  for (size_t i = 0; at < n; i++) {
    const char *line = chat[i * 7 % (sizeof chat / sizeof *chat)];
    size_t k = strlen(line);
    if (k > n - at) k = n - at;
    memcpy(text + at, line, k);
    at += k;
    if (at < n) text[at++] = '\n';
  }
  return text;
}

/* ---- the scan ------------------------------------------------------------------ */

struct scan {
  struct rp__redactor *r;
  char *text, *copy;
  size_t n;
};

/* Message by message, as the journal would. */
static void scan_suspects(const struct scan *s)
{
  static volatile size_t suspected;
  for (size_t at = 0; at < s->n; at += BODY_BYTES) {
    size_t k = s->n - at < BODY_BYTES ? s->n - at : BODY_BYTES;
    suspected = suspected + rp__redact_suspects(s->r, s->text + at, k);
  }
}

static int on_secret(void *ctx, const struct rp__secret *secret)
{
  (void)ctx;
  die("'%s' in ordinary chat", secret->name);
}

/* With a closer look at whatever the prefilter stops at. */
static void scan_find(const struct scan *s)
{
  for (size_t at = 0; at < s->n; at += BODY_BYTES) {
    size_t k = s->n - at < BODY_BYTES ? s->n - at : BODY_BYTES;
    if (rp__redact_find(s->r, s->text + at, k, on_secret, NULL)) die("no memory for the scan");
  }
}

static void scan_memchr(const struct scan *s)
{
  const void *volatile found = memchr(s->text, '\x01', s->n);
  (void)found;
}

static void scan_memcpy(const struct scan *s)
{
  memcpy(s->copy, s->text, s->n);
  ((volatile char *)s->copy)[0] = s->copy[s->n - 1];
}

static double rate(const struct scan *s, void (*run)(const struct scan *), int64_t times)
{
  double best = 0;
  for (int64_t i = 0; i < times; i++) {
    int64_t t = now_ns();
    run(s);
    int64_t took = now_ns() - t;
    double mb = (double)s->n / 1e6 / ((double)(took > 0 ? took : 1) / 1e9);
    if (mb > best) best = mb;
  }
  return best;
}

static double scan_table(struct report *r)
{
  static const struct {
    const char *what;
    void (*run)(const struct scan *);
  } rows[] = {{"prefilter", scan_suspects}, {"all of it", scan_find}, {"memchr", scan_memchr}, {"memcpy", scan_memcpy}};
  struct scan s = {.n = (size_t)bench_count(r->bench, (int64_t)CORPUS_BYTES, 65536)};
  double rates[sizeof rows / sizeof *rows];
  if (rp__redactor_new(NULL, &s.r, NULL)) die("no redactor");
  s.text = corpus_make(s.n);
  s.copy = must_alloc(s.n, 1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    rates[i] = rate(&s, rows[i].run, bench_count(r->bench, 20, 2));
  report_line(r, "| over the corpus \"chat\" (%.1f MB, 1 KiB at a time) | MB/s | of memcpy |", (double)s.n / 1e6);
  report_line(r, "| --- | --- | --- |");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    report_line(r, "| %s | %.0f | %.3f |", rows[i].what, rates[i], rates[i] / rates[3]);
  rp__redactor_free(s.r);
  free(s.text);
  free(s.copy);
  return rates[0];
}

/* ---- the share of an append ------------------------------------------------------- */

/* Processor seconds of n appends. The engine reads the setting when it is opened. */
static double appends(const struct bench *b, const char *redact, int64_t n)
{
  char name[64];
  snprintf(name, sizeof name, "redact-%s.db", redact);
  setenv("REPRISE_REDACT", redact, 1);
  rp_engine *e = ours_open(b, name);
  rp_session *s = ours_start(e, "redact");
  for (int64_t i = 0; i < n / 4; i++) ours_append(s, i, RP_OS, NULL);
  settle(b);
  double before = cpu_seconds();
  for (int64_t i = 0; i < n; i++) ours_append(s, i, RP_OS, NULL);
  double took = cpu_seconds() - before;
  rp_session_free(s);
  rp_close(e);
  unsetenv("REPRISE_REDACT");
  return took;
}

static double append_share(struct report *r)
{
  struct samples off = {0}, on = {0};
  int64_t n = bench_count(r->bench, 4000, 40);
  for (int i = 0; i < r->bench->rounds; i++) {
    samples_add(i % 2 ? &on : &off, appends(r->bench, i % 2 ? "true" : "false", n));
    samples_add(i % 2 ? &off : &on, appends(r->bench, i % 2 ? "false" : "true", n));
  }
  double without = samples_median(&off) / (double)n * 1e9, with = samples_median(&on) / (double)n * 1e9;
  double share = with > 0 ? (with - without) / with * 100 : 0;
  report_line(r, "\n| processor time of an append, 1 KiB, `os` | | |");
  report_line(r, "| --- | --- | --- |");
  report_line(r, "| without redaction | %s | |", text_ns(without));
  report_line(r, "| with redaction | %s | %.1f %% of it |", text_ns(with), share);
  samples_done(&off);
  samples_done(&on);
  return share;
}

void section_redact(const struct bench *b)
{
  struct report r;
  report_open(&r, b, "redact", "What redaction costs");
  double scan = scan_table(&r);
  double share = append_share(&r);
  report_line(&r, "%s", "");
  report_target(&r, "prefilter over ordinary chat", scan, SCAN_LEAST, false, " MB/s");
  report_target(&r, "redaction's share of an append", share, SHARE_MOST, true, " %");
  report_close(&r);
}
