/* SPDX-License-Identifier: Apache-2.0 */
/* A client's socket: the handshake, handing messages to their channels, and the end. */
#include "server/channel/socket.h"

#include "server/channel/channel.h"
#include "server/http/route.h"

#define VSN "2.0.0"

/* ---- sending ---- */

int rp__socket_send(struct rp__socket *s, struct rp__net_msg *m)
{
  int rc = !m ? RP_E_NOMEM : s->ws ? rp__ws_send(s->ws, m) : RP_E_CANCELLED;
  rp__msg_unref(m);
  return rc;
}

void rp__socket_close(struct rp__socket *s, int code, const char *reason)
{
  s->closing = true;
  if (s->ws) rp__ws_close(s->ws, code, reason);
}

void rp__socket_must_send(struct rp__socket *s, struct rp__net_msg *m)
{
  int rc = rp__socket_send(s, m);
  if (rc == RP_E_LIMIT) rp__socket_close(s, 1001, "the client does not read");
  if (rc == RP_E_NOMEM) rp__socket_close(s, 1011, "out of memory");
}

static void reply(struct rp__socket *s, const char *join_ref, const struct rp__phx *m, bool ok, struct rp__str json)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  rp__phx_reply(&out, join_ref, m->ref.p, m->topic.p, ok, json);
  rp__socket_must_send(s, out.err ? NULL : rp__ws_text(out.p, out.n));
}

/* ---- how long it may live ---- */

#define OF_TIMER(t) ((struct rp__socket *)(void *)((char *)(t)-offsetof(struct rp__socket, timer)))

static void on_timer(struct rp__timer *t)
{
  struct rp__socket *s = OF_TIMER(t);
  if (s->who.who == RP_WHO_TOKEN)
    rp__socket_close(s, 1012, "come back: the token is checked anew");
  else
    rp__socket_close(s, 1008, "the token has opened nothing");
}

/* ---- messages ---- */

static enum rp__channel_topic topic_kind(const char *topic)
{
  static const struct {
    const char *prefix;
    enum rp__channel_topic kind;
  } kinds[] = {{"session:", RP_TOPIC_SESSION}, {"audio:", RP_TOPIC_AUDIO}, {"sessions:", RP_TOPIC_LIST}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(kinds); i++)
    if (strncmp(topic, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) return kinds[i].kind;
  return RP_TOPIC_NONE;
}

static void unmatched(struct rp__socket *s, const struct rp__phx *m)
{
  reply(s, NULL, m, false, RP_STR("{\"reason\":\"unmatched topic\"}"));
}

static void join(struct rp__socket *s, const struct rp__phx *m)
{
  enum rp__channel_topic kind = topic_kind(m->topic.p);
  if (kind == RP_TOPIC_NONE) {
    unmatched(s, m);
    return;
  }
  if (s->n_channels >= RP_SOCKET_CHANNELS && !rp__channel_find(s, m->topic.p)) {
    reply(s, m->join_ref.p, m, false, RP_STR("{\"reason\":\"too many channels joined\"}"));
    return;
  }
  struct rp__channel *ch = rp__channel_new(s, m, kind);
  if (ch)
    rp__channel_join(ch, m);
  else
    reply(s, m->join_ref.p, m, false, RP_STR("{\"reason\":\"out_of_memory\"}"));
}

/*
 * Phoenix' own transport crashes on what is no message, and the socket closes with
 * 1011. The client is at fault, so it hears 1003 and what was wrong.
 */
static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  struct rp__socket *s = ctx;
  struct rp__phx m;
  rp_error err = {0};
  if (s->closing) return;
  if (rp__phx_read(binary, bytes, n, &m, &err)) {
    atomic_fetch_add_explicit(&s->of->bad_frames, 1, memory_order_relaxed);
    rp__socket_close(s, err.code == RP_E_NOMEM ? 1011 : 1003, err.message);
    return;
  }
  bool leave = rp__str_eq(m.event, "phx_leave");
  if (rp__str_eq(m.topic, "phoenix") && rp__str_eq(m.event, "heartbeat")) {
    reply(s, NULL, &m, true, RP_STR("{}"));
    return;
  }
  if (rp__str_eq(m.event, "phx_join")) {
    join(s, &m);
    return;
  }
  struct rp__channel *ch = rp__channel_find(s, m.topic.p);
  if (!ch && leave)
    reply(s, m.join_ref.p, &m, true, RP_STR("{}"));
  else if (!ch)
    unmatched(s, &m);
  if (!ch || (m.join_ref.p && strcmp(m.join_ref.p, ch->join_ref) != 0)) return; /* of a join before */
  const struct rp__push_row *row = leave ? &rp__push_leave : rp__push_find(m.event.p);
  if (!row || (ch->kind == RP_TOPIC_LIST && !leave))
    rp__channel_reply(ch, m.ref.p, false, RP_STR("{\"reason\":\"unmatched event\"}"));
  else
    rp__channel_take(ch, row, &m);
}

