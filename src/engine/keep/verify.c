/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads everything and reports what is wrong. Damage stays inside its session. A repair keeps every event number: a
 * damaged or missing event becomes `x-damaged`, with what was left of it. A damaged snapshot is deleted, because it can
 * be made again from the journal.
 */
#include <sodium.h>

#include "engine/keep/archive.h"
#include "engine/keep/audit.h"
#include "engine/capture/capture.h"
#include "engine/transfer/copy.h"
#include "engine/files.h"
#include "engine/keep/memory.h"
#include "engine/journal/open-streams.h"

#define TAIL_FILLED 65536 /* missing events at the end that are believed; beyond, the counter is what is wrong */
#define DAMAGED_KEPT 4096 /* bytes of a damaged body that are kept, in hex */

struct verify {
  rp_engine *e;
  bool repair;
  rp_finding_fn *fn;
  void *ctx;
  rp_progress_fn *progress;
  void *pctx;
  rp_error *err;
  int64_t done, total, left; /* events read, events in all, findings not repaired */
  rp_session *s;             /* the one being read */
  int64_t next;              /* the seq expected */
  int64_t last;              /* the row's last seq */
  struct rp__buf plain;
  struct rp__blob_ids named; /* blobs, by its events */
  bool whole;                /* the store was checked before the sessions */
  char (*records)[RP_NAME];  /* sessions whose records the store takes away: they are made again */
  size_t n_records, cap_records;
};

static int report(struct verify *v, int64_t seq, bool repaired, const char *fmt, ...) RP_PRINTF(4, 5);
static int report(struct verify *v, int64_t seq, bool repaired, const char *fmt, ...)
{
  char what[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  rp_finding f = {.session_id = v->s ? v->s->id : NULL, .seq = seq, .what = what, .repaired = repaired};
  if (!repaired) v->left++;
  return v->fn ? v->fn(v->ctx, &f) : 0;
}

/* A word on what is no damage, or none that counts. */
static int note(struct verify *v, const char *id, const char *what, bool repaired)
{
  rp_finding f = {.session_id = id, .what = what, .repaired = repaired, .note = !repaired};
  return v->fn ? v->fn(v->ctx, &f) : 0;
}

/* ---- events ---- */

static int recount(struct verify *v)
{
  struct rp__op op = {.type = RP_OP_SESSION_SET, RP__OP_OF(v->e, v->s), .u.session_set.fields = RP_SET_COUNTERS};
  return rp__engine_commit(v->e, &op, 1, RP_DISK, v->err);
}

static int replace_event(struct verify *v, const struct rp__event_row *row, int64_t seq, const char *why)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(65536), sealed RP_AUTOBUF = RP_BUF(131072);
  struct rp__jw w = RP_JW(&body);
  struct rp__str stored;
  rp__jw_pack(&w, "{reason:s", why);
  if (row) {
    char hex[2 * DAMAGED_KEPT + 1];
    rp__jw_kstr(&w, "original_kind", row->kind);
    sodium_bin2hex(hex, sizeof hex, (const unsigned char *)row->body, RP_MIN(row->body_len, (size_t)DAMAGED_KEPT));
    rp__jw_kstr(&w, "original_bytes_hex", hex);
  }
  rp__jw_end_object(&w);
  if (body.err || rp__journal_seal(v->s, body.p, body.n, &sealed, &stored)) return rp__fail_nomem(v->err);
  struct rp__new_event ev = {.kind = RP_KIND_DAMAGED,
                             .body = stored.p,
                             .body_len = stored.n,
                             .at_ms = row ? row->at_ms : rp__engine_now(v->e),
                             .sealed = v->s->key != NULL,
                             .engine = true};
  struct rp__op op = {
      .type = RP_OP_EVENT_REPLACE, RP__OP_OF(v->e, v->s), .u.event_replace = {.seq = seq, .event = &ev}};
  int rc = rp__engine_commit(v->e, &op, 1, RP_DISK, v->err);
  if (rc == RP_E_SEQ_NOT_FOUND) { /* beyond the row's last seq, but before the last event that there is */
    rc = recount(v);
    if (!rc) rc = rp__engine_commit(v->e, &op, 1, RP_DISK, v->err);
  }
  return rc;
}

