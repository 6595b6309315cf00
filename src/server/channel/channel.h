/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets, channels and the sessions that they have joined. Everything belongs to the
 * loop's thread, except the members, which are in the engine's table of presence.
 *
 * A channel outlives its socket as long as messages that came over it are being
 * handled: when a client sends event, close_session, leave and hangs up, all three are
 * carried out. Nothing is sent to a socket that is gone.
 */
#ifndef RP_SERVER_CHANNEL_H
#define RP_SERVER_CHANNEL_H

#include <sys/queue.h>

#include "net/ws.h"
#include "server/channel/phoenix.h"
#include "server/channel/push.h"
#include "server/channel/socket.h"

#define RP_SOCKET_CHANNELS 100                   /* topics joined on one socket */
#define RP_SOCKET_MESSAGE_MAX (4 * 1024 * 1024)  /* bytes of one message */
#define RP_SOCKET_WAITING_MAX (16 * 1024 * 1024) /* bytes of pushes that are not done, of one socket */
#define RP_SOCKET_IDLE_MS 60000                  /* the client's heartbeat comes every 30 s */
#define RP_SOCKET_TOKEN_MS (3600 * 1000)         /* one opened with a token ends then: the token is checked anew */
#define RP_SOCKET_PROVE_MS 30000                 /* for a session's token to open something */
#define RP_SOCKET_WRONG 3                        /* joins that it may try in vain */
#define RP_CHANNEL_PENDING 1000                  /* pushes of one channel that are not done */
#define RP_CHANNEL_REFUSED 1000                  /* pushes refused in a row before the socket is closed */
#define RP_CHANNEL_WARN 50
#define RP_CHANNEL_CRITICAL 100
#define RP_CHANNEL_NORMAL 25
#define RP_CHANNEL_LEAVE_MAX_S 3600 /* that a join may ask for: the silence after which a session is abandoned */
#define RP_AUDIO_BYTES 5000000      /* of one segment; so says the seed */
#define RP_AUDIO_SECONDS 60
#define RP_AUDIO_RATE 2000 /* bytes of a second of it */

struct rp__leaving;
struct rp__socket;

struct rp__channels {
  struct rp__server *srv;
  struct rp__leaving *leaving;
  LIST_HEAD(, rp__socket) sockets;
  LIST_HEAD(, rp__channel) all; /* those whose socket is gone too */
  bool closing;
  int64_t token_ms, prove_ms; /* RP_SOCKET_TOKEN_MS, RP_SOCKET_PROVE_MS */
  atomic_size_t n_sockets, n_lingering, n_joined;
  atomic_llong opened, joins, joins_refused, pushes, refused, bad_frames;
};

enum rp__channel_topic { RP_TOPIC_SESSION, RP_TOPIC_AUDIO, RP_TOPIC_LIST, RP_TOPIC_NONE };

struct rp__audio {
  int64_t chunks, bytes;
  int64_t from_ms, to_ms;
};

enum rp__level { RP_LEVEL_NORMAL, RP_LEVEL_WARN, RP_LEVEL_CRITICAL };

struct rp__channel {
  struct rp__channels *of;
  LIST_ENTRY(rp__channel) in_all;
  struct rp__channel *sibling; /* on the same socket */
  struct rp__channel *fellow;  /* of the same session */
  struct rp__socket *socket;   /* NULL: gone, or another has taken its topic */
  enum rp__channel_topic kind;
  char topic[RP_PHX_NAME_MAX + 1], join_ref[RP_PHX_NAME_MAX + 1];
  char *old_ref; /* of the join this one replaces: to be closed after the reply */
  bool joined, may_write, goodbye, lingering;
  bool budget_low; /* and it was told so */
  bool busy;       /* a join or something alone is on its way */
  bool ending;     /* its session is over: it closes when what was pushed is answered */
  struct rp__push *head, *tail;
  size_t waiting, flying; /* pushes in the queue; in the store's hands */
  size_t bytes;           /* of all of them */
  size_t refused;         /* in a row */
  enum rp__level level;
  struct rp__entry *entry;
  struct rp__member *member;
  struct rp__sub *sub;
  struct rp__list_sub *list;
  int64_t joined_at; /* seq of the journal's last event then: what is not after it is the past */
  int64_t seen;      /* seq of the last event sent whole */
  int64_t begun;     /* seq of an event of which the first message is out */
  char status[16];
  bool has_video;
  double video;
  struct rp__audio audio;
};

/* All members of one session. */
struct rp__member {
  struct rp__channels *of;
  rp_presence *presence;
  struct rp__entry *entry;
  int64_t look_ms;              /* when the next look is due; of the thread that sends heartbeats */
  struct rp__channel *channels; /* in the loop */
};

