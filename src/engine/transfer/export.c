/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `reprise` format: JSON lines, written and read as a stream.
 *
 *   {"reprise":1,"session":{…}}            first; 2 when there are blobs
 *   {"run":{…}}                            one per run, in order of epoch
 *   {"blob":{"id":…,"at":…,"bytes":N,"part":1,"data":…}}
 *                                          base64, in parts; a blob's parts follow each other and make N bytes
 *   {"seq":1,"at":…,"kind":…,"body":…}     one per event, bodies as the bytes that came; a body that
 *                                          spans lines is written as a string, "body_text"
 *   {"end":{"events":N,"hash":"…"}}        last: BLAKE2b over all lines before it
 *
 * Times are milliseconds, exact. Snapshots are derived data and not part of the format.
 */
#include <sodium.h>

#include "engine/journal/blob.h"
#include "engine/journal/open-streams.h"
#include "engine/transfer/transfer.h"

#define FLUSH_AT 65536

struct sink {
  rp_session *s;
  rp_write_fn *write;
  void *ctx;
  rp_progress_fn *progress;
  void *pctx;
  struct rp__buf out;
  crypto_generichash_state hash;
  int64_t events, total;
  struct rp__blob_ids blobs;
  rp_error *err;
};

static int sink_flush(struct sink *k, bool hashed)
{
  if (k->out.err) return rp__fail_nomem(k->err);
  if (hashed) crypto_generichash_update(&k->hash, (unsigned char *)k->out.p, k->out.n);
  if (k->out.n && k->write(k->ctx, k->out.p, k->out.n)) return rp__fail(k->err, RP_E_IO, "the export can't be written");
  rp__buf_reset(&k->out);
  return 0;
}

static void write_header(struct sink *k, const struct rp__session_row *r)
{
  struct rp__jw w = RP_JW(&k->out);
  rp__jw_pack(
      &w,
      "{reprise:i session:{session_id:s scope:s key:?s channel:?s provider:?s status:s created_at:i last_activity_at:i",
      (int64_t)(k->blobs.n ? RP_TRANSFER_VERSION : 1), r->id, r->scope, r->key, r->channel, r->provider,
      rp__status_name(r->status), r->created_at, r->last_activity_at);
  rp__jw_pack(&w, "ended_at:i previous_session_id:?s continued_by:?s forked_from:?s forked_at_seq:i crash_recovered:b",
              r->ended_at, r->previous_id, r->continued_by, r->forked_from, r->forked_at_seq, r->crash_recovered);
  rp__jw_pack(&w, "meta:?r}}", r->meta);
  rp__buf_char(&k->out, '\n');
}

static void write_run(struct sink *k, const struct rp__run_row *r)
{
  struct rp__jw w = RP_JW(&k->out);
  rp__jw_pack(&w, "{run:{epoch:i owner:s pid:i boot_id:s host:s version:s started_at:i heartbeat_at:i ended_at:i",
              r->epoch, rp__owner_name(r->owner), r->proc.pid, r->proc.boot_id, r->host, r->version, r->started_at,
              r->heartbeat_at, r->ended_at);
  rp__jw_pack(&w, "cause:s evidence:?s reason:?s", rp__cause_name(r->cause), r->evidence, r->reason);
  if (r->restart != RP_RESTART_NONE)
    rp__jw_pack(&w, "restart:s previous_cause:s elapsed:d", rp__restart_name(r->restart),
                rp__cause_name(r->previous_cause), r->elapsed);
  rp__jw_pack(&w, "start_number:?i}}", r->start_number);
  rp__buf_char(&k->out, '\n');
}

struct run_rows {
  struct rp__run_row *rows;
  size_t n, cap;
};

static int on_run(void *ctx, const struct rp__run_row *row)
{
  struct run_rows *v = ctx;
  if (!RP__ROOM(v->rows, v->n, v->cap)) return RP_E_NOMEM;
  v->rows[v->n++] = *row;
  return 0;
}

/* ---- blobs ---- */

struct parts {
  struct sink *k;
  struct rp__blob_row row;
  int64_t n;
};

static int write_part(void *ctx, const void *bytes, size_t n)
{
  struct parts *p = ctx;
  struct sink *k = p->k;
  size_t size = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL);
  char *data RP_AUTOFREE = malloc(size);
  if (!data) return rp__fail_nomem(k->err);
  sodium_bin2base64(data, size, bytes, n, sodium_base64_VARIANT_ORIGINAL);
  struct rp__jw w = RP_JW(&k->out);
  rp__jw_pack(&w, "{blob:{id:s at:i bytes:i part:i data:s}}", p->row.id, p->row.at_ms, p->row.raw_size, ++p->n, data);
  rp__buf_char(&k->out, '\n');
  if (k->progress && k->progress(k->pctx, 0, k->total))
    return rp__fail(k->err, RP_E_CANCELLED, "the export was interrupted");
  return sink_flush(k, true);
}