static int bad_event(struct verify *v, const struct rp__event_row *row, int64_t seq, const char *why)
{
  int rc = v->repair ? replace_event(v, row, seq, why) : 0;
  return rc ? rc : report(v, seq, v->repair, "event %lld: %s", (long long)seq, why);
}

/* NULL, or what is wrong with the event. */
static const char *event_fault(struct verify *v, const struct rp__event_row *row, int *ret_rc)
{
  struct rp__str body = {row->body, row->body_len};
  struct rp__json_limits limits = {0};
  struct rp__json parsed;
  *ret_rc = 0;
  if (row->damaged) return "its checksum does not fit";
  if (row->sealed) {
    rp__buf_reset(&v->plain);
    int rc = rp__unseal(v->s->key, rp__session_ad(v->s), row->body, row->body_len, &v->plain, v->err);
    if (rc == RP_E_CORRUPT) return "it can't be unsealed";
    if ((*ret_rc = rc)) return NULL;
    body = (struct rp__str){v->plain.p, v->plain.n};
  }
  int rc = rp__json_parse(body.p, body.n, &limits, &parsed, NULL);
  if (rc == RP_E_NOMEM)
    *ret_rc = rp__fail_nomem(v->err);
  else if (rc || parsed.type != RP_JSON_OBJECT)
    return "its body is no JSON object";
  else if (rp__blob_ids_note(&v->named, parsed))
    *ret_rc = rp__fail_nomem(v->err);
  return NULL;
}

static int on_event(void *ctx, const struct rp__event_row *row)
{
  struct verify *v = ctx;
  int rc = 0;
  if (row->seq - v->next >= TAIL_FILLED && row->seq - v->last >= TAIL_FILLED)
    return report(v, row->seq, false, "event %lld: the session has no more than %lld", (long long)row->seq,
                  (long long)v->last);
  if (row->seq - v->next >= TAIL_FILLED) { /* a number that no journal reached, rather than so many that are gone */
    rc = report(v, v->next, false, "events %lld to %lld are missing", (long long)v->next, (long long)row->seq - 1);
    v->next = row->seq;
  }
  for (; !rc && v->next < row->seq; v->next++) rc = bad_event(v, NULL, v->next, "it is missing");
  const char *fault = rc ? NULL : event_fault(v, row, &rc);
  if (fault) rc = bad_event(v, row, row->seq, fault);
  v->next = row->seq + 1;
  v->done++;
  if (!rc && v->progress && v->done % 1024 == 0 && v->progress(v->pctx, v->done, v->total))
    rc = rp__fail(v->err, RP_E_CANCELLED, "the check was interrupted");
  return rc;
}

/*
 * The row's own numbers against the events there are. A tail that is gone is filled
 * like any hole: its numbers were given away and must not be given again. A session
 * that others write to while we read is ahead of the row we read first.
 */
static int check_counters(struct verify *v, const struct rp__session_row *row)
{
  int64_t last = row->last_seq;
  int rc = 0;
  if (row->epoch >= RP_SEQ_MAX || row->bytes >= RP_SEQ_MAX || row->tail_bytes >= RP_SEQ_MAX ||
      row->snap_seq >= RP_SEQ_MAX) {
    rc = v->repair ? recount(v) : 0;
    return rc ? rc : report(v, 0, v->repair, "the session's counters are damaged");
  }
  if (v->next > last + 1) {
    struct rp__session_row now = {0};
    rc = rp__session_row(v->s, &now, v->err);
    rp__session_row_done(&now);
    last = rc ? last : now.last_seq;
  }
  if (rc || v->next == last + 1 || (v->next <= last && last > row->last_seq)) return rc;
  if (v->next <= last && last - v->next < TAIL_FILLED) {
    for (; !rc && v->next <= last; v->next++) rc = bad_event(v, NULL, v->next, "it is missing");
    if (!rc && v->repair) rc = recount(v);
    return rc;
  }
  rc = v->repair ? recount(v) : 0;
  return rc ? rc
            : report(v, 0, v->repair, "the session says it has %lld events, it has %lld", (long long)last,
                     (long long)v->next - 1);
}

/* ---- snapshots ---- */

struct snapshot_list {
  int64_t n[512];
  size_t count;
};

