/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction on request: reports what would be masked in a text, and masks the events of a stored session. The
 * second replaces events in place, and makes everything derived from them again.
 */
#include "engine/keep/redact-session.h"

#include <sodium.h>

#include "base/text.h"
#include "engine/keep/audit.h"
#include "engine/journal/blob.h"
#include "engine/journal/derived-rows.h"
#include "engine/files.h"
#include "engine/keep/memory.h"
#include "engine/journal/stream-redaction.h"
#include "engine/journal/open-streams.h"

#define PAGE 128
#define PATTERN_MAX 65536

/* ---- looking at a text ---- */

struct finder {
  rp_secret_fn *fn;
  void *ctx;
};

static int on_secret(void *ctx, const struct rp__secret *s)
{
  const struct finder *x = ctx;
  rp_secret secret = {s->start, s->end, s->name};
  return x->fn ? x->fn(x->ctx, &secret) : 0;
}

int rp_redact_check(rp_engine *e, const char *text, size_t n, rp_secret_fn *fn, void *ctx, char **ret, rp_error *err)
{
  struct finder x = {fn, ctx};
  struct rp__buf out RP_AUTOBUF = RP_BUF(2 * n + 65536);
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__redact_find(e->redactor, text, n, on_secret, &x);
  if (!rc && ret) rc = rp__redact_text(e->redactor, text, n, &out, NULL);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  if (rc || !ret) return rc;
  rp__buf_add(&out, "", 0);
  *ret = out.n ? rp__buf_take(&out) : strdup("");
  return *ret ? 0 : rp__fail_nomem(err);
}

int rp_mask(rp_session *s, const char *text, size_t n, char **ret, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(2 * n + 65536);
  struct rp__str stored = {text, n};
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (s->config->redact && rp__redact_suspects(s->e->redactor, text, n)) {
    rc = rp__redact_text(s->e->redactor, text, n, &out, NULL);
    stored = (struct rp__str){out.p ? out.p : "", out.n};
  }
  if (!rc) *ret = strndup(stored.p, stored.n);
  return rc || !*ret ? rp__fail_nomem(err) : 0;
}

/* ---- names ---- */

struct name {
  const char *text;
};

/* Names are short and have no blanks: "secret:santa" is one, what has digits in it is not. */
static int on_credential(void *ctx, const struct rp__secret *s)
{
  const struct name *x = ctx;
  for (size_t i = s->start; i < s->end; i++)
    if (x->text[i] >= '0' && x->text[i] <= '9') return 1;
  return 0;
}

static bool is_credential(rp_engine *e, const char *scope, const char *text)
{
  struct name x = {text};
  size_t n = strlen(text);
  if (!rp__config_of(e->config, scope)->redact || !rp__redact_suspects(e->redactor, text, n)) return false;
  return rp__redact_find(e->redactor, text, n, on_credential, &x) != 0;
}

int rp__redaction_check_name(rp_engine *e, const char *scope, const char *field, const char *name, rp_error *err)
{
  if (!name || !*name || !is_credential(e, scope, name)) return 0;
  rp__fail_field(err, RP_E_USAGE, field, "the %s looks like a credential, and would be stored for all to read", field);
  rp__hint(err, "take another word; 'redact = false' for the scope allows it");
  return RP_E_USAGE;
}

const char *rp__redaction_shown(rp_engine *e, const char *scope, const char *name)
{
  return is_credential(e, scope, name) ? "(what was given, which looks like a credential)" : rp__text_shown(name);
}

const char *rp__redaction_key(rp_engine *e, const char *scope, const char *key, char room[RP_IDEMPOTENCY_HASHED])
{
  unsigned char hash[crypto_generichash_BYTES];
  if (!key || !is_credential(e, scope, key)) return key;
  crypto_generichash(hash, sizeof hash, (const unsigned char *)key, strlen(key), NULL, 0);
  memcpy(room, "hashed:", 7);
  sodium_bin2hex(room + 7, RP_IDEMPOTENCY_HASHED - 7, hash, sizeof hash);
  return room;
}

