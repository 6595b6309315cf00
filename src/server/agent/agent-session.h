/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the agents' sockets. An agent session is a session that has an agent, connected or awaited. An agent is
 * one connection; it gets its session once it has identified itself. Everything belongs to the loop's thread, except
 * the roster, which has a lock.
 *
 * A connection outlives its socket while messages that came over it are being stored. An agent session outlives the
 * connection for reconnect_s.
 */
#ifndef RP_SERVER_AGENT_IMPL_H
#define RP_SERVER_AGENT_IMPL_H

#include <pthread.h>
#include <sys/queue.h>

#include "json/json.h"
#include "net/ws.h"
#include "server/agent/agent.h"

#define RP_AGENT_AUTH_MS 30000                 /* to the first message (C-06) */
#define RP_AGENT_IDLE_MS 30000                 /* then it is pinged */
#define RP_AGENT_MARK_MS 5                     /* after a delivery, before the mark */
#define RP_AGENT_MESSAGE_MAX (4 * 1024 * 1024) /* bytes of one message */
#define RP_AGENT_FLYING_MAX 4096               /* messages of one agent on their way into the store */
#define RP_AGENT_FLYING_BYTES (16 * 1024 * 1024)
#define RP_AGENT_DEPTH (RP_DEPTH_MAX + 4)      /* of a message around the bodies of its events */
#define RP_AGENT_EVENTS 68                     /* made of one message */
#define RP_AGENT_TOOLS 64                      /* of them, for tools */
#define RP_AGENT_CALLS 256                     /* tools that run, whose names are remembered */
#define RP_AGENT_ASKED 128                     /* approvals and questions of a session that are pending */
#define RP_AGENT_STREAM_MAX (256 * 1024)       /* bytes of a streamed message that are compared with the whole one */
#define RP_AGENT_PROGRESS_MAX 500              /* bytes of a word on the setup */
#define RP_AGENT_ID_MAX 512                    /* bytes of the ids it gives */
#define RP_AGENT_BEFORE_AUTH_MAX (1024 * 1024) /* bytes of messages that follow the first before it is let in */
#define RP_AGENT_STATUS 24                     /* bytes of the longest status */
#define RP_AGENT_CLIENT "agent"                /* client_id of what agents number */
#define RP_ROSTER_MAX 65536                    /* sessions */
#define RP_ROSTER_BYTES (16 * 1024 * 1024)     /* of its file */

#define RP_CLOSE_REPLACED 4000
#define RP_CLOSE_AUTH 4001

/* ---- running-tools.c: what is known of an agent between its messages ---- */

struct rp__agent_call {
  char *id, *name; /* raw JSON strings; `name` lies behind `id` */
};
struct rp__agent_question {
  bool approval; /* or a question */
  bool stored;   /* the journal has it, up to where the agent was given it */
  char *id;      /* as rp__agent_tools_ask spells it */
};
struct rp__agent_tools {
  struct rp__agent_call calls[RP_AGENT_CALLS];
  size_t n_calls;
  struct rp__agent_question asked[RP_AGENT_ASKED];
  size_t n_asked;
  struct rp__buf stream_id, streamed; /* of the stream that is open, as told and decoded */
  enum {
    RP_STREAM_HEARD,    /* all of it on this connection */
    RP_STREAM_RECALLED, /* the journal has it; this connection has added nothing to it */
    RP_STREAM_RESUMED,  /* … has gone on with it; what was said in between is missing */
  } stream_from;
};
void rp__agent_tools_init(struct rp__agent_tools *m);
void rp__agent_tools_done(struct rp__agent_tools *m);
/* Remembers the name of a tool that runs. `id` and `name` are JSON strings. */
void rp__agent_tools_call(struct rp__agent_tools *m, struct rp__json id, struct rp__json name);
/* The name, a JSON string, or NULL. */
const char *rp__agent_tools_name(const struct rp__agent_tools *m, struct rp__json id);
void rp__agent_tools_forget(struct rp__agent_tools *m, struct rp__json id);
/* An approval or a question is pending. `stored`: the journal says so, not just the agent. */
void rp__agent_tools_ask(struct rp__agent_tools *m, bool approval, struct rp__json id, bool stored);
/* Whether it is pending, and stored. */
bool rp__agent_tools_asked(const struct rp__agent_tools *m, bool approval, struct rp__json id);
void rp__agent_tools_settle(struct rp__agent_tools *m, bool approval, struct rp__json id);
/* The status of an agent that waits for a decision or an answer, `status` if it fits; NULL: it does not wait. */
const char *rp__agent_tools_waits(const struct rp__agent_tools *m, const char *status);
/* One more chunk of a stream; an id of nothing: there is no stream any more. */
void rp__agent_tools_stream(struct rp__agent_tools *m, struct rp__json id, struct rp__json token);
/* A stream that the journal says is open. */
void rp__agent_tools_recall(struct rp__agent_tools *m, struct rp__json id, struct rp__json text);
enum rp__agent_stream {
  RP_STREAM_OTHER, /* there is none, or the message has nothing to do with it */
  RP_STREAM_SAME,  /* the message is what was streamed */
  RP_STREAM_WHOLE, /* it is what the stream was to become */
};
/*
 * How a message is related to the stream that is open. `id` is its own, if it has one. That it is the same message is
 * told by its id, or by its text: what was streamed is in it, if with gaps (chunks that were lost), or goes beyond it
 * (an end that was trimmed). Of a stream that another connection left behind its text must go on from the beginning.
 */
