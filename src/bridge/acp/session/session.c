/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the proxy: their ids at the editor and at the agent, and their journal. */
#include "base/given-values.h"
#include "bridge/acp/session/session.h"

#include "base/utf8.h"

#define META_BYTES ((size_t)48 << 10)
#define SUFFIX_MAX 1000 /* sessions of one name, for agents that count from one in each process */

enum rp__acp_do rp__acp_session_on(struct rp__acp_session *s, enum rp__acp_on on)
{
  struct rp__acp_step step = rp__acp_machine(s->state, on);
  s->state = step.to;
  return step.action;
}

bool rp__acp_is_restoring(const struct rp__acp_session *s)
{
  return s->state == RP_ACP_RESTORING || s->state == RP_ACP_RELOADING;
}

struct rp__acp_session *rp__acp_by_client(const struct rp__acp *a, struct rp__json sid)
{
  if (sid.type != RP_JSON_STRING) return NULL;
  for (struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (rp__json_eq(sid, s->client_sid)) return s;
  return NULL;
}

struct rp__acp_session *rp__acp_by_agent(const struct rp__acp *a, struct rp__json sid)
{
  if (sid.type != RP_JSON_STRING) return NULL;
  for (struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (s->bound && s->agent_sid && rp__json_eq(sid, s->agent_sid)) return s;
  return NULL;
}

bool rp__acp_stale(const struct rp__acp *a, struct rp__json sid)
{
  return !rp__acp_by_agent(a, sid) && rp__acp_by_client(a, sid);
}

struct rp__acp_session *rp__acp_session_new(struct rp__acp *a, const char *client_sid, rp_error *err)
{
  if (a->n_sessions >= RP_ACP_SESSIONS) {
    rp__fail(err, RP_E_LIMIT, "%d sessions are open, which is the most there can be at once", RP_ACP_SESSIONS);
    return NULL;
  }
  struct rp__acp_session *s = calloc(1, sizeof *s);
  struct rp__buf name RP_AUTOBUF = RP_BUF(3 * RP_ACP_SID);
  rp__utf8_mend(&name, client_sid, strlen(client_sid)); /* as the editor reads it */
  char *sid = rp__buf_take(&name);
  if (!s || !sid) {
    free(s);
    free(sid);
    rp__fail_nomem(err);
    return NULL;
  }
  rp__waiting_lines_init(&s->filter.doubt);
  rp__waiting_lines_init(&s->later);
  s->a = a;
  s->client_sid = sid;
  s->body_max = RP_BODY_MAX;
  s->next = a->sessions;
  a->sessions = s;
  a->n_sessions++;
  return s;
}

void rp__acp_session_free(struct rp__acp_session *s)
{
  struct rp__acp *a = s->a;
  struct rp__acp_session **at = &a->sessions;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  a->n_sessions--;
  if (a->continuing == s) a->continuing = NULL;
  rp__load_drop(s);
  rp__acp_journal_forget(a, s);
  rp__calls_forget(&a->client, s);
  rp__calls_forget(&a->agent, s);
  rp__waiting_request_fail(a, s, "the session was closed", NULL);
  rp__replay_filter_end(s);
  rp__waiting_lines_done(&s->later);
  rp_session_free(s->h);
  rp__tools_done(s);
  free(s->client_sid);
  free(s->agent_sid);
  free(s->params);
  free(s->settings.modes);
  free(s->settings.config);
  free(s->settings.config_began);
  free(s->settings.mode);
  free(s->settings.want_mode);
  free(s->settings.want_config);
  free(s->ladder.answer);
  free(s);
}

struct rp__acp_session *rp__acp_session_named(struct rp__acp *a, struct rp__json sid)
{
  char *name RP_AUTOFREE = rp__json_dup(sid);
  rp_error why = {0};
  struct rp__acp_session *s = name ? rp__acp_session_new(a, name, &why) : NULL;
  if (!s || !rp__acp_set_agent_sid(s, sid)) {
    rp__acp_log(a, "a session is not recorded: %s", why.code ? why.message : "out of memory");
    if (s) rp__acp_session_free(s);
    return NULL;
  }
  s->bound = true;
  rp__acp_session_on(s, RP_ON_NAMED);
  return s;
}

bool rp__acp_set_agent_sid(struct rp__acp_session *s, struct rp__json sid)
{
  char *copy = rp__json_dup(sid);
  if (!copy) return false;
  free(s->agent_sid);
  s->agent_sid = copy;
  return true;
}

/* ---- what updates tell ---- */

void rp__acp_learn_update(struct rp__acp_session *s, struct rp__json update)
{
  struct rp__json what = rp__json_get(update, "sessionUpdate");
  if (rp__json_eq(what, "tool_call"))
    rp__tools_learn(s, update, true);
  else if (rp__json_eq(what, "tool_call_update"))
    rp__tools_learn(s, update, false);
  else if (rp__json_eq(what, "current_mode_update"))
    rp__acp_keep(&s->settings.mode, rp__json_get(update, "currentModeId"));
  else if (rp__json_eq(what, "config_option_update"))
    rp__acp_learn(s, update);
}

/* ---- the journal's beginning ---- */

static void write_agent(struct rp__jw *w, const struct rp__acp *a)
{
  rp__jw_pack(w, "agent:{name:?s version:?s}", a->caps.name, a->caps.version);
}

/* Of the servers only their names: env and headers hold secrets. What does not fit is left out. */
static int write_meta(const struct rp__acp_session *s, struct rp__buf *out)
{
  struct rp__json params = rp__acp_raw(s->params ? s->params : "{}"), cwd = rp__json_get(params, "cwd"), server;
  struct rp__json more = rp__json_get(params, "additionalDirectories");
  for (bool all = true;; all = false) {
    struct rp__json_iter it = {0};
    struct rp__jw w = RP_JW(out);
    rp__jw_pack(&w, "{acp_session_id:s", s->client_sid);
    write_agent(&w, s->a);
    if (all && cwd.type == RP_JSON_STRING) rp__jw_pack(&w, "cwd:v", cwd);
    if (all && more.type == RP_JSON_ARRAY) rp__jw_pack(&w, "additional_directories:v", more);
    if (all) rp__jw_pack(&w, "mcp_servers:[");
    while (all && rp__json_next(rp__json_get(params, "mcpServers"), &it, NULL, &server))
      rp__jw_value(&w, rp__json_get(server, "name"));
    if (all) rp__jw_pack(&w, "] command:[");
    for (char **c = s->a->command; all && *c; c++) rp__jw_str(&w, *c);
    rp__jw_pack(&w, all ? "]}" : "}");
    if (!out->err || !all) break;
    rp__buf_reset(out);
  }
  rp__utf8_mend_buf(out);
  return out->err;
}

/* Which agent has it now, and under which id. */
void rp__acp_put_provider(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(META_BYTES);
  struct rp__jw w = RP_JW(&out);
  const char *sid = s->agent_sid ? s->agent_sid : s->client_sid;
  bool fits = strlen(sid) <= RP_ACP_EVENT_ID_MAX; /* else it stands where strings may be longer */
  rp__jw_pack(&w, "{type:s acp_session_id:?s metadata:{acp_session_id:?s", "acp", fits ? sid : NULL, fits ? NULL : sid);
  write_agent(&w, s->a);
  rp__jw_pack(&w, "}}");
  rp__acp_journal_event(s, "provider", &out, RP_DISK);
}

static int start(struct rp__acp_session *s, const char *meta, rp_error *err)
{
  char provider[RP_SCOPE_MAX + 1], name[RP_ACP_NAME];
  rp__agent_name(s->a->caps.name, name);
  rp__workspace_id("agent", name[0] ? name : "acp", provider);
  char *cwd RP_AUTOFREE = rp__json_dup(rp__json_get(rp__acp_raw(s->params ? s->params : "{}"), "cwd"));
  struct rp__buf topics RP_AUTOBUF = RP_BUF(RP_START_TOPICS_BYTES);
  if (cwd) rp__workspace_topics(NULL, cwd, &topics);
  if (!cwd || !rp__workspace_name(cwd, s->project)) s->project[0] = '\0';
  rp_start_options o = {.scope = s->scope,
                        .id = s->id,
                        .channel = "acp",
                        .provider = provider,
                        .meta = meta,
                        .topics = topics.err ? NULL : topics.p,
                        .owner = RP_OWNER_SELF};
  rp_session *h = NULL;
  int rc = rp_start(s->a->e, &o, &h, err);
  if (rc) return rc;
  rp_session_free(s->h);
  s->h = h;
  double bytes = 0;
  if (!rp_config_number(s->a->e, s->scope, "body_bytes", &bytes, NULL) && bytes >= 1) s->body_max = (size_t)bytes;
  return 0;
}

int rp__acp_session_reopen(struct rp__acp_session *s, rp_error *err)
{
  struct rp__buf meta RP_AUTOBUF = RP_BUF(META_BYTES);
  s->open_at = rp__acp_now(s->a) + RP_ACP_OPEN_MS;
  return write_meta(s, &meta) ? rp__fail_nomem(err) : start(s, meta.p, err);
}

/*
 * The journal's id. Agents that count from one give a name that is taken, by a session or as a name of another or a
 * deleted one: then the editor gets another.
 */
static void choose_id(struct rp__acp_session *s)
{
  char sid[RP_ACP_SID + 16], other[RP_ID_MAX + 1];
  for (int i = 1; i < SUFFIX_MAX; i++) {
    snprintf(sid, sizeof sid, "%s.%d", s->client_sid, i);
    rp__workspace_id("acp", i > 1 ? sid : s->client_sid, s->id);
    if (rp__name_row(s->a, s->id) || rp_name_find(s->a->e, s->id, other, NULL) == 0) continue;
    char *copy = i > 1 ? strdup(sid) : NULL;
    if (!copy) return;
    free(s->client_sid);
    s->client_sid = copy;
    return;
  }
}

void rp__acp_session_begin(struct rp__acp_session *s, struct rp__json params)
{
  char *cwd RP_AUTOFREE = rp__json_dup(rp__json_get(params, "cwd"));
  rp_error why = {0};
  rp__acp_keep(&s->params, params);
  choose_id(s);
  int rc = rp__workspace_scope(s->a->o.scope, cwd, s->scope, &why);
  if (!rc) rc = rp__acp_session_reopen(s, &why);
  if (rc) rp__acp_log(s->a, "session %s: no journal: %s", s->id, why.message);
  rp__acp_put_provider(s); /* counts as lost where there is no journal */
  if (!s->a->o.name) return;
  struct rp__buf out RP_AUTOBUF = RP_BUF(META_BYTES);
  struct rp__jw w = RP_JW(&out);
  rp__jw_pack(&w, "{name:s}", s->a->o.name);
  rp__acp_journal_event(s, "session", &out, RP_DISK);
  s->a->o.name = NULL;
}

static int on_scope(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, RP_SCOPE_MAX + 1, "%s", info->scope);
  return 0;
}

void rp__acp_session_branch(struct rp__acp_session *s, rp_session *from, int64_t seq, bool owed, struct rp__json params)
{
  struct rp__buf meta RP_AUTOBUF = RP_BUF(META_BYTES);
  char id[RP_ID_MAX + 1];
  rp_error why = {0};
  if (!from) { /* nobody here has the other one */
    rp__acp_session_begin(s, params);
    return;
  }
  rp__acp_keep(&s->params, params);
  choose_id(s);
  int rc = write_meta(s, &meta) ? rp__fail_nomem(&why) : 0;
  rp_fork_options o = {.at_seq = rp__given_seq(seq), .id = s->id, .meta = meta.p};
  if (!rc) rc = rp_fork(from, &o, id, NULL, &why);
  if (!rc) rc = rp_show(s->a->e, id, on_scope, s->scope, &why);
  if (!rc) rc = start(s, NULL, &why);
  if (!rc) rc = rp__known_calls_load(s->h, &s->known, &why);
  if (rc)
    rp__acp_log(s->a, "session %s: no journal: %s", s->id, why.message);
  else
    rp__acp_session_on(s, RP_ON_COPIED);
  if (owed)
    s->history = RP_HISTORY_DUE; /* what the agent copied has nothing of it */
  else
    rp__acp_put_provider(s);
}

/* What was said so far is missing: that comes first, with the agent's name. */
int rp__acp_session_begin_late(struct rp__acp_session *s, rp_error *err)
{
  s->open_at = rp__acp_now(s->a) + RP_ACP_OPEN_MS;
  if (rp__name_row(s->a, s->id))
    return rp__fail(err, RP_E_HELD, "the journal has another session '%s', which is not this one", s->id);
  int rc = rp__acp_session_reopen(s, err);
  if (rc) return rc;
  if (s->lost > s->found) rp_outbox_lost(s->h, s->lost - s->found, s->lost_from);
  rp__acp_put_provider(s);
  return 0;
}

void rp__acp_session_retry(struct rp__acp_session *s)
{
  rp_error why = {0};
  if (!s->h && s->state != RP_ACP_TAKEN) RP_IGNORE(rp__acp_session_begin_late(s, &why)); /* tried again later */
}

/* ---- one that the journal has ---- */

struct found {
  char id[RP_ID_MAX + 1], scope[RP_SCOPE_MAX + 1];
  char *sid, *agent;
  const char *want;
  bool trashed;
  int64_t forked_at; /* 0: it is no fork */
};

static void found_done(struct found *f)
{
  free(f->sid);
  free(f->agent);
}

static int on_found(void *ctx, const rp_session_info *info)
{
  struct found *f = ctx;
  if (f->want && strcmp(f->want, info->id) != 0) return 0; /* a prefix or a key of another */
  snprintf(f->id, sizeof f->id, "%s", info->id);
  snprintf(f->scope, sizeof f->scope, "%s", info->scope);
  f->trashed = info->trashed_at != 0;
  f->forked_at = info->forked_from ? info->forked_at_seq : 0;
  struct rp__json meta = rp__acp_raw(info->meta);
  char *said RP_AUTOFREE = rp__json_dup(rp__json_get(meta, "acp_session_id"));
  f->sid = rp__name_own(info->id, said);
  f->agent = rp__json_dup(rp__json_get(rp__json_get(meta, "agent"), "name"));
  return 0;
}

/* The agent's own id for a conversation as it was at an event (< 0: is now), and the agent's name. */
static bool read_provider(struct rp__acp_session *s, int64_t seq, char **ret_sid, char **ret_agent)
{
  char *state = NULL;
  if (rp_state_json(s->h, seq, &state, NULL)) return false;
  struct rp__json provider = rp__json_get(rp__acp_raw(state), "provider"),
                  sid = rp__json_get(provider, "acp_session_id");
  struct rp__json more = rp__json_get(provider, "metadata");
  *ret_sid = rp__json_dup(sid.type ? sid : rp__json_get(more, "acp_session_id"));
  *ret_agent = rp__json_dup(rp__json_get(rp__json_get(more, "agent"), "name"));
  rp_free(state);
  return true;
}

struct rp__acp_session *rp__acp_open_here(const struct rp__acp *a, const char *id)
{
  struct rp__acp_session *s = a->sessions;
  while (s && strcmp(s->id, id) != 0) s = s->next;
  return s;
}

int rp__acp_session_resume(struct rp__acp *a, const char *ref, bool by_wire, struct rp__acp_session **ret,
                           rp_error *err)
{
  struct found f RP_CLEANUP(found_done) = {0};
  char *agent RP_AUTOFREE = NULL, *then RP_AUTOFREE = NULL, *was RP_AUTOFREE = NULL;
  char id[RP_SCOPE_MAX + 1], had[RP_ACP_NAME], has[RP_ACP_NAME];
  const char *wire = by_wire ? ref : NULL;
  if (wire) {
    if (rp__name_find(a, wire, id) == RP_NAME_DELETED)
      return rp__fail(err, RP_E_ENDED, "session '%s' was deleted", wire);
    f.want = ref = id;
  }
  int rc = rp_show(a->e, ref, on_found, &f, err);
  if (rc) return rc;
  if (f.trashed) return rp__fail(err, RP_E_ENDED, "session '%s' was deleted", ref);
  if (!f.id[0]) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "there is no session '%s'", ref);
  struct rp__acp_session *s = rp__acp_open_here(a, f.id);
  if (s) return rp__fail(err, RP_E_HELD, "session %s is open here as '%s'", f.id, s->client_sid);
  s = rp__acp_session_new(a, wire ? wire : f.sid ? f.sid : f.id, err);
  if (!s) return RP_E_LIMIT;
  snprintf(s->id, sizeof s->id, "%s", f.id);
  snprintf(s->scope, sizeof s->scope, "%s", f.scope);
  rc = start(s, NULL, err);
  if (!rc) rc = rp__known_calls_load(s->h, &s->known, err);
  if (rc) {
    rp__acp_session_free(s);
    return rc;
  }
  if (read_provider(s, -1, &s->agent_sid, &agent)) { /* whether its id means anything to the agent that runs now */
    rp__agent_name(agent ? agent : f.agent ? f.agent : "", had);
    rp__agent_name(a->caps.name, has);
    s->ladder.other_agent = had[0] && has[0] && strcmp(had, has) != 0;
    /* What a fork has copied is the id of the original's conversation, in which nothing of the fork may be said. */
    if (f.forked_at && s->agent_sid && read_provider(s, f.forked_at, &was, &then) && was)
      s->ladder.other_agent |= strcmp(was, s->agent_sid) == 0;
  }
  s->settings.in_journal = true;
  s->brief_due = a->o.brief && !s->known.turn; /* its first prompt is still to come */
  *ret = s;
  return 0;
}

void rp__acp_session_end(struct rp__acp_session *s, const char *reason)
{
  rp_error why = {0};
  rp__acp_session_retry(s);
  rp__tools_leave(s);
  rp__acp_journal_settle(s->a);
  if (s->h && s->state != RP_ACP_TAKEN && rp_end(s->h, reason, &why))
    rp__acp_log(s->a, "session %s: %s", s->id, why.message);
  rp__acp_session_free(s);
}
