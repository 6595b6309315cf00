/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs hang on their sessions, in the order of their ids. */
#include "store/memory/memory.h"

/* Where the blob with that id is, or would be. */
static size_t blob_place(const struct rp__mem_session *s, const char *id, bool *ret_there)
{
  size_t i = 0;
  while (i < s->blobs.n && strcmp(s->blobs.p[i].row.id, id) < 0) i++;
  *ret_there = i < s->blobs.n && strcmp(s->blobs.p[i].row.id, id) == 0;
  return i;
}

static const struct rp__blob_row *blob_same(const struct rp__mem_session *s, const struct rp__blob_row *row)
{
  for (size_t i = 0; i < s->blobs.n; i++) {
    const struct rp__blob_row *r = &s->blobs.p[i].row;
    if (r->raw_size == row->raw_size && memcmp(r->hash, row->hash, sizeof r->hash) == 0) return r;
  }
  return NULL;
}

static int blob_copy(const struct rp__blob_row *row, struct rp__mem_blob *ret)
{
  char *data = malloc((size_t)row->size + 1);
  if (!data) return RP_E_NOMEM;
  if (row->size) memcpy(data, row->data, (size_t)row->size);
  *ret = (struct rp__mem_blob){.row = *row, .data = data};
  ret->row.data = NULL;
  return 0;
}

/* Makes room for one more at its place, or, where it is there, keeps what it was for the undo. */
static int blob_insert(struct rp__mem_session *s, const struct rp__blob_row *row, bool there, size_t at,
                       struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_blob b;
  if ((!there && !RP_MEM_ROOM(s->blobs, 1)) || blob_copy(row, &b) != 0) return rp__fail_nomem(err);
  u->blob_did = there ? RP_MEM_BLOB_REPLACED : RP_MEM_BLOB_ADDED;
  u->blob_at = at;
  if (there)
    u->blob = s->blobs.p[at];
  else
    memmove(&s->blobs.p[at + 1], &s->blobs.p[at], (s->blobs.n++ - at) * sizeof b);
  s->blobs.p[at] = b;
  return 0;
}

int rp__mem_blob_put(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  const struct rp__blob_row *row = op->u.blob.row, *same = NULL;
  struct rp__mem_session *s;
  bool there;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc == 0) rc = rp__rule_blob(op, &s->row, err);
  if (rc != 0) return rc;
  same = blob_same(s, row);
  op->ret.repeated = same != NULL;
  if (!same) {
    size_t at = blob_place(s, row->id, &there);
    rc = there ? rp__refuse_blob_id(row->id, err) : blob_insert(s, row, false, at, u, err);
  }
  if (rc == 0 && op->u.blob.ret_id) memcpy(op->u.blob.ret_id, same ? same->id : row->id, sizeof row->id);
  return rc;
}

int rp__mem_blob_set(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  bool there;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  size_t at = blob_place(s, op->u.blob.row->id, &there);
  return blob_insert(s, op->u.blob.row, there, at, u, err);
}

int rp__mem_blob_delete(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err)
{
  struct rp__mem_session *s;
  bool there;
  int rc = rp__mem_touch(m, op, u, &s, err);
  if (rc != 0) return rc;
  u->blob_at = blob_place(s, op->u.blob.row->id, &there);
  if (!there) return rp__refuse_blob(op->u.blob.row->id, err);
  struct rp__mem_blob *at = &s->blobs.p[u->blob_at];
  u->blob_did = RP_MEM_BLOB_TAKEN;
  u->blob = *at;
  memmove(at, at + 1, (--s->blobs.n - u->blob_at) * sizeof *at);
  return 0;
}

void rp__mem_blob_undo(struct rp__mem_session *s, struct rp__mem_undo *u)
{
  struct rp__mem_blob *at = s->blobs.p + u->blob_at;
  switch (u->blob_did) {
  case RP_MEM_BLOB_SAME: return;
  case RP_MEM_BLOB_ADDED:
    free(at->data);
    memmove(at, at + 1, (--s->blobs.n - u->blob_at) * sizeof *at);
    return;
  case RP_MEM_BLOB_REPLACED: free(at->data); break;
  case RP_MEM_BLOB_TAKEN: memmove(at + 1, at, (s->blobs.n++ - u->blob_at) * sizeof *at); break;
  }
  *at = u->blob;
}

/* The first blob behind `after`, or, with exact, that one and its data. 1, 0 or an error. */
static int blob_next(struct rp__mem_store *m, int64_t ref, const char *after, bool exact, struct rp__blob_row *ret,
                     struct rp__buf *data, rp_error *err)
{
  bool there = false;
  int rc = 0;
  pthread_mutex_lock(&m->mu);
  const struct rp__mem_session *s = rp__mem_by_ref(m, ref);
  size_t i = s ? blob_place(s, after, &there) : 0;
  if (there && !exact) i++;
  if (s && (exact ? there : i < s->blobs.n)) {
    *ret = s->blobs.p[i].row;
    if (exact) rp__buf_add(data, s->blobs.p[i].data, (size_t)ret->size);
    rc = data->err ? rp__fail_nomem(err) : 1;
  }
  pthread_mutex_unlock(&m->mu);
  return rc;
}

int rp__mem_blob_list(struct rp__store *base, int64_t session_ref, const char *id, rp__blob_fn *fn, void *ctx,
                      rp_error *err)
{
  RP_AUTOBUF struct rp__buf data = RP_BUF(1UL << 30);
  struct rp__blob_row row = {0};
  int rc;
  if (id) {
    rc = blob_next(rp__mem(base), session_ref, id, true, &row, &data, err);
    if (rc == 0) return rp__refuse_blob(id, err);
    row.data = data.p ? data.p : "";
    return rc < 0 ? rc : fn(ctx, &row);
  }
  while ((rc = blob_next(rp__mem(base), session_ref, row.id, false, &row, &data, err)) > 0) {
    rc = fn(ctx, &row);
    if (rc != 0) return rc;
  }
  return rc;
}
