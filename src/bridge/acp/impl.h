/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the proxy's files share. One noun per file: calls (pending.c), lines that wait (held.c, kept.c), sessions, the
 * journal (store.c), capabilities, settings, restoration, loading, endings, the list, deaths. All of it runs on the
 * proxy's thread, but for the engine's acknowledgements, which come through the inbox of store.c.
 */
#ifndef RP_BRIDGE_ACP_IMPL_H
#define RP_BRIDGE_ACP_IMPL_H

#include "bridge/acp/acp.h"
#include "bridge/acp/flow.h"
#include "bridge/acp/note.h"
#include "bridge/acp/replay.h"
#include "bridge/place.h"
#include "bridge/rpc.h"
#include "json/json.h"

#define RP_ACP_CALLS 4096                       /* requests of one side without an answer */
#define RP_ACP_BUCKETS 1024                     /* of their table */
#define RP_ACP_SESSIONS 256                     /* open at once */
#define RP_ACP_PROMPTS 16                       /* of one session that wait */
#define RP_ACP_HELD 4096                        /* lines that wait for the agent or a session */
#define RP_ACP_HELD_BYTES ((size_t)96 << 20)    /* … and their bytes: one of the longest must fit */
#define RP_ACP_KEPT 4096                        /* lines of the agent's that wait for one thing */
#define RP_ACP_KEPT_BYTES ((size_t)16 << 20)    /* … and their bytes */
#define RP_ACP_SID 1024                         /* bytes of a session id on the wire */
#define RP_ACP_KEEP ((size_t)1 << 20)           /* bytes of a value that is remembered for later */
#define RP_ACP_TOOLS 256                        /* open tool calls of a session that are closed when the agent dies */
#define RP_ACP_LINE ((size_t)128 << 20)         /* of a line we write */
#define RP_ACP_STOP ((size_t)8 << 20)           /* bytes a peer has not taken: the other one is not read any more */
#define RP_ACP_REPLAY_BYTES ((size_t)256 << 10) /* … a replay waits */
#define RP_ACP_RESTORE_MS 60000                 /* for an agent to answer when we ask */
#define RP_ACP_QUIET_MS 100                     /* without an update: a late replay is over */
#define RP_ACP_QUIET_MAX_MS 2000                /* … and so it is when it does not stop */
#define RP_ACP_CLOSE_MS 5000                    /* for a turn to end before its session is closed */
#define RP_ACP_LIST_MS 5000                     /* for the agent's part of a list */
#define RP_ACP_OPEN_MS 5000                     /* between two tries to open a journal */
#define RP_ACP_BEAT_MS 10000
#define RP_ACP_DEATHS 3 /* within RP_ACP_LOOP_MS: the agent is left alone for as long */
#define RP_ACP_LOOP_MS 30000
#define RP_ACP_TRIES 3      /* restorations of one session that agents may die of */
#define RP_ACP_NAME 128     /* bytes of the agent's name */
#define RP_ACP_WHY 400      /* … of what an agent says when it can't */
#define RP_ACP_PREAMBLE 160 /* … of the words with which a brief begins */

#define RP_ACP_E_REQUEST (-32600)
#define RP_ACP_E_PARAMS (-32602)
#define RP_ACP_E_INTERNAL (-32603)
#define RP_ACP_E_AUTH (-32000)
#define RP_ACP_E_NOT_FOUND (-32002)
#define RP_ACP_E_CANCELLED (-32800)

struct rp__acp_session;

/* A line and what it is. `text` is the line, or the same with each member once: what spans point into. */
struct rp__msg {
  struct rp__str line, text;
  struct rp__rpc r;
};

/* once.c: of members that stand twice the last counts, as editors and agents read them. `room` gets such a text. */
void rp__msg_once(struct rp__msg *m, struct rp__buf *room);
size_t rp__msg_size(const struct rp__msg *m); /* bytes that a copy needs */
void rp__msg_copy(const struct rp__msg *m, char *room, struct rp__msg *ret);

