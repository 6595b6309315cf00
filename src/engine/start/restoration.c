/* SPDX-License-Identifier: Apache-2.0 */
/* Restoration: reads the rows, makes the plan, writes the text. */
#include "engine/start/restoration.h"

#include "engine/keep/archive.h"
#include "engine/start/open-session-records.h"
#include "facets/evidence.h"
#include "facets/message.h"
#include "facets/pins.h"
#include "facets/tasks.h"
#include "facets/words.h"

#define HOUR_MS 3600000.0
#define PLAN_MS 1500      /* a scan that takes longer goes no further back */
#define CLOCK_ROWS 256    /* between two looks at the clock */
#define RP__SCAN_LATE 1   /* a callback's word that time is up … */
#define RP__SCAN_ENOUGH 2 /* … or that it has seen enough */
#define RECORD_MAX (4 * 1024 * 1024)
#define CARRIED_MESSAGES 50 /* N-06, N-07 */
#define CARRIED_MAX (512 * 1024)
#define TOPICS_GIVEN_MAX 64
#define OLDER_MAX 10000 /* sessions beyond the lookback that are told about when somebody asks why */

static void drop_stored(struct rp__restoration *r);

void rp__restoration_done(struct rp__restoration *r)
{
  rp__plan_free(r->plan);
  rp__endings_done(&r->endings);
  for (size_t i = 0; i < r->n_records; i++) rp__buf_done(&r->records[i]);
  free(r->records);
  rp__restoration_drop_memories(r);
  rp__restoration_drop_tasks(r);
  rp__speaking_done(r);
  drop_stored(r);
  rp__state_put(&r->loan);
  rp__buf_done(&r->carried);
  *r = (struct rp__restoration){0};
}

/* Where nobody chose a template, a robot's past that was taken into the scope makes it a robot's (N-06). */
static void begin(rp_engine *e, const char *scope, const struct rp__scope_row *row, const struct rp__key *key,
                  struct rp__restoration *ret, rp_error *err)
{
  const struct rp__scope_config *c = rp__config_of(e->config, scope);
  bool robot = c->template_given ? c->template == RP_TEMPLATE_ROBOT : row->robot;
  *ret = (struct rp__restoration){.e = e, .config = c, .scope = scope, .key = key, .robot = robot, .err = err};
}

/* ---- candidates ---- */

/* A row of a session of which it is not decided yet whether what it knows now counts instead. */
struct undecided {
  struct rp__recall row;
  char id[RP_NAME];
  uint64_t topics[RP_TOPICS_MAX];
};

struct scan {
  struct rp__restoration *r;
  const char *without;
  int64_t since, started, rows, older;
  struct undecided later[RP_LIVING_MAX];
  size_t n_later;
};

static int on_recall(void *ctx, const struct rp__recall *row)
{
  struct scan *x = ctx;
  if (rp__ending_of(&x->r->endings, row->session_id)) return 0; /* what it knows now counts */
  if (x->without && strcmp(x->without, row->session_id) == 0) return 0;
  if (x->rows++ % CLOCK_ROWS == 0 && rp__engine_ticks(x->r->e) - x->started > PLAN_MS) return RP__SCAN_LATE;
  if (row->ended_at < x->since && x->older++ == OLDER_MAX) return RP__SCAN_ENOUGH;
  if (x->n_later == RP_LIVING_MAX || !rp__ending_undecided(&x->r->endings, row->session_id))
    return rp__plan_offer(x->r->plan, row);
  struct undecided *u = &x->later[x->n_later++];
  u->row = *row;
  snprintf(u->id, sizeof u->id, "%s", row->session_id);
  if (row->n_topics) memcpy(u->topics, row->topics, row->n_topics * sizeof *row->topics);
  u->row.session_id = u->id;
  u->row.topics = u->topics;
  return 0;
}

int64_t rp__restoration_since(const rp_engine *e, const char *scope, int64_t now)
{
  const struct rp__scope_config *c = rp__config_of(e->config, scope);
  return now - RP_MAX(c->lookback_ms, c->critical_ms);
}

/*
 * Reads the sessions that go on, then, at once, what is stored: the recall rows, newest first, so that a scan that
 * takes too long has seen those that count most; the memories; and the sources of what silent sessions inherited.
 */
