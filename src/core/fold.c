/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fold.h"

#include <inttypes.h>

struct rp__fold {
  const struct rp__facet_table *table;
  int64_t seq, at_ms;
  int64_t gap;   /* the first event that was passed over; 0: none */
  void *state[]; /* one per facet, in the table's order */
};

static void state_done(const struct rp__facet_ops *ops, void *state)
{
  if (state && ops->done) ops->done(state);
}

int rp__fold_new(const struct rp__facet_table *t, struct rp__fold **ret)
{
  RP_AUTOFOLD struct rp__fold *f = calloc(1, sizeof *f + t->n * sizeof f->state[0]);
  if (!f) return RP_E_NOMEM;
  f->table = t;
  for (size_t i = 0; i < t->n; i++) {
    f->state[i] = calloc(1, t->ops[i]->state_size);
    if (!f->state[i]) return RP_E_NOMEM;
    if (t->ops[i]->init) t->ops[i]->init(f->state[i]);
  }
  *ret = RP_TAKE(f);
  return 0;
}

void rp__fold_free(struct rp__fold *f)
{
  if (!f) return;
  for (size_t i = 0; i < f->table->n; i++) {
    state_done(f->table->ops[i], f->state[i]);
    free(f->state[i]);
  }
  free(f);
}

static void fold_clear(struct rp__fold *f)
{
  f->seq = f->at_ms = 0;
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    state_done(ops, f->state[i]);
    memset(f->state[i], 0, ops->state_size);
    if (ops->init) ops->init(f->state[i]);
  }
}

int64_t rp__fold_seq(const struct rp__fold *f)
{
  return f->seq;
}

int64_t rp__fold_at_ms(const struct rp__fold *f)
{
  return f->at_ms;
}

/* ---- applying ------------------------------------------------------------- */

/* Whether the event is time travel, and whereto. */
static bool rewinds(const struct rp__event *ev, int64_t *ret_to)
{
  int64_t to;
  if (ev->kind != RP_KIND_RESTORED || !rp__json_i64(rp__json_get(ev->body, "to_seq"), &to)) return false;
  if (to < 0 || to >= ev->seq) return false;
  *ret_to = to;
  return true;
}

static int age_all(struct rp__fold *f, const struct rp__event *ev)
{
  double elapsed;
  if (!rp__json_double(rp__json_get(ev->body, "elapsed_seconds"), &elapsed) || !(elapsed > 0)) return 0;
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    int rc = ops->age ? ops->age(f->state[i], elapsed, ev) : 0;
    if (rc) return rc;
  }
  return 0;
}

int rp__fold_apply(struct rp__fold *f, const struct rp__event *ev, int64_t *ret_to)
{
  if (f->seq == INT64_MAX || ev->seq != f->seq + 1) return RP_E_CORRUPT;
  if (rewinds(ev, ret_to)) return RP__FOLD_REWIND;
  int rc = ev->kind == RP_KIND_RESTORED ? age_all(f, ev) : 0;
  for (size_t i = 0; rc == 0 && i < f->table->n; i++) rc = f->table->ops[i]->apply(f->state[i], ev);
  if (rc) return rc;
  f->seq = ev->seq;
  f->at_ms = ev->at_ms;
  return 0;
}

int rp__fold_skip(struct rp__fold *f, const struct rp__event *ev)
{
  if (f->seq == INT64_MAX || ev->seq != f->seq + 1) return RP_E_CORRUPT;
  f->seq = ev->seq;
  f->at_ms = ev->at_ms;
  rp__fold_note_gap(f, ev->seq);
  return 0;
}

void rp__fold_note_gap(struct rp__fold *f, int64_t seq)
{
  if (!f->gap) f->gap = seq;
}

int64_t rp__fold_gap(const struct rp__fold *f)
{
  return f->gap;
}

int rp__fold_apply_lasting(struct rp__fold *f, const struct rp__event *ev)
{
  int rc = 0;
  for (size_t i = 0; !rc && i < f->table->n; i++)
    if (f->table->ops[i]->lasting) rc = f->table->ops[i]->apply(f->state[i], ev);
  return rc;
}

static void swap_facets(struct rp__fold *f, struct rp__fold *other, bool lasting)
{
  for (size_t i = 0; i < f->table->n; i++) {
    void *mine = f->state[i];
    if (f->table->ops[i]->lasting != lasting) continue;
    f->state[i] = other->state[i];
    other->state[i] = mine;
  }
}

void rp__fold_swap_lasting(struct rp__fold *f, struct rp__fold *other)
{
  swap_facets(f, other, true);
}

