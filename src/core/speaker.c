/* SPDX-License-Identifier: Apache-2.0 */
/* Whose words an event holds, and the same event with other words. */
#include "core/mask.h"

#include "json/text.h"

#define ROLE_END 128 /* where a role ends at the latest, so that the rest has its place */

/* Appends the decoded string to a name that ends before `end`; what does not fit is left out. */
static size_t name_add(char *name, size_t at, size_t end, struct rp__json v)
{
  if (v.type != RP_JSON_STRING || v.n < 2) return at;
  struct rp__json_cursor c = {.at = v.p + 1, .end = v.p + v.n - 1};
  for (int b; at + 1 < end && (b = rp__json_cursor_next(&c)) >= 0;) name[at++] = b ? (char)b : ' ';
  return at;
}

/* In one walk, for the content may be long. */
static void name_speaker(const struct rp__event *ev, char name[RP_SPEAKER_MAX])
{
  struct rp__json_iter it = {0};
  struct rp__json key, value, role = {0}, id = {0};
  bool thought = false;
  while (rp__json_next(ev->body, &it, &key, &value)) {
    if (rp__json_eq(key, "role"))
      role = value;
    else if (rp__json_eq(key, "message_id"))
      id = value;
    else if (rp__json_eq(key, "thought"))
      thought = value.type == RP_JSON_TRUE;
  }
  size_t at = (size_t)snprintf(name, RP_SPEAKER_MAX, "%s/", thought ? "thought" : rp__kind_name(ev->kind));
  at = name_add(name, at, ROLE_END, role);
  name[at++] = '/';
  at = name_add(name, at, RP_SPEAKER_MAX, id);
  name[at] = '\0';
}

/* The text of content blocks when there is exactly one: [{"type":"text","text":"…"}]. */
static struct rp__json only_text(struct rp__json content)
{
  struct rp__json found = {0}, block;
  struct rp__json_iter it = {0};
  if (content.type != RP_JSON_ARRAY) return content;
  while (rp__json_next(content, &it, NULL, &block)) {
    struct rp__json text = rp__json_get(block, "text");
    if (text.type != RP_JSON_STRING) continue;
    if (found.type) return (struct rp__json){0};
    found = text;
  }
  return found;
}

struct rp__json rp__mask_spoken(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX])
{
  struct rp__json text = {0};
  if (ev->kind == RP_KIND_MESSAGE) text = only_text(rp__json_get(ev->body, "content"));
  if (ev->kind == RP_KIND_TRANSCRIPT) text = rp__json_get(ev->body, "text");
  if (text.type != RP_JSON_STRING) return (struct rp__json){0};
  name_speaker(ev, speaker);
  return text;
}

size_t rp__mask_texts(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX], struct rp__json texts[RP_TEXTS_MAX])
{
  struct rp__json content = {0}, block;
  struct rp__json_iter it = {0};
  size_t n = 0;
  if (ev->kind == RP_KIND_MESSAGE) content = rp__json_get(ev->body, "content");
  if (content.type != RP_JSON_ARRAY) return 0;
  while (n < RP_TEXTS_MAX && rp__json_next(content, &it, NULL, &block)) {
    struct rp__json text = rp__json_get(block, "text");
    if (text.type == RP_JSON_STRING) texts[n++] = text;
  }
  if (n < 2) return 0;
  name_speaker(ev, speaker);
  return n;
}

struct rp__json rp__mask_chunk(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX])
{
  if (ev->kind != RP_KIND_MESSAGE || rp__json_get(ev->body, "partial").type != RP_JSON_TRUE)
    return (struct rp__json){0};
  return rp__mask_spoken(ev, speaker);
}

struct rp__json rp__mask_closing(const struct rp__event *ev, char speaker[RP_SPEAKER_MAX])
{
  struct rp__json content = {0};
  if (ev->kind == RP_KIND_MESSAGE) content = rp__json_get(ev->body, "content");
  bool empty =
      content.type == RP_JSON_ARRAY ? rp__json_count(content) == 0 : content.type == RP_JSON_STRING && content.n == 2;
  if (!empty || rp__json_get(ev->body, "partial").type == RP_JSON_TRUE) return (struct rp__json){0};
  name_speaker(ev, speaker);
  return content;
}

int rp__mask_with_text(struct rp__json body, struct rp__json string, const char *text, size_t n, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  const char *behind = string.p + string.n;
  rp__buf_add(out, body.p, (size_t)(string.p - body.p));
  rp__jw_strn(&w, text, n);
  rp__buf_add(out, behind, (size_t)(body.p + body.n - behind));
  return out->err;
}