static int offer_all(struct rp__restoration *r, const struct rp__restoration_options *o, rp_error *err)
{
  int64_t since = rp__restoration_since(r->e, r->scope, o->now);
  const char *channel = rp__channel_of(r->e, r->scope, o->channel);
  struct rp__endings_options open = {.scope = r->scope,
                                     .channel = channel,
                                     .key = r->key,
                                     .living = o->living,
                                     .previous = o->previous,
                                     .seen = o->seen,
                                     .without = o->without,
                                     .since_ms = since,
                                     .dead = o->preview};
  int rc = rp__endings_find(r->e, &open, &r->endings, err);
  if (rc) return rc;
  struct rp__read *reads RP_AUTOFREE =
      calloc(2 + RP_MEMORY_READS + r->endings.n_silent * RP_SOURCES_MAX, sizeof *reads);
  struct scan *x RP_AUTOFREE = calloc(1, sizeof *x);
  if (!reads || !x) return rp__fail_nomem(err);
  *x = (struct scan){.r = r, .without = o->without, .since = since, .started = rp__engine_ticks(r->e)};
  reads[0] = (struct rp__read){
      .type = RP_READ_RECALL,
      .ctx = x,
      .u.recall = {.filter = {.scope = r->scope, .channel = channel, .since_ms = o->explain ? INT64_MIN : since},
                   .fn = on_recall}};
  r->memories_without = o->without;
  /* N-05: a robot's facts are the scope's, on every channel. */
  reads[1] = rp__speaking_reading(r, channel);
  size_t own = 2 + rp__restoration_memories(r, r->robot ? NULL : channel, reads + 2);
  size_t n = rp__endings_sources(&r->endings, reads + own);
  rc = r->e->store->ops->read(r->e->store, reads, own + n, err);
  if (rc) return rc;
  rc = rp__endings_heirs(r->e, &r->endings, reads + own, n, err);
  if (reads[0].rc == RP__SCAN_LATE)
    rp__log(&r->e->log, RP_LOG_WARN, "scope %s: only the newest %lld sessions were looked at: it took over %d ms",
            r->scope, (long long)x->rows, PLAN_MS);
  if (reads[0].rc == RP__SCAN_LATE || reads[0].rc == RP__SCAN_ENOUGH) reads[0].rc = 0;
  if (reads[0].rc == RP_E_NOMEM) rp__fail_nomem(&reads[0].err);
  for (size_t i = 0; !rc && i < own; i++)
    if ((rc = reads[i].rc) && err && reads[i].err.code) *err = reads[i].err; /* on_memory told err itself */
  for (size_t i = 0; !rc && i < x->n_later; i++)
    if (!rp__ending_of(&r->endings, x->later[i].id) && rp__plan_offer(r->plan, &x->later[i].row))
      rc = rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < r->endings.n; i++) {
    const struct rp__ending *d = &r->endings.p[i];
    struct rp__recall row = {.session_ref = d->session_ref,
                             .session_id = d->session_id,
                             .ended_at = d->end_ms,
                             .n_tasks = d->n_tasks,
                             .has_critical = d->has_critical,
                             .living = d->lives,
                             .topics = d->topics,
                             .n_topics = d->n_topics};
    if ((d->end_ms >= since || o->explain) && rp__plan_offer(r->plan, &row)) rc = rp__fail_nomem(err);
  }
  return rc;
}

/* ---- records ---- */

static struct rp__buf *record_room(struct rp__restoration *r)
{
  /* The plan points to the bytes, not to these structs: they may move. */
  struct rp__buf *p = realloc(r->records, (r->n_records + 1) * sizeof *p);
  if (!p) return NULL;
  r->records = p;
  p[r->n_records] = RP_BUF(RECORD_MAX);
  return &p[r->n_records++];
}

/* The record of a stored session, as it was read. */
struct rp__stored_record {
  int64_t ref;
  struct rp__record_row row;
  struct rp__session_row session; /* of an archived one */
  int rc;
  rp_error err;
};

static void drop_stored(struct rp__restoration *r)
{
  for (size_t i = 0; i < r->n_stored; i++) {
    rp__record_row_done(&r->stored[i].row);
    rp__session_row_done(&r->stored[i].session);
  }
  free(r->stored);
}

static struct rp__stored_record *stored_of(const struct rp__restoration *r, int64_t ref)
{
  for (size_t i = 0; i < r->n_stored; i++)
    if (r->stored[i].ref == ref) return &r->stored[i];
  return NULL;
}

