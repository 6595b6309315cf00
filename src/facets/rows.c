/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of cells: reading, finding, ordering and writing them. */
#include "facets/rows.h"

#include <assert.h>

#include "base/clock.h"
#include "base/text.h"
#include "json/scan.h"

#define NUMBER_RAW_MAX 32 /* longer numbers are written anew */
#define MEMBER_EXTRA 4    /* quotes, colon and comma around a name */
#define ROW_EXTRA 40      /* "at_ms", its digits, braces and a comma */

static size_t columns_of(const struct rp__shape *s)
{
  size_t n = 0;
  while (n < RP_COLUMNS_MAX && s->columns[n].name) n++;
  return n;
}

static size_t flags_of(const struct rp__shape *s)
{
  size_t n = 0;
  while (n < RP_FLAGS_MAX && s->flags[n].name) n++;
  return n;
}

/* ---- cells -------------------------------------------------------------------- */

void rp__cells_done(struct rp__cells *c)
{
  for (unsigned i = 0; i < RP_COLUMNS_MAX; i++)
    if (c->own[i].p) rp__buf_done(&c->own[i]);
}

static size_t spelled_max(const struct rp__column *col)
{
  return col->type == RP_CELL_ID ? 6 * RP_EVENT_ID_MAX + 2 : col->max + col->max / 8 + 64;
}

static size_t spelled_byte(unsigned char c)
{
  if (c >= 0x20) return c == '"' || c == '\\' ? 2 : 1;
  return (c >= '\b' && c <= '\r' && c != '\v') ? 2 : 6;
}

/* How many bytes of a text to keep so that its spelling stays within `max`. */
static size_t clip_spelled(struct rp__str text, size_t max)
{
  size_t cost = 2, i = 0;
  for (; i < text.n; i++) {
    for (; text.n - i >= 8 && cost + 8 <= max && rp__json_no_escape(rp__load8(text.p + i)); i += 8) cost += 8;
    if (i == text.n) break;
    cost += spelled_byte((unsigned char)text.p[i]);
    if (cost > max) return rp__text_clip(text.p, i);
  }
  return i;
}

int rp__cells_text(const struct rp__shape *s, struct rp__cells *c, unsigned column, struct rp__str text)
{
  const struct rp__column *col = &s->columns[column];
  size_t max = col->type == RP_CELL_ID ? RP_EVENT_ID_MAX : col->max;
  if (text.n > max) text.n = rp__text_clip(text.p, max);
  text.n = clip_spelled(text, spelled_max(col));
  struct rp__buf *own = &c->own[column];
  rp__buf_done(own);
  *own = RP_BUF(3 * spelled_max(col)); /* bytes that are no UTF-8 grow when they are replaced */
  struct rp__jw w = RP_JW(own);
  rp__jw_strn(&w, text.p, text.n);
  c->cell[column] = (struct rp__str){own->p, own->n};
  return own->err;
}

void rp__cells_literal(struct rp__cells *c, unsigned column, const char *json)
{
  c->cell[column] = rp__str(json);
}

static int read_string(const struct rp__shape *s, unsigned i, struct rp__json v, struct rp__cells *c, bool *ret_whole)
{
  const struct rp__column *col = &s->columns[i];
  size_t max = col->type == RP_CELL_ID ? RP_EVENT_ID_MAX : col->max;
  *ret_whole = true;
  if (v.n - 2 <= max && !memchr(v.p, '\\', v.n)) {
    c->cell[i] = (struct rp__str){v.p, v.n};
    return 0;
  }
  RP_AUTOBUF struct rp__buf text = RP_BUF(v.n);
  if (rp__json_text(v, &text)) return text.err;
  *ret_whole = text.n <= max;
  if (!*ret_whole && col->type == RP_CELL_ID) return 0;
  int rc = rp__cells_text(s, c, i, (struct rp__str){text.p ? text.p : "", text.n});
  *ret_whole = *ret_whole && clip_spelled((struct rp__str){text.p, text.n}, spelled_max(col)) == text.n;
  return rc;
}

