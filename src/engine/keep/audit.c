/* SPDX-License-Identifier: Apache-2.0 */
/* Audit records: writes them with the changes that they record, lists them, and checks the chain. */
#include "engine/keep/audit.h"

#include <sodium.h>

#include "engine/journal/stream-redaction.h"

#define HEAD_TEXT (20 + 1 + 2 * RP_CHAIN_HASH + 1)

/* What binds sealed fields to their place: the scope alone, for their number is known only inside the commit. */
static struct rp__str audit_ad(const char *scope)
{
  return rp__str(scope);
}

/* The chain's own key, so that no hash of it says anything about what else the scope's key seals. */
static void chain_key(const struct rp__key *key, unsigned char ret[RP_CHAIN_HASH])
{
  static const char purpose[] = "audit chain";
  crypto_generichash(ret, RP_CHAIN_HASH, (const unsigned char *)purpose, sizeof purpose - 1, key->bytes, RP_KEY_BYTES);
}

/* ---- writing ---- */

void rp__audit_begin(struct rp__audit_note *note)
{
  *note = (struct rp__audit_note){.fields = RP_BUF(RP_AUDIT_FIELDS_MAX),
                                  .sealed = RP_BUF(RP_AUDIT_FIELDS_MAX + RP_SEAL_OVERHEAD)};
  note->w = RP_JW(&note->fields);
  rp__jw_object(&note->w);
}

void rp__audit_done(struct rp__audit_note *note)
{
  rp__buf_done(&note->fields);
  rp__buf_done(&note->sealed);
  sodium_memzero(note->key, sizeof note->key);
}

int rp__audit_op(rp_engine *e, const char *scope, const char *event, struct rp__audit_note *note, struct rp__op *ret,
                 rp_error *err)
{
  const struct rp__key *key = NULL;
  int rc = rp__scope_key(e, scope, &key, err);
  return rc ? rc : rp__audit_op_with(e, scope, key, event, note, ret, err);
}

int rp__audit_op_with(rp_engine *e, const char *scope, const struct rp__key *key, const char *event,
                      struct rp__audit_note *note, struct rp__op *ret, rp_error *err)
{
  note->w.out = &note->fields; /* the note may have been moved since it was begun */
  rp__jw_end_object(&note->w);
  if (note->fields.err) return rp__fail(err, note->fields.err, "the audit record '%s' can't be written", event);
  /* Reasons and names come from people: what they hold is masked like everything that is stored. */
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * RP_AUDIT_FIELDS_MAX);
  struct rp__str fields;
  int rc = rp__engine_mask(e, scope, RP_KIND_OTHER, rp__json_trusted(note->fields.p, note->fields.n), &masked, &fields);
  if (rc) return rp__fail(err, rc, "an audit record can't be masked");
  if (fields.p != note->fields.p) {
    rp__buf_done(&note->fields);
    note->fields = masked;
    masked = (struct rp__buf){0};
  }
  *ret = (struct rp__op){.type = RP_OP_AUDIT, .now_ms = rp__engine_now(e)};
  ret->u.audit.scope = scope;
  ret->u.audit.event = event;
  ret->u.audit.at_ms = ret->now_ms;
  ret->u.audit.fields = (struct rp__str){note->fields.p, note->fields.n};
  rp__system_random.fill(rp__system_random.ctx, ret->u.audit.salt, sizeof ret->u.audit.salt);
  rp__chain_digest(ret->u.audit.salt, note->fields.p, note->fields.n, ret->u.audit.digest);
  if (!key) return 0;
  rc = rp__seal(key, &rp__system_random, audit_ad(scope), note->fields.p, note->fields.n, &note->sealed);
  if (rc) return rp__fail_nomem(err);
  chain_key(key, note->key);
  ret->u.audit.fields = (struct rp__str){note->sealed.p, note->sealed.n};
  ret->u.audit.sealed = true;
  ret->u.audit.key = note->key;
  return 0;
}

void rp__audit_count(rp_engine *e, const struct rp__op *ops, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (ops[i].type == RP_OP_AUDIT) atomic_fetch_add_explicit(&e->counters.audits, 1, memory_order_relaxed);
}

int rp__audit_write(rp_engine *e, const char *scope, const char *event, struct rp__audit_note *note)
{
  rp_error err = {0};
  struct rp__op op;
  if (e->read_only) return 0;
  int rc = rp__audit_op(e, scope, event, note, &op, &err);
  if (!rc) rc = rp__engine_commit(e, &op, 1, RP_OS, &err);
  if (rc) rp__log(&e->log, RP_LOG_WARN, "audit record %s: %s", event, err.message);
  return rc;
}

/* ---- reading ---- */

