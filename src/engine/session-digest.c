/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the digest of a session, and tells it as a document. */
#include "engine/session-digest.h"

#include "continuity/record.h"
#include "engine/capture/capture.h"
#include "engine/keep/archive.h"

#define DOCUMENT_MAX ((size_t)1024 * 1024)
#define ROOM ((size_t)64 * 1024)

void rp__session_digest_done(struct rp__session_digest *d)
{
  if (d->loaded) rp__digest_done(&d->own);
  rp__state_put(&d->loan);
  if (d->s) rp__session_unref(d->s);
  *d = (struct rp__session_digest){0};
}

/* The digest in the record. Only a sealed or archived record has to be written out for it. */
static int from_record(rp_engine *e, const struct rp__session_row *row, struct rp__session_digest *ret, rp_error *err)
{
  struct rp__record_row record RP_CLEANUP(rp__record_row_done) = {0};
  struct rp__buf text RP_AUTOBUF = RP_BUF((size_t)4 * 1024 * 1024);
  struct rp__json digest = {0};
  int rc = e->store->ops->record_get(e->store, row->ref, &record, err);
  if (rc) return rc;
  if (record.archived || record.sealed_body) {
    rc = rp__record_read(e, row, &text, err);
    if (rc) return rc;
    digest = rp__json_get(rp__json_trusted(text.p, text.n), RP_RECORD_DIGEST);
  } else if (record.digest)
    digest = rp__json_trusted(record.digest, strlen(record.digest));
  if (digest.type != RP_JSON_OBJECT) return 0;
  rp__digest_init(&ret->own);
  ret->loaded = true;
  rc = rp__digest_load(&ret->own, digest, err);
  if (!rc) ret->digest = &ret->own;
  return rc;
}

int rp__session_digest_open(rp_engine *e, const struct rp__session_row *row, struct rp__session_digest *ret,
                            rp_error *err)
{
  if (rp__status_ended(row->status)) {
    int rc = from_record(e, row, ret, err);
    if (rc != RP_E_RECORD_NOT_FOUND) return rc;
    if (err) *err = (rp_error){0};
  }
  int rc = rp__session_open(e, row, 0, &ret->s, err);
  if (!rc) rc = rp__state_take(ret->s, &ret->loan, NULL, err);
  if (!rc) ret->digest = rp__digest_of(ret->loan.fold);
  return rc;
}

/* ---- as documents ---- */

static void write_text(struct rp__jw *w, const char *name, struct rp__json v)
{
  if (v.type == RP_JSON_STRING) rp__jw_kvalue(w, name, v);
}

/* Whatever could not be told for want of memory, the writer says. */
static bool request(const struct rp__digest *d, size_t i, struct rp__buf *room, struct rp__digest_request *ret,
                    struct rp__jw *w)
{
  if (rp__digest_request(d, i, room, ret) == 0) return true;
  if (!w->out->err) w->out->err = RP_E_NOMEM;
  return false;
}

void rp__session_digest_write(const struct rp__digest *d, struct rp__jw *w)
{
  RP_AUTOBUF struct rp__buf room = RP_BUF(ROOM);
  struct rp__digest_request asked, last;
  if (!d || rp__digest_count(d) == 0) return;
  if (!request(d, rp__digest_count(d) - 1, &room, &last, w)) return;
  enum rp__request_end end = last.end;
  if (!request(d, rp__digest_asked(d), &room, &asked, w)) return;
  if (asked.end == RP_END_ANSWERED && !last.go_on) end = asked.end; /* what came behind it was small talk */
  rp__jw_pack(w, "last_request:v last_request_at:t last_request_end:s files_changed:i", asked.text, asked.at_ms,
              rp__request_end_words[end], (int64_t)d->files.count);
}

static void write_requests(const struct rp__digest *d, struct rp__jw *w)
{
  RP_AUTOBUF struct rp__buf room = RP_BUF(ROOM);
  struct rp__digest_request r;
  rp__jw_karray(w, "requests");
  for (size_t i = 0; i < rp__digest_count(d) && request(d, i, &room, &r, w); i++) {
    rp__jw_pack(w, "{text:v at:t seq:i end:s", r.text, r.at_ms, r.seq, rp__request_end_words[r.end]);
    if (r.answer.n) rp__jw_pack(w, "answer:n", r.answer.p, r.answer.n);
    if (i == rp__digest_asked(d)) rp__jw_kbool(w, "last", true);
    if (r.go_on) rp__jw_kbool(w, "go_on", true);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

static void write_files(const struct rp__digest *d, struct rp__jw *w)
{
  RP_AUTOBUF struct rp__buf path = RP_BUF(4096);
  struct rp__str root = {d->root.p ? d->root.p : "", d->root.n};
  rp__jw_karray(w, "files");
  for (size_t i = d->files.count; i > 0; i--) {
    const struct rp__row *row = d->files.v[i - 1];
    int64_t count = 1;
    bool home;
    rp__buf_reset(&path);
    if (rp__json_text(rp__row_cell(row, RP_FILE_PATH), &path)) w->out->err = w->out->err ? w->out->err : RP_E_NOMEM;
    struct rp__str s = rp__digest_path((struct rp__str){path.p ? path.p : "", path.n}, root, &home);
    RP_IGNORE(rp__json_i64(rp__row_cell(row, RP_FILE_COUNT), &count));
    rp__jw_pack(w, "{path:n count:i at:t}", s.p, s.n, count, row->at_ms);
  }
  rp__jw_end_array(w);
}

/* One list, newest first: the first cell of a row, and a second one where it has that. */
static void write_rows(const struct rp__rows *rows, const char *name, const char *first, const char *second,
                       struct rp__jw *w)
{
  rp__jw_karray(w, name);
  for (size_t i = rows->count; i > 0; i--) {
    const struct rp__row *row = rows->v[i - 1];
    rp__jw_object(w);
    write_text(w, first, rp__row_cell(row, 0));
    if (second) write_text(w, second, rp__row_cell(row, 1));
    rp__jw_ktime(w, "at", row->at_ms);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

int rp_digest_json(rp_engine *e, const char *ref, char **ret, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  RP_CLEANUP(rp__session_digest_done) struct rp__session_digest d = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(DOCUMENT_MAX);
  struct rp__jw w = RP_JW(&out);
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__session_lookup(e, ref ? ref : "", &row, err);
  if (!rc) rc = rp__session_digest_open(e, &row, &d, err);
  if (rc) return rc;
  rp__jw_pack(&w, "{session_id:s scope:s", row.id, row.scope);
  rp__session_digest_write(d.digest, &w);
  if (d.digest && rp__digest_count(d.digest)) {
    write_requests(d.digest, &w);
    write_files(d.digest, &w);
    write_rows(&d.digest->commits, "commits", "commit", NULL, &w);
    write_rows(&d.digest->commands, "failing", "command", "error", &w);
    write_rows(&d.digest->todos, "todos", "text", "status", &w);
  }
  rp__jw_end_object(&w);
  if (out.err) return rp__fail_nomem(err);
  /* What an open session's digest tells has not gone through a record. */
  struct rp__buf masked RP_AUTOBUF = RP_BUF(DOCUMENT_MAX);
  struct rp__str told;
  if (rp__mask_bytes(e->redactor, out.p, out.n, &masked, &told, NULL)) return rp__fail_nomem(err);
  if (told.p == out.p) return rp__text_give(&out, ret, err);
  return rp__text_give(&masked, ret, err);
}