/* ---- a session's past ---- */

struct change {
  int64_t seq, at_ms;
  char kind[RP_NAME];
  struct rp__buf body, sealed;
};

struct work {
  rp_session *s;
  const struct rp__redactor *r; /* the engine's, or one that knows the secret that was named */
  struct change changes[PAGE];
  size_t n;
  int64_t events, blobs, secrets;
  rp_error *err;
};

static void changes_done(struct work *x)
{
  for (size_t i = 0; i < x->n; i++) {
    rp__buf_done(&x->changes[i].body);
    rp__buf_done(&x->changes[i].sealed);
  }
  x->n = 0;
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct work *x = ctx;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4 * RP_BODY_MAX + 2 * x->s->config->body_bytes);
  struct rp__str masked;
  size_t hits = 0;
  int rc = rp__mask_body(x->r, ev->kind, ev->body, &out, &masked, &hits);
  if (rc) return rp__fail(x->err, rc, "event %lld can't be masked", (long long)ev->seq);
  if (masked.p == ev->body.p || (masked.n == ev->body.n && memcmp(masked.p, ev->body.p, masked.n) == 0)) return 0;
  struct change *c = &x->changes[x->n++];
  *c = (struct change){.seq = ev->seq, .at_ms = ev->at_ms, .body = out, .sealed = RP_BUF(out.max + RP_SEAL_OVERHEAD)};
  out = (struct rp__buf){0};
  snprintf(c->kind, sizeof c->kind, "%s", ev->kind_name);
  x->events++;
  x->secrets += (int64_t)hits;
  return 0;
}

/* ---- memories that were learned from what is masked now ---- */

static int relearn(struct work *x, const struct change *c, rp_error *err)
{
  struct rp__event ev = {.seq = c->seq, .at_ms = c->at_ms, .kind = rp__kind_parse(c->kind), .kind_name = c->kind};
  struct rp__derived d = {0};
  struct rp__op op;
  double score = 0;
  bool known = false;
  bool any = false;
  if (ev.kind != RP_KIND_LEARNING) return 0;
  ev.body = rp__json_trusted(c->body.p, c->body.n);
  int rc = rp__derive(x->s, &ev, 0, 0, &d, &op, &any, err);
  if (!rc && any) rc = rp__memory_score(x->s->e, x->s->scope, d.memory.id, &score, &known, err);
  if (!rc && any && known) {
    d.memory.confidence = score;
    op.derived_from = 0;
    rc = rp__engine_commit(x->s->e, &op, 1, RP_DISK, err);
  }
  rp__derived_done(&d);
  return rc;
}

static int mask_events(struct work *x, bool dry_run, int64_t last, rp_progress_fn *progress, void *pctx, rp_error *err)
{
  struct rp__new_event events[PAGE];
  struct rp__op ops[PAGE];
  int rc = 0;
  for (int64_t at = 0; !rc && at < last; at += PAGE) {
    if (progress && progress(pctx, at, last)) return rp__fail(err, RP_E_CANCELLED, "the redaction was interrupted");
    rc = rp__journal_read(x->s, at, RP_MIN(at + PAGE, last), on_event, x, err);
    for (size_t i = 0; !rc && !dry_run && i < x->n; i++) {
      struct change *c = &x->changes[i];
      struct rp__str body = {0};
      if (rp__journal_seal(x->s, c->body.p, c->body.n, &c->sealed, &body)) rc = rp__fail_nomem(err);
      events[i] = (struct rp__new_event){
          .kind = c->kind, .body = body.p, .body_len = body.n, .at_ms = c->at_ms, .sealed = x->s->key != NULL};
      ops[i] = (struct rp__op){.type = RP_OP_EVENT_REPLACE,
                               RP__OP_OF(x->s->e, x->s),
                               .u.event_replace = {.seq = c->seq, .event = &events[i]}};
    }
    if (!rc && !dry_run && x->n) rc = rp__engine_commit(x->s->e, ops, x->n, RP_DISK, err);
    for (size_t i = 0; !rc && !dry_run && i < x->n; i++) rc = relearn(x, &x->changes[i], err);
    changes_done(x);
  }
  if (!rc && progress) progress(pctx, last, last);
  return rc;
}

