/* SPDX-License-Identifier: Apache-2.0 */
/* Authentication: identifies a caller by address, token or session token, and decides what each may do. */
#include "server/http/auth.h"
#include "base/ticks.h"

#include <sodium.h>
#include <strings.h>

#include "base/credentials/fleet.h"
#include "base/credentials/secret.h"
#include "base/text.h"
#include "net/uri.h"
#include "server/http/client-address.h"
#include "server/http/origin.h"
#include "server/http/rate-limit.h"
#include "server/settings.h"
#include "server/http/token-cache.h"

#define TOKEN_TEXT 256           /* bytes of a token that came, and its NUL; ours are shorter */
#define FAILURES_PER_MINUTE 10.0 /* wrong tokens of one address, before it hears 429 */
#define SUBPROTOCOL "base64url.bearer.phx."

struct rp__auth {
  const struct rp__scope_config *set;
  struct rp__internal_secret secret;
  struct rp__tokens *tokens;
  struct rp__fleet *fleet;   /* agents that came with another program's store (C-11) */
  struct rp__rate *requests; /* NULL: no limit */
  struct rp__rate *failures;
};

int rp__auth_new(rp_engine *e, const struct rp__scope_config *set, const char *db_path, struct rp__auth **ret,
                 rp_error *err)
{
  struct rp__auth *a = calloc(1, sizeof *a);
  if (!a) return rp__fail_nomem(err);
  a->set = set;
  int rc = rp__hosts_check(set->allowed_hosts, err);
  if (!rc) rc = rp__origins_check(set->allowed_origins, err);
  if (!rc) rc = rp__proxies_check(set->trusted_proxies, err);
  if (!rc) rc = rp__secret_load(set->internal_secret_file, db_path, &a->secret, err);
  if (!rc) rc = rp__tokens_new(e, &a->tokens, err);
  if (!rc) rc = rp__fleet_new(db_path, &a->fleet, err);
  if (!rc) rc = rp__rate_new(FAILURES_PER_MINUTE / 60, FAILURES_PER_MINUTE, &a->failures, err);
  if (!rc && set->client_rate > 0) rc = rp__rate_new(set->client_rate, set->client_rate, &a->requests, err);
  if (rc) {
    rp__auth_free(a);
    return rc;
  }
  *ret = a;
  return 0;
}

void rp__auth_free(struct rp__auth *a)
{
  if (!a) return;
  rp__rate_free(a->requests);
  rp__rate_free(a->failures);
  rp__tokens_free(a->tokens);
  rp__fleet_free(a->fleet);
  rp__secret_wipe(&a->secret);
  free(a);
}

/* ---- places ---- */

static bool is_unix(const struct rp__request *r)
{
  return strcmp(rp__request_peer(r), "unix") == 0;
}

static int check_host(const struct rp__auth *a, const struct rp__request *r, struct rp__host *ret, rp_error *err)
{
  const char *text = rp__request_header(r, "Host");
  bool good = text && rp__host_parse(rp__str(text), ret);
  if (!good) *ret = (struct rp__host){0};
  if (is_unix(r)) return 0; /* a file of the owner's: no page can reach it */
  if (!text) return rp__fail_field(err, RP_E_HOST, "Host", "the request names no host");
  if (!good) return rp__fail_field(err, RP_E_HOST, "Host", "the request's Host is no host's name");
  if (rp__host_is_loopback(ret) || rp__host_listed(a->set->allowed_hosts, ret)) return 0;
  /* No page can make a browser call an address by another: an address that is ours is a good name. */
  char ours[RP_HTTP_ADDRESS_TEXT] = "";
  if (ret->literal) rp__request_local_address(r, ours);
  if (ret->literal && strcmp(ours, ret->name) == 0) return 0;
  rp__fail_field(err, RP_E_HOST, "Host", "this server does not go by the name '%.100s'", ret->name);
  rp__hint(err, "allowed_hosts in the configuration lists the names it goes by");
  return RP_E_HOST;
}