static int on_listed(void *ctx, const struct rp__snapshot_row *row)
{
  struct snapshot_list *l = ctx;
  if (l->count < RP_ARRAY_SIZE(l->n)) l->n[l->count++] = row->n;
  return 0;
}

static int on_snapshot(void *ctx, const struct rp__snapshot_row *row)
{
  struct verify *v = ctx;
  struct rp__fold *f = NULL;
  rp_error why = {0};
  int rc = rp__snapshot_decode(row->data, (size_t)row->size, v->s->key, rp__session_ad(v->s), &rp__facets, &f, &why);
  if (!rc && rp__fold_seq(f) != row->seq) rc = rp__fail(&why, RP_E_SNAPSHOT_CORRUPT, "it stands at another event");
  if (!rc && row->seq >= v->next && row->seq > v->last) rc = rp__fail(&why, RP_E_SNAPSHOT_CORRUPT, "it is ahead");
  rp__fold_free(f);
  if (rc && rc != RP_E_SNAPSHOT_CORRUPT && rc != RP_E_CORRUPT && v->err) *v->err = why;
  return rc;
}

static int check_snapshots(struct verify *v)
{
  struct rp__store *st = v->e->store;
  struct snapshot_list list = {.count = 0};
  int rc = st->ops->snapshot_list(st, v->s->ref, 0, on_listed, &list, v->err);
  for (size_t i = 0; !rc && i < list.count; i++) {
    rc = st->ops->snapshot_list(st, v->s->ref, list.n[i], on_snapshot, v, v->err);
    if (rc != RP_E_SNAPSHOT_CORRUPT && rc != RP_E_CORRUPT) continue;
    rc = v->repair ? rp_snapshot_delete(v->s, list.n[i], v->err) : 0;
    if (!rc) rc = report(v, 0, v->repair, "snapshot %lld is damaged", (long long)list.n[i]);
  }
  return rc;
}

/* ---- blobs ---- */

static int on_blob(void *ctx, const char *what, bool is_note)
{
  struct verify *v = ctx;
  return is_note ? note(v, v->s->id, what, v->repair) : report(v, 0, v->repair, "%s", what);
}

/* ---- streams ---- */

static int on_tail_fault(void *ctx, int64_t seq, const char *what)
{
  struct verify *v = ctx;
  return seq ? report(v, seq, v->repair, "event %lld: %s", (long long)seq, what) : report(v, 0, v->repair, "%s", what);
}

/* ---- records ---- */

/* Again from the state, which is the journal's. Of an open session there is none to make: it ends later. */
static int renew_record(struct verify *v, const struct rp__session_row *row, bool archived)
{
  struct rp__capture c RP_CLEANUP(rp__capture_done) = {0};
  struct rp__op ops[RP_CAPTURE_OPS];
  struct rp__buf json RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX);
  int64_t end = row->ended_at ? row->ended_at : row->last_activity_at;
  int rc = rp__capture_make(v->s, end, row->crash_recovered, NULL, &c, v->err);
  if (!rc && archived) {
    rc = rp__record_text(&c.row, v->s->key, &json, v->err);
    return rc ? rc : rp__archive_write(v->e, row, json.p, json.n, v->err);
  }
  if (rc) return rc;
  rp__capture_ops(&c, ops);
  rc = rp__engine_commit(v->e, ops, 1, RP_DISK, v->err); /* the record alone: nothing was captured */
  if (!rc) rp__capture_mirror(v->s, &c);
  return rc;
}

static bool is_noted(const struct verify *v, const char *id)
{
  for (size_t i = 0; i < v->n_records; i++)
    if (strcmp(v->records[i], id) == 0) return true;
  return false;
}