struct reader {
  rp_engine *e;
  const struct rp__key *key;
  rp_audit_fn *fn;
  void *ctx;
  rp_error *err;
  struct rp__buf plain;
};

/* The fields as JSON text in x->plain; *ret is NULL when they were erased. */
static int fields_open(struct reader *x, const struct rp__audit_row *row, const char **ret)
{
  *ret = NULL;
  if (!row->fields.p) return 0;
  rp__buf_reset(&x->plain);
  int rc = 0;
  if (row->sealed)
    rc = rp__unseal(x->key, audit_ad(row->scope), row->fields.p, row->fields.n, &x->plain, x->err);
  else
    rp__buf_add(&x->plain, row->fields.p, row->fields.n);
  if (!rc && x->plain.err)
    rc = rp__fail(x->err, x->plain.err, "the fields of audit record %lld can't be kept in memory", (long long)row->n);
  if (!rc) *ret = x->plain.p ? x->plain.p : "";
  return rc;
}

static int on_audit(void *ctx, const struct rp__audit_row *row)
{
  struct reader *x = ctx;
  char prev[2 * RP_CHAIN_HASH + 1], hash[2 * RP_CHAIN_HASH + 1];
  rp_audit_info info = {.n = row->n, .at_ms = row->at_ms, .scope = row->scope, .event = row->event};
  int rc = fields_open(x, row, &info.fields);
  if (rc) return rc;
  info.prev_hash = sodium_bin2hex(prev, sizeof prev, row->prev, RP_CHAIN_HASH);
  info.hash = sodium_bin2hex(hash, sizeof hash, row->hash, RP_CHAIN_HASH);
  return x->fn(x->ctx, &info);
}

static int on_scope(void *ctx, const char *scope)
{
  struct rp__scope_names *v = ctx;
  if (!RP__ROOM(v->p, v->n, v->cap)) return RP_E_NOMEM;
  snprintf(v->p[v->n++], RP_NAME, "%s", scope);
  return 0;
}

void rp__scope_names_done(struct rp__scope_names *v)
{
  free(v->p);
}

int rp__scope_names(rp_engine *e, const char *scope, struct rp__scope_names *ret, rp_error *err)
{
  int rc = scope ? on_scope(ret, scope) : e->store->ops->scope_list(e->store, on_scope, ret, err);
  return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}

int rp_audit(rp_engine *e, const char *scope, int64_t after, int64_t limit, rp_audit_fn *fn, void *ctx, rp_error *err)
{
  struct rp__scope_names scopes RP_CLEANUP(rp__scope_names_done) = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__scope_names(e, scope, &scopes, err);
  for (size_t i = 0; !rc && i < scopes.n; i++) {
    struct reader x = {.e = e, .fn = fn, .ctx = ctx, .err = err, .plain = RP_BUF(RP_AUDIT_FIELDS_MAX)};
    struct rp__audit_filter f = {.scope = scopes.p[i], .after = after, .limit = limit};
    rc = rp__scope_key(e, scopes.p[i], &x.key, err);
    if (!rc) rc = e->store->ops->audit_list(e->store, &f, on_audit, &x, err);
    rp__buf_done(&x.plain);
  }
  return rc;
}

/* ---- verifying ---- */

struct check {
  struct reader r;
  const char *scope, *expect;
  const unsigned char *key;
  unsigned char prev[RP_CHAIN_HASH];
  int64_t n;
  bool expected; /* the head noted earlier was met */
};

static int broken(struct check *x, int64_t n, const char *why)
{
  return rp__fail(x->r.err, RP_E_AUDIT_BROKEN, "scope '%s', audit record %lld: %s", x->scope, (long long)n, why);
}

static void head_text(int64_t n, const unsigned char hash[RP_CHAIN_HASH], char ret[HEAD_TEXT])
{
  char hex[2 * RP_CHAIN_HASH + 1];
  sodium_bin2hex(hex, sizeof hex, hash, RP_CHAIN_HASH);
  snprintf(ret, HEAD_TEXT, "%lld:%s", (long long)n, hex);
}

/* The fields must be what the digest was made of, unless they were erased. */
static int check_fields(struct check *x, const struct rp__audit_row *row)
{
  unsigned char digest[RP_CHAIN_HASH];
  const char *fields;
  rp_error ignored = {0}, *told = x->r.err;
  x->r.err = &ignored;
  int rc = fields_open(&x->r, row, &fields);
  x->r.err = told;
  /* The chain itself needs the key as well, and want of memory is no damage. */
  if (rc == RP_E_KEY_MISSING || rc == RP_E_KEY_WRONG || rc == RP_E_NOMEM) {
    if (told) *told = ignored;
    return rc;
  }
  if (rc) return broken(x, row->n, "its fields were altered");
  if (!fields) return 0;
  rp__chain_digest(row->salt, x->r.plain.p, x->r.plain.n, digest);
  return sodium_memcmp(digest, row->digest, sizeof digest) ? broken(x, row->n, "its fields were altered") : 0;
}

