/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports other programs' sessions. A converter pushes checked events. Each event is masked like an append and copied
 * into a hidden session, which is shown when it is complete, with the times of its source and one run that says how the
 * session ended. A session that the store has already is skipped and reported.
 */
#include "engine/transfer/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/options.h"
#include "base/text.h"
#include "engine/transfer/copy.h"
#include "engine/keep/redact-session.h"
#include "engine/journal/stream-redaction.h"
#include "engine/transfer/agent-tokens.h"

#define NOTES_MAX 1024
#define PROGRESS_EVERY 256
#define HEAD 32                         /* bytes of a file that say what it is */
#define OWN_HEAD "{\"reprise\":"        /* an export of our own */
#define DATABASE_HEAD "SQLite format 3" /* with its NUL */

struct job {
  const struct rp__format *format;
  const char *scope, *file; /* file: its name without folders */
  const char *note;         /* about every session, or NULL */
  bool dry_run;
  rp_import_fn *fn;
  void *ctx;
  rp_progress_fn *progress;
  void *pctx;
};

/* Ids that a document has had so far, as hashes. */
struct ids {
  uint64_t *slots; /* 0: free */
  size_t n, cap;   /* a power of two */
};

struct import {
  rp_engine *e;
  const struct job *job;
  char scope[RP_NAME];

  struct rp__foreign f; /* the session being taken */
  struct rp__session_row row;
  struct rp__copy *copy;
  struct rp__buf masked, notes;
  struct rp__import_tokens tokens;
  struct ids seen; /* of this document */
  int64_t events, all_events;
  bool token; /* of the session being taken */

  int stopped; /* what the caller said to end it */
  int rc;      /* of the first session that was not taken */
  rp_error first;
};

static int report(struct import *x, bool skipped, const char *why)
{
  const struct job *j = x->job;
  rp_import_item item = {.session_id = x->f.id[0] ? x->f.id : NULL,
                         .name = x->f.name[0] ? x->f.name : NULL,
                         .events = skipped ? 0 : x->events,
                         .skipped = skipped,
                         .why = why,
                         .token = x->token};
  if (j->fn) x->stopped = j->fn(j->ctx, &item);
  return x->stopped ? RP_E_CANCELLED : 0;
}

/* ---- ids ---- */

static bool ids_put(struct ids *s, uint64_t hash)
{
  size_t i = (size_t)hash & (s->cap - 1);
  while (s->slots[i] && s->slots[i] != hash) i = (i + 1) & (s->cap - 1);
  bool there = s->slots[i] != 0;
  s->slots[i] = hash;
  return there;
}

static int ids_add(struct ids *s, const char *id, bool *ret_there, rp_error *err)
{
  if (2 * s->n >= s->cap) {
    struct ids more = {.n = s->n, .cap = s->cap ? 2 * s->cap : 64};
    if (!(more.slots = calloc(more.cap, sizeof *more.slots))) return rp__fail_nomem(err);
    for (size_t i = 0; i < s->cap; i++)
      if (s->slots[i]) ids_put(&more, s->slots[i]);
    free(s->slots);
    *s = more;
  }
  uint64_t hash = rp__checksum(id, strlen(id), 0x6964);
  *ret_there = ids_put(s, hash ? hash : 1);
  s->n += !*ret_there;
  return 0;
}

/* ---- one session ---- */

static int write_meta(struct import *x, rp_error *err)
{
  struct rp__buf meta RP_AUTOBUF = RP_BUF(65536);
  struct rp__jw w = RP_JW(&meta);
  rp__jw_pack(&w, "{imported:{format:s file:s at:t total_sessions:?i}}", x->job->format->name, x->job->file,
              rp__engine_now(x->e), x->f.total_sessions);
  if (meta.err) return rp__fail_nomem(err);
  struct rp__str masked;
  rp__buf_reset(&x->masked);
  int rc = rp__engine_mask(x->e, x->scope, RP_KIND_SESSION, rp__json_trusted(meta.p, meta.n), &x->masked, &masked);
  if (!rc) x->row.meta = strndup(masked.p, masked.n);
  return x->row.meta ? 0 : rp__fail_nomem(err);
}

static void fill_row(struct import *x)
{
  struct rp__session_row *r = &x->row;
  const struct rp__foreign *f = &x->f;
  *r = (struct rp__session_row){.created_at = f->created_at,
                                .last_activity_at = RP_MAX(f->last_activity_at, f->created_at),
                                .ended_at = f->ended_at,
                                .crash_recovered = f->crashed,
                                .status = f->ended ? RP_STATUS_CLOSED : RP_STATUS_IDLE};
  if (!r->created_at) r->created_at = r->last_activity_at = rp__engine_now(x->e);
  if (f->ended) r->ended_at = RP_MAX(r->ended_at ? r->ended_at : r->last_activity_at, r->created_at);
  memcpy(r->id, f->id, sizeof r->id);
  memcpy(r->scope, x->scope, sizeof r->scope);
  memcpy(r->channel, f->channel, sizeof r->channel);
  memcpy(r->provider, f->provider, sizeof r->provider);
  memcpy(r->previous_id, f->previous_id, sizeof r->previous_id);
  memcpy(r->continued_by, f->continued_by, sizeof r->continued_by);
}