/* *ret_whole: whether the value is kept as it is. */
static int read_cell(const struct rp__shape *s, unsigned i, struct rp__json v, struct rp__cells *c, bool *ret_whole)
{
  const struct rp__column *col = &s->columns[i];
  int rc = 0;
  double number;
  *ret_whole = false;
  switch (col->type) {
  case RP_CELL_ID:
  case RP_CELL_TEXT:
    if (v.type == RP_JSON_STRING) rc = read_string(s, i, v, c, ret_whole);
    return rc;
  case RP_CELL_NUMBER:
    if (v.type == RP_JSON_NUMBER && rp__json_double(v, &number) && v.n <= NUMBER_RAW_MAX) {
      c->cell[i] = (struct rp__str){v.p, v.n};
    } else if (v.type == RP_JSON_NUMBER && rp__json_double(v, &number)) {
      c->own[i] = RP_BUF(2 * NUMBER_RAW_MAX);
      rp__jw_double(&RP_JW(&c->own[i]), number);
      c->cell[i] = (struct rp__str){c->own[i].p, c->own[i].n};
      rc = c->own[i].err;
    }
    *ret_whole = c->cell[i].n > 0;
    return rc;
  case RP_CELL_ARRAY: *ret_whole = v.type == RP_JSON_ARRAY && v.n <= col->max; break;
  case RP_CELL_ANY: *ret_whole = v.n <= col->max; break;
  }
  if (*ret_whole)
    c->cell[i] = (struct rp__str){v.p, v.n};
  else if (col->type == RP_CELL_ANY)
    rp__cells_literal(c, i, "null");
  return 0;
}

int rp__cells_read(const struct rp__shape *s, struct rp__json object, struct rp__cells *c, bool *ret_ok)
{
  *ret_ok = false;
  for (unsigned i = 0; i < columns_of(s); i++) {
    struct rp__json v = rp__json_get(object, s->columns[i].name);
    bool whole;
    int rc = v.type == RP_JSON_NONE ? 0 : read_cell(s, i, v, c, &whole);
    if (rc) return rc;
    if (c->cell[i].n == 0 && (s->columns[i].how & RP_COL_NEED)) return 0;
  }
  for (unsigned i = 0; i < flags_of(s); i++) {
    if (rp__json_get(object, s->flags[i].name).type == RP_JSON_TRUE) c->flags |= 1u << i;
  }
  *ret_ok = true;
  return 0;
}

void rp__cells_from(struct rp__cells *c, const struct rp__row *row)
{
  const char *at = row->bytes;
  for (unsigned i = 0; i < RP_COLUMNS_MAX; i++) {
    c->cell[i] = (struct rp__str){at, row->n[i]};
    at += row->n[i];
  }
  c->flags = row->flags;
}

struct rp__json rp__row_cell(const struct rp__row *row, unsigned column)
{
  const char *at = row->bytes;
  for (unsigned i = 0; i < column; i++) at += row->n[i];
  return row->n[column] ? rp__json_trusted(at, row->n[column]) : (struct rp__json){0};
}

/* ---- the list ------------------------------------------------------------------- */

static size_t row_bytes(const struct rp__shape *s, const struct rp__row *row)
{
  size_t n = ROW_EXTRA;
  for (unsigned i = 0; i < columns_of(s); i++)
    if (row->n[i]) n += row->n[i] + strlen(s->columns[i].name) + MEMBER_EXTRA;
  for (unsigned i = 0; i < flags_of(s); i++)
    if (row->flags & 1u << i) n += strlen(s->flags[i].name) + MEMBER_EXTRA + 4;
  return n;
}

static struct rp__row *row_new(const struct rp__cells *c, int64_t at_ms)
{
  size_t n = 0;
  for (unsigned i = 0; i < RP_COLUMNS_MAX; i++) n += c->cell[i].n;
  struct rp__row *row = malloc(sizeof *row + n);
  if (!row) return NULL;
  *row = (struct rp__row){.at_ms = at_ms, .flags = c->flags};
  char *to = row->bytes;
  for (unsigned i = 0; i < RP_COLUMNS_MAX; i++) {
    row->n[i] = (uint32_t)c->cell[i].n;
    if (row->n[i]) memcpy(to, c->cell[i].p, row->n[i]);
    to += row->n[i];
  }
  return row;
}

size_t rp__rows_find(const struct rp__rows *r, struct rp__str first)
{
  size_t i = 0;
  for (; i < r->count; i++) {
    if (r->v[i]->n[0] == first.n && memcmp(r->v[i]->bytes, first.p, first.n) == 0) break;
  }
  return i;
}

