/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the proxy: what the editor calls them, what the agent does, and their journal. */
#include "bridge/acp/impl.h"
#include "bridge/acp/note-impl.h"
#include "bridge/utf8.h"

#define META_BYTES ((size_t)48 << 10)
#define SUFFIX_MAX 1000 /* sessions of one name, for agents that count from one in each process */

/* Rows: from, columns: to. */
static const bool may[RP_ACP_STATES][RP_ACP_STATES] = {
    [RP_ACP_COLD] = {[RP_ACP_RESTORING] = true, [RP_ACP_LIVE] = true, [RP_ACP_ENDING] = true, [RP_ACP_TAKEN] = true},
    [RP_ACP_RESTORING] = {[RP_ACP_COLD] = true, [RP_ACP_LIVE] = true, [RP_ACP_TAKEN] = true},
    [RP_ACP_LIVE] = {[RP_ACP_COLD] = true, [RP_ACP_RESTORING] = true, [RP_ACP_ENDING] = true, [RP_ACP_TAKEN] = true},
    [RP_ACP_ENDING] = {[RP_ACP_TAKEN] = true},
    [RP_ACP_TAKEN] = {[RP_ACP_COLD] = true, [RP_ACP_ENDING] = true},
};

bool rp__acp_move(struct rp__acp_session *s, enum rp__acp_state to)
{
  if (!may[s->state][to]) return false;
  s->state = to;
  return true;
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
  rp__load_drop(s);
  rp__store_forget(a, s);
  rp__calls_forget(&a->client, s);
  rp__calls_forget(&a->agent, s);
  rp__held_fail(a, s, RP_ACP_E_INTERNAL, "the session was closed", NULL);
  rp__repeat_end(s);
  rp__kepts_done(&s->later);
  rp_session_free(s->h);
  rp__tools_done(s);
  free(s->client_sid);
  free(s->agent_sid);
  free(s->params);
  free(s->modes);
  free(s->config);
  free(s->config_began);
  free(s->mode);
  rp__settings_drop(s);
  free(s->answer);
  free(s);
}

void rp__acp_keep(char **slot, struct rp__json value)
{
  char *copy = value.type && value.n <= RP_ACP_KEEP ? strndup(value.p, value.n) : NULL;
  if (!copy) return;
  free(*slot);
  *slot = copy;
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
    rp__acp_keep(&s->mode, rp__json_get(update, "currentModeId"));
  else if (rp__json_eq(what, "config_option_update"))
    rp__acp_learn(s, update);
}

/* ---- the journal's beginning ---- */

static void write_names(struct rp__jw *w, struct rp__json servers)
{
  struct rp__json_iter it = {0};
  struct rp__json server;
  rp__jw_key(w, "mcp_servers");
  rp__jw_array(w);
  while (rp__json_next(servers, &it, NULL, &server)) rp__jw_value(w, rp__json_get(server, "name"));
  rp__jw_end_array(w);
}

static void write_agent(struct rp__jw *w, const struct rp__acp *a)
{
  rp__jw_key(w, "agent");
  rp__jw_object(w);
  if (a->caps.name[0]) rp__jw_kstr(w, "name", a->caps.name);
  if (a->caps.version[0]) rp__jw_kstr(w, "version", a->caps.version);
  rp__jw_end_object(w);
}

/* Of the servers only their names: env and headers hold secrets. */
static int write_meta(const struct rp__acp_session *s, struct rp__json params, bool all, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  struct rp__json cwd = rp__json_get(params, "cwd"), more = rp__json_get(params, "additionalDirectories");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "acp_session_id", s->client_sid);
  write_agent(&w, s->a);
  if (all && cwd.type == RP_JSON_STRING) {
    rp__jw_key(&w, "cwd");
    rp__jw_value(&w, cwd);
  }
  if (all && more.type == RP_JSON_ARRAY) {
    rp__jw_key(&w, "additional_directories");
    rp__jw_value(&w, more);
  }
  if (all) write_names(&w, rp__json_get(params, "mcpServers"));
  if (all) {
    rp__jw_key(&w, "command");
    rp__jw_array(&w);
    for (char **c = s->a->command; c && *c; c++) rp__jw_str(&w, *c);
    rp__jw_end_array(&w);
  }
  rp__jw_end_object(&w);
  return out->err;
}

/* Which agent has it now, and under which id. */
void rp__acp_put_provider(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(META_BYTES);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "acp");
  const char *sid = s->agent_sid ? s->agent_sid : s->client_sid;
  bool fits = strlen(sid) <= RP_NOTE_ID_MAX; /* else it stands where strings may be longer */
  if (fits) rp__jw_kstr(&w, "acp_session_id", sid);
  rp__jw_key(&w, "metadata");
  rp__jw_object(&w);
  if (!fits) rp__jw_kstr(&w, "acp_session_id", sid);
  write_agent(&w, s->a);
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  rp__store_event(s, "provider", &out, RP_DISK);
}

