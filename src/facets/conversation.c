/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last messages, with their content as the bytes that came.
 *
 * A message is one block of memory, and the ring holds pointers. An event costs one allocation, one copy and, once the
 * ring is full, one release. The oldest messages are dropped when there are too many messages or too many bytes. But no
 * message of a tool or the system makes one of the last turns of user and assistant drop out (N-06).
 *
 * The chunks of a stream are one message. A stream with a message_id stays open until a message with this id that is
 * not partial ends it, whatever messages come in between. A stream without an id stays open as long as it is the last
 * message. A whole message replaces all chunks of it that came before, whoever sent them. A message that is marked as a
 * thought is not part of the conversation, and ends no stream.
 *
 * A session without a message may be given the last messages of the session before (N-07). Newer messages displace them
 * like any others, but they are not counted as the session's own.
 */
#include "facets/message.h"

#include <assert.h>

#include "facets/rows.h"
#include "facets/table.h"

#define MESSAGES_MAX 500
#define TURNS_KEPT 50
#define CONTENT_MAX ((size_t)1792 * 1024)
#define OVERHEAD 192 /* bytes of names, numbers and punctuation around a message, at most */

struct conversation {
  struct rp__message *ring[MESSAGES_MAX];
  size_t first, count;
  size_t turns; /* of them, user's and assistant's */
  size_t bytes; /* of all parts */
  size_t open;  /* streams that may go on */
  int64_t total;
};

static struct rp__message **place(struct conversation *c, size_t i)
{
  return &c->ring[(c->first + i) % MESSAGES_MAX];
}

static struct rp__message *message_at(const struct conversation *c, size_t i)
{
  return c->ring[(c->first + i) % MESSAGES_MAX];
}

/* What stood before the one dropped moves up; those are few, for it is the first or only kept turns are before it. */
static void drop(struct conversation *c, size_t i)
{
  struct rp__message *m = message_at(c, i);
  c->bytes -= rp__message_bytes(m);
  c->turns -= m->turn;
  c->open -= m->open;
  for (; i > 0; i--) *place(c, i) = message_at(c, i - 1);
  c->first = (c->first + 1) % MESSAGES_MAX;
  c->count--;
  free(m);
}

/* Drops the oldest, or the oldest that is no turn where each turn is to be kept; but not `keep`. */
static void drop_one(struct conversation *c, const struct rp__message *keep, bool turn_comes)
{
  size_t oldest = message_at(c, 0) == keep, i = oldest;
  if (c->turns + turn_comes <= TURNS_KEPT)
    while (i < c->count && (message_at(c, i)->turn || message_at(c, i) == keep)) i++;
  drop(c, i < c->count ? i : oldest);
}

static void set_open(struct conversation *c, struct rp__message *m, bool open)
{
  c->open += open;
  c->open -= m->open;
  m->open = open;
}

/* ---- taking messages in ------------------------------------------------------ */

/* A stream without a name is over when another message comes. */
static void close_unnamed(struct conversation *c)
{
  struct rp__message *last = c->count ? message_at(c, c->count - 1) : NULL;
  if (last && last->n[RP_MSG_ID] == 0) set_open(c, last, false);
}

static void push(struct conversation *c, struct rp__message *m)
{
  size_t n = rp__message_bytes(m);
  while (c->count && (c->count == MESSAGES_MAX || c->bytes + n > CONTENT_MAX)) drop_one(c, NULL, m->turn);
  *place(c, c->count) = m;
  c->count++;
  c->turns += m->turn;
  c->open += m->open;
  c->bytes += n;
}

/* A content that would not fit alone leaves its place and its size behind. */
static struct rp__message *make(struct rp__message_body *b, int64_t seq, int64_t at_ms)
{
  struct rp__json *content = &b->part[RP_MSG_CONTENT];
  size_t omitted = content->n > CONTENT_MAX - 3 * RP_MESSAGE_SMALL_MAX ? content->n : 0;
  if (omitted) *content = (struct rp__json){"null", 4, RP_JSON_NULL};
  struct rp__message *m = rp__message_new(b, seq, at_ms);
  if (!m) return NULL;
  m->omitted = (int64_t)omitted;
  m->open = b->partial && !omitted;
  return m;
}

