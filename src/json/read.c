/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks JSON that was checked before. The check may have been made by another process, long ago, and the disk may have
 * flipped bits since. So, whatever the bytes are, no step leaves the container, every step advances, and bytes that
 * make no sense read as the end.
 */
#include "json/json.h"
#include "json/scan.h"

static enum rp__json_type type_of(char first)
{
  switch (first) {
  case '{': return RP_JSON_OBJECT;
  case '[': return RP_JSON_ARRAY;
  case '"': return RP_JSON_STRING;
  case 't': return RP_JSON_TRUE;
  case 'f': return RP_JSON_FALSE;
  case 'n': return RP_JSON_NULL;
  case '-':
  case '0' ... '9': return RP_JSON_NUMBER;
  default: return RP_JSON_NONE;
  }
}

struct rp__json rp__json_trusted(const char *bytes, size_t n)
{
  while (n > 0 && rp__json_is_space(bytes[n - 1])) n--;
  while (n > 0 && rp__json_is_space(bytes[0])) bytes++, n--;
  if (n == 0) return (struct rp__json){0};
  return (struct rp__json){bytes, n, type_of(bytes[0])};
}

/* From an opening quote to behind the closing one, the first before which the backslashes are even; or NULL. */
static const char *skip_string(const char *at, const char *end)
{
  while ((at = memchr(at + 1, '"', (size_t)(end - at - 1)))) {
    const char *back = at;
    while (back[-1] == '\\') back--;
    if ((at - back) % 2 == 0) return at + 1;
  }
  return NULL;
}

/* From the first byte of a value to behind its last one, or NULL. */
static const char *skip_value(const char *at, const char *end)
{
  size_t depth = 0;
  if (*at == '"') return skip_string(at, end);
  if (*at != '{' && *at != '[') {
    const char *first = at;
    while (at < end && *at != ',' && *at != '}' && *at != ']' && !rp__json_is_space(*at)) at++;
    return at > first ? at : NULL;
  }
  while (at < end) {
    switch (*at) {
    case '"':
      at = skip_string(at, end);
      if (!at) return NULL;
      continue;
    case '{':
    case '[': depth++; break;
    case '}':
    case ']':
      if (--depth == 0) return at + 1;
      break;
    default: break;
    }
    at++;
  }
  return NULL;
}

bool rp__json_next(struct rp__json container, struct rp__json_iter *it, struct rp__json *ret_key,
                   struct rp__json *ret_value)
{
  bool object = container.type == RP_JSON_OBJECT;
  if ((!object && container.type != RP_JSON_ARRAY) || container.n < 2) return false;
  const char *end = container.p + container.n - 1;
  const char *at = rp__json_space(it->at ? it->at : container.p + 1, end);
  if (it->at && at < end && *at == ',') at = rp__json_space(at + 1, end);
  struct rp__json key = {0};
  if (at < end && object) {
    const char *behind = *at == '"' ? skip_string(at, end) : NULL;
    if (!behind) return false;
    key = (struct rp__json){at + 1, (size_t)(behind - at) - 2, RP_JSON_STRING};
    at = rp__json_space(behind, end);
    if (at == end || *at != ':') return false;
    at = rp__json_space(at + 1, end);
  }
  const char *behind = at < end ? skip_value(at, end) : NULL;
  if (!behind) return false;
  it->at = behind;
  if (ret_key) *ret_key = key;
  if (ret_value) *ret_value = (struct rp__json){at, (size_t)(behind - at), type_of(*at)};
  return true;
}

struct rp__json rp__json_get(struct rp__json object, const char *name)
{
  if (object.type != RP_JSON_OBJECT) return (struct rp__json){0};
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  while (rp__json_next(object, &it, &key, &value))
    if (rp__json_eq(key, name)) return value;
  return (struct rp__json){0};
}

void rp__json_members(struct rp__json object, const char *const *names, size_t n, struct rp__json *ret)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  size_t missing = n;
  for (size_t i = 0; i < n; i++) ret[i] = (struct rp__json){0};
  while (missing > 0 && object.type == RP_JSON_OBJECT && rp__json_next(object, &it, &key, &value)) {
    for (size_t i = 0; i < n; i++) {
      if (ret[i].type != RP_JSON_NONE || !rp__json_eq(key, names[i])) continue;
      ret[i] = value;
      missing--;
      break;
    }
  }
}

size_t rp__json_count(struct rp__json container)
{
  struct rp__json_iter it = {0};
  size_t n = 0;
  while (rp__json_next(container, &it, NULL, NULL)) n++;
  return n;
}

size_t rp__json_one_of(struct rp__json v, const char *const *words, size_t n)
{
  size_t i = 0;
  while (i < n && !rp__json_eq(v, words[i])) i++;
  return i;
}