struct rp__record_row *rp__restoration_record(const struct rp__restoration *r, int64_t session_ref)
{
  struct rp__stored_record *x = stored_of(r, session_ref);
  return x && !x->rc ? &x->row : NULL;
}

/* Reads the records that the plan wants now, and that of the session before, in one call. */
static int read_stored(struct rp__restoration *r, rp_error *err)
{
  struct rp__candidate *wanted[RP_WANTED_MAX];
  size_t n = rp__plan_wanted(r->plan, wanted, RP_WANTED_MAX), n_reads = 0, first = r->n_stored;
  int64_t refs[RP_WANTED_MAX + RP_SPEAKERS_MAX + 1];
  const char *archived[RP_WANTED_MAX + RP_SPEAKERS_MAX + 1] = {NULL}; /* the id of one that is */
  size_t n_refs = 0;
  for (size_t i = 0; i < n; i++) {
    if (rp__ending_of(&r->endings, wanted[i]->session_id)) continue;
    archived[n_refs] = wanted[i]->archived ? wanted[i]->session_id : NULL;
    refs[n_refs++] = wanted[i]->session_ref;
  }
  n_refs += rp__speaking_wanted(r, refs + n_refs, archived + n_refs, RP_SPEAKERS_MAX);
  if (r->previous_ref) refs[n_refs++] = r->previous_ref;
  struct rp__stored_record *more = realloc(r->stored, (first + n_refs + 1) * sizeof *more);
  struct rp__read *reads RP_AUTOFREE = calloc(2 * n_refs + 1, sizeof *reads);
  if (more) r->stored = more;
  if (!reads || !more) return rp__fail_nomem(err);
  for (size_t i = 0; i < n_refs; i++) {
    if (stored_of(r, refs[i])) continue;
    struct rp__stored_record *x = &more[r->n_stored++];
    *x = (struct rp__stored_record){.ref = refs[i]};
    reads[n_reads++] = (struct rp__read){.type = RP_READ_RECORD, .ctx = x, .u.record = {refs[i], &x->row}};
    if (archived[i])
      reads[n_reads++] = (struct rp__read){
          .type = RP_READ_SESSION, .ctx = x, .u.session = {.how = RP_FIND_ID, .what = archived[i], .ret = &x->session}};
  }
  int rc = n_reads ? r->e->store->ops->read(r->e->store, reads, n_reads, err) : 0;
  if (rc) r->n_stored = first;
  for (size_t i = 0; !rc && i < n_reads; i++) {
    struct rp__stored_record *x = reads[i].ctx;
    if (!reads[i].rc || x->rc) continue;
    x->rc = reads[i].rc;
    x->err = reads[i].err;
  }
  return rc;
}

/* The record of a session as checked JSON: the one a start would write, or the stored one, written into `out`. */
int rp__restoration_record_text(struct rp__restoration *r, int64_t session_ref, const char *session_id,
                                struct rp__buf *out, struct rp__json *ret, rp_error *err)
{
  struct rp__json_limits limits = {.max_bytes = RECORD_MAX, .allow_duplicates = true};
  const struct rp__ending *ending = rp__ending_of(&r->endings, session_id);
  if (ending) return rp__json_parse(ending->record.p, ending->record.n, &limits, ret, err);
  struct rp__stored_record *x = stored_of(r, session_ref);
  int rc = x ? 0 : read_stored(r, err);
  if (rc) return rc;
  if (!x && !(x = stored_of(r, session_ref))) return rp__fail(err, RP_E_RECORD_NOT_FOUND, "it was not read");
  if (x->rc) {
    *err = x->err;
    return x->rc;
  }
  rc = x->row.archived ? rp__archive_read(r->e, &x->session, out, err) : rp__record_text(&x->row, r->key, out, err);
  return rc ? rc : rp__json_parse(out->p ? out->p : "", out->n, &limits, ret, err);
}

/* What comes back without it is not all there was: whoever starts is told. */
static void note_missing(struct rp__restoration *r, const char *session_id, const rp_error *why)
{
  if (r->missing.code) return;
  rp__fail(&r->missing, why->code ? why->code : RP_E_CORRUPT, "session %s: %s", session_id, why->message);
}

