/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent may repeat, in the order in which it would. Repeats come in that order too, so there is a place up to
 * which they have come, and what was told before it is not known again: an answer that happens to be the same as an old
 * one is news. Texts match in whatever pieces they come, across messages of one voice, and whatever white space is
 * between their words. While no turn runs, things may be left out, and come later; during a turn only what is next in
 * order is known.
 */
#include "bridge/acp/note-impl.h"
#include "bridge/acp/past.h"
#include "bridge/acp/replay-impl.h"

#define ECHO_ENTRIES 16384                   /* the newest */
#define ECHO_BYTES ((size_t)8 * 1024 * 1024) /* … and of their texts */
#define ECHO_TEXT ((size_t)512 * 1024)       /* a longer text is not known again */
#define PIECE_MIN 20      /* bytes of a piece that may begin a text during a turn; less must be all of it */
#define FOUND_MIN 3       /* repeats in a row: they do not happen to look like it */
#define ENDS_MIN 8        /* bytes by which a text is known of which the journal has only the ends */
#define MASK "[REDACTED]" /* what redaction leaves */
#define CUT "\u2026["     /* where the journal's text of a long message ends (spill.c) */

enum voice { USER, AGENT, THOUGHT, CALL, OTHER };

struct said {
  enum voice voice;
  uint64_t id;         /* of a call; of another update's bytes; of a message (0: none) */
  struct rp__buf text; /* of a message; a call's title: without white space */
  bool spilled;        /* only the beginning of it is here */
  bool open;           /* a stream that may go on */
  bool told;           /* all of it was told again */
  bool repeated;       /* a call that was told again */
};

struct rp__echo {
  struct said *ring;
  size_t first, n, bytes;
  size_t at, offset; /* how far repeats have come: an entry, and bytes of its text */
  bool cut;          /* there was more than is remembered */
  unsigned found;    /* repeats in a row, since such a one may be going on */
};

static struct said *said_at(const struct rp__echo *e, size_t i)
{
  return &e->ring[(e->first + i) % ECHO_ENTRIES];
}

void rp__echo_free(struct rp__echo *e)
{
  if (!e) return;
  for (size_t i = 0; i < e->n; i++) rp__buf_done(&said_at(e, i)->text);
  free(e->ring);
  free(e);
}

/* ---- gathering ------------------------------------------------------------------------------------------- */

static void drop_first(struct rp__echo *e)
{
  e->bytes -= said_at(e, 0)->text.n;
  rp__buf_done(&said_at(e, 0)->text);
  e->first = (e->first + 1) % ECHO_ENTRIES;
  e->n--;
  e->cut = true;
}

static struct said *add(struct rp__echo *e, enum voice voice, uint64_t id)
{
  if (e->n == ECHO_ENTRIES) drop_first(e);
  struct said *s = said_at(e, e->n++);
  *s = (struct said){.voice = voice, .id = id, .text = RP_BUF(ECHO_TEXT)};
  return s;
}

static void squeeze(struct rp__buf *b, size_t from)
{
  size_t n = from;
  for (size_t i = from; i < b->n; i++)
    if (!strchr(" \t\r\n", b->p[i]) || !b->p[i]) b->p[n++] = b->p[i];
  b->n = n;
}

/* One that grows too long keeps its place and matches nothing. */
static int add_text(struct rp__echo *e, struct said *s, struct rp__json string)
{
  size_t before = s->text.n;
  if (string.type != RP_JSON_STRING || s->text.err) return 0;
  rp__json_text(string, &s->text);
  squeeze(&s->text, before);
  if (s->text.err == RP_E_NOMEM) return RP_E_NOMEM;
  e->bytes += s->text.n - before;
  while (e->n > 1 && e->bytes > ECHO_BYTES) drop_first(e);
  return 0;
}

static struct rp__json block_text(struct rp__json block)
{
  if (block.type == RP_JSON_STRING) return block;
  return rp__json_eq(rp__json_get(block, "type"), "text") ? rp__json_get(block, "text") : (struct rp__json){0};
}

static enum voice voice_of(struct rp__json body)
{
  struct rp__json role = rp__json_get(body, "role");
  if (rp__json_get(body, "thought").type == RP_JSON_TRUE) return THOUGHT;
  return rp__json_eq(role, "user") ? USER : rp__json_eq(role, "assistant") ? AGENT : OTHER;
}

