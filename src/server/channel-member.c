/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions that somebody is joined to: how many are, who beats for them, and
 * what becomes of one whose last member left (L-02, L-08). A row lives from the first join to
 * the end of the grace after the last leave.
 *
 * Rows are under the lock; their lists of channels are the loop's.
 */
#include <pthread.h>
#include <sodium.h>

#include "server/channel.h"

#define BUCKETS 4096
#define BEAT_MS 4000  /* between two heartbeats of a session; the engine writes only those that are due */
#define BATCH 1024    /* rows looked after in one go, without the lock */
#define BLOCK 128     /* sessions made one after the other, whose rows lie together: their heartbeats share pages */
#define LOOK_MS 4     /* per joined session, between two looks at one of them: a crowd must not keep the store busy */
#define RUN_MS 200    /* then the job is due again */
#define RETRY_MS 1000 /* more than the grace, for a close that failed */

struct rp__member {
  struct rp__member *by_id, *by_key; /* next in the bucket */
  struct rp__entry *entry;
  char key[RP_ID_MAX + 1];
  size_t n, writers;
  bool closing;             /* by a thread that is at it now */
  bool closed;              /* by word: no grace, no close */
  int64_t beat_ms, look_ms; /* when the next ones are due */
  int64_t leave_ms;         /* the longest grace that a member asked for; -1: none did */
  int64_t due_ms;           /* to be closed then, and in the list of those; 0: not */
  struct rp__member *before, *after;
  struct rp__channel *channels; /* in the loop */
};

struct rp__members {
  struct rp__channels *of;
  pthread_mutex_t lock;
  pthread_cond_t settled; /* a row is no longer closing */
  struct rp__member *ids[BUCKETS], *keys[BUCKETS];
  unsigned char seed[crypto_shorthash_KEYBYTES];
  struct rp__member *first, *last; /* to be closed, in the order in which that is due */
  size_t n_leaving;                /* of these, and of those being closed */
  atomic_llong left, left_failed;
};

static int64_t now_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int rp__members_new(struct rp__channels *c, struct rp__members **ret, rp_error *err)
{
  struct rp__members *t = calloc(1, sizeof *t);
  if (!t) return rp__fail_nomem(err);
  t->of = c;
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->settled, NULL);
  crypto_shorthash_keygen(t->seed);
  *ret = t;
  return 0;
}

/* ---- the table ---- */

static size_t bucket(const struct rp__members *t, const char *name)
{
  uint64_t h;
  crypto_shorthash((unsigned char *)&h, (const unsigned char *)name, strlen(name), t->seed);
  return h % BUCKETS;
}

static struct rp__member **place(struct rp__members *t, const char *id)
{
  struct rp__member **at = &t->ids[bucket(t, id)];
  while (*at && strcmp(rp__entry_id((*at)->entry), id) != 0) at = &(*at)->by_id;
  return at;
}

static void index_key(struct rp__members *t, struct rp__member *m, const char *key)
{
  if (!key || m->key[0]) return;
  snprintf(m->key, sizeof m->key, "%s", key);
  struct rp__member **at = &t->keys[bucket(t, m->key)];
  m->by_key = *at;
  *at = m;
}

/* From the end: most have the grace of all others, and are due behind all that left before. */
static void list(struct rp__members *t, struct rp__member *m, int64_t due_ms)
{
  struct rp__member *before = t->last;
  while (before && before->due_ms > due_ms) before = before->before;
  m->due_ms = due_ms;
  m->before = before;
  m->after = before ? before->after : t->first;
  *(m->before ? &m->before->after : &t->first) = m;
  *(m->after ? &m->after->before : &t->last) = m;
  t->n_leaving++;
}

static void unlist(struct rp__members *t, struct rp__member *m)
{
  if (!m->due_ms) return;
  *(m->before ? &m->before->after : &t->first) = m->after;
  *(m->after ? &m->after->before : &t->last) = m->before;
  m->due_ms = 0;
  t->n_leaving--;
}

static void drop(struct rp__members *t, struct rp__member *m)
{
  unlist(t, m);
  *place(t, rp__entry_id(m->entry)) = m->by_id;
  if (m->key[0]) {
    struct rp__member **at = &t->keys[bucket(t, m->key)];
    while (*at != m) at = &(*at)->by_key;
    *at = m->by_key;
  }
  rp__registry_put(t->of->srv->registry, m->entry);
  free(m);
}

