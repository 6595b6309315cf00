/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining a topic: finds the session that the topic means, checks whether it is alive, and starts it if not (L-01,
 * L-03, L-05). The work is done in the pool; the channel is busy meanwhile.
 *
 * A session that is open and alive is attached as it is. A session whose run is dead is resumed. A session that was
 * closed comes back by its own id, never by its key. When the grace after a leave closes the session during the join,
 * the join looks for the session again.
 */
#include "base/id.h"
#include "server/http/call.h"
#include "server/channel/channel.h"

#define TRIES 4
#define START_TRIES 8
#define META_MAX 65536

struct join {
  struct rp__task task;
  struct rp__job job;
  struct rp__channel *ch;
  struct rp__server *srv;
  struct rp__identity who;
  char topic_id[RP_ID_MAX + 1];
  char *scope, *key, *meta, *ref;
  bool has_after, has_video, has_leave;
  int64_t after;
  double video, leave_s;
  /* what was found, and what became of it */
  bool there;
  struct rp__shown found;
  bool resumed;
  char *start;   /* the start document, when there was a start */
  int64_t epoch; /* of that start's own lease: the session may have a later one by now */
  struct rp__entry *entry;
  struct rp__member *member;
  bool may_write;
  int rc;
  rp_error err;
};

static void join_free(struct join *j)
{
  if (!j) return;
  free(j->scope);
  free(j->key);
  free(j->meta);
  free(j->ref);
  free(j->start);
  free(j);
}

/* ---- the payload ---- */

static int write_meta(struct rp__json payload, char **ret, rp_error *err)
{
  struct rp__json video = rp__json_get(payload, "video_id"), meta = rp__json_get(payload, "meta"), key, value;
  struct rp__json_iter it = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(META_MAX);
  struct rp__jw w = RP_JW(&out);
  bool has_video = video.type == RP_JSON_STRING || video.type == RP_JSON_NUMBER;
  if (meta.type != RP_JSON_NONE && meta.type != RP_JSON_NULL && meta.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "meta", "'meta' must be an object");
  if (!has_video && meta.type != RP_JSON_OBJECT) return 0;
  rp__jw_object(&w);
  while (rp__json_next(meta, &it, &key, &value)) {
    char *name RP_AUTOFREE = rp__json_dup(key);
    if (!name) return rp__fail_nomem(err);
    if (has_video && strcmp(name, "video_id") == 0) continue;
    rp__jw_kvalue(&w, name, value);
  }
  if (has_video) rp__jw_kvalue(&w, "video_id", video);
  rp__jw_end_object(&w);
  if (out.err == RP_E_TOO_LARGE) return rp__fail_field(err, RP_E_TOO_LARGE, "meta", "'meta' is too large");
  *ret = rp__buf_take(&out);
  return *ret ? 0 : rp__fail_nomem(err);
}

static int check_name(const char *field, const char *value, rp_error *err)
{
  if (!value || rp__name_ok(value)) return 0;
  return rp__fail_field(err, RP_E_USAGE, field,
                        "'%s' is not allowed here: letters, digits and . _ : - only, at most %d", field, RP_ID_MAX);
}