struct rp__socket {
  struct rp__job job; /* its end */
  LIST_ENTRY(rp__socket) in_all;
  struct rp__channels *of;
  struct rp__ws *ws;
  struct rp__identity who;
  struct rp__channel *channels;
  size_t n_channels, waiting_bytes;
  struct rp__timer timer; /* the end of its life */
  bool proven;            /* something was joined */
  unsigned wrong;         /* joins refused before that */
  bool closing;           /* by this side, or over */
  bool goodbye;           /* the client left by its own will */
};

/* ---- socket.c ---- */

/* Sends and gives the message up. RP_E_LIMIT: the client does not read; RP_E_NOMEM for a message that is NULL. */
int rp__socket_send(struct rp__socket *s, struct rp__net_msg *m);
void rp__socket_close(struct rp__socket *s, int code, const char *reason);
/* In the loop: takes the connection, whatever comes of it; `head` is the rest of the handshake. */
RP_MUST_USE int rp__socket_open(struct rp__channels *c, const struct rp__identity *who, int fd, struct rp__str head,
                                rp_error *err);
/* What must not be lost, such as replies: a client that takes none is closed. */
void rp__socket_must_send(struct rp__socket *s, struct rp__net_msg *m);

/* ---- channel.c ---- */

struct rp__channel *rp__channel_find(const struct rp__socket *s, const char *topic);
/* A new channel on a socket, in the place of one with the same topic. NULL without memory. */
struct rp__channel *rp__channel_new(struct rp__socket *s, const struct rp__phx *m, enum rp__channel_topic kind);
/* Takes it off its socket: nothing more is sent. It goes when what it has begun is done. */
void rp__channel_detach(struct rp__channel *ch, bool goodbye);
void rp__channel_reply(struct rp__channel *ch, const char *ref, bool ok, struct rp__str json);
void rp__channel_refuse(struct rp__channel *ch, const char *ref, const rp_error *err, const char *reason);
/* A push to this client alone. */
int rp__channel_tell(struct rp__channel *ch, const char *event, struct rp__str json);
/* One that must not be lost, under the ref of a join. */
void rp__channel_say(struct rp__channel *ch, const char *join_ref, const char *event, struct rp__str json);
/* phx_close, and off its socket. */
void rp__channel_close(struct rp__channel *ch);
void rp__channel_retire(struct rp__channel *ch); /* frees it, once its socket is gone and nothing is on its way */
void rp__channel_free(struct rp__channel *ch);   /* for the end of all */
RP_MUST_USE int rp__channel_subscribe(struct rp__channel *ch, int64_t after, rp_error *err);
RP_MUST_USE int rp__channel_subscribe_list(struct rp__channel *ch, const char *scope, rp_error *err);
void rp__channel_unsubscribe(struct rp__channel *ch);
/* What the session's row says. May free the channel. */
void rp__channel_status(struct rp__channel *ch, const char *status, int64_t seq);

/* ---- push-queue.c ---- */

/*
 * Its session is over: phx_close after the replies that are owed, so that the client does not join again by itself. May
 * free the channel.
 */
void rp__channel_end(struct rp__channel *ch);
/* Queues a client's message and starts what may start. */
void rp__channel_take(struct rp__channel *ch, const struct rp__push_row *row, const struct rp__phx *m);
void rp__channel_pump(struct rp__channel *ch);
/* Writes what is known of the audio since the last time into the journal. */
void rp__channel_end_audio(struct rp__channel *ch);
void rp__push_free(struct rp__push *p);

/* ---- join.c ---- */

void rp__channel_join(struct rp__channel *ch, const struct rp__phx *m);

/* ---- member.c: who is joined to which session ---- */

/*
 * One more member of the entry's session, who keeps it from being closed for a leave that was before. Waits while it is
 * being closed. Any thread but the loop's. `key` may be NULL.
 */
RP_MUST_USE int rp__member_enter(struct rp__channels *c, struct rp__entry *e, const char *key, bool writes,
                                 struct rp__member **ret, rp_error *err);
/* One less. With `goodbye` the last one leaves for good, unless somebody comes back within that time. Any thread. */
void rp__member_exit(struct rp__member *m, bool writes, bool goodbye);
/* After a heartbeat: tells the channels what the session's row says, now and then. */
void rp__member_look(struct rp__member *m, int64_t now_ms);
/* Closing what was left. */
RP_MUST_USE int rp__leaving_new(struct rp__channels *c, struct rp__leaving **ret, rp_error *err);
void rp__leaving_free(struct rp__leaving *l);      /* after the pool has stopped */
size_t rp__leaving_closers(struct rp__leaving *l); /* at work now */
void rp__leaving_metrics(struct rp__leaving *l, struct rp__buf *out);

#endif
