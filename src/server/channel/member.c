/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a session: one entry of the engine's presence for all channels joined to the session, from the first
 * join to the end of the grace after the last leave (L-02, L-08). The session's handle and its channels are beside the
 * entry; only the loop uses the channels.
 */
#include "base/clock.h"
#include "server/channel/channel.h"
#include "base/ticks.h"

#define BEAT_MS 4000 /* between two heartbeats of a session; the engine writes only those that are due */
#define LOOK_MS 4    /* per joined session, between two looks at one of them: a crowd must not keep the store busy */

struct rp__member {
  struct rp__channels *of;
  rp_presence *presence;
  struct rp__entry *entry;
  int64_t look_ms;              /* when the next look is due; of the thread that sends heartbeats */
  struct rp__channel *channels; /* in the loop */
};

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
  rp_session *s = rp__entry_session(e);
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
  snprintf(row.session, sizeof row.session, "%s", rp__entry_id(e));
  snprintf(row.scope, sizeof row.scope, "%s", rp__entry_scope(e));
  snprintf(row.name, sizeof row.name, "%s", key ? key : "");
  const rp_presence_host host = {.session = s, .host = m, .release = release, .ctx = c};
  int rc = rp_presence_join(c->srv->engine, &row, &host, writes, rp__ticks_ms(), &m->presence, &found, err);
  if (rc || found != m) release(c, m);
  if (!rc) *ret = found;
  return rc;
}

int64_t rp__member_grace(const struct rp__member *m)
{
  const struct rp__server *srv = m->of->srv;
  return rp__server_settings_ms(&srv->set, srv->engine, rp__entry_scope(m->entry), "leave_s");
}

void rp__member_exit(struct rp__member *m, bool writes, bool goodbye)
{
  struct rp__server *srv = m->of->srv;
  /* Sessions that were started elsewhere are watched, and left as they are. */
  bool ours = strcmp(rp__entry_channel(m->entry), "channel") == 0;
  rp_presence_leave(srv->engine, m->presence, writes, goodbye && writes && ours ? rp__member_grace(m) : -1,
                    rp__ticks_ms());
}

void rp__member_keep(struct rp__member *m, int64_t leave_ms)
{
  rp_presence_keep(m->of->srv->engine, m->presence, leave_ms);
}

void rp__member_set_closed(struct rp__member *m, bool closed)
{
  rp_presence_set_ended(m->of->srv->engine, m->presence, closed);
}

/* ---- channels; in the loop ---- */

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
  m->look_ms = now_ms + RP_MAX(BEAT_MS, LOOK_MS * (int64_t)rp__channels_joined(m->of)) - 1;
  struct news *x = calloc(1, sizeof *x);
  if (!x) return;
  x->job.fn = tell_status;
  x->srv = srv;
  if (rp__show(srv->engine, rp__entry_id(m->entry), &x->row, NULL) || !rp__loop_post(srv->loop, &x->job)) free(x);
}
