/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: each row is copied under the mutex and handed out without it, so callbacks may call the store. */
#include "store/memory/memory.h"

#include "core/event.h"
#include "store/words.h"

static bool in_scope(const struct rp__session_row *row, const char *scope)
{
  return !scope || !scope[0] || strcmp(row->scope, scope) == 0;
}

static bool in_channel(const struct rp__session_row *row, const char *channel)
{
  return !channel || !channel[0] || strcmp(row->channel, channel) == 0;
}

/* Whether `s` is a better answer than `best`; sessions come oldest first. */
static bool find_better(enum rp__find how, const struct rp__mem_session *s, const struct rp__mem_session *best)
{
  if (!best) return true;
  if (how == RP_FIND_LAST) return s->started >= best->started;
  if (how == RP_FIND_HIDDEN) return strcmp(s->row.id, best->row.id) < 0;
  return rp__status_ended(s->row.status) <= rp__status_ended(best->row.status);
}

static bool find_match(enum rp__find how, const struct rp__session_row *row, const char *scope, const char *what)
{
  switch (how) {
  case RP_FIND_NAME:
  case RP_FIND_ID: return !row->hidden && strcmp(row->id, what) == 0;
  case RP_FIND_COPY: return row->hidden && strcmp(row->id, what) == 0;
  case RP_FIND_PREFIX: return !rp__row_is_out(row) && in_scope(row, scope) && strncmp(row->id, what, strlen(what)) == 0;
  case RP_FIND_KEY: return !rp__row_is_out(row) && in_scope(row, scope) && strcmp(row->key, what) == 0;
  case RP_FIND_KEY_ELSEWHERE: return !rp__row_is_out(row) && !in_scope(row, scope) && strcmp(row->key, what) == 0;
  case RP_FIND_NUMBER: return row->ref == strtoll(what, NULL, 10);
  case RP_FIND_LAST: return !rp__row_is_out(row) && in_scope(row, scope) && in_channel(row, what);
  case RP_FIND_HIDDEN: return row->hidden && strcmp(row->id, what ? what : "") > 0;
  }
  return false;
}

static int find_locked(struct rp__mem_store *m, enum rp__find how, const char *scope, const char *what,
                       struct rp__session_row *ret, rp_error *err)
{
  const struct rp__mem_session *best = NULL;
  size_t matches = 0;
  for (size_t i = 0; i < m->sessions.n; i++) {
    const struct rp__mem_session *s = m->sessions.p[i];
    if (!find_match(how, &s->row, scope, what)) continue;
    if (how == RP_FIND_PREFIX && strcmp(s->row.id, what) == 0) return rp__mem_row_copy(ret, &s->row, err);
    matches++;
    if (find_better(how, s, best)) best = s;
  }
  if (!best && how == RP_FIND_LAST) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session yet");
  if (!best && (how == RP_FIND_KEY || how == RP_FIND_KEY_ELSEWHERE))
    return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session with the key %s", what);
  if (!best && how == RP_FIND_HIDDEN) return rp__refuse_not_found("hidden", err);
  if (!best) return rp__refuse_not_found(what, err);
  if (how == RP_FIND_PREFIX && matches > 1)
    return rp__fail(err, RP_E_AMBIGUOUS, "%s begins the ids of several sessions", what);
  return rp__mem_row_copy(ret, &best->row, err);
}

int rp__mem_session_find(struct rp__store *base, enum rp__find how, const char *scope, const char *what,
                         struct rp__session_row *ret, rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  if (how < RP_FIND_LAST && (!what || !what[0])) return rp__fail(err, RP_E_USAGE, "nothing to look for");
  pthread_mutex_lock(&m->mu);
  int rc = find_locked(m, how == RP_FIND_NAME ? RP_FIND_ID : how, scope, what, ret, err);
  if (how == RP_FIND_NAME && rc == RP_E_SESSION_NOT_FOUND) rc = find_locked(m, RP_FIND_KEY, NULL, what, ret, err);
  pthread_mutex_unlock(&m->mu);
  return rc;
}