static int read_payload(struct join *j, struct rp__json payload, rp_error *err)
{
  if (payload.type != RP_JSON_OBJECT && payload.type != RP_JSON_NULL)
    return rp__fail_field(err, RP_E_INVALID, "payload", "the payload must be an object");
  int rc = rp__body_text(payload, "scope", &j->scope, err);
  if (!rc) rc = rp__body_text(payload, "key", &j->key, err);
  if (!rc) rc = check_name("scope", j->scope, err);
  if (!rc) rc = check_name("key", j->key, err);
  if (!rc) rc = rp__body_i64(payload, "after", &j->after, err);
  if (!rc) rc = rp__body_double(payload, "timestamp", &j->video, err);
  if (!rc) rc = rp__body_double(payload, "leave_s", &j->leave_s, err);
  if (!rc) rc = write_meta(payload, &j->meta, err);
  if (rc) return rc;
  j->has_leave = rp__json_get(payload, "leave_s").type == RP_JSON_NUMBER;
  if (!(j->leave_s >= 0 && j->leave_s <= RP_CHANNEL_LEAVE_MAX_S))
    return rp__fail_field(err, RP_E_INVALID, "leave_s", "'leave_s' must be from 0 to %d seconds",
                          RP_CHANNEL_LEAVE_MAX_S);
  j->has_after = rp__json_get(payload, "after").type == RP_JSON_NUMBER;
  j->has_video = rp__json_get(payload, "timestamp").type == RP_JSON_NUMBER;
  if (j->has_video && !(j->video >= 0))
    return rp__fail_field(err, RP_E_INVALID, "timestamp", "'timestamp' must be a number of seconds >= 0");
  if (j->has_after && j->after < 0) return rp__fail_field(err, RP_E_INVALID, "after", "'after' can't be negative");
  return 0;
}

/* ---- which session ---- */

static int show(struct join *j, const char *id, rp_error *err)
{
  memset(&j->found, 0, sizeof j->found);
  int rc = rp__show(j->srv->engine, id, &j->found, err);
  j->there = !rc;
  return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
}

/*
 * What the name names as seen from a scope (NULL: from none), by the rules of the routes; but prefixes, which they also
 * take, name nothing here: who joins "ab" does not mean the session "abc". RP_E_AMBIGUOUS: open sessions of several
 * scopes have that key.
 */
static int look_up(struct join *j, const char *scope, const char *name, rp_error *err)
{
  char id[RP_ID_MAX + 1], newest[RP_ID_MAX + 1];
  memset(&j->found, 0, sizeof j->found);
  j->there = false;
  int rc = rp_resolve_in(j->srv->engine, scope, name, id, err);
  if (rc == RP_E_AMBIGUOUS && rp_resolve(j->srv->engine, name, newest, NULL) != 0) return 0; /* of prefixes */
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  if (!rc) rc = show(j, id, err);
  return rc;
}

static const char *scope_of(const struct join *j)
{
  if (j->scope) return j->scope;
  return j->who.scope[0] ? j->who.scope : "default";
}

static int find_by_key(struct join *j, rp_error *err)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .scope = scope_of(j), .name = j->key};
  rp_presence_row joined;
  int rc = rp_presence_find(j->srv->engine, &q, &joined, NULL) ? show(j, joined.session, err)
                                                               : look_up(j, scope_of(j), j->key, err);
  bool meant = strcmp(j->found.key, j->key) == 0 && strcmp(j->found.scope, scope_of(j)) == 0;
  if (!meant || j->found.ended) j->there = false; /* L-05 */
  return rc;
}

/* The topic names an id, or else the key of an open session: then it is joined as with that key. */
static int find_by_topic(struct join *j, rp_error *err)
{
  const char *scope = j->scope ? j->scope : j->who.scope[0] ? j->who.scope : NULL;
  int rc = look_up(j, scope, j->topic_id, err);
  if (rc == RP_E_AMBIGUOUS) {
    /* Who may only one session learns nothing of others. */
    int refused =
        j->who.who == RP_WHO_SESSION ? rp__auth_admit(&j->who, RP_RIGHT_READ, j->topic_id, NULL, RP_BIRTH_ANY, err) : 0;
    if (refused) return refused;
    rp__hint(err, "join with a \"scope\" that says which");
    return rc;
  }
  if (rc || strcmp(j->found.id, j->topic_id) == 0) return rc;
  bool meant = strcmp(j->found.key, j->topic_id) == 0 && !j->found.ended; /* L-05 */
  if (!meant) {
    j->there = false;
    return 0;
  }
  free(j->scope);
  j->scope = strdup(j->found.scope);
  j->key = strdup(j->topic_id);
  return j->scope && j->key ? 0 : rp__fail_nomem(err);
}