void rp__members_free(struct rp__members *t)
{
  if (!t) return;
  for (size_t i = 0; i < BUCKETS; i++)
    while (t->ids[i]) drop(t, t->ids[i]);
  pthread_cond_destroy(&t->settled);
  pthread_mutex_destroy(&t->lock);
  free(t);
}

bool rp__members_find_key(struct rp__members *t, const char *scope, const char *key, char ret_id[RP_ID_MAX + 1])
{
  pthread_mutex_lock(&t->lock);
  struct rp__member *m = t->keys[bucket(t, key)];
  while (m && (m->closed || strcmp(m->key, key) != 0 || strcmp(rp__entry_scope(m->entry), scope) != 0)) m = m->by_key;
  if (m) snprintf(ret_id, RP_ID_MAX + 1, "%s", rp__entry_id(m->entry));
  pthread_mutex_unlock(&t->lock);
  return m != NULL;
}

/* ---- coming and going ---- */

/* Spread over the time between two beats, by blocks: a restart brings all of them at once. */
static int64_t first_beat(const struct rp__entry *e)
{
  int64_t now = now_ms(), phase = rp_session_number(rp__entry_session(e)) / BLOCK * 997 % BEAT_MS;
  int64_t at = now - now % BEAT_MS + phase;
  return at > now ? at : at + BEAT_MS;
}

static struct rp__member *make(struct rp__members *t, struct rp__entry *e)
{
  struct rp__member *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->entry = rp__entry_ref(t->of->srv->registry, e);
  m->beat_ms = first_beat(e);
  m->leave_ms = -1;
  *place(t, rp__entry_id(e)) = m;
  return m;
}

int rp__member_enter(struct rp__members *t, struct rp__entry *e, const char *key, bool writes, struct rp__member **ret,
                     rp_error *err)
{
  pthread_mutex_lock(&t->lock);
  struct rp__member *m = *place(t, rp__entry_id(e));
  while (m && m->closing) {
    pthread_cond_wait(&t->settled, &t->lock);
    m = *place(t, rp__entry_id(e));
  }
  if (!m) m = make(t, e);
  if (m) {
    m->n++;
    m->writers += writes;
    unlist(t, m);
    index_key(t, m, key);
  }
  pthread_mutex_unlock(&t->lock);
  if (!m) return rp__fail_nomem(err);
  *ret = m;
  return 0;
}

/* Sessions that were started elsewhere are watched, and left as they are. */
static bool is_ours(const struct rp__member *m)
{
  return strcmp(rp__entry_channel(m->entry), "channel") == 0;
}

/* The time that who leaves has to come back: what a member asked for, or what the session's scope says. */
static int64_t grace_ms(const struct rp__members *t, const struct rp__member *m)
{
  const struct rp__server *srv = t->of->srv;
  if (m->leave_ms >= 0) return m->leave_ms;
  return rp__settings_ms(&srv->set, srv->engine, rp__entry_scope(m->entry), "leave_s");
}

void rp__member_exit(struct rp__members *t, struct rp__member *m, bool writes, bool goodbye)
{
  pthread_mutex_lock(&t->lock);
  m->n--;
  m->writers -= writes;
  if (m->n == 0) {
    if (goodbye && writes && is_ours(m) && !m->closed)
      list(t, m, now_ms() + grace_ms(t, m));
    else
      drop(t, m);
  }
  pthread_mutex_unlock(&t->lock);
}

void rp__member_keep(struct rp__members *t, struct rp__member *m, int64_t leave_ms)
{
  pthread_mutex_lock(&t->lock);
  m->leave_ms = RP_MAX(m->leave_ms, leave_ms);
  pthread_mutex_unlock(&t->lock);
}

void rp__member_closed(struct rp__members *t, struct rp__member *m)
{
  pthread_mutex_lock(&t->lock);
  m->closed = true;
  pthread_mutex_unlock(&t->lock);
}

void rp__member_opened(struct rp__members *t, struct rp__member *m)
{
  pthread_mutex_lock(&t->lock);
  m->closed = false;
  pthread_mutex_unlock(&t->lock);
}

struct rp__channel *rp__member_channels(const struct rp__member *m)
{
  return m->channels;
}

void rp__member_add(struct rp__member *m, struct rp__channel *ch)
{
  ch->fellow = m->channels;
  m->channels = ch;
}

