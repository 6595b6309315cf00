/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the `reprise` format (export.c) as a stream. Nothing is shown before the last line and its hash were checked.
 */
#include <sodium.h>

#include "engine/transfer/copy.h"
#include "engine/journal/stream-redaction.h"
#include "engine/transfer/transfer.h"

#define CHUNK 65536

struct source {
  rp_engine *e;
  rp_read_fn *read;
  void *ctx;
  rp_progress_fn *progress;
  void *pctx;
  rp_error *err;

  struct rp__buf in; /* bytes not yet taken as lines */
  size_t at, max_line;
  int64_t line, bytes;
  bool eof;
  crypto_generichash_state hash;

  struct rp__session_row row;
  bool header, end;
  int64_t runs, blobs;
  struct rp__blob_new blob; /* whose parts are coming; no id: none */
  int64_t blob_bytes, blob_part;
  struct rp__buf blob_data;
  struct rp__copy *copy;
};

static int malformed(struct source *x, const char *what)
{
  return rp__fail(x->err, RP_E_FORMAT, "line %lld: %s", (long long)x->line, what);
}

/* The next line without its newline; *ret.p is NULL at the end. */
static int next_line(struct source *x, struct rp__str *ret)
{
  for (;;) {
    char *start = x->in.n > x->at ? x->in.p + x->at : NULL;
    char *nl = start ? memchr(start, '\n', x->in.n - x->at) : NULL;
    if (nl) {
      *ret = (struct rp__str){start, (size_t)(nl - start)};
      x->at += ret->n + 1;
      x->line++;
      return 0;
    }
    if (x->eof && x->in.n > x->at)
      return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "line %lld is cut off", (long long)x->line + 1);
    if (x->eof) {
      *ret = (struct rp__str){0};
      return 0;
    }
    if (x->at) { /* make room by dropping what was taken */
      memmove(x->in.p, x->in.p + x->at, x->in.n - x->at);
      x->in.n -= x->at;
      x->at = 0;
    }
    if (x->in.n >= x->max_line)
      return rp__fail(x->err, RP_E_TOO_LARGE, "line %lld is longer than %zu bytes", (long long)x->line + 1,
                      x->max_line);
    char *room = rp__buf_room(&x->in, CHUNK);
    if (!room) return rp__fail_nomem(x->err);
    long got = x->read(x->ctx, room, CHUNK);
    if (got < 0) return rp__fail(x->err, RP_E_IO, "the import can't be read");
    x->in.n += (size_t)got;
    x->bytes += got;
    x->eof = got == 0;
    if (x->progress && x->progress(x->pctx, x->bytes, 0))
      return rp__fail(x->err, RP_E_CANCELLED, "the import was interrupted");
  }
}

/* ---- reading fields ---- */

static bool get_name(struct rp__json o, const char *field, bool required, char *out)
{
  struct rp__json v = rp__json_get(o, field);
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_ID_MAX);
  if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) return !required;
  if (rp__json_text(v, &text) || text.err || !text.n || memchr(text.p, 0, text.n) || !rp__name_ok(text.p)) return false;
  memcpy(out, text.p, text.n + 1);
  return true;
}

static bool get_time(struct rp__json o, const char *field, int64_t *out)
{
  struct rp__json v = rp__json_get(o, field);
  return v.type == RP_JSON_NONE || rp__json_i64(v, out);
}

/* Free text, cut to fit. */
static void get_text(struct rp__json o, const char *field, char *out, size_t cap)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(4096);
  if (rp__json_text(rp__json_get(o, field), &text) || text.err || !text.n) return;
  snprintf(out, cap, "%s", text.p);
}

/* The members of a line as they may be stored; what is a name and a credential is no name any more, and refused. */
static int mask_line(struct source *x, const char *scope, struct rp__json *v, struct rp__buf *out)
{
  struct rp__str masked;
  int rc = rp__engine_mask(x->e, scope, RP_KIND_SESSION, *v, out, &masked);
  if (rc) return rp__fail(x->err, rc, "line %lld can't be masked", (long long)x->line);
  *v = rp__json_trusted(masked.p, masked.n);
  return 0;
}