/* The chunks of a stream are one text; the blocks of a prompt are one each. */
static int gather_message(struct rp__echo *e, const struct rp__past_event *ev)
{
  struct rp__json content = rp__json_get(ev->body, "content"), id = rp__json_get(ev->body, "message_id"), block;
  struct rp__json_iter it = {0};
  enum voice voice = voice_of(ev->body);
  uint64_t hash = id.type == RP_JSON_STRING ? rp__note_hash(id) : 0;
  bool whole = ev->kind == RP_PAST_PROMPT;
  int rc = 0;
  if (voice == OTHER || rp__note_is_ours(id)) return 0;
  if (content.type == RP_JSON_STRING) rc = add_text(e, add(e, voice, hash), content);
  while (!rc && rp__json_next(content, &it, NULL, &block)) {
    struct said *last = e->n ? said_at(e, e->n - 1) : NULL;
    bool goes_on = last && last->open && last->voice == voice && last->id == hash;
    struct said *s = goes_on ? last : add(e, voice, hash);
    s->open = !whole && rp__json_get(ev->body, "partial").type == RP_JSON_TRUE;
    s->spilled = s->spilled || rp__json_get(ev->body, "acp_blob").type == RP_JSON_STRING;
    rc = add_text(e, s, block_text(block));
  }
  return rc;
}

static bool has_call(const struct rp__echo *e, uint64_t id)
{
  for (size_t i = e->n; i-- > 0;)
    if (said_at(e, i)->voice == CALL && said_at(e, i)->id == id) return true;
  return false;
}

/* Some agents begin a call with an update, and repeat it as a call. */
static int gather_tool(struct rp__echo *e, struct rp__json body)
{
  struct rp__json acp = rp__json_get(body, "acp"), id = rp__json_get(acp, "toolCallId");
  if (id.type != RP_JSON_STRING) return 0;
  uint64_t hash = rp__note_hash(id);
  if (!rp__json_eq(rp__json_get(acp, "sessionUpdate"), "tool_call") && has_call(e, hash)) return 0;
  return add_text(e, add(e, CALL, hash), rp__json_get(acp, "title"));
}

static int gather(struct rp__echo *e, const struct rp__past_event *ev)
{
  struct rp__json update = rp__json_get(ev->body, "update");
  switch (ev->kind) {
  case RP_PAST_PROMPT:
  case RP_PAST_MESSAGE: return gather_message(e, ev);
  case RP_PAST_TOOL: return gather_tool(e, ev->body);
  case RP_PAST_UPDATE:
    if (rp__state_update(rp__json_get(update, "sessionUpdate")) < 0) add(e, OTHER, rp__note_hash(update));
    return 0;
  default: return 0;
  }
}

/* Of the events behind `from`. */
static int echo_of(rp_session *s, int64_t from, int64_t end, struct rp__echo **ret, rp_error *err)
{
  struct rp__past past RP_CLEANUP(rp__past_done) = {0};
  struct rp__past_event ev;
  struct rp__echo *e = calloc(1, sizeof *e);
  if (e) e->ring = calloc(ECHO_ENTRIES, sizeof *e->ring);
  int rc = e && e->ring ? rp__past_open(&past, s, end, err) : rp__fail_nomem(err);
  if (!rc && from > past.at) past.at = from;
  while (!rc && (rc = rp__past_next(&past, &ev, err)) > 0) {
    rc = gather(e, &ev);
    if (rc) rc = rp__fail_nomem(err);
  }
  if (rc) {
    rp__echo_free(e);
    return rc;
  }
  *ret = e;
  return 0;
}

int rp__echo_new(rp_session *s, int64_t end, struct rp__echo **ret, rp_error *err)
{
  return echo_of(s, 0, end, ret, err);
}

/* ---- knowing again ------------------------------------------------------------------------------------------ */

/* All of an entry was told again; what was left out before the place may still come. */
static void tell(struct rp__echo *e, size_t i)
{
  said_at(e, i)->told = true;
  if (i < e->at) return;
  e->at = i + 1;
  e->offset = 0;
}

/* Whether the text stands at entry i from `offset` on; then that is how far they have come. */
static bool match(struct rp__echo *e, size_t i, size_t offset, enum voice voice, struct rp__str text, bool strict)
{
  size_t left = text.n, first = i;
  const char *at = text.p;
  for (; i < e->n; i++, offset = 0) {
    const struct said *s = said_at(e, i);
    if (s->voice != voice || s->text.err || offset > s->text.n) return false;
    size_t n = RP_MIN(left, s->text.n - offset);
    if (n && memcmp(s->text.p + offset, at, n) != 0) return false;
    at += n;
    left -= n;
    if (left) continue;
    bool all = offset + n == s->text.n;
    if (!all && (strict || (e->cut && !e->found)) && text.n < PIECE_MIN && !offset) return false;
    for (size_t k = first; k < i + all; k++) said_at(e, k)->told = true;
    e->at = all ? i + 1 : i;
    e->offset = all ? 0 : offset + n;
    return true;
  }
  return false;
}

