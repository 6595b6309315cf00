/* SPDX-License-Identifier: Apache-2.0 */
/* The address that a request comes from, also behind trusted proxies. */
#include "server/http/client-address.h"

#include <arpa/inet.h>

#include "base/text.h"
#include "server/http/origin.h"

/* ---- networks ---- */

struct network {
  unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
  int bits;
};

static bool address_bytes(const char *text, unsigned char ret[16])
{
  static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
  struct in_addr v4;
  if (inet_pton(AF_INET6, text, ret) == 1) return true;
  if (inet_pton(AF_INET, text, &v4) != 1) return false;
  memcpy(ret, mapped, sizeof mapped);
  memcpy(ret + 12, &v4, sizeof v4);
  return true;
}

static bool network_parse(struct rp__str text, struct network *ret)
{
  char address[RP_HOST_TEXT];
  const char *slash = memchr(text.p, '/', text.n);
  struct rp__str name = {text.p, slash ? (size_t)(slash - text.p) : text.n};
  if (!rp__address_parse(name, address) || !address_bytes(address, ret->bytes)) return false;
  int most = strchr(address, ':') ? 128 : 32, bits = 0;
  size_t digits = slash ? text.n - name.n - 1 : 0;
  if (slash && (digits < 1 || digits > 3)) return false;
  for (size_t i = 0; i < digits; i++) {
    if (slash[1 + i] < '0' || slash[1 + i] > '9') return false;
    bits = bits * 10 + (slash[1 + i] - '0');
  }
  if (bits > most) return false;
  ret->bits = 128 - most + (slash ? bits : most);
  return true;
}

static bool is_trusted(const char *trusted, const char *address)
{
  struct rp__str entry;
  struct network n;
  unsigned char bytes[16];
  bool literal = address_bytes(address, bytes);
  for (const char *at = trusted; rp__list_next(&at, &entry);) {
    if (!literal && rp__str_eq(entry, address)) return true;
    if (!literal || !network_parse(entry, &n)) continue;
    int whole = n.bits / 8, rest = n.bits % 8;
    bool same = memcmp(n.bytes, bytes, (size_t)whole) == 0;
    if (same && (!rest || ((n.bytes[whole] ^ bytes[whole]) >> (8 - rest)) == 0)) return true;
  }
  return false;
}

int rp__proxies_check(const char *trusted, rp_error *err)
{
  struct rp__str entry;
  struct network n;
  for (const char *at = trusted; rp__list_next(&at, &entry);) {
    if (rp__str_eq(entry, "unix") || network_parse(entry, &n)) continue;
    return rp__fail_field(err, RP_E_CONFIG, "trusted_proxies", "trusted_proxies: '%.*s' is no address or network",
                          (int)RP_MIN(entry.n, 80), entry.p);
  }
  return 0;
}

/* ---- behind proxies ---- */

/* "1.2.3.4", "1.2.3.4:5678", "2001:db8::1" or "[2001:db8::1]:5678". */
static bool hop_parse(struct rp__str text, char out[RP_HOST_TEXT])
{
  struct rp__host h;
  while (text.n && (*text.p == ' ' || *text.p == '\t')) text = (struct rp__str){text.p + 1, text.n - 1};
  while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t')) text.n--;
  if (rp__address_parse(text, out)) return true;
  if (!rp__host_parse(text, &h) || !h.literal) return false;
  memcpy(out, h.name, sizeof h.name);
  return true;
}

/* From the right, where the nearest proxy wrote, to the first that nobody we trust has written. */
void rp__client_address(const char *trusted, const char *peer, const char *forwarded_for,
                        char ret[RP_HTTP_ADDRESS_TEXT])
{
  char hop[RP_HOST_TEXT];
  rp__text_copy(ret, RP_HTTP_ADDRESS_TEXT, peer);
  const char *end = forwarded_for ? forwarded_for + strlen(forwarded_for) : NULL;
  for (int i = 0; end && i < RP_CLIENT_HOPS && is_trusted(trusted, ret); i++) {
    const char *start = end;
    while (start > forwarded_for && start[-1] != ',') start--;
    if (!hop_parse((struct rp__str){start, (size_t)(end - start)}, hop)) return;
    rp__text_copy(ret, RP_HTTP_ADDRESS_TEXT, hop);
    end = start > forwarded_for ? start - 1 : NULL;
  }
}

void rp__client_group(const char *address, char ret[RP_HTTP_ADDRESS_TEXT])
{
  struct in6_addr v6;
  rp__text_copy(ret, RP_HTTP_ADDRESS_TEXT, address);
  if (inet_pton(AF_INET6, address, &v6) != 1) return;
  memset(v6.s6_addr + 8, 0, 8);
  inet_ntop(AF_INET6, &v6, ret, RP_HTTP_ADDRESS_TEXT);
}

void rp__client_find(const char *trusted, const struct rp__request *r, struct rp__client *ret)
{
  /* Any X-Forwarded-…, and what else proxies name the client by: one that is missing here makes a stranger local. */
  static const char *const names[] = {"Forwarded",        "Via",           "X-Real-IP", "X-Client-IP",
                                      "CF-Connecting-IP", "True-Client-IP"};
  bool forwarded = rp__request_has_prefix(r, "X-Forwarded") || rp__request_has_prefix(r, "X-Original-");
  for (size_t i = 0; i < RP_ARRAY_SIZE(names) && !forwarded; i++) forwarded = rp__request_header(r, names[i]) != NULL;
  ret->direct = rp__request_is_local(r) && !forwarded;
  rp__client_address(trusted, rp__request_peer(r), forwarded ? rp__request_header_last(r, "X-Forwarded-For") : NULL,
                     ret->address);
}
