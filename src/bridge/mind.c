/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/mind.h"

#include "base/clock.h"

#define META_MAX 256
#define BRIEF_MAX ((size_t)1024 * 1024)
#define LOOKBACK 512 /* events searched for what hooks told */

/* ---- finding ---- */

struct found {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], key[RP_ID_MAX + 1];
  bool trashed;
};

static int on_found(void *ctx, const rp_session_info *info)
{
  struct found *f = ctx;
  snprintf(f->id, sizeof f->id, "%s", info->id);
  snprintf(f->scope, sizeof f->scope, "%s", info->scope);
  snprintf(f->key, sizeof f->key, "%s", info->key ? info->key : "");
  f->trashed = info->trashed_at != 0;
  return 0;
}

static const char *channel_of(const struct rp__mind *m)
{
  return m->channel[0] ? m->channel : NULL;
}

/* What lies elsewhere is not told of: a token may open this scope alone. */
static int find(const struct rp__mind *m, const char *ref, struct found *ret, rp_error *err)
{
  struct found f = {0};
  char id[RP_ID_MAX + 1];
  int rc = strcmp(ref, "last") == 0 ? rp_last_in(m->e, m->scope, channel_of(m), id, err)
                                    : rp_resolve_in(m->e, m->scope, ref, id, err);
  if (!rc) rc = rp_show(m->e, id, on_found, &f, err);
  if (!rc && (strcmp(f.scope, m->scope) != 0 || f.trashed))
    rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session of scope %s has the id, key or prefix '%s'", m->scope, ref);
  if (rc) return rc;
  *ret = f;
  return 0;
}

int rp__mind_resolve(const struct rp__mind *m, const char *ref, char ret[RP_ID_MAX + 1], rp_error *err)
{
  struct found f;
  int rc = find(m, ref, &f, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rp__hint(err, "session_search finds sessions by words said in them");
  if (!rc) memcpy(ret, f.id, sizeof f.id);
  return rc;
}

/* ---- joining ---- */

/* A guest goes by the session's own scope, whatever its directory says. */
static int join(struct rp__mind *m, const char *id, rp_error *err)
{
  struct found f = {0};
  rp_session *s = NULL;
  int rc = rp_show(m->e, id, on_found, &f, err);
  if (!rc) rc = rp_attach(m->e, f.id, &s, err);
  if (rc) return rc;
  memcpy(m->scope, f.scope, sizeof m->scope);
  m->s = s;
  m->guest = true;
  return 0;
}

static void note_birth(struct rp__mind *m)
{
  if (m->born_ms) return;
  m->born_ms = rp__place_born();
  m->greeted_ms = rp__wall(&rp__system_clock);
}

/* Which session the bridge around us has may show only once its editor made one. */
static int join_host(struct rp__mind *m, bool *ret_sure, rp_error *err)
{
  char id[RP_SCOPE_MAX + 1];
  struct rp__place_guest g = {0};
  note_birth(m);
  if (!m->hosted) g = (struct rp__place_guest){.born_ms = m->born_ms, .greeted_ms = m->greeted_ms};
  m->guest = true;
  int rc = rp__place_host(m->e, m->scope, NULL, &g, id, ret_sure, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rp__hint(err, "try again after the first prompt");
  return rc ? rc : join(m, id, err);
}

bool rp__mind_waits(struct rp__mind *m)
{
  bool waits = !m->s && !m->remote && rp__place_nested() && !rp__place_session();
  if (waits) note_birth(m);
  return waits;
}

bool rp__mind_peek(struct rp__mind *m)
{
  bool sure = true;
  if (!rp__mind_waits(m) || rp__mind_open(m, NULL) || join_host(m, &sure, NULL)) return false;
  m->begun = true;
  m->hosted = m->hosted || sure;
  return !sure;
}

static int join_last(struct rp__mind *m, rp_error *err)
{
  struct found f;
  int rc = find(m, m->ref[0] ? m->ref : "last", &f, err);
  return rc ? rc : join(m, f.id, err);
}

/* ---- beginning ---- */

static int take_brief(struct rp__mind *m)
{
  const char *doc = rp_start_json(m->s);
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type != RP_JSON_STRING) return 0;
  m->brief = rp__json_dup(brief);
  return m->brief ? 0 : RP_E_NOMEM;
}

/* `kin`: the run is our agent's, for others of its may share it. */
static int start(struct rp__mind *m, const struct found *f, bool kin, rp_error *err)
{
  rp_start_options o = {.scope = m->scope, .channel = m->channel, .owner = m->owner, .owner_pid = m->owner_pid};
  if (kin) {
    o.owner = RP_OWNER_PID;
    o.owner_pid = m->agent_pid;
    /* Not one that the agent itself started elsewhere: that is not ours to end. */
    if (!m->ref[0]) o.mode = RP_MODE_SUCCESSOR;
  }
  RP_AUTOBUF struct rp__buf meta = RP_BUF(META_MAX);
  struct rp__jw w = RP_JW(&meta);
  rp__jw_object(&w);
  rp__kin_mark(&w, m->agent_pid, "mcp");
  rp__jw_end_object(&w);
  if (m->agent_pid && !meta.err) o.meta = meta.p;
  /* By its key an ended one gets a successor; named otherwise it is itself resumed. */
  if (f->id[0] && strcmp(f->key, m->ref) != 0)
    o.id = f->id;
  else if (m->ref[0])
    o.key = m->ref;
  int rc = rp_start(m->e, &o, &m->s, err);
  if (rc) return rc;
  if (take_brief(m)) {
    rp__mind_leave(m);
    return rp__fail_nomem(err);
  }
  return 0;
}

/* Its server is gone, and with it what it told the model: we tell it. Without it the tools work all the same. */
static void take_place(struct rp__mind *m)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(BRIEF_MAX);
  if (rp__kin_alone(&m->seat) && rp__mind_brief_now(m, &text, NULL) == 0 && text.n && !text.err)
    m->brief = strdup(text.p);
}

