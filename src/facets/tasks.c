/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks. They come from `task` events, from pins that call a task incomplete, and from messages that mention a task
 * without saying that it is done. The task with the newest event is last. A task is pending as long as it is open,
 * whatever its stage is called: people and models have their own names for stages, and only `done` ends a task.
 * A task that one message mentioned, and nothing else tells of, is pending for a few days only.
 *
 * For each pin that says something is incomplete, the ids in its text are kept. So a task that comes later is known to
 * be named by a pin, and a task that only a pin named is removed with the pin.
 */
#include "facets/tasks.h"

#include "facets/mentions.h"
#include "facets/pins.h"
#include "facets/table.h"
#include "facets/words.h"

#define TASKS_BYTES ((size_t)88 * 1024)
#define PINS_BYTES ((size_t)16 * 1024)
#define IDS_MAX 2048 /* bytes of the ids in one pin */

enum { REFERRED = RP_TASK_FLAGGED << 1 };
enum { HEARD_IN = RP_TASK_INHERITED_FROM + 1 }; /* the stream of the last mention, whose chunks are one message */
enum { PIN_LABEL, PIN_IDS };

#define OPEN "\"open\""
#define FROM_PIPELINE "\"pipeline_state\""
#define FROM_PIN "\"working_memory_scan\""
#define FROM_MESSAGE "\"message\""

static size_t victim(const struct rp__rows *r);

static const struct rp__shape shape = {
    .name = "tasks.tasks",
    .columns = {[RP_TASK_ID] = {"task_id", RP_CELL_ID, RP_COL_NEED, 0},
                [RP_TASK_TITLE] = {"title", RP_CELL_TEXT, RP_COL_NEED, 256},
                [RP_TASK_STAGE] = {"stage", RP_CELL_TEXT, RP_COL_NEED, 64},
                [RP_TASK_STATUS] = {"status", RP_CELL_TEXT, 0, 16},
                [RP_TASK_SOURCE] = {"source", RP_CELL_TEXT, 0, 32},
                [RP_TASK_INHERITED_FROM] = {"inherited_from", RP_CELL_TEXT, RP_COL_NULL, 128},
                [HEARD_IN] = {"heard_in", RP_CELL_TEXT, RP_COL_HIDDEN, 64}},
    .flags = {{"flagged_incomplete", false}, {"referred", true}, {"confirmed", true}},
    .time_name = "at",
    .keyed = true,
    .max_rows = 256,
    .max_bytes = TASKS_BYTES,
    .victim = victim,
};

static const struct rp__shape pin_shape = {
    .name = "tasks.pins",
    .columns =
        {[PIN_LABEL] = {"label", RP_CELL_ID, RP_COL_NEED, 0}, [PIN_IDS] = {"ids", RP_CELL_ARRAY, RP_COL_NEED, IDS_MAX}},
    .keyed = true,
    .max_rows = RP_PIN_SLOTS,
    .max_bytes = PINS_BYTES,
};

struct tasks {
  struct rp__rows rows; /* first: what asks for the facet's list gets the tasks */
  struct rp__rows pins;
};

/* ---- what they are ---------------------------------------------------------------------- */

static struct rp__str inner(struct rp__json string)
{
  return string.n >= 2 ? (struct rp__str){string.p + 1, string.n - 2} : RP_STR("");
}

static bool cell_is(const struct rp__row *row, unsigned column, const char *word)
{
  return rp__text_same(inner(rp__row_cell(row, column)), rp__str(word));
}

static bool is_open(const struct rp__row *row)
{
  return cell_is(row, RP_TASK_STATUS, "open") && !cell_is(row, RP_TASK_STAGE, "done");
}

static bool from_message(const struct rp__row *row)
{
  return cell_is(row, RP_TASK_SOURCE, "message");
}

bool rp__task_row_pending(const struct rp__row *row, int64_t now_ms)
{
  if (!is_open(row)) return false;
  return !from_message(row) || (row->flags & RP_TASK_CONFIRMED) || now_ms - row->at_ms <= RP_TASK_HEARD_MS;
}

bool rp__task_is_open(struct rp__json body)
{
  struct rp__json status = rp__json_get(body, "status");
  if (rp__json_eq(status, "done") || rp__json_eq(status, "deleted")) return false;
  return !rp__text_same(inner(rp__json_get(body, "stage")), RP_STR("done"));
}

