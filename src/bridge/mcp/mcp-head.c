/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HTTP adds: headers that repeat parts of the message, so that whoever stands between can route without reading
 * it. A header that says something else than the message is refused: somebody would be deceived.
 */
#include <sodium.h>

#include "bridge/mcp/mcp-impl.h"

#define VALUE_MAX ((size_t)16 * 1024) /* bytes of a header's value: all headers together have no more */
#define ENCODED "=?base64?"
#define ENCODED_END "?="

static struct rp__str trim(const char *s)
{
  while (*s == ' ' || *s == '\t') s++;
  size_t n = strlen(s);
  while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
  return (struct rp__str){s, n};
}

/* Values that a header can't carry come as "=?base64?…?=". False: it is none, or not of that alphabet. */
static bool decode(struct rp__str value, struct rp__buf *out)
{
  size_t head = sizeof ENCODED - 1, tail = sizeof ENCODED_END - 1, n;
  if (value.n < head + tail || memcmp(value.p, ENCODED, head) != 0 ||
      memcmp(value.p + value.n - tail, ENCODED_END, tail) != 0) {
    rp__buf_add(out, value.p, value.n);
    return !out->err;
  }
  size_t coded = value.n - head - tail;
  char *room = rp__buf_room(out, coded + 1);
  if (!room || sodium_base642bin((unsigned char *)room, coded, value.p + head, coded, NULL, &n, NULL,
                                 sodium_base64_VARIANT_ORIGINAL))
    return false;
  out->n += n;
  return true;
}

static bool says(const char *header, struct rp__json want)
{
  struct rp__buf have RP_AUTOBUF = RP_BUF(VALUE_MAX), text RP_AUTOBUF = RP_BUF(RP_MCP_LINE_MAX);
  if (!header || want.type != RP_JSON_STRING || rp__json_text(want, &text)) return false;
  return decode(trim(header), &have) && have.n == text.n && (!text.n || memcmp(have.p, text.p, text.n) == 0);
}

static bool mismatch(struct rp__mcp_ask *a, const char *header, const char *part)
{
  rp__mcp_error(a, RP_MCP_HEADERS, NULL, "the header %s must be there and say what %s says", header, part);
  return false;
}

/* The part of the params that Mcp-Name repeats, or NULL. */
static const char *named_by(struct rp__json method)
{
  if (rp__json_eq(method, "tools/call") || rp__json_eq(method, "prompts/get")) return "name";
  return rp__json_eq(method, "resources/read") ? "uri" : NULL;
}

bool rp__mcp_check_head(struct rp__mcp_ask *a, struct rp__json version)
{
  const struct rp__mcp_head *h = a->m->head;
  const char *part = named_by(a->rpc.method);
  if (!h) return true;
  if (!says(h->version, version)) return mismatch(a, "MCP-Protocol-Version", "params._meta");
  if (!says(h->method, a->rpc.method)) return mismatch(a, "Mcp-Method", "method");
  struct rp__json name = part ? rp__json_get(a->rpc.params, part) : (struct rp__json){0};
  /* What is missing in the message too is the method's to complain about. */
  if (name.type == RP_JSON_STRING && !says(h->name, name))
    return mismatch(a, "Mcp-Name", strcmp(part, "uri") == 0 ? "params.uri" : "params.name");
  return true;
}

bool rp__mcp_check_old_head(struct rp__mcp_ask *a)
{
  const struct rp__mcp_head *h = a->m->head;
  /* Without one it is a client of before there was such a header; `initialize` is where versions are spoken about. */
  if (!h || !h->version || rp__json_eq(a->rpc.method, "initialize")) return true;
  struct rp__str version = trim(h->version);
  char text[16];
  snprintf(text, sizeof text, "%.*s", (int)RP_MIN(version.n, sizeof text - 1), version.p);
  if (version.n < sizeof text && rp__mcp_speaks(text)) return true;
  rp__mcp_error(a, RP_RPC_INVALID, NULL, "MCP-Protocol-Version: no version of the protocol that is spoken here");
  return false;
}

int rp__mcp_status(const struct rp__mcp_reply *r)
{
  if (r->none) return 202;
  if (r->refused) return 400;
  return r->modern && r->code == RP_RPC_NO_METHOD ? 404 : 200;
}