static int on_check(void *ctx, const struct rp__audit_row *row)
{
  struct check *x = ctx;
  unsigned char hash[RP_CHAIN_HASH];
  char head[HEAD_TEXT];
  if (row->n != x->n + 1) return broken(x, x->n + 1, "it is missing");
  rp__chain_hash(x->key, x->prev, row->n, row->at_ms, row->event, row->digest, hash);
  if (sodium_memcmp(hash, row->hash, sizeof hash) || sodium_memcmp(x->prev, row->prev, sizeof row->prev))
    return broken(x, row->n, "it does not follow from the one before");
  int rc = check_fields(x, row);
  if (rc) return rc;
  memcpy(x->prev, hash, sizeof hash);
  x->n = row->n;
  head_text(row->n, hash, head);
  if (x->expect && strcmp(x->expect, head) == 0) x->expected = true;
  return 0;
}

/* One scope's chain, from its beginning to the head the store keeps. */
static int check_scope(rp_engine *e, struct check *x, rp_error *err)
{
  unsigned char derived[RP_CHAIN_HASH];
  struct rp__audit_row head = {0};
  struct rp__audit_filter f = {.scope = x->scope};
  int rc = rp__scope_key(e, x->scope, &x->r.key, err);
  if (rc) return rc;
  if (x->r.key) {
    chain_key(x->r.key, derived);
    x->key = derived;
  }
  rp__chain_genesis(x->scope, x->prev);
  rc = e->store->ops->audit_list(e->store, &f, on_check, x, err);
  if (!rc) rc = e->store->ops->audit_head(e->store, x->scope, &head, err);
  if (!rc && (head.n != x->n || (head.n && sodium_memcmp(head.hash, x->prev, RP_CHAIN_HASH))))
    rc = broken(x, RP_MIN(head.n, x->n) + 1, head.n > x->n ? "it is missing" : "the head does not follow");
  x->key = NULL;
  sodium_memzero(derived, sizeof derived);
  return rc;
}

/* A log that was emptied has no chain to be broken; but the store has counted its records apart from them. */
static int check_total(rp_engine *e, rp_error *err)
{
  struct rp__store_stats stats;
  struct rp__scope_names scopes RP_CLEANUP(rp__scope_names_done) = {0};
  int64_t total = 0;
  int rc = e->store->ops->stats(e->store, &stats, err); /* first: what comes meanwhile only adds to the heads */
  if (!rc) rc = rp__scope_names(e, NULL, &scopes, err);
  for (size_t i = 0; !rc && i < scopes.n; i++) {
    struct rp__audit_row head = {0};
    rc = e->store->ops->audit_head(e->store, scopes.p[i], &head, err);
    total += head.n;
  }
  if (rc || total >= stats.audits) return rc;
  return rp__fail(err, RP_E_AUDIT_BROKEN, "the audit log has lost %lld of %lld records",
                  (long long)(stats.audits - total), (long long)stats.audits);
}

int rp__audit_findings(rp_engine *e, rp__audit_finding_fn *fn, void *ctx, rp_error *err)
{
  struct rp__scope_names scopes RP_CLEANUP(rp__scope_names_done) = {0};
  rp_error why = {0};
  int rc = rp__scope_names(e, NULL, &scopes, err);
  for (size_t i = 0; !rc && i < scopes.n; i++) {
    struct check x = {.r = {.e = e, .err = &why, .plain = RP_BUF(RP_AUDIT_FIELDS_MAX)}, .scope = scopes.p[i]};
    rc = check_scope(e, &x, &why);
    rp__buf_done(&x.r.plain);
    if (rc == RP_E_AUDIT_BROKEN || rc == RP_E_KEY_MISSING || rc == RP_E_KEY_WRONG)
      rc = fn(ctx, why.message, rc != RP_E_AUDIT_BROKEN);
    else if (rc && err)
      *err = why;
  }
  if (!rc && (rc = check_total(e, &why)) == RP_E_AUDIT_BROKEN)
    rc = fn(ctx, why.message, false);
  else if (rc && err && why.code)
    *err = why;
  return rc;
}

static bool head_ok(const char *text)
{
  size_t digits = strspn(text, "0123456789");
  const char *hash = text + digits + 1;
  return digits > 0 && digits < 20 && text[digits] == ':' && strspn(hash, "0123456789abcdef") == 2 * RP_CHAIN_HASH &&
         hash[2 * RP_CHAIN_HASH] == 0;
}

