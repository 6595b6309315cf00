/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals and questions that nobody has answered yet (C-09): they outlive the process that asked. An id that comes
 * with any other status than pending is settled and forgotten; the journal has the rest.
 *
 * Documents show the body as it came and the time as `at`, unless the body has a time of that name itself. Of a body
 * too long to keep, id and status are left, and how long it was.
 */
#include "facets/table.h"

#include "facets/rows.h"

#define ROWS_MAX 64
#define BODY_MAX ((size_t)8 * 1024)
#define BYTES_MAX ((size_t)32 * 1024)
#define NUMBER_TEXT 24

enum column { COL_ID, COL_BODY, COL_OMITTED, COL_SEQ };

#define SHAPE(name_)                                                                                                   \
  {                                                                                                                    \
    .name = name_,                                                                                                     \
    .columns = {{"id", RP_CELL_ANY, RP_COL_NEED, 6 * RP_EVENT_ID_MAX + 2},                                             \
                {"body", RP_CELL_ANY, 0, BODY_MAX},                                                                    \
                {"omitted_bytes", RP_CELL_NUMBER},                                                                     \
                {"seq", RP_CELL_NUMBER, RP_COL_NEED}},                                                                 \
    .keyed = true, .max_rows = ROWS_MAX, .max_bytes = BYTES_MAX                                                        \
  }
static const struct rp__shape approvals = SHAPE("approvals"), questions = SHAPE("questions");

/* A string in one spelling, or a number as it is: 1 and "1" are two ids. */
static int read_id(const struct rp__shape *s, struct rp__json id, struct rp__cells *c, bool *ret_ok)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(id.n);
  *ret_ok = id.type == RP_JSON_NUMBER && id.n <= s->columns[COL_ID].max;
  if (*ret_ok) c->cell[COL_ID] = (struct rp__str){id.p, id.n};
  if (id.type != RP_JSON_STRING) return 0;
  if (rp__json_text(id, &text)) return text.err;
  *ret_ok = text.n > 0 && text.n <= RP_EVENT_ID_MAX;
  return *ret_ok ? rp__cells_text(s, c, COL_ID, (struct rp__str){text.p, text.n}) : 0;
}

static int pending_apply(struct rp__rows *r, const struct rp__shape *s, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  char seq[NUMBER_TEXT], omitted[NUMBER_TEXT];
  struct rp__json status = rp__json_get(ev->body, "status");
  bool ok;
  int rc = read_id(s, rp__json_get(ev->body, "id"), &c, &ok);
  if (rc || !ok || status.type != RP_JSON_STRING) return rc;
  size_t i = rp__rows_find(r, c.cell[COL_ID]);
  if (!rp__json_eq(status, "pending")) {
    if (i < r->count) rp__rows_drop(r, s, i);
    return 0;
  }
  snprintf(seq, sizeof seq, "%lld", (long long)ev->seq);
  c.cell[COL_SEQ] = rp__str(seq);
  if (ev->body.n <= BODY_MAX) {
    c.cell[COL_BODY] = (struct rp__str){ev->body.p, ev->body.n};
  } else {
    snprintf(omitted, sizeof omitted, "%zu", ev->body.n);
    c.cell[COL_OMITTED] = rp__str(omitted);
  }
  return rp__rows_put(r, s, i, &c, ev->at_ms);
}

static void show_row(const struct rp__row *row, struct rp__jw *w)
{
  struct rp__json body = rp__row_cell(row, COL_BODY), key, value;
  struct rp__json_iter it = {0};
  bool at = false;
  rp__jw_object(w);
  if (body.type != RP_JSON_OBJECT) {
    rp__jw_key(w, "id");
    rp__jw_value(w, rp__row_cell(row, COL_ID));
    rp__jw_kstr(w, "status", "pending");
    rp__jw_key(w, "omitted_bytes");
    rp__jw_value(w, rp__row_cell(row, COL_OMITTED));
  }
  while (rp__json_next(body, &it, &key, &value)) {
    at = at || rp__json_eq(key, "at");
    rp__jw_value(w, key); /* a key is written as the string it is */
    rp__buf_char(w->out, ':');
    w->after_key = true;
    rp__jw_value(w, value);
  }
  if (!at) rp__jw_ktime(w, "at", row->at_ms);
  rp__jw_end_object(w);
}

static int64_t newest(const struct rp__rows *r)
{
  int64_t newest_seq = 0, seq;
  for (size_t i = 0; i < r->count; i++) {
    if (!rp__json_i64(rp__row_cell(r->v[i], COL_SEQ), &seq)) seq = INT64_MAX;
    newest_seq = RP_MAX(newest_seq, seq);
  }
  return newest_seq;
}

/* ---- the two facets ------------------------------------------------------------- */

static int approvals_apply(void *state, const struct rp__event *ev)
{
  return ev->kind == RP_KIND_APPROVAL ? pending_apply(state, &approvals, ev) : 0;
}

static int questions_apply(void *state, const struct rp__event *ev)
{
  return ev->kind == RP_KIND_QUESTION ? pending_apply(state, &questions, ev) : 0;
}

static bool pending_empty(const void *state)
{
  return ((const struct rp__rows *)state)->count == 0;
}

static void approvals_save(const void *state, struct rp__jw *w)
{
  rp__rows_save(state, &approvals, w);
}

static void questions_save(const void *state, struct rp__jw *w)
{
  rp__rows_save(state, &questions, w);
}

static void pending_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct rp__rows *r = state;
  (void)now_ms;
  rp__jw_array(w);
  for (size_t i = 0; i < r->count; i++) show_row(r->v[i], w);
  rp__jw_end_array(w);
}

static int approvals_load(void *state, struct rp__json v, rp_error *err)
{
  return rp__rows_load(state, &approvals, v, err);
}

static int questions_load(void *state, struct rp__json v, rp_error *err)
{
  return rp__rows_load(state, &questions, v, err);
}

static int64_t pending_newest(const void *state)
{
  return newest(state);
}

static void pending_done(void *state)
{
  rp__rows_done(state);
}

const struct rp__facet_ops rp__facet_approvals = {
    .name = "approvals",
    .state_size = sizeof(struct rp__rows),
    .max_bytes = BYTES_MAX + 2,
    .apply = approvals_apply,
    .empty = pending_empty,
    .save = approvals_save,
    .show = pending_show,
    .load = approvals_load,
    .newest = pending_newest,
    .done = pending_done,
};

const struct rp__facet_ops rp__facet_questions = {
    .name = "questions",
    .state_size = sizeof(struct rp__rows),
    .max_bytes = BYTES_MAX + 2,
    .apply = questions_apply,
    .empty = pending_empty,
    .save = questions_save,
    .show = pending_show,
    .load = questions_load,
    .newest = pending_newest,
    .done = pending_done,
};
