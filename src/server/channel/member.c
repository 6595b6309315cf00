/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a session: one entry of the engine's presence for all channels joined to the session, from the first
 * join to the end of the grace after the last leave (L-02, L-08). The session's handle and its channels are beside the
 * entry; only the loop uses the channels.
 *
 * The sessions whose last member left are closed in the pool, a few at a time, so that they share the store's syncs,
 * and so that ten thousand of them delay no other work: a task closes one session and goes to the end of the pool's
 * queue.
 */
#include <pthread.h>

#include "base/ticks.h"
#include "server/channel/channel.h"

#define CLOSERS 3 /* less than RP_POOL_THREADS: joins and requests go on */
#define STEP_MS 10
#define RETRY_MS 1000 /* more than the grace, for a close that failed */
#define BEAT_MS 4000  /* between two heartbeats of a session; the engine writes only those that are due */
#define LOOK_MS 4     /* per joined session, between two looks at one of them: a crowd must not keep the store busy */

static void release(void *ctx, void *host)
{
  struct rp__channels *c = ctx;
  struct rp__member *m = host;
  rp__registry_put(c->srv->registry, m->entry);
  free(m);
}

/* ---- coming and going ---- */

int rp__member_enter(struct rp__channels *c, struct rp__entry *e, const char *key, bool writes, struct rp__member **ret,
                     rp_error *err)
{
  rp_session *s = e->s;
  rp_presence_row row = {.number = rp_session_number(s),
                         .kind = RP_PRESENCE_CHANNEL,
                         .end = RP_PRESENCE_CLOSE,
                         .heartbeat_ms = BEAT_MS,
                         .grace_ms = -1};
  struct rp__member *m = calloc(1, sizeof *m);
  void *found = NULL;
  if (!m) return rp__fail_nomem(err);
  m->of = c;
  m->entry = rp__entry_ref(c->srv->registry, e);
  snprintf(row.session, sizeof row.session, "%s", e->id);
  snprintf(row.scope, sizeof row.scope, "%s", e->scope);
  snprintf(row.name, sizeof row.name, "%s", key ? key : "");
  const rp_presence_host host = {.session = s, .host = m, .release = release, .ctx = c};
  int rc = rp_presence_join(c->srv->engine, &row, &host, writes, rp__ticks_ms(), &m->presence, &found, err);
  if (rc || found != m) release(c, m);
  if (!rc) *ret = found;
  return rc;
}

/* leave_s of its scope, in ms. */
static int64_t grace_of(const struct rp__member *m)
{
  const struct rp__server *srv = m->of->srv;
  return rp__server_settings_ms(&srv->set, srv->engine, m->entry->scope, "leave_s");
}

void rp__member_exit(struct rp__member *m, bool writes, bool goodbye)
{
  struct rp__server *srv = m->of->srv;
  /* Sessions that were started elsewhere are watched, and left as they are. */
  bool ours = strcmp(m->entry->channel, "channel") == 0;
  rp_presence_leave(srv->engine, m->presence, writes, goodbye && writes && ours ? grace_of(m) : -1, rp__ticks_ms());
}

/* Those of a session; a member that has channels is kept by them. */
static struct rp__channel *channels_of(struct rp__server *srv, const char *id)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .session = id};
  void *m = NULL;
  return rp_presence_find(srv->engine, &q, NULL, &m) ? ((struct rp__member *)m)->channels : NULL;
}

/* ---- news of a session for its channels ---- */

struct news {
  struct rp__job job;
  struct rp__server *srv;
  char id[RP_ID_MAX + 1];
  struct rp__shown row;
  rp_ack ack;
};

static void tell_status(struct rp__job *job)
{
  struct news *x = (struct news *)job;
  for (struct rp__channel *ch = channels_of(x->srv, x->row.id), *next; ch; ch = next) {
    next = ch->fellow;
    if (ch->socket) rp__channel_status(ch, x->row.status, x->row.seq);
  }
  free(x);
}

