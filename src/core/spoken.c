/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the spoken text of an event and its speaker in one walk over the body, because the content may be long. */
#include "core/spoken.h"

#include <assert.h>

#include "json/text.h"

#define ROLE_END 128 /* where a role ends at the latest, so that the message id has room */

/* Appends the decoded string to a name that ends before `end`; what does not fit is left out. */
static size_t name_add(char *name, size_t at, size_t end, struct rp__json v)
{
  if (v.type != RP_JSON_STRING || v.n < 2) return at;
  struct rp__json_cursor c = {.at = v.p + 1, .end = v.p + v.n - 1};
  for (int b; at + 1 < end && (b = rp__json_cursor_next(&c)) >= 0;) name[at++] = b ? (char)b : ' ';
  return at;
}

void rp__spoken_read(const struct rp__event *ev, struct rp__spoken *ret)
{
  enum { ROLE, MESSAGE_ID, THOUGHT, PARTIAL, FINAL, CONTENT, TEXT, MEMBERS };
  static const char *const names[MEMBERS] = {"role", "message_id", "thought", "partial", "final", "content", "text"};
  bool message = ev->kind == RP_KIND_MESSAGE, transcript = ev->kind == RP_KIND_TRANSCRIPT;
  struct rp__json member[MEMBERS] = {0}, key, value, block;
  struct rp__json_iter it = {0}, blocks = {0};
  ret->form = RP_SPOKEN_NOTHING;
  ret->chunk = ret->unfinished = false;
  ret->text = (struct rp__json){0};
  ret->n_texts = 0;
  if (!message && !transcript) return;
  while (rp__json_next(ev->body, &it, &key, &value)) {
    for (int i = 0; i < MEMBERS; i++) {
      if (member[i].type || !rp__json_eq(key, names[i])) continue;
      member[i] = value;
      break;
    }
  }
  struct rp__json content = member[message ? CONTENT : TEXT];
  size_t n = 0, n_blocks = 0;
  if (message && content.type == RP_JSON_ARRAY) {
    for (; n < RP_TEXTS_MAX && rp__json_next(content, &blocks, NULL, &block); n_blocks++) {
      struct rp__json text = rp__json_get(block, "text");
      if (text.type == RP_JSON_STRING) ret->texts[n++] = text;
    }
  } else if (content.type == RP_JSON_STRING) {
    ret->texts[n++] = content;
  }
  bool partial = message && member[PARTIAL].type == RP_JSON_TRUE;
  bool empty = content.type == RP_JSON_ARRAY ? n_blocks == 0 : content.type == RP_JSON_STRING && content.n == 2;
  if (message && empty && !partial) {
    ret->form = RP_SPOKEN_END;
    ret->text = content;
  } else if (n) {
    ret->form = n == 1 ? RP_SPOKEN_TEXT : RP_SPOKEN_TEXTS;
    if (n == 1) ret->text = ret->texts[0];
    if (n > 1) ret->n_texts = n;
    ret->chunk = partial;
  }
  if (ret->form == RP_SPOKEN_NOTHING) return;
  ret->unfinished = ret->chunk || (transcript && member[FINAL].type == RP_JSON_FALSE);
  ret->named = member[MESSAGE_ID].type == RP_JSON_STRING;
  ret->thought = member[THOUGHT].type == RP_JSON_TRUE;
  size_t at = (size_t)snprintf(ret->name, sizeof ret->name, "%s/",
                               ret->thought ? "thought"
                               : message    ? "message"
                                            : "transcript");
  ret->voice_length = at = name_add(ret->name, at, ROLE_END, member[ROLE]);
  ret->name[at++] = '/';
  at = name_add(ret->name, at, RP_SPEAKER_MAX, member[MESSAGE_ID]);
  ret->name[at] = '\0';
}

int rp__spoken_replace(struct rp__json body, struct rp__json string, const char *text, size_t n, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  const char *behind = string.p + string.n;
  assert(string.p >= body.p && behind <= body.p + body.n);
  rp__buf_add(out, body.p, (size_t)(string.p - body.p));
  rp__jw_strn(&w, text, n);
  rp__buf_add(out, behind, (size_t)(body.p + body.n - behind));
  return out->err;
}
