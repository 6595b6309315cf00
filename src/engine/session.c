/* SPDX-License-Identifier: Apache-2.0 */
/* Session handles: finding, opening, releasing. */
#include "engine/session-view.h"
#include "engine/run/slot.h"
#include "base/text.h"
#include "engine/keep/redact-session.h"
#include "engine/journal/stream-redaction.h"

int rp__session_check(const rp_session *s, rp_error *err)
{
  if (!s) return rp__fail(err, RP_E_USAGE, "no session was given");
  return rp__engine_check(s->e, err);
}

int rp__session_open(rp_engine *e, const struct rp__session_row *row, int64_t epoch, rp_session **ret, rp_error *err)
{
  const struct rp__key *key;
  int rc = rp__scope_key(e, row->scope, &key, err);
  return rc ? rc : rp__session_open_with(e, row, key, epoch, ret, err);
}

int rp__session_open_with(rp_engine *e, const struct rp__session_row *row, const struct rp__key *key, int64_t epoch,
                          rp_session **ret, rp_error *err)
{
  rp_session *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  pthread_mutex_init(&s->lock, NULL); /* default mutexes can't fail to initialise on Linux */
  pthread_mutex_init(&s->dirty_lock, NULL);
  pthread_mutex_init(&s->redaction_lock, NULL);
  s->e = e;
  s->refs = 1;
  s->config = rp__config_of(e->config, row->scope);
  s->policy = (struct rp__policy){.interval_ms = s->config->checkpoint_ms,
                                  .notes = s->config->checkpoint_notes,
                                  .tail_events = RP_TAIL_EVENTS,
                                  .tail_bytes = RP_TAIL_BYTES};
  atomic_store(&s->quiet_at, rp__engine_ticks(e) + s->config->idle_ms);
  memcpy(s->id, row->id, sizeof s->id);
  memcpy(s->scope, row->scope, sizeof s->scope);
  s->ref = row->ref;
  s->opened_seq = row->last_seq;
  s->epoch = epoch;
  s->key = key;
  s->trashed = row->trashed_at != 0;
  s->streams_known = !row->tails.n;
  s->streams_number = row->tails.number;
  if (rp__outbox_join(&e->outbox, s)) {
    pthread_mutex_destroy(&s->redaction_lock);
    pthread_mutex_destroy(&s->dirty_lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return rp__fail_nomem(err);
  }
  s->live_mirror = !key && s->config->session_file[0];
  pthread_mutex_lock(&e->lock);
  s->next = e->sessions;
  if (s->next) s->next->prev = s;
  e->sessions = s;
  pthread_mutex_unlock(&e->lock);
  rp__keeper_start(e);
  *ret = s;
  return 0;
}

rp_session *rp__session_ref(rp_session *s)
{
  pthread_mutex_lock(&s->e->lock);
  s->refs++;
  pthread_mutex_unlock(&s->e->lock);
  return s;
}

void rp__session_unref(rp_session *s)
{
  rp_engine *e = s->e;
  pthread_mutex_lock(&e->lock);
  bool last = --s->refs == 0;
  if (last) {
    if (s->prev)
      s->prev->next = s->next;
    else
      e->sessions = s->next;
    if (s->next) s->next->prev = s->prev;
    if (s->fold) e->folds--;
  }
  pthread_mutex_unlock(&e->lock);
  if (!last) return;
  rp__fold_free(s->fold);
  rp__view_free(s->view);
  rp__stream_redaction_free(s->redaction);
  pthread_mutex_destroy(&s->redaction_lock);
  rp__outbox_leave(&e->outbox, s);
  pthread_mutex_destroy(&s->dirty_lock);
  pthread_mutex_destroy(&s->lock);
  free(s->start_json);
  free(s);
}

/* What is due is made now: many short handles must not leave an ever longer tail. */
static void finish_checkpoint(rp_session *s)
{
  enum rp__due due = (enum rp__due)atomic_load(&s->checkpoint_due);
  if (due && !atomic_load(&s->ended) && !atomic_load(&s->fenced)) rp__checkpoint_run(s, due);
}

void rp_session_detach(rp_session *s)
{
  if (!s || !rp__forkguard_same(&s->e->guard)) return;
  finish_checkpoint(s);
  rp__session_unref(s);
}

void rp_session_free(rp_session *s)
{
  if (!s || !rp__forkguard_same(&s->e->guard)) return;
  int64_t slot = s->slot;
  rp_engine *e = s->e;
  finish_checkpoint(s);
  s->slot = 0;
  if (slot) rp__slot_drop(e, slot);
  rp__session_unref(s);
}

const char *rp_session_id(const rp_session *s)
{
  return s->id;
}

int64_t rp_session_number(const rp_session *s)
{
  return s->ref;
}

int64_t rp_session_epoch(const rp_session *s)
{
  return s->epoch;
}

const char *rp_start_json(const rp_session *s)
{
  return s->start_json;
}

struct rp__str rp__session_ad(const rp_session *s)
{
  return rp__str(s->id);
}

int rp__session_row(rp_session *s, struct rp__session_row *ret, rp_error *err)
{
  struct rp__session_row row = {0};
  enum rp__find how = s->copying ? RP_FIND_COPY : RP_FIND_ID;
  if (s->view) {
    *ret = s->view->row;
    return 0;
  }
  RP_MAY_ASK_STORE();
  int rc = s->e->store->ops->session_find(s->e->store, how, NULL, s->id, &row, err);
  if (rc) return rc;
  if (row.ref != s->ref) { /* deleted, and another one has its id */
    rp__session_row_done(&row);
    return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s was deleted", s->id);
  }
  rp__meta_open(s->e, &row);
  *ret = row;
  return 0;
}

char *rp__meta_root(const char *meta)
{
  return meta ? rp__json_dup(rp__json_get(rp__json_trusted(meta, strlen(meta)), "cwd")) : NULL;
}

static int check_ref(const char *ref, rp_error *err)
{
  if (rp__name_ok(ref)) return 0;
  return rp__fail_field(err, RP_E_USAGE, "id",
                        "'%s' can't be an id or key: letters, digits and . _ : - only, "
                        "at most %d",
                        rp__text_shown(ref), RP_ID_MAX);
}

/* Exact id, then key, then a unique prefix; "last" is always the newest. */
int rp__session_lookup(rp_engine *e, const char *ref, struct rp__session_row *ret, rp_error *err)
{
  static const enum rp__find order[] = {RP_FIND_NAME, RP_FIND_PREFIX};
  const struct rp__store_ops *ops = e->store->ops;
  if (strcmp(ref, "last") == 0) return ops->session_find(e->store, RP_FIND_LAST, NULL, NULL, ret, err);
  int rc = check_ref(ref, err);
  if (rc) return rc;
  for (size_t i = 0; i < RP_ARRAY_SIZE(order); i++) {
    rc = ops->session_find(e->store, order[i], NULL, ref, ret, err);
    if (rc != RP_E_SESSION_NOT_FOUND) return rc;
  }
  rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session has the id, key or prefix '%s'", rp__redaction_shown(e, NULL, ref));
  rp__hint(err, "'reprise ls' lists the sessions there are");
  return RP_E_SESSION_NOT_FOUND;
}

int rp_attach(rp_engine *e, const char *ref, rp_session **ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  if (!ref) return rp__fail_field(err, RP_E_USAGE, "id", "no session was named");
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  rc = rp__session_lookup(e, ref, &row, err);
  return rc ? rc : rp__session_open(e, &row, 0, ret, err);
}

int rp_resolve(rp_engine *e, const char *ref, char *ret, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__session_lookup(e, ref ? ref : "", &row, err);
  if (!rc) memcpy(ret, row.id, sizeof row.id);
  return rc;
}

/* An id of another scope must not hide a key of this one. */
static int look_inside(rp_engine *e, const char *scope, const char *ref, struct rp__session_row *ret, rp_error *err)
{
  static const enum rp__find order[] = {RP_FIND_KEY, RP_FIND_PREFIX};
  const struct rp__store_ops *ops = e->store->ops;
  if (strcmp(ref, "last") == 0) return ops->session_find(e->store, RP_FIND_LAST, scope, NULL, ret, err);
  int rc = check_ref(ref, err);
  if (!rc) rc = ops->session_find(e->store, RP_FIND_ID, NULL, ref, ret, err);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  bool elsewhere = !rc;
  if (elsewhere && strcmp(ret->scope, scope) == 0) return 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(order); i++) {
    struct rp__session_row row = {0};
    rc = ops->session_find(e->store, order[i], scope, ref, &row, err);
    if (!rc) {
      if (elsewhere) rp__session_row_done(ret);
      *ret = row;
    }
    if (!rc || (rc != RP_E_SESSION_NOT_FOUND && !elsewhere)) return rc;
  }
  if (elsewhere) return 0;
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session of scope %s has the id, key or prefix '%s'", scope,
                  rp__redaction_shown(e, scope, ref));
}

