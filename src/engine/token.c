/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bearer tokens: rpt_ID_SECRET. The id finds the row. The secret is 256 random bits, of which the store has a hash. A
 * fast hash without salt is enough: nobody guesses 256 bits, and no two tokens have the same secret.
 */
#include <sodium.h>

#include "base/options.h"
#include "base/text.h"
#include "engine/keep/audit.h"
#include "engine/keep/redact-session.h"

#define PREFIX "rpt_"
#define ID_CHARS 8
#define SECRET_BYTES 32
#define SECRET_CHARS 43
#define ID_AT (sizeof PREFIX - 1)
#define SECRET_AT (ID_AT + ID_CHARS + 1)
#define TEXT_CHARS (SECRET_AT + SECRET_CHARS)
#define USED_MS (60 * 1000) /* how exact last_used_at is */
#define ID_TRIES 4

static const char id_alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char secret_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

_Static_assert(sizeof((struct rp__token_row){0}.hash) == crypto_generichash_BYTES, "what is kept of a secret");

/* Over all of the text, so that a hash belongs to its id. */
static void text_hash(const char text[TEXT_CHARS], unsigned char ret[crypto_generichash_BYTES])
{
  crypto_generichash(ret, crypto_generichash_BYTES, (const unsigned char *)text, TEXT_CHARS, NULL, 0);
}

/* Whether it has the form of a token; the id goes to `ret`. */
static bool text_read(const char *text, char ret[ID_CHARS + 1])
{
  if (!text || strnlen(text, TEXT_CHARS + 1) != TEXT_CHARS || strncmp(text, PREFIX, ID_AT) != 0) return false;
  if (strspn(text + ID_AT, id_alphabet) != ID_CHARS || text[SECRET_AT - 1] != '_') return false;
  if (strspn(text + SECRET_AT, secret_alphabet) != SECRET_CHARS) return false;
  memcpy(ret, text + ID_AT, ID_CHARS);
  ret[ID_CHARS] = 0;
  return true;
}

static rp_token_info info_of(const struct rp__token_row *row)
{
  return (rp_token_info){.id = row->id,
                         .name = row->name[0] ? row->name : NULL,
                         .scope = row->scope[0] ? row->scope : NULL,
                         .read_only = row->read_only,
                         .created_at = row->created_at,
                         .expires_at = row->expires_at,
                         .last_used_at = row->last_used_at};
}

static void text_wipe(char (*text)[TEXT_CHARS + 1])
{
  sodium_memzero(*text, sizeof *text);
}

/* ---- making and ending ---- */

/* One change of a token and the record that tells of it. */
static int commit_change(rp_engine *e, enum rp__op_type type, const struct rp__token_row *row, rp_error *err)
{
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  struct rp__op ops[2] = {{.type = type, .now_ms = rp__engine_now(e), .u.token.row = row}};
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "id:s name:s scope:s read_only:b expires_at:t", row->id, row->name[0] ? row->name : NULL,
              row->scope[0] ? row->scope : NULL, row->read_only, row->expires_at);
  const char *event = type == RP_OP_TOKEN_PUT ? "token_created" : "token_revoked";
  int rc = rp__audit_op(e, RP_SCOPE_STORE, event, &note, &ops[1], err);
  return rc ? rc : rp__engine_commit(e, ops, 2, RP_DISK, err);
}

