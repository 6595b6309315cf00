/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mcp-seats.h"

#include "base/text.h"
#include "server/server.h"

#define CLIENT_TEXT 64
#define BEGIN_LOCKS 64 /* keys that share one wait for each other now and then */

struct seat {
  struct rp__entry *entry; /* NULL: free */
  int64_t used_ms;         /* monotonic */
  int64_t silence_ms;      /* abandon_s of its scope; 0: it may be silent for ever */
  char client[CLIENT_TEXT];
};

struct rp__mcp_seats {
  struct rp__server *srv;
  pthread_mutex_t lock, begin[BEGIN_LOCKS];
  struct seat *v;
  size_t n, cap, max;
};

static int64_t now_ms(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int rp__mcp_seats_new_of(struct rp__server *srv, size_t max, struct rp__mcp_seats **ret, rp_error *err)
{
  struct rp__mcp_seats *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  *s = (struct rp__mcp_seats){.srv = srv, .max = max};
  pthread_mutex_init(&s->lock, NULL);
  for (size_t i = 0; i < BEGIN_LOCKS; i++) pthread_mutex_init(&s->begin[i], NULL);
  *ret = s;
  return 0;
}

int rp__mcp_seats_new(struct rp__server *srv, struct rp__mcp_seats **ret, rp_error *err)
{
  return rp__mcp_seats_new_of(srv, RP_MCP_SEATS_MAX, ret, err);
}

void rp__mcp_seats_free(struct rp__mcp_seats *s)
{
  if (!s) return;
  for (size_t i = 0; i < s->n; i++) rp__registry_put(s->srv->registry, s->v[i].entry);
  pthread_mutex_destroy(&s->lock);
  for (size_t i = 0; i < BEGIN_LOCKS; i++) pthread_mutex_destroy(&s->begin[i]);
  free(s->v);
  free(s);
}

/* ---- the table; the lock is held ---- */

static struct seat *find(struct rp__mcp_seats *s, const char *id)
{
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(rp__entry_id(s->v[i].entry), id) == 0) return &s->v[i];
  return NULL;
}

static struct rp__entry *take_out(struct rp__mcp_seats *s, struct seat *seat)
{
  struct rp__entry *entry = seat->entry;
  *seat = s->v[--s->n];
  return entry;
}

static struct seat *most_silent(struct rp__mcp_seats *s)
{
  struct seat *found = s->v;
  for (size_t i = 1; i < s->n; i++)
    if (s->v[i].used_ms < found->used_ms) found = &s->v[i];
  return found;
}

/* False without memory: then its heartbeats are those of its requests. */
static bool grow(struct rp__mcp_seats *s)
{
  size_t cap = RP_MIN(RP_MAX(s->cap * 2, (size_t)16), s->max);
  if (s->n < s->cap) return true;
  struct seat *v = realloc(s->v, cap * sizeof *v);
  if (!v) return false;
  s->v = v;
  s->cap = cap;
  return true;
}

static int64_t silence_in(struct rp__mcp_seats *s, const char *scope)
{
  char *text = NULL;
  if (rp_config_get(s->srv->engine, scope, "abandon_s", &text, NULL)) return 0;
  int64_t ms = (int64_t)(strtod(text, NULL) * 1000);
  rp_free(text);
  return ms;
}

/* Whether there was one; a NULL entry only looks. What must be put back without the lock is in *ret_out. */
static bool settle(struct rp__mcp_seats *s, const char *id, struct rp__entry *entry, const char *client,
                   struct rp__entry **ret_out)
{
  *ret_out = entry;
  pthread_mutex_lock(&s->lock);
  struct seat *seat = find(s, id);
  bool there = seat != NULL;
  if (seat) seat->used_ms = now_ms();
  if (!seat && entry) {
    *ret_out = s->n == s->max ? take_out(s, most_silent(s)) : NULL;
    if (grow(s))
      *(seat = &s->v[s->n++]) =
          (struct seat){.entry = entry, .used_ms = now_ms(), .silence_ms = silence_in(s, rp__entry_scope(entry))};
    else
      *ret_out = entry;
  }
  if (seat && client) rp__text_copy(seat->client, sizeof seat->client, client);
  pthread_mutex_unlock(&s->lock);
  return there;
}

void rp__mcp_seats_use(struct rp__mcp_seats *s, const char *id, const char *client)
{
  struct rp__entry *entry = NULL, *out;
  if (settle(s, id, NULL, client, &out) || rp__registry_get(s->srv->registry, id, &entry, NULL)) return;
  rp_heartbeat(rp__entry_session(entry), NULL);
  settle(s, id, entry, client, &out);
  rp__registry_put(s->srv->registry, out);
}