/* The newest session before `before` that fits; 0 with ret->ref 0 at the end. */
static int list_next(struct rp__mem_store *m, const rp_filter *f, int64_t status, int64_t before,
                     struct rp__session_row *ret, rp_error *err)
{
  int rc = 0;
  ret->ref = 0;
  pthread_mutex_lock(&m->mu);
  for (size_t i = m->sessions.n; i-- > 0;) {
    const struct rp__session_row *row = &m->sessions.p[i]->row;
    if (row->ref >= before || row->hidden || !in_scope(row, f->scope) || f->trashed != (row->trashed_at != 0)) continue;
    if (!rp__rule_status_fits(status, row->status) || row->last_activity_at < f->since_ms) continue;
    rc = rp__mem_row_copy(ret, row, err);
    break;
  }
  pthread_mutex_unlock(&m->mu);
  return rc;
}

int rp__mem_session_list(struct rp__store *base, const rp_filter *f, rp__session_row_fn *fn, void *ctx, rp_error *err)
{
  static const rp_filter none = {0};
  RP_CLEANUP(rp__session_row_done) struct rp__session_row row = {0};
  if (!f) f = &none;
  int64_t before = INT64_MAX, status = -1;
  int left = f->limit > 0 ? f->limit : 50, rc = 0;
  if (f->status && f->status[0]) {
    rc = rp__rule_statuses(f->status, &status, err);
    if (rc != 0) return rc;
  }
  if (f->cursor && f->cursor[0]) {
    rc = rp__mem_session_find(base, RP_FIND_ID, NULL, f->cursor, &row, err);
    before = row.ref;
  }
  for (; rc == 0 && left > 0; left--) {
    rp__session_row_done(&row);
    rc = list_next(rp__mem(base), f, status, before, &row, err);
    if (rc != 0 || row.ref == 0) break;
    before = row.ref;
    rc = fn(ctx, &row);
  }
  return rc;
}

static bool left_out(const struct rp__run_row *r, const struct rp__beats *b)
{
  return b && r->owner == RP_RUN_NONE && strcmp(r->proc.boot_id, b->boot_id) == 0 && r->heartbeat_boot > b->after &&
         r->heartbeat_boot <= b->upto;
}

static bool run_next(struct rp__mem_store *m, const struct rp__run_filter *f, int64_t before, struct rp__run_row *ret)
{
  bool found = false;
  pthread_mutex_lock(&m->mu);
  for (size_t i = m->runs.n; !found && i-- > 0;) {
    const struct rp__run_row *r = &m->runs.p[i];
    const struct rp__mem_session *s = rp__mem_by_ref(m, r->session_ref);
    found = s && r->ref < before && in_scope(&s->row, f->scope) && in_channel(&s->row, f->channel) &&
            (!f->open_only || r->ended_at == 0) && !left_out(r, f->leave_out) &&
            (!f->session_ref || f->session_ref == r->session_ref);
    if (found) *ret = *r;
  }
  pthread_mutex_unlock(&m->mu);
  return found;
}

int rp__mem_run_list(struct rp__store *base, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx,
                     rp_error *err)
{
  struct rp__run_row row = {.ref = INT64_MAX};
  int64_t left = f->limit > 0 ? f->limit : INT64_MAX;
  (void)err;
  for (; left > 0 && run_next(rp__mem(base), f, row.ref, &row); left--) {
    int rc = fn(ctx, &row);
    if (rc != 0) return rc;
  }
  return 0;
}

/* The event after `after`, its body copied into `body`. 1, 0 at the end, or an error. */
static int event_next(struct rp__mem_store *m, const struct rp__event_range *r, int64_t after,
                      struct rp__event_row *ret, struct rp__buf *body, rp_error *err)
{
  int rc = 0;
  rp__buf_reset(body);
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_session *s = rp__mem_by_ref(m, r->session_ref);
  if (!s) {
    rc = rp__refuse_not_found(r->session_id, err);
  } else if (after < (int64_t)s->events.n) {
    const struct rp__mem_event *e = &s->events.p[after];
    *ret = (struct rp__event_row){.seq = after + 1, .at_ms = e->at_ms, .body_len = e->body_len, .sealed = e->sealed};
    rp__name_set(ret->kind, e->kind);
    rp__buf_add(body, e->body, e->body_len);
    rp__buf_char(body, '\0');
    rc = body->err ? rp__fail_nomem(err) : 1;
  }
  pthread_mutex_unlock(&m->mu);
  ret->body = body->p;
  return rc;
}

