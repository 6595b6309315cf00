/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last messages, their content as the bytes that came.
 *
 * A message is one block of memory, and the ring holds pointers: an event costs
 * one allocation, one copy and, once the ring is full, one release; nothing is
 * moved. The oldest messages go when there are too many of them or too many bytes.
 *
 * A session that has said nothing yet may be given the last messages of the one before (N-07): they go like any other
 * when new ones come, but are not counted as its own.
 */
#include "facets/table.h"

#include "facets/rows.h"

#define MESSAGES_MAX 500
#define CONTENT_MAX ((size_t)1792 * 1024)
#define SMALL_MAX 4096 /* raw bytes of role, message_id and source; what the check lets in is below */
#define OVERHEAD 192   /* bytes of names, numbers and punctuation around a message, at most */

/* The parts of a message that are kept, in the order of their bytes. */
enum part { PART_ROLE, PART_CONTENT, PART_ID, PART_SOURCE, PARTS };
static const char *const part_names[PARTS] = {"role", "content", "message_id", "source"};

struct message {
  int64_t seq, at_ms;
  int64_t omitted;   /* bytes of a content too large to keep, which is null then; else 0 */
  bool carried;      /* from an earlier session; its seq is that of the event that brought it */
  uint32_t n[PARTS]; /* 0: absent */
  char bytes[];
};

struct conversation {
  struct message *ring[MESSAGES_MAX];
  size_t first, count;
  size_t bytes; /* of all parts */
  int64_t total;
};

static size_t message_bytes(const struct message *m)
{
  size_t n = 0;
  for (unsigned i = 0; i < PARTS; i++) n += m->n[i];
  return n;
}

static void drop_oldest(struct conversation *c)
{
  struct message *m = c->ring[c->first];
  c->bytes -= message_bytes(m);
  c->first = (c->first + 1) % MESSAGES_MAX;
  c->count--;
  free(m);
}

static struct message *message_at(const struct conversation *c, size_t i)
{
  return c->ring[(c->first + i) % MESSAGES_MAX];
}

/* ---- taking messages in ------------------------------------------------------ */

/* One walk over the object, because the content may be long. */
static void find_parts(struct rp__json object, struct rp__json parts[PARTS])
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  memset(parts, 0, PARTS * sizeof parts[0]);
  while (rp__json_next(object, &it, &key, &value)) {
    for (unsigned i = 0; i < PARTS; i++) {
      if (parts[i].type == RP_JSON_NONE && rp__json_eq(key, part_names[i])) parts[i] = value;
    }
  }
}

static bool small_string(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n <= SMALL_MAX;
}

/* Whether these are the parts of a message; leaves out optional ones of the wrong kind. */
static bool parts_ok(struct rp__json parts[PARTS])
{
  if (!small_string(parts[PART_ROLE])) return false;
  if (parts[PART_CONTENT].type != RP_JSON_STRING && parts[PART_CONTENT].type != RP_JSON_ARRAY) return false;
  if (!small_string(parts[PART_ID])) parts[PART_ID] = (struct rp__json){0};
  if (!small_string(parts[PART_SOURCE])) parts[PART_SOURCE] = (struct rp__json){0};
  return true;
}

static struct message *message_new(const struct rp__json parts[PARTS], int64_t seq, int64_t at_ms)
{
  size_t n = 0;
  for (unsigned i = 0; i < PARTS; i++) n += parts[i].n;
  struct message *m = malloc(sizeof *m + n);
  if (!m) return NULL;
  *m = (struct message){.seq = seq, .at_ms = at_ms};
  char *to = m->bytes;
  for (unsigned i = 0; i < PARTS; i++) {
    m->n[i] = (uint32_t)parts[i].n;
    if (parts[i].n) memcpy(to, parts[i].p, parts[i].n);
    to += parts[i].n;
  }
  return m;
}

static void push(struct conversation *c, struct message *m)
{
  size_t n = message_bytes(m);
  while (c->count && (c->count == MESSAGES_MAX || c->bytes + n > CONTENT_MAX)) drop_oldest(c);
  c->ring[(c->first + c->count) % MESSAGES_MAX] = m;
  c->count++;
  c->bytes += n;
}

/* A content that would not fit alone leaves its place and its size behind. */
static int take(struct conversation *c, struct rp__json parts[PARTS], const struct message *as)
{
  size_t omitted = parts[PART_CONTENT].n > CONTENT_MAX - 3 * SMALL_MAX ? parts[PART_CONTENT].n : 0;
  if (omitted) parts[PART_CONTENT] = (struct rp__json){"null", 4, RP_JSON_NULL};
  struct message *m = message_new(parts, as->seq, as->at_ms);
  if (!m) return RP_E_NOMEM;
  m->omitted = (int64_t)omitted;
  m->carried = as->carried;
  push(c, m);
  return 0;
}

static int take_carried(struct conversation *c, struct rp__json messages, const struct rp__event *ev)
{
  struct rp__json parts[PARTS], item;
  struct rp__json_iter it = {0};
  if (c->count || c->total || messages.type != RP_JSON_ARRAY) return 0;
  while (rp__json_next(messages, &it, NULL, &item)) {
    struct message as = {.seq = ev->seq, .at_ms = rp__rows_time(item, "at", ev->at_ms), .carried = true};
    find_parts(item, parts);
    int rc = parts_ok(parts) ? take(c, parts, &as) : 0;
    if (rc) return rc;
  }
  return 0;
}

