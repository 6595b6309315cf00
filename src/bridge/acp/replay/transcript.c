/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of the journal in their order. A replay comes in the same order, so the transcript has a position: the
 * place that the replay has reached. A text before this position is not recognised again, because an answer that
 * happens to equal an old one is new.
 *
 * Texts match in whatever pieces they come, also across several messages of one voice, and white space is ignored.
 * While no turn runs, a replay may leave entries out and send them later. During a turn only the next entry is
 * recognised.
 */
#include "bridge/acp/replay/replay.h"

#include "bridge/acp/replay/conversation.h"
#include "bridge/acp/session/event.h"

#define ENTRIES_MAX 16384                   /* the newest */
#define BYTES_MAX ((size_t)8 * 1024 * 1024) /* … and of their texts */
#define TEXT_MAX ((size_t)512 * 1024)       /* a longer text is not known again */
#define PIECE_MIN 20      /* bytes of a piece that may begin a text during a turn; less must be all of it */
#define FOUND_MIN 3       /* repeats in a row: they do not happen to look like it */
#define ENDS_MIN 8        /* bytes by which a text is known of which the journal has only the ends */
#define MASK "[REDACTED]" /* what redaction leaves */
#define CUT "\u2026["     /* where the journal's text of a long message ends (large-body.c) */

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

struct rp__acp_transcript {
  struct said *ring;
  size_t first, n, bytes;
  size_t at, offset; /* how far repeats have come: an entry, and bytes of its text */
  bool cut;          /* there was more than is remembered */
  unsigned found;    /* repeats in a row, since such a one may be going on */
};

static struct said *said_at(const struct rp__acp_transcript *t, size_t i)
{
  return &t->ring[(t->first + i) % ENTRIES_MAX];
}

void rp__acp_transcript_free(struct rp__acp_transcript *t)
{
  if (!t) return;
  for (size_t i = 0; i < t->n; i++) rp__buf_done(&said_at(t, i)->text);
  free(t->ring);
  free(t);
}

/* ---- gathering ------------------------------------------------------------------------------------------- */

static void drop_first(struct rp__acp_transcript *t)
{
  t->bytes -= said_at(t, 0)->text.n;
  rp__buf_done(&said_at(t, 0)->text);
  t->first = (t->first + 1) % ENTRIES_MAX;
  t->n--;
  t->cut = true;
}

