/* SPDX-License-Identifier: Apache-2.0 */
/* Copies events into a hidden session, which is shown when it is complete. */
#include "engine/transfer/copy.h"

#include "engine/capture/capture.h"
#include "engine/journal/derived-rows.h"
#include "engine/keep/memory.h"
#include "engine/run/slot.h"
#include "engine/journal/open-streams.h"

#define COPY_PAGE_BYTES (4 * 1024 * 1024)

/* A slot made of the id, so that anybody can see whether the one who copies is alive. */
static int64_t copy_slot(const char *id)
{
  return (int64_t)(rp__checksum(id, strlen(id), 0x636f7079) >> 3) + 1;
}

static int copy_remove(rp_engine *e, const struct rp__session_row *row, rp_error *err)
{
  struct rp__op op = {.type = RP_OP_SESSION_DELETE, RP__OP_OF(e, row), .copying = true};
  rp_error why = {0};
  int rc = rp__engine_commit(e, &op, 1, RP_OS, &why);
  if (rc == RP_E_SESSION_NOT_FOUND) return 0; /* somebody else took it away, or it was shown after all */
  if (rc && err) *err = why;
  return rc;
}

/* The hidden session of that id; ret->ref stays 0 where there is none. */
static int find_hidden(rp_engine *e, const char *id, struct rp__session_row *ret, rp_error *err)
{
  rp_error none = {0};
  int rc = e->store->ops->session_find(e->store, RP_FIND_COPY, NULL, id, ret, &none);
  rp__session_row_done(ret);
  if (rc && rc != RP_E_SESSION_NOT_FOUND && err) *err = none;
  return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
}

/* An earlier copy of the same id that died is in nobody's way. We hold its slot. */
static int remove_leftover(rp_engine *e, const char *id, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = find_hidden(e, id, &row, err);
  return rc || !row.ref ? rc : copy_remove(e, &row, err);
}

int rp__copy_clear(rp_engine *e, const char *id, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = find_hidden(e, id, &row, err);
  if (rc || !row.ref) return rc;
  /* Asked after the row was seen: a living copier had the slot before there was a row, and has it until that is shown.
   */
  if (rp__slot_is_held(e, copy_slot(id))) return rp__fail(err, RP_E_EXISTS, "session %s is being imported", id);
  return copy_remove(e, &row, err);
}

int rp__copy_sweep(rp_engine *e, bool look, rp__copy_fn *fn, void *ctx, rp_error *err)
{
  char after[RP_NAME] = "";
  for (;;) {
    struct rp__session_row row = {0};
    rp_error none = {0};
    int rc = e->store->ops->session_find(e->store, RP_FIND_HIDDEN, NULL, after, &row, &none);
    if (rc == RP_E_SESSION_NOT_FOUND) return 0;
    if (rc && err) *err = none;
    if (rc) return rc;
    rp__session_row_done(&row);
    memcpy(after, row.id, sizeof after);
    if (row.status != RP_STATUS_CREATED) continue; /* it was used: hidden by damage, of which the store's check tells */
    if (rp__slot_is_held(e, copy_slot(row.id))) continue;
    rc = look ? 0 : rp__copy_clear(e, row.id, err);
    if (rc == RP_E_EXISTS) continue; /* somebody began it anew just now */
    if (!rc && fn) rc = fn(ctx, row.id);
    if (rc) return rc;
  }
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
    if (rc) copy_remove(e, &hidden, NULL);
  }
  if (!rc) c->s->copying = true;
  if (rc)
    rp__copy_free(c);
  else
    *ret = c;
  return rc;
}

static int write_page(struct rp__copy *c, rp_error *err)
{
  if (!c->n) return 0;
  /* Bodies lie one after the other in c->bytes, which may have moved while it grew. */
  size_t at = 0;
  for (size_t i = 0; i < c->n; i++) {
    c->events[i].body = c->bytes.p + at;
    c->events[i].kind = c->kinds[i];
    at += c->events[i].body_len;
  }
  struct rp__op op = {.type = RP_OP_APPEND,
                      .session_ref = c->s->ref,
                      .session_id = c->s->id,
                      .now_ms = c->last_at,
                      .copying = true,
                      .u.append = {.events = c->events,
                                   .n = c->n,
                                   .expect = c->written,
                                   .streams_number = c->written + (int64_t)c->n}}; /* nobody else writes to it */
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
  /* Whose stream goes on with the event, or ends. */
  struct rp__spoken spoken = {.form = RP_SPOKEN_NOTHING};
  struct rp__event ev = {.kind = rp__kind_parse(kind), .kind_name = kind, .body = rp__json_trusted(body, n)};
  if (ev.kind == RP_KIND_MESSAGE) rp__spoken_read(&ev, &spoken);
  if (spoken.form != RP_SPOKEN_NOTHING) {
    c->events[c->n].voice = rp__voice(spoken.name);
    c->events[c->n].open = spoken.chunk;
  }
  snprintf(c->kinds[c->n], RP_NAME, "%s", kind);
  c->last_at = RP_MAX(c->last_at, at_ms);
  c->n++;
  return c->n == RP_PAGE_EVENTS || c->bytes.n >= COPY_PAGE_BYTES ? write_page(c, err) : 0;
}

