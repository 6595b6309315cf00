/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a session at a moment: the newest good snapshot before it plus the tail of the journal. A damaged
 * snapshot costs a longer tail and a warning, never the state.
 *
 * The event `restored {to_seq}` is a turning point: the state goes back to to_seq. When the tail has one, the way to
 * the state is found first, backwards: from the wanted moment to the last turning point before it, then from the event
 * that it leads back to, and so on to a snapshot or the beginning. The pieces do not overlap, so each event is applied
 * at most once, however often the session was turned back. Lasting values (the usage) are summed up over all events up
 * to the moment.
 */
#include "engine/session-view.h"
#include "facets/emotion/affect.h"
#include "facets/settings.h"
#include "facets/table.h"

/* Candidates for a start, newest first. */
struct candidate {
  int64_t n, seq;
};

struct candidates {
  int64_t upto;
  struct candidate *p;
  size_t count, cap;
};

static int on_candidate(void *ctx, const struct rp__snapshot_row *row)
{
  struct candidates *c = ctx;
  if (c->upto >= 0 && row->seq > c->upto) return 0;
  if (!RP__ROOM(c->p, c->count, c->cap)) return RP_E_NOMEM;
  c->p[c->count++] = (struct candidate){row->n, row->seq};
  return 0;
}

struct decode_ctx {
  rp_session *s;
  struct rp__fold *fold;
  rp_error err;
  int rc;
};

static int on_snapshot(void *ctx, const struct rp__snapshot_row *row)
{
  struct decode_ctx *x = ctx;
  x->rc = rp__snapshot_decode(row->data, (size_t)row->size, x->s->key, rp__session_ad(x->s), &rp__facets, &x->fold,
                              &x->err);
  if (!x->rc && rp__fold_seq(x->fold) != row->seq) {
    rp__fold_free(RP_TAKE(x->fold));
    x->rc = rp__fail(&x->err, RP_E_SNAPSHOT_CORRUPT, "it belongs to event %lld", (long long)row->seq);
  }
  return 0;
}

static void warn(struct rp__buf *warnings, const char *fmt, ...) RP_PRINTF(2, 3);
static void warn(struct rp__buf *warnings, const char *fmt, ...)
{
  va_list ap;
  char line[300];
  if (!warnings) return;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  if (warnings->n) rp__buf_char(warnings, '\n');
  rp__buf_str(warnings, line);
}

/* One snapshot: *ret stays NULL when it is damaged. */
static int load_one(rp_session *s, int64_t n, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  struct decode_ctx x = {.s = s};
  int rc = s->e->store->ops->snapshot_list(s->e->store, s->ref, n, on_snapshot, &x, &x.err);
  if (!rc) rc = x.rc;
  if (!rc)
    *ret = x.fold;
  else
    rp__fold_free(x.fold); /* it was read, and then the reading failed */
  /* Only damage is passed over. A key that does not fit, a newer version or no memory is the caller's business. */
  if (rc != RP_E_SNAPSHOT_CORRUPT && rc != RP_E_CORRUPT && rc != RP_E_SNAPSHOT_NOT_FOUND) {
    if (rc && err) *err = x.err;
    return rc;
  }
  atomic_fetch_add(&s->e->counters.fallbacks, 1);
  warn(warnings, "snapshot %lld of session %s is damaged (%s); going back to the one before", (long long)n, s->id,
       x.err.message);
  return 0;
}

/* The newest good snapshot with floor <= seq <= upto (< 0: the newest of all). *ret stays NULL when there is none. */
static int load_snapshot(rp_session *s, int64_t floor, int64_t upto, struct rp__fold **ret, struct rp__buf *warnings,
                         rp_error *err)
{
  struct candidates c = {.upto = upto};
  int rc = s->e->store->ops->snapshot_list(s->e->store, s->ref, 0, on_candidate, &c, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < c.count && !*ret && c.p[i].seq >= floor; i++)
    rc = load_one(s, c.p[i].n, ret, warnings, err);
  free(c.p);
  return rc;
}

static int new_fold(struct rp__fold **f, rp_error *err)
{
  return rp__fold_new(&rp__facets, f) ? rp__fail_nomem(err) : 0;
}

struct replay {
  rp_session *s;
  struct rp__fold *fold;
  rp_error *err;
};

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct replay *r = ctx;
  int64_t to = 0;
  int rc = ev->lost ? rp__fold_skip(r->fold, ev) : rp__fold_apply(r->fold, ev, &to);
  if (rc == RP__FOLD_REWIND) return rc;
  if (rc == RP_E_NOMEM) return rp__fail_nomem(r->err);
  if (rc)
    return rp__fail(r->err, rc, "session %s: event %lld does not follow %lld", r->s->id, (long long)ev->seq,
                    (long long)rp__fold_seq(r->fold));
  return 0;
}