int rp__mem_event_list(struct rp__store *base, const struct rp__event_range *r, rp__event_row_fn *fn, void *ctx,
                       rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(1UL << 30);
  struct rp__event_row row;
  int64_t after = RP_MAX(r->after, 0), given = 0;
  size_t bytes = 0;
  for (;;) {
    int rc = event_next(rp__mem(base), r, after, &row, &body, err);
    if (rc <= 0) return rc;
    rc = fn(ctx, &row);
    if (rc != 0) return rc;
    after = row.seq;
    bytes += row.body_len;
    if (++given == r->limit || (r->max_bytes && bytes > r->max_bytes)) return 0;
  }
}

/* The newest snapshot before `before`, or, with exact, that one and its data. 1, 0 or an error. */
static int snapshot_next(struct rp__mem_store *m, int64_t ref, int64_t before, bool exact, struct rp__snapshot_row *ret,
                         struct rp__buf *data, rp_error *err)
{
  int rc = 0;
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_session *s = rp__mem_by_ref(m, ref);
  for (size_t i = s ? s->snapshots.n : 0; rc == 0 && i-- > 0;) {
    const struct rp__mem_snapshot *snap = &s->snapshots.p[i];
    if (exact ? snap->row.n != before : snap->row.n >= before) continue;
    *ret = snap->row;
    if (exact) rp__buf_add(data, snap->data, (size_t)snap->row.size);
    rc = data->err ? rp__fail_nomem(err) : 1;
  }
  pthread_mutex_unlock(&m->mu);
  return rc;
}

int rp__mem_snapshot_list(struct rp__store *base, int64_t session_ref, int64_t n, rp__snapshot_row_fn *fn, void *ctx,
                          rp_error *err)
{
  RP_AUTOBUF struct rp__buf data = RP_BUF(1UL << 30);
  struct rp__snapshot_row row = {.n = INT64_MAX};
  int rc;
  if (n != 0) {
    rc = snapshot_next(rp__mem(base), session_ref, n, true, &row, &data, err);
    if (rc == 0) return rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "no snapshot %lld", (long long)n);
    row.data = data.p ? data.p : "";
    return rc < 0 ? rc : fn(ctx, &row);
  }
  while ((rc = snapshot_next(rp__mem(base), session_ref, row.n, false, &row, &data, err)) > 0) {
    rc = fn(ctx, &row);
    if (rc != 0) return rc;
  }
  return rc;
}

static int name_order(const void *a, const void *b)
{
  return strcmp(a, b);
}

/* Names of all scopes and chains, sorted, with repeats. NULL without memory. */
static char (*scope_names(struct rp__mem_store *m, size_t *ret_n))[RP_NAME]
{
  size_t n = 0;
  pthread_mutex_lock(&m->mu);
  char(*names)[RP_NAME] = calloc(m->scopes.n + m->audits.n + 1, sizeof *names);
  for (size_t i = 0; names && i < m->scopes.n; i++) rp__name_set(names[n++], m->scopes.p[i].name);
  for (size_t i = 0; names && i < m->audits.n; i++) rp__name_set(names[n++], m->audits.p[i].row.scope);
  pthread_mutex_unlock(&m->mu);
  if (names) qsort(names, n, sizeof *names, name_order);
  *ret_n = n;
  return names;
}

int rp__mem_scope_list(struct rp__store *base, rp__scope_fn *fn, void *ctx, rp_error *err)
{
  size_t n;
  RP_AUTOFREE char(*names)[RP_NAME] = scope_names(rp__mem(base), &n);
  if (!names) return rp__fail_nomem(err);
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && strcmp(names[i], names[i - 1]) == 0) continue;
    int rc = fn(ctx, names[i]);
    if (rc != 0) return rc;
  }
  return 0;
}

/* ---- search: every event is looked at ---- */

struct found {
  struct rp__mem_session *s;
  int64_t seq;
  double rank;
};

struct hit {
  char session_id[RP_NAME], scope[RP_NAME], kind[RP_NAME];
  rp_hit hit;
  char *snippet;
};