/* ---- calls: requests that have no answer yet (pending.c) ---- */

enum rp__call_kind {
  RP_CALL_PLAIN, /* forwarded; the answer goes back as it came */
  RP_CALL_INITIALIZE,
  RP_CALL_AUTHENTICATE,
  RP_CALL_NEW,
  RP_CALL_FORK,
  RP_CALL_ADOPT, /* load or resume of a session that only the agent knows */
  RP_CALL_PROMPT,
  RP_CALL_CONFIG,
  RP_CALL_CLOSE,
  RP_CALL_DELETE,
  RP_CALL_DRAFT, /* of version 2 */
  RP_CALL_KEPT,  /* ours to answer; nothing of it is at the agent */
  RP_CALL_OWN,   /* we asked the agent */
  RP_CALL_DEAD,  /* of an agent that is gone, or answered in its place: an answer goes nowhere */
  RP_CALL_KINDS,
};

struct rp__call;
/* `m` NULL: there will be no answer (the agent died, or took too long). The call is freed afterwards. */
typedef void rp__call_fn(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);

struct rp__call {
  struct rp__call *hash_next, *prev, *next;
  struct rp__calls *table;
  size_t bucket;
  enum rp__call_kind kind;
  struct rp__acp_session *s; /* or NULL */
  struct rp__call *peer;     /* the editor's request that an own one serves, and back */
  rp__call_fn *done;         /* of an own one */
  int64_t deadline;          /* ms; 0: none */
  char *params;              /* of the request, where they are needed later */
  char *method;              /* of a request whose answer is written down */
  char *agent_id;            /* the agent's own id where the editor sees another one */
  bool ours;                 /* a session that is deleted was in the journal */
  bool history, brief;       /* a prompt that carries them */
  int64_t turn;              /* of a prompt */
  rp_session *from;          /* of a fork: the other one's journal, and … */
  int64_t seq;               /* … where it stood */
  struct rp__buf *text;      /* what was made so far of the answer */
  size_t id_n;
  char id[]; /* as it came, raw JSON */
};

struct rp__calls {
  struct rp__call *bucket[RP_ACP_BUCKETS];
  struct rp__call *head, *tail;
  size_t n;
};

struct rp__call *rp__calls_find(const struct rp__calls *t, struct rp__json id);
/* NULL: no memory. The caller has looked whether the id is free and there is room. */
struct rp__call *rp__calls_add(struct rp__calls *t, struct rp__json id, enum rp__call_kind kind);
/* Out of its table: whatever the answer leads to can't free it. */
void rp__call_take(struct rp__call *c);
void rp__call_free(struct rp__call *c);
void rp__calls_done(struct rp__calls *t);
/* The session goes: its calls stay without it. */
void rp__calls_forget(struct rp__calls *t, const struct rp__acp_session *s);
struct rp__json rp__call_id(const struct rp__call *c);

/* ---- lines of the editor's that wait (held.c) ---- */

struct rp__held {
  struct rp__held *prev, *next;
  struct rp__acp_session *s; /* whose restoration it waits for; NULL: for the agent */
  bool prompt;
  struct rp__msg m; /* spans into `line` */
  char line[];
};

struct rp__helds {
  struct rp__held *head, *tail;
  size_t n, bytes;
};

/* Keeps a line until rp__held_release; a request that can't be kept is answered. */
void rp__held_add(struct rp__acp *a, struct rp__acp_session *s, const struct rp__msg *m);
/* Handles again, in their order, what waited for that (s NULL: for the agent). */
void rp__held_release(struct rp__acp *a, struct rp__acp_session *s);
/* Answers the requests with an error and drops the rest. `data`: JSON, or NULL. */
void rp__held_fail(struct rp__acp *a, struct rp__acp_session *s, int code, const char *why, const char *data);
/* The session's prompts end as cancelled: true when there was one. */
bool rp__held_cancel_prompts(struct rp__acp *a, struct rp__json sid);
bool rp__held_cancel_id(struct rp__acp *a, struct rp__json id);
bool rp__held_has(const struct rp__acp *a, struct rp__json id);
void rp__held_done(struct rp__acp *a);

