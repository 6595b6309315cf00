/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ending.h"

#include "engine/abandon.h"

#define ENDINGS_MAX 16
#define LIVING_LOOK 64   /* open runs of a scope that are looked at, newest first … */
#define LIVING_MAX 8     /* … and of their sessions those that are judged: where something was said last */
#define LIVING_MS 500    /* judging that takes longer goes no further */
#define SOURCES_MAX 16   /* of what a session inherited, that are looked for */
#define START_EVENTS 2   /* a start's own in a new journal; what was inherited is in the last of them */
#define DEAD_MAX 256     /* as many as one start ends */
#define ABANDONED_MAX 64 /* as many as one start looks at */
#define ENDING_RECORD_MAX (4 * 1024 * 1024)

void rp__endings_done(struct rp__endings *l)
{
  for (size_t i = 0; i < l->n; i++) rp__buf_done(&l->p[i].record);
  free(l->p);
  *l = (struct rp__endings){0};
}

static struct rp__ending *find(const struct rp__endings *l, const char *session_id)
{
  for (size_t i = 0; i < l->n; i++)
    if (strcmp(l->p[i].session_id, session_id) == 0) return &l->p[i];
  return NULL;
}

const struct rp__ending *rp__ending_of(const struct rp__endings *l, const char *session_id)
{
  return find(l, session_id);
}

/* ---- one record ---- */

static int record_text(rp_session *s, const struct rp__record_row *row, struct rp__buf *out, rp_error *err)
{
  if (row->sealed_body) return rp__unseal(s->key, rp__session_ad(s), row->sealed_body, row->sealed_len, out, err);
  return rp__record_write(row, out) ? rp__fail_nomem(err) : 0;
}

int rp__record_made(rp_engine *e, const struct rp__session_row *session, int64_t end_ms, bool crash_recovered,
                    struct rp__capture *ret, struct rp__buf *out, rp_error *err)
{
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  rp_session *s = NULL;
  int rc = rp__session_open(e, session, 0, &s, err);
  if (rc) return rc;
  if (session->tails.n) rc = rp__last_words_make(s, &words, err);
  if (!rc) rc = rp__capture_make(s, end_ms, crash_recovered, &words, ret, err);
  if (!rc) rc = record_text(s, &ret->row, out, err);
  rp__session_unref(s);
  return rc;
}

/* ---- all of a scope ---- */

struct search {
  rp_engine *e;
  const char *channel, *without;
  struct rp__endings *found;
};

static bool counts(const struct search *x, const struct rp__session_row *row)
{
  if (rp__status_ended(row->status) || row->trashed_at) return false;
  if (x->without && strcmp(x->without, row->id) == 0) return false;
  return !x->channel || strcmp(row->channel, x->channel) == 0;
}

static void fill(struct rp__ending *out, const struct rp__record_row *row)
{
  out->n_tasks = row->n_tasks;
  out->has_critical = row->has_critical;
  out->n_topics = row->n_topics;
  memcpy(out->topics, row->topics, row->n_topics * sizeof row->topics[0]);
}

static int add(struct search *x, const struct rp__session_row *row, int64_t end_ms, bool closes, bool crashed,
               rp_error *err)
{
  struct rp__capture c RP_CLEANUP(rp__capture_done) = {0};
  struct rp__ending *out = &x->found->p[x->found->n];
  rp_error why = {0};
  *out = (struct rp__ending){
      .session_ref = row->ref, .end_ms = end_ms, .closes = closes, .record = RP_BUF(ENDING_RECORD_MAX)};
  memcpy(out->session_id, row->id, RP_NAME);
  int rc = rp__record_made(x->e, row, end_ms, crashed, &c, &out->record, &why);
  if (!rc) {
    fill(out, &c.row);
    x->found->n++;
    return 0;
  }
  rp__buf_done(&out->record);
  if (rp__capture_passes(rc)) {
    if (err) *err = why;
    return rc;
  }
  rp__log(&x->e->log, RP_LOG_DEBUG, "session %s would be left without a record: %s", row->id, why.message);
  return 0;
}

struct dead {
  rp_engine *e;
  struct rp__run_row *runs;
  size_t n;
};

static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct dead *x = ctx;
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  rp__run_judge(x->e, run, 0, &evidence, &verdict);
  if (!verdict.alive && x->n < DEAD_MAX) x->runs[x->n++] = *run;
  return 0;
}