int rp__copy_tails(struct rp__copy *c, rp_session *from, rp_error *err)
{
  int rc = write_page(c, err);
  return rc ? rc : rp__streams_copy(from, c->s, err);
}

int rp__copy_blob(struct rp__copy *c, const struct rp__blob_new *b, rp_error *err)
{
  return rp__blob_write(c->s, RP_OP_BLOB_SET, b, RP_OS, NULL, err);
}

/* ---- what follows from the events ---- */

/* An op that is stored when the session is shown, and what it points to. */
struct rp__copy_word {
  struct rp__op op;
  uint64_t about; /* which task, which memory: the ids' hash */
  struct rp__memory_row memory;
  char *content, *categories; /* owned */
};

static struct rp__copy_word *word_find(struct rp__copy *c, enum rp__op_type type, uint64_t about, const char *id)
{
  for (size_t i = 0; i < c->n_words; i++) {
    struct rp__copy_word *w = &c->words[i];
    if (w->op.type == type && w->about == about && (!id || strcmp(w->memory.id, id) == 0)) return w;
  }
  return NULL;
}

/* `w` is the one that is replaced, or NULL. */
static int word_put(struct rp__copy *c, struct rp__copy_word *w, const struct rp__op *op, uint64_t about, rp_error *err)
{
  if (!w && !RP__ROOM(c->words, c->n_words, c->cap_words)) return rp__fail_nomem(err);
  if (!w) {
    w = &c->words[c->n_words++];
    *w = (struct rp__copy_word){0};
  }
  free(w->content);
  free(w->categories);
  *w = (struct rp__copy_word){.about = about};
  /* The bytes of a memory outlive the event they come from. */
  w->op = *op;
  if (op->type != RP_OP_MEMORY_PUT && op->type != RP_OP_MEMORY_SET) return 0;
  w->memory = *op->u.memory.row;
  if (op->type == RP_OP_MEMORY_SET) return 0;
  w->content = malloc(w->memory.content_len + 1);
  if (w->memory.categories) w->categories = strdup(w->memory.categories);
  if (!w->content || (w->memory.categories && !w->categories)) return rp__fail_nomem(err);
  memcpy(w->content, w->memory.content, w->memory.content_len);
  w->content[w->memory.content_len] = '\0';
  return 0;
}

/* What a memory was given in this very import is not known to the scope yet. */
static bool word_confidence(struct rp__copy *c, const struct rp__event *ev)
{
  char *id RP_AUTOFREE = rp__json_dup(rp__json_get(ev->body, "memory_id"));
  double score;
  struct rp__copy_word *w = id ? word_find(c, RP_OP_MEMORY_PUT, rp__checksum(id, strlen(id), 0), id) : NULL;
  if (!w || !rp__json_double(rp__json_get(ev->body, "new_score"), &score)) return false;
  w->memory.confidence = score < 0 ? 0 : score > 1 ? 1 : score;
  w->memory.updated_at = ev->at_ms;
  return true;
}

struct derive_ctx {
  struct rp__copy *copy;
  rp_error *err;
};

/* The scope's words on tasks and its memories; what it knows already is not overwritten by something that came later.
 */
