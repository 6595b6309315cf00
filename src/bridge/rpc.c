/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/rpc.h"

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

void rp__rpc_look(const char *line, size_t n, struct rp__rpc *ret)
{
  struct rp__json_limits limits = {.max_depth = RP_RPC_DEPTH};
  struct rp__json message;
  rp_error err = {0};
  bool two;
  *ret = (struct rp__rpc){0};
  int rc = rp__json_parse(line, n, &limits, &message, &err);
  if (rc) {
    broken(ret, parse_code(line, n, rc), err.message);
    return;
  }
  if (message.type != RP_JSON_OBJECT) {
    broken(ret, INVALID_REQUEST, message.type == RP_JSON_ARRAY ? "batches are not supported" : "not an object");
    return;
  }
  read_members(ret, message, &two);
  if (!two)
    broken(ret, INVALID_REQUEST, "jsonrpc: must be \"2.0\"");
  else if (ret->id.type && !is_id(ret->id))
    broken(ret, INVALID_REQUEST, "id: must be a string, a number or null");
  else if (ret->method.type == RP_JSON_STRING)
    ret->type = ret->id.type ? RP_RPC_REQUEST : RP_RPC_NOTE;
  else if (ret->method.type)
    broken(ret, INVALID_REQUEST, "method: must be a string");
  else if (ret->id.type && ret->error.type == RP_JSON_OBJECT)
    ret->type = RP_RPC_ERROR;
  else if (ret->id.type && ret->result.type)
    ret->type = RP_RPC_RESULT;
  else
    broken(ret, INVALID_REQUEST, "neither a method nor a result nor an error");
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
  rp__jw_key(&w, "id");
  rp__jw_value(&w, id);
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
  rp__jw_key(&w, "error");
  rp__jw_object(&w);
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