static int add_dead(struct search *x, const struct rp__run_row *run, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  int rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, run->session_id, &row, err);
  if (rc) return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
  if (!counts(x, &row) || find(x->found, row.id)) return 0;
  rp__run_judge(x->e, run, row.last_activity_at, &evidence, &verdict);
  if (verdict.alive) return 0;
  return add(x, &row, RP_MIN(evidence.heartbeat_ms, evidence.now_ms), !row.key[0], true, err);
}

static int find_dead(struct search *x, const char *scope, rp_error *err)
{
  struct dead dead = {.e = x->e, .runs = calloc(DEAD_MAX, sizeof *dead.runs)};
  struct rp__run_filter f = {.scope = scope, .channel = x->channel, .open_only = true};
  if (!dead.runs) return rp__fail_nomem(err);
  int rc = x->e->store->ops->run_list(x->e->store, &f, on_run, &dead, err);
  for (size_t i = 0; !rc && i < dead.n && x->found->n < ENDINGS_MAX; i++) rc = add_dead(x, &dead.runs[i], err);
  free(dead.runs);
  return rc;
}

struct quiet {
  struct search *x;
  int64_t now;
  char ids[ABANDONED_MAX][RP_NAME];
  size_t n;
};

static int on_session(void *ctx, const struct rp__session_row *row)
{
  struct quiet *q = ctx;
  if (q->n == ABANDONED_MAX || !counts(q->x, row) || !rp__abandon_possible(q->x->e, row, q->now)) return 0;
  memcpy(q->ids[q->n++], row->id, RP_NAME);
  return 0;
}

/* What has a key stays open after its run was ended, and is closed when it is abandoned then. */
static int add_quiet(struct search *x, const char *id, int64_t now, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__quiet q = {0};
  struct rp__ending *known = find(x->found, id);
  int rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, id, &row, err);
  if (!rc) rc = rp__abandon_judge(x->e, &row, &q, err);
  if (rc || !q.due) return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
  if (known) known->closes = true;
  if (known || x->found->n == ENDINGS_MAX) return 0;
  return add(x, &row, RP_MIN(q.last_ms, now), true, row.crash_recovered, err);
}

static int find_quiet(struct search *x, const char *scope, rp_error *err)
{
  struct quiet *q RP_AUTOFREE = calloc(1, sizeof *q);
  rp_filter f = {.scope = scope, .limit = ABANDONED_MAX};
  if (!q) return rp__fail_nomem(err);
  q->x = x;
  q->now = rp__engine_now(x->e);
  int rc = x->e->store->ops->session_list(x->e->store, &f, on_session, q, err);
  for (size_t i = 0; !rc && i < q->n; i++) rc = add_quiet(x, q->ids[i], q->now, err);
  return rc;
}

/* ---- sessions that go on ---- */

/* The latest in the order of their last activity, the newest first. */
struct living {
  char ids[LIVING_LOOK][RP_NAME];
  size_t n_ids;
  struct rp__session_row rows[LIVING_MAX + 1];
  size_t n_rows;
};

static void living_free(struct living **l)
{
  for (size_t i = 0; *l && i < (*l)->n_rows; i++) rp__session_row_done(&(*l)->rows[i]);
  free(*l);
}

static int on_open_run(void *ctx, const struct rp__run_row *run)
{
  struct living *l = ctx;
  memcpy(l->ids[l->n_ids++], run->session_id, RP_NAME);
  return 0;
}

/* Where nothing was said yet: there is nothing but what was inherited. */
static bool is_silent(const struct rp__session_row *row)
{
  return row->status == RP_STATUS_CREATED;
}

static bool comes_before(const struct rp__session_row *a, const struct rp__session_row *b)
{
  if (is_silent(a) != is_silent(b)) return is_silent(b);
  return a->last_activity_at > b->last_activity_at;
}

static void keep_latest(struct living *l, struct rp__session_row row)
{
  size_t i = l->n_rows++;
  for (; i && comes_before(&row, &l->rows[i - 1]); i--) l->rows[i] = l->rows[i - 1];
  l->rows[i] = row;
  if (l->n_rows > LIVING_MAX) rp__session_row_done(&l->rows[--l->n_rows]);
}

