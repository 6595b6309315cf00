/* SPDX-License-Identifier: Apache-2.0 */
/* The facet: requests and answers; saving and loading. */
#include "facets/digest/digest-impl.h"

#include <assert.h>

#include "base/text.h"
#include "base/utf8.h"
#include "facets/message.h"
#include "json/scan.h"
#include "json/text.h"

#define REQUESTS_MAX 12
#define FILES_MAX 48
#define COMMANDS_MAX 8
#define COMMITS_MAX 6
#define TODOS_MAX 20
#define DECLINED_MAX 8
#define RULES_MAX 12
#define CALLS_MAX 32
#define TEXT_MAX ((size_t)1280)
#define HEAD_MAX ((size_t)3 * 1024) /* bytes of the beginning of what was said … */
#define TAIL_MAX ((size_t)1 * 1024) /* … and of its end */
#define PROMPT_HEAD ((size_t)12 * 1024)
#define PROMPT_TAIL ((size_t)4 * 1024)
#define ROOM 1024     /* bytes of the cells of a row that need no memory of their own */
#define DIGITS_MAX 20 /* of a number */
#define SCRATCH_KEPT ((size_t)64 * 1024)
#define GO_ON_WIDTH 24
#define GO_ON_REST 6  /* of what may follow a go-on, as in "ok man" */
#define TALK_WIDTH 60 /* a shorter request without any work, in a session that worked, was small talk */

const char *const rp__request_end_words[RP_ENDS] = {
    [RP_END_OPEN] = "open",       [RP_END_ANSWERED] = "answered",   [RP_END_CUT_OFF] = "cut_off",
    [RP_END_TOOL] = "tool",       [RP_END_CANCELLED] = "cancelled", [RP_END_FAILED] = "failed",
    [RP_END_REFUSED] = "refused", [RP_END_LIMIT] = "limit",
};

/* ---- the lists ------------------------------------------------------------------------- */

static const struct rp__shape request_shape = {
    .name = "digest.requests",
    .columns = {{"text", RP_CELL_TEXT, RP_COL_NEED, RP_DIGEST_WHOLE},
                {"answer", RP_CELL_TEXT, 0, TEXT_MAX},
                {"end", RP_CELL_TEXT, 0, 16},
                {"seq", RP_CELL_NUMBER, RP_COL_NEED},
                {"tools", RP_CELL_NUMBER},
                {"edits", RP_CELL_NUMBER}},
    .flags = {{"go_on"}},
    .time_name = "at",
    .max_rows = REQUESTS_MAX,
    .max_bytes = (size_t)10 * 1024,
};
static const struct rp__shape file_shape = {
    .name = "digest.files",
    .columns = {{"path", RP_CELL_TEXT, RP_COL_NEED, 256}, {"count", RP_CELL_NUMBER}},
    .time_name = "at",
    .keyed = true,
    .max_rows = FILES_MAX,
    .max_bytes = (size_t)5 * 1024,
};
static const struct rp__shape command_shape = {
    .name = "digest.commands",
    .columns = {{"command", RP_CELL_TEXT, RP_COL_NEED, 160},
                {"error", RP_CELL_TEXT, 0, 240},
                {"call", RP_CELL_NUMBER, RP_COL_HIDDEN}},
    .time_name = "at",
    .keyed = true,
    .max_rows = COMMANDS_MAX,
    .max_bytes = (size_t)3 * 1024,
};
static const struct rp__shape commit_shape = {
    .name = "digest.commits",
    .columns = {{"commit", RP_CELL_TEXT, RP_COL_NEED, 160}},
    .time_name = "at",
    .keyed = true,
    .max_rows = COMMITS_MAX,
    .max_bytes = (size_t)1 * 1024,
};
static const struct rp__shape todo_shape = {
    .name = "digest.todos",
    .columns = {{"text", RP_CELL_TEXT, RP_COL_NEED, 160}, {"status", RP_CELL_TEXT, 0, 24}, {"id", RP_CELL_TEXT, 0, 32}},
    .time_name = "at",
    .max_rows = TODOS_MAX,
    .max_bytes = (size_t)3 * 1024,
};
static const struct rp__shape declined_shape = {
    .name = "digest.declined",
    .columns = {{"what", RP_CELL_TEXT, RP_COL_NEED, 200}, {"count", RP_CELL_NUMBER}, {"said", RP_CELL_TEXT, 0, 640}},
    .time_name = "at",
    .keyed = true,
    .max_rows = DECLINED_MAX,
    .max_bytes = (size_t)3 * 1024,
};
static const struct rp__shape rule_shape = {
    .name = "digest.rules",
    .columns = {{"rule", RP_CELL_TEXT, RP_COL_NEED, 480}},
    .flags = {{"lasting"}, {"chosen"}},
    .time_name = "at",
    .keyed = true,
    .max_rows = RULES_MAX,
    .max_bytes = (size_t)3 * 1024,
};
static const struct rp__shape call_shape = {
    .name = "digest.calls",
    .columns = {{"call_id", RP_CELL_ID, RP_COL_NEED},
                {"what", RP_CELL_TEXT, RP_COL_NEED, 600},
                {"does", RP_CELL_NUMBER, RP_COL_NEED},
                {"seq", RP_CELL_NUMBER, RP_COL_NEED}},
    .flags = {{"doubt"}},
    .keyed = true,
    .max_rows = CALLS_MAX,
    .max_bytes = (size_t)12 * 1024,
};

