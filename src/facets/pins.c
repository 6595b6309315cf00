/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: texts that the agent wants to keep in sight, at most ten, in the order in which they were pinned. The
 * engine refuses an eleventh pin and suggests which one to unpin. An eleventh pin that is in a journal nevertheless
 * changes nothing, because no pin may displace another. Labels are stored without their origin, which has members of
 * its own. The facet also lists the pins that were removed or replaced, because their texts must not come back from an
 * earlier session that still has them.
 */
#include "facets/pins.h"

#include "base/text.h"
#include "facets/table.h"
#include "facets/words.h"

#define CONTENT_MAX ((size_t)32 * 1024)
#define PIN_BYTES ((size_t)40 * 1024) /* a label and a content full of escapes, and what is around them */
#define DROPPED_BYTES ((size_t)8 * 1024)
#define PINS_BYTES (RP_PIN_SLOTS * PIN_BYTES + DROPPED_BYTES + 64)

static const struct rp__shape shape = {
    .name = "pins",
    .columns = {[RP_PIN_LABEL] = {"label", RP_CELL_ID, RP_COL_NEED, 0},
                [RP_PIN_CONTENT] = {"content", RP_CELL_TEXT, RP_COL_NEED, CONTENT_MAX},
                [RP_PIN_IMPORTANCE] = {"importance", RP_CELL_TEXT, 0, 16},
                [RP_PIN_INHERITED_FROM] = {"inherited_from", RP_CELL_TEXT, RP_COL_NULL, 128},
                [RP_PIN_INHERITED_END] = {"inherited_end", RP_CELL_TEXT, RP_COL_NULL, 40}},
    .flags = {{"critical", false}},
    .time_name = "pinned_at",
    .keyed = true,
    .max_rows = RP_PIN_SLOTS,
    .max_bytes = RP_PIN_SLOTS * PIN_BYTES,
};

/* Each with the time of the newest pin of that label that went: older words on it went with it. */
static const struct rp__shape dropped_shape = {
    .name = "dropped_pins",
    .columns = {[RP_PIN_LABEL] = {"label", RP_CELL_ID, RP_COL_NEED, 0}},
    .time_name = "pinned_at",
    .keyed = true,
    .max_rows = RP_DROPPED_PINS_MAX,
    .max_bytes = DROPPED_BYTES,
};

struct pins {
  struct rp__rows rows; /* first: what asks for the facet's list gets the pins */
  struct rp__rows dropped;
  char suggest[RP_EVENT_ID_MAX + 1]; /* derived: the label to unpin first */
};

/* ---- labels ------------------------------------------------------------------------ */

struct rp__str rp__pin_bare(struct rp__str label)
{
  static const char mark[] = " [inherited from ";
  const size_t n = sizeof mark - 1;
  if (label.n <= n || label.p[label.n - 1] != ']') return label;
  const char *from = memmem(label.p + 1, label.n - 1, mark, n);
  if (!from || !memmem(from + n, label.n - n - (size_t)(from - label.p), " @ ", 3)) return label;
  return (struct rp__str){label.p, (size_t)(from - label.p)};
}

/* Whether the text has CRITICAL as a word. */
static bool says_critical(struct rp__str text)
{
  static const struct rp__str word = {"CRITICAL", 8};
  const char *at = text.p, *end = text.p + text.n;
  while ((at = memmem(at, (size_t)(end - at), word.p, word.n))) {
    const char *behind = at + word.n;
    bool begins = at == text.p || !rp__is_alnum(at[-1]);
    if (begins && (behind == end || !rp__is_alnum(*behind))) return true;
    at = behind;
  }
  return false;
}

/* Decoded in whole; borrowed where nothing is escaped. */
static int text_of(struct rp__json v, struct rp__buf *room, struct rp__str *ret)
{
  *ret = v.n >= 2 ? (struct rp__str){v.p + 1, v.n - 2} : RP_STR("");
  if (!memchr(v.p, '\\', v.n)) return 0;
  *room = RP_BUF(v.n);
  if (rp__json_text(v, room)) return room->err;
  *ret = (struct rp__str){room->p ? room->p : "", room->n};
  return 0;
}

