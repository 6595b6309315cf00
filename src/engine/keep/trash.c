/* SPDX-License-Identifier: Apache-2.0 */
/* The trash: putting sessions into it, taking them out, and deletion for good. */
#include "engine/keep/trash.h"

#include <limits.h>

#include "base/text.h"
#include "engine/keep/archive.h"
#include "engine/keep/audit.h"
#include "engine/capture/mirror.h"
#include "engine/files.h"
#include "engine/keep/redact-session.h"

#define ROW_BYTES 1024 /* of a session's own rows */
#define SHRINK_MIN (1024 * 1024)
#define EVENT_BYTES 64 /* around the body of an event: its row and its index entries */

/* ---- who may go ---- */

int rp__session_free_to_go(rp_engine *e, const struct rp__session_row *row, rp_error *err)
{
  struct rp__run_row run;
  struct rp__evidence evidence;
  struct rp__verdict verdict;
  if (row->held_at) {
    rp__fail(err, RP_E_ON_HOLD, "session %s is on hold", row->id);
    rp__hint(err, "'reprise hold %s --off' takes the hold off", row->id);
    return RP_E_ON_HOLD;
  }
  int rc = rp__run_newest(e, row->ref, true, &run, err);
  if (rc || !run.ref) return rc;
  rp__run_judge(e, &run, row->last_activity_at, &evidence, &verdict);
  if (!verdict.alive) return 0;
  if (run.owner == RP_RUN_NONE)
    rp__fail(err, RP_E_HELD, "session %s is in use: its last sign of life is younger than its lease", row->id);
  else
    rp__fail(err, RP_E_HELD, "session %s is in use by process %lld on %s", row->id, (long long)run.proc.pid, run.host);
  rp__hint(err, "end it first: 'reprise end %s'", row->id);
  return RP_E_HELD;
}

static int on_snapshot(void *ctx, const struct rp__snapshot_row *row)
{
  *(int64_t *)ctx += row->size;
  return 0;
}

static int on_blob(void *ctx, const struct rp__blob_row *row)
{
  *(int64_t *)ctx += row->size;
  return 0;
}

int rp__session_weight(rp_engine *e, const struct rp__session_row *row, int64_t *ret, rp_error *err)
{
  int64_t bytes = row->bytes + row->last_seq * EVENT_BYTES + ROW_BYTES;
  int rc = e->store->ops->snapshot_list(e->store, row->ref, 0, on_snapshot, &bytes, err);
  if (!rc) rc = e->store->ops->blob_list(e->store, row->ref, NULL, on_blob, &bytes, err);
  if (!rc) *ret = bytes;
  return rc;
}

int64_t rp__store_weight(const struct rp__store_stats *st)
{
  int64_t bytes = st->event_bytes + st->events * EVENT_BYTES + st->snapshot_bytes + st->blob_bytes;
  for (int i = 0; i < RP_STATUS_MAX; i++) bytes += st->sessions[i] * ROW_BYTES;
  return RP_MAX(bytes + st->trashed * ROW_BYTES, st->file_bytes - st->free_bytes);
}

/* ---- finding ---- */

/* A session in the trash answers to its id, its key and a unique beginning of its id, as outside. */
struct search {
  const char *ref;
  char id[RP_NAME];
  int n;
};

static int on_trashed(void *ctx, const struct rp__session_row *row)
{
  struct search *x = ctx;
  if (strncmp(row->id, x->ref, strlen(x->ref)) != 0 && strcmp(row->key, x->ref) != 0) return 0;
  memcpy(x->id, row->id, sizeof x->id);
  x->n++;
  return 0;
}

static int trash_lookup(rp_engine *e, const char *ref, struct rp__session_row *ret, rp_error *err)
{
  struct search x = {.ref = ref};
  struct rp__session_filter f = {.trashed = true, .limit = INT_MAX};
  if (!rp__name_ok(ref))
    return rp__fail_field(err, RP_E_USAGE, "id", "'%s' can't be an id or key", rp__text_shown(ref));
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, ref, ret, err);
  if (rc != RP_E_SESSION_NOT_FOUND) return rc;
  rc = e->store->ops->session_list(e->store, &f, on_trashed, &x, err);
  if (rc) return rc;
  if (x.n > 1) return rp__fail(err, RP_E_AMBIGUOUS, "'%s' names several sessions in the trash", ref);
  if (x.n == 1) return e->store->ops->session_find(e->store, RP_FIND_ID, NULL, x.id, ret, err);
  rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session in the trash has the id, key or prefix '%s'",
           rp__redaction_shown(e, NULL, ref));
  rp__hint(err, "'reprise trash' lists what is there");
  return RP_E_SESSION_NOT_FOUND;
}

/* Outside the trash first, then in it. */
static int any_lookup(rp_engine *e, const char *ref, struct rp__session_row *ret, rp_error *err)
{
  rp_error why = {0};
  int rc = rp__session_lookup(e, ref, ret, err);
  if (rc != RP_E_SESSION_NOT_FOUND) return rc;
  rc = trash_lookup(e, ref, ret, &why); /* where neither has it, the first answer is the better one */
  if (rc && rc != RP_E_SESSION_NOT_FOUND && err) *err = why;
  return rc;
}

static int begin(rp_engine *e, const char *ref, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (!rc && (!ref || !*ref)) rc = rp__fail_field(err, RP_E_USAGE, "id", "no session was named");
  return rc;
}

/* ---- changing ---- */

