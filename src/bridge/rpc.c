/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0: classifies lines, and writes lines of our own. */
#include "bridge/rpc.h"

#include "base/utf8.h"

#define MENDED_MAX ((size_t)192 << 20) /* three times the longest line */
#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)

static void broken(struct rp__rpc *r, int code, const char *why)
{
  r->type = RP_RPC_BROKEN;
  r->code = code;
  snprintf(r->why, sizeof r->why, "%s", why);
}

static void read_members(struct rp__rpc *r, struct rp__json message, bool *ret_two)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  *ret_two = false;
  while (rp__json_next(message, &it, &key, &value)) {
    if (rp__json_eq(key, "jsonrpc")) *ret_two = rp__json_eq(value, "2.0");
    if (rp__json_eq(key, "id")) r->id = value;
    if (rp__json_eq(key, "method")) r->method = value;
    if (rp__json_eq(key, "params")) r->params = value;
    if (rp__json_eq(key, "result")) r->result = value;
    if (rp__json_eq(key, "error")) r->error = value;
  }
}

static bool is_id(struct rp__json v)
{
  return v.type == RP_JSON_STRING || v.type == RP_JSON_NUMBER || v.type == RP_JSON_NULL;
}

/* JSON that we refuse all the same (duplicate keys, too deep) is a bad request, not a parse error. */
static int parse_code(const char *line, size_t n, int rc)
{
  struct rp__json_limits lenient = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json message;
  if (rc == RP_E_NOMEM) return INVALID_REQUEST;
  return rp__json_parse(line, n, &lenient, &message, NULL) == 0 ? INVALID_REQUEST : PARSE_ERROR;
}

/* `lenient`: an answer is one by its id alone, whatever came of it. */
static void classify(struct rp__rpc *r, struct rp__json message, bool lenient)
{
  bool two;
  if (message.type != RP_JSON_OBJECT) {
    broken(r, INVALID_REQUEST, message.type == RP_JSON_ARRAY ? "batches are not supported" : "not an object");
    return;
  }
  read_members(r, message, &two);
  r->unmarked = lenient && !two;
  if (!two && !lenient)
    broken(r, INVALID_REQUEST, "jsonrpc: must be \"2.0\"");
  else if (r->id.type && !is_id(r->id))
    broken(r, INVALID_REQUEST, "id: must be a string, a number or null");
  else if (r->method.type == RP_JSON_STRING)
    r->type = r->id.type ? RP_RPC_REQUEST : RP_RPC_NOTE;
  else if (r->method.type)
    broken(r, INVALID_REQUEST, "method: must be a string");
  else if (r->id.type && (r->error.type == RP_JSON_OBJECT || (lenient && r->error.type > RP_JSON_NULL)))
    r->type = RP_RPC_ERROR;
  else if (r->id.type && (r->result.type || (lenient && two)))
    r->type = RP_RPC_RESULT;
  else
    broken(r, INVALID_REQUEST, two ? "neither a method nor a result nor an error" : "jsonrpc: must be \"2.0\"");
}

void rp__rpc_look(const char *line, size_t n, struct rp__rpc *ret)
{
  struct rp__json_limits limits = {.max_depth = RP_RPC_DEPTH};
  struct rp__json message;
  rp_error err = {0};
  *ret = (struct rp__rpc){0};
  int rc = rp__json_parse(line, n, &limits, &message, &err);
  if (rc)
    broken(ret, parse_code(line, n, rc), err.message);
  else
    classify(ret, message, false);
}

/* ---- messages that are passed on ---- */

static bool is_json(struct rp__json v)
{
  struct rp__json same;
  return v.type && rp__json_parse(v.p, v.n, NULL, &same, NULL) == 0;
}

/* Whether the members of an object lead to its end: what is inside of them was not looked at. */
static bool is_closed(struct rp__json object)
{
  struct rp__json_iter it = {0};
  if (object.type != RP_JSON_OBJECT || object.n < 2 || object.p[object.n - 1] != '}') return false;
  while (rp__json_next(object, &it, NULL, NULL)) {
  }
  const char *at = it.at ? it.at : object.p + 1, *end = object.p + object.n - 1;
  return !rp__json_trusted(at, (size_t)(end - at)).p;
}

/* The id of a request that makes no sense, as far as it can be told. */
static void keep_id(struct rp__rpc *r, const char *line, size_t n)
{
  struct rp__rpc found = {0};
  bool two;
  read_members(&found, rp__json_trusted(line, n), &two);
  bool asks = found.method.type && is_id(found.id) && is_json(found.id);
  r->id = asks ? found.id : (struct rp__json){0};
}

static void look_shallow(struct rp__rpc *r, const char *line, size_t n)
{
  struct rp__json message = rp__json_trusted(line, n);
  r->odd = RP_RPC_DEEP;
  if (!is_closed(message)) {
    broken(r, PARSE_ERROR, "brackets are missing");
    return;
  }
  classify(r, message, true);
  if (r->type != RP_RPC_BROKEN && ((r->id.type && !is_json(r->id)) || (r->method.type && !is_json(r->method))))
    broken(r, PARSE_ERROR, "id or method: no JSON");
}

static int check(const char *line, size_t n, enum rp__rpc_odd *ret_odd, rp_error *err)
{
  struct rp__json_limits strict = {.max_depth = RP_RPC_DEPTH};
  struct rp__json_limits lenient = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json message;
  *ret_odd = RP_RPC_PLAIN;
  if (rp__json_parse(line, n, &strict, &message, err) == 0) return 0;
  *ret_odd = RP_RPC_ODD;
  return rp__json_parse(line, n, &lenient, &message, err);
}