/* The pin of a body: label bare, importance one of three, critical told. */
static int pin_read(struct rp__json body, struct rp__cells *c, bool *ret_ok)
{
  RP_AUTOBUF struct rp__buf label_room = {0}, content_room = {0};
  struct rp__str label, content;
  int rc = rp__cells_read(&shape, body, c, ret_ok);
  if (rc || !*ret_ok) return rc;
  rc = text_of(rp__json_trusted(c->cell[RP_PIN_LABEL].p, c->cell[RP_PIN_LABEL].n), &label_room, &label);
  if (rc == 0) rc = text_of(rp__json_get(body, "content"), &content_room, &content);
  if (rc) return rc;
  struct rp__str bare = rp__pin_bare(label);
  if (bare.n < label.n) rc = rp__cells_text(&shape, c, RP_PIN_LABEL, bare);

  struct rp__json importance = rp__json_get(body, "importance");
  bool critical = rp__json_eq(importance, "critical"), high = rp__json_eq(importance, "high");
  rp__cells_literal(c, RP_PIN_IMPORTANCE, critical ? "\"critical\"" : high ? "\"high\"" : "\"normal\"");
  c->flags = critical || says_critical(bare) || says_critical(content) ? RP_PIN_CRITICAL : 0;
  return rc;
}

/* ---- what to unpin first ------------------------------------------------------------- */

static unsigned rank(const struct rp__row *p)
{
  bool normal = !(p->flags & RP_PIN_CRITICAL) && rp__json_eq(rp__row_cell(p, RP_PIN_IMPORTANCE), "normal");
  return !normal ? 2 : p->n[RP_PIN_INHERITED_FROM] ? 0 : 1;
}

static int choose_suggestion(struct pins *p)
{
  const struct rp__row *best = NULL;
  for (size_t i = 0; i < p->rows.count; i++) {
    const struct rp__row *row = p->rows.v[i];
    bool better = !best || rank(row) < rank(best) || (rank(row) == rank(best) && row->at_ms < best->at_ms);
    if (better) best = row;
  }
  p->suggest[0] = '\0';
  if (!best) return 0;
  RP_AUTOFREE char *label = rp__json_dup(rp__row_cell(best, RP_PIN_LABEL));
  if (!label) return RP_E_NOMEM;
  rp__text_copy(p->suggest, sizeof p->suggest, label);
  return 0;
}

/* ---- events ---------------------------------------------------------------------------- */

/* The pin at i goes. */
static int note_dropped(struct pins *p, size_t i)
{
  RP_AUTOCELLS struct rp__cells c = {0}, label = {0};
  const struct rp__row *pin = p->rows.v[i];
  rp__cells_from(&c, pin);
  label.cell[RP_PIN_LABEL] = c.cell[RP_PIN_LABEL];
  size_t at = rp__rows_find(&p->dropped, label.cell[RP_PIN_LABEL]);
  int64_t before = at < p->dropped.count ? p->dropped.v[at]->at_ms : INT64_MIN;
  return rp__rows_renew(&p->dropped, at, &label, RP_MAX(before, pin->at_ms));
}

/* A word that is no newer than one that went, said again or by a clock that was set back, ends the note of that one:
 * else neither could come. */
static int note_pinned(struct pins *p, size_t i, struct rp__str label, int64_t at_ms)
{
  if (i < p->rows.count && p->rows.v[i]->at_ms < at_ms) return note_dropped(p, i);
  size_t at = rp__rows_find(&p->dropped, label);
  if (at < p->dropped.count && p->dropped.v[at]->at_ms >= at_ms) rp__rows_drop(&p->dropped, at);
  return 0;
}

static int apply_pin(struct pins *p, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  int rc = pin_read(ev->body, &c, &ok);
  if (rc || !ok) return rc;
  c.cell[RP_PIN_INHERITED_FROM] = c.cell[RP_PIN_INHERITED_END] = (struct rp__str){0};
  size_t i = rp__rows_find(&p->rows, c.cell[RP_PIN_LABEL]);
  if (i == RP_PIN_SLOTS) return 0;
  rc = note_pinned(p, i, c.cell[RP_PIN_LABEL], ev->at_ms);
  return rc ? rc : rp__rows_put(&p->rows, i, &c, ev->at_ms);
}

static int apply_unpin(struct pins *p, const struct rp__event *ev)
{
  RP_AUTOBUF struct rp__buf room = {0};
  RP_AUTOCELLS struct rp__cells c = {0};
  struct rp__json v = rp__event_get(ev, "label");
  struct rp__str label;
  if (v.type != RP_JSON_STRING) return 0;
  int rc = text_of(v, &room, &label);
  if (rc == 0) rc = rp__cells_text(&shape, &c, RP_PIN_LABEL, rp__pin_bare(label));
  if (rc) return rc;
  size_t i = rp__rows_find(&p->rows, c.cell[RP_PIN_LABEL]);
  if (i == p->rows.count) return 0;
  rc = note_dropped(p, i);
  if (rc == 0) rp__rows_drop(&p->rows, i);
  return rc;
}