static const struct {
  const char *name;
  size_t at;
  const struct rp__shape *shape;
  bool shown;
} lists[] = {
    {"requests", offsetof(struct rp__digest, requests), &request_shape, false},
    {"files", offsetof(struct rp__digest, files), &file_shape, true},
    {"commands", offsetof(struct rp__digest, commands), &command_shape, true},
    {"commits", offsetof(struct rp__digest, commits), &commit_shape, true},
    {"todos", offsetof(struct rp__digest, todos), &todo_shape, true},
    {"declined", offsetof(struct rp__digest, declined), &declined_shape, true},
    {"rules", offsetof(struct rp__digest, rules), &rule_shape, true},
    {"calls", offsetof(struct rp__digest, calls), &call_shape, false},
};

static struct rp__rows *list_at(struct rp__digest *d, size_t i)
{
  return (struct rp__rows *)((char *)d + lists[i].at);
}

static const struct rp__rows *list_of(const struct rp__digest *d, size_t i)
{
  return (const struct rp__rows *)((const char *)d + lists[i].at);
}

/* A text that is JSON as it stands, in quotes, as nearly all are: at the end of `room`, which gets smaller. */
static bool quote(const struct rp__column *col, struct rp__str text, char **room, const char *end, struct rp__str *ret)
{
  size_t max = col->type == RP_CELL_ID ? RP_EVENT_ID_MAX : col->max;
  if (text.n > max || text.n + 2 > (size_t)(end - *room)) return false;
  if (rp__json_plain(text.p, text.p + text.n) != text.p + text.n) return false;
  *ret = (struct rp__str){*room, text.n + 2};
  *(*room)++ = '"';
  memcpy(*room, text.p, text.n);
  *room += text.n;
  *(*room)++ = '"';
  return true;
}

int rp__digest_put(struct rp__rows *rows, const struct rp__digest_cell *cells, size_t n, unsigned flags, int64_t at_ms)
{
  RP_AUTOCELLS struct rp__cells c = {.flags = flags};
  char room[ROOM], *at = room;
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < n; i++) {
    unsigned column = cells[i].column;
    if (cells[i].text.p) {
      if (!quote(&rows->shape->columns[column], cells[i].text, &at, room + sizeof room, &c.cell[column]))
        rc = rp__cells_text(rows->shape, &c, column, cells[i].text);
      continue;
    }
    struct rp__buf *own = &c.own[column];
    if (cells[i].number >= 0 && room + sizeof room - at >= DIGITS_MAX) {
      char digits[DIGITS_MAX], *digit = digits + sizeof digits;
      int64_t left = cells[i].number;
      do *--digit = (char)('0' + left % 10);
      while (left /= 10);
      c.cell[column] = (struct rp__str){at, (size_t)(digits + sizeof digits - digit)};
      memcpy(at, digit, c.cell[column].n);
      at += c.cell[column].n;
      continue;
    }
    *own = RP_BUF(32);
    rp__jw_i64(&RP_JW(own), cells[i].number);
    c.cell[column] = (struct rp__str){own->p, own->n};
    rc = own->err;
  }
  if (rc) return rc;
  size_t place = rows->shape->keyed ? rp__rows_find(rows, c.cell[0]) : rows->count;
  return rp__rows_renew(rows, place, &c, at_ms);
}

