/* SPDX-License-Identifier: Apache-2.0 */
/* Sections about the evidence of a session (L-13): transcript, notes, frames, memory of the conversation. */
#include "continuity/brief-impl.h"

#include "base/clock.h"
#include "base/text.h"
#include "facets/evidence.h"

#define TAIL_BYTES 1600
#define TAIL_LINE 240
#define NOTES_SHOWN 10
#define FRAMES_SHOWN 5

/* ---- transcript -------------------------------------------------------------------- */

/* From `from` to the end in lines of at most TAIL_LINE characters, broken where the speaker broke them. */
static void tail_lines(const char *text, size_t n, struct rp__draft *d)
{
  while (n > 0) {
    const char *end = memchr(text, '\n', n);
    size_t line = end ? (size_t)(end - text) : n, take = line;
    if (take > TAIL_LINE) {
      take = rp__text_clip(text, TAIL_LINE);
      const char *space = memrchr(text + 1, ' ', take - 1);
      if (space) take = (size_t)(space - text);
    }
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "> ");
    struct rp__plain t = rp__plain_begin(out, TAIL_LINE + 2);
    rp__plain_bytes(&t, text, take);
    if (rp__plain_end(&t) == 0)
      rp__draft_cancel(d);
    else
      rp__draft_why(d, "what was said last");
    if (out->err) return;
    take += take < n && (text[take] == '\n' || text[take] == ' ');
    text += take;
    n -= take;
  }
}

static void transcript(const struct rp__evidence_heard *e, struct rp__draft *d)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(e->transcript.n + e->interim.n + 1);
  rp__evidence_transcript(e, &text);
  if (text.err) {
    if (!d->bytes.err) d->bytes.err = text.err;
    return;
  }
  rp__draft_section(d, RP_SEC_TRANSCRIPT, "the session has a transcript");
  size_t from = text.n > TAIL_BYTES ? text.n - TAIL_BYTES : 0;
  while (from && from < text.n && ((unsigned char)text.p[from] & 0xc0) == 0x80) from++;
  if (text.n > from) tail_lines(text.p + from, text.n - from, d);
}

/* ---- notes and frames ---------------------------------------------------------------- */

/* A number is a place in a recording; a time is told in words. */
static void add_when(const struct rp__brief_input *in, struct rp__json at, struct rp__buf *out)
{
  int64_t at_ms;
  if (at.type == RP_JSON_STRING && rp__time_parse(at.p + 1, at.n - 2, &at_ms) == 0) {
    rp__brief_ago(in, at_ms, out);
    return;
  }
  if (at.type != RP_JSON_NUMBER && at.type != RP_JSON_STRING) return;
  rp__buf_str(out, " (at ");
  rp__plain_value(out, at, 40);
  rp__buf_str(out, at.type == RP_JSON_NUMBER ? " s)" : ")");
}

/* ---- memory of the conversation --------------------------------------------------------- */

static void context_line(const char *name, const struct rp__buf *json, struct rp__draft *d)
{
  struct rp__json v = json->n ? rp__json_trusted(json->p, json->n) : (struct rp__json){0}, item;
  struct rp__json_iter it = {0};
  struct rp__buf *out = rp__draft_item(d);
  size_t chars = 0;
  rp__buf_printf(out, "- %s: ", name);
  if (v.type == RP_JSON_ARRAY) {
    struct rp__plain t = rp__plain_begin(out, RP_TEXT_CHARS);
    for (bool first = true; rp__json_next(v, &it, NULL, &item);) {
      if (item.type != RP_JSON_STRING) continue;
      if (!first) rp__plain_bytes(&t, ", ", 2);
      first = false;
      rp__plain_json(&t, item);
    }
    chars = rp__plain_end(&t);
  } else {
    chars = rp__plain_value(out, v, RP_TEXT_CHARS);
  }
  if (chars == 0)
    rp__draft_cancel(d);
  else
    rp__draft_why(d, "the conversation's %s", name);
}

void rp__brief_evidence(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__evidence_heard *e = rp__evidence_heard(in->state);
  if (!e) return;
  const struct rp__rows *notes = &e->notes, *frames = &e->frames;
  transcript(e, d);
  rp__draft_section(d, RP_SEC_NOTES, "the session has notes");
  for (size_t i = notes->count > NOTES_SHOWN ? notes->count - NOTES_SHOWN : 0; i < notes->count; i++) {
    struct rp__json category = rp__row_cell(notes->v[i], RP_NOTE_CATEGORY);
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    if (category.type == RP_JSON_STRING && category.n > 2) {
      rp__buf_char(out, '[');
      rp__plain_value(out, category, RP_LABEL_CHARS);
      rp__buf_str(out, "] ");
    }
    rp__plain_value(out, rp__row_cell(notes->v[i], RP_NOTE_TEXT), RP_TEXT_CHARS);
    add_when(in, rp__row_cell(notes->v[i], RP_NOTE_TIMESTAMP), out);
    rp__draft_why(d, "one of the last %d notes", NOTES_SHOWN);
  }
  rp__draft_section(d, RP_SEC_FRAMES, "the session has frames");
  for (size_t i = frames->count > FRAMES_SHOWN ? frames->count - FRAMES_SHOWN : 0; i < frames->count; i++) {
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__plain_value(out, rp__row_cell(frames->v[i], RP_FRAME_ID), RP_LABEL_CHARS);
    add_when(in, rp__row_cell(frames->v[i], RP_FRAME_TIMESTAMP), out);
    rp__draft_why(d, "one of the %d frames nearest to the end", FRAMES_SHOWN);
  }
  rp__draft_section(d, RP_SEC_CONTEXT, "the session remembers its conversation");
  context_line("topics", &e->gist.topics, d);
  context_line("intent", &e->gist.intent, d);
  context_line("context", &e->gist.context, d);
}
