/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency keys: digests of requests, and the result of an earlier request with the same key. */
#include "engine/journal/idempotency.h"

#include <sodium.h>

#include "core/mask.h"
#include "core/spoken.h"
#include "engine/keep/redact-session.h"

_Static_assert(RP_REQUEST_DIGEST >= crypto_generichash_BYTES_MIN, "what a hash has at least");

int rp__request_check_key(const char *key, rp_error *err)
{
  if (key && (!*key || strlen(key) > RP_IDEMPOTENCY_KEY_MAX))
    return rp__fail_field(err, RP_E_INVALID, "idempotency_key", "an idempotency key has 1 to %d bytes",
                          RP_IDEMPOTENCY_KEY_MAX);
  return 0;
}

/* ---- digests ---- */

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

static void begin(crypto_generichash_state *h, const struct rp__key *key)
{
  crypto_generichash_init(h, key ? key->bytes : NULL, key ? RP_KEY_BYTES : 0, RP_REQUEST_DIGEST);
}

int rp__request_of_events(rp_session *s, const rp_event *ev, size_t n, unsigned char ret[RP_REQUEST_DIGEST],
                          rp_error *err)
{
  crypto_generichash_state h;
  begin(&h, s->key);
  add_number(&h, (int64_t)n);
  for (size_t i = 0; i < n; i++) {
    size_t length = ev[i].body_len ? ev[i].body_len : strlen(ev[i].body);
    struct rp__event e = {
        .kind = rp__kind_parse(ev[i].kind), .kind_name = ev[i].kind, .body = rp__json_trusted(ev[i].body, length)};
    struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * s->config->body_bytes + 65536);
    struct rp__str body = {ev[i].body, length};
    struct rp__spoken spoken;
    add_text(&h, ev[i].kind, strlen(ev[i].kind));
    rp__spoken_read(&e, &spoken);
    if (spoken.chunk && spoken.form == RP_SPOKEN_TEXT) {
      add_number(&h, (int64_t)length);
      continue;
    }
    int rc = s->config->redact ? rp__mask_body(s->e->redactor, e.kind, e.body, &masked, &body, NULL) : 0;
    if (rc) return rp__fail(err, rc, "the event can't be masked");
    add_text(&h, body.p, body.n);
  }
  crypto_generichash_final(&h, ret, RP_REQUEST_DIGEST);
  return 0;
}

/* ---- starts and forks ---- */

int rp__request_match(rp_engine *e, const char *scope, const struct rp__key *key, const char *what, const char *on,
                      int64_t number, const rp_request *r, bool found, struct rp__request_row *row, rp_error *err)
{
  crypto_generichash_state h;
  unsigned char digest[RP_REQUEST_DIGEST];
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * r->n + 65536);
  struct rp__str bytes = {r->bytes, r->n};
  if (rp__config_of(e->config, scope)->redact && rp__mask_bytes(e->redactor, r->bytes, r->n, &masked, &bytes, NULL))
    return rp__fail_nomem(err);
  begin(&h, key);
  add_text(&h, what, strlen(what));
  add_text(&h, on, strlen(on));
  add_number(&h, number);
  add_text(&h, bytes.p, bytes.n);
  crypto_generichash_final(&h, digest, sizeof digest);
  if (found && sodium_memcmp(row->digest, digest, sizeof digest) != 0)
    return rp__fail_field(err, RP_E_KEY_REUSED, "Idempotency-Key",
                          "scope %s: the key was given to another request before, which made session %s", scope,
                          row->session_id);
  if (!found) *row = (struct rp__request_row){0};
  memcpy(row->digest, digest, sizeof digest);
  row->scope = scope;
  row->key = rp__redaction_key(e, scope, r->key, row->hashed);
  return 0;
}

int rp__request_session(rp_engine *e, const char *scope, const struct rp__request_row *made,
                        struct rp__session_row *ret, rp_error *err)
{
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, made->session_id, ret, err);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  if (!rc && ret->created_at == made->born && strcmp(ret->scope, scope) == 0) return 0;
  if (!rc) rp__session_row_done(ret);
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s, which was made under this key, was deleted",
                  made->session_id);
}

int rp__request_find(rp_engine *e, const char *scope, const char *what, const char *on, int64_t number,
                     const rp_request *r, struct rp__request_row *ret, bool *ret_found, rp_error *err)
{
  struct rp__session_row made RP_CLEANUP(rp__session_row_done) = {0};
  const struct rp__key *key = NULL;
  char hashed[RP_IDEMPOTENCY_HASHED];
  int rc = rp__request_check_key(r->key ? r->key : "", err);
  if (!rc) rc = rp__scope_key(e, scope, &key, err);
  if (rc) return rc;
  rc = e->store->ops->request_get(e->store, scope, rp__redaction_key(e, scope, r->key, hashed), ret, ret_found, err);
  if (!rc) rc = rp__request_match(e, scope, key, what, on, number, r, *ret_found, ret, err);
  return rc || !*ret_found ? rc : rp__request_session(e, scope, ret, &made, err);
}