/* The record as a reader gets it, cold files and sealed ones too. What the store has told already is not told again. */
static int check_record(struct verify *v, const struct rp__session_row *row)
{
  struct rp__record_row record = {0};
  struct rp__buf text RP_AUTOBUF = RP_BUF(2 * RP_ARCHIVE_MAX);
  rp_error why = {0};
  bool noted = is_noted(v, row->id);
  int rc = v->e->store->ops->record_get(v->e->store, row->ref, &record, &why);
  bool archived = record.archived, plain = !record.archived && !record.sealed_body;
  rp__record_row_done(&record);
  if (rc == RP_E_RECORD_NOT_FOUND && !noted) return 0;
  if (rc == RP_E_CORRUPT && v->whole && !noted) return 0;
  if (!rc && plain) return 0;
  if (!rc) rc = rp__record_read(v->e, row, &text, &why);
  if (!rc) return 0;
  if (rc != RP_E_CORRUPT && rc != RP_E_RECORD_NOT_FOUND) {
    *v->err = why;
    return rc;
  }
  bool mended = v->repair && rp__status_ended(row->status);
  if (mended && (rc = renew_record(v, row, archived))) {
    if (rc != RP_E_REFUSED) return rc;
    mended = false; /* what stands in the file's place is not ours to take away */
  }
  if (noted) return mended ? report(v, 0, true, "its record was made again from its journal") : 0;
  return report(v, 0, mended, "%s", why.message);
}

/* Before the store takes away what is damaged: which records are to be made again. */
static int note_records(struct verify *v, const struct rp__session_row *row)
{
  struct rp__record_row record = {0};
  int rc = v->e->store->ops->record_get(v->e->store, row->ref, &record, NULL);
  rp__record_row_done(&record);
  if (rc != RP_E_CORRUPT) return 0; /* whatever else is wrong is found by the check itself */
  if (!RP__ROOM(v->records, v->n_records, v->cap_records)) return rp__fail_nomem(v->err);
  memcpy(v->records[v->n_records++], row->id, RP_NAME);
  return 0;
}

/* ---- memories and the audit log ---- */

static int on_renewed(void *ctx, const char *scope, const char *id)
{
  return report(ctx, 0, true, "memory %s of scope %s was damaged and made again from its session's journal", id, scope);
}

static int on_audit(void *ctx, const char *what, bool is_note)
{
  struct verify *v = ctx;
  return is_note ? note(v, NULL, what, false) : report(v, 0, false, "%s", what);
}

/* ---- sessions ---- */

static int verify_session(struct verify *v, const struct rp__session_row *row)
{
  int rc = rp__session_open(v->e, row, 0, &v->s, v->err);
  if (rc == RP_E_KEY_MISSING || rc == RP_E_KEY_WRONG)
    return note(v, row->id, "it is sealed and the key is not here: not checked", false);
  if (rc) return rc;
  v->next = 1;
  v->last = row->last_seq;
  v->named.n = 0;
  struct rp__event_range r = {.session_ref = row->ref, .session_id = row->id, .tolerant = true};
  if (row->damaged && !v->repair) rc = report(v, 0, false, "its status is damaged; nobody can write to it");
  if (row->damaged && v->repair) { /* what it was read as is written */
    rc = recount(v);
    if (!rc) rc = report(v, 0, true, "its status was damaged, now it is %s", rp__status_name(row->status));
  }
  if (!rc) rc = v->e->store->ops->event_list(v->e->store, &r, on_event, v, v->err);
  if (rc == RP_E_CORRUPT)
    rc = report(v, v->next, false, "%s", v->err->message);
  else if (!rc)
    rc = check_counters(v, row);
  if (!rc) rc = check_snapshots(v);
  if (!rc) rc = rp__streams_check(v->s, v->repair, on_tail_fault, v, v->err);
  if (!rc) rc = rp__blobs_check(v->s, &v->named, v->repair, on_blob, v, v->err);
  if (!rc) rc = check_record(v, row);
  atomic_store(&v->s->ended, true); /* nothing of ours is due */
  rp_session_free(RP_TAKE(v->s));
  return rc;
}

struct page {
  struct rp__session_row rows[64];
  size_t n;
};

static int on_row(void *ctx, const struct rp__session_row *row)
{
  struct page *p = ctx;
  p->rows[p->n] = *row;
  p->rows[p->n++].meta = NULL;
  return 0;
}

/* What an import or fork left behind that died before it was done. */
static int on_cut_off(void *ctx, const char *id)
{
  struct verify *v = ctx;
  return note(v, id, "an import or fork of it was cut off; nobody sees what it left", v->repair);
}

