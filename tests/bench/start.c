/* SPDX-License-Identifier: Apache-2.0 */
/* From the start to the brief, in a scope with a long past, and where the time goes. */
#include "past.h"

#include <string.h>

#define WARM 3

/* Measured in turns, so that what the machine does meanwhile is in all of them. */
struct turns {
  rp_engine *engine;
  struct past_scan *scan;
  int64_t rows, given_up; /* starts that found looking through the past too slow and went on without */
  struct samples start, brief, scoring, empty, end;
};

static void end_session(rp_session *s)
{
  rp_error err;
  ours_check(rp_end(s, NULL, &err), &err, "end");
  rp_session_free(s);
}

static double start_ns(struct turns *t, const char *scope, bool past, rp_session **ret)
{
  int64_t before = now_ns();
  *ret = past_start(t->engine, scope);
  double ns = (double)(now_ns() - before);
  const char *json = rp_start_json(*ret);
  if (past && strstr(json, "\"brief\":\"") == NULL) die("a start in a scope with a past has no brief");
  t->given_up += strstr(json, "nothing was restored") != NULL;
  return ns;
}

static void turn(struct turns *t, int64_t i)
{
  rp_session *s;
  char scope[32];
  double start = start_ns(t, PAST_SCOPE, true, &s);
  ours_append(s, i, RP_OS, NULL);
  int64_t before = now_ns();
  end_session(s);
  double end = (double)(now_ns() - before), brief = past_brief_ns(t->engine), scoring = past_scan_ns(t->scan, t->rows);
  snprintf(scope, sizeof scope, "empty-%lld", (long long)i);
  double empty = start_ns(t, scope, false, &s);
  end_session(s);
  if (i < WARM) return;
  samples_add(&t->start, start), samples_add(&t->end, end);
  if (brief >= 0) samples_add(&t->brief, brief);
  samples_add(&t->scoring, scoring), samples_add(&t->empty, empty);
}

static void line(struct report *r, const char *what, struct samples *s)
{
  report_line(r, "| %s | %s | %s | %s |", what, text_ns(samples_median(s)), text_ns(samples_at(s, 95)),
              text_ns(samples_at(s, 100)));
}

static void tell(struct report *r, struct turns *t)
{
  report_line(r, "| | median | p95 | slowest |");
  report_line(r, "| --- | ---: | ---: | ---: |");
  line(r, "**`rp_start` to the brief**", &t->start);
  line(r, "`rp_brief_scope`: the run before, plan and brief, nothing stored", &t->brief);
  line(r, "of it scoring and selecting", &t->scoring);
  line(r, "`rp_start` in an empty scope of the same database: recover, find, lease, handle", &t->empty);
  line(r, "`rp_end` afterwards", &t->end);
  double start = samples_median(&t->start), brief = samples_median(&t->brief), scoring = samples_median(&t->scoring);
  report_line(r,
              "\nThe split of the median: %s scoring and selecting, %s records, the session before and the brief, %s "
              "recovering, finding and the commit of the lease with what was inherited.",
              text_ns(scoring), text_ns(brief > scoring ? brief - scoring : 0),
              text_ns(start > brief ? start - brief : 0));
}

/* A start without its past is fast and worth nothing: it may not count as one that was measured. */
static void judge(struct report *r, struct turns *t)
{
  report_limit(r, "Starts that went on without their past", (double)t->given_up, 0, true, "");
}

void section_start(const struct bench *b)
{
  struct report r;
  int64_t n = bench_count(b, 100, 3);
  struct turns t = {.rows = bench_count(b, 100000, 100)};
  const char *name = past_big(b, t.rows);
  report_open(&r, b, "start-brief", "From start to brief");
  report_line(&r,
              "%lld starts in a scope with %lld ended sessions, each in turn with the other calls and ended again, in "
              "one process.\n",
              (long long)n, (long long)t.rows);
  t.engine = ours_open(b, name);
  t.scan = past_scan_open(b, name);
  for (int64_t i = 0; i < n + WARM; i++) turn(&t, i);
  tell(&r, &t);
  judge(&r, &t);
  past_scan_close(t.scan);
  rp_close(t.engine);
  samples_done(&t.start), samples_done(&t.brief), samples_done(&t.scoring), samples_done(&t.empty);
  samples_done(&t.end);
  report_close(&r);
}
