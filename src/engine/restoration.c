/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/restoration.h"

#include "engine/ending.h"

#define PLAN_MS 1500      /* a scan that takes longer goes no further back */
#define CLOCK_ROWS 256    /* between two looks at the clock */
#define RP__SCAN_LATE 1   /* a callback's word that time is up … */
#define RP__SCAN_ENOUGH 2 /* … or that it has seen enough */
#define RECORD_MAX (4 * 1024 * 1024)
#define STATE_MAX (16 * 1024 * 1024)
#define CARRIED_MESSAGES 50 /* N-06, N-07 */
#define CARRIED_MAX (512 * 1024)
#define TOPICS_GIVEN_MAX 64
#define OLDER_MAX 10000 /* sessions beyond the lookback that are told about when somebody asks why */

void rp__restoration_done(struct rp__restoration *r)
{
  rp__plan_free(r->plan);
  rp__endings_done(&r->endings);
  for (size_t i = 0; i < r->n_records; i++) rp__buf_done(&r->records[i]);
  free(r->records);
  rp__restoration_drop_memories(r);
  rp__buf_done(&r->state);
  rp__buf_done(&r->carried);
  *r = (struct rp__restoration){0};
}

/* Where nobody chose a template, a robot's past that was taken into the scope makes it a robot's (N-06). */
static int begin(rp_engine *e, const char *scope, struct rp__restoration *ret, rp_error *err)
{
  struct rp__scope_row row = {0};
  bool given = rp__config_given(e->config, scope, RP_OPT_TEMPLATE);
  int rc = given ? 0 : e->store->ops->scope_get(e->store, scope, &row, err);
  bool chosen = strcmp(rp__config_text(e->config, scope, RP_OPT_TEMPLATE), "robot") == 0;
  *ret = (struct rp__restoration){.e = e, .scope = scope, .robot = given ? chosen : row.robot, .err = err};
  return rc;
}

static struct rp__rules rules_of(const struct rp__restoration *r)
{
  const struct rp__config *c = r->e->config;
  return (struct rp__rules){
      .lookback_hours = 24 * rp__config_num(c, r->scope, RP_OPT_LOOKBACK_DAYS),
      .threshold = rp__config_num(c, r->scope, RP_OPT_RELEVANCE_THRESHOLD),
      .pin_threshold = rp__config_num(c, r->scope, RP_OPT_PIN_THRESHOLD),
      .critical_hours = 24 * rp__config_num(c, r->scope, RP_OPT_CRITICAL_DAYS),
      .decay_rate = rp__config_num(c, r->scope, RP_OPT_DECAY_RATE),
      .decay_floor = rp__config_num(c, r->scope, RP_OPT_DECAY_FLOOR),
      .max_sessions = (int)rp__config_num(c, r->scope, RP_OPT_MAX_SESSIONS),
      .max_pins = (int)rp__config_num(c, r->scope, RP_OPT_MAX_INHERITED_PINS),
      .all_memories = r->robot,
  };
}

/* ---- topics ---- */

struct topic_set {
  uint64_t hash[TOPICS_GIVEN_MAX];
  size_t n;
  const unsigned char *key;
  unsigned char derived[32];
};

static void topic_add(struct topic_set *t, const char *text, size_t n)
{
  while (n && (unsigned char)text[0] <= ' ') text++, n--;
  while (n && (unsigned char)text[n - 1] <= ' ') n--;
  if (n && t->n < TOPICS_GIVEN_MAX) t->hash[t->n++] = rp__topic_hash(text, n, t->key);
}

