/* SPDX-License-Identifier: Apache-2.0 */
/* A past of many sessions, made quickly. */
#include "past.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/store.h"

#define GROUP 500 /* sessions in one transaction */
#define SUBJECTS 400
#define WEEK_MS INT64_C(604800000)
#define LENGTH_MS INT64_C(1200000) /* of a session */
#define PART_BYTES 2048
#define MESSAGE_BYTES 300
#define OPS_MAX 7

/* One session on its way into the store. */
struct past {
  struct rp__session_row row;
  struct rp__run_row run;
  struct rp__new_event events[2];
  struct rp__record_row record;
  char parts[RP_PARTS_MAX][PART_BYTES];
  char message[MESSAGE_BYTES], task[512], task_id[64];
  struct rp__op ops[OPS_MAX];
  struct rp__txn txn;
};

static int64_t wall_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t next(uint64_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

/* The words of a body without what is around them. */
static const char *content_at(int64_t i)
{
  return strstr(body_at(i), "\"content\":\"") + 11;
}

/* ---- what a session leaves ---------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void part_add(char part[PART_BYTES], const char *format, ...)
{
  size_t n = strlen(part);
  va_list ap;
  va_start(ap, format);
  int k = vsnprintf(part + n, PART_BYTES - n, format, ap);
  va_end(ap);
  if (k < 0 || n + (size_t)k >= PART_BYTES) die("a part of a record is too long");
}

static void fill_topics(struct past *p, uint64_t *x)
{
  char *part = p->parts[RP_PART_HOT_TOPICS], word[32];
  uint64_t seen[RP_TOPICS_MAX];
  part_add(part, "[");
  for (size_t i = 0; i < RP_TOPICS_MAX; i++) {
    int n = snprintf(word, sizeof word, "subject-%u", (unsigned)(next(x) % SUBJECTS));
    seen[i] = rp__topic_hash(word, (size_t)n, NULL);
    part_add(part, "%s\"%s\"", i ? "," : "", word);
  }
  part_add(part, "]");
  p->record.n_topics = rp__topic_set(seen, RP_TOPICS_MAX);
  memcpy(p->record.topics, seen, p->record.n_topics * sizeof *seen);
}

static void fill_pins(struct past *p, const char *at)
{
  char *part = p->parts[RP_PART_WORKING_MEMORY];
  for (int i = 0; i < 3; i++)
    part_add(part,
             "%s{\"label\":\"pin %d of %.8s\",\"content\":\"the harness of module %d is on the second bench, see the "
             "notes of that day\",\"importance\":\"%s\",\"pinned_at\":\"%s\",\"inherited_from\":null,"
             "\"inherited_end\":null}",
             i ? "," : "[", i, p->row.id + 24, i, i == 0 && p->record.has_critical ? "critical" : "normal", at);
  part_add(part, "]");
}

/* One in eight leaves a task behind: in the record, in the journal and as the scope's newest word on it. */
static void fill_task(struct past *p, const char *at, int64_t i)
{
  snprintf(p->task_id, sizeof p->task_id, "task-%lld", (long long)i);
  snprintf(p->task, sizeof p->task, "{\"task_id\":\"%s\",\"title\":\"calibrate unit %lld\",\"stage\":\"build\"}",
           p->task_id, (long long)i);
  part_add(p->parts[RP_PART_TASKS],
           "[{\"task_id\":\"%s\",\"title\":\"calibrate unit %lld\",\"stage\":\"build\",\"flagged_incomplete\":false,"
           "\"at\":\"%s\",\"source\":\"pipeline_state\"}]",
           p->task_id, (long long)i, at);
  p->record.n_tasks = 1;
}

static void fill_record(struct past *p, int64_t i, int64_t ended, uint64_t *x)
{
  char at[64];
  time_t seconds = (time_t)(ended / 1000);
  struct tm tm;
  gmtime_r(&seconds, &tm);
  strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S.000Z", &tm);
  p->record = (struct rp__record_row){.start_ms = ended - LENGTH_MS,
                                      .end_ms = ended,
                                      .created_ms = ended,
                                      .updated_ms = ended,
                                      .has_critical = next(x) % 100 == 0};
  memcpy(p->record.session_id, p->row.id, RP_NAME);
  memcpy(p->record.scope, p->row.scope, RP_NAME);
  memcpy(p->record.channel, p->row.channel, RP_NAME);
  fill_pins(p, at);
  fill_topics(p, x);
  if (next(x) % 8 == 0) fill_task(p, at, i);
  part_add(p->parts[RP_PART_PROJECTS], "[\"project-%u\"]", (unsigned)(next(x) % 10));
  part_add(p->parts[RP_PART_LEARNINGS], "[\"memory-%lld\"]", (long long)i);
  for (int k = 0; k < RP_PARTS_MAX; k++) {
    if (!p->parts[k][0]) part_add(p->parts[k], "[]");
    p->record.part[k] = p->parts[k];
  }
}

/* ---- into the store --------------------------------------------------------------- */

static struct rp__op *add_op(struct past *p, enum rp__op_type type, int64_t at)
{
  struct rp__op *op = &p->ops[p->txn.n++];
  *op = (struct rp__op){.type = type, .session_id = p->row.id, .now_ms = at};
  return op;
}

static void fill_ops(struct past *p, int64_t began, int64_t ended)
{
  p->txn = (struct rp__txn){.ops = p->ops, .durability = RP_OS};
  add_op(p, RP_OP_SESSION_PUT, began)->u.session_put.row = &p->row;
  struct rp__op *op = add_op(p, RP_OP_LEASE, began);
  op->u.lease.run = &p->run;
  op->u.lease.move = RP_MOVE_MAX;
  op->u.lease.count_start = true;
  op = add_op(p, RP_OP_APPEND, ended - 1);
  p->events[0] =
      (struct rp__new_event){.kind = "message", .body = p->message, .body_len = strlen(p->message), .at_ms = ended - 1};
  p->events[1] =
      (struct rp__new_event){.kind = "task", .body = p->task, .body_len = strlen(p->task), .at_ms = ended - 1};
  op->u.append.events = p->events;
  op->u.append.n = p->task_id[0] ? 2 : 1;
  op->u.append.expect = -1;
  if (p->task_id[0]) {
    op = add_op(p, RP_OP_TASK_PUT, ended - 1);
    op->u.task_put.scope = p->row.scope;
    op->u.task_put.hash = rp__topic_hash(p->task_id, strlen(p->task_id), NULL);
    op->u.task_put.at_ms = ended - 1;
    op->u.task_put.append_op = p->txn.n - 2;
    op->u.task_put.offset = 1;
    op->u.task_put.open = true;
  }
  op = add_op(p, RP_OP_SESSION_SET, ended);
  op->u.session_set.fields = RP_SET_MOVE;
  op->u.session_set.move = RP_MOVE_CLOSE;
  op->u.session_set.ended_at = ended;
  op = add_op(p, RP_OP_RUN_END, ended);
  op->u.run_end.ended_at = ended;
  op->u.run_end.cause = RP_CAUSE_CLEAN;
  add_op(p, RP_OP_RECORD_PUT, ended)->u.record.row = &p->record;
}

static void past_make(struct past *p, int64_t i, int64_t ended, uint64_t *x)
{
  int64_t began = ended - LENGTH_MS;
  *p = (struct past){0};
  p->row = (struct rp__session_row){.scope = PAST_SCOPE,
                                    .channel = "cli",
                                    .status = RP_STATUS_ACTIVE,
                                    .created_at = began,
                                    .last_activity_at = began};
  snprintf(p->row.id, sizeof p->row.id, "018f%04x-%04x-7000-8000-%012llx", (unsigned)(next(x) & 0xffff),
           (unsigned)(next(x) & 0xffff), (unsigned long long)i);
  p->run = (struct rp__run_row){.owner = RP_RUN_NONE, .started_at = began, .heartbeat_at = ended};
  fill_record(p, i, ended, x);
  snprintf(p->message, sizeof p->message, "{\"role\":\"user\",\"content\":\"%.240s.\"}", content_at(i));
  fill_ops(p, began, ended);
}

static void commit_group(struct rp__store *s, struct past *v, size_t n)
{
  struct rp__txn *group[GROUP];
  rp_error err;
  for (size_t i = 0; i < n; i++) group[i] = &v[i].txn;
  ours_check(s->ops->commit(s, group, n, &err), &err, "commit");
  for (size_t i = 0; i < n; i++) ours_check(v[i].txn.rc, &v[i].txn.err, "commit of one session");
  ours_check(s->ops->maintain(s, RP_MAINTAIN_WAL, NULL, &err), &err, "checkpoint of the log");
}

/* Oldest first, as they would have ended, all within the week that a start looks back. */
static void past_build(const char *path, int64_t n)
{
  struct rp__store_options o = {.path = path};
  struct rp__store *s = NULL;
  struct past *v = must_alloc(GROUP, sizeof *v);
  rp_error err;
  uint64_t x = 88172645463325252u;
  int64_t first = wall_ms() - WEEK_MS + 3600000, step = (WEEK_MS - 2 * 3600000) / n;
  ours_check(rp__store_sqlite_open(&o, &s, &err), &err, "store");
  for (int64_t i = 0; i < n;) {
    size_t k = 0;
    for (; k < GROUP && i < n; k++, i++) past_make(&v[k], i, first + i * step, &x);
    commit_group(s, v, k);
  }
  s->ops->close(s);
  free(v);
}

const char *past_big(const struct bench *b, int64_t n)
{
  static char name[40];
  char path[BENCH_PATH];
  snprintf(name, sizeof name, "past-%lld.db", (long long)n);
  if (access(bench_path(b, name, path), F_OK) == 0) return name;
  int64_t t = now_ns();
  past_build(path, n);
  rp_engine *e = ours_open(b, name); /* the full text of their events is nobody's business later on */
  ours_index(e);
  rp_close(e);
  fprintf(stderr, "made %lld ended sessions in %s\n", (long long)n, text_ns((double)(now_ns() - t)));
  return name;
}

/* ---- asking ------------------------------------------------------------------------- */

double past_brief_ns(rp_engine *e)
{
  rp_brief_options o = {.scope = PAST_SCOPE, .topics = PAST_TOPICS};
  char *json = NULL;
  rp_error err;
  int64_t t = now_ns();
  int rc = rp_brief_scope(e, &o, &json, &err);
  double ns = (double)(now_ns() - t);
  if (rc == RP_E_BUSY) return -1;
  ours_check(rc, &err, "brief_scope");
  if (strstr(json, "\"brief\":\"") == NULL) die("the scope has a past and its brief is empty");
  rp_free(json);
  return ns;
}

rp_session *past_start(rp_engine *e, const char *scope)
{
  rp_start_options o = {.scope = scope, .topics = PAST_TOPICS, .mode = RP_MODE_SUCCESSOR};
  rp_session *s = NULL;
  rp_error err;
  ours_check(rp_start(e, &o, &s, &err), &err, "start");
  return s;
}

struct past_scan {
  struct rp__store *store;
};

struct past_scan *past_scan_open(const struct bench *b, const char *name)
{
  struct past_scan *s = must_alloc(1, sizeof *s);
  char path[BENCH_PATH];
  struct rp__store_options o = {.path = bench_path(b, name, path), .short_lived = true};
  rp_error err;
  ours_check(rp__store_sqlite_open(&o, &s->store, &err), &err, "store");
  return s;
}

void past_scan_close(struct past_scan *s)
{
  s->store->ops->close(s->store);
  free(s);
}

struct offer {
  struct rp__plan *plan;
  int64_t rows;
};

static int on_row(void *ctx, const struct rp__recall *row)
{
  struct offer *o = ctx;
  o->rows++;
  return rp__plan_offer(o->plan, row);
}

/* Records are not opened: an empty one answers for each, and the decisions about pins and tasks fall away. */
double past_scan_ns(struct past_scan *s, int64_t at_least)
{
  static const struct rp__rules rules = {.lookback_hours = 168,
                                         .threshold = .25,
                                         .pin_threshold = .4,
                                         .critical_hours = 168,
                                         .decay_rate = .4,
                                         .decay_floor = .3,
                                         .max_sessions = 3,
                                         .max_pins = 5};
  static const char *const words[] = {"subject-3", "subject-17", "subject-44"};
  uint64_t topics[3];
  struct offer o = {0};
  struct rp__candidate *c;
  rp_error err;
  for (size_t i = 0; i < 3; i++) topics[i] = rp__topic_hash(words[i], strlen(words[i]), NULL);
  size_t n = rp__topic_set(topics, 3);
  int64_t t = now_ns(), now = wall_ms();
  struct rp__recall_filter f = {.scope = PAST_SCOPE, .since_ms = now - WEEK_MS};
  if (rp__plan_new(&rules, now, topics, n, &o.plan)) die("no memory for a plan");
  ours_check(s->store->ops->recall_list(s->store, &f, on_row, &o, &err), &err, "recall_list");
  while ((c = rp__plan_want(o.plan))) rp__plan_opened(o.plan, c, rp__json_trusted("{}", 2));
  if (rp__plan_finish(o.plan, &(struct rp__plan_sources){0})) die("the plan failed");
  double ns = (double)(now_ns() - t);
  if (o.rows < at_least) die("%lld sessions were looked at, %lld are there", (long long)o.rows, (long long)at_least);
  rp__plan_free(o.plan);
  return ns;
}

/* ---- a record at its limit ------------------------------------------------------------ */

#define FILL_EVENTS 400
#define FILL_BYTES (8 * 1024)

static char *filler(int64_t i, size_t n)
{
  static char text[FILL_BYTES];
  size_t at = 0;
  for (int64_t k = i; at < n; k++) {
    const char *body = content_at(k);
    size_t len = strlen(body) - 2, take = len < n - at ? len : n - at;
    memcpy(text + at, body, take);
    at += take;
  }
  text[n] = '\0';
  return text;
}

static int fill_one(char *out, int k, int64_t i, const char **kind)
{
  if (k < 10) {
    *kind = "pin";
    return snprintf(out, FILL_BYTES, "{\"label\":\"pin %d\",\"content\":\"%s\",\"importance\":\"high\"}", k,
                    filler(i + k, 3500));
  }
  if (k < 40) {
    *kind = "task";
    return snprintf(out, FILL_BYTES, "{\"task_id\":\"task-%d\",\"title\":\"%s\",\"stage\":\"verify\"}", k,
                    filler(i + k, 120));
  }
  if (k < 240) {
    *kind = "learning";
    return snprintf(out, FILL_BYTES, "{\"memory_id\":\"memory-%lld-%d\",\"content\":\"%s\",\"confidence\":0.8}",
                    (long long)i, k, filler(i + k, 80));
  }
  if (k < 320) {
    *kind = "confidence";
    return snprintf(out, FILL_BYTES,
                    "{\"memory_id\":\"memory-%lld-%d\",\"old_score\":0.8,\"new_score\":0.9,\"reason\":\"%s\"}",
                    (long long)i, k - 240 + 40, filler(i + k, 60));
  }
  *kind = "sop";
  return snprintf(out, FILL_BYTES,
                  "{\"sop_path\":\"sops/%d.md\",\"injected_at\":\"2026-01-01T00:00:00Z\",\"acknowledged\":true,"
                  "\"tool_call\":\"%s\"}",
                  k, filler(i + k, 60));
}

void past_fill(rp_session *s, int64_t i)
{
  static char bodies[FILL_EVENTS][FILL_BYTES];
  rp_event ev[FILL_EVENTS];
  rp_append_options o = {0};
  o.durability = RP_OS;
  rp_ack ack;
  rp_error err;
  for (int k = 0; k < FILL_EVENTS; k++) {
    const char *kind = NULL;
    int n = fill_one(bodies[k], k, i, &kind);
    ev[k] = (rp_event){.kind = kind, .body = bodies[k], .body_len = (size_t)n};
  }
  ours_check(rp_append_many(s, ev, FILL_EVENTS, &o, &ack, &err), &err, "append_many");
}