int rp_token_create(rp_engine *e, const rp_token_options *given, char **ret_text, rp_error *err)
{
  rp_token_options own, *o = &own;
  char text[TEXT_CHARS + 1] RP_CLEANUP(text_wipe) = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(o, given, expires_ms, err);
  if (rc) return rc;
  if (o->name && !rp__name_ok(o->name))
    return rp__fail_field(err, RP_E_USAGE, "name", "the name '%s' holds more than letters, digits and . _ : -",
                          rp__text_shown(o->name));
  if (o->scope && !rp__name_ok(o->scope))
    return rp__fail_field(err, RP_E_USAGE, "scope", "'%s' can't be a scope", rp__text_shown(o->scope));
  rc = rp__redaction_check_name(e, NULL, "name", o->name, err);
  if (!rc) rc = rp__redaction_check_name(e, NULL, "scope", o->scope, err);
  if (rc) return rc;
  if (o->expires_ms && o->expires_ms <= rp__engine_now(e))
    return rp__fail_field(err, RP_E_USAGE, "expires", "the token would have expired already");
  struct rp__token_row row = {.read_only = o->read_only, .created_at = rp__engine_now(e), .expires_at = o->expires_ms};
  if (o->name) rp__text_copy(row.name, sizeof row.name, o->name);
  if (o->scope) rp__text_copy(row.scope, sizeof row.scope, o->scope);
  char *copy = malloc(sizeof text);
  if (!copy) return rp__fail_nomem(err);
  rc = RP_E_EXISTS;
  for (int i = 0; rc == RP_E_EXISTS && i < ID_TRIES; i++) {
    unsigned char secret[SECRET_BYTES], id[ID_CHARS];
    rp__system_random.fill(rp__system_random.ctx, secret, sizeof secret);
    rp__system_random.fill(rp__system_random.ctx, id, sizeof id);
    memcpy(text, PREFIX, ID_AT);
    for (int k = 0; k < ID_CHARS; k++) text[ID_AT + k] = id_alphabet[id[k] % 32];
    text[SECRET_AT - 1] = '_';
    sodium_bin2base64(text + SECRET_AT, SECRET_CHARS + 1, secret, sizeof secret,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(secret, sizeof secret);
    text_read(text, row.id);
    text_hash(text, row.hash);
    rc = commit_change(e, RP_OP_TOKEN_PUT, &row, err);
  }
  if (rc) {
    free(copy);
    return rc;
  }
  memcpy(copy, text, sizeof text);
  *ret_text = copy;
  return 0;
}

/* What a reference names: an id before a name. */
struct search {
  const char *ref;
  struct rp__token_row row;
  bool by_id;
  int n;
};

static int on_candidate(void *ctx, const struct rp__token_row *row)
{
  struct search *x = ctx;
  bool by_id = strcmp(row->id, x->ref) == 0;
  if (x->by_id || (!by_id && strcmp(row->name, x->ref) != 0)) return 0;
  x->row = *row;
  x->by_id = by_id;
  x->n = by_id ? 1 : x->n + 1;
  return 0;
}

int rp_token_revoke(rp_engine *e, const char *id, rp_error *err)
{
  char from_text[ID_CHARS + 1];
  struct search x = {.ref = text_read(id, from_text) ? from_text : id};
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  /* Not told back: it may be a token with a slip of the pen. */
  if (!x.ref || !rp__name_ok(x.ref) || strncmp(x.ref, PREFIX, ID_AT) == 0)
    return rp__fail_field(err, RP_E_USAGE, "id", "what was given can't be the id or name of a token");
  rc = e->store->ops->token_list(e->store, NULL, on_candidate, &x, err);
  if (rc) return rc;
  if (x.n > 1) {
    rp__fail_field(err, RP_E_AMBIGUOUS, "id", "%d tokens have the name '%s'", x.n, x.ref);
    rp__hint(err, "name it by its id");
    return RP_E_AMBIGUOUS;
  }
  if (x.n == 0)
    return rp__fail_field(err, RP_E_TOKEN_NOT_FOUND, "id", "no token has the id or name '%s'",
                          rp__redaction_shown(e, NULL, x.ref));
  return commit_change(e, RP_OP_TOKEN_DELETE, &x.row, err);
}

/* ---- reading ---- */

struct listing {
  rp_token_fn *fn;
  void *ctx;
};

static int on_token(void *ctx, const struct rp__token_row *row)
{
  const struct listing *l = ctx;
  rp_token_info info = info_of(row);
  return l->fn(l->ctx, &info);
}

int rp_token_list(rp_engine *e, rp_token_fn *fn, void *ctx, rp_error *err)
{
  struct listing l = {fn, ctx};
  int rc = rp__engine_check(e, err);
  return rc ? rc : e->store->ops->token_list(e->store, NULL, on_token, &l, err);
}

/* ---- checking ---- */

struct use {
  struct rp__commit commit; /* first: the queue hands this back */
  struct rp__op op;
  struct rp__token_row row;
  rp_engine *e;
};

static void use_settle(rp_engine *e, const struct rp__token_row *row, int rc, const rp_error *err)
{
  if (rc) rp__log(&e->log, RP_LOG_DEBUG, "use of token %s: %s", row->id, err->message);
}

static void use_done(struct rp__commit *c)
{
  struct use *u = (struct use *)c;
  use_settle(u->e, &u->row, c->txn.rc, &c->txn.err);
  free(u);
}

/* Never on the caller's path, and no failure of his. */
static void use_note(rp_engine *e, const struct rp__token_row *row)
{
  int64_t now = rp__engine_now(e), ago = now - row->last_used_at;
  if (e->read_only || (ago >= 0 && ago < USED_MS)) return;
  /* The row knows of the last use, but not of one that waits in the queue, and while the store is away nothing gets
   * into it: each place holds which token was written in which minute. */
  uint32_t who;
  memcpy(&who, row->hash, sizeof who); /* of a random text: as good as any hash of the id */
  uint64_t mark = (uint64_t)who << 32 | (uint32_t)(rp__engine_ticks(e) / USED_MS + 1);
  atomic_ullong *place = &e->tokens_seen[who % RP_TOKENS_SEEN];
  if (atomic_exchange_explicit(place, mark, memory_order_relaxed) == mark) return;
  rp_error err = {.message = "not queued"};
  struct use *u = calloc(1, sizeof *u);
  if (!u) return;
  u->e = e;
  u->row = *row;
  u->row.last_used_at = now;
  u->op = (struct rp__op){.type = RP_OP_TOKEN_USED, .now_ms = now, .u.token.row = &u->row};
  u->commit =
      (struct rp__commit){.txn = {.ops = &u->op, .n = 1, .durability = RP_OS}, .bytes = sizeof *u, .done = use_done};
  int rc;
  if (e->short_lived)
    rc = rp__engine_commit(e, &u->op, 1, RP_OS, &err);
  else if (!(rc = rp__commit_post(&e->queue, &u->commit)))
    return;
  use_settle(e, row, rc, &err);
  free(u);
}

static int on_found(void *ctx, const struct rp__token_row *row)
{
  *(struct rp__token_row *)ctx = *row;
  return 0;
}

int rp_token_check(rp_engine *e, const char *text, rp_token_fn *fn, void *ctx, rp_error *err)
{
  struct rp__token_row row = {0};
  unsigned char hash[crypto_generichash_BYTES];
  char id[ID_CHARS + 1];
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  if (!text_read(text, id)) return rp__fail(err, RP_E_UNAUTHORIZED, "that is no token of this server");
  rc = e->store->ops->token_list(e->store, id, on_found, &row, err);
  if (rc) return rc;
  text_hash(text, hash);
  /* An id that nobody has is compared too, with zeroes, so that time does not tell which ids there are. */
  if ((sodium_memcmp(hash, row.hash, sizeof hash) != 0) | (row.id[0] == 0))
    return rp__fail(err, RP_E_UNAUTHORIZED, "the token is not valid, or was revoked");
  if (row.expires_at && rp__engine_now(e) >= row.expires_at)
    return rp__fail(err, RP_E_UNAUTHORIZED, "the token %s has expired", row.id);
  use_note(e, &row);
  rp_token_info info = info_of(&row);
  return fn ? fn(ctx, &info) : 0;
}