/* Whether a line is JSON but for bytes that are not UTF-8: the error stays that of the line where it is not. */
static int check_mended(const char *line, size_t n, enum rp__rpc_odd *ret_odd, int rc)
{
  struct rp__buf mended RP_AUTOBUF = RP_BUF(MENDED_MAX);
  if (rc != RP_E_JSON || rp__utf8_ok(line, n)) return rc;
  rp__utf8_mend(&mended, line, n);
  if (mended.err) return rc;
  int again = check(mended.p, mended.n, ret_odd, NULL);
  return again == 0 || again == RP_E_TOO_LARGE ? again : rc;
}

void rp__rpc_route(const char *line, size_t n, struct rp__rpc *ret)
{
  rp_error err = {0};
  *ret = (struct rp__rpc){0};
  int rc = check(line, n, &ret->odd, &err);
  rc = check_mended(line, n, &ret->odd, rc);
  if (rc == RP_E_TOO_LARGE)
    look_shallow(ret, line, n);
  else if (rc)
    broken(ret, PARSE_ERROR, err.message);
  else
    classify(ret, rp__json_trusted(line, n), true);
  if (ret->type == RP_RPC_BROKEN) keep_id(ret, line, n);
}

/* ---- ids ---- */

static bool same_text(struct rp__json x, struct rp__json y)
{
  struct rp__buf a RP_AUTOBUF = RP_BUF(x.n + 1), b RP_AUTOBUF = RP_BUF(y.n + 1);
  if (rp__json_text(x, &a) || rp__json_text(y, &b)) return false;
  return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static bool same_number(struct rp__json x, struct rp__json y)
{
  int64_t i, j;
  double d, e;
  if (rp__json_i64(x, &i) && rp__json_i64(y, &j)) return i == j;
  return rp__json_double(x, &d) && rp__json_double(y, &e) && d == e;
}

bool rp__rpc_same_id(struct rp__json x, struct rp__json y)
{
  if (!x.type || x.type != y.type) return false;
  if (x.n == y.n && memcmp(x.p, y.p, x.n) == 0) return true;
  if (x.type == RP_JSON_STRING) return (memchr(x.p, '\\', x.n) || memchr(y.p, '\\', y.n)) && same_text(x, y);
  return x.type == RP_JSON_NUMBER && same_number(x, y);
}

static uint32_t hash(const void *bytes, size_t n)
{
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 16777619u;
  return h;
}

uint32_t rp__rpc_id_hash(struct rp__json id)
{
  double d;
  if (id.type == RP_JSON_NUMBER && rp__json_double(id, &d)) {
    d += 0.0; /* -0 is 0 */
    return hash(&d, sizeof d);
  }
  if (id.type != RP_JSON_STRING || !memchr(id.p, '\\', id.n)) return hash(id.p, id.n);
  struct rp__buf text RP_AUTOBUF = RP_BUF(id.n + 3);
  rp__buf_char(&text, '"');
  rp__json_text(id, &text);
  rp__buf_char(&text, '"');
  return text.err ? 0 : hash(text.p, text.n);
}

/* ---- lines of ours ---- */

struct rp__jw rp__rpc_begin_request(struct rp__buf *out, const char *id, const char *method)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "jsonrpc", "2.0");
  if (id) rp__jw_kstr(&w, "id", id);
  rp__jw_kstr(&w, "method", method);
  rp__jw_key(&w, "params");
  return w;
}

static struct rp__jw begin_response(struct rp__buf *out, struct rp__json id)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "jsonrpc", "2.0");
  rp__jw_kvalue(&w, "id", id);
  return w;
}

struct rp__jw rp__rpc_begin_result(struct rp__buf *out, struct rp__json id)
{
  struct rp__jw w = begin_response(out, id);
  rp__jw_key(&w, "result");
  return w;
}

void rp__rpc_end(struct rp__jw *w)
{
  rp__jw_end_object(w);
}

void rp__rpc_error(struct rp__buf *out, struct rp__json id, int code, const char *message, const char *data)
{
  struct rp__jw w = begin_response(out, id);
  rp__jw_kobject(&w, "error");
  rp__jw_ki64(&w, "code", code);
  rp__jw_kstr(&w, "message", message);
  if (data) {
    rp__jw_key(&w, "data");
    rp__jw_raw(&w, data, strlen(data));
  }
  rp__jw_end_object(&w);
  rp__rpc_end(&w);
}

void rp__rpc_fail(struct rp__buf *out, struct rp__json id, const rp_error *err)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  struct rp__buf data RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&data);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "code", info->name);
  if (err->field[0]) rp__jw_kstr(&w, "field", err->field);
  if (err->hint[0]) rp__jw_kstr(&w, "hint", err->hint);
  rp__jw_end_object(&w);
  rp__rpc_error(out, id, info->json_rpc, err->message[0] ? err->message : info->text, data.err ? NULL : data.p);
}

void rp__rpc_splice(struct rp__buf *out, struct rp__str line, struct rp__json span, struct rp__str with)
{
  const char *behind = span.p + span.n;
  rp__buf_add(out, line.p, (size_t)(span.p - line.p));
  rp__buf_add(out, with.p, with.n);
  rp__buf_add(out, behind, (size_t)(line.p + line.n - behind));
}