/* ---- lines of the agent's that wait (kept.c) ---- */

struct rp__kept {
  struct rp__kept *next;
  struct rp__msg m; /* spans into `line` */
  char line[];
};

struct rp__kepts {
  struct rp__kept *head, *tail;
  size_t n, bytes;
};

bool rp__kepts_add(struct rp__kepts *l, const struct rp__msg *m); /* a copy; false: there is no room */
void rp__kepts_append(struct rp__kepts *l, struct rp__kept *k);
void rp__kepts_deliver(struct rp__kepts *l, struct rp__acp_session *s); /* all of them: they were the session's */
void rp__kepts_done(struct rp__kepts *l);

/* ---- updates of the agent's that come before the editor has their session (early.c) ---- */

/* Keeps an update of a session that is being begun or loaded. False: it is not, or there is no room. */
bool rp__early_hold(struct rp__acp *a, const struct rp__msg *m);
/* The session is known by now: what came for it is handled, in its order. */
void rp__early_release(struct rp__acp_session *s);
/* There will be no such session: nobody is told of it. */
void rp__early_drop(struct rp__acp *a, struct rp__json sid);
/* When nothing is being begun any more, what is left goes to the editor as it came. */
void rp__early_settle(struct rp__acp *a);
/* The editor waits for its answer, and what the agent says now is to come behind it. False: it need not wait. */
bool rp__early_wait(struct rp__acp_session *s, const struct rp__msg *m);
void rp__early_done(struct rp__acp *a);

/* ---- sessions (session.c) ---- */

enum rp__acp_state {
  RP_ACP_COLD,      /* the agent does not have it */
  RP_ACP_RESTORING, /* it is being told */
  RP_ACP_LIVE,
  RP_ACP_ENDING, /* closed or deleted once its turn is over */
  RP_ACP_TAKEN,  /* another process has it: nothing is written any more */
  RP_ACP_STATES,
};

/* What of the choices is asked of the agent; also as bits. */
enum rp__choice { RP_CHOICE_NONE, RP_CHOICE_MODE, RP_CHOICE_OPTIONS };

enum rp__rung { RP_RUNG_RESUME, RP_RUNG_LOAD, RP_RUNG_NEW, RP_RUNG_LIVE, RP_RUNGS };