double rp__mem_places(const struct rp__terms *t, struct rp__str text)
{
  double places = 0;
  for (size_t i = 0; i < t->n; i++) {
    size_t start, end = 0;
    double before = places;
    while (rp__term_find(&t->term[i], text, end, &start, &end)) places++;
    if (places == before) return 0;
  }
  return places;
}

static void text_of(const struct rp__mem_event *e, struct rp__buf *out)
{
  rp__buf_reset(out);
  if (!e->sealed) rp__event_search_text(rp__json_trusted(e->body, e->body_len), out);
}

/* Keeps the best `max`, in order. */
static void found_add(struct found *best, int *n, int max, struct found f)
{
  int at = *n;
  while (at > 0 && best[at - 1].rank > f.rank) at--;
  if (at == max) return;
  int keep = RP_MIN(*n, max - 1);
  memmove(&best[at + 1], &best[at], (size_t)(keep - at) * sizeof *best);
  best[at] = f;
  *n = keep + 1;
}

static void session_search(struct rp__mem_session *s, const struct rp__terms *t, struct rp__buf *text,
                           struct found *best, int *n, int max)
{
  for (size_t i = 0; text->err == 0 && i < s->events.n; i++) {
    text_of(&s->events.p[i], text);
    double rank = -rp__mem_places(t, (struct rp__str){text->p ? text->p : "", text->n});
    if (rank < 0) found_add(best, n, max, (struct found){s, (int64_t)i + 1, rank});
  }
}

static void hit_fill(const struct found *f, const struct rp__terms *t, struct rp__buf *text, struct hit *ret)
{
  RP_AUTOBUF struct rp__buf snippet = RP_BUF(1 << 16);
  const struct rp__mem_event *e = &f->s->events.p[f->seq - 1];
  text_of(e, text);
  rp__snippet(t, (struct rp__str){text->p ? text->p : "", text->n}, &snippet);
  ret->snippet = text->err ? NULL : rp__buf_take(&snippet);
  rp__name_set(ret->session_id, f->s->row.id);
  rp__name_set(ret->scope, f->s->row.scope);
  rp__name_set(ret->kind, e->kind);
  ret->hit = (rp_hit){.session_id = ret->session_id,
                      .scope = ret->scope,
                      .kind = ret->kind,
                      .seq = f->seq,
                      .at_ms = e->at_ms,
                      .snippet = ret->snippet,
                      .rank = f->rank};
}

static int search_locked(struct rp__mem_store *m, const struct rp__terms *t, const char *scope, struct found *best,
                         struct hit *hits, int max)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(256UL << 20);
  int n = 0;
  for (size_t i = 0; i < m->sessions.n; i++) {
    struct rp__mem_session *s = m->sessions.p[i];
    if (!rp__row_is_out(&s->row) && in_scope(&s->row, scope)) session_search(s, t, &text, best, &n, max);
    if (text.err) return text.err;
  }
  for (int i = 0; text.err == 0 && i < n; i++) hit_fill(&best[i], t, &text, &hits[i]);
  return n;
}

int rp__mem_search(struct rp__store *base, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx,
                   rp_error *err)
{
  struct rp__mem_store *m = rp__mem(base);
  struct rp__terms terms;
  int max = limit > 0 ? RP_MIN(limit, 1000) : 20;
  int rc = rp__terms_parse(words, &terms, err);
  if (rc != 0) return rc;
  RP_AUTOFREE struct found *best = calloc((size_t)max, sizeof *best);
  RP_AUTOFREE struct hit *hits = calloc((size_t)max, sizeof *hits);
  if (!best || !hits) return rp__fail_nomem(err);
  pthread_mutex_lock(&m->mu);
  int n = search_locked(m, &terms, scope, best, hits, max);
  pthread_mutex_unlock(&m->mu);
  for (int i = 0; i < n; i++)
    if (!hits[i].snippet) rc = RP_E_NOMEM;
  if (n < 0 || rc != 0) rc = rp__fail_nomem(err);
  for (int i = 0; rc == 0 && i < n; i++) rc = fn(ctx, &hits[i].hit);
  for (int i = 0; i < n; i++) free(hits[i].snippet);
  return rc;
}