/* The stream that the body goes on with or ends, the newest one; of one that is whole also what has ended. NULL: none.
 */
static struct rp__message **find(struct conversation *c, const struct rp__message_body *b)
{
  if (!c->open && !b->whole) return NULL;
  for (size_t i = c->count; i > 0; i--) {
    const struct rp__message *m = message_at(c, i - 1);
    if ((m->open || b->whole) && rp__message_same(m, b)) return place(c, i - 1);
    if (!b->part[RP_MSG_ID].n) return NULL;
  }
  return NULL;
}

/* The message has grown, or is another; others make room for it. */
static void fit(struct conversation *c, const struct rp__message *m)
{
  while (c->count > 1 && c->bytes > CONTENT_MAX) drop_one(c, m, false);
}

/* The place and the time are those of the first chunk; the other messages of a stream that was long go. */
static int replace(struct conversation *c, const struct rp__message *last, struct rp__message_body *b)
{
  size_t i = c->count - 1;
  while (message_at(c, i) != last) i--;
  size_t first = i;
  for (size_t k = i; k > 0 && message_at(c, first)->follows; k--)
    if (rp__message_same(message_at(c, k - 1), b)) first = k - 1;
  struct rp__message *old = message_at(c, first), *m = make(b, old->seq, old->at_ms);
  if (!m) return RP_E_NOMEM;
  for (; i > first; i--) {
    if (!rp__message_same(message_at(c, i), b)) continue;
    drop(c, i);
    c->total--;
  }
  *place(c, first) = m;
  c->bytes += rp__message_bytes(m) - rp__message_bytes(old);
  c->open += m->open;
  c->open -= old->open;
  free(old);
  fit(c, m);
  return 0;
}

static int conversation_apply(void *state, const struct rp__event *ev)
{
  struct conversation *c = state;
  /* A stream without a name does not outlive the run that spoke. */
  if (ev->kind == RP_KIND_RESTORED) {
    close_unnamed(c);
    struct rp__json messages = rp__json_get(rp__event_get(ev, "carried"), "conversation");
    struct rp__json item;
    struct rp__json_iter it = {0};
    if (c->count || c->total || messages.type != RP_JSON_ARRAY) return 0;
    while (rp__json_next(messages, &it, NULL, &item)) {
      struct rp__message_body b = rp__message_look(item);
      if (!rp__message_ok(&b)) continue;
      b.partial = false;
      struct rp__message *m = make(&b, ev->seq, rp__rows_time(item, "at", ev->at_ms));
      if (!m) return RP_E_NOMEM;
      m->carried = true;
      push(c, m);
    }
    return 0;
  }
  if (ev->kind != RP_KIND_MESSAGE) return 0;
  struct rp__message_body b = rp__message_look(ev->body);
  if (!rp__message_ok(&b) || b.thought) return 0;
  struct rp__message **found = find(c, &b), *m;
  if (found) {
    bool whole;
    int rc = rp__message_is_whole(*found, &b, &whole);
    if (rc) return rc;
    if (whole) return replace(c, *found, &b);
    if (rp__message_goes_on(*found, &b)) {
      size_t before = rp__message_bytes(*found);
      rc = rp__message_join(found, &b);
      if (rc) return rc;
      c->bytes += rp__message_bytes(*found) - before;
      set_open(c, *found, b.partial);
      fit(c, *found);
      return 0;
    }
    set_open(c, *found, false);
  }
  m = make(&b, ev->seq, ev->at_ms);
  if (!m) return RP_E_NOMEM;
  m->follows = found && m->n[RP_MSG_ID];
  close_unnamed(c);
  push(c, m);
  if (c->total < INT64_MAX) c->total++;
  return 0;
}

static bool conversation_empty(const void *state)
{
  const struct conversation *c = state;
  return c->total == 0 && c->count == 0;
}

/* ---- writing ------------------------------------------------------------------ */