int rp_audit_verify(rp_engine *e, const char *scope, const char *expect, char **ret, rp_error *err)
{
  struct rp__scope_names scopes RP_CLEANUP(rp__scope_names_done) = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(16 * 1024 * 1024);
  struct rp__jw w = RP_JW(&out);
  bool expected = !expect;
  int rc = rp__engine_check(e, err);
  if (!rc && expect && !head_ok(expect))
    rc = rp__fail_field(err, RP_E_USAGE, "expect", "'%.80s' is no head: a number, a colon and 64 hexadecimal digits",
                        expect);
  if (!rc) rc = rp__scope_names(e, scope, &scopes, err);
  rp__jw_pack(&w, "{scopes:[");
  for (size_t i = 0; !rc && i < scopes.n; i++) {
    struct check x = {
        .r = {.e = e, .err = err, .plain = RP_BUF(RP_AUDIT_FIELDS_MAX)}, .scope = scopes.p[i], .expect = expect};
    char head[HEAD_TEXT];
    rc = check_scope(e, &x, err);
    rp__buf_done(&x.r.plain);
    expected = expected || x.expected;
    head_text(x.n, x.prev, head);
    rp__jw_pack(&w, "{scope:s records:i head:s}", x.scope, x.n, x.n ? head : NULL);
  }
  if (!rc) rc = check_total(e, err);
  if (rc) return rc;
  if (!expected) return rp__fail(err, RP_E_AUDIT_BROKEN, "no record is %s: the log was cut or written anew", expect);
  rp__jw_pack(&w, "]}");
  if (out.err) return rp__fail_nomem(err);
  if (ret && !(*ret = rp__buf_take(&out))) return rp__fail_nomem(err);
  return 0;
}

/* ---- failures that could not be recorded ---- */

enum { FREE, TAKEN, SAID }; /* TAKEN: somebody writes or reads it; whoever is killed then leaves the place so */

_Static_assert(RP_RUNS_UNSAID_NAME >= RP_NAME, "room for ids");

static struct rp__runs_unsaid *places(rp_engine *e)
{
  if (e->read_only || e->locks.fd < 0) return NULL;
  pthread_mutex_lock(&e->lock);
  rp__lockfile_map(&e->locks);
  pthread_mutex_unlock(&e->lock);
  return e->locks.header ? e->locks.header->unsaid : NULL;
}

static bool claim(struct rp__runs_unsaid *u, uint32_t from)
{
  return atomic_compare_exchange_strong(&u->state, &from, TAKEN);
}

void rp__unsaid_keep(rp_session *s, const char *reason, int code)
{
  struct rp__runs_unsaid *u = places(s->e);
  for (size_t i = 0; u && i < RP_RUNS_UNSAID; i++, u++) {
    if (!claim(u, FREE)) continue;
    u->at_ms = rp__engine_now(s->e);
    u->code = code;
    snprintf(u->scope, sizeof u->scope, "%s", s->scope);
    snprintf(u->session, sizeof u->session, "%s", s->id);
    snprintf(u->reason, sizeof u->reason, "%s", reason);
    atomic_store(&u->state, SAID);
    return;
  }
  rp__log(&s->e->log, RP_LOG_WARN, "session %s: a failed snapshot is not in the audit log", s->id);
}

void rp__unsaid_tell(rp_engine *e)
{
  struct rp__runs_unsaid *u = places(e);
  rp_error why = {0};
  int rc = 0;
  for (size_t i = 0; u && !rc && i < RP_RUNS_UNSAID; i++, u++) {
    if (!claim(u, SAID)) continue;
    /* What a file says may be anything. */
    bool whole = memchr(u->scope, 0, sizeof u->scope) && memchr(u->session, 0, sizeof u->session) &&
                 memchr(u->reason, 0, sizeof u->reason) && rp__name_ok(u->scope) && rp__name_ok(u->session);
    if (whole) {
      struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
      struct rp__op op;
      rp__audit_begin(&note);
      rp__jw_pack(&note.w, "session_id:s reason:s error:s failed_at:t", u->session, u->reason,
                  rp_error_lookup(u->code)->text, u->at_ms);
      rc = rp__audit_op(e, u->scope, "snapshot_failed", &note, &op, &why);
      if (!rc) rc = rp__engine_commit(e, &op, 1, RP_OS, &why);
    }
    atomic_store(&u->state, rc ? SAID : FREE);
  }
  if (rc) rp__log(&e->log, RP_LOG_DEBUG, "audit record snapshot_failed: %s", why.message);
}