/* Whether a pin other than `except` names the task of that id. */
static bool pinned(const struct tasks *t, struct rp__str id, size_t except)
{
  for (size_t i = 0; i < t->pins.count; i++) {
    struct rp__json ids = rp__row_cell(t->pins.v[i], PIN_IDS), item;
    struct rp__json_iter it = {0};
    while (i != except && rp__json_next(ids, &it, NULL, &item))
      if (rp__text_same(inner(item), id)) return true;
  }
  return false;
}

/* What goes first: what is closed, then what was only talked about. */
static unsigned rank(const struct rp__row *row)
{
  if (!is_open(row)) return 0;
  return from_message(row) ? 1 : 2;
}

static size_t victim(const struct rp__rows *r)
{
  size_t best = 0;
  for (size_t i = 1; i < r->count; i++)
    if (rank(r->v[i]) < rank(r->v[best])) best = i;
  return best;
}

/* ---- task events --------------------------------------------------------------------------- */

static void set_status(struct rp__cells *c, struct rp__json status)
{
  bool deleted = rp__json_eq(status, "deleted"), done = rp__json_eq(status, "done");
  rp__cells_literal(c, RP_TASK_STATUS, deleted ? "\"deleted\"" : done ? "\"done\"" : OPEN);
}

static int apply_task(struct tasks *t, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  bool ok;
  int rc = rp__cells_read(&shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  set_status(&c, rp__event_get(ev, "status"));
  rp__cells_literal(&c, RP_TASK_SOURCE, FROM_PIPELINE);
  c.cell[RP_TASK_INHERITED_FROM] = c.cell[HEARD_IN] = (struct rp__str){0};
  c.flags &= RP_TASK_FLAGGED;
  return rp__rows_renew(&t->rows, rp__rows_find(&t->rows, c.cell[RP_TASK_ID]), &c, ev->at_ms);
}

/* The cells of a task of which there is only a name. */
static int name_task(struct rp__cells *c, struct rp__str id, struct rp__str title, const char *source)
{
  int rc = rp__cells_text(&shape, c, RP_TASK_ID, id);
  if (rc == 0) rc = rp__cells_text(&shape, c, RP_TASK_TITLE, title);
  rp__cells_literal(c, RP_TASK_STAGE, "\"unknown\"");
  rp__cells_literal(c, RP_TASK_STATUS, OPEN);
  rp__cells_literal(c, RP_TASK_SOURCE, source);
  return rc;
}

/* ---- pins -------------------------------------------------------------------------------------- */

/* The task at i was known from a pin that is gone: it goes too, unless a message speaks of it. */
static int orphan(struct tasks *t, size_t i)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  const struct rp__row *row = t->rows.v[i];
  if (!cell_is(row, RP_TASK_SOURCE, "working_memory_scan")) return 0;
  if (!(row->flags & REFERRED)) {
    rp__rows_drop(&t->rows, i);
    return 0;
  }
  rp__cells_from(&c, row);
  rp__cells_literal(&c, RP_TASK_SOURCE, FROM_MESSAGE);
  c.flags = REFERRED | RP_TASK_CONFIRMED;
  return rp__rows_put(&t->rows, i, &c, row->at_ms);
}

static int forget_pin(struct tasks *t, size_t pin)
{
  struct rp__json ids = rp__row_cell(t->pins.v[pin], PIN_IDS), item;
  struct rp__json_iter it = {0};
  int rc = 0;
  while (rc == 0 && rp__json_next(ids, &it, NULL, &item)) {
    size_t i = rp__mention_row(&t->rows, inner(item));
    if (i < t->rows.count && !pinned(t, inner(item), pin)) rc = orphan(t, i);
  }
  rp__rows_drop(&t->pins, pin);
  return rc;
}

/* Remembers what the pin of that label names as incomplete. */
static int scan_pin(struct tasks *t, struct rp__str label, struct rp__json content, struct rp__cells *c, int64_t at_ms)
{
  char room[RP_TEXT_HEAD];
  struct rp__buf *ids = &c->own[PIN_IDS];
  struct rp__mentions m = {.n = 0};
  struct rp__str text = rp__text_head(content, room);
  if (!rp__says_incomplete(label) && !rp__says_incomplete(text)) return 0;
  rp__mentions_in_pin(&t->rows, label, &m);
  rp__mentions_in_pin(&t->rows, text, &m);
  if (m.n == 0) return 0;
  /* The ids as far as they fit; of those that look like one, tasks are made. */
  *ids = RP_BUF(IDS_MAX);
  struct rp__jw w = RP_JW(ids);
  rp__jw_array(&w);
  for (size_t i = 0; i < m.n; i++) {
    struct rp__str id = m.v[i].id;
    if (ids->n + 6 * id.n + 4 > IDS_MAX) continue;
    rp__jw_strn(&w, id.p, id.n);
    size_t row = rp__mention_row(&t->rows, id);
    if (row < t->rows.count && from_message(t->rows.v[row])) rp__rows_flag(&t->rows, row, RP_TASK_CONFIRMED, true);
    if (m.v[i].kind != RP_MENTION_FORM) continue;
    RP_AUTOCELLS struct rp__cells named = {.flags = RP_TASK_FLAGGED};
    int rc = name_task(&named, id, label, FROM_PIN);
    if (rc == 0) rc = rp__rows_put(&t->rows, t->rows.count, &named, at_ms);
    if (rc) return rc;
  }
  rp__jw_end_array(&w);
  if (ids->err) return ids->err;
  c->cell[PIN_IDS] = (struct rp__str){ids->p, ids->n};
  return rp__rows_put(&t->pins, t->pins.count, c, at_ms);
}

