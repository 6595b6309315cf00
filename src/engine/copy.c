/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/copy.h"

#include "engine/capture.h"
#include "engine/derive.h"
#include "engine/memory.h"

#include "engine/slot.h"

#define COPY_PAGE_BYTES (4 * 1024 * 1024)

/* A slot made of the id, so that anybody can see whether the one who copies is alive. */
static int64_t copy_slot(const char *id)
{
  return (int64_t)(rp__checksum(id, strlen(id), 0x636f7079) >> 3) + 1;
}

bool rp__copy_is_alive(rp_engine *e, const char *id)
{
  return rp__slot_is_held(e, copy_slot(id));
}

int rp__copy_remove(rp_engine *e, const struct rp__session_row *row, rp_error *err)
{
  struct rp__op op = {
      .type = RP_OP_SESSION_DELETE, .session_ref = row->ref, .session_id = row->id, .now_ms = rp__engine_now(e)};
  return rp__engine_commit(e, &op, 1, RP_OS, err);
}

/* An earlier copy of the same id that died is in nobody's way. We hold its slot. */
static int remove_leftover(rp_engine *e, const char *id, rp_error *err)
{
  struct rp__session_row row = {0};
  rp_error none = {0};
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, id, &row, &none);
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  if (rc && err) *err = none;
  if (!rc && row.hidden) rc = rp__copy_remove(e, &row, err);
  rp__session_row_done(&row);
  return rc;
}

int rp__copy_begin(rp_engine *e, const struct rp__session_row *row, struct rp__copy **ret, rp_error *err)
{
  const struct rp__key *key;
  struct rp__scope_row scope = {0};
  struct rp__session_row hidden = *row;
  int rc = rp__scope_key(e, row->scope, &key, err);
  if (rc) return rc;
  struct rp__copy *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  c->e = e;
  c->bytes = RP_BUF(COPY_PAGE_BYTES + RP_BODY_MAX * 2);
  rc = rp__slot_take_named(e, copy_slot(row->id), err);
  if (!rc)
    c->slot = copy_slot(row->id);
  else
    rp__wrap(err, "session %s", row->id);
  if (!rc) rc = remove_leftover(e, row->id, err);
  if (rc) {
    rp__copy_free(c);
    return rc;
  }
  hidden.hidden = true;
  hidden.status = RP_STATUS_CREATED;
  hidden.epoch = hidden.last_seq = hidden.snap_seq = hidden.tail_bytes = hidden.bytes = 0;
  hidden.sealed = key != NULL;
  hidden.name[0] = '\0'; /* its own events say it */
  struct rp__op ops[2] = {
      {.type = RP_OP_SESSION_PUT, .session_id = row->id, .now_ms = rp__engine_now(e), .u.session_put.row = &hidden},
      {.type = RP_OP_SCOPE_SET, .session_id = row->id, .u.scope_set = {.scope = row->scope, .row = &scope}},
  };
  if (key) {
    scope.sealed = true;
    memcpy(scope.key_id, key->id, sizeof scope.key_id);
  }
  char *meta RP_AUTOFREE = key && row->meta ? rp__meta_seal(key, row->id, row->meta) : NULL;
  if (meta)
    hidden.meta = meta;
  else if (key && row->meta)
    rc = rp__fail_nomem(err);
  if (!rc) rc = rp__engine_commit(e, ops, key ? 2 : 1, RP_OS, err);
  if (!rc) {
    hidden.ref = ops[0].ret.ref;
    rc = rp__session_open(e, &hidden, 0, &c->s, err);
    if (rc) rp__copy_remove(e, &hidden, NULL);
  }
  if (rc)
    rp__copy_free(c);
  else
    *ret = c;
  return rc;
}

/* Bodies lie one after the other in c->bytes, which may have moved while it grew. */
static void settle_pointers(struct rp__copy *c)
{
  size_t at = 0;
  for (size_t i = 0; i < c->n; i++) {
    c->events[i].body = c->bytes.p + at;
    c->events[i].kind = c->kinds[i];
    at += c->events[i].body_len;
  }
}

static int write_page(struct rp__copy *c, rp_error *err)
{
  if (!c->n) return 0;
  settle_pointers(c);
  struct rp__op op = {.type = RP_OP_APPEND,
                      .session_ref = c->s->ref,
                      .session_id = c->s->id,
                      .now_ms = c->last_at,
                      .u.append = {.events = c->events, .n = c->n, .expect = c->written}};
  int rc = rp__engine_commit(c->s->e, &op, 1, RP_OS, err);
  c->written += (int64_t)c->n;
  c->n = 0;
  rp__buf_reset(&c->bytes);
  return rc;
}