static struct rp__json provider_sid(struct rp__json provider)
{
  struct rp__json sid = rp__json_get(provider, "acp_session_id");
  return sid.type ? sid : rp__json_get(rp__json_get(provider, "metadata"), "acp_session_id");
}

static void read_body_max(struct rp__acp_session *s)
{
  char *text = NULL;
  if (rp_config_get(s->a->e, s->scope, "body_bytes", &text, NULL)) return;
  unsigned long n = strtoul(text, NULL, 10);
  if (n) s->body_max = n;
  rp_free(text);
}

static int start(struct rp__acp_session *s, const char *meta, rp_error *err)
{
  char provider[RP_SCOPE_MAX + 1], name[RP_ACP_NAME];
  rp__agent_name(s->a->caps.name, name);
  rp__place_id("agent", name[0] ? name : "acp", provider);
  rp_start_options o = {
      .scope = s->scope, .id = s->id, .channel = "acp", .provider = provider, .meta = meta, .owner = RP_OWNER_SELF};
  rp_session *h = NULL;
  int rc = rp_start(s->a->e, &o, &h, err);
  if (rc) return rc;
  rp_session_free(s->h);
  s->h = h;
  read_body_max(s);
  return 0;
}

/* What does not fit is left out. */
static int make_meta(const struct rp__acp_session *s, struct rp__buf *out)
{
  struct rp__json params = rp__json_trusted(s->params ? s->params : "{}", s->params ? strlen(s->params) : 2);
  if (write_meta(s, params, true, out)) {
    rp__buf_reset(out);
    write_meta(s, params, false, out);
  }
  rp__utf8_mend_buf(out);
  return out->err;
}

int rp__acp_session_reopen(struct rp__acp_session *s, rp_error *err)
{
  struct rp__buf meta RP_AUTOBUF = RP_BUF(META_BYTES);
  s->open_at = rp__acp_now(s->a) + RP_ACP_OPEN_MS;
  return make_meta(s, &meta) ? rp__fail_nomem(err) : start(s, meta.p, err);
}

static int same_id(void *ctx, const rp_session_info *info)
{
  return strcmp(ctx, info->id) == 0 ? 1 : 0;
}

static bool exists(struct rp__acp *a, const char *id)
{
  return rp_show(a->e, id, same_id, (void *)(uintptr_t)id, NULL) == 1;
}

/* Also as a name: of another session, or of a deleted one. */
static bool is_taken(struct rp__acp *a, const char *id)
{
  char other[RP_ID_MAX + 1];
  return exists(a, id) || rp_name_find(a->e, id, other, NULL) == 0;
}

/* The journal's id. Agents that count from one give a name that is taken: then the editor gets another. */
static void choose_id(struct rp__acp_session *s)
{
  rp__place_id("acp", s->client_sid, s->id);
  if (!is_taken(s->a, s->id)) return;
  for (int i = 2; i < SUFFIX_MAX; i++) {
    char sid[RP_ACP_SID + 16];
    snprintf(sid, sizeof sid, "%s.%d", s->client_sid, i);
    rp__place_id("acp", sid, s->id);
    if (is_taken(s->a, s->id)) continue;
    char *copy = strdup(sid);
    if (!copy) return;
    free(s->client_sid);
    s->client_sid = copy;
    return;
  }
}

static void put_name(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(META_BYTES);
  struct rp__jw w = RP_JW(&out);
  if (!s->a->name) return;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "name", s->a->name);
  rp__jw_end_object(&w);
  rp__store_event(s, "session", &out, RP_DISK);
  free(s->a->name);
  s->a->name = NULL;
}

void rp__acp_session_begin(struct rp__acp_session *s, struct rp__json params)
{
  char *cwd RP_AUTOFREE = rp__json_dup(rp__json_get(params, "cwd"));
  rp_error why = {0};
  rp__acp_keep(&s->params, params);
  choose_id(s);
  int rc = rp__place_scope(s->a->scope, cwd, s->scope, &why);
  if (!rc) rc = rp__acp_session_reopen(s, &why);
  if (rc) rp__acp_log(s->a, "session %s: no journal: %s", s->id, why.message);
  rp__acp_put_provider(s); /* counts as lost where there is no journal */
  put_name(s);
}

static int on_scope(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, RP_SCOPE_MAX + 1, "%s", info->scope);
  return 0;
}

static int branch(struct rp__acp_session *s, rp_session *from, int64_t seq, rp_error *err)
{
  struct rp__buf meta RP_AUTOBUF = RP_BUF(META_BYTES);
  char id[RP_ID_MAX + 1];
  if (make_meta(s, &meta)) return rp__fail_nomem(err);
  rp_fork_options o = {.at_seq = seq, .id = s->id, .meta = meta.p};
  int rc = rp_fork_as(from, &o, id, NULL, err);
  if (!rc) rc = rp_show(s->a->e, id, on_scope, s->scope, err);
  if (!rc) rc = start(s, NULL, err);
  return rc ? rc : rp__book_load(s->h, &s->book, err);
}

