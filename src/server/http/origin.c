/* SPDX-License-Identifier: Apache-2.0 */
/* Parses Host and Origin headers, and compares them with the lists and with loopback names. */
#include "server/http/origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>

#define SCHEME_TEXT 32
#define SEPARATORS ", \t\r\n"

bool rp__list_next(const char **at, struct rp__str *ret)
{
  const char *p = *at + strspn(*at, SEPARATORS);
  *ret = (struct rp__str){p, strcspn(p, SEPARATORS)};
  *at = p + ret->n;
  return ret->n > 0;
}

/* ---- hosts ---- */

/* A copy in lower case; false when it does not fit. */
static bool lower(struct rp__str text, char *out, size_t size)
{
  if (text.n >= size) return false;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    out[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
  }
  out[text.n] = '\0';
  return true;
}

bool rp__address_parse(struct rp__str text, char out[RP_HOST_TEXT])
{
  char word[INET6_ADDRSTRLEN];
  struct in_addr v4;
  struct in6_addr v6;
  if (!lower(text, word, sizeof word)) return false;
  if (inet_pton(AF_INET, word, &v4) == 1) { /* which takes one form of an address, the one it would be printed in */
    memcpy(out, word, text.n + 1);
    return true;
  }
  if (inet_pton(AF_INET6, word, &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return inet_ntop(AF_INET, v6.s6_addr + 12, out, RP_HOST_TEXT) != NULL;
  return inet_ntop(AF_INET6, &v6, out, RP_HOST_TEXT) != NULL;
}

static bool parse_port(struct rp__str text, int *ret)
{
  int port = 0;
  if (!text.n || text.n > 5) return false;
  for (size_t i = 0; i < text.n; i++) {
    if (text.p[i] < '0' || text.p[i] > '9') return false;
    port = port * 10 + (text.p[i] - '0');
  }
  *ret = port;
  return port >= 1 && port <= 65535;
}

bool rp__host_parse(struct rp__str text, struct rp__host *ret)
{
  struct rp__host h = {0};
  const char *end = text.p + text.n, *close = NULL;
  bool bracket = text.n && text.p[0] == '[';
  struct rp__str name = text, port = {0};
  if (bracket) {
    close = memchr(text.p, ']', text.n);
    if (!close || (close + 1 < end && close[1] != ':')) return false;
    name = (struct rp__str){text.p + 1, (size_t)(close - text.p - 1)};
  }
  const char *colon = bracket ? (close + 1 < end ? close + 1 : NULL) : memchr(text.p, ':', text.n);
  if (colon) {
    if (!bracket) name.n = (size_t)(colon - text.p);
    port = (struct rp__str){colon + 1, (size_t)(end - colon - 1)};
    if (!parse_port(port, &h.port)) return false;
  }
  h.literal = rp__address_parse(name, h.name);
  if (bracket ? !h.literal || !memchr(name.p, ':', name.n) : !h.literal && !lower(name, h.name, sizeof h.name))
    return false;
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  if (!h.literal && (!h.name[0] || h.name[0] == '.' || h.name[strspn(h.name, letters)])) return false;
  *ret = h;
  return true;
}

bool rp__host_is_loopback(const struct rp__host *h)
{
  if (!h->literal) return strcmp(h->name, "localhost") == 0;
  return strncmp(h->name, "127.", 4) == 0 || strcmp(h->name, "::1") == 0;
}

/* "*.example.com" is every name below it, but not itself. */
static bool fits(struct rp__str entry, const struct rp__host *h)
{
  struct rp__host want;
  if (rp__str_eq(entry, "*")) return true;
  bool below = entry.n > 2 && entry.p[0] == '*' && entry.p[1] == '.';
  if (below) entry = (struct rp__str){entry.p + 2, entry.n - 2};
  if (!rp__host_parse(entry, &want) || (want.port && want.port != h->port)) return false;
  if (!below) return strcmp(want.name, h->name) == 0;
  size_t n = strlen(h->name), tail = strlen(want.name);
  return !h->literal && n > tail + 1 && h->name[n - tail - 1] == '.' && strcmp(h->name + n - tail, want.name) == 0;
}

bool rp__host_listed(const char *list, const struct rp__host *h)
{
  struct rp__str entry;
  for (const char *at = list; rp__list_next(&at, &entry);)
    if (fits(entry, h)) return true;
  return false;
}

int rp__hosts_check(const char *list, rp_error *err)
{
  struct rp__str entry;
  struct rp__host h;
  for (const char *at = list; rp__list_next(&at, &entry);) {
    bool below = entry.n > 2 && strncmp(entry.p, "*.", 2) == 0;
    struct rp__str name = below ? (struct rp__str){entry.p + 2, entry.n - 2} : entry;
    if (rp__str_eq(entry, "*") || rp__host_parse(name, &h)) continue;
    return rp__fail_field(err, RP_E_CONFIG, "allowed_hosts", "allowed_hosts: '%.*s' is no host's name",
                          (int)RP_MIN(entry.n, 80), entry.p);
  }
  return 0;
}

/* ---- origins ---- */

struct origin {
  char scheme[SCHEME_TEXT];
  struct rp__host host; /* with the port that the scheme means */
};

static bool origin_parse(struct rp__str text, struct origin *ret)
{
  struct origin o = {0};
  const char *colon = memchr(text.p, ':', text.n);
  size_t n = colon ? (size_t)(colon - text.p) : 0;
  if (!n || text.n < n + 4 || strncmp(colon, "://", 3) != 0) return false;
  if (!lower((struct rp__str){text.p, n}, o.scheme, sizeof o.scheme)) return false;
  if (strspn(o.scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") != n) return false;
  if (!rp__host_parse((struct rp__str){text.p + n + 3, text.n - n - 3}, &o.host)) return false;
  if (!o.host.port && strcmp(o.scheme, "http") == 0) o.host.port = 80;
  if (!o.host.port && strcmp(o.scheme, "https") == 0) o.host.port = 443;
  *ret = o;
  return true;
}

bool rp__origin_listed(const char *list, const char *origin)
{
  struct rp__str entry;
  struct origin o, want;
  if (!origin_parse(rp__str(origin), &o)) return false;
  for (const char *at = list; rp__list_next(&at, &entry);) {
    if (rp__str_eq(entry, "*")) return true;
    if (origin_parse(entry, &want) && strcmp(o.scheme, want.scheme) == 0 && strcmp(o.host.name, want.host.name) == 0 &&
        o.host.port == want.host.port)
      return true;
  }
  return false;
}

/* Whether it was http or https is not known here: a proxy in front may speak TLS for us. */
bool rp__origin_is_host(const char *origin, const struct rp__host *h)
{
  struct origin o;
  if (!origin_parse(rp__str(origin), &o)) return false;
  bool tls = strcmp(o.scheme, "https") == 0;
  if (!tls && strcmp(o.scheme, "http") != 0) return false;
  return strcmp(o.host.name, h->name) == 0 && o.host.port == (h->port ? h->port : tls ? 443 : 80);
}

int rp__origins_check(const char *list, rp_error *err)
{
  struct rp__str entry;
  struct origin o;
  for (const char *at = list; rp__list_next(&at, &entry);) {
    if (rp__str_eq(entry, "*") || origin_parse(entry, &o)) continue;
    rp__fail_field(err, RP_E_CONFIG, "allowed_origins", "allowed_origins: '%.*s' is no origin",
                   (int)RP_MIN(entry.n, 80), entry.p);
    rp__hint(err, "as browsers send it: https://app.example.com, with a port if it has one, and no path");
    return RP_E_CONFIG;
  }
  return 0;
}