/* Once per crossing: a budget that was raised may come close again. */
static void tell_budget(struct rp__job *job)
{
  struct news *x = (struct news *)job;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", x->id);
  rp__jw_kdouble(&w, "share", x->ack.budget_share);
  rp__jw_end_object(&w);
  for (struct rp__channel *ch = channels_of(x->srv, x->id), *next; ch; ch = next) {
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
  struct news *x = calloc(1, sizeof *x);
  if (!x) return;
  *x = (struct news){.job.fn = tell_budget, .srv = srv, .ack = *ack};
  snprintf(x->id, sizeof x->id, "%s", session_id);
  if (!rp__loop_post(srv->loop, &x->job)) free(x);
}

/* Rest and checkpoints leave no event behind: the session's row says it. */
void rp__member_look(struct rp__member *m, int64_t now_ms)
{
  struct rp__server *srv = m->of->srv;
  if (m->look_ms > now_ms) return;
  m->look_ms = now_ms + RP_MAX(BEAT_MS, LOOK_MS * (int64_t)atomic_load(&m->of->n_joined)) - 1;
  struct news *x = calloc(1, sizeof *x);
  if (!x) return;
  x->job.fn = tell_status;
  x->srv = srv;
  if (rp__show(srv->engine, m->entry->id, &x->row, NULL) || !rp__loop_post(srv->loop, &x->job)) free(x);
}

/* ---- closing what was left ---- */

struct closer {
  struct rp__task task;
  struct rp__leaving *of;
  bool busy;
};

struct rp__leaving {
  struct rp__channels *of;
  pthread_mutex_t lock;
  pthread_cond_t idle; /* a closer has ended */
  struct closer closer[CLOSERS];
  size_t busy;
  bool early, over; /* at the server's end: no grace; no more of it */
  rp_error why;     /* of the last one, when it failed */
  atomic_llong closed, failed;
};

_Static_assert(CLOSERS < RP_POOL_THREADS, "somebody must be left for the others");

int rp__leaving_new(struct rp__channels *c, struct rp__leaving **ret, rp_error *err)
{
  struct rp__leaving *l = calloc(1, sizeof *l);
  pthread_condattr_t attr;
  if (!l) return rp__fail_nomem(err);
  l->of = c;
  pthread_mutex_init(&l->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&l->idle, &attr);
  pthread_condattr_destroy(&attr);
  *ret = l;
  return 0;
}

void rp__leaving_free(struct rp__leaving *l)
{
  if (!l) return;
  pthread_cond_destroy(&l->idle);
  pthread_mutex_destroy(&l->lock);
  free(l);
}

size_t rp__leaving_closers(struct rp__leaving *l)
{
  pthread_mutex_lock(&l->lock);
  size_t n = l->busy;
  pthread_mutex_unlock(&l->lock);
  return n;
}

static void close_one(struct rp__task *t)
{
  struct closer *c = (struct closer *)t;
  struct rp__leaving *l = c->of;
  struct rp__server *srv = l->of->srv;
  rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .due_by = rp__ticks_ms()};
  rp_presence *p = NULL;
  rp_presence_row row;
  void *member;
  pthread_mutex_lock(&l->lock);
  bool over = l->over;
  if (l->early) q.due_by = INT64_MAX;
  pthread_mutex_unlock(&l->lock);
  if (!over) p = rp_presence_take(srv->engine, &q, &row, &member);
  if (p) {
    rp_session *s = NULL;
    rp_error why = {0};
    int rc = rp_attach(srv->engine, row.session, &s, &why);
    if (!rc) rc = rp_end(s, "left", &why);
    rp_session_free(s);
    if (rc == RP_E_ENDED || rc == RP_E_TRANSITION || rc == RP_E_SESSION_NOT_FOUND) rc = 0;
    pthread_mutex_lock(&l->lock);
    l->why = rc ? why : (rp_error){0};
    if (rc && l->early) l->over = true; /* there is no time to wait for the store */
    pthread_mutex_unlock(&l->lock);
    atomic_fetch_add(rc ? &l->failed : &l->closed, 1);
    /* A store that is away is tried again; who comes back meanwhile finds the session open. */
    int64_t grace = row.grace_ms >= 0 ? row.grace_ms : grace_of(member);
    rp_presence_settle(srv->engine, p, rc ? rp__ticks_ms() + grace + RETRY_MS : -1);
  }
  if (p && rp__pool_post(srv->pool, t)) return;
  pthread_mutex_lock(&l->lock);
  c->busy = false;
  l->busy--;
  pthread_cond_broadcast(&l->idle);
  pthread_mutex_unlock(&l->lock);
}

