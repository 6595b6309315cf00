/* SPDX-License-Identifier: Apache-2.0 */
/* Makes everything derived from masked events again, so that no secret stays in it. */
#include "engine/keep/redact-session.h"

#include "core/mask.h"
#include "engine/keep/archive.h"
#include "engine/keep/audit.h"
#include "engine/capture/capture.h"
#include "engine/journal/derived-rows.h"
#include "engine/capture/mirror.h"
#include "facets/settings.h"

#define TELLING_FULL 1 /* a callback's word that it can take no more */

/* ---- the state ---- */

/* Handles of this engine forget the state they have in memory. */
static void forget_states(rp_engine *e, const char *id)
{
  rp_session *s = NULL;
  for (;;) {
    pthread_mutex_lock(&e->lock);
    rp_session *n = s ? s->next : e->sessions;
    if (n) n->refs++;
    pthread_mutex_unlock(&e->lock);
    if (s) rp__session_unref(s);
    if (!(s = n)) return;
    if (strcmp(s->id, id) != 0) continue;
    pthread_mutex_lock(&s->lock);
    rp__state_drop(s);
    pthread_mutex_unlock(&s->lock);
  }
}

struct numbers {
  int64_t n[1024];
  size_t count;
};

static int on_snapshot(void *ctx, const struct rp__snapshot_row *row)
{
  struct numbers *v = ctx;
  if (v->count < RP_ARRAY_SIZE(v->n)) v->n[v->count++] = row->n;
  return 0;
}

/* ---- the record and the row ---- */

/* The record is made anew from the state, for the same end. */
static int renew_record(rp_session *s, const struct rp__session_row *row, rp_error *err)
{
  struct rp__record_row old = {0};
  struct rp__capture c RP_CLEANUP(rp__capture_done) = {0};
  struct rp__op ops[RP_CAPTURE_OPS];
  struct rp__buf json RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX);
  int rc = s->e->store->ops->record_get(s->e->store, s->ref, &old, err);
  if (rc == RP_E_RECORD_NOT_FOUND) return 0;
  if (!rc) rc = rp__capture_make(s, old.end_ms, old.crash_recovered, NULL, &c, err);
  if (!rc && !old.archived) {
    rp__capture_ops(&c, ops);
    rc = rp__engine_commit(s->e, ops, 1, RP_DISK, err); /* the record alone: nothing was captured */
    if (!rc) rc = rp__mirror_record(s->e, &c.row, err); /* an old file would still say it */
  }
  if (!rc && old.archived) rc = rp__record_text(&c.row, s->key, &json, err); /* the cold file is sealed as a whole */
  if (!rc && old.archived) rc = rp__archive_write(s->e, row, json.p, json.n, err);
  rp__record_row_done(&old);
  return rc;
}

/* The row says what the masked journal says. */
static int renew_name(rp_session *s, const struct rp__session_row *row, rp_error *err)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536), text RP_AUTOBUF = RP_BUF(8192);
  struct rp__op op = {RP__OP_OF(s->e, s)};
  struct rp__fold *f = NULL;
  bool derived = false;
  if (!row->name[0]) return 0;
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, &warnings, err);
  if (!rc) derived = rp__derive_name(s, rp__settings_name(f), &text, &op);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  if (rc || !derived) return rc;
  return text.err ? rp__fail_nomem(err) : rp__engine_commit(s->e, &op, 1, RP_DISK, err);
}

/* ---- the audit log ---- */

/* Records of the audit log that tell of what is masked now lose their fields; the chain stays whole. */
struct telling {
  const struct rp__redactor *r;
  int64_t n[256];
  size_t count;
  int64_t last;
};

static int on_audit(void *ctx, const rp_audit_info *a)
{
  struct telling *x = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4 * RP_AUDIT_FIELDS_MAX);
  struct rp__str masked;
  size_t hits = 0;
  x->last = a->n;
  if (!a->fields) return 0;
  struct rp__json fields = rp__json_trusted(a->fields, strlen(a->fields));
  int rc = rp__mask_body(x->r, RP_KIND_OTHER, fields, &out, &masked, &hits);
  if (!rc && hits) x->n[x->count++] = a->n;
  return rc ? rc : x->count == RP_ARRAY_SIZE(x->n) ? TELLING_FULL : 0;
}

static int erase_audits(rp_session *s, const struct rp__redactor *r, rp_error *err)
{
  struct telling x = {.r = r};
  int rc;
  do {
    x.count = 0;
    rc = rp_audit(s->e, s->scope, x.last, 0, on_audit, &x, err);
    bool more = rc == TELLING_FULL;
    if (more) rc = 0;
    if (rc == RP_E_NOMEM) rp__fail_nomem(err);
    for (size_t i = 0; !rc && i < x.count; i++) {
      struct rp__op op = {
          .type = RP_OP_AUDIT_ERASE, .now_ms = rp__engine_now(s->e), .u.audit_erase = {.scope = s->scope, .n = x.n[i]}};
      rc = rp__engine_commit(s->e, &op, 1, RP_DISK, err);
    }
    if (!more) break;
  } while (!rc);
  return rc;
}

int rp__redaction_renew(rp_session *s, const struct rp__redactor *r, const struct rp__session_row *row, rp_error *err)
{
  forget_states(s->e, s->id);
  struct numbers v;
  int rc;
  do {
    v.count = 0;
    rc = s->e->store->ops->snapshot_list(s->e->store, s->ref, 0, on_snapshot, &v, err);
    for (size_t i = 0; !rc && i < v.count; i++) {
      struct rp__op op = {.type = RP_OP_SNAPSHOT_DELETE, RP__OP_OF(s->e, s), .u.snapshot_delete = {.n = v.n[i]}};
      rc = rp__engine_commit(s->e, &op, 1, RP_OS, err);
      if (rc == RP_E_SNAPSHOT_NOT_FOUND) rc = 0;
    }
  } while (!rc && v.count == RP_ARRAY_SIZE(v.n));
  if (!rc && row->last_seq) rc = rp__checkpoint(s, "manual", NULL, err);
  if (!rc) rc = renew_record(s, row, err);
  if (!rc) rc = renew_name(s, row, err);
  if (!rc) rc = erase_audits(s, r, err);
  return rc;
}