/* ---- making it live ---- */

static int start(struct join *j, rp_error *err)
{
  rp_start_options o = {.scope = j->there ? j->found.scope : scope_of(j), .owner = RP_OWNER_NONE};
  rp_session *s = NULL;
  /* With a key, so that a run that falls silent does not close the session. */
  o.key = j->key ? j->key : j->topic_id;
  if (!j->key) o.id = j->topic_id;
  if (!j->there) {
    o.channel = "channel";
    o.meta = j->meta;
  }
  /* By its key it may have become another session since it was found. */
  bool named = !j->key && j->there;
  int rc = rp__auth_allows(&j->who, RP_RIGHT_WRITE, named ? j->topic_id : NULL, o.scope, j->found.birth, err);
  if (rc) return rc;
  rc = rp_start(j->srv->engine, &o, &s, err);
  if (rc) return rc;
  free(j->start);
  j->start = strdup(rp_start_json(s));
  j->epoch = rp_session_epoch(s);
  snprintf(j->found.id, sizeof j->found.id, "%s", rp_session_id(s));
  rp_heartbeat(s, NULL); /* at once: who joins next door must not take it for dead */
  rp_session_detach(s);
  return j->start ? 0 : rp__fail_nomem(err);
}

static int make_live(struct join *j, rp_error *err)
{
  bool alive = false;
  j->epoch = 0;
  int rc = j->key ? find_by_key(j, err) : find_by_topic(j, err);
  /*
   * Rights come before anything that tells whether there is such a session. One that is not there has no token: what
   * was given out for a session before it makes none of its id.
   */
  if (!rc)
    rc = j->there ? rp__auth_admit(&j->who, RP_RIGHT_READ, j->found.id, j->found.scope, j->found.birth, err)
                  : rp__auth_admit(&j->who, RP_RIGHT_WRITE, NULL, scope_of(j), RP_BIRTH_ANY, err);
  if (!rc && j->there && j->scope && strcmp(j->found.scope, j->scope) != 0)
    rc = rp__fail_field(err, RP_E_EXISTS, "scope", "session %s belongs to another scope", j->topic_id);
  if (!rc && j->there) rc = rp_alive(j->srv->engine, j->found.id, &alive, err);
  if (rc) return rc;
  if (j->there) j->resumed = true;
  /* Who may only read looks at what is there, dead or alive. */
  bool reads =
      j->there && rp__auth_allows(&j->who, RP_RIGHT_WRITE, j->found.id, j->found.scope, j->found.birth, NULL) != 0;
  return alive || reads ? 0 : start(j, err);
}

static void give_up(struct join *j)
{
  if (j->member) rp__member_exit(j->member, j->may_write, false);
  rp__registry_put(j->srv->registry, j->entry);
  j->member = NULL;
  j->entry = NULL;
}

static int enter(struct join *j, rp_error *err)
{
  char id[RP_ID_MAX + 1];
  memcpy(id, j->found.id, sizeof id);
  int rc = rp__registry_get(j->srv->registry, id, &j->entry, err);
  if (rc) return rc;
  j->may_write = rp__auth_allows(&j->who, RP_RIGHT_WRITE, id, j->entry->scope, j->entry->birth, NULL) == 0;
  rc = rp__member_enter(j->srv->channels, j->entry, j->key, j->may_write, &j->member, err);
  /* How long a member wants the session kept after the last one left, instead of leave_s; the longest counts. */
  if (!rc && j->has_leave && j->may_write)
    rp_presence_keep(j->srv->engine, j->member->presence, (int64_t)(j->leave_s * 1000 + 0.5));
  if (!rc) rc = show(j, id, err);
  if (!rc && !j->found.ended) rp_presence_set_ended(j->srv->engine, j->member->presence, false);
  if (rc) give_up(j);
  return rc;
}