void rp__member_remove(struct rp__member *m, struct rp__channel *ch)
{
  struct rp__channel **at = &m->channels;
  while (*at && *at != ch) at = &(*at)->fellow;
  if (*at) *at = ch->fellow;
}

/* ---- closing what was left ---- */

struct rp__entry *rp__members_take(struct rp__members *t, bool early)
{
  struct rp__entry *e = NULL;
  pthread_mutex_lock(&t->lock);
  struct rp__member *m = t->first;
  if (m && (early || m->due_ms <= now_ms())) {
    unlist(t, m);
    m->closing = true;
    t->n_leaving++;
    e = rp__entry_ref(t->of->srv->registry, m->entry);
  }
  pthread_mutex_unlock(&t->lock);
  return e;
}

/* A store that is away is tried again; who comes back meanwhile finds the session open. */
void rp__members_settle(struct rp__members *t, struct rp__entry *e, int rc)
{
  pthread_mutex_lock(&t->lock);
  struct rp__member *m = *place(t, rp__entry_id(e));
  m->closing = false;
  t->n_leaving--;
  if (rc)
    list(t, m, now_ms() + grace_ms(t, m) + RETRY_MS);
  else
    drop(t, m);
  pthread_cond_broadcast(&t->settled);
  pthread_mutex_unlock(&t->lock);
  rp__registry_put(t->of->srv->registry, e);
  atomic_fetch_add(rc ? &t->left_failed : &t->left, 1);
}

size_t rp__members_leaving(struct rp__members *t, bool *ret_due)
{
  pthread_mutex_lock(&t->lock);
  size_t n = t->n_leaving;
  if (ret_due) *ret_due = t->first && t->first->due_ms <= now_ms();
  pthread_mutex_unlock(&t->lock);
  return n;
}

/* ---- heartbeats ---- */

/* Sessions that are due, each with a reference. */
struct due {
  struct rp__entry *entry;
  bool look;
};

struct batch {
  struct due v[BATCH];
  size_t n;
  size_t bucket; /* to go on with */
};

static bool beat_due(struct rp__member *m, int64_t now)
{
  if (!m->writers || m->closed || m->beat_ms > now) return false;
  m->beat_ms += BEAT_MS * ((now - m->beat_ms) / BEAT_MS + 1);
  return true;
}

static void add_due(struct rp__members *t, struct rp__member *m, int64_t now, struct batch *b)
{
  bool look = m->look_ms <= now;
  if (look) m->look_ms = now + RP_MAX(BEAT_MS, LOOK_MS * (int64_t)rp__channels_joined(t->of)) - 1;
  b->v[b->n++] = (struct due){rp__entry_ref(t->of->srv->registry, m->entry), look};
}

/* As their rows lie in the store. */
static int by_number(const void *a, const void *b)
{
  int64_t x = rp_session_number(rp__entry_session(((const struct due *)a)->entry));
  int64_t y = rp_session_number(rp__entry_session(((const struct due *)b)->entry));
  return (x > y) - (x < y);
}

static bool collect(struct rp__members *t, struct batch *b)
{
  int64_t now = now_ms();
  b->n = 0;
  pthread_mutex_lock(&t->lock);
  for (; b->bucket < BUCKETS && b->n < BATCH; b->bucket++) {
    for (struct rp__member *m = t->ids[b->bucket]; m && b->n < BATCH; m = m->by_id)
      if (beat_due(m, now)) add_due(t, m, now, b);
    if (b->n == BATCH) break; /* the rest of the bucket comes next */
  }
  pthread_mutex_unlock(&t->lock);
  qsort(b->v, b->n, sizeof b->v[0], by_number);
  return b->n > 0;
}

struct news {
  struct rp__job job;
  struct rp__members *t;
  char id[RP_ID_MAX + 1], status[16];
  int64_t seq;
};

/* In the loop. */
static void tell_news(struct rp__job *job)
{
  struct news *x = (struct news *)job;
  pthread_mutex_lock(&x->t->lock);
  struct rp__member *m = *place(x->t, x->id);
  struct rp__channel *ch = m ? m->channels : NULL;
  pthread_mutex_unlock(&x->t->lock);
  for (struct rp__channel *next; ch; ch = next) {
    next = ch->fellow;
    if (ch->socket) rp__channel_status(ch, x->status, x->seq);
  }
  free(x);
}

