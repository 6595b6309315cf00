/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a session at a moment: the newest good snapshot before it plus the
 * tail of the journal. A damaged snapshot costs a longer tail and a warning, never
 * the state. `restored {to_seq}` turns back: the state at to_seq is built the same
 * way, and since to_seq is always smaller this ends.
 */
#include "engine/engine.h"

#define REWINDS_MAX 64 /* restores of restores of restores … */

/* Candidates for a start, newest first. */
struct candidates {
  int64_t upto;
  int64_t *n;
  size_t count, cap;
};

static int on_candidate(void *ctx, const struct rp__snapshot_row *row)
{
  struct candidates *c = ctx;
  if (c->upto >= 0 && row->seq > c->upto) return 0;
  if (c->count == c->cap) {
    size_t cap = c->cap ? c->cap * 2 : 16;
    int64_t *n = realloc(c->n, cap * sizeof *n);
    if (!n) return RP_E_NOMEM;
    c->n = n;
    c->cap = cap;
  }
  c->n[c->count++] = row->n;
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

/* Only damage is passed over. A key that does not fit, a newer version or no memory is the caller's business. */
static bool is_damage(int rc)
{
  return rc == RP_E_SNAPSHOT_CORRUPT || rc == RP_E_CORRUPT || rc == RP_E_SNAPSHOT_NOT_FOUND;
}

static int load_snapshot(rp_session *s, int64_t upto, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  struct rp__store *st = s->e->store;
  struct candidates c = {.upto = upto};
  int rc = st->ops->snapshot_list(st, s->ref, 0, on_candidate, &c, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  struct decode_ctx x = {.s = s};
  for (size_t i = 0; !rc && i < c.count && !x.fold; i++) {
    x.rc = 0;
    rc = st->ops->snapshot_list(st, s->ref, c.n[i], on_snapshot, &x, err);
    if (is_damage(rc)) {
      if (err) x.err = *err;
      x.rc = rc;
      rc = 0;
    }
    if (!rc && x.rc && !is_damage(x.rc)) {
      rc = x.rc;
      if (err) *err = x.err;
    }
    if (!rc && x.rc) {
      atomic_fetch_add(&s->e->counters.fallbacks, 1);
      warn(warnings, "snapshot %lld of session %s is damaged (%s); going back to the one before", (long long)c.n[i],
           s->id, x.err.message);
    }
  }
  free(c.n);
  if (rc) return rc;
  if (!x.fold && rp__fold_new(&rp__facets, &x.fold)) return rp__fail_nomem(err);
  *ret = x.fold;
  return 0;
}

struct replay {
  rp_session *s;
  struct rp__fold *fold;
  struct rp__buf *warnings;
  rp_error *err;
  int rewinds;
};

static int state_at(rp_session *s, int64_t upto, int rewinds, struct rp__fold **ret, struct rp__buf *warnings,
                    rp_error *err);

static int rewind_to(struct replay *r, int64_t to, const struct rp__event *ev)
{
  struct rp__fold *past;
  if (to >= ev->seq || r->rewinds >= REWINDS_MAX)
    return rp__fail(r->err, RP_E_CORRUPT, "session %s, event %lld: can't go back to %lld", r->s->id,
                    (long long)ev->seq, (long long)to);
  int rc = state_at(r->s, to, r->rewinds + 1, &past, r->warnings, r->err);
  if (!rc) rp__fold_adopt(r->fold, past, ev);
  return rc;
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct replay *r = ctx;
  int64_t to = 0;
  int rc = rp__fold_apply(r->fold, ev, &to);
  if (rc == RP__FOLD_REWIND) return rewind_to(r, to, ev);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(r->err);
  if (rc) return rp__fail(r->err, rc, "session %s: event %lld does not follow %lld", r->s->id, (long long)ev->seq,
                          (long long)rp__fold_seq(r->fold));
  return 0;
}

static int replay(rp_session *s, struct rp__fold *fold, int64_t upto, int rewinds, struct rp__buf *warnings,
                  rp_error *err)
{
  rp_error own;
  struct replay r = {s, fold, warnings, err ? err : &own, rewinds};
  return rp__journal_read(s, rp__fold_seq(fold), upto < 0 ? 0 : upto, on_event, &r, r.err);
}

static int state_at(rp_session *s, int64_t upto, int rewinds, struct rp__fold **ret, struct rp__buf *warnings,
                    rp_error *err)
{
  struct rp__fold *f RP_AUTOFOLD = NULL;
  int rc = load_snapshot(s, upto, &f, warnings, err);
  if (!rc && upto != 0) rc = replay(s, f, upto, rewinds, warnings, err);
  if (!rc) *ret = RP_TAKE(f);
  return rc;
}

int rp__state_at(rp_session *s, int64_t upto, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  return state_at(s, upto, 0, ret, warnings, err);
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
  if (!s->fold) return;
  rp__fold_free(RP_TAKE(s->fold));
  pthread_mutex_lock(&s->e->lock);
  s->e->folds--;
  pthread_mutex_unlock(&s->e->lock);
}

int rp__state_use(rp_session *s, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err)
{
  if (s->fold) {
    int rc = replay(s, s->fold, -1, 0, warnings, err);
    if (rc) rp__state_drop(s); /* it may be half applied */
    else *ret = s->fold;
    return rc;
  }
  int rc = rp__state_at(s, -1, ret, warnings, err);
  if (!rc && may_keep(s->e)) s->fold = *ret;
  return rc;
}

void rp__state_release(rp_session *s, struct rp__fold *f)
{
  if (f != s->fold) rp__fold_free(f);
}

/* ---- documents ---- */

int rp__state_write(rp_session *s, const struct rp__fold *f, int64_t at_seq, char **ret, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  if (at_seq >= 0) row.last_seq = at_seq;
  else row.last_seq = RP_MAX(row.last_seq, rp__fold_seq(f));
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_STATE_MAX);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_key(&w, "session");
  rp__session_write(&row, &w);
  rp__fold_show(f, at_seq >= 0 ? rp__fold_at_ms(f) : rp__engine_now(s->e), &w);
  rp__jw_end_object(&w);
  rp__session_row_done(&row);
  *ret = rp__buf_take(&out);
  return *ret ? 0 : rp__fail_nomem(err);
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
      rc = rp__fail(err, RP_E_SEQ_NOT_FOUND, "session %s has %lld events", s->id, (long long)rp__fold_seq(f));
    if (!rc) rc = rp__state_write(s, f, at_seq, ret, err);
    rp__fold_free(f);
  }
  if (warnings.n) rp__log(&s->e->log, RP_LOG_WARN, "%s", warnings.p);
  return rc;
}
