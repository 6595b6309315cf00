/* SPDX-License-Identifier: Apache-2.0 */
/* Folding an event: with all facets, without the digest, without the topics. Time of this thread, in turns. */
#include "ours.h"

#include <string.h>

#include "facets/table.h"

#define FACETS_MAX 64
#define DIGEST_SHARE 1.15 /* of the fold without it: what the digest may cost */

enum { ALL, NO_DIGEST, NO_TOPICS, VARIANTS };

/* A turn of work: what is asked, a file that is read and edited, a command that fails and succeeds, an answer. */
static const struct {
  enum rp__kind kind;
  const char *body;
} turn[] = {
    {RP_KIND_MESSAGE,
     "{\"role\":\"user\",\"content\":\"The rotor of the antenna stops at 180 degrees, see rotor.c. Please let it"
     " turn on, and never touch the brake.\\n    at turnLeft (src/gear.js:12:5)\"}"},
    {RP_KIND_TOOL,
     "{\"call_id\":\"a\",\"name\":\"Read\",\"status\":\"intended\",\"input\":{\"file_path\":\"src/rotor.c\"}}"},
    {RP_KIND_TOOL,
     "{\"call_id\":\"a\",\"name\":\"Read\",\"status\":\"done\",\"output\":{\"text\":\"int turn(int degrees);\"}}"},
    {RP_KIND_TOOL,
     "{\"call_id\":\"b\",\"name\":\"Edit\",\"status\":\"intended\",\"input\":{\"file_path\":\"src/rotor.c\"}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"b\",\"name\":\"Edit\",\"status\":\"done\",\"output\":{\"text\":\"\"}}"},
    {RP_KIND_TOOL,
     "{\"call_id\":\"c\",\"name\":\"Bash\",\"status\":\"intended\",\"input\":{\"command\":\"make test\"}}"},
    {RP_KIND_TOOL,
     "{\"call_id\":\"c\",\"name\":\"Bash\",\"status\":\"failed\",\"output\":\"error: rotor.c:7: no brake\"}"},
    {RP_KIND_TOOL,
     "{\"call_id\":\"d\",\"name\":\"Bash\",\"status\":\"intended\",\"input\":{\"command\":\"make test\"}}"},
    {RP_KIND_TOOL, "{\"call_id\":\"d\",\"name\":\"Bash\",\"status\":\"done\",\"output\":\"ok\"}"},
    {RP_KIND_MESSAGE,
     "{\"role\":\"assistant\",\"content\":\"The rotor turns on now: the limit in rotor.c was in degrees and is in"
     " steps. The tests pass. Shall the gear do the same?\"}"},
};

/* The nanoseconds of an event. */
static double fold_ns(const struct rp__facet_table *t, int64_t n)
{
  struct rp__fold *f = NULL;
  if (rp__fold_new(t, &f)) die("no memory");
  double from = thread_cpu_ns();
  for (int64_t i = 0; i < n; i++) {
    const char *body = turn[i % RP_ARRAY_SIZE(turn)].body;
    int64_t to;
    struct rp__event ev = {.seq = i + 1,
                           .at_ms = i * 1000,
                           .kind = turn[i % RP_ARRAY_SIZE(turn)].kind,
                           .body = rp__json_trusted(body, strlen(body))};
    if (rp__fold_apply(f, &ev, &to)) die("the fold failed");
  }
  double ns = (thread_cpu_ns() - from) / (double)n;
  rp__fold_free(f);
  return ns;
}

void section_fold(const struct bench *b)
{
  static const char *const without[VARIANTS] = {"", "digest", "topics"};
  const struct rp__facet_ops *ops[VARIANTS][FACETS_MAX];
  struct rp__facet_table table[VARIANTS] = {{ops[ALL], 0}, {ops[NO_DIGEST], 0}, {ops[NO_TOPICS], 0}};
  struct samples ns[VARIANTS] = {{0}};
  struct report r;
  int64_t n = bench_count(b, 20000, 200);
  for (unsigned v = 0; v < VARIANTS; v++)
    for (size_t i = 0; i < rp__facets.n; i++)
      if (strcmp(rp__facets.ops[i]->name, without[v]) != 0) ops[v][table[v].n++] = rp__facets.ops[i];
  report_open(&r, b, "fold", "Fold");
  for (int i = 0; i < (b->quick ? 2 : 20); i++)
    for (unsigned v = 0; v < VARIANTS; v++) samples_add(&ns[v], fold_ns(&table[v], n));
  double all = samples_median(&ns[ALL]), no_digest = samples_median(&ns[NO_DIGEST]);
  report_line(&r,
              "A session of %lld events in turns of work (a prompt, four tool calls and their outcomes, an answer) is "
              "folded in memory; medians of 20, in turns.\n",
              (long long)n);
  report_line(&r, "| folded with | an event |\n| --- | ---: |");
  report_line(&r, "| all facets | %s |", text_ns(all));
  report_line(&r, "| all but the digest | %s |", text_ns(no_digest));
  report_line(&r, "| all but the topics | %s |", text_ns(samples_median(&ns[NO_TOPICS])));
  report_target(&r, "Folding an event with the digest against without", all / no_digest, DIGEST_SHARE, true, " ×");
  for (unsigned v = 0; v < VARIANTS; v++) samples_done(&ns[v]);
  report_close(&r);
}
