/* SPDX-License-Identifier: Apache-2.0 */
/* The fold: applies events to all facets in order, notes gaps, and handles time travel. */
#include "core/fold.h"

#include <assert.h>

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
    if (t->ops[i]->init) t->ops[i]->init(t->ops[i], f->state[i]);
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

int64_t rp__fold_seq(const struct rp__fold *f)
{
  return f->seq;
}

int64_t rp__fold_at_ms(const struct rp__fold *f)
{
  return f->at_ms;
}

/* ---- applying ------------------------------------------------------------- */

int rp__fold_apply(struct rp__fold *f, const struct rp__event *ev, int64_t *ret_to)
{
  if (f->seq == INT64_MAX || ev->seq != f->seq + 1) return RP_E_CORRUPT;
  bool restored = ev->kind == RP_KIND_RESTORED, aged = false;
  double elapsed = 0;
  int64_t to;
  if (restored && rp__json_i64(rp__json_get(ev->body, "to_seq"), &to) && to >= 0 && to < ev->seq) {
    *ret_to = to;
    return RP__FOLD_REWIND;
  }
  if (restored) aged = rp__json_double(rp__json_get(ev->body, "elapsed_seconds"), &elapsed) && elapsed > 0;
  int rc = 0;
  for (size_t i = 0; aged && rc == 0 && i < f->table->n; i++)
    if (f->table->ops[i]->age) rc = f->table->ops[i]->age(f->state[i], elapsed, ev);
  struct rp__event_look look;
  struct rp__event seen = *ev;
  look.made = false;
  seen.look = &look;
  for (size_t i = 0; rc == 0 && i < f->table->n; i++) rc = f->table->ops[i]->apply(f->state[i], &seen);
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
  assert(seq > 0);
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
  assert(f != other && f->table == other->table);
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
  rp__jw_pack(w, "{version:i seq:i at_ms:i facets:{", (int64_t)RP_FOLD_VERSION, f->seq, f->at_ms);
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (ops->empty(f->state[i])) continue;
    rp__jw_key(w, ops->name);
    ops->save(f->state[i], w);
  }
  rp__jw_pack(w, "}}");
}

static int corrupt(rp_error *err, const char *field)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, field, "the snapshot's '%s' is missing or not what it should be",
                        field);
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

  f->seq = f->at_ms = 0;
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    state_done(ops, f->state[i]);
    memset(f->state[i], 0, ops->state_size);
    if (ops->init) ops->init(ops, f->state[i]);
  }
  struct rp__json_iter it = {0};
  struct rp__json key, v;
  uint64_t seen = 0;
  while (rp__json_next(facets, &it, &key, &v)) { /* in one pass, for some of the values are long */
    size_t i = 0;
    while (i < f->table->n && !rp__json_eq(key, f->table->ops[i]->name)) i++;
    if (i == f->table->n) continue;
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (seen & ((uint64_t)1 << (i % 64))) return corrupt(err, ops->name);
    seen |= (uint64_t)1 << (i % 64);
    int rc = ops->load(f->state[i], v, err);
    if (rc) return rc;
    if (ops->newest && ops->newest(f->state[i]) > seq) return corrupt(err, ops->name);
  }
  f->seq = seq;
  f->at_ms = at_ms;
  f->gap = 0;
  return 0;
}

void rp__fold_show(const struct rp__fold *f, const char *own, rp__show_fn *write, const void *ctx, int64_t now_ms,
                   struct rp__jw *w)
{
  for (size_t i = 0; i < f->table->n; i++) {
    const struct rp__facet_ops *ops = f->table->ops[i];
    if (ops->empty(f->state[i]) || (ops->silent && ops->silent(f->state[i]))) continue;
    rp__jw_key(w, ops->name);
    if (own && strcmp(ops->name, own) == 0)
      write(f, ctx, w);
    else if (ops->show)
      ops->show(f->state[i], now_ms, w);
    else
      ops->save(f->state[i], w);
  }
}

/* The place of the facet in the table; n when that does not have it. */
static size_t facet_named(const struct rp__fold *f, const char *name)
{
  size_t i = 0;
  while (i < f->table->n && strcmp(f->table->ops[i]->name, name) != 0) i++;
  return i;
}

bool rp__fold_has(const struct rp__fold *f, const char *name)
{
  size_t i = facet_named(f, name);
  return i < f->table->n && !f->table->ops[i]->empty(f->state[i]);
}

void rp__fold_save_one(const struct rp__fold *f, const char *name, struct rp__jw *w)
{
  size_t i = facet_named(f, name);
  if (rp__fold_has(f, name))
    f->table->ops[i]->save(f->state[i], w);
  else
    rp__jw_null(w);
}

const void *rp__fold_facet(const struct rp__fold *f, const char *name)
{
  size_t i = facet_named(f, name);
  return i < f->table->n ? f->state[i] : NULL;
}