struct budget {
  struct rp__job job;
  struct rp__members *t;
  char id[RP_ID_MAX + 1];
  rp_ack ack;
};

/* In the loop. Once per crossing: a budget that was raised may come close again. */
static void tell_budget(struct rp__job *job)
{
  struct budget *x = (struct budget *)job;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024);
  struct rp__jw w = RP_JW(&out);
  pthread_mutex_lock(&x->t->lock);
  struct rp__member *m = *place(x->t, x->id);
  struct rp__channel *ch = m ? m->channels : NULL;
  pthread_mutex_unlock(&x->t->lock);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", x->id);
  rp__jw_kdouble(&w, "share", x->ack.budget_share);
  rp__jw_end_object(&w);
  for (struct rp__channel *next; ch; ch = next) {
    next = ch->fellow;
    bool news = ch->joined && ch->socket && ch->budget_low != x->ack.budget_low;
    if (news && x->ack.budget_low && (out.err || rp__channel_tell(ch, "budget", (struct rp__str){out.p, out.n})))
      continue;
    if (news) ch->budget_low = x->ack.budget_low;
  }
  free(x);
}

void rp__channels_budget(struct rp__server *srv, const char *session_id, const rp_ack *ack)
{
  if (!(ack->budget_share > 0) || !srv->channels) return;
  struct budget *x = calloc(1, sizeof *x);
  if (!x) return;
  *x = (struct budget){.job.fn = tell_budget, .t = srv->channels->members, .ack = *ack};
  snprintf(x->id, sizeof x->id, "%s", session_id);
  if (!rp__loop_post(srv->loop, &x->job)) free(x);
}

static int on_shown(void *ctx, const rp_session_info *info)
{
  struct news *x = ctx;
  snprintf(x->status, sizeof x->status, "%s", info->status);
  snprintf(x->id, sizeof x->id, "%s", info->id);
  x->seq = info->seq;
  return 0;
}

/* Rest and checkpoints leave no event behind: the row says it. */
static void look(struct rp__members *t, struct rp__entry *e)
{
  struct news *x = calloc(1, sizeof *x);
  if (!x) return;
  x->job.fn = tell_news;
  x->t = t;
  if (rp_show(t->of->srv->engine, rp__entry_id(e), on_shown, x, NULL) || !rp__loop_post(t->of->srv->loop, &x->job))
    free(x);
}

/* The first error counts. At the end of the server the rest is only let go of. */
static int beat(struct rp__members *t, const struct batch *b, int rc, rp_error *err)
{
  struct rp__server *srv = t->of->srv;
  for (size_t i = 0; i < b->n; i++) {
    rp_error why = {0};
    if (!atomic_load(&srv->draining)) {
      int one = rp_heartbeat(rp__entry_session(b->v[i].entry), &why);
      if (one && one != RP_E_ENDED && !rc) {
        rc = one;
        if (err) *err = why;
      }
    }
  }
  for (size_t i = 0; i < b->n; i++) {
    if (b->v[i].look && !atomic_load(&srv->draining)) look(t, b->v[i].entry);
    rp__registry_put(srv->registry, b->v[i].entry);
  }
  return rc;
}

int rp__channels_beat(struct rp__server *srv, rp_error *err)
{
  struct rp__members *t = srv->channels->members;
  struct batch *b RP_AUTOFREE = calloc(1, sizeof *b);
  int64_t until = now_ms() + RUN_MS;
  int rc = 0;
  if (!b) return rp__fail_nomem(err);
  while (collect(t, b)) {
    rc = beat(t, b, rc, err);
    if (now_ms() >= until) return rc ? rc : RP_WORK_AGAIN;
  }
  return rc;
}

void rp__members_metrics(struct rp__members *t, struct rp__buf *out)
{
  rp__buf_printf(out,
                 "# HELP reprise_server_sessions_leaving Sessions that were left and are not closed yet.\n"
                 "# TYPE reprise_server_sessions_leaving gauge\n"
                 "reprise_server_sessions_leaving %zu\n"
                 "# HELP reprise_server_sessions_left_total Sessions closed because their last member left.\n"
                 "# TYPE reprise_server_sessions_left_total counter\n"
                 "reprise_server_sessions_left_total{result=\"closed\"} %lld\n"
                 "reprise_server_sessions_left_total{result=\"failed\"} %lld\n",
                 rp__members_leaving(t, NULL), atomic_load(&t->left), atomic_load(&t->left_failed));
}