static int read_header(struct source *x, struct rp__json doc)
{
  struct rp__buf masked RP_AUTOBUF = RP_BUF(4 * x->max_line);
  int64_t version;
  struct rp__json s = rp__json_get(doc, "session"), status = rp__json_get(s, "status");
  struct rp__json meta = rp__json_get(s, "meta");
  struct rp__session_row *r = &x->row;
  if (!rp__json_i64(rp__json_get(doc, "reprise"), &version)) return malformed(x, "this is no reprise export");
  if (version > RP_TRANSFER_VERSION)
    return rp__fail(x->err, RP_E_FORMAT_VERSION, "the export has version %lld, this program reads up to %d",
                    (long long)version, RP_TRANSFER_VERSION);
  if (s.type != RP_JSON_OBJECT || version < 1) return malformed(x, "this is no reprise export");
  if (!get_name(s, "session_id", true, r->id)) return malformed(x, "session_id is missing or not allowed");
  if (!get_name(s, "scope", true, r->scope)) return malformed(x, "scope is missing or not allowed");
  int rc = mask_line(x, r->scope, &s, &masked);
  if (rc) return rc;
  meta = rp__json_get(s, "meta");
  if (!get_name(s, "session_id", true, r->id) || !get_name(s, "scope", true, r->scope))
    return malformed(x, "session_id or scope is a credential");
  bool ok = get_name(s, "key", false, r->key) && get_name(s, "channel", false, r->channel) &&
            get_name(s, "provider", false, r->provider) && get_name(s, "previous_session_id", false, r->previous_id) &&
            get_name(s, "continued_by", false, r->continued_by) && get_name(s, "forked_from", false, r->forked_from);
  ok = ok && get_time(s, "created_at", &r->created_at) && get_time(s, "last_activity_at", &r->last_activity_at) &&
       get_time(s, "ended_at", &r->ended_at) && get_time(s, "forked_at_seq", &r->forked_at_seq);
  if (!ok) return malformed(x, "a field of the session is not allowed");
  r->status = status.type == RP_JSON_STRING ? rp__status_parse(status.p + 1, status.n - 2) : RP_STATUS_MAX;
  if (r->status == RP_STATUS_MAX) return malformed(x, "status is missing or unknown");
  r->crash_recovered = rp__json_get(s, "crash_recovered").type == RP_JSON_TRUE;
  if (meta.type == RP_JSON_OBJECT && !(r->meta = strndup(meta.p, meta.n))) return rp__fail_nomem(x->err);
  x->header = true;
  return rp__copy_begin(x->e, r, &x->copy, x->err);
}

static int read_run(struct source *x, struct rp__json v)
{
  struct rp__buf masked RP_AUTOBUF = RP_BUF(4 * x->max_line);
  struct rp__run_row run = {0};
  char owner[16] = "", cause[16] = "", restart[24] = "", previous[16] = "";
  int64_t epoch = 0;
  int rc = mask_line(x, x->row.scope, &v, &masked);
  if (rc) return rc;
  bool ok = rp__json_i64(rp__json_get(v, "epoch"), &epoch) && get_time(v, "started_at", &run.started_at) &&
            get_time(v, "heartbeat_at", &run.heartbeat_at) && get_time(v, "ended_at", &run.ended_at) &&
            get_time(v, "pid", &run.proc.pid);
  /* How the run began, which older exports don't say. */
  struct rp__json elapsed = rp__json_get(v, "elapsed");
  get_text(v, "restart", restart, sizeof restart);
  get_text(v, "previous_cause", previous, sizeof previous);
  run.restart = rp__restart_parse(restart);
  run.previous_cause = rp__cause_parse(previous);
  ok = ok && (elapsed.type == RP_JSON_NONE || (rp__json_double(elapsed, &run.elapsed) && run.elapsed >= 0)) &&
       get_time(v, "start_number", &run.start_number) && run.start_number >= 0;
  get_text(v, "owner", owner, sizeof owner);
  get_text(v, "cause", cause, sizeof cause);
  get_text(v, "boot_id", run.proc.boot_id, sizeof run.proc.boot_id);
  get_text(v, "host", run.host, sizeof run.host);
  get_text(v, "version", run.version, sizeof run.version);
  get_text(v, "evidence", run.evidence, sizeof run.evidence);
  get_text(v, "reason", run.reason, sizeof run.reason);
  run.owner = rp__owner_parse(owner);
  if (!ok || epoch != x->runs + 1 || run.owner == RP_RUN_OWNER_MAX) return malformed(x, "the run is not as expected");
  enum rp__cause why = rp__cause_parse(cause);
  struct rp__op base = {
      .session_ref = x->copy->s->ref, .session_id = x->row.id, .now_ms = run.started_at, .copying = true};
  struct rp__op ops[2] = {base, base};
  ops[0].type = RP_OP_LEASE;
  ops[0].u.lease.expect_epoch = epoch - 1;
  ops[0].u.lease.run = &run;
  ops[0].u.lease.move = RP_MOVE_MAX;
  ops[1].type = RP_OP_RUN_END; /* a run that was open where it came from is over here */
  ops[1].u.run_end.ended_at = run.ended_at ? run.ended_at : run.heartbeat_at;
  ops[1].u.run_end.cause = why ? why : RP_CAUSE_CLEAN;
  ops[1].u.run_end.evidence = run.ended_at ? run.evidence : "it was open when the session was exported";
  ops[1].u.run_end.reason = run.reason;
  x->runs = epoch;
  return rp__engine_commit(x->e, ops, 2, RP_OS, x->err);
}

