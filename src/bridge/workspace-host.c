/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the session of the proxy around a bridge. One agent serves all sessions of a proxy, so the agent's environment
 * can't name the session. A hook's input has the agent's id of the session. A server gets no id, but agents start a
 * server while they begin or load the session that the server is for.
 */
#include "base/clock.h"
#include "base/process/proc.h"
#include "bridge/workspace.h"
#include "json/json.h"
#include "base/enum-words.h"

#define LOOKED_AT 100            /* sessions of the scope in each list */
#define CANDIDATES_MAX 256       /* as many as a proxy has */
#define BEGINNING_MS (60 * 1000) /* a session that the agent gets later is not what a server was started for */
#define EVENTS_LOOKED_AT 256     /* after a server's start, for the word that the agent has the session again */
#define PATH_CHARS 4096

/* The kernel tells hundredths of a second, cut off: the next one is surely after it, if that has come yet. */
int64_t rp__workspace_born(void)
{
  struct rp__proc self;
  int64_t now = rp__wall(&rp__system_clock), boot = rp__boot(&rp__system_clock);
  long hz = sysconf(_SC_CLK_TCK);
  if (hz <= 0 || rp__proc_describe(0, &self, NULL) || self.start <= 0) return now;
  return RP_MIN(now, now - boot + (self.start + 1) * 1000 / hz + 1);
}

/* ---- those that it may be ---- */

struct candidate {
  char id[RP_ID_MAX + 1];
  int64_t created_at, last_activity_at, seq;
  bool here; /* it was begun in our directory */
};

struct search {
  const char *channel, *cwd;
  struct candidate *v;
  size_t n;
};

static void search_done(struct search *s)
{
  free(s->v);
}

static bool is_here(const struct search *s, const char *meta)
{
  RP_AUTOFREE char *cwd = rp__json_dup(rp__json_get(rp__json_trusted(meta, strlen(meta)), "cwd"));
  RP_AUTOFREE char *there = cwd ? realpath(cwd, NULL) : NULL, *here = realpath(s->cwd, NULL);
  return cwd && strcmp(there ? there : cwd, here ? here : s->cwd) == 0;
}

static int take(void *ctx, const rp_session_info *info)
{
  struct search *s = ctx;
  if (info->ended_at || s->n == CANDIDATES_MAX || !info->channel || strcmp(info->channel, s->channel) != 0) return 0;
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->v[i].id, info->id) == 0) return 0;
  struct candidate *c = &s->v[s->n++];
  *c = (struct candidate){.created_at = info->created_at,
                          .last_activity_at = info->last_activity_at,
                          .seq = info->seq,
                          .here = is_here(s, info->meta ? info->meta : "")};
  snprintf(c->id, sizeof c->id, "%s", info->id);
  return 0;
}

/* The living among the newest, and the open ones beyond them; by both lists, for a status may change between two of the
 * others. */
static int find_candidates(rp_engine *e, const char *scope, struct search *s, rp_error *err)
{
  size_t n = 0;
  int rc = 0;
  s->v = calloc(CANDIDATES_MAX, sizeof *s->v);
  if (!s->v) return rp__fail_nomem(err);
  for (rp_session_status status = RP_SESSION_ANY; !rc && status < RP_SESSION_CLOSED; status++) {
    const rp_filter f = {.scope = scope, .status = status, .limit = LOOKED_AT};
    rc = rp_list(e, &f, take, s, err);
  }
  for (size_t i = 0; !rc && i < s->n; i++) {
    bool alive = false;
    rc = rp_alive(e, s->v[i].id, &alive, err);
    if (rc == RP_E_SESSION_NOT_FOUND) rc = 0;
    if (alive) s->v[n++] = s->v[i];
  }
  s->n = n;
  return rc;
}

/* ---- by what the agent calls it ---- */

static bool is_called(rp_engine *e, const char *id, const char *sid)
{
  rp_session *s = NULL;
  char *state = NULL;
  bool same = false;
  if (rp_attach(e, id, &s, NULL) == 0 && rp_state_json(s, -1, &state, NULL) == 0) {
    struct rp__json provider = rp__json_get(rp__json_trusted(state, strlen(state)), "provider");
    same = rp__json_eq(rp__json_get(provider, "acp_session_id"), sid);
  }
  rp_free(state);
  rp_session_free(s);
  return same;
}

