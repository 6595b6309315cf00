/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of scopes: $REPRISE_KEY for all scopes, or the file that `key_file` names. A key is checked against the one that
 * the scope was sealed with.
 */
#include <sodium.h>

#include "base/file.h"
#include "engine/engine.h"

#define KEY_FILE_MAX 4096

static int key_read(rp_engine *e, const char *scope, struct rp__scope_key *k, rp_error *err)
{
  const char *text = getenv("REPRISE_KEY");
  if (text && *text) {
    k->present = true;
    return rp__key_parse(text, strlen(text), &k->key, err);
  }
  const char *file = rp__config_of(e->config, scope)->key_file;
  if (!*file) return 0;
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(KEY_FILE_MAX);
  int rc = rp__file_read(file, KEY_FILE_MAX, &bytes, err);
  if (rc) return rp__wrap(err, "key file of scope '%s'", scope);
  k->present = true;
  rc = rp__key_parse(bytes.p ? bytes.p : "", bytes.n, &k->key, err);
  if (bytes.p) memset(bytes.p, 0, bytes.n);
  return rc;
}

/* The configured key, from memory after the first time. Keys are never dropped while the engine lives. */
static int key_cached(rp_engine *e, const char *scope, const struct rp__scope_key **ret, rp_error *err)
{
  int rc = 0;
  pthread_mutex_lock(&e->lock);
  struct rp__scope_key *k = e->keys;
  while (k && strcmp(k->scope, scope) != 0) k = k->next;
  if (!k) {
    k = calloc(1, sizeof *k);
    rc = k ? key_read(e, scope, k, err) : rp__fail_nomem(err);
    if (rc) {
      free(k);
    } else {
      memcpy(k->scope, scope, strlen(scope) + 1);
      k->next = e->keys;
      e->keys = k;
    }
  }
  pthread_mutex_unlock(&e->lock);
  if (!rc) *ret = k;
  return rc;
}

int rp__scope_key_of(rp_engine *e, const char *scope, const struct rp__scope_row *row, const struct rp__key **ret,
                     rp_error *err)
{
  const struct rp__scope_key *k;
  int rc = key_cached(e, scope, &k, err);
  if (rc) return rc;
  if (row->sealed && !k->present) {
    rc = rp__fail(err, RP_E_KEY_MISSING, "scope '%s' is sealed and no key is set", scope);
    rp__hint(err, "set REPRISE_KEY, or key_file in the configuration");
    return rc;
  }
  if (row->sealed && memcmp(row->key_id, k->key.id, sizeof row->key_id) != 0)
    return rp__fail(err, RP_E_KEY_WRONG, "scope '%s' was sealed with another key", scope);
  *ret = k->present ? &k->key : NULL;
  return 0;
}

int rp__scope_key(rp_engine *e, const char *scope, const struct rp__key **ret, rp_error *err)
{
  struct rp__scope_row row;
  /* Nobody starts in the store's own scope, so nothing would settle which key it is sealed with. */
  if (strcmp(scope, RP_SCOPE_STORE) == 0) {
    *ret = NULL;
    return 0;
  }
  int rc = e->store->ops->scope_get(e->store, scope, &row, err);
  return rc ? rc : rp__scope_key_of(e, scope, &row, ret, err);
}

/* ---- metadata of sealed sessions: {"sealed":"HEX"} in the row ---- */

char *rp__meta_seal(const struct rp__key *key, const char *id, const char *meta)
{
  struct rp__buf sealed RP_AUTOBUF = RP_BUF(RP_BODY_MAX), out RP_AUTOBUF = RP_BUF(2 * RP_BODY_MAX + 64);
  if (rp__seal(key, &rp__system_random, rp__str(id), meta, strlen(meta), &sealed)) return NULL;
  rp__buf_str(&out, "{\"sealed\":\"");
  char *hex = rp__buf_room(&out, 2 * sealed.n + 1);
  if (!hex) return NULL;
  sodium_bin2hex(hex, 2 * sealed.n + 1, (const unsigned char *)sealed.p, sealed.n);
  out.n += 2 * sealed.n;
  rp__buf_str(&out, "\"}");
  return rp__buf_take(&out);
}

bool rp__meta_unseal(const struct rp__key *key, struct rp__session_row *row)
{
  struct rp__json hex = rp__json_get(rp__json_trusted(row->meta, strlen(row->meta)), "sealed");
  struct rp__buf sealed RP_AUTOBUF = RP_BUF(RP_BODY_MAX), plain RP_AUTOBUF = RP_BUF(RP_BODY_MAX);
  size_t n = 0;
  if (hex.type != RP_JSON_STRING) return false;
  char *room = rp__buf_room(&sealed, hex.n / 2 + 1);
  if (!room || sodium_hex2bin((unsigned char *)room, hex.n / 2 + 1, hex.p + 1, hex.n - 2, NULL, &n, NULL)) return false;
  if (rp__unseal(key, rp__str(row->id), room, n, &plain, NULL)) return false;
  char *meta = rp__buf_take(&plain);
  if (!meta) return false;
  free(row->meta);
  row->meta = meta;
  return true;
}

/* Leaves it as it is where it can't be opened: those who list sessions need no key. */
void rp__meta_open(rp_engine *e, struct rp__session_row *row)
{
  const struct rp__key *key;
  if (!row->sealed || !row->meta || rp__scope_key(e, row->scope, &key, NULL) || !key) return;
  rp__meta_unseal(key, row);
}