int64_t rp__digest_number(const struct rp__row *row, unsigned column)
{
  int64_t n;
  return rp__json_i64(rp__row_cell(row, column), &n) ? n : 0;
}

/* ---- what was said ------------------------------------------------------------------------ */

/* Adds a string; of a very long one only so much of its beginning and end as anybody looks at. */
static void add_string(struct rp__buf *out, struct rp__json string)
{
  struct rp__json part = string;
  if (string.n > 8 * PROMPT_HEAD) {
    const char *end = string.p + string.n, *from = memchr(end - 4 * PROMPT_HEAD, ' ', 4 * PROMPT_HEAD);
    const char *to = memchr(string.p + 2 * PROMPT_HEAD, ' ', 2 * PROMPT_HEAD);
    if (from && to) { /* no escape has a blank in it */
      part.n = (size_t)(to - string.p) + 1;
      rp__json_text(part, out);
      part = (struct rp__json){from, (size_t)(end - from), RP_JSON_STRING};
    }
  }
  rp__json_text(part, out);
}

/*
 * The texts of a message, in the digest's scratch buffer until the next; of a long one its beginning and its end, with
 * a line end between. Control characters become blanks, so that saving does not make the text much longer.
 */
static int message_text(struct rp__digest *d, struct rp__json content, size_t head, size_t tail, struct rp__str *ret)
{
  struct rp__buf *all = &d->scratch;
  struct rp__json_iter it = {0};
  struct rp__json block;
  if (all->cap > SCRATCH_KEPT) rp__buf_done(all);
  rp__buf_reset(all);
  if (content.type == RP_JSON_STRING) add_string(all, content);
  while (content.type == RP_JSON_ARRAY && !all->err && rp__json_next(content, &it, NULL, &block)) {
    struct rp__json text = rp__json_get(block, "text");
    if (text.type != RP_JSON_STRING || text.n <= 2) continue;
    if (all->n) rp__buf_char(all, '\n');
    add_string(all, text);
  }
  if (all->err) return RP_E_NOMEM;
  for (size_t i = 0; i < all->n; i++) {
    while (all->n - i > 8 && rp__json_no_control(rp__load8(all->p + i))) i += 8;
    if ((unsigned char)all->p[i] < ' ' && all->p[i] != '\n') all->p[i] = ' ';
  }
  if (all->n > head + tail) {
    size_t from = all->n - tail, to = rp__text_clip(all->p, head);
    while (from < all->n && rp__is_continuation(all->p[from])) from++;
    all->p[to] = '\n';
    memmove(all->p + to + 1, all->p + from, all->n - from);
    all->n = to + 1 + all->n - from;
  }
  *ret = (struct rp__str){all->p ? all->p : "", all->n};
  return 0;
}

static void forget_said(struct rp__digest *d)
{
  rp__buf_reset(&d->head);
  rp__buf_reset(&d->tail);
  d->said_seq = d->message = 0;
  d->streaming = false;
}

/* Goes on with what was said: the beginning is filled first, then the end moves along. */
static int add_said(struct rp__digest *d, struct rp__str text)
{
  if (d->tail.n == 0 && d->head.n < HEAD_MAX) {
    size_t n = RP_MIN(text.n, HEAD_MAX - d->head.n);
    if (n < text.n) n = rp__text_clip(text.p, n);
    rp__buf_add(&d->head, text.p, n);
    text.p += n;
    text.n -= n;
    if (text.n == 0) return d->head.err;
  }
  if (text.n > TAIL_MAX) {
    text.p += text.n - TAIL_MAX;
    text.n = TAIL_MAX;
  }
  rp__buf_add(&d->tail, text.p, text.n);
  if (d->tail.err) return d->tail.err;
  size_t from = d->tail.n > TAIL_MAX ? d->tail.n - TAIL_MAX : 0;
  while (from < d->tail.n && rp__is_continuation(d->tail.p[from])) from++;
  memmove(d->tail.p, d->tail.p + from, d->tail.n - from);
  d->tail.n -= from;
  d->tail.p[d->tail.n] = '\0';
  return d->head.err;
}