/* Of all sessions, those in the trash too. */
static int each_session(struct verify *v, int (*fn)(struct verify *v, const struct rp__session_row *row))
{
  struct page *p RP_AUTOFREE = malloc(sizeof *p);
  if (!p) return rp__fail_nomem(v->err);
  for (int trashed = 0; trashed < 2; trashed++) {
    char cursor[RP_NAME] = "";
    do {
      struct rp__session_filter f = {
          .limit = RP_ARRAY_SIZE(p->rows), .cursor = cursor[0] ? cursor : NULL, .trashed = trashed};
      p->n = 0;
      int rc = v->e->store->ops->session_list(v->e->store, &f, on_row, p, v->err);
      for (size_t i = 0; !rc && i < p->n; i++) rc = fn(v, &p->rows[i]);
      if (rc) return rc;
      if (p->n) memcpy(cursor, p->rows[p->n - 1].id, sizeof cursor);
    } while (p->n == RP_ARRAY_SIZE(p->rows));
  }
  return 0;
}

/* What can be made again from the journal is, before the store takes away what it can't. */
static int mend_first(struct verify *v)
{
  rp_error own = {0}, *told = v->err;
  v->err = &own; /* where the store can't even be listed, its own check says why */
  int rc = each_session(v, note_records);
  if (!rc) {
    struct rp__scope_names scopes RP_CLEANUP(rp__scope_names_done) = {0};
    rc = rp__scope_names(v->e, NULL, &scopes, v->err);
    for (size_t i = 0; !rc && i < scopes.n; i++) {
      rc = rp__memories_renew(v->e, scopes.p[i], on_renewed, v, v->err);
      if (rc == RP_E_KEY_MISSING || rc == RP_E_KEY_WRONG || rc == RP_E_CORRUPT) rc = 0; /* the check tells of them */
    }
  }
  v->err = told;
  if (rc == RP_E_NOMEM) *told = own;
  return rc == RP_E_NOMEM ? rc : 0;
}

static int on_store_finding(void *ctx, const rp_finding *f)
{
  struct verify *v = ctx;
  if (!f->repaired && !f->note) v->left++;
  return v->fn ? v->fn(v->ctx, f) : 0;
}

int rp_accept_loss(rp_engine *e, rp_error *err)
{
  char what[300] = "";
  int rc = rp__engine_check(e, err);
  if (rc || !e->store->ops->accept) return rc;
  rc = e->store->ops->accept(e->store, what, sizeof what, err);
  if (rc || !what[0]) return rc;
  struct rp__audit_note note;
  rp__audit_begin(&note);
  rp__jw_kstr(&note.w, "what", what);
  rp__audit_write(e, RP_SCOPE_STORE, "loss_accepted", &note);
  rp__audit_done(&note);
  return 0;
}

int rp_verify(rp_engine *e, const char *ref, bool repair, rp_finding_fn *fn, void *ctx, rp_progress_fn *progress,
              void *pctx, rp_error *err)
{
  rp_error own = {0};
  struct rp__store_stats stats;
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  struct verify v = {.e = e,
                     .repair = repair,
                     .fn = fn,
                     .ctx = ctx,
                     .progress = progress,
                     .pctx = pctx,
                     .err = err ? err : &own,
                     .plain = RP_BUF(64 * RP_BODY_MAX)};
  if (ref) {
    struct rp__session_row row = {0};
    rc = rp__session_lookup(e, ref, &row, v.err);
    v.total = row.last_seq;
    if (!rc) rc = verify_session(&v, &row);
    rp__session_row_done(&row);
  } else {
    rc = e->store->ops->stats(e->store, &stats, v.err);
    v.total = rc ? 0 : stats.events;
    v.whole = true;
    rc = repair && !e->read_only ? mend_first(&v) : 0;
    if (!rc) rc = e->store->ops->check(e->store, repair, on_store_finding, &v, v.err);
    if (!rc) rc = each_session(&v, verify_session);
    if (!rc) rc = rp__audit_findings(e, on_audit, &v, v.err);
    if (!rc) rc = rp__copy_sweep(e, !repair, on_cut_off, &v, v.err);
    if (!rc && repair) rp__files_sweep(e);
  }
  rp__buf_done(&v.plain);
  rp__blob_ids_done(&v.named);
  free(v.records);
  if (rc) return rc;
  if (!v.left) return 0;
  rp__fail(v.err, RP_E_CORRUPT, "%lld finding%s left", (long long)v.left, v.left == 1 ? "" : "s");
  if (!repair) rp__hint(v.err, "'reprise verify --repair' mends what can be mended");
  return RP_E_CORRUPT;
}