static int open_wanted(struct rp__restoration *r, rp_error *err)
{
  struct rp__candidate *c;
  while ((c = rp__plan_want(r->plan))) {
    rp_error why = {0};
    struct rp__json doc;
    struct rp__buf *bytes = record_room(r);
    if (!bytes) return rp__fail_nomem(err);
    int rc = rp__restoration_record_text(r, c->session_ref, c->session_id, bytes, &doc, &why);
    if (rp__capture_passes(rc)) {
      if (err) *err = why;
      return rc;
    }
    if (rc) note_missing(r, c->session_id, &why);
    if (rc)
      rp__plan_damaged(r->plan, c, why.message);
    else
      rp__plan_opened(r->plan, c, doc);
  }
  return 0;
}

/* ---- the session before ---- */

/* N-07: the last turns, as many as fit; messages of tools and of the system take none of their places. */
static int carry_conversation(const struct rp__fold *f, struct rp__jw *w)
{
  RP_AUTOBUF struct rp__buf one = RP_BUF(4 * CARRIED_MAX);
  const struct rp__message *turns[CARRIED_MESSAGES];
  size_t n = 0, count = rp__conversation_count(f), bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const struct rp__message *m = rp__conversation_at(f, i);
    if (m->turn) turns[n++ % CARRIED_MESSAGES] = m;
  }
  size_t first = n, oldest = n > CARRIED_MESSAGES ? n - CARRIED_MESSAGES : 0;
  for (; first > oldest; first--) {
    struct rp__jw measured = RP_JW(&one);
    rp__buf_reset(&one);
    rp__message_write(turns[(first - 1) % CARRIED_MESSAGES], true, &measured);
    if (one.err == RP_E_NOMEM) return RP_E_NOMEM;
    bytes += one.n;
    if (one.err || bytes > CARRIED_MAX / 2) break;
  }
  rp__jw_karray(w, "conversation");
  for (size_t i = first; i < n; i++) rp__message_write(turns[i % CARRIED_MESSAGES], true, w);
  rp__jw_end_array(w);
  return 0;
}

/* The session before is not needed for the plan: when it can't be read the rest goes on, and the log says so. */
static void load_previous(struct rp__restoration *r)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  rp_session *s = r->endings.previous;
  rp_error why = {0};
  if (!s) return;
  int rc = rp__state_take(s, &r->loan, &warnings, &why);
  const struct rp__fold *f = r->state = r->loan.fold;
  const struct rp__evidence_heard *heard = rc ? NULL : rp__evidence_heard(f);
  bool spoke = !rc && rp__fold_has(f, "conversation"), meant = heard && !rp__gist_empty(&heard->gist);
  if (!rc && r->robot && (spoke || meant || rp__fold_has(f, "affect") || rp__fold_has(f, "presence"))) {
    struct rp__jw w = RP_JW(&r->carried);
    r->carried = RP_BUF(4 * CARRIED_MAX);
    rp__jw_object(&w);
    if (spoke && carry_conversation(f, &w)) r->carried.err = RP_E_NOMEM;
    if (meant) rp__gist_write(&heard->gist, &w);
    rp__jw_key(&w, "affect");
    rp__fold_save_one(f, "affect", &w);
    rp__jw_key(&w, "presence");
    rp__fold_save_one(f, "presence", &w);
    rp__jw_end_object(&w);
    if (r->carried.err) rc = rp__fail_nomem(&why);
  }
  if (!rc) return;
  rp__state_put(&r->loan);
  r->state = NULL;
  rp__buf_done(&r->carried);
  note_missing(r, s->id, &why);
  rp__log(&r->e->log, RP_LOG_WARN, "the state of session %s is not restored: %s", s->id, why.message);
}

/* ---- planning ---- */

static void on_line(void *ctx, const char *line)
{
  const struct rp__restoration *r = ctx;
  rp__log(&r->e->log, RP_LOG_DEBUG, "scope %s: %s", r->scope, line);
}

