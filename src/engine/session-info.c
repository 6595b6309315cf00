/* SPDX-License-Identifier: Apache-2.0 */
/* What the public functions show and list of a session's row, and the JSON document of it. */
#include <limits.h>

#include "base/options.h"
#include "engine/session-digest.h"
#include "engine/start/recover.h"

#define DOCUMENT_ROOM 1024 /* bytes of a usual session's document */
#define BEAT_GOOD_MS 1000  /* how long a document says that a run lives by its heartbeats */

static const char *or_null(const char *s)
{
  return s[0] ? s : NULL;
}

static int on_newest(void *ctx, const struct rp__run_row *run)
{
  *(struct rp__run_row *)ctx = *run;
  return 0;
}

int rp__session_look(rp_engine *e, struct rp__session_row *row, struct rp__session_facts *ret, rp_error *err)
{
  struct rp__run_filter f = {.session_ref = row->ref, .limit = 1};
  struct rp__run_row run = {0};
  struct rp__evidence evidence;
  struct rp__verdict verdict = {0};
  *ret = (struct rp__session_facts){0};
  if (rp__status_ended(row->status)) return 0;
  int rc = e->store->ops->run_list(e->store, &f, on_newest, &run, err);
  if (rc || !run.ref) return rc; /* a copy that nobody has started yet is as it was copied */
  if (!run.ended_at) rp__run_judge(e, &run, row->last_activity_at, &evidence, &verdict);
  ret->dead = !run.ended_at && !verdict.alive;
  ret->by_beat = verdict.alive && run.owner == RP_RUN_NONE;
  ret->by_proc = verdict.alive && run.owner != RP_RUN_NONE;
  if (!verdict.alive) row->status = RP_STATUS_IDLE;
  return 0;
}

/* The public enum has a zero for "any"; rows have none. */
static rp_session_status status_of(const struct rp__session_row *r)
{
  static_assert(RP_SESSION_CREATED == RP_STATUS_CREATED + 1 && RP_SESSION_ABANDONED == RP_STATUS_ABANDONED + 1, "");
  return (rp_session_status)(r->status + 1);
}

const char *rp_session_status_name(rp_session_status status)
{
  return status > RP_SESSION_ANY && status <= RP_SESSION_ABANDONED ? rp__status_name((enum rp__status)(status - 1))
                                                                   : NULL;
}

rp_session_status rp_session_status_parse(const char *name)
{
  enum rp__status status = name ? rp__status_parse(name, strlen(name)) : RP_STATUS_MAX;
  return status == RP_STATUS_MAX ? RP_SESSION_ANY : (rp_session_status)(status + 1);
}

static rp_session_info info_of(const struct rp__session_row *r, const struct rp__session_facts *look)
{
  return (rp_session_info){
      .id = r->id,
      .scope = r->scope,
      .key = or_null(r->key),
      .channel = or_null(r->channel),
      .status = status_of(r),
      .provider = or_null(r->provider),
      .name = or_null(r->name),
      .previous_id = or_null(r->previous_id),
      .continued_by = or_null(r->continued_by),
      .forked_from = or_null(r->forked_from),
      .meta = r->meta,
      .created_at = r->created_at,
      .last_activity_at = r->last_activity_at,
      .ended_at = r->ended_at,
      .trashed_at = r->trashed_at,
      .held_at = r->held_at,
      .seq = r->last_seq,
      .epoch = r->epoch,
      .number = r->ref,
      .bytes = r->bytes,
      .forked_at_seq = r->forked_at_seq,
      .crash_recovered = r->crash_recovered,
      .run_dead = look && look->dead,
      .sealed = r->sealed,
  };
}

/* Opens the object, which the caller closes. */
static void info_write(const rp_session_info *i, struct rp__jw *w)
{
  rp__jw_pack(
      w,
      "{session_id:s scope:s key:s channel:s status:s created_at:t last_activity_at:t ended_at:t previous_session_id:s",
      i->id, i->scope, i->key, i->channel, rp_session_status_name(i->status), i->created_at, i->last_activity_at,
      i->ended_at, i->previous_id);
  rp__jw_pack(w, "continued_by:s crash_recovered:b", i->continued_by, i->crash_recovered);
  if (i->run_dead) rp__jw_kbool(w, "run_dead", true);
  rp__jw_pack(w, "schema_version:i seq:i epoch:i bytes:i", INT64_C(1), i->seq, i->epoch, i->bytes);
  if (i->provider) rp__jw_kstr(w, "provider", i->provider);
  if (i->name) rp__jw_kstr(w, "name", i->name);
  if (i->sealed) rp__jw_kbool(w, "sealed", true);
  if (i->trashed_at) rp__jw_ktime(w, "trashed_at", i->trashed_at);
  if (i->held_at) rp__jw_ktime(w, "held_at", i->held_at);
  if (i->forked_from) rp__jw_pack(w, "forked_from:s forked_at_seq:i", i->forked_from, i->forked_at_seq);
  if (i->meta) {
    rp__jw_pack(w, "meta:r", i->meta);
  }
}

void rp__session_write(const struct rp__session_row *row, const struct rp__session_facts *look,
                       const struct rp__digest *digest, struct rp__jw *w)
{
  rp_session_info i = info_of(row, look);
  info_write(&i, w);
  rp__session_digest_write(digest, w);
  rp__jw_end_object(w);
}

