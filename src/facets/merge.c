/* SPDX-License-Identifier: Apache-2.0 */
/* Merges objects member by member. */
#include "facets/merge.h"

#include "json/text.h"

#define BRACES 2
#define MEMBER_EXTRA 4     /* quotes, colon, comma */
#define PATCH_MEMBERS 4096 /* of a patch that are looked at */

struct member {
  struct rp__json key, value; /* the key without its quotes */
};

struct members {
  struct member m[RP_MEMBERS_MAX];
  size_t n, bytes; /* bytes of the object, or a few more */
};

void rp__object_done(struct rp__object *o)
{
  free(o->p);
  *o = (struct rp__object){0};
}

struct rp__json rp__object_json(const struct rp__object *o)
{
  return o->p ? (struct rp__json){o->p, o->n, RP_JSON_OBJECT} : (struct rp__json){"{}", BRACES, RP_JSON_OBJECT};
}

bool rp__object_empty(const struct rp__object *o)
{
  return o->p == NULL;
}

static size_t member_bytes(struct rp__json key, struct rp__json value)
{
  return key.n + value.n + MEMBER_EXTRA;
}

static bool members_read(struct rp__json object, struct members *ret)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  ret->n = 0;
  ret->bytes = BRACES;
  while (rp__json_next(object, &it, &key, &value)) {
    if (ret->n == RP_MEMBERS_MAX) return false;
    ret->m[ret->n++] = (struct member){key, value};
    ret->bytes += member_bytes(key, value);
  }
  return true;
}

static size_t members_find(const struct members *s, struct rp__json key)
{
  size_t i = 0;
  struct rp__str name = {key.p, key.n};
  while (i < s->n && rp__json_text_cmp((struct rp__str){s->m[i].key.p, s->m[i].key.n}, name) != 0) i++;
  return i;
}

/* At its place when it is there, else behind the last. */
static void members_set(struct members *s, struct rp__json key, struct rp__json value, size_t max)
{
  size_t i = members_find(s, key);
  if (value.type == RP_JSON_NULL) {
    if (i < s->n) {
      s->bytes -= member_bytes(s->m[i].key, s->m[i].value);
      s->n--;
      memmove(&s->m[i], &s->m[i + 1], (s->n - i) * sizeof s->m[0]);
    }
    return;
  }
  if (i == RP_MEMBERS_MAX) return;
  size_t was = i < s->n ? member_bytes(s->m[i].key, s->m[i].value) : 0;
  size_t becomes = member_bytes(key, value);
  if (becomes > was && s->bytes - was + becomes > max) return;
  s->m[i] = (struct member){key, value};
  if (i == s->n) s->n++;
  s->bytes = s->bytes - was + becomes;
}

static void members_write(const struct members *s, struct rp__buf *out)
{
  rp__buf_char(out, '{');
  for (size_t i = 0; i < s->n; i++) {
    rp__buf_str(out, i ? ",\"" : "\"");
    rp__buf_add(out, s->m[i].key.p, s->m[i].key.n);
    rp__buf_str(out, "\":");
    rp__buf_add(out, s->m[i].value.p, s->m[i].value.n);
  }
  rp__buf_char(out, '}');
}

/*
 * The members of `patch` over those that are there. What becomes of members named in `deep`, where the old and the new
 * value are merged, is kept in `own`.
 */
static int merge_all(struct members *s, struct rp__json patch, const char *const *deep, size_t max,
                     struct rp__buf own[RP_MERGE_DEEP_MAX])
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  for (size_t i = 0; i < PATCH_MEMBERS && rp__json_next(patch, &it, &key, &value); i++) {
    for (unsigned d = 0; deep && d < RP_MERGE_DEEP_MAX; d++) {
      if (!deep[d] || own[d].p || !rp__json_eq(key, deep[d])) continue;
      size_t at = members_find(s, key);
      if (at == s->n || s->m[at].value.type != RP_JSON_OBJECT || value.type != RP_JSON_OBJECT) continue;
      struct members both;
      members_read(s->m[at].value, &both);
      int rc = merge_all(&both, value, NULL, max, NULL);
      own[d] = RP_BUF(max + member_bytes(key, s->m[at].value) + value.n);
      if (rc == 0) members_write(&both, &own[d]);
      if (rc || own[d].err) return rc ? rc : own[d].err;
      value = (struct rp__json){own[d].p, own[d].n, RP_JSON_OBJECT};
    }
    members_set(s, key, value, max);
  }
  return 0;
}

int rp__object_merge(struct rp__object *o, struct rp__json patch, const char *const *deep, size_t max)
{
  struct members s;
  RP_AUTOBUF struct rp__buf first = {0}, second = {0}, out = RP_BUF(max + MEMBER_EXTRA);
  struct rp__buf own[RP_MERGE_DEEP_MAX] = {first, second};
  if (patch.type != RP_JSON_OBJECT) return 0;
  members_read(rp__object_json(o), &s);
  int rc = merge_all(&s, patch, deep, max, own);
  first = own[0]; /* freed with the scope */
  second = own[1];
  if (rc) return rc;
  if (s.n) members_write(&s, &out);
  if (out.err) return out.err;
  rp__object_done(o);
  o->n = out.n;
  o->p = s.n ? rp__buf_take(&out) : NULL;
  return 0;
}

int rp__object_load(struct rp__object *o, struct rp__json v, size_t max, bool *ret_ok)
{
  struct members s;
  *ret_ok = v.type == RP_JSON_OBJECT && v.n <= max && members_read(v, &s) && s.n > 0;
  if (!*ret_ok) return 0;
  char *copy = malloc(v.n);
  if (!copy) return RP_E_NOMEM;
  memcpy(copy, v.p, v.n);
  *o = (struct rp__object){copy, v.n};
  return 0;
}