struct rp__acp_session {
  struct rp__acp_session *next;
  struct rp__acp *a;
  enum rp__acp_state state;
  char *client_sid, *agent_sid; /* agent_sid: what it had last; NULL: none */
  bool bound;                   /* the agent that runs now has it, or is being asked about it */
  char id[RP_ID_MAX + 1], scope[RP_SCOPE_MAX + 1];
  rp_session *h; /* NULL: the journal could not be opened */
  int64_t open_at;
  size_t body_max;
  struct rp__book book;
  char *params;                /* of the last new, load or resume */
  char *modes, *config, *mode; /* what the agent said last of them; raw JSON */
  char *config_began;          /* … and what it said first */
  bool recall;                 /* the journal may have some that hold */
  bool chosen;                 /* an agent was lost: what the editor had then */
  char *want_mode, *want_config;
  size_t want_at;            /* how many of its options were looked at */
  enum rp__choice choosing;  /* the agent was asked for it, and has not answered */
  unsigned left_out;         /* an agent died of them: bits of rp__choice */
  char *tools[RP_ACP_TOOLS]; /* open tool calls: raw ids */
  size_t n_tools;
  unsigned running; /* prompts at the agent */
  bool history_due; /* the agent's session has nothing of it: a prompt carries the history, the journal has no id */
  bool history_sent;
  bool copied;                    /* a fork that has no answer yet: what is said of it is what its journal has copied */
  bool brief_due;                 /* the first prompt carries the start's brief */
  char preamble[RP_ACP_PREAMBLE]; /* the first words that were put before the user's */
  bool other_agent;               /* it was begun with another one: ids mean nothing here */
  /* restoration and loading */
  bool agent_asked; /* … and has not answered yet */
  enum rp__rung rung;
  enum rp__rung least; /* agents died of those before it; until a turn goes well */
  unsigned tries;
  char cannot[RP_ACP_WHY]; /* why the agent could not load it; empty: it could, or was not asked to */
  bool wanted;             /* to be restored when the agent is back */
  bool live;               /* the agent has it anyway: failing changes nothing */
  bool swallow;            /* the agent replays: nothing of it is news */
  bool sift;               /* it resumes, and should say nothing: what is known is a replay all the same */
  struct rp__echo *echo;
  bool echo_due;               /* it is made when there is something to compare */
  int64_t echo_end;            /* … of the journal up to here */
  unsigned echo_prompts;       /* sent since */
  bool echo_late;              /* something of a replay came behind the agent's answer */
  bool echo_flows;             /* … and it goes on in the turn */
  bool echo_user;              /* words of the user's came in the turn */
  bool echo_told;              /* a message of the turn's own came behind what is in doubt */
  struct rp__kepts doubt;      /* a late replay's, or the turn's own */
  struct rp__kepts later;      /* said while the editor waits for its answer */
  int64_t quiet_at, quiet_max; /* 0: nobody waits for quiet */
  char *answer;                /* the agent's result of the restoration; raw */
  struct rp__call *asked;      /* the editor's load, resume, close or delete, or a new that continues */
  bool replays;                /* … is a load */
  bool continues;              /* the one of --continue, which the editor does not have yet */
  struct rp__replay *replay;
  /* ending */
  bool remove;
  int64_t end_by;
  /* what could not be stored */
  int64_t lost, lost_from;
  bool gap_pending, told_lost;
  int gone; /* why it was taken away: an error's code */
};

struct rp__acp_session *rp__acp_open_here(const struct rp__acp *a, const char *id); /* by the journal's id */
struct rp__acp_session *rp__acp_by_client(const struct rp__acp *a, struct rp__json sid);
struct rp__acp_session *rp__acp_by_agent(const struct rp__acp *a, struct rp__json sid);
/* An id that the agent had before it got another: what comes under it is a late echo. */
bool rp__acp_stale(const struct rp__acp *a, struct rp__json sid);
/* NULL: no memory, or too many; `err` says which. */
struct rp__acp_session *rp__acp_session_new(struct rp__acp *a, const char *client_sid, rp_error *err);
void rp__acp_session_free(struct rp__acp_session *s);
bool rp__acp_move(struct rp__acp_session *s, enum rp__acp_state to); /* false: it may not */
/* A session of the agent's that we have not seen: its journal begins. Never fails: without one it is told. */
void rp__acp_session_begin(struct rp__acp_session *s, struct rp__json params);
/* One that the agent made of another, whose journal up to `seq` it begins with. `owed`: the agent has nothing of that.
 */
void rp__acp_session_branch(struct rp__acp_session *s, rp_session *from, int64_t seq, bool owed,
                            struct rp__json params);
/* … one that could not be begun then. */
int rp__acp_session_begin_late(struct rp__acp_session *s, rp_error *err);
void rp__acp_session_retry(struct rp__acp_session *s); /* … now: something is said, or it is the last chance */
void rp__acp_sessions_retry(struct rp__acp *a);        /* … all of them, as soon as that works */
/* One that the journal has: RP_E_SESSION_NOT_FOUND, RP_E_HELD, … */
int rp__acp_session_resume(struct rp__acp *a, const char *ref, bool by_wire, struct rp__acp_session **ret,
                           rp_error *err);
