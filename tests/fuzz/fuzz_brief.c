/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Briefs and records from any state, records and facts. Sixteen bytes choose template, restart, cause, bound and time
 * away; the rest, split at bytes of value 1, is the state document, the evidence, a fact, a label that is present,
 * and the records of earlier sessions. Whatever they are: within its bound, UTF-8, a reason for every line.
 */
#include "continuity/brief.h"
#include "continuity/record.h"
#include "json/scan.h"

#include "../unit/continuity/state_of.h"

#define NOW INT64_C(1780000000000)
#define PARTS 8
#define HEAD 16
/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct parts {
  struct rp__str v[PARTS];
  size_t n;
};

static struct parts split(const char *p, size_t n)
{
  struct parts s = {0};
  while (s.n < PARTS) {
    const char *end = s.n + 1 < PARTS && n ? memchr(p, 1, n) : NULL;
    size_t len = end ? (size_t)(end - p) : n;
    s.v[s.n++] = (struct rp__str){p, len};
    if (!end) break;
    p += len + 1;
    n -= len + 1;
  }
  return s;
}

static char *text_of(struct rp__str s)
{
  char *text = malloc(s.n + 1);
  MUST(text);
  if (s.n) memcpy(text, s.p, s.n);
  text[s.n] = '\0';
  return text;
}

static void on_line(void *ctx, const char *line)
{
  (void)ctx;
  MUST(strchr(line, '\n') == NULL);
}

static void check_explanation(const struct rp__plan *p)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(64 << 20);
  struct rp__jw w = RP_JW(&out);
  struct rp__json v;
  rp__jw_object(&w);
  rp__plan_explain(p, &w);
  rp__jw_end_object(&w);
  MUST(out.err == 0 && rp__json_parse(out.p, out.n, NULL, &v, NULL) == 0);
  rp__plan_tell(p, on_line, NULL);
}

static struct rp__plan *plan_of(const uint8_t *head, const struct parts *parts, const char *fact, const char *label)
{
  const struct rp__rules rules = {.lookback_hours = 168,
                                  .threshold = .25,
                                  .pin_threshold = .4,
                                  .critical_hours = 100,
                                  .decay_rate = .4,
                                  .decay_floor = .3,
                                  .max_sessions = head[9] % 4,
                                  .max_pins = head[10] % 8,
                                  .unfading = head[9] & 8};
  struct rp__memory_fact facts[] = {{"m", fact, .9, NOW - 1000, true, NULL, .categories = fact, .uses = head[9]}};
  struct rp__plan_sources s = {.memories = facts, .n_memories = 1, .topics = label, .labels = &label, .n_labels = 1};
  struct rp__plan *p = NULL;
  struct rp__candidate *c;
  MUST(rp__plan_new(&rules, NOW, NULL, 0, &p) == 0);
  for (size_t i = 4; i < parts->n; i++) {
    char id[8] = {'s', (char)('0' + i)};
    struct rp__recall row = {.session_ref = (int64_t)i, .session_id = id, .has_critical = head[11] >> i & 1};
    row.ended_at = NOW - (int64_t)i * 36000000;
    MUST(rp__plan_offer(p, &row) == 0);
  }
  while ((c = rp__plan_want(p))) {
    struct rp__str record = parts->v[c->session_ref];
    rp__plan_opened(p, c, rp__json_trusted(record.p, record.n));
  }
  MUST(rp__plan_finish(p, &s) == 0);
  check_explanation(p);
  return p;
}

static size_t count_lines(const struct rp__buf *out)
{
  size_t lines = 0;
  for (size_t i = 0; i < out->n; i++) lines += out->p[i] != '\n' && (i == 0 || out->p[i - 1] == '\n');
  return lines;
}

static void check_brief(const struct rp__brief_input *in)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20), why = RP_BUF(64 << 20);
  struct rp__jw w = RP_JW(&why);
  struct rp__json v;
  int rc = rp__brief_write(in, &out, &w);
  MUST(rc == 0 || (rc == RP_E_TOO_LARGE && out.n == 0)); /* no room for header and instruction */
  MUST(out.n <= in->max_bytes);
  for (const char *at = out.p, *end = out.n ? out.p + out.n : at; at < end;) {
    unsigned len = rp__utf8_len(at, end);
    MUST(len > 0 && ((uint8_t)*at >= 0x20 || *at == '\n'));
    at += len;
  }
  MUST(rp__json_parse(why.p, why.n, NULL, &v, NULL) == 0);
  MUST(rp__json_count(v) == count_lines(&out));
}

static void check_record(const struct rp__fold *state)
{
  static const struct rp__json_limits limits = {.allow_duplicates = true};
  RP_CLEANUP(rp__record_done) struct rp__record_parts r = {0};
  struct rp__record_options o = {.sessions = 3};
  struct rp__json v;
  MUST(rp__record_build(state, &o, &r) == 0);
  for (unsigned i = 0; i < RP_PARTS_MAX; i++)
    MUST(rp__json_parse(r.json[i], strlen(r.json[i]), &limits, &v, NULL) == 0 && v.type == RP_JSON_ARRAY);
}

/* The state of a session that was told what the document says; NULL when that is no JSON, or more than a state has. */
static struct rp__fold *state_of(struct rp__str text)
{
  static const struct rp__json_limits limits = {.allow_duplicates = true};
  struct rp__fold *f = NULL;
  struct rp__json doc;
  if (rp__json_parse(text.p, text.n, &limits, &doc, NULL) || state_make(doc, NOW, &f, NULL)) return NULL;
  return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < HEAD) return 0;
  struct parts parts = split((const char *)data + HEAD, n - HEAD);
  RP_AUTOFOLD struct rp__fold *told = state_of(parts.v[0]);
  RP_AUTOFREE char *evidence = text_of(parts.v[1]), *fact = text_of(parts.v[2]), *label = text_of(parts.v[3]);
  struct rp__brief_input in = {.form = data[8] & 1 ? RP_TEMPLATE_ROBOT : RP_TEMPLATE_CODER,
                               .restart = (enum rp__restart)(data[8] >> 1 & 3),
                               .resumed = data[8] >> 3 & 1,
                               .cause = (enum rp__cause)((data[8] >> 4) % RP_CAUSE_MAX),
                               .evidence = evidence,
                               .now_ms = NOW,
                               .total_sessions = data[12],
                               .state = told,
                               .max_bytes = (size_t)data[13] << 8 | data[14]};
  memcpy(&in.elapsed_seconds, data, 8);
  struct rp__plan *p = data[15] & 1 ? plan_of(data, &parts, fact, label) : NULL;
  in.plan = p;
  check_brief(&in);
  if (told) check_record(told);
  rp__plan_free(p);
  return 0;
}