static int skip(struct import *x, const char *why)
{
  int rc = report(x, true, why);
  rp__import_tokens_next(&x->tokens);
  return rc ? rc : RP__TAKE_SKIP;
}

/* Whether the row came from a file of that format, and still has no token of its agent: an import that was cut off. */
static bool lacks_token(struct import *x, const struct rp__session_row *row)
{
  struct rp__fleet_agent agent;
  char secret[RP_SECRET_MAX + 1];
  struct rp__json meta = row->meta ? rp__json_trusted(row->meta, strlen(row->meta)) : (struct rp__json){0};
  if (!rp__json_eq(rp__json_get(rp__json_get(meta, "imported"), "format"), x->job->format->name)) return false;
  return !rp__fleet_find(x->e->fleet, row->id, rp__row_birth(row), &agent, secret);
}

/* *ret_why: it is there, and what is said of that; NULL: it is not. */
static int find_there(struct import *x, const char **ret_why, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  rp_error own = {0};
  bool takes;
  int rc = x->e->store->ops->session_find(x->e->store, RP_FIND_ID, NULL, x->f.id, &row, &own);
  *ret_why = NULL;
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  if (rc && err) *err = own;
  if (rc) return rc;
  *ret_why = "is there already";
  rp__import_tokens_verdict(&x->tokens, &takes);
  if (!takes || !lacks_token(x, &row)) return 0;
  *ret_why = "is there already; the token of its agent was missing and was taken";
  x->token = true;
  return x->job->dry_run ? 0 : rp__import_tokens_keep(&x->tokens, &row, err);
}

static int on_begin(void *ctx, const struct rp__foreign *f, rp_error *err)
{
  struct import *x = ctx;
  const char *there = NULL;
  bool twice = false;
  x->f = *f;
  x->events = 0;
  x->token = false;
  rp__buf_reset(&x->notes);
  if (x->job->note) rp__buf_str(&x->notes, x->job->note);
  int rc = ids_add(&x->seen, f->id, &twice, err);
  if (!rc && twice) return skip(x, "the file has an earlier session with this id");
  if (!rc) rc = find_there(x, &there, err);
  if (!rc) rc = rp__redaction_check_name(x->e, x->scope, "session id", f->id, err);
  if (!rc) rc = rp__redaction_check_name(x->e, x->scope, "provider", f->provider, err);
  if (!rc) rc = rp__redaction_check_name(x->e, x->scope, "channel", f->channel, err);
  if (rc) return rc;
  if (there) return skip(x, there);
  fill_row(x);
  if (x->job->dry_run) return 0;
  rc = write_meta(x, err);
  if (!rc) rc = rp__copy_begin(x->e, &x->row, &x->copy, err);
  if (rc == RP_E_EXISTS) { /* somebody was faster */
    rp__session_row_done(&x->row);
    return skip(x, "is there already");
  }
  if (rc) return rc;
  x->copy->past = (struct rp__scope_row){.starts = f->total_sessions, .robot = f->robot};
  /* How it ended is what the next start of the scope goes by. */
  char evidence[160];
  const struct rp__session_row *r = &x->row;
  struct rp__run_row run = {.owner = RP_RUN_NONE,
                            .started_at = r->created_at,
                            .heartbeat_at = r->last_activity_at,
                            .restart = RP_RESTART_NONE};
  struct rp__op base = {.session_ref = x->copy->s->ref, .session_id = r->id, .now_ms = r->created_at, .copying = true};
  struct rp__op ops[2] = {base, base};
  snprintf(evidence, sizeof evidence, "imported from %s", x->job->format->name);
  ops[0].type = RP_OP_LEASE;
  ops[0].u.lease.run = &run;
  ops[0].u.lease.move = RP_MOVE_MAX;
  ops[1].type = RP_OP_RUN_END;
  ops[1].u.run_end.ended_at = r->last_activity_at;
  ops[1].u.run_end.cause = x->f.crashed ? RP_CAUSE_CRASH : RP_CAUSE_CLEAN;
  ops[1].u.run_end.evidence = evidence;
  return rp__engine_commit(x->e, ops, 2, RP_OS, err);
}

