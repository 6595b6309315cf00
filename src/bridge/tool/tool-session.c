/* SPDX-License-Identifier: Apache-2.0 */
/* The session that tools act on: finding and opening it, its brief, and writing to it. */
#include "bridge/tool/tool-session.h"

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

static const char *channel_of(const struct rp__tool_session *m)
{
  return m->channel[0] ? m->channel : NULL;
}

/* What lies elsewhere is not told of: a token may open this scope alone. */
static int find(const struct rp__tool_session *m, const char *ref, struct found *ret, rp_error *err)
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

int rp__tool_session_resolve(const struct rp__tool_session *m, const char *ref, char ret[RP_ID_MAX + 1], rp_error *err)
{
  struct found f;
  int rc = find(m, ref, &f, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rp__hint(err, "session_search finds sessions by words said in them");
  if (!rc) memcpy(ret, f.id, sizeof f.id);
  return rc;
}

/* ---- joining ---- */

/* A guest goes by the session's own scope, whatever its directory says. */
static int join(struct rp__tool_session *m, const char *id, rp_error *err)
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

static void note_birth(struct rp__tool_session *m)
{
  if (m->born_ms) return;
  m->born_ms = rp__workspace_born();
  m->greeted_ms = rp__wall(&rp__system_clock);
}

/* Which session the bridge around us has may show only once its editor made one. */
static int join_host(struct rp__tool_session *m, bool *ret_sure, rp_error *err)
{
  char id[RP_SCOPE_MAX + 1];
  struct rp__workspace_guest g = {0};
  note_birth(m);
  if (!m->hosted) g = (struct rp__workspace_guest){.born_ms = m->born_ms, .greeted_ms = m->greeted_ms};
  m->guest = true;
  int rc = rp__workspace_host(m->e, m->scope, NULL, &g, id, ret_sure, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rp__hint(err, "try again after the first prompt");
  return rc ? rc : join(m, id, err);
}

bool rp__tool_session_waits(struct rp__tool_session *m)
{
  bool waits = !m->s && !m->remote && rp__workspace_nested() && !rp__workspace_session();
  if (waits) note_birth(m);
  return waits;
}

bool rp__tool_session_peek(struct rp__tool_session *m)
{
  bool sure = true;
  if (!rp__tool_session_waits(m) || rp__tool_session_open(m, NULL) || join_host(m, &sure, NULL)) return false;
  m->begun = true;
  m->hosted = m->hosted || sure;
  return !sure;
}

static int join_last(struct rp__tool_session *m, rp_error *err)
{
  struct found f;
  int rc = find(m, m->ref[0] ? m->ref : "last", &f, err);
  return rc ? rc : join(m, f.id, err);
}

/* ---- beginning ---- */

/* What a start here is about; NULL: nothing is known, for the asker is elsewhere. */
static const char *topics_here(const struct rp__tool_session *m, struct rp__buf *out)
{
  if (!m->remote) rp__workspace_topics(NULL, NULL, out);
  return out->err ? NULL : out->p;
}

/* With the lock held, a run of our own is our agent's, because others of its may share it. */
static int start(struct rp__tool_session *m, const struct found *f, bool lock_held, rp_error *err)
{
  bool shared = lock_held && m->owner == RP_OWNER_SELF;
  rp_start_options o = {.scope = m->scope, .channel = m->channel, .owner = m->owner, .owner_pid = m->owner_pid};
  if (shared) {
    o.owner = RP_OWNER_PID;
    o.owner_pid = m->agent_pid;
    /* Not one that the agent itself started elsewhere: that is not ours to end. */
    if (!m->ref[0]) o.mode = RP_MODE_SUCCESSOR;
  }
  RP_AUTOBUF struct rp__buf meta = RP_BUF(META_MAX);
  struct rp__jw w = RP_JW(&meta);
  rp__jw_object(&w);
  rp__siblings_mark(&w, m->agent_pid, "mcp");
  rp__jw_end_object(&w);
  if (m->agent_pid && !meta.err) o.meta = meta.p;
  RP_AUTOBUF struct rp__buf topics = RP_BUF(RP_START_TOPICS_BYTES);
  o.topics = topics_here(m, &topics);
  /* By its key an ended one gets a successor; named otherwise it is itself resumed. */
  if (f->id[0] && strcmp(f->key, m->ref) != 0)
    o.id = f->id;
  else if (m->ref[0])
    o.key = m->ref;
  int rc = rp_start(m->e, &o, &m->s, err);
  if (rc) return rc;
  const char *doc = rp_start_json(m->s);
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type == RP_JSON_STRING && !(m->brief = rp__json_dup(brief))) {
    rp__tool_session_leave(m);
    return rp__fail_nomem(err);
  }
  if (shared) rp__siblings_register(&m->sibling, m->agent_pid, rp_session_id(m->s));
  return 0;
}

/* Joins what another bridge of our agent began; servers register only in sessions that a server began. */
static bool join_sibling(struct rp__tool_session *m, const char *bridge)
{
  char id[RP_SCOPE_MAX + 1];
  RP_AUTOBUF struct rp__buf text = RP_BUF(BRIEF_MAX);
  if (rp__siblings_find(m->e, m->scope, m->agent_pid, bridge, true, id, NULL) || join(m, id, NULL)) return false;
  /* Where its server is gone, and with it what it told the model, we tell it; without it the tools work all the same.
   */
  if (strcmp(bridge, "mcp") == 0 && rp__siblings_register(&m->sibling, m->agent_pid, id) &&
      rp__siblings_alone(&m->sibling) && rp__tool_session_brief_now(m, &text, NULL) == 0 && text.n && !text.err)
    m->brief = strdup(text.p);
  return true;
}

/* What `ref` names: joined if it lives, else resumed or begun. */
static int begin_named(struct rp__tool_session *m, bool lock_held, rp_error *err)
{
  struct found f = {0};
  char ours[RP_SCOPE_MAX + 1];
  bool alive = false;
  int rc = find(m, m->ref, &f, err);
  if (rc == RP_E_SESSION_NOT_FOUND) rc = 0;
  if (!rc && f.id[0]) rc = rp_alive(m->e, f.id, &alive, err);
  if (rc) return rc;
  /* One brief per run: who comes to a run that lives is told nothing. */
  if (!alive) rc = start(m, &f, lock_held, err);
  bool outrun = rc == RP_E_HELD; /* somebody began it between our look and our start */
  if (outrun) rc = find(m, m->ref, &f, err);
  if (rc || !(alive || outrun)) return rc;
  bool shared =
      rp__siblings_find(m->e, m->scope, m->agent_pid, "mcp", true, ours, NULL) == 0 && strcmp(ours, f.id) == 0;
  if (shared && join_sibling(m, "mcp")) return 0;
  return join(m, f.id, err);
}

/* ---- without beginning ---- */

/* Whether there is somebody to go to, or somebody named whom to go to: then that is what beginning does. */
static bool has_host(const struct rp__tool_session *m)
{
  return m->ref[0] || (!m->remote && rp__workspace_nested());
}

int rp__tool_session_greet(struct rp__tool_session *m, bool *ret_tell, rp_error *err)
{
  char name[RP_SIBLINGS_TELLER_MAX];
  *ret_tell = false;
  if (has_host(m)) return rp__tool_session_begin(m, err);
  int rc = rp__tool_session_open(m, err);
  if (rc) return rc;
  RP_AUTOCLOSE int lock = rp__siblings_lock(m->agent_pid);
  (void)lock; /* its end is its use */
  m->begun = m->s || join_sibling(m, "hook") || join_sibling(m, "mcp");
  if (m->begun) return 0;
  rp__siblings_teller(m->scope, name);
  *ret_tell = m->teller.taken || !rp__siblings_registered(m->agent_pid, name);
  if (*ret_tell && !m->teller.taken) rp__siblings_register(&m->teller, m->agent_pid, name);
  return 0;
}

int rp__tool_session_look(struct rp__tool_session *m, bool *ret_passing, rp_error *err)
{
  rp_error why = {0};
  *ret_passing = false;
  if (m->s || has_host(m)) return rp__tool_session_begin(m, err);
  int rc = rp__tool_session_open(m, err);
  if (rc) return rc;
  m->begun = join_sibling(m, "hook") || join_sibling(m, "mcp");
  if (m->begun) return 0;
  rc = join_last(m, &why);
  *ret_passing = !rc;
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  if (rc && err) *err = why;
  return rc;
}

/* ---- beginning, at last ---- */

static int begin(struct rp__tool_session *m, rp_error *err)
{
  static const struct found none = {0};
  bool sure;
  if (!m->remote && rp__workspace_nested()) {
    int rc = join_host(m, &sure, err);
    m->hosted = m->hosted || !rc;
    return rc;
  }
  if (m->reads_only) return join_last(m, err);
  /* While we look and begin, the others of our agent wait. */
  RP_AUTOCLOSE int lock = rp__siblings_lock(m->agent_pid);
  if (m->ref[0]) return begin_named(m, lock >= 0, err);
  if (join_sibling(m, "hook") || join_sibling(m, "mcp")) return 0;
  return start(m, &none, lock >= 0, err);
}

int rp__tool_session_open(struct rp__tool_session *m, rp_error *err)
{
  if (m->e) return 0;
  return m->open ? m->open(m->open_ctx, &m->e, err) : rp__fail(err, RP_E_UNREACHABLE, "there is no store");
}

/* Steps on the way may fail and be mended: the caller's error is written only when all failed. */
int rp__tool_session_begin(struct rp__tool_session *m, rp_error *err)
{
  rp_error why = {0};
  if (m->s) return 0;
  int rc = rp__tool_session_open(m, &why);
  if (!rc) rc = begin(m, &why);
  m->begun = !rc;
  if (rc && err) *err = why;
  return rc;
}

int64_t rp__tool_session_heartbeat(struct rp__tool_session *m, int64_t every_ms, int64_t now_ms)
{
  size_t cursor = 0;
  rp_presence_row row = {.kind = RP_PRESENCE_TOOL, .heartbeat_ms = every_ms, .heartbeat_at = now_ms + every_ms};
  const rp_presence_host host = {.session = m->s};
  /* A guest's host sends its own. */
  if (m->s && !m->presence && (!m->guest || m->sibling.taken)) {
    row.number = rp_session_number(m->s);
    snprintf(row.session, sizeof row.session, "%s", rp_session_id(m->s));
    /* Without memory it is tried again at the next turn. */
    RP_IGNORE(rp_presence_join(m->e, &row, &host, true, now_ms, &m->presence, NULL, NULL));
  }
  if (!m->presence) return every_ms;
  while (rp_presence_heartbeats(m->e, now_ms, &cursor, NULL, NULL, NULL)) continue;
  const rp_presence_query q = {.kind = RP_PRESENCE_TOOL, .session = rp_session_id(m->s)};
  return rp_presence_find(m->e, &q, &row, NULL) ? row.heartbeat_at - now_ms : every_ms;
}

const char *rp__tool_session_brief(struct rp__tool_session *m)
{
  return m->brief;
}

/* Whether the session has no request of its own; a client of MCP alone tells none. */
static bool asked_nothing(struct rp__tool_session *m)
{
  struct rp__json_iter it = {0};
  struct rp__json request;
  char *doc = NULL;
  if (rp_digest_json(m->e, rp_session_id(m->s), &doc, NULL)) return false;
  struct rp__json requests = rp__json_get(rp__json_trusted(doc, strlen(doc)), "requests");
  bool none = requests.type != RP_JSON_ARRAY || !rp__json_next(requests, &it, NULL, &request);
  rp_free(doc);
  return none;
}

static void add_brief(char *doc, struct rp__buf *out)
{
  struct rp__json brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type == RP_JSON_STRING && out->n) rp__buf_str(out, "\n\n");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, out);
  rp_free(doc);
}