/* current topics are those given and the labels of current pins. */
static void topics_parse(struct topic_set *t, const char *topics)
{
  for (const char *p = topics; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
    topic_add(t, p, strcspn(p, ","));
  t->n = rp__topic_set(t->hash, t->n);
}

static int topics_key(rp_engine *e, const char *scope, struct topic_set *t, rp_error *err)
{
  const struct rp__key *key = NULL;
  int rc = rp__scope_key(e, scope, &key, err);
  if (rc || !key) return rc;
  rp__topic_key(key, t->derived);
  t->key = t->derived;
  return 0;
}

/* ---- candidates ---- */

struct scan {
  struct rp__restoration *r;
  const char *without;
  int64_t since, started, rows, older;
};

static int on_recall(void *ctx, const struct rp__recall *row)
{
  struct scan *x = ctx;
  if (rp__ending_of(&x->r->endings, row->session_id)) return 0; /* what it knows now counts */
  if (x->without && strcmp(x->without, row->session_id) == 0) return 0;
  if (x->rows++ % CLOCK_ROWS == 0 && rp__engine_ticks(x->r->e) - x->started > PLAN_MS) return RP__SCAN_LATE;
  if (row->ended_at < x->since && x->older++ == OLDER_MAX) return RP__SCAN_ENOUGH;
  return rp__plan_offer(x->r->plan, row);
}

/* Newest first, so that one that takes too long has seen what counts most. */
static int offer_stored(struct rp__restoration *r, const struct rp__restoration_options *o, int64_t since,
                        rp_error *err)
{
  struct scan x = {.r = r, .without = o->without, .since = since, .started = rp__engine_ticks(r->e)};
  struct rp__recall_filter f = {.scope = r->scope, .channel = rp__channel_of(r->e, r->scope, o->channel)};
  f.since_ms = o->explain ? INT64_MIN : since;
  int rc = r->e->store->ops->recall_list(r->e->store, &f, on_recall, &x, err);
  if (rc == RP__SCAN_LATE)
    rp__log(&r->e->log, RP_LOG_WARN, "scope %s: only the newest %lld sessions were looked at: it took over %d ms",
            r->scope, (long long)x.rows, PLAN_MS);
  if (rc == RP__SCAN_LATE || rc == RP__SCAN_ENOUGH) return 0;
  return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}

static int offer_endings(struct rp__restoration *r, const struct rp__restoration_options *o, int64_t since,
                         rp_error *err)
{
  for (size_t i = 0; i < r->endings.n; i++) {
    const struct rp__ending *d = &r->endings.p[i];
    struct rp__recall row = {.session_ref = d->session_ref,
                             .session_id = d->session_id,
                             .ended_at = d->end_ms,
                             .n_tasks = d->n_tasks,
                             .has_critical = d->has_critical,
                             .living = d->lives,
                             .topics = d->topics,
                             .n_topics = d->n_topics};
    if ((d->end_ms >= since || o->explain) && rp__plan_offer(r->plan, &row)) return rp__fail_nomem(err);
  }
  return 0;
}

static int offer_all(struct rp__restoration *r, const struct rp__restoration_options *o, rp_error *err)
{
  struct rp__rules rules = rules_of(r);
  double hours = RP_MAX(rules.lookback_hours, rules.critical_hours);
  int64_t since = o->now - (int64_t)(hours * 3600e3);
  struct rp__endings_options open = {.scope = r->scope,
                                     .channel = rp__channel_of(r->e, r->scope, o->channel),
                                     .without = o->without,
                                     .since_ms = since,
                                     .dead = o->preview};
  int rc = rp__endings_find(r->e, &open, &r->endings, err);
  if (!rc) rc = offer_stored(r, o, since, err);
  return rc ? rc : offer_endings(r, o, since, err);
}

static struct rp__buf *record_room(struct rp__restoration *r)
{
  /* The plan points to the bytes, not to these structs: they may move. */
  struct rp__buf *p = realloc(r->records, (r->n_records + 1) * sizeof *p);
  if (!p) return NULL;
  r->records = p;
  p[r->n_records] = RP_BUF(RECORD_MAX);
  return &p[r->n_records++];
}

/* The record of a session as checked JSON: the one a start would write, or the stored one, read into `out`. */
static int record_load(struct rp__restoration *r, const char *id, struct rp__buf *out, struct rp__json *ret,
                       rp_error *err)
{
  struct rp__session_row session = {0};
  struct rp__json_limits limits = {.max_bytes = RECORD_MAX, .allow_duplicates = true};
  const struct rp__ending *ending = rp__ending_of(&r->endings, id);
  rp_engine *e = r->e;
  if (ending) return rp__json_parse(ending->record.p, ending->record.n, &limits, ret, err);
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, id, &session, err);
  if (rc) return rc;
  rc = rp__record_read(e, &session, out, err);
  rp__session_row_done(&session);
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
    int rc = record_load(r, c->session_id, bytes, &doc, &why);
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

/* N-07: the last messages of a conversation as the new session keeps them, newest kept when there are too many bytes.
 */
/* The last turns, as many as fit; what tools and the system said takes none of their places. */
static void carry_conversation(struct rp__json messages, struct rp__jw *w)
{
  struct rp__json_iter it = {0};
  struct rp__json m, turns[CARRIED_MESSAGES];
  size_t n = 0, bytes = 0;
  while (rp__json_next(messages, &it, NULL, &m)) {
    struct rp__json role = rp__json_get(m, "role");
    if (rp__json_eq(role, "user") || rp__json_eq(role, "assistant")) turns[n++ % CARRIED_MESSAGES] = m;
  }
  size_t first = n, oldest = n > CARRIED_MESSAGES ? n - CARRIED_MESSAGES : 0;
  while (first > oldest && bytes + turns[(first - 1) % CARRIED_MESSAGES].n <= CARRIED_MAX / 2)
    bytes += turns[--first % CARRIED_MESSAGES].n;
  rp__jw_key(w, "conversation");
  rp__jw_array(w);
  for (size_t i = first; i < n; i++) rp__jw_value(w, turns[i % CARRIED_MESSAGES]);
  rp__jw_end_array(w);
}

static int carry(struct rp__restoration *r, const struct rp__fold *f, rp_error *err)
{
  struct rp__json state = rp__json_trusted(r->state.p, r->state.n);
  struct rp__json messages = rp__json_get(rp__json_get(state, "conversation"), "messages");
  struct rp__jw w = RP_JW(&r->carried);
  bool any = messages.type == RP_JSON_ARRAY || rp__json_get(state, "affect").type == RP_JSON_OBJECT ||
             rp__json_get(state, "presence").type == RP_JSON_OBJECT;
  if (!any) return 0;
  r->carried = RP_BUF(4 * CARRIED_MAX);
  rp__jw_object(&w);
  if (messages.type == RP_JSON_ARRAY) carry_conversation(messages, &w);
  rp__jw_key(&w, "affect");
  rp__fold_save_one(f, "affect", &w);
  rp__jw_key(&w, "presence");
  rp__fold_save_one(f, "presence", &w);
  rp__jw_end_object(&w);
  return r->carried.err ? rp__fail_nomem(err) : 0;
}

static int state_doc(struct rp__restoration *r, rp_session *s, bool carries, rp_error *err)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__fold *f = NULL;
  struct rp__jw w = RP_JW(&r->state);
  r->state = RP_BUF(STATE_MAX);
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, &warnings, err);
  if (!rc) {
    rp__jw_object(&w);
    rp__fold_show(f, rp__engine_now(r->e), &w);
    rp__jw_end_object(&w);
    if (r->state.err) rc = rp__fail_nomem(err);
  }
  if (!rc && carries) rc = carry(r, f, err);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