enum rp__agent_stream rp__agent_tools_streamed(const struct rp__agent_tools *m, struct rp__json id,
                                               struct rp__json content);

/* ---- read-message.c: a message of an agent to events ---- */

/* What becomes of one message. The last event is the one that its number is for. */
struct rp__agent_act {
  struct rp__buf text;
  struct {
    const char *kind;
    size_t at, n; /* of the body in `text` */
  } part[RP_AGENT_EVENTS];
  size_t n;
  rp_durability durability;
  const char *status; /* the new one, of which an event tells; NULL: as it was */
  int64_t client_seq; /* 0: not numbered */
  int64_t acked;      /* the agent has events up to this one; 0: it does not say */
};
void rp__agent_act_done(struct rp__agent_act *a);
/*
 * `status`: the present one, "" for none. RP_E_INVALID names the field; nothing is to be stored then. Any other failure
 * is one of memory.
 */
RP_MUST_USE int rp__agent_read(struct rp__agent_tools *m, const char *status, struct rp__json message,
                               struct rp__agent_act *ret, rp_error *err);

/* ---- deliver.c: an event to a message for the agent ---- */

enum rp__agent_word {
  RP_WORD_NONE,    /* not for agents */
  RP_WORD_WORK,    /* a prompt or an answer: it has something to do now */
  RP_WORD_COMMAND, /* anything else */
};
/* Errors stick in `out`. */
enum rp__agent_word rp__agent_write(const char *kind, int64_t seq, struct rp__json body, struct rp__buf *out);

/* ---- roster.c: which sessions have an agent, in a file beside the database ---- */

struct rp__roster_row {
  char id[RP_ID_MAX + 1];
  bool found; /* it stood there when the server began, and its agent has not come yet */
};
struct rp__roster {
  pthread_mutex_t lock;
  char *path; /* NULL: nothing outlives the process */
  struct rp__roster_row *rows;
  size_t n, cap;
  bool loaded;
};
RP_MUST_USE int rp__roster_init(struct rp__roster *r, const char *db_path, rp_error *err);
void rp__roster_done(struct rp__roster *r);
/* Durable when it returns. Any thread but the loop's. */
RP_MUST_USE int rp__roster_add(struct rp__roster *r, const char *id, rp_error *err);
/* Adds what the file says; the first time only. Before rp__roster_add, or what that adds would be found there. */
RP_MUST_USE int rp__roster_load(struct rp__roster *r, rp_error *err);
/* Whether it was found when the server began; says so once. */
bool rp__roster_returns(struct rp__roster *r, const char *id);
/* A copy of all rows, freed by the caller. */
RP_MUST_USE int rp__roster_copy(struct rp__roster *r, struct rp__roster_row **ret, size_t *ret_n, rp_error *err);
void rp__roster_remove(struct rp__roster *r, const char *id);
/* Writes the file anew, without those that were removed. */
RP_MUST_USE int rp__roster_save(struct rp__roster *r, rp_error *err);

/* ---- agent sessions and agents ---- */

struct rp__agent_session {
  rp_presence *presence;
  struct rp__entry *entry;
  struct rp__agent *agent; /* NULL: awaited */
  char status[RP_AGENT_STATUS];
  bool unsaved;      /* the journal does not know the status yet */
  bool restarted;    /* it is awaited because the server was restarted */
  int64_t delivered; /* the agent has been given events up to this one */
};

enum rp__agent_session_state { RP_AGENT_HELLO, RP_AGENT_ENTERING, RP_AGENT_ENTERED };