static struct said *add(struct rp__acp_transcript *t, enum voice voice, uint64_t id)
{
  if (t->n == ENTRIES_MAX) drop_first(t);
  struct said *s = said_at(t, t->n++);
  *s = (struct said){.voice = voice, .id = id, .text = RP_BUF(TEXT_MAX)};
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
static int add_text(struct rp__acp_transcript *t, struct said *s, struct rp__json string)
{
  size_t before = s->text.n;
  if (string.type != RP_JSON_STRING || s->text.err) return 0;
  rp__json_text(string, &s->text);
  squeeze(&s->text, before);
  if (s->text.err == RP_E_NOMEM) return RP_E_NOMEM;
  t->bytes += s->text.n - before;
  while (t->n > 1 && t->bytes > BYTES_MAX) drop_first(t);
  return 0;
}

static struct rp__json block_text(struct rp__json block)
{
  if (block.type == RP_JSON_STRING) return block;
  return rp__json_eq(rp__json_get(block, "type"), "text") ? rp__json_get(block, "text") : (struct rp__json){0};
}

/* The chunks of a stream are one text; the blocks of a prompt are one each. */
static int gather_message(struct rp__acp_transcript *t, const struct rp__conversation_event *ev)
{
  struct rp__json content = rp__json_get(ev->body, "content"), id = rp__json_get(ev->body, "message_id"), block;
  struct rp__json_iter it = {0};
  struct rp__json role = rp__json_get(ev->body, "role");
  enum voice voice = rp__json_get(ev->body, "thought").type == RP_JSON_TRUE ? THOUGHT
                     : rp__json_eq(role, "user")                            ? USER
                     : rp__json_eq(role, "assistant")                       ? AGENT
                                                                            : OTHER;
  uint64_t hash = id.type == RP_JSON_STRING ? rp__acp_event_hash(id) : 0;
  bool whole = ev->kind == RP_CONVERSATION_PROMPT;
  int rc = 0;
  if (voice == OTHER || rp__acp_event_is_ours(id)) return 0;
  if (content.type == RP_JSON_STRING) rc = add_text(t, add(t, voice, hash), content);
  while (!rc && rp__json_next(content, &it, NULL, &block)) {
    struct said *last = t->n ? said_at(t, t->n - 1) : NULL;
    bool goes_on = last && last->open && last->voice == voice && last->id == hash;
    struct said *s = goes_on ? last : add(t, voice, hash);
    s->open = !whole && rp__json_get(ev->body, "partial").type == RP_JSON_TRUE;
    s->spilled = s->spilled || rp__json_get(ev->body, "acp_blob").type == RP_JSON_STRING;
    rc = add_text(t, s, block_text(block));
  }
  return rc;
}

static int gather(struct rp__acp_transcript *t, const struct rp__conversation_event *ev)
{
  struct rp__json update = rp__json_get(ev->body, "update"), acp = rp__json_get(ev->body, "acp");
  struct rp__json id = rp__json_get(acp, "toolCallId");
  uint64_t hash = rp__acp_event_hash(id);
  switch (ev->kind) {
  case RP_CONVERSATION_PROMPT:
  case RP_CONVERSATION_MESSAGE: return gather_message(t, ev);
  case RP_CONVERSATION_TOOL:
    if (id.type != RP_JSON_STRING) return 0;
    /* Some agents begin a call with an update, and repeat it as a call. */
    for (size_t i = t->n; !rp__json_eq(rp__json_get(acp, "sessionUpdate"), "tool_call") && i-- > 0;)
      if (said_at(t, i)->voice == CALL && said_at(t, i)->id == hash) return 0;
    return add_text(t, add(t, CALL, hash), rp__json_get(acp, "title"));
  case RP_CONVERSATION_UPDATE:
    if (rp__state_update(rp__json_get(update, "sessionUpdate")) < 0) add(t, OTHER, rp__acp_event_hash(update));
    return 0;
  default: return 0;
  }
}

/* Of the events behind `from`. */
static int read_from(rp_session *s, int64_t from, int64_t end, struct rp__acp_transcript **ret, rp_error *err)
{
  struct rp__conversation past RP_CLEANUP(rp__conversation_done) = {0};
  struct rp__conversation_event ev;
  struct rp__acp_transcript *t = calloc(1, sizeof *t);
  if (t) t->ring = calloc(ENTRIES_MAX, sizeof *t->ring);
  int rc = t && t->ring ? rp__conversation_open(&past, s, end, err) : rp__fail_nomem(err);
  if (!rc && from > past.at) past.at = from;
  while (!rc && (rc = rp__conversation_next(&past, &ev, err)) > 0) {
    rc = gather(t, &ev);
    if (rc) rc = rp__fail_nomem(err);
  }
  if (rc) {
    rp__acp_transcript_free(t);
    return rc;
  }
  *ret = t;
  return 0;
}

int rp__acp_transcript_new(rp_session *s, int64_t end, struct rp__acp_transcript **ret, rp_error *err)
{
  return read_from(s, 0, end, ret, err);
}

/* ---- knowing again ------------------------------------------------------------------------------------------ */

/* All of an entry was told again; what was left out before the place may still come. */
static void tell(struct rp__acp_transcript *t, size_t i)
{
  said_at(t, i)->told = true;
  if (i < t->at) return;
  t->at = i + 1;
  t->offset = 0;
}

/* Whether the text stands at entry i from `offset` on; then that is how far they have come. */
static bool match(struct rp__acp_transcript *t, size_t i, size_t offset, enum voice voice, struct rp__str text,
                  bool strict)
{
  size_t left = text.n, first = i;
  const char *at = text.p;
  for (; i < t->n; i++, offset = 0) {
    const struct said *s = said_at(t, i);
    if (s->voice != voice || s->text.err || offset > s->text.n) return false;
    size_t n = RP_MIN(left, s->text.n - offset);
    if (n && memcmp(s->text.p + offset, at, n) != 0) return false;
    at += n;
    left -= n;
    if (left) continue;
    bool all = offset + n == s->text.n;
    if (!all && (strict || (t->cut && !t->found)) && text.n < PIECE_MIN && !offset) return false;
    for (size_t k = first; k < i + all; k++) said_at(t, k)->told = true;
    t->at = all ? i + 1 : i;
    t->offset = all ? 0 : offset + n;
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

static bool know_text(struct rp__acp_transcript *t, enum voice voice, struct rp__json block, bool strict)
{
  struct rp__json string = block_text(block);
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_CONVERSATION_BLOB);
  if (string.type != RP_JSON_STRING || rp__json_text(string, &text) || text.err || !text.n) return false;
  squeeze(&text, 0);
  if (!text.n) return !strict && rp__acp_transcript_begun(t);
  struct rp__str words = {text.p, text.n};
  if (t->offset && match(t, t->at, t->offset, voice, words, strict)) return true;
  for (size_t i = t->at; i < t->n; i++) {
    bool half = strict && i == t->at && t->offset; /* told: it does not begin again */
    if (!half && said_at(t, i)->text.n && match(t, i, 0, voice, words, strict)) return true;
    if (strict && !may_skip(said_at(t, i), voice)) return false;
  }
  for (size_t i = 0; !strict && i < t->n; i++) { /* a whole message, out of its order, or one with a gap */
    const struct said *s = said_at(t, i);
    if (s->voice != voice || s->told || s->text.err || !like(s, words)) continue;
    tell(t, i);
    return true;
  }
  return false;
}

static void forget_call(struct rp__acp_transcript *t, uint64_t id)
{
  for (size_t i = 0; i < t->n; i++)
    if (said_at(t, i)->voice == CALL && said_at(t, i)->id == id) said_at(t, i)->repeated = false;
}

static bool same_text(const struct rp__buf *a, const struct rp__buf *b)
{
  return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}

/*
 * Finds a call, or another update, that was not told again. While no turn runs, a call's id is enough: agents have
 * other titles in a replay, and another order.
 */
static bool find(struct rp__acp_transcript *t, enum voice voice, uint64_t id, const struct rp__buf *title, bool strict)
{
  for (size_t i = strict ? t->at : 0; i < t->n; i++) {
    struct said *s = said_at(t, i);
    bool by_title = strict && voice == CALL;
    if (s->voice == voice && s->id == id && (by_title ? same_text(&s->text, title) : !s->told)) {
      s->repeated = voice == CALL;
      tell(t, i);
      return true;
    }
    if (strict && !may_skip(s, voice)) return false;
  }
  return false;
}

static bool know(struct rp__acp_transcript *t, struct rp__json update, bool strict)
{
  struct rp__json name = rp__json_get(update, "sessionUpdate"), content = rp__json_get(update, "content");
  struct rp__json title = rp__json_get(update, "title");
  uint64_t call = rp__acp_event_hash(rp__json_get(update, "toolCallId"));
  if (rp__json_eq(name, "user_message_chunk")) return know_text(t, USER, content, strict);
  if (rp__json_eq(name, "agent_message_chunk")) return know_text(t, AGENT, content, strict);
  if (rp__json_eq(name, "agent_thought_chunk")) return know_text(t, THOUGHT, content, strict);
  if (rp__json_eq(name, "tool_call")) {
    struct rp__buf text RP_AUTOBUF = RP_BUF(TEXT_MAX);
    if (title.type != RP_JSON_STRING || rp__json_text(title, &text)) return false;
    squeeze(&text, 0);
    bool known = find(t, CALL, call, &text, strict);
    if (!known) forget_call(t, call); /* it is a new one, maybe with an old one's id */
    return known;
  }
  if (!rp__json_eq(name, "tool_call_update"))
    return rp__state_update(name) < 0 && find(t, OTHER, rp__acp_event_hash(update), NULL, strict);
  for (size_t i = 0; i < t->at; i++)
    if (said_at(t, i)->voice == CALL && said_at(t, i)->id == call && said_at(t, i)->repeated) return true;
  return false;
}

/*
 * Of a long conversation the beginning is not remembered: until a place is found it is told. In it some may happen to
 * look like what is remembered, and is no place.
 */
bool rp__acp_transcript_known(struct rp__acp_transcript *t, struct rp__json update)
{
  bool known = know(t, update, false), state = rp__state_update(rp__json_get(update, "sessionUpdate")) >= 0;
  if (!t->cut || state || t->found >= FOUND_MIN) return known;
  t->found = known ? t->found + 1 : 0;
  if (!known) t->at = t->offset = 0;
  return true;
}

bool rp__acp_transcript_next(struct rp__acp_transcript *t, struct rp__json update)
{
  return know(t, update, true);
}

void rp__acp_transcript_news(struct rp__acp_transcript *t, struct rp__json update)
{
  if (rp__json_eq(rp__json_get(update, "sessionUpdate"), "tool_call"))
    forget_call(t, rp__acp_event_hash(rp__json_get(update, "toolCallId")));
}

static struct said *last_prompt(const struct rp__acp_transcript *t, size_t from)
{
  for (size_t i = t->n; i-- > from;)
    if (said_at(t, i)->voice == USER && said_at(t, i)->text.n) return said_at(t, i);
  return NULL;
}

bool rp__acp_transcript_ahead(const struct rp__acp_transcript *t)
{
  return last_prompt(t, t->at) != NULL;
}

bool rp__acp_transcript_next_id(const struct rp__acp_transcript *t, struct rp__json update)
{
  struct rp__json id = rp__json_get(update, "messageId");
  size_t i = t->at;
  while (i < t->n && may_skip(said_at(t, i), AGENT)) i++;
  return i < t->n && id.type == RP_JSON_STRING && said_at(t, i)->id == rp__acp_event_hash(id);
}

bool rp__acp_transcript_asked_again(const struct rp__acp_transcript *t, rp_session *s, int64_t from)
{
  struct rp__acp_transcript *since = NULL;
  rp_error why = {0};
  const struct said *old = last_prompt(t, 0);
  if (!old || !s || read_from(s, from, -1, &since, &why)) return true; /* who knows */
  const struct said *now = last_prompt(since, 0);
  bool same = !now || same_text(&old->text, &now->text);
  rp__acp_transcript_free(since);
  return same;
}

bool rp__acp_transcript_cut(const struct rp__acp_transcript *t)
{
  return t->cut;
}

bool rp__acp_transcript_begun(const struct rp__acp_transcript *t)
{
  return t->at || t->offset;
}

bool rp__acp_transcript_halfway(const struct rp__acp_transcript *t)
{
  return t->offset > 0;
}

bool rp__acp_transcript_over(const struct rp__acp_transcript *t)
{
  for (size_t i = t->at; i < t->n; i++) {
    enum voice voice = said_at(t, i)->voice;
    if ((voice == USER || voice == AGENT) && said_at(t, i)->text.n) return false;
  }
  return true;
}