/* Joins what another bridge of our agent began; only sessions that a server began have seats for servers. */
static bool join_kin(struct rp__mind *m, const char *bridge)
{
  char id[RP_SCOPE_MAX + 1];
  if (rp__kin_find(m->e, m->scope, m->agent_pid, bridge, true, id, NULL) || join(m, id, NULL)) return false;
  if (strcmp(bridge, "mcp") == 0 && rp__kin_sit(&m->seat, m->agent_pid, id)) take_place(m);
  return true;
}

static int start_seated(struct rp__mind *m, const struct found *f, bool kin, rp_error *err)
{
  kin = kin && m->owner == RP_OWNER_SELF;
  int rc = start(m, f, kin, err);
  if (!rc && kin) rp__kin_sit(&m->seat, m->agent_pid, rp_session_id(m->s));
  return rc;
}

/* What `ref` names: joined if it lives, else resumed or begun. */
static int begin_named(struct rp__mind *m, bool kin, rp_error *err)
{
  struct found f = {0};
  char ours[RP_SCOPE_MAX + 1];
  bool alive = false;
  int rc = find(m, m->ref, &f, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rc = 0;
  if (!rc && f.id[0]) rc = rp_alive(m->e, f.id, &alive, err);
  if (rc) return rc;
  /* One brief per run: who comes to a run that lives is told nothing. */
  if (!alive) rc = start_seated(m, &f, kin, err);
  bool outrun = rc == RP_E_HELD; /* somebody began it between our look and our start */
  if (outrun) rc = find(m, m->ref, &f, err);
  if (rc || !(alive || outrun)) return rc;
  bool shared = rp__kin_find(m->e, m->scope, m->agent_pid, "mcp", true, ours, NULL) == 0 && strcmp(ours, f.id) == 0;
  if (shared && join_kin(m, "mcp")) return 0;
  return join(m, f.id, err);
}

/* ---- without beginning ---- */

/* Whether there is somebody to go to, or somebody named whom to go to: then that is what beginning does. */
static bool has_host(const struct rp__mind *m)
{
  return m->ref[0] || (!m->remote && rp__place_nested());
}

int rp__mind_greet(struct rp__mind *m, bool *ret_tell, rp_error *err)
{
  char name[RP_KIN_TELLER_MAX];
  *ret_tell = false;
  if (has_host(m)) return rp__mind_begin(m, err);
  int rc = rp__mind_open(m, err);
  if (rc) return rc;
  RP_AUTOCLOSE int lock = rp__kin_lock(m->agent_pid);
  (void)lock; /* its end is its use */
  m->begun = m->s || join_kin(m, "hook") || join_kin(m, "mcp");
  if (m->begun) return 0;
  rp__kin_teller(m->scope, name);
  *ret_tell = m->teller.taken || !rp__kin_seated(m->agent_pid, name);
  if (*ret_tell && !m->teller.taken) rp__kin_sit(&m->teller, m->agent_pid, name);
  return 0;
}

int rp__mind_look(struct rp__mind *m, bool *ret_passing, rp_error *err)
{
  rp_error why = {0};
  *ret_passing = false;
  if (m->s || has_host(m)) return rp__mind_begin(m, err);
  int rc = rp__mind_open(m, err);
  if (rc) return rc;
  m->begun = join_kin(m, "hook") || join_kin(m, "mcp");
  if (m->begun) return 0;
  rc = join_last(m, &why);
  *ret_passing = !rc;
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  if (rc && err) *err = why;
  return rc;
}

/* ---- beginning, at last ---- */

static int begin(struct rp__mind *m, rp_error *err)
{
  static const struct found none = {0};
  bool sure;
  if (!m->remote && rp__place_nested()) {
    int rc = join_host(m, &sure, err);
    m->hosted = m->hosted || !rc;
    return rc;
  }
  if (m->reads_only) return join_last(m, err);
  /* While we look and begin, the others of our agent wait. */
  RP_AUTOCLOSE int lock = rp__kin_lock(m->agent_pid);
  if (m->ref[0]) return begin_named(m, lock >= 0, err);
  if (join_kin(m, "hook") || join_kin(m, "mcp")) return 0;
  return start_seated(m, &none, lock >= 0, err);
}

int rp__mind_open(struct rp__mind *m, rp_error *err)
{
  if (m->e) return 0;
  return m->open ? m->open(m->open_ctx, &m->e, err) : rp__fail(err, RP_E_UNREACHABLE, "there is no store");
}

/* Steps on the way may fail and be mended: the caller's error is written only when all failed. */
int rp__mind_begin(struct rp__mind *m, rp_error *err)
{
  rp_error why = {0};
  if (m->s) return 0;
  int rc = rp__mind_open(m, &why);
  if (!rc) rc = begin(m, &why);
  m->begun = !rc;
  if (rc && err) *err = why;
  return rc;
}

const char *rp__mind_brief(struct rp__mind *m)
{
  return m->brief;
}

int rp__mind_brief_now(struct rp__mind *m, struct rp__buf *out, rp_error *err)
{
  const rp_brief_options o = {.scope = m->scope, .channel = channel_of(m)};
  char *doc = NULL;
  int rc = rp__mind_open(m, err);
  if (!rc) rc = m->s ? rp_brief(m->s, false, &doc, err) : rp_brief_scope(m->e, &o, &doc, err);
  if (rc) return rc;
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, out);
  rp_free(doc);
  return 0;
}

