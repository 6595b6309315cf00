/* SPDX-License-Identifier: Apache-2.0 */
/* The report: tables as text and as JSON. */
#include "bench.h"

static const char *result_path(const struct bench *b, const char *name, const char *end, char out[BENCH_PATH])
{
  if (snprintf(out, BENCH_PATH, "%s/%s.%s", b->results, name, end) >= BENCH_PATH) die("the path is too long");
  return out;
}

static FILE *result_open(const struct bench *b, const char *name, const char *end)
{
  char path[BENCH_PATH];
  if (b->results == NULL) return NULL;
  FILE *f = fopen(result_path(b, name, end, path), "we");
  if (f == NULL) die("%s can't be written", path);
  return f;
}

/* Results stand under their name only when the section was measured to its end. */
static void result_close(const struct bench *b, const char *name, FILE *f, const char *part, const char *end)
{
  char from[BENCH_PATH], to[BENCH_PATH];
  if (f == NULL) return;
  if (fclose(f) != 0 || rename(result_path(b, name, part, from), result_path(b, name, end, to)) != 0)
    die("%s can't be written", to);
}

void report_open(struct report *r, const struct bench *b, const char *name, const char *title)
{
  *r = (struct report){.bench = b, .name = name};
  r->text = result_open(b, name, "md.part");
  r->targets = result_open(b, name, "targets.part");
  report_line(r, "## %s\n", title);
}

void report_close(struct report *r)
{
  report_line(r, "%s", "");
  result_close(r->bench, r->name, r->text, "md.part", "md");
  result_close(r->bench, r->name, r->targets, "targets.part", "targets");
  *r = (struct report){0};
}

void report_line(struct report *r, const char *format, ...)
{
  va_list ap, again;
  va_start(ap, format);
  va_copy(again, ap);
  vprintf(format, ap);
  putchar('\n');
  fflush(stdout);
  if (r->text) {
    vfprintf(r->text, format, again);
    fputc('\n', r->text);
  }
  va_end(again);
  va_end(ap);
}

void report_target(struct report *r, const char *what, double value, double limit, bool at_most, const char *unit)
{
  bool met = at_most ? value <= limit : value >= limit;
  const char *bound = at_most ? "at most" : "at least", *word = met ? "reached" : "**missed**";
  if (r->bench->quick) word = "not judged in a quick run";
  report_line(r, "\n%s: %.2f%s, to be %s %g%s: %s.", what, value, unit, bound, limit, unit, word);
  if (r->targets) fprintf(r->targets, "| %s | %s %g%s | %.2f%s | %s |\n", what, bound, limit, unit, value, unit, word);
  r->missed += !met;
}

void report_limit(struct report *r, const char *what, double value, double limit, bool at_most, const char *unit)
{
  int before = r->missed;
  report_target(r, what, value, limit, at_most, unit);
  if (r->missed > before && !r->bench->quick && r->bench->broken) ++*r->bench->broken;
}

const char *text_ns(double ns)
{
  static char ring[16][32];
  static unsigned next;
  char *out = ring[next++ % 16];
  if (ns < 1e3)
    snprintf(out, sizeof ring[0], "%.0f ns", ns);
  else if (ns < 1e6)
    snprintf(out, sizeof ring[0], "%.0f µs", ns / 1e3);
  else if (ns < 1e9)
    snprintf(out, sizeof ring[0], "%.1f ms", ns / 1e6);
  else
    snprintf(out, sizeof ring[0], "%.1f s", ns / 1e9);
  return out;
}
