/* SPDX-License-Identifier: Apache-2.0 */
/* An event as one line, or as JSON. */
#include "cli/out.h"
#include "cli/term.h"

#define TEXT_MAX (2 * RP_BODY_MAX)

/* What to tell of each kind; others show their body. */
static const struct {
  const char *kind;
  const char *fields[3];
} told[] = {
    {"message", {"role", "content"}},
    {"note", {"text"}},
    {"frame", {"frame_id", "timestamp"}},
    {"transcript", {"text"}},
    {"intent", {"intent", "context"}},
    {"pin", {"label", "content"}},
    {"unpin", {"label"}},
    {"task", {"stage", "title"}},
    {"project", {"name"}},
    {"activity", {"tool", "text"}},
    {"learning", {"content"}},
    {"confidence", {"memory_id", "new_score", "reason"}},
    {"sop", {"sop_path"}},
    {"tool", {"name", "status"}},
    {"emotion", {"event", "intensity"}},
    {"person", {"name"}},
    {"sleep", {"state"}},
    {"approval", {"id", "status"}},
    {"question", {"id", "status"}},
    {"turn", {"status", "reason"}},
    {"status", {"from", "to", "cause"}},
    {"snapshot", {"event", "n", "reason"}},
    {"restored", {"type", "cause", "to_seq"}},
    {"x-damaged", {"reason", "original_kind"}},
};

void rp__event_content(struct rp__buf *out, struct rp__json content)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  if (content.type == RP_JSON_STRING) {
    rp__json_text(content, out);
  } else if (content.type == RP_JSON_ARRAY) {
    const char *space = "";
    while (rp__json_next(content, &it, NULL, &block)) {
      struct rp__json text = rp__json_get(block, "text");
      if (text.type != RP_JSON_STRING) continue;
      rp__buf_str(out, space);
      rp__json_text(text, out);
      space = " ";
    }
  } else if (content.type != RP_JSON_NONE && content.type != RP_JSON_NULL) {
    rp__buf_add(out, content.p, content.n);
  }
}

/* What a tool was given, as far as one line tells it: the command, the file, what was looked for. */
static void tool_text(struct rp__buf *out, struct rp__json input)
{
  static const char *const names[] = {"command", "file_path", "path", "pattern", "url", "query"};
  for (size_t i = 0; input.type == RP_JSON_OBJECT && i < RP_ARRAY_SIZE(names); i++) {
    struct rp__json v = rp__json_get(input, names[i]);
    if (v.type != RP_JSON_STRING) continue;
    rp__buf_str(out, ": ");
    rp__json_text(v, out);
    return;
  }
}

void rp__event_text(struct rp__buf *out, const char *kind, struct rp__json body, int columns)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
  bool any = false;
  size_t k = 0;
  while (k < RP_ARRAY_SIZE(told) && strcmp(told[k].kind, kind) != 0) k++;
  for (size_t i = 0; k < RP_ARRAY_SIZE(told) && i < RP_ARRAY_SIZE(told[k].fields) && told[k].fields[i]; i++) {
    struct rp__json v = rp__json_get(body, told[k].fields[i]);
    if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) continue;
    if (any) rp__buf_str(&text, ": ");
    rp__event_content(&text, v);
    any = true;
  }
  if (any && strcmp(kind, "tool") == 0) tool_text(&text, rp__json_get(body, "input"));
  if (!any) rp__buf_add(&text, body.p, body.n);
  rp__term_cut(out, text.p ? text.p : "", text.err ? 0 : text.n, columns);
}

void rp__event_json(struct rp__buf *out, const rp_event_info *ev)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_pack(&w, "{seq:i at:t kind:s", ev->seq, ev->at_ms, ev->kind);
  rp__jw_key(&w, "body");
  size_t from = out->n;
  rp__jw_raw(&w, ev->body, ev->body_len);
  rp__jw_end_object(&w);
  /* A line break in JSON stands between values, never in one: a space says the same on one line. */
  for (size_t i = from; !out->err && i < out->n; i++)
    if (out->p[i] == '\n' || out->p[i] == '\r') out->p[i] = ' ';
}