/* ---- ending ---- */

void rp__mind_leave(struct rp__mind *m)
{
  rp_session_detach(m->s);
  rp__kin_rise(&m->seat);
  free(m->brief);
  m->s = NULL;
  m->brief = NULL;
  m->guest = m->begun = m->told = false;
}

/* The last that hooks told: false when it was their end, or when there are none. */
static int on_event(void *ctx, const rp_event_info *ev)
{
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len);
  if (strcmp(ev->kind, "x-hook") == 0)
    *(bool *)ctx = !rp__json_eq(rp__json_get(body, "event"), "SessionEnd");
  else if (rp__json_eq(rp__json_get(body, "source"), "hook"))
    *(bool *)ctx = true;
  return 0;
}

static bool hooks_go_on(rp_session *s)
{
  int64_t client, seq;
  bool going = false;
  if (rp_sync(s, "mcp", &client, &seq, NULL)) return false;
  rp_events(s, RP_MAX(0, seq - LOOKBACK), LOOKBACK, on_event, &going, NULL);
  return going;
}

/* Nobody sits down or rises meanwhile, so that of the last two one is the last. */
static void end_seated(struct rp__mind *m, const char *reason)
{
  rp__kin_lock_seat(&m->seat);
  enum rp__fate fate = rp__vigil_fate(&m->seat.agent);
  bool fell = fate == RP_FATE_FELL || fate == RP_FATE_GONE;
  if (!fell && rp__kin_alone(&m->seat) && !(fate == RP_FATE_LIVES && hooks_go_on(m->s))) rp_end(m->s, reason, NULL);
  rp__kin_rise(&m->seat);
}

void rp__mind_end(struct rp__mind *m, const char *reason)
{
  if (m->s && m->seat.taken) {
    end_seated(m, reason);
  } else if (m->s && !m->guest) {
    rp_end(m->s, reason, NULL);
    rp_session_free(m->s);
    m->s = NULL;
  }
  rp__mind_leave(m);
  rp__kin_rise(&m->teller);
}

int rp__mind_may_write(const struct rp__mind *m, rp_error *err)
{
  if (!m->reads_only) return 0;
  return rp__fail(err, RP_E_FORBIDDEN, "this connection may only read");
}