static int look_everywhere(rp_engine *e, const char *ref, struct rp__session_row *ret, rp_error *err)
{
  struct rp__session_row other = {0};
  int rc = rp__session_lookup(e, ref, ret, err);
  if (rc || strcmp(ret->key, ref) != 0 || strcmp(ret->id, ref) == 0 || rp__status_ended(ret->status)) return rc;
  if (e->store->ops->session_find(e->store, RP_FIND_KEY_ELSEWHERE, ret->scope, ref, &other, NULL)) return 0;
  if (!rp__status_ended(other.status)) {
    rc = rp__fail(err, RP_E_AMBIGUOUS, "open sessions of several scopes have the key '%s'", ref);
    rp__hint(err, "say which: ?scope=%s or ?scope=%s", ret->scope, other.scope);
    rp__session_row_done(ret);
  }
  rp__session_row_done(&other);
  return rc;
}

int rp_resolve_in(rp_engine *e, const char *scope, const char *ref, char *ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  struct rp__session_row row = {0};
  rc = scope ? look_inside(e, scope, ref ? ref : "", &row, err) : look_everywhere(e, ref ? ref : "", &row, err);
  if (rc) return rc;
  memcpy(ret, row.id, sizeof row.id);
  rp__session_row_done(&row);
  return 0;
}