int rp__auth_place(struct rp__auth *a, const struct rp__request *r, rp_error *err)
{
  struct rp__host host;
  const char *origin = rp__request_header(r, "Origin");
  int rc = check_host(a, r, &host, err);
  if (rc || !origin) return rc;
  if (rp__origin_is_host(origin, &host) || rp__origin_listed(a->set->allowed_origins, origin)) return 0;
  rp__fail_field(err, RP_E_ORIGIN, "Origin", "pages of '%.100s' may not use this server", origin);
  rp__hint(err, "allowed_origins in the configuration lists those that may");
  return RP_E_ORIGIN;
}

const char *rp__auth_origin(struct rp__auth *a, const struct rp__request *r)
{
  const char *origin = rp__request_header(r, "Origin");
  return origin && rp__origin_listed(a->set->allowed_origins, origin) ? origin : NULL;
}

/* ---- tokens ---- */

/* Phoenix' client sends it through btoa, which has '+' and '/', without padding. */
static bool from_subprotocol(const char *list, char ret[TOKEN_TEXT])
{
  struct rp__str word;
  char text[TOKEN_TEXT * 4 / 3 + 4];
  size_t n;
  for (const char *at = list; rp__list_next(&at, &word);) {
    size_t head = sizeof SUBPROTOCOL - 1;
    if (word.n <= head || strncmp(word.p, SUBPROTOCOL, head) != 0 || word.n - head >= sizeof text) continue;
    for (n = 0; n < word.n - head; n++) {
      char c = word.p[head + n];
      text[n] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    if (sodium_base642bin((unsigned char *)ret, TOKEN_TEXT - 1, text, n, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING))
      continue;
    ret[n] = '\0';
    return strlen(ret) == n;
  }
  return false;
}

static bool from_query(const struct rp__request *r, const char *name, char *ret, size_t size)
{
  struct rp__str raw;
  return rp__uri_param(rp__request_query(r), name, &raw) && raw.n && rp__uri_decode(raw, true, ret, size) == 0;
}

static int find_token(const struct rp__request *r, char ret[TOKEN_TEXT], rp_error *err)
{
  const char *bearer = rp__request_header(r, "Authorization"), *list;
  struct rp__str raw;
  ret[0] = '\0';
  if (bearer) {
    if (strncasecmp(bearer, "Bearer ", 7) != 0)
      return rp__fail_field(err, RP_E_UNAUTHORIZED, "Authorization", "only the scheme Bearer is understood");
    bearer += 7 + strspn(bearer + 7, " ");
    if (!*bearer || strlen(bearer) >= TOKEN_TEXT)
      return rp__fail(err, RP_E_UNAUTHORIZED, "that is no token of this server");
    memcpy(ret, bearer, strlen(bearer) + 1);
    return 0;
  }
  list = rp__request_header(r, "Sec-WebSocket-Protocol");
  if (list && from_subprotocol(list, ret)) return 0;
  if (from_query(r, "token", ret, TOKEN_TEXT)) return 0;
  ret[0] = '\0';
  /* One that is too long for a token is a wrong one, not none. */
  bool none = !rp__uri_param(rp__request_query(r), "token", &raw) || !raw.n;
  return none ? 0 : rp__fail(err, RP_E_UNAUTHORIZED, "that is no token of this server");
}

static void text_wipe(char (*text)[TOKEN_TEXT])
{
  sodium_memzero(*text, sizeof *text);
}

/* The session that the path names: /v1/sessions/ID/… or /api/sessions/ID/…. */
static bool path_session(const struct rp__request *r, char ret[RP_ID_MAX + 1])
{
  struct rp__str path = rp__request_path(r), part[3];
  size_t at = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(part); i++)
    if (!rp__uri_segment(path, &at, &part[i])) return false;
  return rp__str_eq(part[1], "sessions") && rp__uri_decode(part[2], false, ret, RP_ID_MAX + 1) == 0;
}