struct rp__agent {
  struct rp__job end;
  struct rp__agents *of;
  LIST_ENTRY(rp__agent) in_all;
  struct rp__ws *ws; /* NULL: gone */
  struct rp__agent_session *session;
  struct rp__sub *sub;
  struct rp__timer timer, marker; /* of the authentication; of the mark after deliveries */
  enum rp__agent_session_state state;
  bool acks;     /* it says what it has got */
  bool ended;    /* taken out of the list of connections */
  size_t flying; /* what is in the store's or the pool's hands */
  size_t flying_bytes;
  int64_t sent;               /* the last event given to the socket */
  int64_t known;              /* events up to this one are only looked at: it has had them */
  struct rp__buf before_auth; /* what it said while it was being let in, each message ended by a NUL */
  struct rp__agent_tools tools;
  bool budget_low; /* and it was told so */
};

struct rp__agents {
  struct rp__server *srv;
  LIST_HEAD(, rp__agent) all;
  struct rp__roster roster;
  int64_t auth_ms; /* RP_AGENT_AUTH_MS, but for tests */
  bool closing;
  struct rp__job give_up;
  atomic_bool giving_up; /* the job is posted */
  atomic_size_t n_sockets, n_connected;
  atomic_llong messages, refused, delivered, replaced, lost, evicted;
};

/* agent.c */

/* In the loop. Takes the socket over. */
RP_MUST_USE int rp__agent_open(struct rp__agents *a, int fd, struct rp__str head, rp_error *err);
/* Sends and gives the message up; who does not read, or has no memory left for, is closed. */
void rp__agent_send(struct rp__agent *g, struct rp__net_msg *m);
void rp__agent_send_error(struct rp__agent *g, const rp_error *err, int64_t client_seq);
void rp__agent_close(struct rp__agent *g, int code, const char *reason);
/* It has its session: what it said meanwhile counts. */
void rp__agent_entered(struct rp__agent *g);
/* One thing less on its way. */
void rp__agent_landed(struct rp__agent *g, size_t bytes);

/* enter.c */

/* The first message. */
void rp__agent_enter(struct rp__agent *g, struct rp__json message);

/* What a session's state tells of its agent. In the pool. */
struct rp__agent_facts {
  char status[RP_AGENT_STATUS]; /* "": there never was one */
  int64_t delivered;
  bool approval, question; /* one is pending */
};
/* `tools` may be NULL; it gets what was pending when the last event was delivered. RP_E_ENDED: closed, abandoned or in
 * the trash. */
RP_MUST_USE int rp__agent_facts(struct rp__server *srv, struct rp__entry *e, struct rp__agent_facts *ret,
                                struct rp__agent_tools *tools, rp_error *err);

/* agent-session.c */

struct rp__agent_session *rp__agent_session_find(struct rp__agents *a, const char *id);
/* Takes the entry over, also on failure (NULL: no memory). */
struct rp__agent_session *rp__agent_session_new(struct rp__agents *a, struct rp__entry *e);
void rp__agent_session_free(struct rp__agents *a, struct rp__agent_session *s);
/* Its agent, which was awaited, is there. A new one is joined. */
RP_MUST_USE int rp__agent_session_join(struct rp__agents *a, struct rp__agent_session *s, rp_error *err);
/* Whether the status is one in which an agent lives. */
bool rp__agent_session_alive(const char *status);
/* The status becomes another in the journal too, with a reason and a word in the conversation (each may be NULL). */
void rp__agent_session_set(struct rp__agents *a, struct rp__agent_session *s, const char *status, const char *reason,
                           const char *message);
/* The connection is gone: its agent is awaited from now on, if it lives; else the session is let go of. */
void rp__agent_session_await(struct rp__agents *a, struct rp__agent_session *s, bool restarted);
/* Agents that have been awaited for too long have failed. */
void rp__agent_sessions_give_up(struct rp__agents *a);
/*
 * Appends to the session. With `g` it counts as on its way, is acknowledged when it is numbered, and told of
 * when it fails. `client_seq`: 0 for none, -1 for what belongs to a numbered message. Failures of checks are returned.
 */
RP_MUST_USE int rp__agent_session_store(struct rp__agents *a, struct rp__agent_session *s, struct rp__agent *g,
                                        const rp_event *events, size_t n, rp_durability durability, int64_t client_seq,
                                        rp_error *err);
/* The agent of that session failed at that time. What becomes of it until then is looked at again. Any thread. */
void rp__agent_evict_later(struct rp__agents *a, const struct rp__entry *e, int64_t failed_ms);

/* deliver.c: events on their way to the agent */

/* From after `from` on; what the session's agents have been given is not sent again. */
RP_MUST_USE int rp__agent_subscribe(struct rp__agent *g, int64_t from, rp_error *err);
void rp__agent_unsubscribe(struct rp__agent *g);
/* It may take more than before, or has said what it got. */
void rp__agent_resume(struct rp__agent *g);
void rp__agent_acked(struct rp__agent *g, int64_t seq);
/* Before the end: marks what it has got. */
void rp__agent_flush(struct rp__agent *g);

#endif
