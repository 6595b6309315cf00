/* SPDX-License-Identifier: Apache-2.0 */
#include "server/spill.h"

#include "server/server.h"
#include "server/spill-impl.h"

#define LANES_MAX 65536 /* sessions with appends that accept memory, at once */

int rp__spill_new(struct rp__server *srv, struct rp__spill **ret, rp_error *err)
{
  pthread_condattr_t attr;
  struct rp__spill *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  s->srv = srv;
  rp__away_init(&s->away);
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&s->landed, &attr);
  pthread_condattr_destroy(&attr);
  *ret = s;
  return 0;
}

void rp__spill_note(struct rp__spill *s, int rc, const rp_error *err)
{
  rp__away_note(&s->away, rc, err, rp__server_now(s->srv), &s->srv->log);
}

/* ---- lanes: with the lock held ---- */

static struct rp__lane **lane_at(struct rp__spill *s, const char *id)
{
  uint64_t hash = 1469598103934665603u; /* FNV-1a */
  for (const char *p = id; *p; p++) hash = (hash ^ (unsigned char)*p) * 1099511628211u;
  struct rp__lane **at = &s->lanes[hash % RP_SPILL_BUCKETS];
  while (*at && strcmp((*at)->id, id) != 0) at = &(*at)->next;
  return at;
}

static struct rp__lane *lane_new(struct rp__spill *s, struct rp__entry *e)
{
  const char *id = rp__entry_id(e);
  size_t n = strlen(id) + 1;
  if (atomic_load(&s->n_lanes) >= LANES_MAX) return NULL;
  struct rp__lane *l = calloc(1, sizeof *l + n);
  if (!l) return NULL;
  memcpy(l->id, id, n);
  l->spill = s;
  l->entry = rp__entry_ref(s->srv->registry, e);
  return l;
}

/* A handle that was made anew knows better than the one before, which may believe that it is fenced. */
static void renew_entry(struct rp__spill *s, struct rp__lane *l, struct rp__entry *e)
{
  struct rp__retired *r = l->entry == e ? NULL : malloc(sizeof *r);
  if (!r) return;
  *r = (struct rp__retired){l->retired, l->entry};
  l->retired = r;
  l->entry = rp__entry_ref(s->srv->registry, e);
}

static struct rp__lane *lane_of(struct rp__spill *s, struct rp__entry *e)
{
  struct rp__lane **at = lane_at(s, rp__entry_id(e));
  if (*at) {
    renew_entry(s, *at, e);
  } else if ((*at = lane_new(s, e))) {
    atomic_fetch_add(&s->n_lanes, 1);
  }
  return *at;
}

/* ---- without the lanes ---- */

struct direct {
  struct rp__spill *s;
  rp_append_fn *done;
  void *ctx;
};

static void on_direct(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct direct d = *(struct direct *)ctx;
  free(ctx);
  rp__spill_note(d.s, ack ? 0 : err->code, err);
  if (d.done) d.done(d.ctx, ack, err);
  atomic_fetch_sub(&d.s->flights, 1); /* the last touch */
}

static int append_direct(struct rp__spill *s, const struct rp__append *a, rp_error *err)
{
  struct direct *d = malloc(sizeof *d);
  if (!d) return rp__fail_nomem(err);
  *d = (struct direct){s, a->done, a->ctx};
  atomic_fetch_add(&s->flights, 1);
  int rc = rp_append_many_async(rp__entry_session(a->entry), a->events, a->n, &a->options, on_direct, d, err);
  if (!rc) return 0;
  atomic_fetch_sub(&s->flights, 1);
  free(d);
  return rc;
}

/* ---- appending ---- */

/* With the lock held. While the store is away its own word is what helps. */
static int refuse(struct rp__spill *s, const struct rp__append *a, const char *why, rp_error *err)
{
  s->refused += (int64_t)a->n;
  if (!atomic_load(&s->away.away)) return rp__fail(err, RP_E_BUSY, "%s", why);
  pthread_mutex_lock(&s->away.lock);
  int code = s->away.code;
  rp__fail(err, code, "%s: %s", why, s->away.why);
  pthread_mutex_unlock(&s->away.lock);
  return code;
}

/* An append that must find the journal at a certain number is never answered before that is known. */
static bool takes_memory(const struct rp__spill *s, const struct rp__append *a)
{
  bool accepts = a->accepts_memory || a->options.durability == RP_MEMORY;
  return accepts && a->options.expect < 0 && s->srv->set.spill_bytes > 0;
}

/*
 * Into the lane, behind what is there. *ret_first: it is the first, and in the caller's hands. (An empty lane may still
 * fly: whoever tells of the one before goes on with this one.)
 */
static int enter(struct rp__spill *s, const struct rp__append *a, struct rp__kept *k, bool *ret_first, rp_error *err)
{
  struct rp__lane *l = lane_of(s, a->entry);
  if (!l) return refuse(s, a, "too many sessions have events that wait in memory", err);
  if (l->away && !k->memory) return refuse(s, a, "events of this session wait for the store", err);
  if (s->bytes + k->bytes > s->srv->set.spill_bytes) return refuse(s, a, "no more events can wait in memory", err);
  *ret_first = !l->head && !l->flying;
  rp__lane_add(l, k);
  s->bytes += k->bytes;
  k->told = k->memory && (l->away || k->options.durability == RP_MEMORY);
  if (*ret_first) l->flying = true;
  if (l->away) rp__spill_count(s, l, k);
  return 0;
}