static int by_token(struct rp__auth *a, const struct rp__request *r, const char *text, struct rp__identity *who,
                    rp_error *err)
{
  struct rp__grant g;
  if (strncmp(text, RP_SESSION_TOKEN_PREFIX, sizeof RP_SESSION_TOKEN_PREFIX - 1) == 0 &&
      strlen(text) == RP_SESSION_TOKEN_TEXT - 1) {
    char id[RP_ID_MAX + 1];
    *who = (struct rp__identity){.who = RP_WHO_SESSION, .name = "session", .auth = a};
    rp__text_copy(who->shown, sizeof who->shown, text);
    if (path_session(r, id) && rp__auth_is_session_token(a, id, RP_BIRTH_ANY, rp__str(text)))
      memcpy(who->session, id, sizeof who->session);
    return 0;
  }
  int rc = rp__tokens_check(a->tokens, text, rp__request_began_us(r) / 1000, &g, err);
  if (rc) return rc;
  *who = (struct rp__identity){.who = RP_WHO_TOKEN, .read_only = g.read_only};
  memcpy(who->scope, g.scope, sizeof who->scope);
  memcpy(who->name, g.id, sizeof who->name);
  return 0;
}

/* ---- who ---- */

/*
 * A right token is let in however many wrong ones came from its address: there may be a whole office behind it. What
 * is limited is how long somebody is told that a guess was wrong.
 */
static int note_failure(const struct rp__auth *a, const char *place, int64_t now_us, int rc, rp_error *err)
{
  if (!place[0] || rp__rate_take(a->failures, place, now_us)) return rc;
  return rp__fail(err, RP_E_LIMIT, "too many wrong tokens came from %s", place);
}

int rp__auth_identify(struct rp__auth *a, const struct rp__request *r, struct rp__identity *ret, rp_error *err)
{
  char text[TOKEN_TEXT] RP_CLEANUP(text_wipe);
  struct rp__client client;
  struct rp__identity who = {.who = RP_WHO_NOBODY};
  char place[RP_HTTP_ADDRESS_TEXT] = "";
  int64_t now_us = rp__request_began_us(r);
  rp__client_find(a->set->trusted_proxies, r, &client);
  rp__text_copy(who.name, sizeof who.name, client.address);
  if (!client.direct) rp__client_group(client.address, place);
  /* Whoever forwards a name from outside to us, without a word in a header, still calls us by that name. */
  struct rp__host host;
  const char *named = rp__request_header(r, "Host");
  bool by_loopback = named && rp__host_parse(rp__str(named), &host) && rp__host_is_loopback(&host);
  bool local = client.direct && (is_unix(r) || by_loopback);
  int rc = find_token(r, text, err);
  if (!rc && text[0])
    rc = by_token(a, r, text, &who, err);
  else if (!rc && local)
    who = (struct rp__identity){.who = RP_WHO_LOCAL, .name = "local"};
  if (rc == RP_E_UNAUTHORIZED) rc = note_failure(a, place, now_us, rc, err);
  if (rc) return rc;
  char key[RP_SESSION_TOKEN_TEXT + RP_ID_MAX], group[RP_HTTP_ADDRESS_TEXT];
  rp__client_group(client.address, group);
  if (who.who == RP_WHO_TOKEN)
    snprintf(key, sizeof key, "token %s", who.name);
  else if (who.session[0])
    snprintf(key, sizeof key, "session %s", who.session);
  else
    snprintf(key, sizeof key, "address %s", group);
  if (a->requests && !rp__rate_take(a->requests, key, now_us))
    return rp__fail(err, RP_E_LIMIT, "more than %g requests per second of one client", a->set->client_rate);
  memcpy(who.place, place, sizeof who.place);
  *ret = who;
  return 0;
}

/* ---- rights ---- */

static bool fits(const struct rp__identity *who, const char *session_id, rp__birth birth)
{
  return session_id && who->auth && rp__auth_is_session_token(who->auth, session_id, birth, rp__str(who->shown));
}