/* ---- the whole ---- */

/* A living writer would put what it remembers into its next snapshot. */
struct holder {
  rp_engine *e;
  int64_t last;
  bool alive;
};

static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct holder *x = ctx;
  struct rp__evidence v;
  struct rp__verdict verdict;
  if (run->owner != RP_RUN_LOCK) return 0; /* nothing of it is in the memory of a process that knows us */
  rp__run_judge(x->e, run, x->last, &v, &verdict);
  x->alive |= verdict.alive && run->proc.pid != x->e->self.pid;
  return 0;
}

static int check_holder(rp_engine *e, const struct rp__session_row *row, rp_error *err)
{
  struct holder x = {.e = e, .last = row->last_activity_at};
  struct rp__run_filter f = {.session_ref = row->ref, .open_only = true};
  int rc = e->store->ops->run_list(e->store, &f, on_run, &x, err);
  if (rc || !x.alive) return rc;
  rp__fail(err, RP_E_HELD, "session %s is held by a living process, which has the secret in memory", row->id);
  rp__hint(err, "end it first");
  return RP_E_HELD;
}

/* A redactor that also knows `text`, or NULL in *ret when none was given. */
static int own_redactor(const char *text, struct rp__redactor **ret, rp_error *err)
{
  struct rp__buf pattern RP_AUTOBUF = RP_BUF(PATTERN_MAX);
  if (!text) return 0;
  if (strlen(text) < 4 || strpbrk(text, "\r\n"))
    return rp__fail_field(err, RP_E_USAGE, "text", "a secret to be masked is one line of at least 4 bytes");
  rp__buf_str(&pattern, "(?<secret>\\Q");
  for (const char *p = text, *end; p; p = end ? end + 2 : NULL) { /* \E would end the quotation */
    end = strstr(p, "\\E");
    rp__buf_add(&pattern, p, end ? (size_t)(end - p) : strlen(p));
    if (end) rp__buf_str(&pattern, "\\E\\\\E\\Q");
  }
  rp__buf_str(&pattern, "\\E)");
  if (pattern.err) return rp__fail(err, pattern.err, "the secret is too long");
  return rp__redactor_new(pattern.p, ret, err);
}

/* What was done, in the session that was named and in those that came after it. */
struct total {
  int64_t sessions, events, blobs, secrets, held;
};

static int redact_row(rp_engine *e, const struct rp__session_row *row, const struct rp__redactor *r, bool dry_run,
                      bool named, rp_progress_fn *progress, void *pctx, struct total *t, rp_error *err)
{
  struct work *x RP_AUTOFREE = calloc(1, sizeof *x);
  if (!x) return rp__fail_nomem(err);
  x->r = r;
  x->err = err;
  int rc = rp__session_open(e, row, 0, &x->s, err);
  if (rc) return rc;
  int64_t last = row->last_seq;
  if (!dry_run && row->tails.n) { /* what streams hold is told first, so that it is masked with everything else */
    struct rp__last_words words RP_CLEANUP(rp__last_words_done) = {0};
    struct rp__op op = {RP__OP_OF(e, x->s)};
    rc = rp__last_words_make(x->s, &words, err);
    rp__last_words_append(&words, 0, &op);
    if (!rc && words.n) rc = rp__engine_commit(e, &op, 1, RP_DISK, err);
    if (!rc && words.n) last = op.ret.seq;
  }
  if (!rc) rc = mask_events(x, dry_run, last, progress, pctx, err);
  changes_done(x);
  if (!rc) rc = rp__blobs_mask(x->s, r, dry_run, &x->blobs, &x->secrets, err);
  /* The one that was named also when no event is left to mask: an interrupted redaction may have come as far as that.
   */
  bool due = !dry_run && (named || x->events || x->blobs);
  if (!rc && due) rc = rp__streams_forget(x->s, err); /* sealed, they may still say it */
  if (!rc && due) rc = rp__redaction_renew(x->s, r, row, err);
  if (!rc && due) {
    struct rp__audit_note note;
    rp__audit_begin(&note);
    rp__jw_pack(&note.w, "session_id:s events:i blobs:?i secrets:i", x->s->id, x->events, x->blobs, x->secrets);
    rp__audit_write(x->s->e, x->s->scope, "redaction", &note);
    rp__audit_done(&note);
  }
  t->sessions += x->events > 0 || x->blobs > 0;
  t->events += x->events;
  t->blobs += x->blobs;
  t->secrets += x->secrets;
  rp__session_unref(x->s);
  return rc;
}