void rp__fold_adopt(struct rp__fold *f, struct rp__fold *past, const struct rp__event *ev)
{
  swap_facets(f, past, false);
  if (past->gap) rp__fold_note_gap(f, past->gap);
  rp__fold_free(past);
  f->seq = ev->seq;
  f->at_ms = ev->at_ms;
}

/* ---- saving, loading, showing ------------------------------------------------ */

void rp__fold_save(const struct rp__fold *f, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_ki64(w, "version", RP_FOLD_VERSION);
  rp__jw_ki64(w, "seq", f->seq);
  rp__jw_ki64(w, "at_ms", f->at_ms);
  rp__jw_key(w, "facets");
  rp__jw_object(w);
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (ops->empty(f->state[i])) continue;
    rp__jw_key(w, ops->name);
    ops->save(f->state[i], w);
  }
  rp__jw_end_object(w);
  rp__jw_end_object(w);
}

static int corrupt(rp_error *err, const char *field)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, field, "the snapshot's '%s' is missing or not what it should be",
                        field);
}

static size_t facet_find(const struct rp__facet_table *t, struct rp__json name)
{
  size_t i = 0;
  while (i < t->n && !rp__json_eq(name, t->ops[i]->name)) i++;
  return i;
}

/* In one pass, for some of the values are long. */
static int load_facets(struct rp__fold *f, struct rp__json facets, int64_t seq, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json key, v;
  uint64_t seen = 0;
  while (rp__json_next(facets, &it, &key, &v)) {
    size_t i = facet_find(f->table, key);
    if (i == f->table->n) continue;
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (seen & ((uint64_t)1 << (i % 64))) return corrupt(err, ops->name);
    seen |= (uint64_t)1 << (i % 64);
    int rc = ops->load(f->state[i], v, err);
    if (rc) return rc;
    if (ops->newest && ops->newest(f->state[i]) > seq) return corrupt(err, ops->name);
  }
  return 0;
}

int rp__fold_load(struct rp__fold *f, struct rp__json doc, rp_error *err)
{
  int64_t version, seq, at_ms;
  struct rp__json facets = rp__json_get(doc, "facets");
  if (!rp__json_i64(rp__json_get(doc, "version"), &version)) return corrupt(err, "version");
  if (version != RP_FOLD_VERSION)
    return rp__fail(err, RP_E_SNAPSHOT_VERSION, "the state has version %" PRId64 ", this program reads %d", version,
                    RP_FOLD_VERSION);
  if (!rp__json_i64(rp__json_get(doc, "seq"), &seq) || seq < 0) return corrupt(err, "seq");
  if (!rp__json_i64(rp__json_get(doc, "at_ms"), &at_ms)) return corrupt(err, "at_ms");
  if (facets.type != RP_JSON_OBJECT) return corrupt(err, "facets");

  fold_clear(f);
  int rc = load_facets(f, facets, seq, err);
  if (rc) return rc;
  f->seq = seq;
  f->at_ms = at_ms;
  f->gap = 0;
  return 0;
}

static bool named(const char *const *names, const char *name)
{
  if (!names) return true;
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

void rp__fold_show_but(const struct rp__fold *f, const char *const *names, const char *own, rp__show_fn *write,
                       const void *ctx, int64_t now_ms, struct rp__jw *w)
{
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (!named(names, ops->name) || ops->empty(f->state[i])) continue;
    if (ops->silent && ops->silent(f->state[i])) continue;
    rp__jw_key(w, ops->name);
    if (own && strcmp(ops->name, own) == 0)
      write(f, ctx, w);
    else if (ops->show)
      ops->show(f->state[i], now_ms, w);
    else
      ops->save(f->state[i], w);
  }
}

void rp__fold_show_some(const struct rp__fold *f, const char *const *names, int64_t now_ms, struct rp__jw *w)
{
  rp__fold_show_but(f, names, NULL, NULL, NULL, now_ms, w);
}

void rp__fold_show(const struct rp__fold *f, int64_t now_ms, struct rp__jw *w)
{
  rp__fold_show_some(f, NULL, now_ms, w);
}

void rp__fold_save_one(const struct rp__fold *f, const char *name, struct rp__jw *w)
{
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (strcmp(ops->name, name) != 0 || ops->empty(f->state[i])) continue;
    ops->save(f->state[i], w);
    return;
  }
  rp__jw_null(w);
}

const void *rp__fold_facet(const struct rp__fold *f, const char *name)
{
  for (size_t i = 0; i < f->table->n; i++) {
    if (strcmp(f->table->ops[i]->name, name) == 0) return f->state[i];
  }
  return NULL;
}
