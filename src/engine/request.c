/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/request.h"

#include <sodium.h>

#include "core/mask.h"
#include "engine/redaction.h"

_Static_assert(RP_REQUEST_DIGEST >= crypto_generichash_BYTES_MIN, "what a hash has at least");

int rp__request_check_key(const char *key, rp_error *err)
{
  if (key && (!*key || strlen(key) > RP_IDEMPOTENCY_KEY_MAX))
    return rp__fail_field(err, RP_E_INVALID, "idempotency_key", "an idempotency key has 1 to %d bytes",
                          RP_IDEMPOTENCY_KEY_MAX);
  return 0;
}

/* ---- digests ---- */

static bool masks(const rp_engine *e, const char *scope)
{
  return rp__config_bool(e->config, scope, RP_OPT_REDACT);
}

static void add_number(crypto_generichash_state *h, int64_t v)
{
  unsigned char bytes[8];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)((uint64_t)v >> (8 * i) & 0xff);
  crypto_generichash_update(h, bytes, sizeof bytes);
}

/* With its length in front, so that two parts never read as one. */
static void add_text(crypto_generichash_state *h, const char *p, size_t n)
{
  add_number(h, (int64_t)n);
  if (n) crypto_generichash_update(h, (const unsigned char *)p, n);
}

static int add_event(crypto_generichash_state *h, rp_session *s, const rp_event *given, rp_error *err)
{
  size_t n = given->body_len ? given->body_len : strlen(given->body);
  struct rp__event ev = {
      .kind = rp__kind_parse(given->kind), .kind_name = given->kind, .body = rp__json_trusted(given->body, n)};
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * s->max_body + 65536);
  struct rp__str body = {given->body, n};
  char speaker[RP_SPEAKER_MAX];
  add_text(h, given->kind, strlen(given->kind));
  if (rp__mask_chunk(&ev, speaker).type != RP_JSON_NONE) {
    add_number(h, (int64_t)n);
    return 0;
  }
  int rc = masks(s->e, s->scope) ? rp__mask_body(s->e->redactor, ev.kind, ev.body, &masked, &body, NULL) : 0;
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  add_text(h, body.p, body.n);
  return 0;
}

static void begin(crypto_generichash_state *h, const struct rp__key *key)
{
  crypto_generichash_init(h, key ? key->bytes : NULL, key ? RP_KEY_BYTES : 0, RP_REQUEST_DIGEST);
}

int rp__request_of_events(rp_session *s, const rp_event *ev, size_t n, unsigned char ret[RP_REQUEST_DIGEST],
                          rp_error *err)
{
  crypto_generichash_state h;
  int rc = 0;
  begin(&h, s->key);
  add_number(&h, (int64_t)n);
  for (size_t i = 0; !rc && i < n; i++) rc = add_event(&h, s, &ev[i], err);
  if (!rc) crypto_generichash_final(&h, ret, RP_REQUEST_DIGEST);
  return rc;
}

/* ---- starts and forks ---- */

/* The session that a request made, not another one that has its id by now. */
static int check_made(rp_engine *e, const char *scope, const struct rp__request_row *made, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, made->session_id, &row, err);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  if (!rc && row.created_at == made->born && strcmp(row.scope, scope) == 0) return 0;
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s, which was made under this key, was deleted",
                  made->session_id);
}

int rp__request_find(rp_engine *e, const char *scope, const char *what, const char *on, int64_t number,
                     const rp_request *r, struct rp__request_row *ret, bool *ret_found, rp_error *err)
{
  crypto_generichash_state h;
  unsigned char digest[RP_REQUEST_DIGEST];
  const struct rp__key *key = NULL;
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * r->n + 65536);
  struct rp__str bytes = {r->bytes, r->n};
  int rc = rp__request_check_key(r->key ? r->key : "", err);
  if (!rc) rc = rp__scope_key(e, scope, &key, err);
  if (!rc && masks(e, scope) && rp__mask_bytes(e->redactor, r->bytes, r->n, &masked, &bytes, NULL))
    rc = rp__fail_nomem(err);
  if (rc) return rc;
  begin(&h, key);
  add_text(&h, what, strlen(what));
  add_text(&h, on, strlen(on));
  add_number(&h, number);
  add_text(&h, bytes.p, bytes.n);
  crypto_generichash_final(&h, digest, sizeof digest);
  char hashed[RP_IDEMPOTENCY_HASHED];
  const char *stored = rp__redaction_key(e, scope, r->key, hashed);
  rc = e->store->ops->request_get(e->store, scope, stored, ret, ret_found, err);
  if (rc) return rc;
  if (*ret_found && sodium_memcmp(ret->digest, digest, sizeof digest) != 0)
    return rp__fail_field(err, RP_E_KEY_REUSED, "Idempotency-Key",
                          "scope %s: the key was given to another request before, which made session %s", scope,
                          ret->session_id);
  if (*ret_found) rc = check_made(e, scope, ret, err);
  if (rc) return rc;
  if (!*ret_found) *ret = (struct rp__request_row){0};
  memcpy(ret->digest, digest, sizeof digest);
  ret->scope = scope;
  ret->key = stored;
  if (stored == hashed) ret->key = memcpy(ret->hashed, hashed, sizeof ret->hashed);
  return 0;
}