/* Into the trash and out of the store only while the epoch is the one that was looked at. */
static struct rp__op set_op(rp_engine *e, const struct rp__session_row *row, unsigned fields, int64_t at)
{
  bool takes_away = fields == 0 || fields == RP_SET_COUNTERS || (fields == RP_SET_TRASH && at);
  return (struct rp__op){.type = RP_OP_SESSION_SET,
                         RP__OP_OF(e, row),
                         .epoch = takes_away ? row->epoch : 0,
                         .u.session_set = {.fields = fields, .trashed_at = at, .held_at = at}};
}

/* One change of the row and the record that tells of it. `note` has been begun. */
static int commit_change(rp_engine *e, const struct rp__session_row *row, unsigned fields, int64_t at,
                         const char *event, struct rp__audit_note *note, rp_error *err)
{
  struct rp__op ops[2] = {set_op(e, row, fields, at)};
  int rc = rp__audit_op(e, row->scope, event, note, &ops[1], err);
  return rc ? rc : rp__engine_commit(e, ops, 2, RP_DISK, err);
}

int rp__trash_put(rp_engine *e, const struct rp__session_row *row, const char *reason, rp_error *err)
{
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  if (row->trashed_at) return 0;
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "session_id:s reason:s", row->id, reason);
  int rc = commit_change(e, row, RP_SET_TRASH, rp__engine_now(e), "trash", &note, err);
  if (!rc) atomic_fetch_add(&e->metrics.trashed, 1);
  return rc;
}

int rp_trash(rp_engine *e, const char *ref, const char *reason, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  int rc = begin(e, ref, err);
  if (!rc) rc = any_lookup(e, ref, &row, err);
  if (!rc) rc = rp__session_free_to_go(e, &row, err);
  return rc ? rc : rp__trash_put(e, &row, reason ? reason : "asked for", err);
}

int rp_untrash(rp_engine *e, const char *ref, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  int rc = begin(e, ref, err);
  if (!rc) rc = trash_lookup(e, ref, &row, err);
  if (rc) return rc;
  if (!row.trashed_at) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is not in the trash", row.id);
  rp__audit_begin(&note);
  rp__jw_kstr(&note.w, "session_id", row.id);
  return commit_change(e, &row, RP_SET_TRASH, 0, "untrash", &note, err);
}

int rp_hold(rp_engine *e, const char *ref, bool on, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  int rc = begin(e, ref, err);
  if (!rc) rc = any_lookup(e, ref, &row, err);
  if (rc || on == (row.held_at != 0)) return rc;
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "session_id:s on:b", row.id, on);
  return commit_change(e, &row, RP_SET_HOLD, on ? rp__engine_now(e) : 0, "hold", &note, err);
}

/* ---- for good ---- */

int rp__session_delete(rp_engine *e, const struct rp__session_row *row, int64_t bytes, const char *reason,
                       rp_error *err)
{
  struct rp__audit_note note RP_CLEANUP(rp__audit_done) = {0};
  /* The first changes nothing that matters: it is refused when a newer run has taken the session up. With a damaged
   * status anything but counting anew is refused. */
  struct rp__op ops[3] = {set_op(e, row, row->damaged ? RP_SET_COUNTERS : 0, 0)};
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "session_id:s scope:s events:i bytes:i reason:s", row->id, row->scope, row->last_seq, bytes,
              reason);
  int rc = rp__audit_op(e, row->scope, "deletion", &note, &ops[1], err);
  if (!rc) rc = rp__archive_remove(e, row, err);
  if (rc) return rc;
  rp__mirror_remove(e, row->scope, row->id);
  ops[2] = (struct rp__op){.type = RP_OP_SESSION_DELETE, RP__OP_OF(e, row)};
  rc = rp__engine_commit(e, ops, 3, RP_DISK, err);
  if (rc) return rc;
  atomic_fetch_add(&e->metrics.deleted, 1);
  rp_error why = {0};
  if (rp__fleet_forget(e->fleet, row->id, &why)) /* it opens nothing any more: the next one is another's birth */
    rp__log(&e->log, RP_LOG_WARN, "the token of session %s stays in the file: %s", row->id, why.message);
  return 0;
}

void rp__store_shrink(rp_engine *e)
{
  rp_error err = {0};
  int64_t left = INT64_MAX, before;
  do {
    before = left;
    if (e->store->ops->maintain(e->store, RP_MAINTAIN_SHRINK, &left, &err)) {
      rp__log(&e->log, RP_LOG_DEBUG, "giving space back: %s", err.message);
      return;
    }
  } while (left && left < before);
}

int rp_purge(rp_engine *e, const char *ref, bool force, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  int64_t bytes = 0;
  int rc = begin(e, ref, err);
  if (!rc) rc = force ? any_lookup(e, ref, &row, err) : trash_lookup(e, ref, &row, err);
  if (rc) return rc;
  if (!row.trashed_at && !force) {
    rp__fail(err, RP_E_REFUSED, "session %s is not in the trash", row.id);
    rp__hint(err, "put it there first: 'reprise rm %s'", row.id);
    return RP_E_REFUSED;
  }
  rc = rp__session_free_to_go(e, &row, err);
  if (!rc) rc = rp__session_weight(e, &row, &bytes, err);
  if (!rc) rc = rp__session_delete(e, &row, bytes, "asked for", err);
  if (!rc) rp__files_sweep(e); /* a file that was not finished may hold what is to go */
  /* One deletion among many gives space back only when it pays. */
  struct rp__store_stats st = {0};
  if (rc || e->store->ops->stats(e->store, &st, NULL)) return rc;
  if (st.free_bytes >= SHRINK_MIN && st.free_bytes >= st.file_bytes / 4) rp__store_shrink(e);
  return 0;
}