/* The session before is not needed for the plan: when it can't be read the rest goes on, and the log says so. */
static void load_previous(struct rp__restoration *r, const char *id)
{
  struct rp__session_row row = {0};
  rp_session *s = NULL;
  rp_error why = {0};
  if (!id || !*id || r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, &why)) return;
  int rc = rp__session_open(r->e, &row, 0, &s, &why);
  if (!rc) rc = state_doc(r, s, r->robot, &why);
  if (s) rp__session_unref(s);
  rp__session_row_done(&row);
  if (!rc) return;
  rp__buf_done(&r->state);
  rp__buf_done(&r->carried);
  note_missing(r, id, &why);
  rp__log(&r->e->log, RP_LOG_WARN, "the state of session %s is not restored: %s", id, why.message);
}

/* ---- planning ---- */

static void on_line(void *ctx, const char *line)
{
  const struct rp__restoration *r = ctx;
  rp__log(&r->e->log, RP_LOG_DEBUG, "scope %s: %s", r->scope, line);
}

static int plan_new(struct rp__restoration *r, const struct rp__rules *rules, const char *topics, int64_t now,
                    rp_error *err)
{
  struct topic_set set = {0};
  int rc = topics_key(r->e, r->scope, &set, err);
  if (rc) return rc;
  topics_parse(&set, topics);
  return rp__plan_new(rules, now, set.hash, set.n, &r->plan) ? rp__fail_nomem(err) : 0;
}

/* What a session took off is not offered to it again. One that can't be read has taken off nothing. */
static int load_dropped(struct rp__restoration *r, const char *id, struct rp__json *ret, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  struct rp__capture c RP_CLEANUP(rp__capture_done) = {0};
  struct rp__json_limits limits = {.max_bytes = RECORD_MAX, .allow_duplicates = true};
  struct rp__json doc;
  rp_error why = {0};
  struct rp__buf *bytes = record_room(r);
  if (!bytes) return rp__fail_nomem(err);
  int rc = r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, &why);
  if (!rc) rc = rp__record_made(r->e, &row, rp__engine_now(r->e), false, &c, bytes, &why);
  if (!rc) rc = rp__json_parse(bytes->p ? bytes->p : "", bytes->n, &limits, &doc, &why);
  if (!rc) *ret = rp__json_get(doc, RP_RECORD_DROPPED);
  if (!rp__capture_passes(rc)) return 0;
  if (err) *err = why;
  return rc;
}