/* The document and its length. */
static int document(const rp_session_info *info, char **ret, size_t *ret_n, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_BODY_MAX + 65536);
  struct rp__jw w = RP_JW(&out);
  rp__buf_room(&out, DOCUMENT_ROOM); /* most fit: one allocation */
  info_write(info, &w);
  rp__jw_end_object(&w);
  size_t n = out.n;
  char *doc = rp__buf_take(&out);
  if (!doc) return rp__fail_nomem(err);
  *ret = doc;
  *ret_n = n;
  return 0;
}

int rp_session_json(const rp_session_info *info, char **ret, rp_error *err)
{
  size_t n;
  return document(info, ret, &n, err);
}

static int read_document(rp_engine *e, const char *ref, const int64_t *version, char **ret, size_t *ret_n,
                         rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__session_facts look;
  int rc = rp__session_lookup(e, ref, &row, err);
  if (!rc) rc = rp__session_look(e, &row, &look, err);
  if (rc) return rc;
  rp__meta_open(e, &row);
  rp_session_info info = info_of(&row, &look);
  rc = document(&info, ret, ret_n, err);
  /* What was sealed is kept nowhere in the open, and a process that ends tells the store nothing. */
  int64_t good = look.by_beat ? rp__engine_ticks(e) + BEAT_GOOD_MS : INT64_MAX;
  if (!rc && version && !row.sealed && !look.by_proc && strcmp(row.id, ref) == 0)
    rp__document_put(&e->documents, ref, *version, good, *ret, *ret_n);
  return rc;
}

int rp_session_get_json(rp_engine *e, const char *ref, char **ret, size_t *ret_len, rp_error *err)
{
  int64_t version;
  size_t n = 0;
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  /* The number is taken first: what is stored from here on makes it another. */
  bool known = ref && e->store->ops->version(e->store, &version, NULL) == 0;
  char *doc = known ? rp__document_get(&e->documents, ref, version, rp__engine_ticks(e), &n) : NULL;
  if (!doc) rc = read_document(e, ref ? ref : "", known ? &version : NULL, &doc, &n, err);
  if (rc) return rc;
  *ret = doc;
  if (ret_len) *ret_len = n;
  return 0;
}

#define LIST_FULL 1 /* what was asked for is told */

struct list_ctx {
  rp_engine *e;
  rp_session_fn *fn;
  void *ctx;
  rp_error *err;
  rp_session_status status; /* only sessions that have it now; RP_SESSION_ANY: all */
  int left;                 /* sessions to be listed */
  int stopped;              /* the callback's value */
};

static int on_row(void *ctx, const struct rp__session_row *row)
{
  struct list_ctx *x = ctx;
  struct rp__session_row open = *row;
  struct rp__session_facts look;
  int rc = rp__session_look(x->e, &open, &look, x->err);
  if (rc || (x->status && status_of(&open) != x->status)) return rc;
  if (row->meta && row->sealed && !(open.meta = strdup(row->meta))) return RP_E_NOMEM;
  rp__meta_open(x->e, &open);
  rp_session_info i = info_of(&open, &look);
  x->stopped = x->fn(x->ctx, &i);
  if (open.meta != row->meta) free(open.meta);
  return x->stopped || --x->left == 0 ? LIST_FULL : 0;
}

int rp_list(rp_engine *e, const rp_filter *given, rp_session_fn *fn, void *ctx, rp_error *err)
{
  rp_filter f;
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(&f, given, by_activity, err);
  if (rc) return rc;
  if (f.status && !rp_session_status_name(f.status))
    return rp__fail_field(err, RP_E_USAGE, "status", "%d is no status", (int)f.status);
  struct rp__session_filter rows = {.scope = f.scope,
                                    .status = rp_session_status_name(f.status),
                                    .since_ms = f.since_ms,
                                    .limit = f.limit <= 0 ? 50 : f.limit,
                                    .cursor = f.cursor,
                                    .trashed = f.trashed,
                                    .by_activity = f.by_activity};
  struct list_ctx x = {.e = e, .fn = fn, .ctx = ctx, .err = err, .status = f.status, .left = rows.limit};
  /* A session whose run died is listed as idle, whichever open status its row has. */
  if (f.status && f.status < RP_SESSION_CLOSED) rows.limit = INT_MAX;
  if (f.status == RP_SESSION_IDLE) rows.status = "created|active|idle|checkpointed";
  rc = e->store->ops->session_list(e->store, &rows, on_row, &x, err);
  return rc == LIST_FULL ? x.stopped : rc;
}

/* One row; what the callback says is returned. */
static int tell_row(rp_engine *e, const struct rp__session_row *row, rp_session_fn *fn, void *ctx, rp_error *err)
{
  struct list_ctx x = {.e = e, .fn = fn, .ctx = ctx, .err = err, .left = 1};
  int rc = on_row(&x, row);
  return rc == LIST_FULL ? x.stopped : rc;
}

int rp_show(rp_engine *e, const char *ref, rp_session_fn *fn, void *ctx, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__session_lookup(e, ref ? ref : "", &row, err);
  return rc ? rc : tell_row(e, &row, fn, ctx, err);
}

int rp_show_number(rp_engine *e, int64_t session_number, rp_session_fn *fn, void *ctx, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)session_number);
  int rc = rp__engine_check(e, err);
  if (!rc) rc = e->store->ops->session_find(e->store, RP_FIND_NUMBER, NULL, text, &row, err);
  if (!rc && row.hidden) rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is not whole yet", row.id);
  return rc ? rc : tell_row(e, &row, fn, ctx, err);
}