static void on_drained(void *ctx)
{
  struct rp__socket *s = ctx;
  for (struct rp__channel *ch = s->channels, *next; ch; ch = next) {
    next = ch->sibling;
    if (ch->sub) rp__sub_more(ch->sub);
    if (ch->list) rp__list_sub_more(ch->list);
  }
}

/* ---- the end ---- */

static void socket_free(struct rp__socket *s)
{
  LIST_REMOVE(s, in_all);
  atomic_fetch_sub(&s->of->n_sockets, 1);
  free(s);
}

static void clean_up(struct rp__job *job)
{
  struct rp__socket *s = (struct rp__socket *)job;
  rp__timer_stop(s->of->srv->loop, &s->timer);
  while (s->channels) rp__channel_detach(s->channels, s->goodbye);
  socket_free(s);
}

/*
 * 1000 and 1005 are what a client says that disconnects by its own will: it has left, with the grace of a leave (L-02).
 * 1001 is what a browser says for a page that goes and for a service worker that it stops and starts again; that, and
 * all else, is a lost connection: the client may come back (L-08). The close may come in the middle of a call that
 * sends: the channels go in a turn of their own.
 */
static void on_closed(void *ctx, int code, const char *why)
{
  struct rp__socket *s = ctx;
  s->goodbye = !s->closing && (code == 1000 || code == 1005);
  s->ws = NULL;
  s->closing = true;
  rp__slog(&s->of->srv->log, RP_LOG_DEBUG, "socket_closed", RP_FN("code", code), RP_F("why", why),
           RP_F("who", s->who.name));
  s->job.fn = clean_up;
  rp__loop_post(s->of->srv->loop, &s->job); /* refused at the loop's end: rp__channels_free finds it */
}

/* ---- the beginning ---- */

int rp__socket_open(struct rp__channels *c, const struct rp__identity *who, int fd, struct rp__str head, rp_error *err)
{
  static const struct rp__ws_handler handler = {.message = on_message, .drained = on_drained, .closed = on_closed};
  struct rp__scope_config *set = &c->srv->set;
  struct rp__ws_options o = {.max_message = RP_MIN((size_t)RP_SOCKET_MESSAGE_MAX, set->max_request_bytes),
                             .queue_bytes = set->queue_bytes,
                             .stall_ms = set->stall_ms,
                             .idle_ms = RP_SOCKET_IDLE_MS};
  struct rp__socket *s = calloc(1, sizeof *s);
  if (!s) {
    close(fd);
    return rp__fail_nomem(err);
  }
  s->of = c;
  s->who = *who;
  s->timer.fn = on_timer;
  LIST_INSERT_HEAD(&c->sockets, s, in_all);
  atomic_fetch_add(&c->n_sockets, 1);
  atomic_fetch_add_explicit(&c->opened, 1, memory_order_relaxed);
  int rc = rp__ws_open(c->srv->loop, fd, head, &o, &handler, s, &s->ws, err);
  if (rc) {
    socket_free(s);
    return rc;
  }
  /* Whether a session's token is right shows at a join, so who holds a wrong one must not stay for long. */
  int64_t life_ms = who->who == RP_WHO_TOKEN ? c->token_ms : who->who == RP_WHO_SESSION ? c->prove_ms : 0;
  if (life_ms && rp__timer_start(c->srv->loop, &s->timer, life_ms)) rp__socket_close(s, 1011, "out of memory");
  return 0;
}

static void arrive(struct rp__server *srv, const struct rp__identity *who, int fd, struct rp__str head)
{
  if (srv->channels->closing)
    close(fd);
  else
    RP_IGNORE(rp__socket_open(srv->channels, who, fd, head, NULL)); /* without memory it is closed, and comes again */
}