static int look_at(struct search *x, struct living *l, const char *id, int64_t since, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, id, &row, err);
  if (rc) return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
  bool wanted = counts(x, &row) && !(is_silent(&row) && !row.last_seq) && row.last_activity_at >= since;
  if (wanted && !find(x->found, row.id))
    keep_latest(l, row);
  else
    rp__session_row_done(&row);
  return 0;
}

struct sources {
  char ids[SOURCES_MAX][RP_NAME];
  size_t n;
};

static void add_source(struct sources *l, struct rp__json id)
{
  RP_AUTOFREE char *text = id.type == RP_JSON_STRING ? rp__json_dup(id) : NULL;
  if (text && l->n < SOURCES_MAX) snprintf(l->ids[l->n++], RP_NAME, "%s", text);
}

/* Pins that are CRITICAL may come from sessions that give nothing else. */
static int on_inherited(void *ctx, const struct rp__event *ev)
{
  struct rp__json from = rp__json_get(ev->body, "from"), pins = rp__json_get(ev->body, "pins"), v;
  struct rp__json_iter it = {0}, pin = {0};
  if (ev->kind != RP_KIND_RESTORED) return 0;
  while (from.type == RP_JSON_ARRAY && rp__json_next(from, &it, NULL, &v)) add_source(ctx, v);
  if (rp__json_count(from)) return 0;
  while (pins.type == RP_JSON_ARRAY && rp__json_next(pins, &pin, NULL, &v))
    add_source(ctx, rp__json_get(v, "inherited_from"));
  return 0;
}

/* What a silent one holds its sources give, unless one of them is gone: then nobody else may have it. */
static int is_heir_alone(struct search *x, const struct rp__session_row *row, bool *ret, rp_error *err)
{
  struct sources from = {0};
  rp_session *s = NULL;
  *ret = false;
  if (rp__session_open(x->e, row, 0, &s, NULL)) return 0;
  rp__journal_read(s, 0, START_EVENTS, on_inherited, &from, NULL);
  rp__session_unref(s);
  for (size_t i = 0; i < from.n && !*ret; i++) {
    struct rp__session_row source RP_CLEANUP(rp__session_row_done) = {0};
    int rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, from.ids[i], &source, err);
    if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
    *ret = rc != 0 || source.trashed_at != 0;
  }
  return 0;
}

static int add_living(struct search *x, const struct rp__session_row *row, rp_error *err)
{
  size_t n = x->found->n;
  bool wanted = true;
  int rc = is_silent(row) ? is_heir_alone(x, row, &wanted, err) : 0;
  if (rc || !wanted) return rc;
  rc = add(x, row, row->last_activity_at, false, false, err);
  if (x->found->n > n) x->found->p[n].lives = true;
  return rc;
}

static int find_living(struct search *x, const char *scope, int64_t since, rp_error *err)
{
  RP_CLEANUP(living_free) struct living *l = calloc(1, sizeof *l);
  struct rp__run_filter f = {.scope = scope, .channel = x->channel, .open_only = true, .limit = LIVING_LOOK};
  int64_t began = rp__engine_ticks(x->e);
  if (!l) return rp__fail_nomem(err);
  int rc = x->e->store->ops->run_list(x->e->store, &f, on_open_run, l, err);
  for (size_t i = 0; !rc && i < l->n_ids; i++) rc = look_at(x, l, l->ids[i], since, err);
  for (size_t i = 0; !rc && i < l->n_rows && rp__engine_ticks(x->e) - began <= LIVING_MS; i++)
    rc = add_living(x, &l->rows[i], err);
  return rc;
}

int rp__endings_find(rp_engine *e, const struct rp__endings_options *o, struct rp__endings *ret, rp_error *err)
{
  struct rp__endings found = {.p = calloc(ENDINGS_MAX + LIVING_MAX, sizeof *found.p)};
  struct search x = {.e = e, .channel = o->channel, .without = o->without, .found = &found};
  if (!found.p) return rp__fail_nomem(err);
  int rc = o->dead ? find_dead(&x, o->scope, err) : 0;
  if (!rc && o->dead) rc = find_quiet(&x, o->scope, err);
  if (!rc) rc = find_living(&x, o->scope, o->since_ms, err);
  if (rc)
    rp__endings_done(&found);
  else
    *ret = found;
  return rc;
}