int rp__tool_session_brief_now(struct rp__tool_session *m, struct rp__buf *out, rp_error *err)
{
  RP_AUTOBUF struct rp__buf topics = RP_BUF(RP_START_TOPICS_BYTES);
  rp_brief_options o = {.scope = m->scope, .channel = channel_of(m), .topics = topics_here(m, &topics)};
  char *doc = NULL;
  int rc = rp__tool_session_open(m, err);
  /* What earlier sessions were about comes before what this one knows, until somebody asked something in it. */
  if (!rc && (!m->s || (m->scope[0] && asked_nothing(m)))) {
    if (m->s) o.without = rp_session_id(m->s);
    rc = rp_brief_scope(m->e, &o, &doc, err);
    if (!rc) add_brief(doc, out);
  }
  if (!rc && m->s) {
    rc = rp_brief(m->s, false, &doc, err);
    if (!rc) add_brief(doc, out);
  }
  return rc;
}

/* ---- ending ---- */

static void leave_presence(struct rp__tool_session *m)
{
  if (m->presence) rp_presence_leave(m->e, RP_TAKE(m->presence), true, -1, 0);
}

void rp__tool_session_leave(struct rp__tool_session *m)
{
  leave_presence(m);
  rp_session_detach(m->s);
  rp__siblings_leave(&m->sibling);
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

void rp__tool_session_end(struct rp__tool_session *m, const char *reason)
{
  leave_presence(m);
  if (m->s && m->sibling.taken) {
    /* Nobody registers or leaves meanwhile, so that of the last two one is the last. */
    rp__siblings_lock_entry(&m->sibling);
    enum rp__exit_cause cause = rp__process_watch_cause(&m->sibling.agent);
    bool crashed = cause == RP_EXIT_CRASHED || cause == RP_EXIT_UNKNOWN;
    bool last = !crashed && rp__siblings_alone(&m->sibling), going = false;
    int64_t client, seq;
    if (last && cause == RP_EXIT_NONE && rp_sync(m->s, "mcp", &client, &seq, NULL) == 0)
      RP_IGNORE(
          rp_events(m->s, RP_MAX(0, seq - LOOKBACK), LOOKBACK, on_event, &going, NULL)); /* unread: none goes on */
    if (last && !going) RP_IGNORE(rp_end(m->s, reason, NULL)); /* the next start finds it without an end */
    rp__siblings_leave(&m->sibling);
  } else if (m->s && !m->guest) {
    RP_IGNORE(rp_end(m->s, reason, NULL)); /* the next start finds it without an end */
    rp_session_free(m->s);
    m->s = NULL;
  }
  rp__tool_session_leave(m);
  rp__siblings_leave(&m->teller);
}

int rp__tool_session_may_write(const struct rp__tool_session *m, rp_error *err)
{
  if (!m->reads_only) return 0;
  return rp__fail(err, RP_E_FORBIDDEN, "this connection may only read");
}