static int64_t hash_id(struct rp__json id)
{
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  if (id.type != RP_JSON_STRING) return 0;
  struct rp__str raw = rp__json_raw(id);
  for (size_t i = 0; i < raw.n; i++) h = (h ^ (uint8_t)raw.p[i]) * UINT64_C(0x100000001b3);
  return (int64_t)(h >> 1);
}

static int apply_answer(struct rp__digest *d, const struct rp__message_body *b, bool continues,
                        const struct rp__event *ev)
{
  struct rp__str text;
  int64_t message = hash_id(b->part[RP_MSG_ID]);
  bool same = d->streaming && message == d->message;
  if (message_text(d, b->part[RP_MSG_CONTENT], HEAD_MAX, TAIL_MAX, &text)) return RP_E_NOMEM;
  if (text.n == 0) { /* the end of a stream has no text of its own */
    if (!b->partial) d->streaming = false;
    return 0;
  }
  if (!continues && !(b->partial && same)) forget_said(d);
  d->said_seq = ev->seq;
  d->message = message;
  d->streaming = b->partial;
  return add_said(d, text);
}

int rp__digest_said(const struct rp__digest *d, struct rp__buf *out)
{
  rp__buf_add(out, d->head.p ? d->head.p : "", d->head.n);
  if (d->tail.n) rp__buf_char(out, '\n');
  rp__buf_add(out, d->tail.p ? d->tail.p : "", d->tail.n);
  return out->err;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* How the last request stands, and the answer to it. */
static int last_end(const struct rp__digest *d, struct rp__buf *room, enum rp__request_end *ret)
{
  RP_AUTOBUF struct rp__buf said = RP_BUF(HEAD_MAX + TAIL_MAX + 8);
  bool running = false;
  if (rp__digest_said(d, &said)) return RP_E_NOMEM;
  for (size_t i = 0; i < d->calls.count; i++)
    running = running || rp__digest_number(d->calls.v[i], RP_CALL_SEQ) > d->said_seq;
  struct rp__str text = {said.p ? said.p : "", said.n};
  bool cut = rp__prose_cut_off(rp__digest_cues(d), text) || d->streaming;
  *ret = d->turn ? d->turn : running ? RP_END_TOOL : !said.n ? RP_END_OPEN : cut ? RP_END_CUT_OFF : RP_END_ANSWERED;
  if (*ret == RP_END_ANSWERED)
    rp__prose_answer(rp__digest_cues(d), text, RP_DIGEST_WIDTH, room);
  else if (said.n) {
    RP_AUTOBUF struct rp__buf plain = RP_BUF(2 * (HEAD_MAX + TAIL_MAX));
    rp__prose_plain(text, &plain);
    rp__prose_middle((struct rp__str){plain.p ? plain.p : "", plain.n}, RP_DIGEST_WIDTH, room);
    if (plain.err) return RP_E_NOMEM;
  }
  return room->err;
}

/* The last request gets its end, and its text is cut: another one comes. */
static int settle(struct rp__digest *d)
{
  RP_AUTOBUF struct rp__buf answer = RP_BUF(8 * TEXT_MAX), whole = RP_BUF(2 * RP_DIGEST_WHOLE),
                            text = RP_BUF(8 * TEXT_MAX);
  enum rp__request_end end;
  if (d->requests.count == 0) return 0;
  const struct rp__row *row = d->requests.v[d->requests.count - 1];
  if (last_end(d, &answer, &end) || rp__json_text(rp__row_cell(row, RP_REQUEST_TEXT), &whole)) return RP_E_NOMEM;
  rp__prose_middle((struct rp__str){whole.p ? whole.p : "", whole.n}, RP_DIGEST_WIDTH, &text);
  if (text.err) return RP_E_NOMEM;
  unsigned flags = row->flags;
  int64_t seq = rp__digest_number(row, RP_REQUEST_SEQ), at_ms = row->at_ms;
  rp__rows_drop(&d->requests, d->requests.count - 1);
  return RP_DIGEST_PUT(&d->requests, flags, at_ms, {RP_REQUEST_TEXT, {text.p ? text.p : "", text.n}, 0},
                       {RP_REQUEST_ANSWER, {answer.p ? answer.p : "", answer.n}, 0},
                       {RP_REQUEST_END, rp__str(rp__request_end_words[end]), 0}, {RP_REQUEST_SEQ, {0}, seq},
                       {RP_REQUEST_TOOLS, {0}, d->tools}, {RP_REQUEST_EDITS, {0}, d->edits});
}

/* Whether a text is made of go-ons alone ("ok, weiter"): a short request that begins with one is a request. */
static bool goes_on(const struct rp__digest *d, struct rp__str text)
{
  char room[4 * GO_ON_WIDTH + 1];
  struct rp__buf lower = RP_BUF_IN(room);
  if (rp__prose_width(text) >= GO_ON_WIDTH) return false;
  rp__cues_lower(text, &lower);
  struct rp__str s = {room, lower.n};
  if (s.n <= 2) return true;
  for (size_t n; (n = rp__cues_begin(rp__digest_cues(d), RP_CUE_GO_ON, s)) > 0;) {
    s.p += n;
    s.n -= n;
    for (size_t skip = 1; s.n && skip; s.p += skip, s.n -= skip) {
      bool wide = s.n > 2 && (memcmp(s.p, "\xef\xbc\x8c", 3) == 0 || memcmp(s.p, "\xe3\x80\x82", 3) == 0);
      skip = rp__is_in(*s.p, " ,.!;-") ? 1 : wide ? 3 : 0; /* also the comma and the full stop of Chinese */
    }
    if (rp__prose_width(s) <= GO_ON_REST) return true;
  }
  return false;
}

static int apply_request(struct rp__digest *d, const struct rp__message_body *b, const struct rp__event *ev)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)32 * 1024), whole = RP_BUF(4 * RP_DIGEST_WHOLE);
  struct rp__str given;
  if (message_text(d, b->part[RP_MSG_CONTENT], PROMPT_HEAD, PROMPT_TAIL, &given)) return RP_E_NOMEM;
  rp__prose_request(rp__digest_cues(d), given, &text);
  if (text.err) return RP_E_NOMEM;
  if (text.n == 0) return 0;
  struct rp__str said = {text.p, text.n};
  int rc = settle(d);
  if (rc == 0) rc = rp__digest_decline(d, said, ev->at_ms);
  if (rc == 0) rc = rp__digest_rules(d, given, ev->at_ms);
  if (rc == 0) rc = rp__digest_choice(d, said, ev->at_ms);
  if (rc) return rc;
  forget_said(d);
  d->tools = d->edits = 0;
  d->turn = RP_END_OPEN;
  rp__prose_fit(said, RP_DIGEST_WHOLE, &whole);
  if (whole.err) return RP_E_NOMEM;
  bool says = !goes_on(d, said) && !rp__cues_log_line(rp__digest_cues(d), said);
  return RP_DIGEST_PUT(&d->requests, says ? 0 : RP_REQUEST_GO_ON, ev->at_ms, {RP_REQUEST_TEXT, {whole.p, whole.n}, 0},
                       {RP_REQUEST_SEQ, {0}, ev->seq});
}