int rp__auth_allows(const struct rp__identity *who, enum rp__right right, const char *session_id, const char *scope,
                    rp__birth birth, rp_error *err)
{
  if (right == RP_RIGHT_NONE || who->who == RP_WHO_LOCAL) return 0;
  if (who->who == RP_WHO_SESSION) {
    if (right == RP_RIGHT_ADMIN || !fits(who, session_id, birth))
      return rp__fail(err, RP_E_FORBIDDEN, "a session's token opens that session alone");
    if (right == RP_RIGHT_SCOPE)
      return rp__fail(err, RP_E_FORBIDDEN, "a session's token neither copies nor deletes it, nor takes from others");
    return 0;
  }
  if (who->who == RP_WHO_TOKEN) {
    if ((right == RP_RIGHT_WRITE || right == RP_RIGHT_SCOPE) && who->read_only)
      return rp__fail(err, RP_E_FORBIDDEN, "the token %s is for reading only", who->name);
    if (!who->scope[0]) return 0;
    if (right == RP_RIGHT_ADMIN)
      return rp__fail(err, RP_E_FORBIDDEN, "the token %s is for the scope '%s', and this is about all", who->name,
                      who->scope);
    if (scope && strcmp(scope, who->scope) != 0)
      return rp__fail(err, RP_E_FORBIDDEN, "the token %s is for the scope '%s'", who->name, who->scope);
    return 0;
  }
  rp__fail(
      err, RP_E_UNAUTHORIZED,
      "a token is needed off this machine, behind a proxy, by another name, and, with local = uid, by another user");
  rp__hint(err, "'reprise token create' makes one; send it as 'Authorization: Bearer …'");
  return RP_E_UNAUTHORIZED;
}

int rp__auth_admit(const struct rp__identity *who, enum rp__right right, const char *session_id, const char *scope,
                   rp__birth birth, rp_error *err)
{
  int rc = rp__auth_allows(who, right, session_id, scope, birth, err);
  if (rc != RP_E_FORBIDDEN || who->who != RP_WHO_SESSION || !who->auth || fits(who, session_id, birth)) return rc;
  return note_failure(who->auth, who->place, rp__ticks_us(), rc, err);
}

/* ---- the internal secret ---- */

static int on_born(void *ctx, const rp_session_info *info)
{
  *(rp__birth *)ctx = rp__birth_of(info);
  return 0;
}

int rp__birth_find(rp_engine *e, const char *session_id, rp__birth *ret, rp_error *err)
{
  return rp_show(e, session_id, on_born, ret, err);
}

void rp__auth_session_token(const struct rp__auth *a, const char *session_id, rp__birth birth,
                            char out[RP_SESSION_TOKEN_TEXT])
{
  rp__session_token(&a->secret, session_id, birth, out);
}

bool rp__auth_is_session_token(const struct rp__auth *a, const char *session_id, rp__birth birth, struct rp__str token)
{
  return rp__session_token_is(&a->secret, session_id, birth, token);
}

bool rp__auth_is_agent_token(const struct rp__auth *a, const char *session_id, rp__birth birth, struct rp__str token,
                             bool *ret_moved)
{
  *ret_moved = false;
  if (rp__auth_is_session_token(a, session_id, birth, token)) return true;
  return *ret_moved = rp__fleet_opens(a->fleet, session_id, birth, token);
}

static bool is_secret(const struct rp__auth *a, struct rp__str text)
{
  return rp__secret_is(&a->secret, text) || rp__fleet_knows(a->fleet, text);
}

bool rp__auth_is_internal(const struct rp__auth *a, const struct rp__request *r)
{
  char text[RP_SECRET_MAX + 1];
  const char *header = rp__request_header(r, "x-internal-secret");
  if (header) return is_secret(a, rp__str(header));
  bool is = from_query(r, "secret", text, sizeof text) && is_secret(a, rp__str(text));
  sodium_memzero(text, sizeof text);
  return is;
}