static int apply_restored(struct pins *p, const struct rp__event *ev)
{
  struct rp__json pins = rp__event_get(ev, "pins"), item;
  struct rp__json_iter it = {0};
  int rc = 0;
  while (rc == 0 && pins.type == RP_JSON_ARRAY && rp__json_next(pins, &it, NULL, &item)) {
    RP_AUTOCELLS struct rp__cells c = {0};
    bool ok;
    rc = pin_read(item, &c, &ok);
    if (rc || !ok) continue;
    size_t i = rp__rows_find(&p->rows, c.cell[RP_PIN_LABEL]);
    if (i < p->rows.count || i == RP_PIN_SLOTS) continue;
    int64_t at_ms = rp__rows_time(item, "pinned_at", ev->at_ms);
    rc = note_pinned(p, i, c.cell[RP_PIN_LABEL], at_ms);
    if (rc == 0) rc = rp__rows_put(&p->rows, i, &c, at_ms);
  }
  return rc;
}

static int pins_apply(void *state, const struct rp__event *ev)
{
  struct pins *p = state;
  int rc;
  switch (ev->kind) {
  case RP_KIND_PIN: rc = apply_pin(p, ev); break;
  case RP_KIND_UNPIN: rc = apply_unpin(p, ev); break;
  case RP_KIND_RESTORED: rc = apply_restored(p, ev); break;
  default: return 0;
  }
  return rc ? rc : choose_suggestion(p);
}

/* ---- the rest of a facet ------------------------------------------------------------------ */

static void pins_init(const struct rp__facet_ops *ops, void *state)
{
  struct pins *p = state;
  p->rows.shape = ops->data;
  p->dropped.shape = &dropped_shape;
}

static bool pins_empty(const void *state)
{
  const struct pins *p = state;
  return p->rows.count == 0 && p->dropped.count == 0;
}

static bool pins_silent(const void *state)
{
  return ((const struct pins *)state)->rows.count == 0;
}

/* The array alone where nothing went, as before there were notes of that. */
static void pins_save(const void *state, struct rp__jw *w)
{
  const struct pins *p = state;
  if (p->dropped.count == 0) {
    rp__rows_save(&p->rows, w);
    return;
  }
  rp__jw_object(w);
  rp__jw_key(w, "pins");
  rp__rows_save(&p->rows, w);
  rp__jw_key(w, "dropped");
  rp__rows_save(&p->dropped, w);
  rp__jw_end_object(w);
}

static int pins_load(void *state, struct rp__json v, rp_error *err)
{
  struct pins *p = state;
  bool both = v.type == RP_JSON_OBJECT;
  int rc = rp__rows_load(&p->rows, both ? rp__json_get(v, "pins") : v, err);
  if (rc == 0 && both) rc = rp__rows_load(&p->dropped, rp__json_get(v, "dropped"), err);
  if (rc) return rc;
  return choose_suggestion(p) ? rp__fail_nomem(err) : 0;
}

static void pins_done(void *state)
{
  struct pins *p = state;
  rp__rows_done(&p->rows);
  rp__rows_done(&p->dropped);
}

const struct rp__facet_ops rp__facet_pins = {
    .name = "pins",
    .state_size = sizeof(struct pins),
    .data = &shape,
    .init = pins_init,
    .max_bytes = PINS_BYTES,
    .apply = pins_apply,
    .empty = pins_empty,
    .silent = pins_silent,
    .save = pins_save,
    .show = rp__rows_show, /* of the first member, the pins */
    .load = pins_load,
    .done = pins_done,
};

/* ---- for the engine ------------------------------------------------------------------------ */

const struct rp__rows *rp__pins_dropped(const struct rp__fold *f)
{
  const struct pins *p = f ? rp__fold_facet(f, rp__facet_pins.name) : NULL;
  return p ? &p->dropped : &rp__rows_none;
}

bool rp__pins_has(const struct rp__fold *f, const char *label)
{
  const struct rp__rows *pins = rp__rows_of(f, &rp__facet_pins);
  struct rp__str bare = rp__pin_bare(rp__str(label));
  char text[RP_EVENT_ID_MAX + 1];
  if (bare.n >= sizeof text) return false;
  memcpy(text, bare.p, bare.n);
  text[bare.n] = '\0';
  return rp__rows_find_text(pins, text) < pins->count;
}

const char *rp__pins_suggest(const struct rp__fold *f)
{
  const struct pins *p = rp__fold_facet(f, rp__facet_pins.name);
  return p && p->rows.count ? p->suggest : NULL;
}