static int join_session(struct join *j, rp_error *err)
{
  for (int i = 0; i < TRIES; i++) {
    /* Two that join what is not there yet at the same moment both start it: the one that comes second finds it then. */
    int rc = make_live(j, err);
    for (int k = 0; rc == RP_E_EXISTS && !j->there && k < START_TRIES; k++) rc = make_live(j, err);
    if (!rc) rc = enter(j, err);
    if (rc || !j->found.ended || !j->may_write) return rc;
    give_up(j);
  }
  return rp__fail(err, RP_E_BUSY, "the session is closed again and again while it is joined");
}

/* ---- back in the loop ---- */

/* The client drops the channel whose place this one has taken. */
static void close_old(struct rp__channel *ch)
{
  if (!ch->old_ref || !ch->socket) return;
  rp__channel_say(ch, ch->old_ref, "phx_close", RP_STR("{}"));
  free(ch->old_ref);
  ch->old_ref = NULL;
}

static void refuse(struct rp__channel *ch, const char *ref, const rp_error *err)
{
  atomic_fetch_add_explicit(&ch->of->joins_refused, 1, memory_order_relaxed);
  rp__channel_refuse(ch, ref, err, NULL);
  close_old(ch);
  /* Pushes that came before the refusal find no channel. */
  for (struct rp__push *p = ch->head; p; p = ch->head) {
    bool leave = p->row == &rp__push_leave;
    rp__channel_reply(ch, p->ref, leave, leave ? RP_STR("{}") : RP_STR("{\"reason\":\"unmatched topic\"}"));
    ch->head = p->next;
    ch->bytes -= p->n;
    if (ch->socket) ch->socket->waiting_bytes -= p->n;
    rp__push_free(p);
  }
  ch->tail = NULL;
  ch->waiting = 0;
  /* A session's token that opens nothing may not be tried for ever. */
  struct rp__socket *s = ch->socket;
  bool barred = err->code == RP_E_FORBIDDEN || err->code == RP_E_LIMIT;
  if (s && s->who.who == RP_WHO_SESSION && !s->proven && barred &&
      (++s->wrong >= RP_SOCKET_WRONG || err->code == RP_E_LIMIT))
    rp__socket_close(s, 1008, "the token does not open that");
  rp__channel_detach(ch, false);
}

static void admit(struct rp__channel *ch)
{
  ch->joined = true;
  atomic_fetch_add_explicit(&ch->of->joins, 1, memory_order_relaxed);
  if (!ch->socket) return;
  ch->socket->proven = true;
  if (ch->socket->who.who == RP_WHO_SESSION) rp__timer_stop(ch->of->srv->loop, &ch->socket->timer);
  atomic_fetch_add(&ch->of->n_joined, 1);
}