static int plan_new(struct rp__restoration *r, const char *topics, const char *prompt, int64_t now, rp_error *err)
{
  const struct rp__scope_config *c = r->config;
  struct rp__rules rules = {
      .lookback_hours = (double)c->lookback_ms / HOUR_MS,
      .threshold = c->relevance_threshold,
      .pin_threshold = c->pin_threshold,
      .critical_hours = (double)c->critical_ms / HOUR_MS,
      .decay_rate = c->decay_rate,
      .decay_floor = c->decay_floor,
      .max_sessions = c->max_sessions,
      .max_pins = c->max_inherited_pins,
      .unfading = r->robot,
  };
  uint64_t hash[TOPICS_GIVEN_MAX];
  size_t n_hash = 0;
  unsigned char key[32];
  if (r->key) rp__topic_key(r->key, key);
  r->topics = topics;
  /* current topics are those given, the words of a prompt, and the labels of current pins. */
  for (const char *p = topics, *next; p && *p && n_hash < TOPICS_GIVEN_MAX; p = next) {
    size_t n = strcspn(p, ",");
    next = p + n + (p[n] == ',');
    while (n && (unsigned char)p[0] <= ' ') p++, n--;
    while (n && (unsigned char)p[n - 1] <= ' ') n--;
    if (n) hash[n_hash++] = rp__topic_hash(p, n, r->key ? key : NULL);
  }
  struct rp__words words = rp__words(prompt ? (struct rp__str){prompt, strnlen(prompt, RP_TEXT_HEAD)} : rp__str(""));
  for (struct rp__word w; n_hash < TOPICS_GIVEN_MAX && rp__words_next(&words, &w);)
    hash[n_hash++] = rp__topic_hash(w.text, w.n, r->key ? key : NULL);
  n_hash = rp__topic_set(hash, n_hash);
  return rp__plan_new(&rules, now, hash, n_hash, &r->plan) ? rp__fail_nomem(err) : 0;
}

/* What a session took off is not offered to it again. One that can't be read has taken off nothing. */
static int load_dropped(struct rp__restoration *r, const char *id, struct rp__state_loan *ret, rp_error *err)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  rp_session *s = NULL;
  rp_error why = {0};
  int rc = r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, &why);
  if (!rc) rc = rp__session_open(r->e, &row, 0, &s, &why);
  if (!rc) rc = rp__state_take(s, ret, &warnings, &why);
  if (s) rp__session_unref(s);
  if (!rp__capture_passes(rc)) return 0;
  if (err) *err = why;
  return rc;
}

int rp__restoration_plan(rp_engine *e, const struct rp__restoration_options *o, struct rp__restoration *ret,
                         rp_error *err)
{
  begin(e, o->scope, o->scope_row, o->key, ret, err);
  ret->root = o->root;
  if (o->previous && !o->preview) ret->previous_ref = o->previous->ref;
  if (!rp__config_of(e->config, o->scope)->enabled) return 0;
  struct rp__state_loan without RP_CLEANUP(rp__state_put) = {0};
  int rc = plan_new(ret, o->topics, o->prompt, o->now, err);
  if (!rc) rc = offer_all(ret, o, err);
  if (!rc) rc = open_wanted(ret, err);
  if (!rc) rc = rp__speaking_load(ret, o->without, err);
  if (!rc) rc = rp__restoration_tasks(ret, err);
  if (!rc && o->without) rc = load_dropped(ret, o->without, &without, err);
  if (!rc) {
    struct rp__plan_sources sources = rp__restoration_sources(ret);
    sources.dropped = rp__pins_dropped(without.fold);
    sources.dropped_by = o->without;
    rc = rp__plan_finish(ret->plan, &sources);
    if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  }
  if (!rc) load_previous(ret);
  if (!rc && e->debug) rp__plan_tell(ret->plan, on_line, ret);
  if (rc) rp__restoration_done(ret);
  return rc;
}

int rp__restoration_own(rp_session *s, const struct rp__scope_row *scope, const struct rp__fold *f,
                        struct rp__restoration *ret, rp_error *err)
{
  begin(s->e, s->scope, scope, s->key, ret, err);
  ret->state = f;
  rp__speaking_own(ret, s, f);
  if (!ret->robot) return 0;
  /* N-05: a robot's facts are the scope's, also for a session that goes on; what it learned itself its state tells. */
  struct rp__read memories[RP_MEMORY_READS];
  int rc = plan_new(ret, NULL, NULL, rp__engine_now(s->e), err);
  if (!rc) rc = rp__engine_read(s->e, memories, rp__restoration_memories(ret, NULL, memories), err);
  if (!rc) {
    rp__restoration_drop_known(ret, RP_BRIEF_MEMORIES);
    struct rp__plan_sources sources = rp__restoration_sources(ret);
    if (rp__plan_finish(ret->plan, &sources)) rc = rp__fail_nomem(err);
  }
  if (rc) rp__restoration_done(ret);
  return rc;
}