int rp__acp_session_reopen(struct rp__acp_session *s, rp_error *err);
/* Ends it in the journal and lets go of it. */
void rp__acp_session_end(struct rp__acp_session *s, const char *reason);
void rp__acp_put_provider(struct rp__acp_session *s); /* which agent has it now, and under which id */
bool rp__acp_set_agent_sid(struct rp__acp_session *s, struct rp__json sid); /* false: no memory */
void rp__acp_keep(char **slot, struct rp__json value); /* a copy of raw JSON; nothing when it is too long */
void rp__acp_learn_update(struct rp__acp_session *s, struct rp__json update);

/* ---- tool calls without an end (tools.c) ---- */

void rp__tools_learn(struct rp__acp_session *s, struct rp__json update, bool begins);
void rp__tools_write_failed(const struct rp__acp_session *s, size_t i, struct rp__buf *out);
void rp__tools_leave(struct rp__acp_session *s); /* nobody will hear of their ends: so the ledger says */
void rp__tools_done(struct rp__acp_session *s);

/* ---- ids that are no sessions (names.c) ---- */

enum rp__name {
  RP_NAME_FREE,  /* nobody here knows it */
  RP_NAME_OURS,  /* a session's own */
  RP_NAME_OTHER, /* another name of a session: the agent's since it was restored with a new one */
  RP_NAME_DELETED,
};

/* What the journal knows of an id on the wire; `ret_id` gets that of the session, there or not. */
enum rp__name rp__name_find(struct rp__acp *a, const char *sid, char ret_id[RP_ID_MAX + 1]);
/* The id by which the editor finds that session: what its meta says, unless that is another's, of whom it is a fork. */
char *rp__name_own(const char *id, const char *said);
/* An id that is free is from now on another name of that session, or (NULL) that of a deleted one. */
void rp__name_put(struct rp__acp *a, const char *sid, const char *name_of);

/* ---- titles that are our own words (title.c) ---- */

/* Whether an agent made it of what it was told with a prompt; `s` may be NULL. */
bool rp__title_is_ours(const struct rp__acp_session *s, struct rp__json title);
/* Takes an update with such a title: what else it says goes on. */
bool rp__title_takes(struct rp__acp_session *s, struct rp__json update);
size_t rp__title_leave_out(struct rp__json object, struct rp__buf *out); /* how many members stay */

/* ---- the agent's name as people read it (agent-name.c) ---- */

void rp__agent_name(const char *name, char ret[RP_ACP_NAME]);
void rp__agent_title(const struct rp__acp *a, char ret[RP_ACP_NAME + 16]); /* "agent NAME", or "agent" */

/* ---- the agent's command line, without secrets (command.c) ---- */

char **rp__command_copy(rp_engine *e, const char *const *command); /* ends with NULL; NULL: no memory */
void rp__command_free(char **command);

/* ---- modes and options (settings.c) ---- */

/* What answers tell of them. */
void rp__acp_learn(struct rp__acp_session *s, struct rp__json result);
/* … an answer with which a session begins at the agent. */
void rp__settings_begin(struct rp__acp_session *s, struct rp__json result);
/* The agent has done what the editor asked for: written down, then the editor has its answer. */
void rp__settings_chosen(struct rp__acp_session *s, struct rp__json params, const struct rp__msg *m);
/* The editor's choice, as far as it knows, is to hold for the next agent too. */
void rp__settings_keep(struct rp__acp_session *s);
void rp__settings_drop(struct rp__acp_session *s);
/* Whether an update is about them and comes while they are being set again: the editor is told what comes of it. */
bool rp__settings_hear(struct rp__acp_session *s, struct rp__json update);
/* Asks the agent for what differs, tells the editor what differs still, then rp__restore_settled. */
void rp__settings_again(struct rp__acp_session *s);

/* ---- the journal (store.c) ---- */