/* Applies what follows, up to `upto` (< 0: all). RP__FOLD_REWIND: it met a turning point and stands before it. */
static int replay(rp_session *s, struct rp__fold *fold, int64_t upto, rp_error *err)
{
  rp_error own;
  struct replay r = {s, fold, err ? err : &own};
  struct rp__lost lost; /* the fold remembers it, and whoever uses the state is warned */
  if (upto == 0) return 0;
  return rp__journal_read_past(s, rp__fold_seq(fold), upto < 0 ? 0 : upto, on_event, &r, &lost, r.err);
}

/* ---- the way back ---- */

struct turn {
  int64_t at, to; /* the event `restored`, and where it leads */
  int64_t at_ms;  /* its time */
};

struct turns {
  struct turn *p;
  size_t n, cap;
  int64_t last;             /* seq of the last event seen */
  struct rp__fold *lasting; /* its lasting facets, at that event; or NULL */
};

static int add_turn(struct turns *t, int64_t at, int64_t to, int64_t at_ms)
{
  if (!RP__ROOM(t->p, t->n, t->cap)) return RP_E_NOMEM;
  t->p[t->n++] = (struct turn){at, to, at_ms};
  return 0;
}

static int on_turn(void *ctx, const struct rp__event *ev)
{
  struct turns *t = ctx;
  int64_t to;
  t->last = ev->seq;
  if (ev->lost) return 0;
  if (rp__fold_apply_lasting(t->lasting, ev)) return RP_E_NOMEM;
  if (ev->kind != RP_KIND_RESTORED || !rp__json_i64(rp__json_get(ev->body, "to_seq"), &to)) return 0;
  if (to < 0 || to >= ev->seq) return RP_E_CORRUPT;
  return add_turn(t, ev->seq, to, ev->at_ms);
}

/* The pieces of the way, last first, and the fold on which the first piece goes on. */
static int find_way(rp_session *s, const struct turns *t, int64_t upto, struct turns *way, struct rp__fold **ret,
                    struct rp__buf *warnings, rp_error *err)
{
  size_t i = t->n;
  for (int64_t end = upto;;) {
    while (i > 0 && t->p[i - 1].at > end) i--;
    int64_t turn = i ? t->p[i - 1].at : 0;
    int rc = load_snapshot(s, turn, end, ret, warnings, err);
    if (rc) return rc;
    if (add_turn(way, turn, end, i ? t->p[i - 1].at_ms : 0)) return rp__fail_nomem(err);
    if (*ret) return 0;
    if (!turn) return new_fold(ret, err);
    end = t->p[i - 1].to;
  }
}

static int turned_state(rp_session *s, int64_t upto, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  struct turns turns = {0}, way = {0};
  struct rp__fold *f RP_AUTOFOLD = NULL;
  struct rp__lost lost = {0};
  int rc = new_fold(&turns.lasting, err);
  if (!rc) rc = rp__journal_read_past(s, 0, upto < 0 ? 0 : upto, on_turn, &turns, &lost, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  if (!rc) rc = find_way(s, &turns, turns.last, &way, &f, warnings, err);
  for (size_t i = way.n; !rc && i-- > 0;) {
    if (i + 1 < way.n) { /* a later piece begins at its turning point, with the state of where the turn led */
      struct rp__fold *next = NULL;
      struct rp__event ev = {.seq = way.p[i].at, .at_ms = way.p[i].at_ms, .kind = RP_KIND_RESTORED};
      if ((rc = new_fold(&next, err))) break;
      rp__fold_adopt(next, RP_TAKE(f), &ev);
      f = next;
    }
    if (way.p[i].to > rp__fold_seq(f)) rc = replay(s, f, way.p[i].to, err);
  }
  if (!rc) rp__fold_swap_lasting(f, turns.lasting);
  rp__fold_free(turns.lasting);
  free(turns.p);
  free(way.p);
  if (!rc && lost.n) rp__fold_note_gap(f, lost.first); /* it may have been a turning point */
  if (!rc) *ret = RP_TAKE(f);
  return rc;
}

static void warn_gap(const rp_session *s, const struct rp__fold *f, struct rp__buf *warnings)
{
  if (rp__fold_gap(f))
    warn(warnings,
         "session %s: event %lld can't be read; the state is without it ('reprise verify --repair' tells more)", s->id,
         (long long)rp__fold_gap(f));
}

int rp__state_at(rp_session *s, int64_t upto, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  struct rp__fold *f RP_AUTOFOLD = NULL;
  int rc = load_snapshot(s, 0, upto, &f, warnings, err);
  if (!rc && !f) rc = new_fold(&f, err);
  if (!rc) rc = replay(s, f, upto, err);
  if (rc == RP__FOLD_REWIND) {
    struct rp__fold *turned = NULL;
    rc = turned_state(s, upto, &turned, NULL, err);
    rp__fold_free(f);
    f = turned;
  }
  if (!rc) warn_gap(s, f, warnings);
  if (!rc) *ret = RP_TAKE(f);
  return rc;
}

/* Whether this session may keep its fold in memory between uses. */
static bool may_keep(rp_engine *e)
{
  pthread_mutex_lock(&e->lock);
  bool yes = e->folds < RP_FOLDS_KEPT;
  if (yes) e->folds++;
  pthread_mutex_unlock(&e->lock);
  return yes;
}

void rp__state_drop(rp_session *s)
{
  s->fold_drops++;
  if (!s->fold) return;
  rp__fold_free(RP_TAKE(s->fold));
  pthread_mutex_lock(&s->e->lock);
  s->e->folds--;
  pthread_mutex_unlock(&s->e->lock);
}

int rp__state_use(rp_session *s, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  RP_MAY_ASK_STORE();
  if (s->fold) {
    int rc = s->view && s->view->loaded ? 0 : replay(s, s->fold, -1, err);
    if (!rc) warn_gap(s, s->fold, warnings);
    if (!rc) *ret = s->fold;
    if (!rc) return 0;
    rp__state_drop(s); /* it may be half applied */
    if (rc != RP__FOLD_REWIND) return rc;
  }
  int rc = rp__state_at(s, -1, ret, warnings, err);
  if (!rc && may_keep(s->e)) s->fold = *ret;
  return rc;
}

void rp__state_release(rp_session *s, struct rp__fold *f)
{
  if (f != s->fold) rp__fold_free(f);
}

int rp__state_take(rp_session *s, struct rp__state_loan *ret, struct rp__buf *warnings, rp_error *err)
{
  struct rp__fold *f = NULL;
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, warnings, err);
  bool kept = !rc && f == s->fold;
  if (kept) s->fold = NULL;
  unsigned drops = s->fold_drops;
  pthread_mutex_unlock(&s->lock);
  if (rc) return rc;
  pthread_mutex_lock(&s->e->lock);
  s->e->folds -= kept;
  s->refs++;
  pthread_mutex_unlock(&s->e->lock);
  *ret = (struct rp__state_loan){s, f, drops};
  return 0;
}