int rp__copy_event(struct rp__copy *c, int64_t seq, int64_t at_ms, const char *kind, const char *body, size_t n,
                   rp_error *err)
{
  struct rp__str stored;
  size_t start = c->bytes.n;
  if (seq != c->written + (int64_t)c->n + 1)
    return rp__fail(err, RP_E_FORMAT_CORRUPT, "event %lld does not follow event %lld", (long long)seq,
                    (long long)(c->written + (int64_t)c->n));
  int rc = rp__journal_seal(c->s, body, n, &c->bytes, &stored);
  if (!rc && !c->s->key) rp__buf_add(&c->bytes, body, n);
  if (rc || c->bytes.err) return rp__fail_nomem(err);
  c->events[c->n] = (struct rp__new_event){
      .body_len = c->bytes.n - start, .at_ms = at_ms, .sealed = c->s->key != NULL, .engine = true};
  snprintf(c->kinds[c->n], RP_NAME, "%s", kind);
  c->last_at = RP_MAX(c->last_at, at_ms);
  c->n++;
  return c->n == RP_PAGE_EVENTS || c->bytes.n >= COPY_PAGE_BYTES ? write_page(c, err) : 0;
}

int rp__copy_blob(struct rp__copy *c, const struct rp__blob_new *b, rp_error *err)
{
  return rp__blob_write(c->s, RP_OP_BLOB_SET, b, RP_OS, NULL, err);
}

/* ---- what follows from the events ---- */

struct derive_ctx {
  struct rp__copy *copy;
  rp_error *err;
};

/* The scope's words on tasks and its memories; what it knows already is not overwritten by something that came later.
 */
static int on_derive(void *ctx, const struct rp__event *ev)
{
  struct derive_ctx *x = ctx;
  rp_session *s = x->copy->s;
  struct rp__derived d = {0};
  struct rp__op ops[2];
  double score;
  bool known = false;
  bool any = false;
  if (!rp__derives(ev->kind)) return 0;
  int rc = rp__derive(s, ev, 0, 0, &d, &ops[1], &any, x->err);
  if (!rc && any && ops[1].type == RP_OP_MEMORY_PUT)
    rc = rp__memory_score(s->e, s->scope, d.memory.id, &score, &known, x->err);
  ops[1].derived_from = 0;
  if (ops[1].type == RP_OP_TASK_PUT) ops[1].u.task_put.seq = ev->seq;
  if (!rc && any && !known) rc = rp__engine_commit(s->e, &ops[1], 1, RP_OS, x->err);
  rp__derived_done(&d);
  return rc;
}

int rp__copy_derive(struct rp__copy *c, rp_error *err)
{
  struct derive_ctx x = {c, err};
  int rc = write_page(c, err);
  return rc ? rc : rp__journal_read(c->s, 0, 0, on_derive, &x, err);
}

/* An ended session comes with its record. One that can't be made does not keep the session out. */
static void make_record(struct rp__copy *c, const struct rp__session_row *row, struct rp__capture *ret)
{
  rp_error why = {0};
  if (!rp__status_ended(row->status)) return;
  int64_t end = row->ended_at ? row->ended_at : row->last_activity_at;
  if (rp__capture_make(c->s, end, row->crash_recovered, ret, &why)) {
    rp__log(&c->e->log, RP_LOG_WARN, "session %s has no record: %s", c->s->id, why.message);
    return;
  }
  ret->row.start_ms = row->created_at;
}

int rp__copy_finish(struct rp__copy *c, const struct rp__session_row *row, const struct rp__request_row *request,
                    rp_error *err)
{
  struct rp__capture record RP_CLEANUP(rp__capture_done) = {0};
  int rc = write_page(c, err);
  if (rc) return rc;
  if (c->written) {
    rc = rp__checkpoint(c->s, "manual", NULL, err);
    if (rc) return rc;
  }
  make_record(c, row, &record);
  struct rp__op ops[2 + RP_CAPTURE_OPS] = {
      {.type = RP_OP_SESSION_SET,
       .session_ref = c->s->ref,
       .session_id = c->s->id,
       .now_ms = rp__engine_now(c->s->e),
       .u.session_set = {.fields = RP_SET_TIMES | RP_SET_HIDDEN, .hidden = false, .row = row}}};
  rp__capture_ops(&record, ops + 1);
  size_t n = record.n ? 2 : 1; /* the record, not the audit's word on it */
  if (request)
    ops[n++] = (struct rp__op){
        .type = RP_OP_REQUEST_PUT, .session_id = c->s->id, .now_ms = rp__engine_now(c->s->e), .u.request.row = request};
  rc = rp__engine_commit(c->s->e, ops, n, RP_DISK, err);
  if (!rc) rp__capture_mirror(c->s, &record);
  if (!rc) rp_session_free(RP_TAKE(c->s));
  return rc;
}

void rp__copy_free(struct rp__copy *c)
{
  if (!c) return;
  if (c->s) {
    struct rp__session_row row = {.ref = c->s->ref};
    memcpy(row.id, c->s->id, sizeof row.id);
    rp__copy_remove(c->e, &row, NULL); /* what stays is hidden, and verify --repair or the next import removes it */
    atomic_store(&c->s->ended, true);
    rp_session_free(c->s);
  }
  if (c->slot) rp__slot_drop(c->e, c->slot);
  rp__buf_done(&c->bytes);
  free(c);
}