/* What may be left out in order to come to that voice: agents do not repeat all, but what was said they do. */
static bool may_skip(const struct said *s, enum voice voice)
{
  if (voice == USER || !s->text.n) return true;
  return s->voice != USER && s->voice != AGENT && s->voice != voice;
}

static const char *last_of(struct rp__str text, const char *word)
{
  size_t n = strlen(word);
  for (size_t i = text.n >= n ? text.n - n + 1 : 0; i > 0; i--)
    if (memcmp(text.p + i - 1, word, n) == 0) return text.p + i - 1;
  return NULL;
}

/* Redaction and blobs leave a gap in what the journal has: then the text before it and behind it are compared. */
static bool like(const struct said *s, struct rp__str text)
{
  struct rp__str has = {s->text.p, s->text.n};
  const char *mask = s->spilled ? last_of(has, CUT) : has.n ? memmem(has.p, has.n, MASK, sizeof MASK - 1) : NULL;
  if (!mask) return has.n && has.n == text.n && memcmp(has.p, text.p, has.n) == 0;
  size_t head = (size_t)(mask - has.p), tail = 0;
  if (!s->spilled) tail = (size_t)(has.p + has.n - last_of(has, MASK)) - (sizeof MASK - 1);
  if (head + tail < ENDS_MIN || head + tail > text.n || memcmp(has.p, text.p, head) != 0) return false;
  return !tail || memcmp(has.p + has.n - tail, text.p + text.n - tail, tail) == 0;
}

/* A whole message, out of its order, or one with a gap. */
static bool know_message(struct rp__echo *e, enum voice voice, struct rp__str text)
{
  for (size_t i = 0; i < e->n; i++) {
    struct said *s = said_at(e, i);
    if (s->voice != voice || s->told || s->text.err || !like(s, text)) continue;
    tell(e, i);
    return true;
  }
  return false;
}

static bool know_text(struct rp__echo *e, enum voice voice, struct rp__json block, bool strict)
{
  struct rp__json string = block_text(block);
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_PAST_BLOB);
  if (string.type != RP_JSON_STRING || rp__json_text(string, &text) || text.err || !text.n) return false;
  squeeze(&text, 0);
  if (!text.n) return !strict && rp__echo_begun(e);
  struct rp__str t = {text.p, text.n};
  if (e->offset && match(e, e->at, e->offset, voice, t, strict)) return true;
  for (size_t i = e->at; i < e->n; i++) {
    bool half = strict && i == e->at && e->offset; /* told: it does not begin again */
    if (!half && said_at(e, i)->text.n && match(e, i, 0, voice, t, strict)) return true;
    if (strict && !may_skip(said_at(e, i), voice)) return false;
  }
  return !strict && know_message(e, voice, t);
}

static void forget_call(struct rp__echo *e, uint64_t id)
{
  for (size_t i = 0; i < e->n; i++)
    if (said_at(e, i)->voice == CALL && said_at(e, i)->id == id) said_at(e, i)->repeated = false;
}

static bool same_text(const struct rp__buf *a, const struct rp__buf *b)
{
  return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}

/* While no turn runs, an id is enough: agents have other titles in a replay, and another order. */
static bool is_call(const struct said *s, uint64_t id, const struct rp__buf *title, bool strict)
{
  return s->voice == CALL && s->id == id && (strict ? same_text(&s->text, title) : !s->told);
}

/* One that is not known again is a new call, maybe with an old one's id. */
static bool know_call(struct rp__echo *e, struct rp__json update, bool strict)
{
  struct rp__json title = rp__json_get(update, "title");
  uint64_t id = rp__note_hash(rp__json_get(update, "toolCallId"));
  struct rp__buf text RP_AUTOBUF = RP_BUF(ECHO_TEXT);
  if (title.type != RP_JSON_STRING || rp__json_text(title, &text)) return false;
  squeeze(&text, 0);
  for (size_t i = strict ? e->at : 0; i < e->n; i++) {
    struct said *s = said_at(e, i);
    if (!is_call(s, id, &text, strict)) {
      if (strict && !may_skip(s, CALL)) break;
      continue;
    }
    s->repeated = true;
    tell(e, i);
    return true;
  }
  forget_call(e, id);
  return false;
}