void rp__state_put(struct rp__state_loan *loan)
{
  rp_session *s = RP_TAKE(loan->s);
  struct rp__fold *f RP_AUTOFOLD = RP_TAKE(loan->fold);
  if (!s) return;
  pthread_mutex_lock(&s->lock);
  if (!s->fold && s->fold_drops == loan->drops && may_keep(s->e)) s->fold = RP_TAKE(f);
  pthread_mutex_unlock(&s->lock);
  rp__session_unref(s);
}

/* ---- documents ---- */

/* One meta is shown, the session's: with what its start gave, whatever moment is asked for, as its key and status are.
 */
static void write_settings(const struct rp__fold *f, const void *ctx, struct rp__jw *w)
{
  const struct rp__session_row *row = ctx;
  const char *meta = row->meta ? row->meta : "{}";
  rp__settings_write(f, rp__json_trusted(meta, strlen(meta)), w);
}

int rp__state_write(rp_session *s, const struct rp__fold *f, int64_t at_seq, char **ret, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__session_facts look;
  int rc = rp__session_row(s, &row, err);
  if (!rc) rc = rp__session_look(s->e, &row, &look, err);
  if (rc) return rc;
  if (at_seq >= 0)
    row.last_seq = at_seq;
  else
    row.last_seq = RP_MAX(row.last_seq, rp__fold_seq(f));
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_STATE_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_key(&w, "session");
  rp__session_write(&row, &look, NULL, &w);
  rp__fold_show(f, RP_SETTINGS, write_settings, &row, at_seq >= 0 ? rp__fold_at_ms(f) : rp__engine_now(s->e), &w);
  if (s->config->template == RP_TEMPLATE_ROBOT && !rp__fold_has(f, rp__facet_affect.name)) {
    rp__jw_key(&w, rp__facet_affect.name);
    rp__affect_write_first(&w);
  }
  rp__jw_end_object(&w);
  return rp__text_give(&out, ret, err);
}

int rp_state_json(rp_session *s, int64_t at_seq, char **ret, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct rp__fold *f = NULL;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  if (at_seq < 0) {
    pthread_mutex_lock(&s->lock);
    rc = rp__state_use(s, &f, &warnings, err);
    if (!rc) rc = rp__state_write(s, f, -1, ret, err);
    if (f) rp__state_release(s, f);
    pthread_mutex_unlock(&s->lock);
  } else {
    rc = rp__state_at(s, at_seq, &f, &warnings, err);
    if (!rc && rp__fold_seq(f) < at_seq)
      rc = rp__fail_field(err, RP_E_SEQ_NOT_FOUND, "at", "session %s has %lld events", s->id,
                          (long long)rp__fold_seq(f));
    if (!rc) rc = rp__state_write(s, f, at_seq, ret, err);
    rp__fold_free(f);
  }
  if (warnings.n) rp__log(&s->e->log, RP_LOG_WARN, "%s", warnings.p);
  return rc;
}