size_t rp__digest_count(const struct rp__digest *d)
{
  return d->requests.count;
}

int rp__digest_request(const struct rp__digest *d, size_t i, struct rp__buf *room, struct rp__digest_request *ret)
{
  assert(i < d->requests.count);
  const struct rp__row *row = d->requests.v[i];
  *ret = (struct rp__digest_request){.text = rp__row_cell(row, RP_REQUEST_TEXT),
                                     .at_ms = row->at_ms,
                                     .seq = rp__digest_number(row, RP_REQUEST_SEQ),
                                     .tools = rp__digest_number(row, RP_REQUEST_TOOLS),
                                     .edits = rp__digest_number(row, RP_REQUEST_EDITS),
                                     .go_on = row->flags & RP_REQUEST_GO_ON};
  rp__buf_reset(room);
  int rc = 0;
  if (i + 1 == d->requests.count) {
    ret->tools = d->tools;
    ret->edits = d->edits;
    rc = last_end(d, room, &ret->end);
  } else {
    size_t end = rp__json_one_of(rp__row_cell(row, RP_REQUEST_END), rp__request_end_words, RP_ENDS);
    ret->end = end < RP_ENDS ? (enum rp__request_end)end : RP_END_OPEN;
    struct rp__json answer = rp__row_cell(row, RP_REQUEST_ANSWER);
    if (answer.type == RP_JSON_STRING) rc = rp__json_text(answer, room);
  }
  ret->answer = (struct rp__str){room->p ? room->p : "", room->n};
  return rc;
}