static int on_blob(void *ctx, const struct rp__blob_row *row)
{
  struct sink *k = ctx;
  struct parts p = {.k = k, .row = *row};
  if (!rp__blob_ids_have(&k->blobs, row->id)) return 0; /* came after the header was written */
  int rc = rp__blob_read(k->s, row->id, write_part, &p, k->err);
  return !rc && !p.n ? write_part(&p, "", 0) : rc;
}

/* ---- events ---- */

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct sink *k = ctx;
  if (ev->seq > k->total) return RP__TRANSFER_END; /* came after the header was written */
  struct rp__jw w = RP_JW(&k->out);
  rp__jw_pack(&w, "{seq:i at:i kind:s", ev->seq, ev->at_ms, ev->kind_name);
  bool lines = memchr(ev->body.p, '\n', ev->body.n) != NULL;
  rp__jw_key(&w, lines ? "body_text" : "body");
  if (lines)
    rp__jw_strn(&w, ev->body.p, ev->body.n);
  else
    rp__jw_raw(&w, ev->body.p, ev->body.n);
  rp__jw_end_object(&w);
  rp__buf_char(&k->out, '\n');
  k->events = ev->seq;
  if (k->out.n < FLUSH_AT) return 0;
  if (k->progress && k->progress(k->pctx, k->events, k->total))
    return rp__fail(k->err, RP_E_CANCELLED, "the export was interrupted");
  return sink_flush(k, true);
}

/* What streams hold is exported as it would be told if the session ended here, at the row's last event. */
static int words_before(rp_session *s, struct rp__last_words *ret, struct rp__session_row *row, rp_error *err)
{
  int rc = 0;
  for (int i = 0; !rc && row->tails.n && i < RP_LAST_WORDS_TRIES; i++) {
    rp__last_words_done(ret);
    rc = rp__last_words_make(s, ret, err);
    if (rc || ret->heard_number == row->tails.number) break;
    rp__session_row_done(row); /* somebody spoke in between */
    rc = rp__session_row(s, row, err);
  }
  return rc;
}

int rp_export(rp_session *s, rp_write_fn *write, void *ctx, rp_progress_fn *progress, void *pctx, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  rp_error own;
  struct rp__session_row row = {0};
  struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
  struct sink k = {.s = s,
                   .write = write,
                   .ctx = ctx,
                   .progress = progress,
                   .pctx = pctx,
                   .out = RP_BUF(FLUSH_AT + 2 * s->config->body_bytes + RP_BODY_MAX),
                   .err = err ? err : &own};
  rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  rc = words_before(s, &words, &row, k.err);
  k.total = row.last_seq + (int64_t)words.n;
  if (!rc) rc = rp__blobs_list(s, &k.blobs, k.err); /* those of all events up to there are stored by now */
  crypto_generichash_init(&k.hash, NULL, 0, 32);
  write_header(&k, &row);
  rp__session_row_done(&row);
  /* Runs are listed newest first, and written oldest first. */
  if (!rc) {
    struct run_rows v = {0};
    struct rp__run_filter f = {.session_ref = k.s->ref};
    rc = k.s->e->store->ops->run_list(k.s->e->store, &f, on_run, &v, k.err);
    if (rc == RP_E_NOMEM) rp__fail_nomem(k.err);
    for (size_t i = v.n; !rc && i-- > 0;) write_run(&k, &v.rows[i]);
    free(v.rows);
  }
  if (!rc && k.blobs.n) rc = s->e->store->ops->blob_list(s->e->store, s->ref, NULL, on_blob, &k, k.err);
  if (!rc && k.total) rc = rp__journal_read_past(s, 0, k.total - (int64_t)words.n, on_event, &k, NULL, k.err);
  if (rc == RP__TRANSFER_END) rc = 0;
  for (size_t i = 0; !rc && i < words.n; i++) {
    struct rp__event ev = {.seq = k.events + 1, .at_ms = words.at_ms, .kind_name = words.events[i].kind};
    ev.body = rp__json_trusted(words.plain[i].p, words.plain[i].n);
    rc = on_event(&k, &ev);
  }
  if (!rc) rc = sink_flush(&k, true);
  if (!rc) {
    unsigned char hash[32];
    char hex[65];
    struct rp__jw w = RP_JW(&k.out);
    crypto_generichash_final(&k.hash, hash, sizeof hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    rp__jw_pack(&w, "{end:{events:i blobs:?i hash:s}}", k.events, (int64_t)k.blobs.n, hex);
    rp__buf_char(&k.out, '\n');
    rc = sink_flush(&k, false);
  }
  rp__buf_done(&k.out);
  rp__blob_ids_done(&k.blobs);
  return rc;
}