static int conversation_apply(void *state, const struct rp__event *ev)
{
  struct conversation *c = state;
  struct rp__json parts[PARTS];
  if (ev->kind == RP_KIND_RESTORED)
    return take_carried(c, rp__json_get(rp__json_get(ev->body, "carried"), "conversation"), ev);
  if (ev->kind != RP_KIND_MESSAGE) return 0;
  find_parts(ev->body, parts);
  if (!parts_ok(parts)) return 0;
  int rc = take(c, parts, &(struct message){.seq = ev->seq, .at_ms = ev->at_ms});
  if (rc) return rc;
  if (c->total < INT64_MAX) c->total++;
  return 0;
}

static bool conversation_empty(const void *state)
{
  const struct conversation *c = state;
  return c->total == 0 && c->count == 0;
}

/* ---- writing ------------------------------------------------------------------ */

static void write_message(const struct message *m, bool show, struct rp__jw *w)
{
  const char *at = m->bytes;
  rp__jw_object(w);
  rp__jw_ki64(w, "seq", m->seq);
  for (unsigned i = 0; i < PARTS; i++) {
    if (m->n[i]) {
      rp__jw_key(w, part_names[i]);
      rp__jw_raw(w, at, m->n[i]);
    }
    at += m->n[i];
  }
  if (m->omitted) rp__jw_ki64(w, "omitted_bytes", m->omitted);
  if (m->carried) rp__jw_kbool(w, "carried", true);
  if (show)
    rp__jw_ktime(w, "at", m->at_ms);
  else
    rp__jw_ki64(w, "at_ms", m->at_ms);
  rp__jw_end_object(w);
}

static void write_all(const struct conversation *c, bool show, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_key(w, "messages");
  rp__jw_array(w);
  for (size_t i = 0; i < c->count; i++) write_message(message_at(c, i), show, w);
  rp__jw_end_array(w);
  rp__jw_ki64(w, "total", c->total);
  rp__jw_end_object(w);
}

static void conversation_save(const void *state, struct rp__jw *w)
{
  write_all(state, false, w);
}

static void conversation_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  (void)now_ms;
  write_all(state, true, w);
}

/* ---- loading ------------------------------------------------------------------- */

static int corrupt(rp_error *err, const char *field)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, field, "%s is not what a snapshot holds there", field);
}

/* What was carried comes first, all of it with one seq. */
static bool follows(const struct message *last, int64_t seq, bool carried)
{
  if (!last) return true;
  return carried ? last->carried && seq == last->seq : seq > last->seq;
}

static int load_message(struct conversation *c, struct rp__json v, rp_error *err)
{
  static const char field[] = "conversation.messages";
  struct rp__json parts[PARTS], omitted = rp__json_get(v, "omitted_bytes");
  const struct message *last = c->count ? message_at(c, c->count - 1) : NULL;
  bool carried = rp__json_get(v, "carried").type == RP_JSON_TRUE;
  int64_t seq, at_ms, left_out = 0;
  if (!rp__json_i64(rp__json_get(v, "seq"), &seq) || seq < 1 || !follows(last, seq, carried))
    return corrupt(err, field);
  if (!rp__json_i64(rp__json_get(v, "at_ms"), &at_ms)) return corrupt(err, field);
  find_parts(v, parts);
  if (omitted.type != RP_JSON_NONE) {
    if (!rp__json_i64(omitted, &left_out) || left_out <= 0) return corrupt(err, field);
    if (parts[PART_CONTENT].type != RP_JSON_NULL) return corrupt(err, field);
    parts[PART_CONTENT].type = RP_JSON_STRING;
  }
  if (!parts_ok(parts)) return corrupt(err, field);
  struct message *m = message_new(parts, seq, at_ms);
  if (!m) return rp__fail_nomem(err);
  m->omitted = left_out;
  m->carried = carried;
  if (c->count == MESSAGES_MAX || c->bytes + message_bytes(m) > CONTENT_MAX) {
    free(m);
    return corrupt(err, field);
  }
  push(c, m);
  return 0;
}

static int conversation_load(void *state, struct rp__json v, rp_error *err)
{
  struct conversation *c = state;
  struct rp__json messages = rp__json_get(v, "messages"), item;
  struct rp__json_iter it = {0};
  if (messages.type != RP_JSON_ARRAY) return corrupt(err, "conversation.messages");
  while (rp__json_next(messages, &it, NULL, &item)) {
    int rc = load_message(c, item, err);
    if (rc) return rc;
  }
  if (!rp__json_i64(rp__json_get(v, "total"), &c->total)) return corrupt(err, "conversation.total");
  int64_t own = 0;
  for (size_t i = 0; i < c->count; i++) own += !message_at(c, i)->carried;
  if (c->total < own || (c->total == 0 && c->count == 0)) return corrupt(err, "conversation.total");
  return 0;
}

static void conversation_done(void *state)
{
  struct conversation *c = state;
  while (c->count) drop_oldest(c);
}

static int64_t conversation_newest(const void *state)
{
  const struct conversation *c = state;
  return c->count ? c->ring[(c->first + c->count - 1) % MESSAGES_MAX]->seq : 0;
}

const struct rp__facet_ops rp__facet_conversation = {
    .name = "conversation",
    .state_size = sizeof(struct conversation),
    .max_bytes = CONTENT_MAX + (size_t)MESSAGES_MAX * OVERHEAD + OVERHEAD,
    .apply = conversation_apply,
    .empty = conversation_empty,
    .save = conversation_save,
    .show = conversation_show,
    .load = conversation_load,
    .newest = conversation_newest,
    .done = conversation_done,
};