size_t rp__digest_asked(const struct rp__digest *d)
{
  bool worked = d->tools > 0;
  for (size_t i = 0; i < d->requests.count; i++)
    worked = worked || rp__digest_number(d->requests.v[i], RP_REQUEST_TOOLS) > 0;
  for (size_t i = d->requests.count; i > 0; i--) {
    const struct rp__row *row = d->requests.v[i - 1];
    bool last = i == d->requests.count, open = last && d->said_seq == 0;
    int64_t tools = last ? d->tools : rp__digest_number(row, RP_REQUEST_TOOLS);
    struct rp__json text = rp__row_cell(row, RP_REQUEST_TEXT);
    bool talk = worked && !open && tools == 0 && rp__prose_width((struct rp__str){text.p, text.n}) < TALK_WIDTH;
    if (!(row->flags & RP_REQUEST_GO_ON) && !talk) return i - 1;
  }
  /* There are only go-ons: the last with which something was done. */
  for (size_t i = d->requests.count; i > 0; i--)
    if ((i == d->requests.count ? d->tools : rp__digest_number(d->requests.v[i - 1], RP_REQUEST_TOOLS)) > 0)
      return i - 1;
  return d->requests.count ? d->requests.count - 1 : 0;
}

/* ---- events ------------------------------------------------------------------------------------- */

static int apply_message(struct rp__digest *d, const struct rp__event *ev)
{
  struct rp__message_body b = rp__message_look(ev->body);
  if (b.thought || !rp__message_ok(&b)) return 0;
  bool continues = rp__event_get(ev, "continues").type == RP_JSON_NUMBER;
  if (rp__json_eq(b.part[RP_MSG_ROLE], "assistant")) return apply_answer(d, &b, continues, ev);
  if (!rp__json_eq(b.part[RP_MSG_ROLE], "user") || continues) return 0;
  return apply_request(d, &b, ev);
}

static int set_cues(struct rp__digest *d, struct rp__json cues)
{
  struct rp__cue_set *own = NULL;
  if (rp__cues_new(cues, &own)) return RP_E_NOMEM;
  rp__cues_free(d->own);
  d->own = own;
  rp__buf_reset(&d->cues);
  if (own) rp__buf_add(&d->cues, cues.p, cues.n);
  return d->cues.err;
}

/* A null takes the user's cues away; what is no table, or too long, changes nothing. */
static int apply_settings(struct rp__digest *d, struct rp__json body)
{
  struct rp__json settings = rp__json_get(body, "settings"), cues = rp__json_get(settings, "cues");
  bool cleared = settings.type == RP_JSON_NULL || cues.type == RP_JSON_NULL;
  if (!cleared && (cues.type != RP_JSON_OBJECT || cues.n > RP_CUES_BYTES)) return 0;
  return set_cues(d, cleared ? (struct rp__json){0} : cues);
}

static int digest_apply(void *state, const struct rp__event *ev)
{
  struct rp__digest *d = state;
  struct rp__json cause;
  size_t end;
  switch (ev->kind) {
  case RP_KIND_MESSAGE: return apply_message(d, ev);
  case RP_KIND_TOOL: return rp__digest_tool(d, ev);
  case RP_KIND_APPROVAL: return rp__digest_approval(d, ev);
  case RP_KIND_TODO: return rp__digest_todo(d, rp__event_get(ev, "items"), ev->at_ms);
  case RP_KIND_TURN:
    end = rp__json_one_of(rp__event_get(ev, "status"), rp__request_end_words, RP_ENDS);
    if (end >= RP_END_CANCELLED && end < RP_ENDS) d->turn = (enum rp__request_end)end;
    return 0;
  case RP_KIND_SESSION: return apply_settings(d, ev->body);
  case RP_KIND_RESTORED:
    cause = rp__event_get(ev, "cause");
    if (cause.type == RP_JSON_STRING && !rp__json_eq(cause, "clean") && !rp__json_eq(cause, "upgrade"))
      rp__digest_doubt(d);
    return 0;
  default: return 0;
  }
}

/* ---- the rest of a facet -------------------------------------------------------------------------- */

void rp__digest_init(struct rp__digest *d)
{
  *d = (struct rp__digest){.head = RP_BUF(HEAD_MAX + 8),
                           .tail = RP_BUF(2 * TAIL_MAX + 8),
                           .cues = RP_BUF(RP_CUES_BYTES),
                           .root = RP_BUF(4096),
                           .scratch = RP_BUF((size_t)8 * 1024 * 1024)};
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) list_at(d, i)->shape = lists[i].shape;
}