struct rp__inbox;
int rp__inbox_new(struct rp__acp *a, rp_error *err);
void rp__inbox_close(struct rp__acp *a);
/* Handles what the engine has acknowledged. */
void rp__inbox_take(struct rp__acp *a);
/* The session, or the line's flow, goes: what is on its way stays without it. */
void rp__store_forget(struct rp__acp *a, const struct rp__acp_session *s);
void rp__store_forget_flow(struct rp__acp *a, const struct rp__flow *f);
/* Stores, then sends. Without notes, or when they can't be stored, it is sent all the same. */
void rp__store_put(struct rp__acp_session *s, struct rp__notes *n, struct rp__flow *to, struct rp__str line);
/* An event of ours; `json` a whole object. */
void rp__store_event(struct rp__acp_session *s, const char *kind, struct rp__buf *json, rp_durability d);
/* A message was delivered that can't be written down: it counts as lost. */
void rp__store_lost(struct rp__acp_session *s, const rp_error *why);
/* Whether another process ended it, deleted it or took it over: an error's code, or 0. */
int rp__store_fate(struct rp__acp_session *s);
/* The engine refused a session's append, or its heartbeat. */
void rp__store_refused(struct rp__acp_session *s, const rp_error *why);
/* Waits until everything is stored and acknowledged. */
void rp__store_settle(struct rp__acp *a);

/* ---- the proxy ---- */

enum rp__agent_state {
  RP_AGENT_OFF,
  RP_AGENT_UP,     /* what the editor says is forwarded */
  RP_AGENT_WAKING, /* started again; we introduce ourselves */
  RP_AGENT_DYING,  /* told to end; what it says is not heard */
  RP_AGENT_BROKEN, /* died too often */
};

struct rp__agent_caps {
  bool load, resume, list, close, remove, fork;
  char name[RP_ACP_NAME], version[64];
};

struct rp__acp {
  rp_engine *e;
  struct rp__acp_world w;
  char *scope, *continue_id, *name;
  char **command;
  rp_durability updates;
  bool brief;       /* new sessions tell it */
  bool strict_load; /* a session that the agent can't load is not told to a new one */
  void (*log)(void *ctx, const char *text);
  void (*warn)(void *ctx, const char *text);
  void *log_ctx;
  bool told_broken;  /* that the agent says what is no message */
  bool told_unnamed; /* that the agent's name for a session is none that can be recorded */

  struct rp__flow to_client, to_agent;
  struct rp__calls client, agent; /* requests of the editor and ours; of the agent */
  struct rp__helds held;
  struct rp__kepts early;
  struct rp__inbox *inbox;
  struct rp__acp_session *sessions;
  size_t n_sessions;
  int64_t own_n, alias_n;

  enum rp__agent_state agent_state;
  struct rp__agent_caps caps;
  bool known;       /* an initialize was answered */
  bool transparent; /* another version of the protocol: we only pass on */
  bool draft;       /* … version 2, of which what is known is written down */
  bool draft_told, draft_noticed;
  bool notices, compaction;
  char *initialize; /* the editor's line, params */
  char *authenticate;
  int64_t deaths[RP_ACP_DEATHS];
  int64_t retry_at;
  bool careful; /* one died while several were restored: now one after the other, so that it shows why */
  int status;
  unsigned told; /* messages of our own: each is one by itself */
  char why[500]; /* it was ended, in words */

  bool ending; /* the editor is gone */
  bool finished;
  bool reading[2];
  int64_t beat_at, timer_at;
};

/* acp.c: lines out. A buffer that could not be written is reported, and nothing is sent. */
void rp__acp_send(struct rp__acp *a, enum rp__acp_side to, struct rp__buf *line);
void rp__acp_forward(struct rp__acp *a, enum rp__acp_side to, struct rp__str line);
void rp__acp_error(struct rp__acp *a, enum rp__acp_side to, struct rp__json id, int code, const char *why,
                   const char *data);
