/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the records of sessions that have none yet, for a start. */
#include "engine/start/open-session-records.h"

#include "engine/keep/abandon.h"

#define LIVING_LOOK 64   /* open runs of a scope that are looked at, newest first … */
#define LIVING_MS 500    /* judging that takes longer goes no further */
#define START_EVENTS 2   /* a start's own in a new journal; what was inherited is in the last of them */
#define DEAD_MAX 256     /* as many as one start ends */
#define ABANDONED_MAX 64 /* as many as one start looks at */
#define ENDING_RECORD_MAX (4 * 1024 * 1024)

void rp__endings_done(struct rp__endings *l)
{
  for (size_t i = 0; i < l->n; i++) rp__buf_done(&l->p[i].record);
  for (size_t i = 0; i < l->n_silent; i++)
    if (l->silent[i].s != l->previous) rp__session_unref(l->silent[i].s);
  if (l->previous) rp__session_unref(l->previous);
  free(l->source_rows);
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

/* Of a handle; nothing but what it reads itself is read. */
static int record_of(rp_session *s, const struct rp__session_row *session, int64_t end_ms, bool crash_recovered,
                     struct rp__capture *ret, struct rp__buf *out, rp_error *err)
{
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  int rc = session->tails.n ? rp__last_words_make(s, &words, err) : 0;
  if (!rc) rc = rp__capture_make(s, end_ms, crash_recovered, &words, ret, err);
  return rc ? rc : rp__record_text(&ret->row, s->key, out, err);
}

int rp__record_made(rp_engine *e, const struct rp__session_row *session, const struct rp__key *key, int64_t end_ms,
                    bool crash_recovered, struct rp__capture *ret, struct rp__buf *out, rp_error *err)
{
  rp_session *s = NULL;
  int rc = rp__session_open_with(e, session, key, 0, &s, err);
  if (rc) return rc;
  rc = record_of(s, session, end_ms, crash_recovered, ret, out, err);
  rp__session_unref(s);
  return rc;
}

/* ---- all of a scope ---- */

struct search {
  rp_engine *e;
  const struct rp__key *key;
  const char *channel, *without;
  struct rp__endings *found;
};

static bool counts(const char *without, const char *channel, const struct rp__session_row *row)
{
  if (rp__status_ended(row->status) || row->trashed_at) return false;
  if (without && strcmp(without, row->id) == 0) return false;
  return !channel || strcmp(row->channel, channel) == 0;
}

/* By the handle `s`, or, with NULL, by one of its own. */
static int add(struct search *x, rp_session *s, const struct rp__session_row *row, int64_t end_ms, bool closes,
               bool crashed, rp_error *err)
{
  struct rp__capture c RP_CLEANUP(rp__capture_done) = {0};
  struct rp__ending *out = &x->found->p[x->found->n];
  rp_error why = {0};
  *out = (struct rp__ending){
      .session_ref = row->ref, .end_ms = end_ms, .closes = closes, .record = RP_BUF(ENDING_RECORD_MAX)};
  memcpy(out->session_id, row->id, RP_NAME);
  int rc = s ? record_of(s, row, end_ms, crashed, &c, &out->record, &why)
             : rp__record_made(x->e, row, x->key, end_ms, crashed, &c, &out->record, &why);
  if (!rc) {
    out->n_tasks = c.row.n_tasks;
    out->has_critical = c.row.has_critical;
    out->n_topics = c.row.n_topics;
    memcpy(out->topics, c.row.topics, c.row.n_topics * sizeof c.row.topics[0]);
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

static int find_dead(struct search *x, const char *scope, rp_error *err)
{
  struct dead dead = {.e = x->e, .runs = calloc(DEAD_MAX, sizeof *dead.runs)};
  struct rp__run_filter f = {.scope = scope, .channel = x->channel, .open_only = true};
  if (!dead.runs) return rp__fail_nomem(err);
  int rc = x->e->store->ops->run_list(x->e->store, &f, on_run, &dead, err);
  for (size_t i = 0; !rc && i < dead.n && x->found->n < RP_ENDINGS_MAX; i++) {
    struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
    struct rp__evidence evidence;
    struct rp__verdict verdict;
    rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, dead.runs[i].session_id, &row, err);
    if (rc == RP_E_SESSION_NOT_FOUND)
      rc = 0;
    else if (!rc && counts(x->without, x->channel, &row) && !find(x->found, row.id)) {
      rp__run_judge(x->e, &dead.runs[i], row.last_activity_at, &evidence, &verdict);
      int64_t end = RP_MIN(evidence.heartbeat_ms, evidence.now_ms);
      rc = verdict.alive ? 0 : add(x, NULL, &row, end, !row.key[0], true, err);
    }
  }
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
  if (q->n == ABANDONED_MAX || !counts(q->x->without, q->x->channel, row) ||
      !rp__abandon_possible(q->x->e, row, q->now))
    return 0;
  memcpy(q->ids[q->n++], row->id, RP_NAME);
  return 0;
}

/* What has a key stays open after its run was ended, and is closed when it is abandoned then. */
static int find_quiet(struct search *x, const char *scope, rp_error *err)
{
  struct quiet *q RP_AUTOFREE = calloc(1, sizeof *q);
  struct rp__session_filter f = {.scope = scope, .limit = ABANDONED_MAX};
  if (!q) return rp__fail_nomem(err);
  q->x = x;
  q->now = rp__engine_now(x->e);
  int rc = x->e->store->ops->session_list(x->e->store, &f, on_session, q, err);
  for (size_t i = 0; !rc && i < q->n; i++) {
    struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
    struct rp__quiet quiet = {0};
    struct rp__ending *known = find(x->found, q->ids[i]);
    rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, q->ids[i], &row, err);
    if (!rc) rc = rp__abandon_judge(x->e, &row, &quiet, err);
    if (rc == RP_E_SESSION_NOT_FOUND)
      rc = 0;
    else if (!rc && quiet.due && known)
      known->closes = true;
    else if (!rc && quiet.due && x->found->n < RP_ENDINGS_MAX)
      rc = add(x, NULL, &row, RP_MIN(quiet.last_ms, q->now), true, row.crash_recovered, err);
  }
  return rc;
}

/* ---- sessions that go on ---- */

void rp__living_done(struct rp__living *l)
{
  for (size_t i = 0; i < l->n; i++) rp__session_row_done(&l->rows[i]);
  l->n = 0;
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

/* Keeps the latest, in the order of their last activity. */
static int on_open_run(void *ctx, const struct rp__run_row *run)
{
  struct rp__living *l = ctx;
  const struct rp__session_row *row = run->session;
  struct rp__evidence evidence;
  struct rp__verdict verdict = {.alive = true};
  size_t i = l->n;
  if (!counts(l->without, l->channel, row) || (is_silent(row) && !row->last_seq)) return 0;
  /* Where something was said, that is told whatever its age. */
  if (is_silent(row) && row->last_activity_at < l->since_ms) return 0;
  if (l->found && find(l->found, row->id)) return 0;
  if (l->judge) rp__run_judge(l->judge, run, row->last_activity_at, &evidence, &verdict);
  if (!verdict.alive) return 0;
  for (; i && comes_before(row, &l->rows[i - 1]); i--) l->rows[i] = l->rows[i - 1];
  l->rows[i] = *row;
  l->rows[i].meta = NULL;
  l->n = RP_MIN(l->n + 1, RP_LIVING_MAX);
  return 0;
}

struct rp__read rp__living_reading(struct rp__living *l, const char *scope)
{
  return (struct rp__read){.type = RP_READ_RUNS,
                           .ctx = l,
                           .u.runs = {.filter = {.scope = scope,
                                                 .channel = l->channel,
                                                 .open_only = true,
                                                 .limit = LIVING_LOOK,
                                                 .with_session = true},
                                      .fn = on_open_run}};
}

static void add_source(struct rp__silent *l, struct rp__json id)
{
  RP_AUTOFREE char *text = id.type == RP_JSON_STRING ? rp__json_dup(id) : NULL;
  if (text && l->n_sources < RP_SOURCES_MAX) snprintf(l->sources[l->n_sources++], RP_NAME, "%s", text);
}

/* Pins that are CRITICAL may come from sessions that give nothing else. */
static int on_inherited(void *ctx, const struct rp__event *ev)
{
  struct rp__json from = rp__json_get(ev->body, "from"), pins = rp__json_get(ev->body, "pins"), v;
  struct rp__json_iter it = {0}, pin = {0};
  if (ev->kind != RP_KIND_RESTORED || ev->seq > START_EVENTS) return 0;
  while (from.type == RP_JSON_ARRAY && rp__json_next(from, &it, NULL, &v)) add_source(ctx, v);
  if (rp__json_count(from)) return 0;
  while (pins.type == RP_JSON_ARRAY && rp__json_next(pins, &pin, NULL, &v))
    add_source(ctx, rp__json_get(v, "inherited_from"));
  return 0;
}

static int add_living(struct search *x, rp_session *s, rp_error *err)
{
  size_t n = x->found->n;
  const struct rp__session_row *row = &s->view->row;
  int rc = add(x, s, row, row->last_activity_at, false, false, err);
  if (x->found->n > n) x->found->p[n].lives = true;
  return rc;
}

/* Their views, and that of the session before, are read at once. */
static int find_living(struct search *x, const struct rp__endings_options *o, rp_error *err)
{
  struct rp__endings *found = x->found;
  rp_session *views[RP_LIVING_MAX + 1];
  size_t n = 0;
  int rc = 0;
  int64_t began = rp__engine_ticks(x->e);
  for (size_t i = 0; !rc && i < o->living->n; i++) {
    const struct rp__session_row *row = &o->living->rows[i];
    rc = rp__view_open(x->e, row, x->key, &views[n], err);
    if (rc) break;
    if (o->previous && o->previous->ref == row->ref) found->previous = views[n];
    if (is_silent(row)) {
      struct rp__silent *silent = &found->silent[found->n_silent++];
      views[n]->view->row.snap_seq = 0; /* its few events are read from the first on, which tells the sources */
      silent->s = views[n];
      views[n]->view->on_event = on_inherited;
      views[n]->view->ctx = silent;
    }
    n++;
  }
  rp_session *kept = o->previous && o->seen ? rp__views_find(o->seen, o->previous->ref) : NULL;
  if (!rc && kept && !found->previous) found->previous = rp__session_ref(kept);
  if (!rc && o->previous && o->previous->ref && !found->previous) {
    rc = rp__view_open(x->e, o->previous, x->key, &views[n], err);
    if (!rc) found->previous = views[n++];
  }
  if (!rc && found->n_silent) {
    found->source_rows = calloc(found->n_silent * RP_SOURCES_MAX, sizeof *found->source_rows);
    if (!found->source_rows) rc = rp__fail_nomem(err);
  }
  if (!rc) rc = rp__views_read(x->e, o->scope, views, n, o->living->n ? o->seen : NULL, err);
  for (size_t i = 0; i < n; i++) {
    bool living = i < o->living->n;
    bool silent = living && is_silent(&views[i]->view->row);
    if (!rc && living && !silent && rp__engine_ticks(x->e) - began <= LIVING_MS) rc = add_living(x, views[i], err);
    if (views[i] != found->previous && !silent) rp__session_unref(views[i]);
  }
  return rc;
}

/* What a silent one holds its sources give, unless one of them is gone: then nobody else may have it. */
size_t rp__endings_sources(struct rp__endings *l, struct rp__read *reads)
{
  size_t n = 0;
  for (size_t i = 0; i < l->n_silent; i++) {
    struct rp__silent *s = &l->silent[i];
    for (size_t j = 0; j < s->n_sources; j++) {
      size_t known = 0;
      while (known < n && strcmp(reads[known].u.session.what, s->sources[j]) != 0) known++;
      s->read[j] = known;
      if (known == n)
        reads[n++] =
            (struct rp__read){.type = RP_READ_SESSION,
                              .u.session = {.how = RP_FIND_ID, .what = s->sources[j], .ret = &l->source_rows[known]}};
    }
  }
  return n;
}

int rp__endings_heirs(rp_engine *e, struct rp__endings *l, const struct rp__read *reads, size_t n, rp_error *err)
{
  struct search x = {.e = e, .found = l};
  int rc = 0;
  for (size_t i = 0; i < l->n_silent; i++) {
    const struct rp__silent *s = &l->silent[i];
    bool alone = false;
    for (size_t j = 0; !rc && !alone && j < s->n_sources; j++) {
      const struct rp__read *r = &reads[s->read[j]];
      if (r->rc && r->rc != RP_E_SESSION_NOT_FOUND) {
        rc = r->rc;
        if (err) *err = r->err;
      }
      alone = r->rc != 0 || r->u.session.ret->trashed_at != 0;
    }
    x.key = s->s->key;
    if (!rc && alone) rc = add_living(&x, s->s, err);
  }
  for (size_t i = 0; i < n; i++)
    if (!reads[i].rc) rp__session_row_done(reads[i].u.session.ret);
  return rc;
}

bool rp__ending_undecided(const struct rp__endings *l, const char *session_id)
{
  for (size_t i = 0; i < l->n_silent; i++)
    if (strcmp(l->silent[i].s->id, session_id) == 0) return true;
  return false;
}

int rp__endings_find(rp_engine *e, const struct rp__endings_options *o, struct rp__endings *ret, rp_error *err)
{
  struct rp__endings found = {.p = calloc(RP_ENDINGS_MAX + RP_LIVING_MAX, sizeof *found.p)};
  struct search x = {.e = e, .key = o->key, .channel = o->channel, .without = o->without, .found = &found};
  struct rp__living own = {.channel = o->channel,
                           .without = o->without,
                           .since_ms = o->since_ms,
                           .found = &found,
                           .judge = o->dead ? e : NULL};
  struct rp__endings_options all = *o;
  if (!found.p) return rp__fail_nomem(err);
  int rc = o->dead ? find_dead(&x, o->scope, err) : 0;
  if (!rc && o->dead) rc = find_quiet(&x, o->scope, err);
  if (!rc && !o->living) {
    struct rp__read open = rp__living_reading(&own, o->scope);
    all.living = &own;
    rc = e->store->ops->run_list(e->store, &open.u.runs.filter, open.u.runs.fn, open.ctx, err);
  }
  if (!rc) rc = find_living(&x, &all, err);
  rp__living_done(&own);
  if (rc)
    rp__endings_done(&found);
  else
    *ret = found;
  return rc;
}