void rp__acp_session_branch(struct rp__acp_session *s, rp_session *from, int64_t seq, bool owed, struct rp__json params)
{
  rp_error why = {0};
  if (!from) { /* nobody here has the other one */
    rp__acp_session_begin(s, params);
    return;
  }
  rp__acp_keep(&s->params, params);
  choose_id(s);
  s->copied = branch(s, from, seq, &why) == 0;
  if (!s->copied) rp__acp_log(s->a, "session %s: no journal: %s", s->id, why.message);
  if (owed)
    rp__acp_owe_history(s); /* what the agent copied has nothing of it */
  else
    rp__acp_put_provider(s);
}

/* What was said so far is missing: that comes first, with the agent's name. */
int rp__acp_session_begin_late(struct rp__acp_session *s, rp_error *err)
{
  s->open_at = rp__acp_now(s->a) + RP_ACP_OPEN_MS;
  if (exists(s->a, s->id))
    return rp__fail(err, RP_E_HELD, "the journal has another session '%s', which is not this one", s->id);
  int rc = rp__acp_session_reopen(s, err);
  if (!rc) rp__acp_put_provider(s);
  return rc;
}

void rp__acp_session_retry(struct rp__acp_session *s)
{
  rp_error why = {0};
  if (!s->h && s->state != RP_ACP_TAKEN) rp__acp_session_begin_late(s, &why);
}

void rp__acp_sessions_retry(struct rp__acp *a)
{
  for (struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (!s->h && s->open_at <= rp__acp_now(a)) rp__acp_session_retry(s);
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
  struct rp__json meta = {0};
  if (info->meta) meta = rp__json_trusted(info->meta, strlen(info->meta));
  char *said RP_AUTOFREE = rp__json_dup(rp__json_get(meta, "acp_session_id"));
  f->sid = rp__name_own(info->id, said);
  f->agent = rp__json_dup(rp__json_get(rp__json_get(meta, "agent"), "name"));
  return 0;
}

/* The agent's own id for a conversation as it was at an event (< 0: is now); NULL: none. */
static char *agents_id(struct rp__acp_session *s, int64_t seq)
{
  char *state = NULL, *sid = NULL;
  if (rp_state_json(s->h, seq, &state, NULL)) return NULL;
  struct rp__json provider = rp__json_get(rp__json_trusted(state, strlen(state)), "provider");
  sid = rp__json_dup(provider_sid(provider));
  rp_free(state);
  return sid;
}

/* What a fork has copied is the id of the original's conversation, in which nothing of the fork may be said. */
static bool is_the_originals(struct rp__acp_session *s, const struct found *f)
{
  char *was RP_AUTOFREE = f->forked_at && s->agent_sid ? agents_id(s, f->forked_at) : NULL;
  return was && strcmp(was, s->agent_sid) == 0;
}

/* The agent's own id for it and its name, as the last of them had it. */
static void read_provider(struct rp__acp_session *s, const struct found *f)
{
  char *state = NULL, *agent RP_AUTOFREE = NULL;
  if (rp_state_json(s->h, -1, &state, NULL)) return;
  struct rp__json provider = rp__json_get(rp__json_trusted(state, strlen(state)), "provider");
  rp__acp_set_agent_sid(s, provider_sid(provider));
  agent = rp__json_dup(rp__json_get(rp__json_get(rp__json_get(provider, "metadata"), "agent"), "name"));
  char had[RP_ACP_NAME], has[RP_ACP_NAME];
  rp__agent_name(agent ? agent : f->agent ? f->agent : "", had);
  rp__agent_name(s->a->caps.name, has);
  s->other_agent = had[0] && has[0] && strcmp(had, has) != 0;
  if (is_the_originals(s, f)) s->other_agent = true; /* the ladder's ids mean nothing for it either */
  rp_free(state);
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
  char id[RP_SCOPE_MAX + 1];
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
  if (!rc) rc = rp__book_load(s->h, &s->book, err);
  if (rc) {
    rp__acp_session_free(s);
    return rc;
  }
  read_provider(s, &f);
  s->recall = true;
  s->brief_due = a->brief && !s->book.turn; /* its first prompt is still to come */
  *ret = s;
  return 0;
}

void rp__acp_session_end(struct rp__acp_session *s, const char *reason)
{
  rp_error why = {0};
  rp__acp_session_retry(s);
  rp__tools_leave(s);
  rp__store_settle(s->a);
  if (s->h && s->state != RP_ACP_TAKEN && rp_end(s->h, reason, &why))
    rp__acp_log(s->a, "session %s: %s", s->id, why.message);
  rp__acp_session_free(s);
}