void rp__acp_fail(struct rp__acp *a, struct rp__json id, const rp_error *err); /* as -32603 or the error's own */
void rp__acp_error_data(struct rp__buf *out, int code); /* "data" of such an answer: the error's name */
/* The answer to a call of the editor's; frees it. */
void rp__acp_answer(struct rp__acp *a, struct rp__call *c, struct rp__buf *line);
void rp__acp_answer_error(struct rp__acp *a, struct rp__call *c, int code, const char *why, const char *data);
/* … with the agent's own words, m an error of its */
void rp__acp_answer_as(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m, int code, const char *why);
void rp__acp_handle_client(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_log(struct rp__acp *a, const char *fmt, ...) RP_PRINTF(2, 3);
void rp__acp_warn(struct rp__acp *a, const char *fmt, ...) RP_PRINTF(2, 3);
int64_t rp__acp_now(struct rp__acp *a);

/* from-client.c, from-agent.c: who says what */
void rp__acp_from_client(struct rp__acp *a, const struct rp__msg *m);
/* Whether the agent has it; else the line waits for that, or is refused. */
bool rp__acp_session_there(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);
void rp__acp_from_agent(struct rp__acp *a, const struct rp__msg *m);
/* An update of a session's: written down, then sent. */
void rp__acp_deliver(struct rp__acp_session *s, const struct rp__msg *m);
/* A request of ours: begin it, write its params, end it. `id` gets the text. */
struct rp__call *rp__acp_ask(struct rp__acp *a, const char *method, struct rp__acp_session *s, int64_t ms,
                             rp__call_fn *done, struct rp__buf *out, struct rp__jw *ret_w);
void rp__acp_asked(struct rp__acp *a, struct rp__call *c, struct rp__buf *out, struct rp__jw *w);

/* rewrite.c: the few places where bytes change */
struct rp__edit {
  const char *at; /* in the line */
  size_t n;
  struct rp__str with;
};
void rp__edit_line(struct rp__buf *out, struct rp__str line, const struct rp__edit *e, size_t n);
/* The line with params.sessionId as the other side has it; the line itself where they are the same. */
struct rp__str rp__acp_map(const struct rp__msg *m, const char *from, const char *to, struct rp__buf *room);
void rp__acp_copy_member(struct rp__jw *w, struct rp__json key, struct rp__json value);
/* Escapes of half a surrogate pair become U+FFFD, in place. */
void rp__acp_mend_halves(struct rp__buf *line);
/* `servers`: mcpServers is written even if it is not there. */
void rp__acp_write_params(struct rp__jw *w, struct rp__json params, const char *sid, bool servers);

/* caps.c */
void rp__acp_on_initialize(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_initialized(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__acp_read_caps(struct rp__acp *a, struct rp__json result);

/* prompt.c */
void rp__acp_on_prompt(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);
void rp__acp_owe_history(struct rp__acp_session *s); /* the agent has a session of its own for it, and no more */
void rp__acp_prompted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
/* The turn is over without the agent: tools that are open fail, the editor reads `text`, the prompts end. */
void rp__acp_turn_broken(struct rp__acp_session *s, const char *text);
/* Sends an update as if the agent had; `store`: and writes it down like one. */
void rp__acp_put_update(struct rp__acp_session *s, struct rp__buf *update, bool store);
/* A word of ours in the session: a notice where the editor knows them, else a message. */
void rp__acp_tell(struct rp__acp_session *s, const char *title, const char *text, bool store);

/* restore.c */
extern const char *const rp__rung_names[RP_RUNGS];
void rp__restore_begin(struct rp__acp_session *s);
void rp__restore_tick(struct rp__acp_session *s, int64_t now);
void rp__restore_settled(struct rp__acp_session *s); /* the agent has all of it */
/* The agent is gone: what was under way begins again with the next one. */
void rp__restore_broken(struct rp__acp_session *s);
void rp__restore_fail(struct rp__acp_session *s, const struct rp__msg *m, const char *why);
/* The agent died: true when a restoration may be why, and goes on otherwise with the next one. */
bool rp__restore_blame(struct rp__acp *a);
void rp__restore_tell(struct rp__acp_session *s); /* that the agent could not load it, should that be so */
void rp__restore_wanted(struct rp__acp *a);       /* begins all that is to be restored, or the next of it */

/* repeat.c */
void rp__repeat_begin(struct rp__acp_session *s);    /* the agent is told to load, or to resume */
void rp__repeat_answered(struct rp__acp_session *s); /* … and has answered */
void rp__repeat_end(struct rp__acp_session *s);      /* there is no more of it */
/* Whether an update of the agent's is only its own replay, or may be: then it is kept, or dropped. */
bool rp__repeat_takes(struct rp__acp_session *s, const struct rp__msg *m);
void rp__repeat_prompted(struct rp__acp_session *s);
void rp__repeat_asked(struct rp__acp_session *s, struct rp__json params); /* the agent asks the editor something */
void rp__repeat_turn_ends(struct rp__acp_session *s); /* what was in doubt is delivered before, or dropped */
/* What agents say of themselves at any time, and never as a part of the conversation. */
bool rp__repeat_is_state(struct rp__json update);

/* load.c */
void rp__acp_on_load(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_adopted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
/* It was begun because its replay was too long to wait: of what was not loaded nothing stays. */
void rp__acp_unadopt(struct rp__acp *a, struct rp__call *c);
struct rp__acp_session *rp__acp_adopt_early(struct rp__acp *a, struct rp__json sid);
void rp__acp_not_found(struct rp__acp *a, struct rp__json id, struct rp__json params, const char *why);
void rp__load_continue(struct rp__acp *a, const struct rp__msg *m); /* a session/new that goes on with an old one */
void rp__load_ready(struct rp__acp_session *s);                     /* the agent has it: now the editor */
void rp__load_pump(struct rp__acp_session *s);
void rp__load_drop(struct rp__acp_session *s);

/* fresh.c: session/new */
void rp__acp_on_new(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_made(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
bool rp__acp_room_for_one(const struct rp__acp *a); /* another session, beside those that are being begun */
/* A live session that the agent named, without a journal yet. NULL: it can't be recorded. */
struct rp__acp_session *rp__acp_session_named(struct rp__acp *a, struct rp__json sid);
/* The agent's answer with which a session begins, for the editor; `s` NULL: as it came. */
void rp__acp_tell_made(struct rp__acp *a, const struct rp__msg *m, struct rp__acp_session *s);

/* fork.c: session/fork */
void rp__acp_on_fork(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_forked(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);

/* close.c */
void rp__acp_on_close(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_on_delete(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_closed(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__acp_deleted(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
/* Whether the journal has a session of that name; `id` gets its own. */
bool rp__acp_in_journal(struct rp__acp *a, struct rp__json sid, char id[RP_SCOPE_MAX + 1]);
void rp__close_go_on(struct rp__acp_session *s, bool late); /* its turn is over, or took too long */

/* list.c */
void rp__acp_on_list(struct rp__acp *a, const struct rp__msg *m);

/* draft.c */
bool rp__draft_is(int64_t version);
void rp__draft_read_caps(struct rp__acp *a, struct rp__json result);
void rp__draft_warn(struct rp__acp *a);                             /* once */
bool rp__draft_request(struct rp__acp *a, const struct rp__msg *m); /* false: it is none that is known */
void rp__draft_answered(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__draft_update(struct rp__acp_session *s, const struct rp__msg *m);
void rp__draft_broken(struct rp__acp_session *s, const char *text); /* the turn ends, for its agent has died */

/* death.c */
void rp__death_wake(struct rp__acp *a); /* the crash loop's pause is over */
bool rp__death_paused(struct rp__acp *a);
void rp__death_describe(const struct rp__acp *a, struct rp__buf *out);
void rp__death_data(const struct rp__acp *a, struct rp__buf *out); /* "data" of an error that tells it */
void rp__death_pick_up(struct rp__acp *a);                         /* the agent is up again */
void rp__death_replace(struct rp__acp *a, const char *why);

#endif