static int on_event(void *ctx, const struct rp__event *ev, rp_error *err)
{
  struct import *x = ctx;
  const struct job *j = x->job;
  struct rp__str body;
  x->events++;
  if (++x->all_events % PROGRESS_EVERY == 0 && j->progress && j->progress(j->pctx, x->all_events, 0))
    return rp__fail(err, RP_E_CANCELLED, "the import was interrupted");
  if (j->dry_run) return 0;
  rp__buf_reset(&x->masked);
  int rc = rp__engine_mask(x->e, x->scope, ev->kind, ev->body, &x->masked, &body);
  if (rc == RP_E_TOO_LARGE) return rp__fail(err, rc, "an event of session %s is too large", x->f.id);
  if (rc) return rp__fail_nomem(err);
  int64_t at = ev->at_ms ? ev->at_ms : x->row.created_at;
  return rp__copy_event(x->copy, ev->seq, at, ev->kind_name, body.p, body.n, err);
}

static void on_note(void *ctx, const char *text)
{
  struct import *x = ctx;
  if (x->notes.n) rp__buf_str(&x->notes, "; ");
  rp__buf_str(&x->notes, text);
}

static int on_secret(void *ctx, enum rp__foreign_secret which, const char *text, size_t n, rp_error *err)
{
  struct import *x = ctx;
  (void)err;
  rp__import_tokens_secret(&x->tokens, which, text, n);
  return 0;
}

static int on_end(void *ctx, rp_error *err)
{
  struct import *x = ctx;
  bool takes;
  const char *verdict = rp__import_tokens_verdict(&x->tokens, &takes);
  if (verdict) on_note(x, verdict);
  int rc = x->copy ? rp__copy_derive(x->copy, err) : 0;
  if (!rc && x->copy) x->row.ref = x->copy->s->ref;
  if (!rc && x->copy) rc = rp__copy_finish(x->copy, &x->row, NULL, err);
  if (!rc && x->copy && takes) rc = rp__import_tokens_keep(&x->tokens, &x->row, err);
  if (rc) return rc;
  x->token = takes;
  rp__import_tokens_next(&x->tokens);
  rp__copy_free(RP_TAKE(x->copy));
  rp__session_row_done(&x->row);
  return report(x, false, x->notes.n ? x->notes.p : NULL);
}

static int on_failed(void *ctx, const char *name, const char *why)
{
  struct import *x = ctx;
  x->f = (struct rp__foreign){0};
  x->token = false;
  rp__import_tokens_next(&x->tokens);
  rp__text_copy(x->f.name, sizeof x->f.name, name);
  if (!x->rc) x->rc = rp__fail(&x->first, RP_E_FORMAT_CORRUPT, "session '%.60s' was not taken: %s", name, why);
  return report(x, true, why);
}

/* Takes all sessions of the document; a session that can't be taken is reported, and its error returned at the end. */
static int import_doc(rp_engine *e, const struct job *job, const struct rp__doc *doc, rp_error *err)
{
  struct import x = {.e = e, .job = job, .masked = RP_BUF(4 * RP_FOREIGN_MAX), .notes = RP_BUF(NOTES_MAX)};
  struct rp__taker t = {.begin = on_begin,
                        .event = on_event,
                        .end = on_end,
                        .note = on_note,
                        .secret = on_secret,
                        .failed = on_failed,
                        .ctx = &x,
                        .max_body = rp__config_of(e->config, job->scope)->body_bytes};
  rp_error own = {0};
  if (!err) err = &own;
  snprintf(x.scope, sizeof x.scope, "%s", job->scope);
  rp__import_tokens_init(&x.tokens, e);
  int rc = job->format->import(doc, &t, err);
  rp_error why = {0};
  /* Of those that were taken, whatever became of the others. */
  int kept = job->dry_run ? 0 : rp__import_tokens_commit(&x.tokens, &why);
  if (kept && !rc) rc = (*err = why, kept);
  rp__import_tokens_done(&x.tokens);
  free(x.seen.slots);
  rp__copy_free(x.copy);
  rp__session_row_done(&x.row);
  rp__buf_done(&x.masked);
  rp__buf_done(&x.notes);
  if (x.stopped) return x.stopped;
  if (!rc && x.rc) {
    *err = x.first;
    rc = x.rc;
  }
  return rc;
}

/* ---- what a file is: an export of our own, a database, or a document; and what to do when it is damaged ---- */

static const char damaged_note[] = "the file is damaged or gone: this is its .bak";

static int read_head(const char *path, char head[HEAD], size_t *ret_n, rp_error *err)
{
  struct stat st;
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st)) return rp__fail_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  ssize_t n = pread(fd, head, HEAD, 0);
  if (n < 0) return rp__fail_errno(err, errno, "%s", path);
  *ret_n = (size_t)n;
  return 0;
}