void rp__mcp_seats_leave(struct rp__mcp_seats *s, const char *id)
{
  pthread_mutex_lock(&s->lock);
  struct seat *seat = find(s, id);
  struct rp__entry *entry = seat ? take_out(s, seat) : NULL;
  pthread_mutex_unlock(&s->lock);
  rp__registry_put(s->srv->registry, entry);
}

/* ---- beginning ---- */

pthread_mutex_t *rp__mcp_seats_lock(struct rp__mcp_seats *s, const char *scope, const char *key)
{
  size_t hash = 0;
  for (; *scope; scope++) hash = hash * 31 + (unsigned char)*scope;
  for (; *key; key++) hash = hash * 31 + (unsigned char)*key;
  pthread_mutex_t *lock = &s->begin[hash % BEGIN_LOCKS];
  pthread_mutex_lock(lock);
  return lock;
}

static void end_entry(struct rp__mcp_seats *s, struct rp__entry *entry, const char *reason)
{
  rp_end(rp__entry_session(entry), reason, NULL);
  rp__registry_forget(s->srv->registry, rp__entry_id(entry));
  rp__registry_put(s->srv->registry, entry);
}

/* One seat of theirs, out of the table. The one used last comes last: it is what the next session inherits from. */
static struct rp__entry *take_left(struct rp__mcp_seats *s, const char *scope, const char *client)
{
  struct seat *found = NULL;
  char name[CLIENT_TEXT];
  rp__text_copy(name, sizeof name, client);
  pthread_mutex_lock(&s->lock);
  for (size_t i = 0; i < s->n; i++) {
    struct seat *seat = &s->v[i];
    bool theirs = strcmp(seat->client, name) == 0 && strcmp(rp__entry_scope(seat->entry), scope) == 0;
    if (theirs && (!found || seat->used_ms < found->used_ms)) found = seat;
  }
  struct rp__entry *entry = found ? take_out(s, found) : NULL;
  pthread_mutex_unlock(&s->lock);
  return entry;
}

void rp__mcp_seats_again(struct rp__mcp_seats *s, const char *scope, const char *client)
{
  struct rp__entry *entry;
  while (client[0] && (entry = take_left(s, scope, client))) end_entry(s, entry, RP_MCP_END_AGAIN);
}

/* ---- stopping ---- */

static struct rp__entry *take_any(struct rp__mcp_seats *s)
{
  pthread_mutex_lock(&s->lock);
  struct rp__entry *entry = s->n ? take_out(s, &s->v[s->n - 1]) : NULL;
  pthread_mutex_unlock(&s->lock);
  return entry;
}

void rp__mcp_seats_stop(struct rp__mcp_seats *s, int64_t ms)
{
  int64_t until = now_ms() + ms;
  struct rp__entry *entry;
  while (now_ms() < until && !(s->srv->hurry && atomic_load(s->srv->hurry)) && (entry = take_any(s)))
    end_entry(s, entry, RP_MCP_END_STOP);
}

/* ---- tending ---- */

/* The next one from a place on, with a reference; *ret_silent: it is over, and out of the table. */
static struct rp__entry *next(struct rp__mcp_seats *s, size_t *at, bool *ret_silent)
{
  struct rp__entry *entry = NULL;
  pthread_mutex_lock(&s->lock);
  if (*at < s->n) {
    struct seat *seat = &s->v[*at];
    *ret_silent = seat->silence_ms > 0 && now_ms() - seat->used_ms > seat->silence_ms;
    /* What takes the place of one that goes is looked at next. */
    entry = *ret_silent ? take_out(s, seat) : rp__entry_ref(s->srv->registry, s->v[(*at)++].entry);
  }
  pthread_mutex_unlock(&s->lock);
  return entry;
}

int rp__mcp_seats_tend(struct rp__server *srv, rp_error *err)
{
  struct rp__entry *entry;
  size_t at = 0;
  bool silent = false;
  int rc = 0;
  while ((entry = next(srv->mcp, &at, &silent))) {
    rp_error why = {0};
    int one = silent ? rp_end(rp__entry_session(entry), "silent", &why) : rp_heartbeat(rp__entry_session(entry), &why);
    bool over = silent || one == RP_E_ENDED || one == RP_E_SESSION_NOT_FOUND;
    if (over && !silent) rp__mcp_seats_leave(srv->mcp, rp__entry_id(entry));
    if (over) rp__registry_forget(srv->registry, rp__entry_id(entry));
    if (one && !over) {
      rc = one;
      *err = why;
    }
    rp__registry_put(srv->registry, entry);
  }
  return rc;
}
