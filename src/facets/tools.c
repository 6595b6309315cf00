/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of tool calls (B-04). An entry is written ahead of the call, as `intended`, so that a crash leaves no call
 * without a trace. A restart with an unclean cause makes every call without an end `unknown`.
 *
 * Ids and names are kept as JSON strings in one spelling, so that equal ids are equal bytes, before and after a
 * snapshot. Calls are in the order in which they were first seen. At most OPEN_MAX calls without an outcome and
 * DONE_MAX with one are kept.
 */
#include "facets/table.h"

#include <assert.h>

#include "base/text.h"

#define OPEN_MAX 256
#define DONE_MAX 100
#define CALLS_MAX (OPEN_MAX + DONE_MAX)
#define BYTES_MAX ((size_t)768 * 1024)
#define NAME_MAX_BYTES 256 /* decoded; longer names are cut */
#define VALUE_MAX 2048     /* raw bytes of an input or output; larger ones leave their size behind */
#define ID_RAW_MAX (6 * RP_EVENT_ID_MAX + 2)
#define NAME_RAW_MAX (6 * NAME_MAX_BYTES + 2)
#define OVERHEAD 256 /* bytes of names, numbers and punctuation around a call, at most */

/*
 * [was][told]: whether what is told is believed. An outcome is final; a call that
 * runs is no longer only intended; one whose outcome was unknown may turn out to
 * have ended, or be taken up again.
 */
static const bool believed[RP_TOOL_STATUSES][RP_TOOL_STATUSES] = {
    [RP_TOOL_INTENDED] = {true, true, true, true, true},
    [RP_TOOL_RUNNING] = {false, true, true, true, true},
    [RP_TOOL_DONE] = {false},
    [RP_TOOL_FAILED] = {false},
    [RP_TOOL_UNKNOWN] = {true, true, true, true, true},
};

enum part { PART_ID, PART_NAME, PART_INPUT, PART_OUTPUT, PARTS };
static const char *const part_names[PARTS] = {"call_id", "name", "input", "output"};
static const char *const size_names[PARTS] = {NULL, NULL, "input_bytes", "output_bytes"};
static const size_t part_max[PARTS] = {ID_RAW_MAX, NAME_RAW_MAX, VALUE_MAX, VALUE_MAX};

struct call {
  int64_t seq, at_ms;     /* of the last change */
  int64_t omitted[PARTS]; /* bytes of an input or output too large to keep */
  size_t n[PARTS];        /* 0: absent */
  enum rp__tool_status status;
  char bytes[]; /* the parts, one after the other */
};

struct tools {
  struct call *calls[CALLS_MAX + 1]; /* one more than stays, until the surplus is dropped */
  size_t count, bytes;
  size_t ended; /* of them, with an outcome */
};

/* What an event or a snapshot says about a call. */
struct told {
  int64_t seq, at_ms;
  enum rp__tool_status status;
  struct rp__str part[PARTS];
  int64_t omitted[PARTS];
};

static size_t call_bytes(const struct call *c)
{
  size_t n = OVERHEAD;
  for (unsigned i = 0; i < PARTS; i++) n += c->n[i];
  return n;
}

static struct rp__str call_part(const struct call *c, enum part part)
{
  const char *at = c->bytes;
  for (unsigned i = 0; i < part; i++) at += c->n[i];
  return (struct rp__str){at, c->n[part]};
}

static bool has_outcome(const struct call *c)
{
  return c->status == RP_TOOL_DONE || c->status == RP_TOOL_FAILED;
}

static bool parse_status(struct rp__json v, enum rp__tool_status *ret)
{
  size_t i = rp__json_one_of(v, rp__tool_status_words, RP_TOOL_STATUSES);
  if (i < RP_TOOL_STATUSES) *ret = (enum rp__tool_status)i;
  return i < RP_TOOL_STATUSES;
}

/* ---- the list ------------------------------------------------------------------ */

static struct call *call_new(const struct told *t)
{
  size_t n = 0;
  for (unsigned i = 0; i < PARTS; i++) n += t->part[i].n;
  struct call *c = malloc(sizeof *c + n);
  if (!c) return NULL;
  *c = (struct call){.seq = t->seq, .at_ms = t->at_ms, .status = t->status};
  char *to = c->bytes;
  for (unsigned i = 0; i < PARTS; i++) {
    c->n[i] = t->part[i].n;
    c->omitted[i] = t->omitted[i];
    if (c->n[i]) memcpy(to, t->part[i].p, c->n[i]);
    to += c->n[i];
  }
  return c;
}

/* The newest first, for those end next. */
static size_t find(const struct tools *t, struct rp__str id)
{
  for (size_t i = t->count; i > 0; i--) {
    const struct call *c = t->calls[i - 1];
    if (c->n[PART_ID] != id.n || c->bytes[id.n - 2] != id.p[id.n - 2]) continue; /* most differ at their end */
    if (memcmp(c->bytes, id.p, id.n) == 0) return i - 1;
  }
  return t->count;
}

