/* SPDX-License-Identifier: Apache-2.0 */
/* One message: making it, joining chunks to it, writing it. */
#include "facets/message.h"

#include "json/text.h"

#define TEXT_UNKNOWN (-1)

/* Names of the parts, and behind them of the marks that a body may have. */
static const char *const names[RP_MSG_PARTS + 3] = {"role",    "content", "message_id", "source",
                                                    "partial", "thought", "whole"};

/* ---- bodies ------------------------------------------------------------------- */

struct rp__message_body rp__message_look(struct rp__json object)
{
  struct rp__json member[RP_ARRAY_SIZE(names)];
  struct rp__message_body b;
  rp__json_members(object, names, RP_ARRAY_SIZE(names), member);
  memcpy(b.part, member, sizeof b.part);
  b.partial = member[RP_MSG_PARTS].type == RP_JSON_TRUE;
  b.thought = member[RP_MSG_PARTS + 1].type == RP_JSON_TRUE;
  b.whole = member[RP_MSG_PARTS + 2].type == RP_JSON_TRUE;
  return b;
}

static bool small_string(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n <= RP_MESSAGE_SMALL_MAX;
}

bool rp__message_ok(struct rp__message_body *b)
{
  enum rp__json_type content = b->part[RP_MSG_CONTENT].type;
  if (!small_string(b->part[RP_MSG_ROLE])) return false;
  if (content != RP_JSON_STRING && content != RP_JSON_ARRAY) return false;
  if (!small_string(b->part[RP_MSG_ID])) b->part[RP_MSG_ID] = (struct rp__json){0};
  if (!small_string(b->part[RP_MSG_SOURCE])) b->part[RP_MSG_SOURCE] = (struct rp__json){0};
  if (!b->part[RP_MSG_ID].n) b->whole = false;
  return true;
}

/* ---- messages ------------------------------------------------------------------ */

struct rp__message *rp__message_new(const struct rp__message_body *b, int64_t seq, int64_t at_ms)
{
  struct rp__json role = b->part[RP_MSG_ROLE];
  size_t n = 0;
  for (unsigned i = 0; i < RP_MSG_PARTS; i++) n += b->part[i].n;
  struct rp__message *m = malloc(sizeof *m + n);
  if (!m) return NULL;
  *m = (struct rp__message){.seq = seq, .at_ms = at_ms, .text_end = TEXT_UNKNOWN, .cap = n};
  m->turn = rp__json_eq(role, "user") || rp__json_eq(role, "assistant");
  char *to = m->bytes;
  for (unsigned i = 0; i < RP_MSG_PARTS; i++) {
    m->n[i] = (uint32_t)b->part[i].n;
    if (b->part[i].n) memcpy(to, b->part[i].p, b->part[i].n);
    to += b->part[i].n;
  }
  return m;
}

size_t rp__message_bytes(const struct rp__message *m)
{
  size_t n = 0;
  for (unsigned i = 0; i < RP_MSG_PARTS; i++) n += m->n[i];
  return n;
}

struct rp__json rp__message_part(const struct rp__message *m, enum rp__message_part part)
{
  const char *at = m->bytes;
  for (unsigned i = 0; i < part; i++) at += m->n[i];
  return m->n[part] ? rp__json_trusted(at, m->n[part]) : (struct rp__json){0};
}

void rp__message_write(const struct rp__message *m, bool show, struct rp__jw *w)
{
  const char *at = m->bytes;
  rp__jw_object(w);
  rp__jw_ki64(w, "seq", m->seq);
  for (unsigned i = 0; i < RP_MSG_PARTS; i++) {
    if (m->n[i]) {
      rp__jw_key(w, names[i]);
      rp__jw_raw(w, at, m->n[i]);
    }
    at += m->n[i];
  }
  if (m->omitted) rp__jw_ki64(w, "omitted_bytes", m->omitted);
  if (m->carried) rp__jw_kbool(w, "carried", true);
  if (m->open) rp__jw_kbool(w, "partial", true);
  if (m->follows && !show) rp__jw_kbool(w, "follows", true);
  if (show)
    rp__jw_ktime(w, "at", m->at_ms);
  else
    rp__jw_ki64(w, "at_ms", m->at_ms);
  rp__jw_end_object(w);
}

/* ---- joining ------------------------------------------------------------------- */

static bool same_text(struct rp__json a, struct rp__json b)
{
  if (a.type != b.type) return false;
  if (a.type != RP_JSON_STRING) return true;
  return rp__json_text_cmp((struct rp__str){a.p + 1, a.n - 2}, (struct rp__str){b.p + 1, b.n - 2}) == 0;
}

static bool is_empty(struct rp__json content)
{
  return content.type == RP_JSON_ARRAY ? rp__json_count(content) == 0 : content.n == 2;
}

bool rp__message_same(const struct rp__message *m, const struct rp__message_body *b)
{
  return !m->carried && same_text(rp__message_part(m, RP_MSG_ROLE), b->part[RP_MSG_ROLE]) &&
         same_text(rp__message_part(m, RP_MSG_ID), b->part[RP_MSG_ID]);
}