static bool know_call_update(const struct rp__echo *e, struct rp__json update)
{
  uint64_t id = rp__note_hash(rp__json_get(update, "toolCallId"));
  for (size_t i = 0; i < e->at; i++)
    if (said_at(e, i)->voice == CALL && said_at(e, i)->id == id && said_at(e, i)->repeated) return true;
  return false;
}

static bool know_other(struct rp__echo *e, struct rp__json update, bool strict)
{
  uint64_t id = rp__note_hash(update);
  for (size_t i = strict ? e->at : 0; i < e->n; i++) {
    struct said *s = said_at(e, i);
    if (s->voice != OTHER || s->id != id || s->told) {
      if (strict && !may_skip(s, OTHER)) break;
      continue;
    }
    tell(e, i);
    return true;
  }
  return false;
}

static bool know(struct rp__echo *e, struct rp__json update, bool strict)
{
  struct rp__json name = rp__json_get(update, "sessionUpdate"), content = rp__json_get(update, "content");
  if (rp__json_eq(name, "user_message_chunk")) return know_text(e, USER, content, strict);
  if (rp__json_eq(name, "agent_message_chunk")) return know_text(e, AGENT, content, strict);
  if (rp__json_eq(name, "agent_thought_chunk")) return know_text(e, THOUGHT, content, strict);
  if (rp__json_eq(name, "tool_call")) return know_call(e, update, strict);
  if (rp__json_eq(name, "tool_call_update")) return know_call_update(e, update);
  return rp__state_update(name) < 0 && know_other(e, update, strict);
}

/*
 * Of a long conversation the beginning is not remembered: until a place is found it is told. In it some may happen to
 * look like what is remembered, and is no place.
 */
bool rp__echo_known(struct rp__echo *e, struct rp__json update)
{
  bool known = know(e, update, false), state = rp__state_update(rp__json_get(update, "sessionUpdate")) >= 0;
  if (!e->cut || state || e->found >= FOUND_MIN) return known;
  e->found = known ? e->found + 1 : 0;
  if (!known) e->at = e->offset = 0;
  return true;
}

bool rp__echo_next(struct rp__echo *e, struct rp__json update)
{
  return know(e, update, true);
}

void rp__echo_news(struct rp__echo *e, struct rp__json update)
{
  if (rp__json_eq(rp__json_get(update, "sessionUpdate"), "tool_call"))
    forget_call(e, rp__note_hash(rp__json_get(update, "toolCallId")));
}

static struct said *last_prompt(const struct rp__echo *e, size_t from)
{
  for (size_t i = e->n; i-- > from;)
    if (said_at(e, i)->voice == USER && said_at(e, i)->text.n) return said_at(e, i);
  return NULL;
}

bool rp__echo_ahead(const struct rp__echo *e)
{
  return last_prompt(e, e->at) != NULL;
}

bool rp__echo_next_id(const struct rp__echo *e, struct rp__json update)
{
  struct rp__json id = rp__json_get(update, "messageId");
  size_t i = e->at;
  while (i < e->n && may_skip(said_at(e, i), AGENT)) i++;
  return i < e->n && id.type == RP_JSON_STRING && said_at(e, i)->id == rp__note_hash(id);
}

bool rp__echo_asked_again(const struct rp__echo *e, rp_session *s, int64_t from)
{
  struct rp__echo *since = NULL;
  rp_error why = {0};
  const struct said *old = last_prompt(e, 0);
  if (!old || !s || echo_of(s, from, -1, &since, &why)) return true; /* who knows */
  const struct said *now = last_prompt(since, 0);
  bool same = !now || same_text(&old->text, &now->text);
  rp__echo_free(since);
  return same;
}

bool rp__echo_cut(const struct rp__echo *e)
{
  return e->cut;
}

bool rp__echo_begun(const struct rp__echo *e)
{
  return e->at || e->offset;
}

bool rp__echo_halfway(const struct rp__echo *e)
{
  return e->offset > 0;
}

bool rp__echo_over(const struct rp__echo *e)
{
  for (size_t i = e->at; i < e->n; i++) {
    enum voice voice = said_at(e, i)->voice;
    if ((voice == USER || voice == AGENT) && said_at(e, i)->text.n) return false;
  }
  return true;
}