static void digest_init(const struct rp__facet_ops *ops, void *state)
{
  (void)ops;
  rp__digest_init(state);
}

void rp__digest_done(struct rp__digest *d)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) rp__rows_done(list_at(d, i));
  rp__buf_done(&d->head);
  rp__buf_done(&d->tail);
  rp__buf_done(&d->cues);
  rp__cues_free(d->own);
  rp__buf_done(&d->root);
  rp__buf_done(&d->scratch);
}

static void digest_done(void *state)
{
  rp__digest_done(state);
}

bool rp__digest_empty(const struct rp__digest *d)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++)
    if (list_of(d, i)->count) return false;
  return d->n_calls == 0 && d->n_todos == 0 && d->said_seq == 0 && d->cues.n == 0 && d->turn == RP_END_OPEN;
}

static bool digest_empty(const void *state)
{
  return rp__digest_empty(state);
}

void rp__digest_write(const struct rp__digest *d, const char *root, struct rp__jw *w)
{
  rp__jw_pack(w, "{data:s root:?s", rp__cues_hash, root);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) {
    if (list_of(d, i)->count == 0) continue;
    rp__jw_key(w, lists[i].name);
    rp__rows_save(list_of(d, i), w);
  }
  rp__jw_pack(w, "n_calls:?i n_todos:?i tools:?i edits:?i", d->n_calls, d->n_todos, d->tools, d->edits);
  if (d->turn) rp__jw_kstr(w, "turn", rp__request_end_words[d->turn]);
  if (d->head.n) rp__jw_pack(w, "head:n", d->head.p, d->head.n);
  if (d->tail.n) rp__jw_pack(w, "tail:n", d->tail.p, d->tail.n);
  rp__jw_pack(w, "said_seq:?i message:?i", d->said_seq, d->message);
  if (d->streaming) rp__jw_kbool(w, "streaming", true);
  if (d->cues.n) {
    rp__jw_key(w, "cues");
    rp__jw_raw(w, d->cues.p, d->cues.n);
  }
  rp__jw_end_object(w);
}

static void digest_save(const void *state, struct rp__jw *w)
{
  rp__digest_write(state, NULL, w);
}

static void digest_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct rp__digest *d = state;
  RP_AUTOBUF struct rp__buf room = RP_BUF(8 * TEXT_MAX);
  rp__jw_pack(w, "{requests:[");
  for (size_t i = 0; i < d->requests.count; i++) {
    struct rp__digest_request r;
    if (rp__digest_request(d, i, &room, &r)) {
      if (!w->out->err) w->out->err = RP_E_NOMEM;
      return;
    }
    rp__jw_pack(w, "{text:v end:s seq:i at:t tools:i edits:i", r.text, rp__request_end_words[r.end], r.seq, r.at_ms,
                r.tools, r.edits);
    if (r.answer.n) rp__jw_pack(w, "answer:n", r.answer.p, r.answer.n);
    if (r.go_on) rp__jw_kbool(w, "go_on", true);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) {
    if (!lists[i].shown || list_of(d, i)->count == 0) continue;
    rp__jw_key(w, lists[i].name);
    rp__rows_show(list_of(d, i), now_ms, w);
  }
  rp__jw_end_object(w);
}

static bool digest_silent(const void *state)
{
  const struct rp__digest *d = state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++)
    if ((lists[i].shown || i == 0) && list_of(d, i)->count) return false;
  return true;
}

static int corrupt(rp_error *err, const char *field)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, field, "'%s' holds what no snapshot does", field);
}

static bool load_number(struct rp__json v, const char *name, int64_t *ret)
{
  struct rp__json n = rp__json_get(v, name);
  return n.type == RP_JSON_NONE || (rp__json_i64(n, ret) && *ret >= 0);
}

static int load_text(struct rp__json v, const char *name, size_t max, struct rp__buf *out, rp_error *err)
{
  struct rp__json text = rp__json_get(v, name);
  if (text.type == RP_JSON_NONE) return 0;
  int rc = rp__json_text(text, out);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  return rc || out->n > max ? corrupt(err, "digest") : 0;
}

