/* SPDX-License-Identifier: Apache-2.0 */
/* Failures that could not be written to the audit log: kept in shared memory and told later. */
#include "engine/keep/unaudited-failures.h"

#include "engine/keep/audit.h"

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

static bool take(struct rp__runs_unsaid *u, uint32_t from)
{
  return atomic_compare_exchange_strong(&u->state, &from, TAKEN);
}

void rp__unsaid_keep(rp_session *s, const char *reason, int code)
{
  struct rp__runs_unsaid *u = places(s->e);
  for (size_t i = 0; u && i < RP_RUNS_UNSAID; i++, u++) {
    if (!take(u, FREE)) continue;
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
    if (!take(u, SAID)) continue;
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