static void write_all(const struct conversation *c, bool show, struct rp__jw *w)
{
  rp__jw_pack(w, "{messages:[");
  for (size_t i = 0; i < c->count; i++) rp__message_write(message_at(c, i), show, w);
  rp__jw_pack(w, "] total:i}", c->total);
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

static int conversation_load(void *state, struct rp__json v, rp_error *err)
{
  struct conversation *c = state;
  struct rp__json messages = rp__json_get(v, "messages"), item;
  struct rp__json_iter it = {0};
  if (messages.type != RP_JSON_ARRAY) return corrupt(err, "conversation.messages");
  while (rp__json_next(messages, &it, NULL, &item)) {
    static const char field[] = "conversation.messages";
    enum { SEQ, AT_MS, OMITTED, CARRIED, FOLLOWS, MEMBERS };
    static const char *const names[MEMBERS] = {"seq", "at_ms", "omitted_bytes", "carried", "follows"};
    struct rp__json member[MEMBERS];
    rp__json_members(item, names, MEMBERS, member);
    struct rp__json omitted = member[OMITTED];
    const struct rp__message *last = c->count ? message_at(c, c->count - 1) : NULL;
    bool carried = member[CARRIED].type == RP_JSON_TRUE;
    int64_t seq, at_ms, left_out = 0;
    if (!rp__json_i64(member[SEQ], &seq) || seq < 1 || !rp__json_i64(member[AT_MS], &at_ms)) return corrupt(err, field);
    /* What was carried comes first, all of it with one seq. */
    if (last && (carried ? !last->carried || seq != last->seq : seq <= last->seq)) return corrupt(err, field);
    struct rp__message_body b = rp__message_look(item);
    if (omitted.type != RP_JSON_NONE) {
      if (!rp__json_i64(omitted, &left_out) || left_out <= 0) return corrupt(err, field);
      if (b.part[RP_MSG_CONTENT].type != RP_JSON_NULL) return corrupt(err, field);
      b.part[RP_MSG_CONTENT].type = RP_JSON_STRING;
    }
    if (!rp__message_ok(&b) || (b.partial && (carried || left_out))) return corrupt(err, field);
    struct rp__message *m = rp__message_new(&b, seq, at_ms);
    if (!m) return rp__fail_nomem(err);
    m->omitted = left_out;
    m->carried = carried;
    m->open = b.partial;
    m->follows = member[FOLLOWS].type == RP_JSON_TRUE;
    if (c->count == MESSAGES_MAX || c->bytes + rp__message_bytes(m) > CONTENT_MAX) {
      free(m);
      return corrupt(err, field);
    }
    push(c, m);
  }
  if (!rp__json_i64(rp__json_get(v, "total"), &c->total)) return corrupt(err, "conversation.total");
  int64_t own = 0;
  for (size_t i = 0; i < c->count; i++) own += !message_at(c, i)->carried;
  if (c->total < own || (c->total == 0 && c->count == 0)) return corrupt(err, "conversation.total");
  /* Snapshots of before say of the last one alone that it may go on. Only an own message that is there can. */
  struct rp__json open = rp__json_get(v, "open");
  struct rp__message *last = c->count ? message_at(c, c->count - 1) : NULL;
  if (open.type == RP_JSON_NONE) return 0;
  if (open.type != RP_JSON_TRUE || !last || last->carried || last->omitted) return corrupt(err, "conversation.open");
  set_open(c, last, true);
  return 0;
}

static void conversation_done(void *state)
{
  struct conversation *c = state;
  while (c->count) drop(c, 0);
}

static int64_t conversation_newest(const void *state)
{
  const struct conversation *c = state;
  return c->count ? message_at(c, c->count - 1)->seq : 0;
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

size_t rp__conversation_count(const struct rp__fold *f)
{
  const struct conversation *c = f ? rp__fold_facet(f, rp__facet_conversation.name) : NULL;
  return c ? c->count : 0;
}

const struct rp__message *rp__conversation_at(const struct rp__fold *f, size_t i)
{
  const struct conversation *c = rp__fold_facet(f, rp__facet_conversation.name);
  assert(i < c->count);
  return message_at(c, i);
}

int64_t rp__conversation_total(const struct rp__fold *f)
{
  const struct conversation *c = f ? rp__fold_facet(f, rp__facet_conversation.name) : NULL;
  return c ? c->total : 0;
}