static void wake(struct rp__leaving *l)
{
  pthread_mutex_lock(&l->lock);
  for (size_t i = 0; i < CLOSERS; i++) {
    struct closer *c = &l->closer[i];
    if (c->busy) continue;
    *c = (struct closer){.task.fn = close_one, .of = l};
    c->busy = rp__pool_post(l->of->srv->pool, &c->task);
    l->busy += c->busy;
  }
  pthread_mutex_unlock(&l->lock);
}

int rp__channels_leave(struct rp__server *srv, rp_error *err)
{
  struct rp__leaving *l = srv->channels->leaving;
  rp_presence_counts n = rp_presence_count(srv->engine, RP_PRESENCE_CHANNEL, rp__ticks_ms());
  if (n.due) wake(l);
  pthread_mutex_lock(&l->lock);
  if (!n.ending) l->why.code = 0; /* those that could not be closed are in use again */
  int rc = l->why.code;
  if (rc && err) *err = l->why;
  pthread_mutex_unlock(&l->lock);
  return rc;
}

static bool is_done(struct rp__leaving *l, bool early)
{
  rp_presence_counts n = rp_presence_count(l->of->srv->engine, RP_PRESENCE_CHANNEL, rp__ticks_ms());
  return early ? n.ending == 0 : !n.due && rp__leaving_closers(l) == 0;
}

size_t rp__channels_leave_now(struct rp__server *srv, bool early, int64_t ms)
{
  struct rp__leaving *l = srv->channels->leaving;
  int64_t end = rp__ticks_ms() + ms;
  bool over = ms <= 0;
  pthread_mutex_lock(&l->lock);
  l->early = early;
  pthread_mutex_unlock(&l->lock);
  while (!over && !is_done(l, early)) {
    wake(l); /* again: the pool may have been full */
    int64_t until = rp__ticks_ms() + STEP_MS;
    struct timespec step = {until / 1000, until % 1000 * 1000000};
    pthread_mutex_lock(&l->lock);
    pthread_cond_timedwait(&l->idle, &l->lock, &step);
    over = l->over || rp__ticks_ms() >= end || (srv->hurry && atomic_load(srv->hurry));
    pthread_mutex_unlock(&l->lock);
  }
  pthread_mutex_lock(&l->lock);
  l->over = true;
  while (l->busy) pthread_cond_wait(&l->idle, &l->lock);
  pthread_mutex_unlock(&l->lock);
  return rp_presence_count(srv->engine, RP_PRESENCE_CHANNEL, 0).ending;
}

void rp__leaving_metrics(struct rp__leaving *l, struct rp__buf *out)
{
  rp__buf_printf(out,
                 "# HELP reprise_server_sessions_leaving Sessions that were left and are not closed yet.\n"
                 "# TYPE reprise_server_sessions_leaving gauge\n"
                 "reprise_server_sessions_leaving %zu\n"
                 "# HELP reprise_server_sessions_left_total Sessions closed because their last member left.\n"
                 "# TYPE reprise_server_sessions_left_total counter\n"
                 "reprise_server_sessions_left_total{result=\"closed\"} %lld\n"
                 "reprise_server_sessions_left_total{result=\"failed\"} %lld\n",
                 rp_presence_count(l->of->srv->engine, RP_PRESENCE_CHANNEL, 0).ending, atomic_load(&l->closed),
                 atomic_load(&l->failed));
}