/* The engine refused the first at once: its sender hears of it, and who came behind it goes on. */
static int withdraw(struct rp__spill *s, struct rp__lane *l, int rc)
{
  pthread_mutex_lock(&s->lock);
  struct rp__kept *k = rp__lane_pop(l);
  s->bytes -= k->bytes;
  rp__kept_free(k);
  l->flying = false;
  pthread_cond_broadcast(&s->landed);
  rp__spill_fly(s, l);
  return rc;
}

static bool is_busy(struct rp__spill *s, const struct rp__append *a)
{
  const struct rp__lane *l = *lane_at(s, rp__entry_id(a->entry));
  return l && (l->head || l->flying);
}

static const struct rp__lane *away_lane(struct rp__spill *s, const struct rp__append *a)
{
  const struct rp__lane *l = *lane_at(s, rp__entry_id(a->entry));
  return l && l->away ? l : NULL;
}

/* A key that waits already, with other events: they would be dropped as a conflict when the store is back. */
static int vet_key(const struct rp__lane *l, const struct rp__append *a, rp_error *err)
{
  const char *key = a->events[0].idempotency_key;
  for (const struct rp__kept *k = key ? l->head : NULL; k; k = k->next) {
    if (!k->events[0].idempotency_key || strcmp(k->events[0].idempotency_key, key) != 0) continue;
    if (!rp__kept_same(k, a))
      return rp__fail_field(err, RP_E_KEY_REUSED, "idempotency_key",
                            "session %s: the key was given to other events before, which wait to be stored",
                            rp__entry_id(a->entry));
  }
  return 0;
}

/* What was read must still be so: what landed meanwhile is neither in the lane nor in what was read. */
static int vet_new(struct rp__spill *s, const struct rp__append *a, enum rp__repeat *ret, rp_error *err)
{
  const char *id = rp__entry_id(a->entry);
  const struct rp__lane *l;
  int rc = 0;
  while (!rc && (l = away_lane(s, a))) {
    struct rp__vetting v;
    uint64_t landings = l->landings;
    pthread_mutex_unlock(&s->lock);
    rc = rp__vetting_read(s, id, rp__entry_session(a->entry), a->options.client_id, &v, err);
    pthread_mutex_lock(&s->lock);
    if (rc || !(l = away_lane(s, a)) || l->landings != landings) continue;
    rc = vet_key(l, a, err);
    if (!rc) rc = rp__vet(&v, l, NULL, id, &a->options, a->n, ret, err);
    break;
  }
  if (!rc) return 0;
  /* A key may make it a repeat of what is stored, which nobody can ask the store for now. */
  if (a->events[0].idempotency_key && !rp__away_is(rc) && rc != RP_E_KEY_REUSED)
    return refuse(s, a, "whether it is a repeat can't be known", err);
  s->refused += (int64_t)a->n;
  return rc;
}

/* It will be answered before the store has seen it. With the lock held, which is let go meanwhile. */
static int vet(struct rp__spill *s, const struct rp__append *a, enum rp__repeat *ret, rp_error *err)
{
  if (!is_busy(s, a)) return 0;
  pthread_mutex_unlock(&s->lock);
  int rc = rp_append_check(rp__entry_session(a->entry), a->events, a->n, &a->options, err);
  pthread_mutex_lock(&s->lock);
  return rc ? rc : vet_new(s, a, ret, err);
}

static int tell_repeat(const struct rp__append *a, struct rp__kept *k, enum rp__repeat repeat)
{
  rp_ack ack = {.durability = repeat == RP_REPEAT_STORED ? RP_OS : RP_MEMORY, .repeated = true};
  rp__kept_free(k);
  if (a->done) a->done(a->ctx, &ack, NULL);
  return 0;
}

static int append_kept(struct rp__spill *s, const struct rp__append *a, struct rp__kept *k, rp_error *err)
{
  bool first = false;
  enum rp__repeat repeat = RP_REPEAT_NONE;
  pthread_mutex_lock(&s->lock);
  int rc = k->memory ? vet(s, a, &repeat, err) : 0;
  if (!rc && !repeat) rc = enter(s, a, k, &first, err);
  bool told = !rc && !repeat && k->told;
  rp_session *session = first ? rp__entry_session(k->lane->entry) : NULL;
  pthread_mutex_unlock(&s->lock);
  if (repeat) return tell_repeat(a, k, repeat);
  if (rc) rp__kept_free(k);
  struct rp__lane *l = first ? k->lane : NULL; /* ours as long as it flies */
  if (!rc && first && (rc = rp__spill_submit(s, k, session, err))) return withdraw(s, l, rc);
  if (told && a->done) a->done(a->ctx, &(rp_ack){.durability = RP_MEMORY}, NULL);
  return rc;
}

int rp__spill_append(struct rp__spill *s, const struct rp__append *a, rp_error *err)
{
  bool memory = takes_memory(s, a);
  if (!memory) {
    if (!atomic_load(&s->n_lanes)) return append_direct(s, a, err);
    pthread_mutex_lock(&s->lock);
    bool busy = is_busy(s, a);
    pthread_mutex_unlock(&s->lock);
    if (!busy) return append_direct(s, a, err);
  }
  struct rp__kept *k = rp__kept_new(a, memory, rp__server_now(s->srv));
  return k ? append_kept(s, a, k, err) : rp__fail_nomem(err);
}
