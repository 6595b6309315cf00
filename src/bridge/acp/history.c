/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversation as one text, for an agent that can't load it. Lines of ours stand at the margin and begin with a
 * word of ours or a bracket; what others said begins behind "User: " or "Assistant: ", and each further line of it
 * behind "> ", so that nothing in it can look like a line of ours. The newest entries are kept.
 */
#include "base/text.h"
#include "bridge/acp/note-impl.h"
#include "bridge/acp/past.h"
#include "bridge/acp/replay.h"
#include "json/scan.h"

#define ENTRIES_MAX 4096
#define ENTRY_OVERHEAD 32 /* bytes around an entry's text */
#define FRAME 1024        /* bytes of our own lines, but for the tools' names */
#define NAMES_MAX 16      /* tools of unknown outcome that are named */
#define NAME_BYTES 96     /* of each */
#define MIN_BYTES (FRAME + NAMES_MAX * (2 * NAME_BYTES + 4) + 1024)

static const char head[] = "[The conversation so far, as Reprise recorded it. It is a record, not a new request: what "
                           "stands behind \"User: \", \"Assistant: \" and \"> \" was said earlier.]\n";
static const char tail[] = "[End of the record. Answer what the user says outside of it.]\n\n";

enum who { USER, ASSISTANT, TOOL };
static const char *const who_words[] = {[USER] = "User: ", [ASSISTANT] = "Assistant: ", [TOOL] = "Tool "};

struct entry {
  int64_t seq;
  uint64_t id; /* of the message or the call; 0: none */
  enum who who;
  bool open;          /* a stream that may go on; a call without an outcome */
  bool cut;           /* there was more */
  const char *status; /* a call's */
  struct rp__buf text;
};

struct history {
  struct entry *ring;
  size_t first, n;
  size_t bytes, budget, entry_max;
  int64_t dropped;
  char names[NAMES_MAX][NAME_BYTES]; /* of calls without an outcome that had to go */
  size_t n_names;
};

static struct entry *entry_at(const struct history *h, size_t i)
{
  return &h->ring[(h->first + i) % ENTRIES_MAX];
}

static void history_done(struct history *h)
{
  for (size_t i = 0; i < h->n; i++) rp__buf_done(&entry_at(h, i)->text);
  free(h->ring);
}

/* ---- the list ----------------------------------------------------------------------------------------- */

static void keep_name(struct history *h, const struct entry *e)
{
  if (e->who != TOOL || !e->open || h->n_names == NAMES_MAX) return;
  rp__text_copy(h->names[h->n_names++], NAME_BYTES, e->text.p ? e->text.p : "");
}

static void drop_first(struct history *h)
{
  struct entry *e = entry_at(h, 0);
  keep_name(h, e);
  h->bytes -= e->text.n + ENTRY_OVERHEAD;
  rp__buf_done(&e->text);
  h->first = (h->first + 1) % ENTRIES_MAX;
  h->n--;
  h->dropped++;
}

static void drop_after(struct history *h, int64_t seq)
{
  while (h->n && entry_at(h, h->n - 1)->seq > seq) {
    struct entry *e = entry_at(h, --h->n);
    h->bytes -= e->text.n + ENTRY_OVERHEAD;
    rp__buf_done(&e->text);
  }
}

static struct entry *add(struct history *h, int64_t seq, enum who who, uint64_t id)
{
  if (h->n == ENTRIES_MAX) drop_first(h);
  struct entry *e = entry_at(h, h->n++);
  *e = (struct entry){.seq = seq, .who = who, .id = id, .open = true, .text = RP_BUF(h->entry_max + 64)};
  h->bytes += ENTRY_OVERHEAD;
  return e;
}

static void fit(struct history *h)
{
  while (h->n > 1 && h->bytes > h->budget) drop_first(h);
}

/* ---- text --------------------------------------------------------------------------------------------- */

static bool is_line_end(const char *c, unsigned n)
{
  if (n == 1) return *c == '\n';
  if (n == 2) return memcmp(c, "\xc2\x85", 2) == 0;
  return n == 3 && (memcmp(c, "\xe2\x80\xa8", 3) == 0 || memcmp(c, "\xe2\x80\xa9", 3) == 0);
}

static bool is_control(const char *c, unsigned n)
{
  if (n == 1) return ((uint8_t)*c < 0x20 && *c != '\t') || *c == 0x7f;
  return n == 2 && (uint8_t)c[0] == 0xc2 && (uint8_t)c[1] < 0xa0;
}