static int on_derive(void *ctx, const struct rp__event *ev)
{
  struct derive_ctx *x = ctx;
  struct rp__copy *c = x->copy;
  rp_session *s = c->s;
  struct rp__derived d = {0};
  struct rp__op op;
  double score;
  bool known = false, any = false;
  if (!rp__derives(ev->kind)) return 0;
  if (ev->kind == RP_KIND_CONFIDENCE && word_confidence(c, ev)) return 0;
  int rc = rp__derive_catch_up(s, ev, &d, x->err);
  if (!rc) rc = rp__derive(s, ev, 0, 0, &d, &op, &any, x->err);
  op.derived_from = 0;
  if (rc || !any) {
    rp__derived_done(&d);
    return rc;
  }
  if (op.type == RP_OP_SESSION_SET) { /* its name and meta are the hidden session's own */
    rc = rp__engine_commit(s->e, &op, 1, RP_OS, x->err);
    rp__derived_done(&d);
    return rc;
  }
  bool memory = op.type == RP_OP_MEMORY_PUT || op.type == RP_OP_MEMORY_SET;
  uint64_t about = memory ? rp__checksum(d.memory.id, strlen(d.memory.id), 0) : op.u.task_put.hash;
  if (op.type == RP_OP_TASK_PUT) op.u.task_put.seq = ev->seq;
  struct rp__copy_word *w = word_find(c, op.type, about, memory ? d.memory.id : NULL);
  if (op.type == RP_OP_MEMORY_PUT) {
    rc = rp__memory_score(s->e, s->scope, d.memory.id, &score, &known, x->err);
    known |= w != NULL;
  }
  if (op.type == RP_OP_TASK_PUT && w) known = w->op.u.task_put.at_ms > op.u.task_put.at_ms;
  if (!rc && !known) rc = word_put(c, w, &op, about, x->err);
  rp__derived_done(&d);
  return rc;
}

int rp__copy_derive(struct rp__copy *c, rp_error *err)
{
  struct derive_ctx x = {c, err};
  int rc = write_page(c, err);
  return rc ? rc : rp__journal_read(c->s, 0, 0, on_derive, &x, err);
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
  /* An ended session comes with its record. One that can't be made does not keep the session out. */
  int64_t end = row->ended_at ? row->ended_at : row->last_activity_at;
  rp_error why = {0};
  if (rp__status_ended(row->status) && rp__capture_make(c->s, end, row->crash_recovered, NULL, &record, &why))
    rp__log(&c->e->log, RP_LOG_WARN, "session %s has no record: %s", c->s->id, why.message);
  else
    record.row.start_ms = row->created_at;
  struct rp__op *ops RP_AUTOFREE = calloc(3 + RP_CAPTURE_OPS + c->n_words, sizeof *ops);
  if (!ops) return rp__fail_nomem(err);
  ops[0] = (struct rp__op){.type = RP_OP_SESSION_SET,
                           RP__OP_OF(c->s->e, c->s),
                           .copying = true,
                           .u.session_set = {.fields = RP_SET_TIMES | RP_SET_SHOWN, .row = row}};
  rp__capture_ops(&record, ops + 1);
  size_t n = record.n ? 2 : 1; /* the record, not the audit's word on it */
  if (request)
    ops[n++] = (struct rp__op){
        .type = RP_OP_REQUEST_PUT, .session_id = c->s->id, .now_ms = rp__engine_now(c->s->e), .u.request.row = request};
  if (c->past.starts || c->past.robot)
    ops[n++] = (struct rp__op){.type = RP_OP_SCOPE_RAISE, .u.scope_set = {.scope = c->s->scope, .row = &c->past}};
  /* Rows do not move any more: the ops may point into them. */
  for (size_t i = 0; i < c->n_words; i++) {
    struct rp__copy_word *w = &c->words[i];
    w->memory.content = w->content;
    w->memory.categories = w->categories;
    ops[n + i] = w->op;
    if (ops[n + i].type == RP_OP_MEMORY_PUT || ops[n + i].type == RP_OP_MEMORY_SET)
      ops[n + i].u.memory.row = &w->memory;
  }
  rc = rp__engine_commit(c->s->e, ops, n + c->n_words, RP_DISK, err);
  if (rc) return rc;
  c->s->copying = false;
  rp__capture_mirror(c->s, &record);
  rp_session_free(RP_TAKE(c->s));
  return 0;
}

void rp__copy_free(struct rp__copy *c)
{
  if (!c) return;
  if (c->s) {
    /* What stays is hidden until a sweep or the next import removes it. What was shown after all, by a commit whose
     * outcome nobody was told, is somebody's by now. */
    remove_leftover(c->e, c->s->id, NULL);
    atomic_store(&c->s->ended, true);
    rp_session_free(c->s);
  }
  if (c->slot) rp__slot_drop(c->e, c->slot);
  for (size_t i = 0; i < c->n_words; i++) {
    free(c->words[i].content);
    free(c->words[i].categories);
  }
  free(c->words);
  rp__buf_done(&c->bytes);
  free(c);
}