enum pin_change { PINNED, UNPINNED, INHERITED };

static int apply_pin(struct tasks *t, struct rp__json pin, enum pin_change change, int64_t at_ms)
{
  char room[RP_TEXT_HEAD];
  RP_AUTOCELLS struct rp__cells c = {0};
  struct rp__str label = rp__pin_bare(rp__text_head(rp__json_get(pin, "label"), room));
  if (label.n == 0 || label.n > RP_EVENT_ID_MAX) return 0;
  int rc = rp__cells_text(&pin_shape, &c, PIN_LABEL, label);
  size_t i = rc ? 0 : rp__rows_find(&t->pins, c.cell[PIN_LABEL]);
  if (rc || (i < t->pins.count && change == INHERITED)) return rc;
  if (i < t->pins.count) rc = forget_pin(t, i);
  return rc || change == UNPINNED ? rc : scan_pin(t, label, rp__json_get(pin, "content"), &c, at_ms);
}

/* ---- messages -------------------------------------------------------------------------------------- */

/*
 * A message mentions a task that is known from messages, or not at all, as not completed. `again`: the same event has
 * mentioned it before. The task comes behind all others.
 */
static int hear(struct tasks *t, size_t i, const struct rp__mention *m, const struct rp__event *ev, bool again)
{
  RP_AUTOCELLS struct rp__cells c = {.flags = REFERRED};
  RP_AUTOBUF struct rp__buf title = RP_BUF(2 * RP_TEXT_HEAD);
  const struct rp__row *row = i < t->rows.count ? t->rows.v[i] : NULL;
  struct rp__json id = rp__event_get(ev, "message_id");
  /* Chunks of a stream are one message, by its id or because no whole message came between. */
  bool whole = rp__event_get(ev, "partial").type != RP_JSON_TRUE;
  int rc = rp__mention_title(m, &title);
  if (!rc && !row) rc = name_task(&c, m->id, (struct rp__str){title.p, title.n}, FROM_MESSAGE);
  if (row) rp__cells_from(&c, row);
  bool untitled = row && rp__text_same(inner(rp__row_cell(row, RP_TASK_TITLE)), inner(rp__row_cell(row, RP_TASK_ID)));
  if (!rc && untitled) rc = rp__cells_text(&shape, &c, RP_TASK_TITLE, (struct rp__str){title.p, title.n});
  struct rp__str before = c.cell[HEARD_IN];
  c.cell[HEARD_IN] = (struct rp__str){0};
  if (!rc && (id.type == RP_JSON_STRING || !whole)) rc = rp__cells_text(&shape, &c, HEARD_IN, inner(id));
  if (rc) return rc;
  struct rp__str now = c.cell[HEARD_IN];
  bool same = now.n && now.n == before.n && memcmp(now.p, before.p, now.n) == 0;
  if (row && !again && !same) c.flags |= RP_TASK_CONFIRMED;
  c.flags |= REFERRED;
  return rp__rows_renew(&t->rows, i, &c, ev->at_ms);
}

static int apply_message(struct tasks *t, const struct rp__event *ev)
{
  struct rp__texts texts;
  struct rp__mentions m;
  struct rp__str text;
  size_t heard = 0; /* tasks at the end that this event mentioned */
  int rc = 0;
  rp__texts_begin(&texts, ev->body);
  while (rc == 0 && rp__texts_next(&texts, &text)) {
    rp__mentions_in_message(&t->rows, text, &m);
    for (const struct rp__mention *said = m.v; rc == 0 && said < m.v + m.n; said++) {
      size_t i = rp__mention_row(&t->rows, said->id);
      bool known = i < t->rows.count, told = known && !from_message(t->rows.v[i]);
      bool again = known && i + heard >= t->rows.count;
      if (told || (known && said->completed && pinned(t, said->id, SIZE_MAX)))
        rp__rows_flag(&t->rows, i, REFERRED, !said->completed);
      else if (!said->completed)
        rc = hear(t, i, said, ev, again), heard += !again;
      else if (known)
        rp__rows_drop(&t->rows, i), heard -= again;
    }
  }
  return rc;
}