/* Its journal has the agent's present name for it. Most bear that name themselves, so they are asked first. */
static const struct candidate *by_name(rp_engine *e, const struct search *s, const char *sid)
{
  char id[RP_SCOPE_MAX + 1];
  rp__workspace_id(s->channel, sid, id);
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < s->n; i++)
      if ((strcmp(s->v[i].id, id) == 0) == (round == 0) && is_called(e, s->v[i].id, sid)) return &s->v[i];
  return NULL;
}

/* ---- by when the agent got it ---- */

struct moment {
  int64_t at; /* of the event looked at */
  bool got;   /* the agent has the session again */
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct moment *m = ctx;
  m->at = ev->at_ms;
  m->got = strcmp(ev->kind, "x-acp-agent") == 0 &&
           rp__json_eq(rp__json_get(rp__json_trusted(ev->body, ev->body_len), "event"), "restored");
  return m->got;
}

/* The number before the first event of that time. */
static int64_t seek(rp_session *s, int64_t seq, int64_t at)
{
  int64_t low = 0, high = seq;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    struct moment m = {0};
    RP_IGNORE(rp_events(s, middle, 1, on_event, &m, NULL)); /* one that can't be read counts as old */
    if (m.at < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* When the agent first got it after `from`: it was begun, or came back. 0: never. */
static int64_t got_at(rp_engine *e, const struct candidate *c, int64_t from)
{
  struct moment m = {0};
  rp_session *s = NULL;
  if (c->created_at >= from) return c->created_at;
  if (c->last_activity_at < from || rp_attach(e, c->id, &s, NULL)) return 0;
  RP_IGNORE(rp_events(s, seek(s, c->seq, from), EVENTS_LOOKED_AT, on_event, &m, NULL)); /* unread: it never got it */
  rp_session_free(s);
  return m.got ? m.at : 0;
}

static const struct candidate *by_birth(rp_engine *e, const struct search *s, const struct rp__workspace_guest *g)
{
  const struct candidate *best = NULL;
  int64_t first = g->born_ms + BEGINNING_MS;
  for (size_t i = 0; i < s->n; i++) {
    int64_t at = s->v[i].here ? got_at(e, &s->v[i], g->born_ms) : 0;
    if (!at || at >= first) continue;
    first = at;
    best = &s->v[i];
  }
  /* What the agent got before it greeted us may have been on its way when it started us: it tells nothing. */
  return first >= g->greeted_ms ? best : NULL;
}

/* ---- all together ---- */

int rp__workspace_host(rp_engine *e, const char *scope, const char *cwd, const struct rp__workspace_guest *guest,
                       char ret[RP_SCOPE_MAX + 1], bool *ret_sure, rp_error *err)
{
  const char *id = rp__workspace_session(), *bridge = getenv("REPRISE_BRIDGE");
  char here[PATH_CHARS];
  bool sure = true;
  if (!cwd || !*cwd) cwd = getcwd(here, sizeof here);
  if (!id && (!bridge || !*bridge || !cwd))
    return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no bridge is around this one");
  struct search s RP_CLEANUP(search_done) = {.channel = bridge, .cwd = cwd};
  if (!id) {
    int rc = find_candidates(e, scope, &s, err);
    if (rc) return rc;
    const struct candidate *c = guest->agent_sid ? by_name(e, &s, guest->agent_sid) : NULL;
    if (!c && guest->born_ms) c = by_birth(e, &s, guest);
    sure = c != NULL;
    /* Else by what goes on in it: the one with the last activity; to have begun is less than to be at work. */
    for (size_t i = 0; !sure && i < s.n; i++) {
      const struct candidate *x = &s.v[i];
      bool later = !c || x->last_activity_at > c->last_activity_at ||
                   (x->last_activity_at == c->last_activity_at && x->created_at < c->created_at);
      if (x->here && later) c = x;
    }
    if (c) id = c->id;
  }
  if (!id) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "'%s' has no open session of %s in %s", scope, bridge, cwd);
  snprintf(ret, RP_SCOPE_MAX + 1, "%s", id);
  *ret_sure = sure;
  return 0;
}
