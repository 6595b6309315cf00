/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals and questions that nobody has answered yet (C-09). They outlive the process that asked. An id that comes
 * with a status other than pending is settled and dropped here; the journal has the rest.
 *
 * Documents show the body as it came and the time as `at`, unless the body itself has a member of that name. Of a body
 * too long to keep, its id, its status and its length are kept.
 */
#include "facets/rows.h"
#include "facets/table.h"

#define ROWS_MAX 64
#define BODY_MAX ((size_t)8 * 1024)
#define BYTES_MAX ((size_t)32 * 1024)
#define NUMBER_TEXT 24

#define SHAPE(name_, kind_)                                                                                            \
  {                                                                                                                    \
    .name = name_, .kind = kind_,                                                                                      \
    .columns = {{"id", RP_CELL_ANY, RP_COL_NEED, 6 * RP_EVENT_ID_MAX + 2},                                             \
                {"body", RP_CELL_ANY, 0, BODY_MAX},                                                                    \
                {"omitted_bytes", RP_CELL_NUMBER},                                                                     \
                {"seq", RP_CELL_NUMBER, RP_COL_NEED}},                                                                 \
    .keyed = true, .max_rows = ROWS_MAX, .max_bytes = BYTES_MAX                                                        \
  }
static const struct rp__shape approvals = SHAPE("approvals", RP_KIND_APPROVAL),
                              questions = SHAPE("questions", RP_KIND_QUESTION);

/* A string in one spelling, or a number as it is: 1 and "1" are two ids. */
static int read_id(const struct rp__shape *s, struct rp__json id, struct rp__cells *c, bool *ret_ok)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(id.n);
  *ret_ok = id.type == RP_JSON_NUMBER && id.n <= s->columns[RP_PENDING_ID].max;
  if (*ret_ok) c->cell[RP_PENDING_ID] = (struct rp__str){id.p, id.n};
  if (id.type != RP_JSON_STRING) return 0;
  if (rp__json_text(id, &text)) return text.err;
  *ret_ok = text.n > 0 && text.n <= RP_EVENT_ID_MAX;
  return *ret_ok ? rp__cells_text(s, c, RP_PENDING_ID, (struct rp__str){text.p, text.n}) : 0;
}

static int pending_apply(void *state, const struct rp__event *ev)
{
  struct rp__rows *r = state;
  RP_AUTOCELLS struct rp__cells c = {0};
  char seq[NUMBER_TEXT], omitted[NUMBER_TEXT];
  bool ok;
  if (ev->kind != r->shape->kind) return 0;
  struct rp__json status = rp__event_get(ev, "status");
  int rc = read_id(r->shape, rp__event_get(ev, "id"), &c, &ok);
  if (rc || !ok || status.type != RP_JSON_STRING) return rc;
  size_t i = rp__rows_find(r, c.cell[RP_PENDING_ID]);
  if (!rp__json_eq(status, "pending")) {
    if (i < r->count) rp__rows_drop(r, i);
    return 0;
  }
  snprintf(seq, sizeof seq, "%lld", (long long)ev->seq);
  c.cell[RP_PENDING_SEQ] = rp__str(seq);
  if (ev->body.n <= BODY_MAX) {
    c.cell[RP_PENDING_BODY] = (struct rp__str){ev->body.p, ev->body.n};
  } else {
    snprintf(omitted, sizeof omitted, "%zu", ev->body.n);
    c.cell[RP_PENDING_OMITTED] = rp__str(omitted);
  }
  return rp__rows_put(r, i, &c, ev->at_ms);
}

static void pending_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct rp__rows *r = state;
  (void)now_ms;
  rp__jw_array(w);
  for (size_t i = 0; i < r->count; i++) {
    struct rp__json body = rp__row_cell(r->v[i], RP_PENDING_BODY), key, value;
    struct rp__json_iter it = {0};
    bool at = false;
    rp__jw_object(w);
    if (body.type != RP_JSON_OBJECT) {
      rp__jw_pack(w, "id:v status:s omitted_bytes:v", rp__row_cell(r->v[i], RP_PENDING_ID), "pending",
                  rp__row_cell(r->v[i], RP_PENDING_OMITTED));
    }
    while (rp__json_next(body, &it, &key, &value)) {
      at = at || rp__json_eq(key, "at");
      rp__jw_value(w, key); /* a key is written as the string it is */
      rp__buf_char(w->out, ':');
      w->after_key = true;
      rp__jw_value(w, value);
    }
    if (!at) rp__jw_ktime(w, "at", r->v[i]->at_ms);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

static int64_t pending_newest(const void *state)
{
  return rp__rows_newest(state, RP_PENDING_SEQ);
}

const struct rp__facet_ops rp__facet_approvals = {
    .name = "approvals",
    RP_ROWS_SLOTS(approvals, BYTES_MAX),
    .apply = pending_apply,
    .show = pending_show,
    .newest = pending_newest,
};

const struct rp__facet_ops rp__facet_questions = {
    .name = "questions",
    RP_ROWS_SLOTS(questions, BYTES_MAX),
    .apply = pending_apply,
    .show = pending_show,
    .newest = pending_newest,
};