int rp__digest_load(struct rp__digest *d, struct rp__json v, rp_error *err)
{
  int rc = 0;
  if (v.type != RP_JSON_OBJECT) return corrupt(err, "digest");
  for (size_t i = 0; rc == 0 && i < RP_ARRAY_SIZE(lists); i++) {
    struct rp__json rows = rp__json_get(v, lists[i].name);
    if (rows.type != RP_JSON_NONE) rc = rp__rows_load(list_at(d, i), rows, err);
  }
  if (rc == 0) rc = load_text(v, "head", HEAD_MAX, &d->head, err);
  if (rc == 0) rc = load_text(v, "tail", TAIL_MAX, &d->tail, err);
  if (rc == 0) rc = load_text(v, "root", 4096, &d->root, err);
  if (rc) return rc;
  bool numbers = load_number(v, "n_calls", &d->n_calls) && load_number(v, "n_todos", &d->n_todos) &&
                 load_number(v, "tools", &d->tools) && load_number(v, "edits", &d->edits) &&
                 load_number(v, "said_seq", &d->said_seq) && load_number(v, "message", &d->message);
  struct rp__json turn = rp__json_get(v, "turn"), cues = rp__json_get(v, "cues");
  size_t end = turn.type == RP_JSON_NONE ? RP_END_OPEN : rp__json_one_of(turn, rp__request_end_words, RP_ENDS);
  if (!numbers || end >= RP_ENDS) return corrupt(err, "digest");
  d->turn = (enum rp__request_end)end;
  d->streaming = rp__json_get(v, "streaming").type == RP_JSON_TRUE;
  if (cues.type == RP_JSON_NONE) return 0;
  if (cues.type != RP_JSON_OBJECT || cues.n > RP_CUES_BYTES) return corrupt(err, "digest.cues");
  return set_cues(d, cues) ? rp__fail_nomem(err) : 0;
}

static int digest_load(void *state, struct rp__json v, rp_error *err)
{
  return rp__digest_load(state, v, err);
}

static int64_t digest_newest(const void *state)
{
  const struct rp__digest *d = state;
  int64_t newest = RP_MAX(rp__rows_newest(&d->requests, RP_REQUEST_SEQ), rp__rows_newest(&d->calls, RP_CALL_SEQ));
  return RP_MAX(newest, d->said_seq);
}

const struct rp__facet_ops rp__facet_digest = {
    .name = "digest",
    .state_size = sizeof(struct rp__digest),
    .max_bytes = RP_DIGEST_BYTES,
    .init = digest_init,
    .apply = digest_apply,
    .empty = digest_empty,
    .silent = digest_silent,
    .save = digest_save,
    .show = digest_show,
    .load = digest_load,
    .newest = digest_newest,
    .done = digest_done,
};

const struct rp__digest *rp__digest_of(const struct rp__fold *f)
{
  return f ? rp__fold_facet(f, rp__facet_digest.name) : NULL;
}

/* ---- telling --------------------------------------------------------------------------------------- */

struct rp__str rp__digest_path(struct rp__str path, struct rp__str root, bool *ret_home)
{
  static const char *const homes[] = {"/Users/", "/home/"};
  *ret_home = false;
  if (root.n && path.n > root.n + 1 && memcmp(path.p, root.p, root.n) == 0 && path.p[root.n] == '/')
    return (struct rp__str){path.p + root.n + 1, path.n - root.n - 1};
  for (size_t i = 0; i < RP_ARRAY_SIZE(homes); i++) {
    size_t n = strlen(homes[i]);
    const char *end = path.n > n && memcmp(path.p, homes[i], n) == 0 ? memchr(path.p + n, '/', path.n - n) : NULL;
    if (!end) continue;
    *ret_home = true;
    return (struct rp__str){end + 1, path.n - (size_t)(end + 1 - path.p)};
  }
  return path;
}

struct rp__json rp__digest_doing(const struct rp__digest *d, struct rp__json call_id)
{
  char room[RP_EVENT_ID_MAX + 2];
  struct rp__buf id = RP_BUF_IN(room);
  if (!d || rp__json_text(call_id, &id)) return (struct rp__json){0};
  size_t i = rp__rows_find_text(&d->calls, room);
  return i < d->calls.count ? rp__row_cell(d->calls.v[i], RP_CALL_WHAT) : (struct rp__json){0};
}