size_t rp__rows_find_text(const struct rp__rows *r, const char *text)
{
  size_t i = 0;
  while (i < r->count && !rp__json_eq(rp__row_cell(r->v[i], 0), text)) i++;
  return i;
}

void rp__rows_drop(struct rp__rows *r, size_t i)
{
  assert(i < r->count);
  r->bytes -= row_bytes(r->shape, r->v[i]);
  free(r->v[i]);
  r->count--;
  memmove(&r->v[i], &r->v[i + 1], (r->count - i) * sizeof r->v[0]);
}

/* Takes the row, also when it fails. One more than the bound has room, until the surplus is dropped. */
static int append(struct rp__rows *r, struct rp__row *row)
{
  assert(r->count <= r->shape->max_rows);
  if (!r->v) r->v = malloc((r->shape->max_rows + 1) * sizeof r->v[0]);
  if (!r->v) {
    free(row);
    return RP_E_NOMEM;
  }
  r->v[r->count++] = row;
  r->bytes += row_bytes(r->shape, row);
  return 0;
}

static void drop_surplus(struct rp__rows *r)
{
  const struct rp__shape *s = r->shape;
  while (r->count && (r->count > s->max_rows || r->bytes > s->max_bytes))
    rp__rows_drop(r, s->victim ? s->victim(r) : 0);
}

int rp__rows_put(struct rp__rows *r, size_t i, const struct rp__cells *c, int64_t at_ms)
{
  assert(i <= r->count);
  struct rp__row *row = row_new(c, at_ms);
  if (!row) return RP_E_NOMEM;
  if (i == r->count) {
    int rc = append(r, row);
    if (rc) return rc;
  } else {
    r->bytes -= row_bytes(r->shape, r->v[i]);
    free(r->v[i]);
    r->v[i] = row;
    r->bytes += row_bytes(r->shape, row);
  }
  drop_surplus(r);
  return 0;
}

int rp__rows_renew(struct rp__rows *r, size_t i, const struct rp__cells *c, int64_t at_ms)
{
  struct rp__row *row = row_new(c, at_ms);
  if (!row) return RP_E_NOMEM;
  if (i < r->count) rp__rows_drop(r, i);
  int rc = append(r, row);
  if (rc) return rc;
  drop_surplus(r);
  return 0;
}

void rp__rows_flag(struct rp__rows *r, size_t i, unsigned flag, bool on)
{
  struct rp__row *row = r->v[i];
  r->bytes -= row_bytes(r->shape, row);
  row->flags = on ? row->flags | flag : row->flags & ~flag;
  r->bytes += row_bytes(r->shape, row);
  drop_surplus(r);
}

int64_t rp__rows_newest(const struct rp__rows *r, unsigned column)
{
  int64_t newest = 0, seq;
  for (size_t i = 0; i < r->count; i++) {
    if (!rp__json_i64(rp__row_cell(r->v[i], column), &seq)) seq = INT64_MAX;
    newest = RP_MAX(newest, seq);
  }
  return newest;
}

/* ---- slots of a facet --------------------------------------------------------------- */

const struct rp__rows rp__rows_none;

const struct rp__rows *rp__rows_of(const struct rp__fold *f, const struct rp__facet_ops *facet)
{
  const struct rp__rows *r = f ? rp__fold_facet(f, facet->name) : NULL;
  return r ? r : &rp__rows_none;
}

void rp__rows_init(const struct rp__facet_ops *ops, void *rows)
{
  ((struct rp__rows *)rows)->shape = ops->data;
}

int rp__rows_append(void *rows, const struct rp__event *ev)
{
  struct rp__rows *r = rows;
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  if (ev->kind != r->shape->kind) return 0;
  int rc = rp__cells_read(r->shape, ev->body, &c, &ok);
  return rc || !ok ? rc : rp__rows_put(r, r->count, &c, ev->at_ms);
}

bool rp__rows_empty(const void *rows)
{
  return ((const struct rp__rows *)rows)->count == 0;
}

void rp__rows_done(void *rows)
{
  struct rp__rows *r = rows;
  for (size_t i = 0; i < r->count; i++) free(r->v[i]);
  free(r->v);
  *r = (struct rp__rows){.shape = r->shape};
}

/* ---- writing ---------------------------------------------------------------------- */