static void after_pool(struct rp__job *job)
{
  struct join *j = (struct join *)(void *)((char *)job - offsetof(struct join, job));
  struct rp__channel *ch = j->ch;
  ch->busy = false;
  if (j->rc) {
    refuse(ch, j->ref, &j->err);
    join_free(j);
    return;
  }
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  rp_error err = {0};
  ch->entry = j->entry;
  ch->member = j->member;
  ch->may_write = j->may_write;
  ch->has_video = j->has_video;
  ch->video = j->video;
  ch->joined_at = j->found.seq;
  snprintf(ch->status, sizeof ch->status, "%s", j->found.status);
  ch->fellow = ch->member->channels;
  ch->member->channels = ch;
  static const char *const names[] = {"restart", "warnings", "brief"};
  struct rp__jw w = RP_JW(&out);
  struct rp__json doc = rp__json_trusted(j->start ? j->start : "{}", j->start ? strlen(j->start) : 2);
  char token[RP_SESSION_TOKEN_TEXT];
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", j->found.id);
  rp__jw_kstr(&w, "scope", j->found.scope);
  rp__jw_kstr(&w, "key", j->found.key[0] ? j->found.key : NULL);
  rp__jw_kstr(&w, "status", j->found.status);
  rp__jw_ki64(&w, "epoch", j->epoch ? j->epoch : j->found.epoch);
  rp__jw_kbool(&w, "resumed", j->resumed);
  rp__jw_kbool(&w, "created", !j->resumed);
  rp__jw_ki64(&w, "seq", j->found.seq);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct rp__json v = rp__json_get(doc, names[i]);
    if (v.type == RP_JSON_NONE && strcmp(names[i], "brief") != 0) continue;
    rp__jw_kvalue(&w, names[i], v);
  }
  if (j->may_write) {
    rp__auth_session_token(j->srv->auth, j->found.id, j->found.birth, token);
    rp__jw_kstr(&w, "token", token);
  }
  rp__jw_end_object(&w);
  int rc = out.err ? rp__fail(&err, out.err, "the reply can't be made") : 0;
  /* Its events come in turns of their own, after the reply. */
  if (!rc && ch->socket) rc = rp__channel_subscribe(ch, j->has_after ? j->after : j->found.seq, &err);
  if (rc) {
    refuse(ch, j->ref, &err);
  } else {
    admit(ch);
    rp__channel_reply(ch, j->ref, true, (struct rp__str){out.p, out.n});
    close_old(ch);
    rp__channel_pump(ch);
  }
  join_free(j);
}

static void in_pool(struct rp__task *t)
{
  struct join *j = (struct join *)t;
  /* Those that wait when the server ends may be many; each client was told to come back. */
  bool ends = atomic_load(&j->srv->draining);
  j->rc = ends ? rp__fail(&j->err, RP_E_BUSY, "the server is stopping") : join_session(j, &j->err);
  j->job.fn = after_pool;
  if (rp__loop_post(j->srv->loop, &j->job)) return;
  give_up(j);
  join_free(j);
}

/* ---- in the loop: the beginning ---- */

static int begin(struct rp__channel *ch, const struct rp__phx *m, rp_error *err)
{
  const char *id = strchr(ch->topic, ':') + 1;
  struct join *j = calloc(1, sizeof *j);
  if (!j) return rp__fail_nomem(err);
  *j = (struct join){.task.fn = in_pool, .ch = ch, .srv = ch->of->srv, .who = ch->socket->who};
  int rc = m->binary ? rp__fail(err, RP_E_INVALID, "a join takes a JSON payload") : 0;
  if (!rc) rc = check_name("topic", id, err);
  if (!rc) rc = read_payload(j, m->payload, err);
  if (!rc && m->ref.p && !(j->ref = strdup(m->ref.p))) rc = rp__fail_nomem(err);
  if (!rc) {
    snprintf(j->topic_id, sizeof j->topic_id, "%s", id);
    ch->busy = true;
    if (!ch->of->closing && rp__pool_post(j->srv->pool, &j->task)) return 0;
    ch->busy = false;
    rc = rp__fail(err, RP_E_BUSY, "too many joins wait for a thread");
  }
  join_free(j);
  return rc;
}

void rp__channel_join(struct rp__channel *ch, const struct rp__phx *m)
{
  rp_error err = {0};
  bool list = ch->kind == RP_TOPIC_LIST; /* C-10 */
  const char *scope = strchr(ch->topic, ':') + 1;
  int rc = list ? check_name("topic", scope, &err) : begin(ch, m, &err);
  if (!rc && list) rc = rp__auth_admit(&ch->socket->who, RP_RIGHT_READ, NULL, scope, RP_BIRTH_ANY, &err);
  if (!rc && list) rc = rp__channel_subscribe_list(ch, scope, &err);
  if (rc) {
    refuse(ch, m->ref.p, &err);
  } else if (list) {
    admit(ch);
    rp__channel_reply(ch, m->ref.p, true, RP_STR("{}"));
    close_old(ch);
  }
}