/* ---- those that came after ---- */

#define LATER_PAGE 64

struct later {
  int64_t since;
  const char *not_this;
  char (*ids)[RP_NAME];
  size_t n;
  char last[RP_NAME];
  int seen;
};

static int on_later(void *ctx, const struct rp__session_row *row)
{
  struct later *x = ctx;
  memcpy(x->last, row->id, sizeof x->last);
  x->seen++;
  if (row->created_at >= x->since && strcmp(row->id, x->not_this) != 0) memcpy(x->ids[x->n++], row->id, RP_NAME);
  return 0;
}

/* Pins, tasks and conversation go on into later sessions of the scope, and with them what they hold. */
static int redact_heirs(rp_engine *e, const struct rp__session_row *first, const struct rp__redactor *r, bool dry_run,
                        struct total *t, rp_error *err)
{
  struct later x = {.since = first->created_at, .not_this = first->id};
  struct rp__session_filter f = {.scope = first->scope, .limit = LATER_PAGE};
  char(*ids)[RP_NAME] RP_AUTOFREE = calloc(LATER_PAGE, sizeof *ids);
  int rc = 0;
  if (!ids) return rp__fail_nomem(err);
  x.ids = ids;
  do {
    x.n = 0;
    x.seen = 0;
    rc = e->store->ops->session_list(e->store, &f, on_later, &x, err);
    for (size_t i = 0; !rc && i < x.n; i++) {
      struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
      rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, ids[i], &row, err);
      if (!rc && !dry_run) rc = check_holder(e, &row, err);
      if (!rc) rc = redact_row(e, &row, r, dry_run, false, NULL, NULL, t, err);
      if (rc == RP_E_HELD) {
        t->held++;
        rp__log(&e->log, RP_LOG_WARN, "session %s is in use and was left as it is: redact it when it has ended",
                row.id);
      }
      if (rc == RP_E_HELD || rc == RP_E_SESSION_NOT_FOUND) rc = 0;
    }
    f.cursor = x.last;
  } while (!rc && x.seen == LATER_PAGE);
  return rc;
}

int rp_redact_session(rp_engine *e, const char *ref, const char *text, bool dry_run, rp_progress_fn *progress,
                      void *pctx, char **ret, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__redactor *own = NULL;
  struct total t = {0};
  int rc = rp__engine_check(e, err);
  if (!rc) rc = rp__session_lookup(e, ref ? ref : "", &row, err);
  if (!rc && !dry_run) rc = check_holder(e, &row, err);
  if (!rc) rc = own_redactor(text, &own, err);
  const struct rp__redactor *r = own ? own : e->redactor;
  if (!rc) rc = redact_row(e, &row, r, dry_run, true, progress, pctx, &t, err);
  if (!rc) rc = redact_heirs(e, &row, r, dry_run, &t, err);
  if (!rc && !dry_run) rp__files_sweep(e); /* a file that was not finished may hold what is masked now */
  if (!rc && !dry_run) rc = e->store->ops->maintain(e->store, RP_MAINTAIN_SCRUB, NULL, err);
  rp__redactor_free(own);
  if (rc || !ret) return rc;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  rp__jw_pack(&w, "{session_id:s sessions:i events:i blobs:i secrets:i held:i dry_run:b}", row.id, t.sessions, t.events,
              t.blobs, t.secrets, t.held, dry_run);
  return rp__text_give(&out, ret, err);
}