static long read_fd(void *ctx, void *bytes, size_t n)
{
  ssize_t got;
  do got = read(*(int *)ctx, bytes, n);
  while (got < 0 && errno == EINTR);
  return (long)got;
}

static int import_own(rp_engine *e, const char *path, const rp_import_options *o, rp_import_fn *fn, void *ctx,
                      rp_progress_fn *progress, void *pctx, rp_error *err)
{
  char id[RP_NAME];
  if (o->scope || o->dry_run)
    return rp__fail(err, RP_E_USAGE, "an export of reprise is taken as it is: without a scope or a dry run");
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return rp__fail_errno(err, errno, "%s", path);
  int rc = rp_import(e, read_fd, &fd, progress, pctx, id, err);
  if (rc || !fn) return rc;
  return fn(ctx, &(rp_import_item){.session_id = id});
}

/* A database is read where it lies; anything else is read whole, which its bound allows. */
static int open_doc(const char *path, struct rp__buf *bytes, struct rp__doc *ret, rp_error *err)
{
  char head[HEAD];
  size_t n = 0;
  int rc = read_head(path, head, &n, err);
  if (rc) return rc;
  if (n >= sizeof DATABASE_HEAD && memcmp(head, DATABASE_HEAD, sizeof DATABASE_HEAD) == 0) {
    *ret = (struct rp__doc){.type = RP_DOC_SQLITE, .path = path};
    return 0;
  }
  rc = rp__file_read(path, RP_FOREIGN_MAX, bytes, err);
  return rc ? rc : rp__doc_open(bytes->p ? bytes->p : "", bytes->n, ret, err);
}

/* A robot's session file has a copy beside it for the case that it is damaged (N-06). */
static int open_backup(const char *path, struct rp__buf *bytes, struct rp__doc *ret)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(65536);
  rp__buf_printf(&name, "%s.bak", path);
  if (name.err) return RP_E_NOMEM;
  int rc = open_doc(name.p, bytes, ret, NULL);
  if (!rc && rp__format_detect(ret) != &rp__format_nova) {
    rp__doc_done(ret);
    rc = RP_E_FORMAT;
  }
  return rc;
}

int rp_import_file(rp_engine *e, const char *path, const rp_import_options *given, rp_import_fn *fn, void *ctx,
                   rp_progress_fn *progress, void *pctx, rp_error *err)
{
  rp_import_options options, *o = &options;
  char head[HEAD];
  size_t n = 0;
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(o, given, dry_run, err);
  if (rc) return rc;
  if (!path || !path[0]) return rp__fail_field(err, RP_E_USAGE, "path", "no file was named");
  if (o->scope && !rp__name_ok(o->scope))
    return rp__fail_field(err, RP_E_USAGE, "scope", "'%s' can't be a scope", rp__text_shown(o->scope));
  const char *slash = strrchr(path, '/');
  struct job job = {.file = slash ? slash + 1 : path,
                    .dry_run = o->dry_run,
                    .fn = fn,
                    .ctx = ctx,
                    .progress = progress,
                    .pctx = pctx};
  bool own = o->format && strcmp(o->format, "reprise") == 0;
  if (!o->format && !read_head(path, head, &n, NULL))
    own = n >= sizeof OWN_HEAD - 1 && memcmp(head, OWN_HEAD, sizeof OWN_HEAD - 1) == 0;
  if (own) return import_own(e, path, o, fn, ctx, progress, pctx, err);
  if (o->format && (rc = rp__foreign_format(o->format, &job.format, err))) return rc;
  if (job.format && !job.format->import)
    return rp__fail_field(err, RP_E_USAGE, "format", "%s is only written, not read", job.format->name);
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(0);
  struct rp__doc doc = {0};
  bool robot = job.format == &rp__format_nova;
  rc = open_doc(path, &bytes, &doc, err);
  bool damaged = rc == RP_E_FORMAT_CORRUPT || rc == RP_E_FORMAT || (robot && rc == RP_E_FILE_NOT_FOUND);
  if (damaged && (robot || !job.format) && !open_backup(path, &bytes, &doc)) {
    job.note = damaged_note;
    rc = 0;
  }
  if (rc == RP_E_FORMAT && job.format) return rp__format_refuse(job.format, err);
  if (rc == RP_E_FORMAT_CORRUPT && !job.format) rp__hint(err, "it was tried as " RP_FORMATS_READ);
  if (rc) return rc;
  if (!job.format) job.format = rp__format_detect(&doc);
  job.scope = o->scope ? o->scope : job.format ? job.format->name : "default";
  rc = job.format ? import_doc(e, &job, &doc, err) : rp__format_refuse(NULL, err);
  rp__doc_done(&doc);
  return rc;
}