int rp__restoration_plan(rp_engine *e, const struct rp__restoration_options *o, struct rp__restoration *ret,
                         rp_error *err)
{
  int rc = begin(e, o->scope, ret, err);
  if (rc || !rp__config_bool(e->config, o->scope, RP_OPT_ENABLED)) return rc;
  struct rp__rules rules = rules_of(ret);
  struct rp__json dropped = {0};
  rc = plan_new(ret, &rules, o->topics, o->now, err);
  if (!rc) rc = offer_all(ret, o, err);
  if (!rc) rc = open_wanted(ret, err);
  if (!rc) rc = rp__restoration_memories(ret, NULL, err);
  if (!rc && o->without) rc = load_dropped(ret, o->without, &dropped, err);
  if (!rc) {
    struct rp__plan_sources sources = rp__restoration_sources(ret);
    sources.dropped = dropped;
    sources.dropped_by = o->without;
    rc = rp__plan_finish(ret->plan, &sources);
    if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  }
  if (!rc) load_previous(ret, o->previous_id);
  if (!rc && e->debug) rp__plan_tell(ret->plan, on_line, ret);
  if (rc) rp__restoration_done(ret);
  return rc;
}

/* N-05: a robot's facts are the scope's, also for a session that goes on; what it learned itself its state tells. */
static int plan_facts(struct rp__restoration *r, rp_error *err)
{
  struct rp__rules rules = rules_of(r);
  struct rp__json learnings = rp__json_get(rp__json_trusted(r->state.p, r->state.n), "learnings");
  int rc = plan_new(r, &rules, NULL, rp__engine_now(r->e), err);
  if (!rc) rc = rp__restoration_memories(r, NULL, err);
  if (rc) return rc;
  rp__restoration_drop_known(r, learnings, RP_BRIEF_MEMORIES);
  struct rp__plan_sources sources = rp__restoration_sources(r);
  return rp__plan_finish(r->plan, &sources) ? rp__fail_nomem(err) : 0;
}

int rp__restoration_own(rp_session *s, struct rp__restoration *ret, rp_error *err)
{
  int rc = begin(s->e, s->scope, ret, err);
  if (!rc) rc = state_doc(ret, s, false, err);
  if (!rc && ret->robot) rc = plan_facts(ret, err);
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

static int labels_read(struct rp__json pins, struct labels *ret, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json pin;
  while (ret->n < RP_PINS_MAX && rp__json_next(pins, &it, NULL, &pin)) {
    char *label = rp__json_dup(rp__json_get(pin, "label"));
    if (!label) return rp__fail_nomem(err);
    ret->text[ret->n++] = label;
  }
  return 0;
}

/* A session that never ended has no record yet: one is made of its state, and not stored. */
static int record_of(rp_engine *e, const struct rp__session_row *from, struct rp__buf *out, rp_error *err)
{
  struct rp__capture c RP_CLEANUP(rp__capture_done) = {0};
  int rc = rp__record_read(e, from, out, err);
  if (rc != RP_E_RECORD_NOT_FOUND) return rc;
  rp__buf_reset(out);
  return rp__record_made(e, from, from->ended_at ? from->ended_at : from->last_activity_at, false, &c, out, err);
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
  int rc = record_of(r->e, from, bytes, err);
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
  struct rp__json tasks = rp__json_get(rp__json_trusted(r->state.p, r->state.n), "tasks"), task;
  struct rp__json_iter it = {0};
  while (rp__json_next(tasks, &it, NULL, &task))
    if (rp__json_eq(rp__json_get(task, "task_id"), task_id)) return true;
  return false;
}

/* What the session has already is not inherited once more. */
static int choose_all(struct rp__restoration *r, rp_error *err)
{
  struct labels labels RP_CLEANUP(labels_done) = {0};
  struct rp__json state = rp__json_trusted(r->state.p, r->state.n);
  int rc = labels_read(rp__json_get(state, "pins"), &labels, err);
  if (rc) return rc;
  rp__restoration_drop_known(r, rp__json_get(state, "learnings"), SIZE_MAX);
  struct rp__plan_sources sources = rp__restoration_sources(r);
  sources.labels = (const char *const *)labels.text;
  sources.n_labels = labels.n;
  sources.has_task = has_task;
  rc = rp__plan_continue(r->plan, &sources);
  return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}

int rp__restoration_continue(rp_session *into, const struct rp__session_row *from, struct rp__restoration *ret,
                             rp_error *err)
{
  int rc = begin(into->e, into->scope, ret, err);
  struct rp__rules rules = rules_of(ret);
  if (!rc) rc = plan_new(ret, &rules, NULL, rp__engine_now(into->e), err);
  if (!rc) rp__plan_any_age(ret->plan);
  if (!rc) rc = state_doc(ret, into, false, err);
  if (!rc) rc = offer_one(ret, from, err);
  if (!rc) rc = rp__restoration_memories(ret, from->id, err);
  if (!rc) rc = choose_all(ret, err);
  if (!rc && into->e->debug) rp__plan_tell(ret->plan, on_line, ret);
  if (rc) rp__restoration_done(ret);
  return rc;
}