static void write_cells(const struct rp__row *row, const struct rp__shape *s, bool show, struct rp__jw *w)
{
  const char *at = row->bytes;
  for (unsigned i = 0; i < columns_of(s); i++) {
    unsigned how = s->columns[i].how;
    bool written = row->n[i] || (show && (how & RP_COL_NULL));
    if (written && !(show && (how & RP_COL_HIDDEN))) {
      rp__jw_key(w, s->columns[i].name);
      rp__jw_raw(w, row->n[i] ? at : "null", row->n[i] ? row->n[i] : 4);
    }
    at += row->n[i];
  }
}

void rp__rows_save(const void *rows, struct rp__jw *w)
{
  const struct rp__rows *r = rows;
  const struct rp__shape *s = r->shape;
  rp__jw_array(w);
  for (size_t i = 0; i < r->count; i++) {
    rp__jw_object(w);
    write_cells(r->v[i], s, false, w);
    for (unsigned f = 0; f < flags_of(s); f++)
      if (r->v[i]->flags & 1u << f) rp__jw_kbool(w, s->flags[f].name, true);
    rp__jw_ki64(w, "at_ms", r->v[i]->at_ms);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

void rp__row_show(const struct rp__row *row, const struct rp__shape *s, struct rp__jw *w)
{
  write_cells(row, s, true, w);
  for (unsigned f = 0; f < flags_of(s); f++)
    if (!s->flags[f].hidden) rp__jw_kbool(w, s->flags[f].name, row->flags & 1u << f);
  if (s->time_name) rp__jw_ktime(w, s->time_name, row->at_ms);
}

void rp__rows_show(const void *rows, int64_t now_ms, struct rp__jw *w)
{
  const struct rp__rows *r = rows;
  (void)now_ms;
  rp__jw_array(w);
  for (size_t i = 0; i < r->count; i++) {
    rp__jw_object(w);
    rp__row_show(r->v[i], r->shape, w);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

/* ---- loading ---------------------------------------------------------------------- */

static int corrupt(const struct rp__shape *s, rp_error *err)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, s->name, "'%s' holds what no snapshot does", s->name);
}

static int load_row(struct rp__rows *r, struct rp__json v, rp_error *err)
{
  const struct rp__shape *s = r->shape;
  RP_AUTOCELLS struct rp__cells c = {0};
  int64_t at_ms;
  if (v.type != RP_JSON_OBJECT || !rp__json_i64(rp__json_get(v, "at_ms"), &at_ms)) return corrupt(s, err);
  /* What is there must be what a save wrote: nothing may be cut, left out or of another type. */
  for (unsigned i = 0; i < columns_of(s); i++) {
    struct rp__json cell = rp__json_get(v, s->columns[i].name);
    bool whole = true;
    if (cell.type != RP_JSON_NONE && read_cell(s, i, cell, &c, &whole)) return rp__fail_nomem(err);
    if (!whole || (cell.type == RP_JSON_NONE && (s->columns[i].how & RP_COL_NEED))) return corrupt(s, err);
  }
  for (unsigned i = 0; i < flags_of(s); i++) {
    struct rp__json flag = rp__json_get(v, s->flags[i].name);
    if (flag.type == RP_JSON_TRUE)
      c.flags |= 1u << i;
    else if (flag.type != RP_JSON_NONE && flag.type != RP_JSON_FALSE)
      return corrupt(s, err);
  }
  if (r->count == s->max_rows) return corrupt(s, err);
  if (s->keyed && rp__rows_find(r, c.cell[0]) < r->count) return corrupt(s, err);
  struct rp__row *row = row_new(&c, at_ms);
  if (!row || append(r, row)) return rp__fail_nomem(err);
  return r->bytes <= s->max_bytes ? 0 : corrupt(s, err);
}

int rp__rows_load(void *rows, struct rp__json array, rp_error *err)
{
  struct rp__rows *r = rows;
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (array.type != RP_JSON_ARRAY) return corrupt(r->shape, err);
  while (rp__json_next(array, &it, NULL, &item)) {
    int rc = load_row(r, item, err);
    if (rc) return rc;
  }
  return 0;
}

int64_t rp__rows_time(struct rp__json object, const char *name, int64_t otherwise)
{
  struct rp__json v = rp__json_get(object, name);
  int64_t ms;
  if (v.type != RP_JSON_STRING || v.n < 2 || rp__time_parse(v.p + 1, v.n - 2, &ms)) return otherwise;
  return ms;
}