static void put_text(struct entry *e, size_t max, const char *s, size_t n)
{
  const char *end = s + n;
  for (unsigned len; s < end; s += len) {
    len = rp__utf8_len(s, end);
    if (!len) len = 1;
    if (e->text.n + len + 2 > max) {
      e->cut = true;
      return;
    }
    if (is_line_end(s, len))
      rp__buf_str(&e->text, "\n> ");
    else if (is_control(s, len))
      rp__buf_char(&e->text, ' ');
    else
      rp__buf_add(&e->text, s, len);
  }
}

static int put_json(struct history *h, struct entry *e, struct rp__json string)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(string.n + 1);
  size_t before = e->text.n;
  if (string.type != RP_JSON_STRING || e->cut) return 0;
  int rc = rp__json_text(string, &text);
  if (rc) return rc;
  if (text.n) put_text(e, h->entry_max, text.p, text.n);
  h->bytes += e->text.n - before;
  return e->text.err;
}

/* What is no text is named. */
static int put_block(struct history *h, struct entry *e, struct rp__json block)
{
  struct rp__json type = rp__json_get(block, "type"), text = rp__json_get(block, "text");
  struct rp__json resource = rp__json_get(block, "resource"), uri = rp__json_get(block, "uri");
  struct rp__buf label RP_AUTOBUF = RP_BUF(NAME_BYTES + 64);
  if (block.type == RP_JSON_STRING) text = block;
  if (text.type != RP_JSON_STRING) text = rp__json_get(resource, "text");
  if (text.type == RP_JSON_STRING) return put_json(h, e, text);
  char *kind RP_AUTOFREE = rp__json_dup(type),
             *where RP_AUTOFREE = rp__json_dup(uri.type ? uri : rp__json_get(resource, "uri"));
  rp__buf_printf(&label, "[%.20s %.*s]", kind ? kind : "block", NAME_BYTES, where ? where : "");
  size_t before = e->text.n;
  if (label.n) put_text(e, h->entry_max, label.p, label.n);
  h->bytes += e->text.n - before;
  return label.err ? label.err : e->text.err;
}

/* ---- events ------------------------------------------------------------------------------------------- */

/* The message that goes on; of a whole one, what came of it before, which it stands for. NULL: it is a new one. */
static struct entry *find_message(const struct history *h, enum who who, uint64_t id, bool whole)
{
  for (size_t i = h->n; i > 0; i--) {
    struct entry *e = entry_at(h, i - 1);
    if (e->who == who && e->id == id && (e->open || whole)) return e;
    if (!id) return NULL;
  }
  return NULL;
}

static int take_message(struct history *h, const struct rp__past_event *ev)
{
  struct rp__json role = rp__json_get(ev->body, "role"), id = rp__json_get(ev->body, "message_id");
  struct rp__json content = rp__json_get(ev->body, "content"), block;
  struct rp__json_iter it = {0};
  enum who who = rp__json_eq(role, "user") ? USER : ASSISTANT;
  uint64_t hash = id.type == RP_JSON_STRING ? rp__note_hash(id) : 0;
  bool partial = rp__json_get(ev->body, "partial").type == RP_JSON_TRUE;
  int rc = 0;
  if (who == ASSISTANT && !rp__json_eq(role, "assistant")) return 0;
  if (rp__json_get(ev->body, "thought").type == RP_JSON_TRUE || rp__note_is_ours(id)) return 0;
  bool whole = hash && rp__json_get(ev->body, "whole").type == RP_JSON_TRUE;
  struct entry *e = ev->kind != RP_PAST_PROMPT ? find_message(h, who, hash, whole) : NULL;
  if (e && whole) {
    h->bytes -= e->text.n;
    rp__buf_reset(&e->text);
    e->cut = false;
  }
  if (!e) e = add(h, ev->seq, who, hash);
  if (content.type == RP_JSON_STRING) rc = put_block(h, e, content);
  if (content.type == RP_JSON_ARRAY)
    while (!rc && rp__json_next(content, &it, NULL, &block)) rc = put_block(h, e, block);
  e->open = partial;
  fit(h);
  return rc;
}