static int read_event(struct source *x, struct rp__json doc)
{
  int64_t seq = 0, at = 0;
  char kind[RP_NAME] = "";
  struct rp__buf text RP_AUTOBUF = RP_BUF(x->max_line);
  struct rp__json body = rp__json_get(doc, "body"), quoted = rp__json_get(doc, "body_text");
  struct rp__json_limits limits = {.max_bytes = x->copy->s->config->body_bytes};
  if (!rp__json_i64(rp__json_get(doc, "seq"), &seq)) return malformed(x, "seq is missing");
  if (!rp__json_i64(rp__json_get(doc, "at"), &at)) return malformed(x, "at is missing");
  if (!get_name(doc, "kind", true, kind)) return malformed(x, "kind is missing or not allowed");
  int rc = 0;
  if (quoted.type == RP_JSON_STRING) { /* it spanned lines */
    rc = rp__json_text(quoted, &text);
    if (!rc && text.err) return rp__fail_nomem(x->err);
    if (rc || rp__json_parse(text.p, text.n, &limits, &body, NULL)) return malformed(x, "body_text is no JSON object");
  }
  if (body.type != RP_JSON_OBJECT) return malformed(x, "body must be an object");
  if (body.n > x->copy->s->config->body_bytes)
    return rp__fail_field(x->err, RP_E_TOO_LARGE, "body", "line %lld: the body has %zu bytes, the limit is %zu",
                          (long long)x->line, body.n, x->copy->s->config->body_bytes);
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * x->max_line + 65536);
  struct rp__str stored;
  rc = rp__engine_mask(x->e, x->copy->s->scope, rp__kind_parse(kind), body, &masked, &stored);
  if (rc) return rp__fail(x->err, rc, "line %lld can't be masked", (long long)x->line);
  return rp__copy_event(x->copy, seq, at, kind, stored.p, stored.n, x->err);
}

/* ---- blobs ---- */

static int blob_malformed(struct source *x)
{
  return malformed(x, "the blob is not as expected");
}

static int read_blob(struct source *x, struct rp__json v)
{
  char id[RP_NAME] = "";
  int64_t at = 0, bytes = -1, part = 0;
  bool ok = get_name(v, "id", true, id) && rp__blob_id_ok(id) && rp__json_i64(rp__json_get(v, "at"), &at) &&
            rp__json_i64(rp__json_get(v, "bytes"), &bytes) && rp__json_i64(rp__json_get(v, "part"), &part);
  if (!ok || bytes < 0 || part != x->blob_part + 1) return blob_malformed(x);
  if (bytes > (int64_t)RP_BLOB_MAX)
    return rp__fail_field(x->err, RP_E_TOO_LARGE, "blob", "line %lld: the blob has %lld bytes, the limit is %zu",
                          (long long)x->line, (long long)bytes, RP_BLOB_MAX);
  /* What a part says of its blob must be what the first part said. */
  if (part > 1 && (strcmp(id, x->blob.id) != 0 || bytes != x->blob_bytes)) return blob_malformed(x);
  snprintf(x->blob.id, sizeof x->blob.id, "%s", id);
  x->blob.at_ms = at;
  x->blob_bytes = bytes;
  x->blob_part = part;
  struct rp__json data = rp__json_get(v, "data");
  size_t n = 0, room = data.n / 4 * 3 + 3;
  if (data.type != RP_JSON_STRING) return blob_malformed(x);
  if (x->blob_part == 1) x->blob_data = RP_BUF(RP_BLOB_MAX + x->max_line);
  char *to = rp__buf_room(&x->blob_data, room);
  if (!to) return rp__fail_nomem(x->err);
  if (sodium_base642bin((unsigned char *)to, room, data.p + 1, data.n - 2, NULL, &n, NULL,
                        sodium_base64_VARIANT_ORIGINAL) != 0)
    return malformed(x, "the blob's data is no base64");
  x->blob_data.n += n;
  if ((int64_t)x->blob_data.n > x->blob_bytes) return malformed(x, "the blob is longer than it says");
  if ((int64_t)x->blob_data.n < x->blob_bytes) return 0;
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * RP_BLOB_MAX);
  struct rp__str stored;
  int rc = rp__engine_mask_bytes(x->e, x->copy->s->scope, x->blob_data.p, x->blob_data.n, &masked, &stored);
  if (rc) return rp__fail(x->err, rc, "line %lld: the blob can't be masked", (long long)x->line);
  x->blob.bytes = stored.p;
  x->blob.n = stored.n;
  rc = rp__copy_blob(x->copy, &x->blob, x->err);
  x->blob = (struct rp__blob_new){0};
  x->blob_part = 0;
  x->blobs++;
  rp__buf_done(&x->blob_data);
  return rc;
}