static void drop(struct tools *t, size_t i)
{
  t->bytes -= call_bytes(t->calls[i]);
  t->ended -= has_outcome(t->calls[i]);
  free(t->calls[i]);
  t->count--;
  memmove(&t->calls[i], &t->calls[i + 1], (t->count - i) * sizeof t->calls[0]);
}

/* What goes first: ended calls, then those nobody knows about any more, then open ones. */
static unsigned rank(const struct call *c)
{
  return has_outcome(c) ? 0 : c->status == RP_TOOL_UNKNOWN ? 1 : 2;
}

/* The call of the lowest rank >= `from` that changed longest ago; count when there is none. */
static size_t victim(const struct tools *t, unsigned from)
{
  size_t best = t->count;
  for (size_t i = 0; i < t->count; i++) {
    const struct call *c = t->calls[i], *b = best < t->count ? t->calls[best] : NULL;
    if (rank(c) < from) continue;
    if (!b || rank(c) < rank(b) || (rank(c) == rank(b) && c->seq < b->seq)) best = i;
  }
  return best;
}

static void drop_surplus(struct tools *t)
{
  for (;;) {
    if (t->ended > DONE_MAX || t->bytes > BYTES_MAX)
      drop(t, victim(t, 0));
    else if (t->count - t->ended > OPEN_MAX)
      drop(t, victim(t, 1));
    else
      return;
  }
}

/* Puts the call in place of the one at i, or behind the last. */
static void put(struct tools *t, size_t i, struct call *c)
{
  if (i < t->count) {
    t->bytes -= call_bytes(t->calls[i]);
    t->ended -= has_outcome(t->calls[i]);
    free(t->calls[i]);
  } else {
    t->count++;
  }
  t->calls[i] = c;
  t->bytes += call_bytes(c);
  t->ended += has_outcome(c);
}

/* ---- events ---------------------------------------------------------------------- */

/* The string in its one spelling, cut to `max` decoded bytes (cut false: nothing when it is longer): v, or in `out`. */
static int spell(struct rp__json v, size_t max, bool cut, struct rp__buf *out, struct rp__str *ret)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(v.n);
  if (v.type != RP_JSON_STRING) return 0;
  if (v.n - 2 <= max && !memchr(v.p, '\\', v.n)) {
    *ret = (struct rp__str){v.p, v.n};
    return 0;
  }
  if (rp__json_text(v, &text)) return text.err;
  size_t n = text.n;
  if (n > max && !cut) return 0;
  if (n > max) n = rp__text_clip(text.p, max);
  struct rp__jw w = RP_JW(out);
  rp__jw_strn(&w, text.p, n);
  *ret = (struct rp__str){out->p, out->n};
  return out->err;
}

static void tell_value(struct told *t, enum part part, struct rp__json v)
{
  if (v.type == RP_JSON_NONE) return;
  bool fits = v.n <= VALUE_MAX;
  t->part[part] = fits ? (struct rp__str){v.p, v.n} : (struct rp__str){0};
  t->omitted[part] = fits ? 0 : (int64_t)v.n;
}

static int tools_apply(void *state, const struct rp__event *ev)
{
  struct tools *t = state;
  if (ev->kind == RP_KIND_TOOL) {
    RP_AUTOBUF struct rp__buf id = RP_BUF(ID_RAW_MAX), name = RP_BUF(NAME_RAW_MAX);
    struct told told = {.seq = ev->seq, .at_ms = ev->at_ms};
    if (!parse_status(rp__event_get(ev, "status"), &told.status)) return 0;
    int rc = spell(rp__event_get(ev, "call_id"), RP_EVENT_ID_MAX, false, &id, &told.part[PART_ID]);
    if (rc == 0) rc = spell(rp__event_get(ev, "name"), NAME_MAX_BYTES, true, &name, &told.part[PART_NAME]);
    if (rc || told.part[PART_ID].n == 0 || told.part[PART_NAME].n == 0) return rc;

    size_t i = find(t, told.part[PART_ID]);
    if (i < t->count) {
      if (!believed[t->calls[i]->status][told.status]) return 0;
      /* Inputs and outputs told earlier stay until others come. */
      for (unsigned k = PART_INPUT; k < PARTS; k++) {
        told.part[k] = call_part(t->calls[i], (enum part)k);
        told.omitted[k] = t->calls[i]->omitted[k];
      }
    }
    tell_value(&told, PART_INPUT, rp__event_get(ev, "input"));
    tell_value(&told, PART_OUTPUT, rp__event_get(ev, "output"));
    struct call *c = call_new(&told);
    if (!c) return RP_E_NOMEM;
    put(t, i, c);
    drop_surplus(t);
    return 0;
  }
  struct rp__json cause = ev->kind == RP_KIND_RESTORED ? rp__event_get(ev, "cause") : (struct rp__json){0};
  if (cause.type != RP_JSON_STRING || rp__json_eq(cause, "clean") || rp__json_eq(cause, "upgrade")) return 0;
  for (size_t i = 0; i < t->count; i++) {
    struct call *c = t->calls[i];
    if (c->status != RP_TOOL_INTENDED && c->status != RP_TOOL_RUNNING) continue;
    c->status = RP_TOOL_UNKNOWN;
    c->seq = ev->seq;
    c->at_ms = ev->at_ms;
  }
  return 0;
}