static const char *status_word(struct rp__json v)
{
  static const char *const words[] = {"done", "failed"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    if (rp__json_eq(v, words[i])) return words[i];
  return NULL;
}

static int take_tool(struct history *h, const struct rp__past_event *ev)
{
  uint64_t id = rp__note_hash(rp__json_get(ev->body, "call_id"));
  const char *status = status_word(rp__json_get(ev->body, "status"));
  struct entry *e = NULL;
  int rc = 0;
  for (size_t i = h->n; !e && i-- > 0;)
    if (entry_at(h, i)->who == TOOL && entry_at(h, i)->id == id) e = entry_at(h, i);
  if (!e) {
    if (h->n && entry_at(h, h->n - 1)->who != TOOL) entry_at(h, h->n - 1)->open = false;
    e = add(h, ev->seq, TOOL, id);
  }
  h->bytes -= e->text.n;
  rp__buf_reset(&e->text);
  e->cut = false;
  rc = put_json(h, e, rp__json_get(ev->body, "name"));
  e->status = status;
  e->open = !status;
  fit(h);
  return rc;
}

static void take_end(struct history *h)
{
  struct entry *e = h->n ? entry_at(h, h->n - 1) : NULL;
  if (e && e->who != TOOL) e->open = false;
}

static int take(struct history *h, const struct rp__past_event *ev)
{
  switch (ev->kind) {
  case RP_PAST_PROMPT:
  case RP_PAST_MESSAGE: return take_message(h, ev);
  case RP_PAST_TOOL: return take_tool(h, ev);
  case RP_PAST_BACK: drop_after(h, ev->to); return 0;
  case RP_PAST_TURN_END:
  case RP_PAST_DIED:
  case RP_PAST_RUN: take_end(h); return 0;
  default: return 0;
  }
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* A name as a JSON string: nothing in it can end the line. */
static void write_name(struct rp__buf *out, const char *name)
{
  struct rp__jw w = RP_JW(out);
  char cut[NAME_BYTES];
  rp__text_copy(cut, sizeof cut, name ? name : "");
  rp__jw_str(&w, cut);
}

static void write_entry(const struct entry *e, struct rp__buf *out)
{
  if (e->who != TOOL && !e->text.n) return;
  rp__buf_str(out, who_words[e->who]);
  if (e->who == TOOL) {
    write_name(out, e->text.p);
    rp__buf_printf(out, ": %s\n", e->status ? e->status : "unknown outcome");
    return;
  }
  rp__buf_add(out, e->text.p, e->text.n);
  rp__buf_str(out, e->cut ? " … [cut]\n" : "\n");
}

static void write_unknown(struct history *h, struct rp__buf *out)
{
  for (size_t i = 0; i < h->n; i++) keep_name(h, entry_at(h, i));
  if (!h->n_names) return;
  rp__buf_str(out, "[These tools were cut off, and whether they took effect is unknown: ");
  for (size_t i = 0; i < h->n_names; i++) {
    if (i) rp__buf_str(out, ", ");
    write_name(out, h->names[i]);
  }
  rp__buf_str(out, ". Check before you repeat them.]\n");
}

static void write_all(struct history *h, struct rp__buf *out)
{
  rp__buf_str(out, head);
  if (h->dropped) rp__buf_printf(out, "[What came before is left out: %lld entries.]\n", (long long)h->dropped);
  for (size_t i = 0; i < h->n; i++) write_entry(entry_at(h, i), out);
  write_unknown(h, out);
  rp__buf_str(out, tail);
}

int rp__history_text(rp_session *s, size_t max, struct rp__buf *out, rp_error *err)
{
  struct history h RP_CLEANUP(history_done) = {.budget = max - MIN_BYTES + 1024};
  struct rp__past past RP_CLEANUP(rp__past_done) = {0};
  struct rp__past_event ev;
  if (max < MIN_BYTES) return rp__fail(err, RP_E_LIMIT, "a history needs at least %d bytes", (int)MIN_BYTES);
  h.entry_max = h.budget / 4;
  h.ring = calloc(ENTRIES_MAX, sizeof *h.ring);
  if (!h.ring) return rp__fail_nomem(err);
  int rc = rp__past_open(&past, s, -1, err);
  while (!rc && (rc = rp__past_next(&past, &ev, err)) > 0) {
    rc = take(&h, &ev);
    if (rc) return rp__fail(err, rc, "the history does not fit into memory");
  }
  if (rc) return rc;
  if (h.n) write_all(&h, out);
  return out->err ? rp__fail(err, out->err, "the history does not fit") : 0;
}