static int read_end(struct source *x, struct rp__json v)
{
  unsigned char hash[32];
  char hex[65];
  int64_t events = -1, blobs = 0;
  crypto_generichash_final(&x->hash, hash, sizeof hash);
  sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
  rp__json_i64(rp__json_get(v, "events"), &events);
  if (events != x->copy->written + (int64_t)x->copy->n)
    return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "the export says it has %lld events, it has %lld", (long long)events,
                    (long long)(x->copy->written + (int64_t)x->copy->n));
  rp__json_i64(rp__json_get(v, "blobs"), &blobs);
  if (blobs != x->blobs)
    return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "the export says it has %lld blobs, it has %lld", (long long)blobs,
                    (long long)x->blobs);
  if (!rp__json_eq(rp__json_get(v, "hash"), hex))
    return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "the export's hash does not fit: it was changed or damaged");
  x->end = true;
  return 0;
}

static int read_line(struct source *x, struct rp__str line)
{
  struct rp__json doc, v;
  struct rp__json_limits limits = {.max_depth = RP_DEPTH_MAX + 2};
  if (x->end) return malformed(x, "something follows the end");
  int rc = rp__json_parse(line.p, line.n, &limits, &doc, x->err);
  if (rc == RP_E_NOMEM) return rc;
  if (rc && !x->header) return malformed(x, "this is no reprise export");
  if (rc) return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "line %lld is no JSON", (long long)x->line);
  bool blob = x->header && (v = rp__json_get(doc, "blob")).type == RP_JSON_OBJECT;
  if (x->blob.id[0] && !blob) return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "blob %s is cut off", x->blob.id);
  if (!x->header)
    rc = read_header(x, doc);
  else if (blob)
    rc = read_blob(x, v);
  else if ((v = rp__json_get(doc, "end")).type == RP_JSON_OBJECT)
    return read_end(x, v);
  else if ((v = rp__json_get(doc, "run")).type == RP_JSON_OBJECT)
    rc = read_run(x, v);
  else
    rc = read_event(x, doc);
  crypto_generichash_update(&x->hash, (const unsigned char *)line.p, line.n);
  crypto_generichash_update(&x->hash, (const unsigned char *)"\n", 1);
  return rc;
}

static int read_all(struct source *x)
{
  struct rp__str line;
  int rc;
  while (!(rc = next_line(x, &line)) && line.p)
    if ((rc = read_line(x, line))) return rc;
  if (rc) return rc;
  if (!x->header) return rp__fail(x->err, RP_E_FORMAT, "this is no reprise export: it is empty");
  if (!x->end) return rp__fail(x->err, RP_E_FORMAT_CORRUPT, "the export is cut off: its last line is missing");
  rc = rp__copy_derive(x->copy, x->err);
  return rc ? rc : rp__copy_finish(x->copy, &x->row, NULL, x->err);
}

int rp_import(rp_engine *e, rp_read_fn *read, void *ctx, rp_progress_fn *progress, void *pctx, char *ret_id,
              rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  rp_error own;
  size_t body = rp__config_of(e->config, NULL)->body_bytes;
  struct source x = {.e = e,
                     .read = read,
                     .ctx = ctx,
                     .progress = progress,
                     .pctx = pctx,
                     .err = err ? err : &own,
                     .max_line = body + RP_BODY_MAX,
                     .in = RP_BUF(body + RP_BODY_MAX + 2 * CHUNK)};
  crypto_generichash_init(&x.hash, NULL, 0, 32);
  rc = read_all(&x);
  rp__copy_free(x.copy);
  rp__buf_done(&x.in);
  rp__buf_done(&x.blob_data);
  if (!rc && ret_id) memcpy(ret_id, x.row.id, sizeof x.row.id);
  rp__session_row_done(&x.row);
  return rc;
}