static int apply_restored(struct tasks *t, const struct rp__event *ev)
{
  struct rp__json tasks = rp__event_get(ev, "tasks"), pins = rp__event_get(ev, "pins"), item;
  struct rp__json_iter task = {0}, pin = {0};
  int rc = 0;
  while (rc == 0 && tasks.type == RP_JSON_ARRAY && rp__json_next(tasks, &task, NULL, &item)) {
    RP_AUTOCELLS struct rp__cells c = {0};
    struct rp__json source = rp__json_get(item, "source");
    bool ok, scanned = rp__json_eq(source, "working_memory_scan"), message = rp__json_eq(source, "message");
    rc = rp__cells_read(&shape, item, &c, &ok);
    if (rc || !ok || rp__rows_find(&t->rows, c.cell[RP_TASK_ID]) < t->rows.count) continue;
    set_status(&c, rp__json_get(item, "status"));
    rp__cells_literal(&c, RP_TASK_SOURCE, scanned ? FROM_PIN : message ? FROM_MESSAGE : FROM_PIPELINE);
    c.flags &= RP_TASK_FLAGGED | RP_TASK_CONFIRMED;
    c.cell[HEARD_IN] = (struct rp__str){0};
    rc = rp__rows_put(&t->rows, t->rows.count, &c, rp__rows_time(item, "at", ev->at_ms));
  }
  while (rc == 0 && pins.type == RP_JSON_ARRAY && rp__json_next(pins, &pin, NULL, &item))
    rc = apply_pin(t, item, INHERITED, ev->at_ms);
  return rc;
}

static int tasks_apply(void *state, const struct rp__event *ev)
{
  switch (ev->kind) {
  case RP_KIND_TASK: return apply_task(state, ev);
  case RP_KIND_PIN: return apply_pin(state, ev->body, PINNED, ev->at_ms);
  case RP_KIND_UNPIN: return apply_pin(state, ev->body, UNPINNED, ev->at_ms);
  case RP_KIND_MESSAGE: return apply_message(state, ev);
  case RP_KIND_RESTORED: return apply_restored(state, ev);
  default: return 0;
  }
}

/* ---- the rest of a facet ------------------------------------------------------------------------------ */

static void tasks_init(const struct rp__facet_ops *ops, void *state)
{
  struct tasks *t = state;
  t->rows.shape = ops->data;
  t->pins.shape = &pin_shape;
}

static bool tasks_empty(const void *state)
{
  const struct tasks *t = state;
  return t->rows.count == 0 && t->pins.count == 0;
}

static void tasks_save(const void *state, struct rp__jw *w)
{
  const struct tasks *t = state;
  rp__jw_object(w);
  rp__jw_key(w, "tasks");
  rp__rows_save(&t->rows, w);
  rp__jw_key(w, "pins");
  rp__rows_save(&t->pins, w);
  rp__jw_end_object(w);
}

static void tasks_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct tasks *t = state;
  rp__jw_array(w);
  for (size_t i = 0; i < t->rows.count; i++) {
    rp__jw_object(w);
    rp__row_show(t->rows.v[i], &shape, w);
    rp__jw_pack(w, "pending:b}", rp__task_row_pending(t->rows.v[i], now_ms));
  }
  rp__jw_end_array(w);
}

static int tasks_load(void *state, struct rp__json v, rp_error *err)
{
  struct tasks *t = state;
  int rc = rp__rows_load(&t->rows, rp__json_get(v, "tasks"), err);
  return rc ? rc : rp__rows_load(&t->pins, rp__json_get(v, "pins"), err);
}

static void tasks_done(void *state)
{
  struct tasks *t = state;
  rp__rows_done(&t->rows);
  rp__rows_done(&t->pins);
}

const struct rp__facet_ops rp__facet_tasks = {
    .name = "tasks",
    .state_size = sizeof(struct tasks),
    .data = &shape,
    .init = tasks_init,
    .max_bytes = TASKS_BYTES + PINS_BYTES + 64,
    .apply = tasks_apply,
    .empty = tasks_empty,
    .save = tasks_save,
    .show = tasks_show,
    .load = tasks_load,
    .done = tasks_done,
};