bool rp__message_goes_on(const struct rp__message *m, const struct rp__message_body *b)
{
  struct rp__json more = b->part[RP_MSG_CONTENT];
  bool fits =
      rp__message_part(m, RP_MSG_CONTENT).type == more.type && m->n[RP_MSG_CONTENT] + more.n <= RP_MESSAGE_JOINED_MAX;
  return !m->omitted && (fits || (!b->partial && is_empty(more)));
}

static struct rp__json block_text(struct rp__json block)
{
  struct rp__json text = rp__json_get(block, "text");
  bool is_text = text.type == RP_JSON_STRING && rp__json_eq(rp__json_get(block, "type"), "text");
  return is_text ? text : (struct rp__json){0};
}

/* Its text, decoded; that of blocks one behind the other. */
static int text_of(struct rp__json content, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  if (content.type == RP_JSON_STRING) rp__json_text(content, out);
  while (content.type == RP_JSON_ARRAY && rp__json_next(content, &it, NULL, &block)) {
    struct rp__json text = block_text(block);
    if (text.n) rp__json_text(text, out);
  }
  return out->err;
}

int rp__message_is_whole(const struct rp__message *m, const struct rp__message_body *b, bool *ret)
{
  struct rp__json before = rp__message_part(m, RP_MSG_CONTENT), all = b->part[RP_MSG_CONTENT];
  RP_AUTOBUF struct rp__buf had = RP_BUF(before.n + 1), has = RP_BUF(all.n + 1);
  *ret = b->whole;
  if (b->whole || b->partial || !m->n[RP_MSG_ID] || is_empty(all) || m->omitted) return 0;
  int rc = text_of(before, &had);
  if (!rc) rc = text_of(all, &has);
  *ret = !rc && had.n > 0 && has.n > had.n && memcmp(has.p, had.p, had.n) == 0;
  return rc;
}

/* Into the content, `at` bytes from its beginning; there is room. */
static void insert(struct rp__message *m, size_t at, const char *bytes, size_t n)
{
  char *to = m->bytes + m->n[RP_MSG_ROLE] + at;
  if (n == 0) return;
  memmove(to + n, to, rp__message_bytes(m) - m->n[RP_MSG_ROLE] - at);
  memcpy(to, bytes, n);
  m->n[RP_MSG_CONTENT] += (uint32_t)n;
}

/* How far from the array's beginning the text of its last block ends, at the quote; 0 when that is no text. */
static int64_t last_text_end(struct rp__json array)
{
  struct rp__json_iter it = {0};
  struct rp__json block, last = {0};
  while (rp__json_next(array, &it, NULL, &block)) last = block;
  struct rp__json text = block_text(last);
  return text.n ? text.p + text.n - 1 - array.p : 0;
}

static void join_blocks(struct rp__message *m, struct rp__json more)
{
  struct rp__json_iter it = {0}, mine = {0};
  struct rp__json first, text;
  if (!rp__json_next(more, &it, NULL, &first)) return;
  const char *rest = more.p + 1, *end = more.p + more.n - 1;
  if (m->text_end == TEXT_UNKNOWN) m->text_end = last_text_end(rp__message_part(m, RP_MSG_CONTENT));
  text = m->text_end && rp__json_count(first) == 2 ? block_text(first) : (struct rp__json){0};
  if (text.n) {
    insert(m, (size_t)m->text_end, text.p + 1, text.n - 2);
    m->text_end += (int64_t)text.n - 2;
    rest = first.p + first.n; /* with the comma before the next one */
    if (!rp__json_next(more, &it, NULL, NULL)) return;
  } else if (rp__json_next(rp__message_part(m, RP_MSG_CONTENT), &mine, NULL, NULL)) {
    insert(m, m->n[RP_MSG_CONTENT] - 1, ",", 1);
  }
  size_t at = m->n[RP_MSG_CONTENT] - 1;
  insert(m, at, rest, (size_t)(end - rest));
  m->text_end = last_text_end(more);
  if (m->text_end) m->text_end += (int64_t)at - (rest - more.p);
}

int rp__message_join(struct rp__message **m, const struct rp__message_body *b)
{
  struct rp__json more = b->part[RP_MSG_CONTENT];
  if (is_empty(more)) return 0;
  /* The room doubles, so that a stream of many chunks copies each byte but a few times. */
  size_t need = rp__message_bytes(*m) + more.n;
  if (need > (*m)->cap) {
    size_t cap = RP_MAX(need, 2 * (*m)->cap);
    struct rp__message *moved = realloc(*m, sizeof **m + cap);
    if (!moved) return RP_E_NOMEM;
    moved->cap = cap;
    *m = moved;
  }
  if (more.type == RP_JSON_STRING)
    insert(*m, (*m)->n[RP_MSG_CONTENT] - 1, more.p + 1, more.n - 2);
  else
    join_blocks(*m, more);
  return 0;
}