/* Whether a list of a header's words has this one. */
static bool offers(const char *list, const char *word)
{
  for (const char *p = list; p && *p; p += strspn(p, ", \t")) {
    size_t n = strcspn(p, ", \t");
    if (n == strlen(word) && strncasecmp(p, word, n) == 0) return true;
    p += n;
  }
  return false;
}

int rp__handle_socket(struct rp__http_call *c, rp_error *err)
{
  /* What a session's token opens shows at the join. */
  bool session = c->who.who == RP_WHO_SESSION;
  int rc = session ? 0 : rp__auth_allows(&c->who, RP_RIGHT_READ, NULL, NULL, RP_BIRTH_ANY, err);
  char vsn[32] = "1.0.0"; /* what a client means that says nothing */
  if (!rc) rc = rp__call_text(c, "vsn", vsn, sizeof vsn, err);
  if (rc) return rc;
  if (strncmp(vsn, "2.", 2) != 0) {
    rc = rp__fail_field(err, RP_E_USAGE, "vsn", "version '%s' of the channels' protocol is not spoken here", vsn);
    rp__hint(err, "connect with ?vsn=" VSN ", as the phoenix client does since 1.4");
    return rc;
  }
  bool phoenix = offers(rp__request_header(c->req, "Sec-WebSocket-Protocol"), "phoenix");
  return rp__call_upgrade(c, phoenix ? "phoenix" : NULL, arrive, err);
}

/* ---- all of them ---- */

int rp__channels_new(struct rp__server *srv, struct rp__channels **ret, rp_error *err)
{
  struct rp__channels *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  c->srv = srv;
  c->token_ms = RP_SOCKET_TOKEN_MS;
  c->prove_ms = RP_SOCKET_PROVE_MS;
  int rc = rp__leaving_new(c, &c->leaving, err);
  if (rc)
    rp__channels_free(c);
  else
    *ret = c;
  return rc;
}

/* The loop is over: nothing is sent, nothing comes back. */
void rp__channels_free(struct rp__channels *c)
{
  if (!c) return;
  for (struct rp__channel *ch; (ch = LIST_FIRST(&c->all));) {
    LIST_REMOVE(ch, in_all);
    rp__channel_unsubscribe(ch);
    rp__channel_free(ch);
  }
  while (!LIST_EMPTY(&c->sockets)) socket_free(LIST_FIRST(&c->sockets));
  rp__leaving_free(c->leaving);
  rp_presence_clear(c->srv->engine, RP_PRESENCE_CHANNEL);
  free(c);
}

void rp__channels_close(struct rp__channels *c, int code)
{
  c->closing = true;
  for (struct rp__socket *s = LIST_FIRST(&c->sockets), *next; s; s = next) {
    next = LIST_NEXT(s, in_all);
    rp__socket_close(s, code, code == 1012 ? "the server restarts" : "the server goes");
  }
}

size_t rp__channels_sockets(const struct rp__channels *c)
{
  return atomic_load(&c->n_sockets) + atomic_load(&c->n_lingering);
}

void rp__channels_metrics(const struct rp__channels *c, struct rp__buf *out)
{
  const struct rp__metric rows[] = {
      {"reprise_server_sockets", "gauge", "Clients' sockets that are open.", (long long)atomic_load(&c->n_sockets)},
      {"reprise_server_channels", "gauge", "Channels that are joined.", (long long)atomic_load(&c->n_joined)},
      {"reprise_server_sockets_opened_total", "counter", "Clients' sockets ever opened.", atomic_load(&c->opened)},
      {"reprise_server_joins_total", "counter", "Joins that were let in.", atomic_load(&c->joins)},
      {"reprise_server_joins_refused_total", "counter", "Joins that were refused.", atomic_load(&c->joins_refused)},
      {"reprise_server_pushes_total", "counter", "Clients' messages on channels.", atomic_load(&c->pushes)},
      {"reprise_server_pushes_refused_total", "counter", "Of these, those answered with an error.",
       atomic_load(&c->refused)},
      {"reprise_server_bad_frames_total", "counter", "Sockets closed for what is no message.",
       atomic_load(&c->bad_frames)},
  };
  rp__metrics_write(out, rows, RP_ARRAY_SIZE(rows));
  rp__leaving_metrics(c->leaving, out);
}