static bool tools_empty(const void *state)
{
  return ((const struct tools *)state)->count == 0;
}

/* ---- writing ------------------------------------------------------------------------ */

static void write_all(const struct tools *t, bool show, struct rp__jw *w)
{
  rp__jw_array(w);
  for (size_t k = 0; k < t->count; k++) {
    const struct call *c = t->calls[k];
    rp__jw_object(w);
    for (unsigned i = 0; i < PARTS; i++) {
      struct rp__str part = call_part(c, (enum part)i);
      if (part.n) {
        rp__jw_key(w, part_names[i]);
        rp__jw_raw(w, part.p, part.n);
      }
      if (i == PART_NAME) rp__jw_kstr(w, "status", rp__tool_status_words[c->status]);
      if (c->omitted[i]) rp__jw_ki64(w, size_names[i], c->omitted[i]);
    }
    rp__jw_ki64(w, "seq", c->seq);
    if (show)
      rp__jw_ktime(w, "at", c->at_ms);
    else
      rp__jw_ki64(w, "at_ms", c->at_ms);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

static void tools_save(const void *state, struct rp__jw *w)
{
  write_all(state, false, w);
}

static void tools_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  (void)now_ms;
  write_all(state, true, w);
}

/* ---- loading ------------------------------------------------------------------------- */

static int corrupt(rp_error *err)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "tools", "a tool call is not what a snapshot holds there");
}

static int tools_load(void *state, struct rp__json v, rp_error *err)
{
  struct tools *t = state;
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (v.type != RP_JSON_ARRAY) return corrupt(err);
  while (rp__json_next(v, &it, NULL, &item)) {
    struct told told = {0};
    if (!parse_status(rp__json_get(item, "status"), &told.status)) return corrupt(err);
    if (!rp__json_i64(rp__json_get(item, "seq"), &told.seq) || told.seq < 1) return corrupt(err);
    if (!rp__json_i64(rp__json_get(item, "at_ms"), &told.at_ms)) return corrupt(err);
    for (unsigned i = 0; i < PARTS; i++) {
      struct rp__json value = rp__json_get(item, part_names[i]), size = {0};
      if (!size_names[i] && value.type != RP_JSON_STRING) return corrupt(err);
      if (value.n > part_max[i]) return corrupt(err);
      told.part[i] = (struct rp__str){value.p, value.n};
      if (size_names[i]) size = rp__json_get(item, size_names[i]);
      if (size.type == RP_JSON_NONE) continue;
      if (!rp__json_i64(size, &told.omitted[i]) || told.omitted[i] <= 0 || value.n) return corrupt(err);
    }
    if (t->count == CALLS_MAX || find(t, told.part[PART_ID]) < t->count) return corrupt(err);
    struct call *c = call_new(&told);
    if (!c) return rp__fail_nomem(err);
    put(t, t->count, c);
  }
  size_t count = t->count;
  drop_surplus(t);
  return t->count == count ? 0 : corrupt(err);
}

static void tools_done(void *state)
{
  struct tools *t = state;
  for (size_t i = 0; i < t->count; i++) free(t->calls[i]);
  t->count = 0;
}

static int64_t tools_newest(const void *state)
{
  const struct tools *t = state;
  int64_t newest = 0;
  for (size_t i = 0; i < t->count; i++) newest = RP_MAX(newest, t->calls[i]->seq);
  return newest;
}

const struct rp__facet_ops rp__facet_tools = {
    .name = "tools",
    .state_size = sizeof(struct tools),
    .max_bytes = BYTES_MAX,
    .apply = tools_apply,
    .empty = tools_empty,
    .save = tools_save,
    .show = tools_show,
    .load = tools_load,
    .newest = tools_newest,
    .done = tools_done,
};

size_t rp__tools_count(const struct rp__fold *f)
{
  const struct tools *t = f ? rp__fold_facet(f, rp__facet_tools.name) : NULL;
  return t ? t->count : 0;
}

struct rp__tool_call rp__tools_at(const struct rp__fold *f, size_t i)
{
  const struct tools *t = rp__fold_facet(f, rp__facet_tools.name);
  assert(i < t->count);
  const struct call *c = t->calls[i];
  struct rp__str id = call_part(c, PART_ID), name = call_part(c, PART_NAME);
  return (struct rp__tool_call){
      .call_id = {id.p, id.n, RP_JSON_STRING}, .name = {name.p, name.n, RP_JSON_STRING}, .status = c->status};
}