/* ---- continuing ---- */

struct labels {
  char *text[RP_PINS_MAX];
  size_t n;
};

static void labels_done(struct labels *l)
{
  for (size_t i = 0; i < l->n; i++) free(l->text[i]);
}

static int offer_one(struct rp__restoration *r, const struct rp__session_row *from, rp_error *err)
{
  struct rp__recall row = {.session_ref = from->ref,
                           .session_id = from->id,
                           .ended_at = from->ended_at ? from->ended_at : from->last_activity_at};
  struct rp__json doc;
  struct rp__json_limits limits = {.max_bytes = RECORD_MAX, .allow_duplicates = true};
  struct rp__buf *bytes = record_room(r);
  if (!bytes || rp__plan_offer(r->plan, &row)) return rp__fail_nomem(err);
  struct rp__capture made RP_CLEANUP(rp__capture_done) = {0};
  int rc = rp__record_read(r->e, from, bytes, err);
  if (rc == RP_E_RECORD_NOT_FOUND) { /* it never ended: a record is made of its state, and not stored */
    rp__buf_reset(bytes);
    rc = rp__record_made(r->e, from, r->key, row.ended_at, false, &made, bytes, err);
  }
  if (!rc) rc = rp__json_parse(bytes->p ? bytes->p : "", bytes->n, &limits, &doc, err);
  if (rc) return rc;
  struct rp__candidate *c = rp__plan_want(r->plan);
  if (!c) return rp__fail(err, RP_E_FAILED, "session %s is no candidate", from->id);
  rp__plan_opened(r->plan, c, doc);
  return 0;
}

/* The tasks are those of the session that goes on: its own word on one counts. */
static bool has_task(void *ctx, const char *task_id)
{
  const struct rp__restoration *r = ctx;
  const struct rp__rows *tasks = rp__rows_of(r->state, &rp__facet_tasks);
  return rp__rows_find_text(tasks, task_id) < tasks->count;
}

/* What the session has already is not inherited once more. */
static int choose_all(struct rp__restoration *r, rp_error *err)
{
  struct labels labels RP_CLEANUP(labels_done) = {0};
  const struct rp__rows *pins = rp__rows_of(r->state, &rp__facet_pins);
  for (size_t i = 0; i < pins->count && labels.n < RP_PINS_MAX; i++) {
    char *label = rp__json_dup(rp__row_cell(pins->v[i], RP_PIN_LABEL));
    if (!label) return rp__fail_nomem(err);
    labels.text[labels.n++] = label;
  }
  rp__restoration_drop_known(r, SIZE_MAX);
  struct rp__plan_sources sources = rp__restoration_sources(r);
  sources.labels = (const char *const *)labels.text;
  sources.n_labels = labels.n;
  sources.has_task = has_task;
  int rc = rp__plan_continue(r->plan, &sources);
  return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}

int rp__restoration_continue(rp_session *into, const struct rp__session_row *from, struct rp__restoration *ret,
                             rp_error *err)
{
  struct rp__scope_row scope = {0};
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__state_loan loan RP_CLEANUP(rp__state_put) = {0};
  int rc = into->e->store->ops->scope_get(into->e->store, into->scope, &scope, err);
  begin(into->e, into->scope, &scope, into->key, ret, err);
  if (!rc) rc = plan_new(ret, NULL, NULL, rp__engine_now(into->e), err);
  if (!rc) rp__plan_any_age(ret->plan);
  if (!rc) rc = rp__state_take(into, &loan, &warnings, err);
  ret->state = loan.fold;
  if (!rc) rc = offer_one(ret, from, err);
  if (!rc) rc = rp__restoration_tasks(ret, err);
  struct rp__read memories = rp__restoration_memories_of(ret, from->id);
  if (!rc) rc = rp__engine_read(into->e, &memories, 1, err);
  if (!rc) rc = choose_all(ret, err);
  ret->state = NULL; /* the session has it again when this returns */
  if (!rc && into->e->debug) rp__plan_tell(ret->plan, on_line, ret);
  if (rc) rp__restoration_done(ret);
  return rc;
}
