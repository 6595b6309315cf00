/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that the store would refuse for their size. The whole body goes into a blob. The event keeps the members that
 * facets read, the members that a replay needs without opening the blob, and the beginning of a text.
 */
#include <assert.h>

#include "base/text.h"
#include "bridge/acp/session/event.h"
#include "bridge/rpc.h"
#include "base/utf8.h"

#define TEXT_MAX ((size_t)8 * 1024)   /* of a message's text */
#define FIELD_MAX ((size_t)64 * 1024) /* no field of a body that is kept is longer, in raw bytes */

/* Kept as they are, when they are not too long themselves. */
static const char *const members[] = {"role", "message_id", "source", "turn",    "partial",     "thought",
                                      "id",   "status",     "method", "call_id", "stop_reason", NULL};

/*
 * Whether the store would refuse a body: that of an odd message for whatever reason, of any other because it is too
 * deep. What has few brackets can't be, and needs no second look.
 */
static bool refused(struct rp__str body, bool odd)
{
  struct rp__json_limits limits = {.max_depth = RP_DEPTH_MAX, .allow_duplicates = !odd};
  struct rp__json v;
  size_t openings = 0;
  for (size_t i = 0; i < body.n; i++) openings += body.p[i] == '{' || body.p[i] == '[';
  if (!odd && openings <= RP_DEPTH_MAX) return false;
  int rc = rp__json_parse(body.p, body.n, &limits, &v, NULL);
  return odd ? rc != 0 : rc == RP_E_TOO_LARGE;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Masked before it is cut. */
static int add_text(rp_session *s, struct rp__buf *out, struct rp__json string)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(string.n + 1);
  char *masked = NULL;
  if (string.type != RP_JSON_STRING || out->n >= TEXT_MAX) return 0;
  int rc = rp__json_text(string, &text);
  if (!rc && text.n) rc = rp_mask(s, text.p, text.n, &masked, NULL);
  if (rc || !masked) return rc;
  size_t n = strlen(masked), room = TEXT_MAX - out->n;
  rp__buf_add(out, masked, n > room ? rp__text_clip(masked, room) : n);
  rp_free(masked);
  return out->err;
}

static int write_content(rp_session *s, struct rp__jw *w, struct rp__json content, size_t whole)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(TEXT_MAX + 128);
  struct rp__json_iter it = {0};
  struct rp__json block;
  int rc = 0;
  while (!rc && rp__json_next(content, &it, NULL, &block)) rc = add_text(s, &text, rp__json_get(block, "text"));
  if (rc) return rc;
  rp__buf_printf(&text, "%s[%zu bytes in all, kept as a blob]", text.n ? " … " : "", whole);
  rp__jw_pack(w, "content:[{type:s text:n}]", "text", text.p, text.n);
  return text.err;
}

static int write_small(rp_session *s, struct rp__buf *out, struct rp__json body, const char *blob)
{
  struct rp__jw w = RP_JW(out);
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  int rc = 0;
  rp__jw_object(&w);
  while (!rc && rp__json_next(body, &it, &key, &value)) {
    const char *const *stays = members;
    while (*stays && !rp__json_eq(key, *stays)) stays++;
    if (*stays && value.n <= FIELD_MAX) rp__acp_copy_member(&w, key, value);
    if (rp__json_eq(key, "content")) rc = write_content(s, &w, value, body.n);
    if (rp__json_eq(key, "name")) {
      struct rp__buf text RP_AUTOBUF = RP_BUF(TEXT_MAX);
      rc = add_text(s, &text, value);
      rp__jw_pack(&w, "name:n", text.p, text.n);
    }
    if (rp__json_eq(key, "update")) { /* which one it is */
      struct rp__json what = rp__json_get(value, "sessionUpdate"), id = rp__json_get(value, "compactionId"), none = {0};
      rp__jw_pack(&w, "update:{sessionUpdate:?v compactionId:?v}", what.n > FIELD_MAX ? none : what,
                  id.n > FIELD_MAX ? none : id);
    }
  }
  rp__jw_pack(&w, "acp_blob:s acp_bytes:i}", blob, (int64_t)body.n);
  return rc ? rc : out->err;
}

/* Bytes that are not UTF-8 are kept as readers see them. */
static int mend(struct rp__acp_events *n, size_t i)
{
  const char *body = n->bytes.p + n->v[i].at;
  if (rp__utf8_ok(body, n->v[i].n)) return 0;
  struct rp__buf mended RP_AUTOBUF = RP_BUF(n->bytes.max);
  rp__utf8_mend(&mended, body, n->v[i].n);
  n->v[i].at = n->bytes.n;
  n->v[i].n = mended.n;
  if (!mended.err) rp__buf_add(&n->bytes, mended.p, mended.n);
  return mended.err ? mended.err : n->bytes.err;
}

int rp__acp_events_large_body(rp_session *s, size_t body_max, struct rp__acp_events *n, rp_error *err)
{
  char blob[RP_BLOB_ID_MAX + 1];
  if (n->n && n->odd == RP_RPC_DEEP)
    return rp__fail(err, RP_E_TOO_LARGE, "a message of more than %d levels is not kept", RP_JSON_DEPTH_LIMIT);
  for (size_t i = 0; i < n->n; i++) {
    int bad = mend(n, i);
    if (bad) return rp__fail(err, bad, "a message that is not UTF-8 could not be noted");
    struct rp__str body = {n->bytes.p + n->v[i].at, n->v[i].n};
    if (body.n <= body_max && !refused(body, n->odd)) continue;
    if (strcmp(n->v[i].kind, "todo") == 0) { /* a list can't be shortened; the update before it has its blob */
      assert(i + 1 == n->n);
      n->n--;
      break;
    }
    struct rp__buf small RP_AUTOBUF = RP_BUF(8 * FIELD_MAX);
    int rc = rp_blob_put(s, body.p, body.n, blob, err);
    if (rc) return rc;
    rc = write_small(s, &small, rp__json_trusted(body.p, body.n), blob);
    n->v[i].at = n->bytes.n;
    if (!rc) rp__buf_add(&n->bytes, small.p, small.n);
    if (rc || n->bytes.err) return rp__fail(err, rc ? rc : n->bytes.err, "a large message could not be noted");
    n->v[i].n = small.n;
  }
  return 0;
}
