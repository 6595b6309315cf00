/* SPDX-License-Identifier: Apache-2.0 */
/* A session of the proxy: its ids at the editor and at the agent, its state, its turns, and its journal. */
#ifndef RP_BRIDGE_ACP_SESSION_H
#define RP_BRIDGE_ACP_SESSION_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>

#include "bridge/acp/proxy.h"
#include "bridge/acp/replay/replay.h"
#include "bridge/acp/restore/ladder.h"
#include "bridge/acp/session/event.h"
#include "bridge/acp/session/machine.h"
#include "bridge/workspace.h"

#define RP_ACP_TOOLS 256    /* open tool calls of a session that are closed when the agent dies */
#define RP_ACP_PREAMBLE 160 /* … of the words with which a brief begins */
#define RP_ACP_OPEN_MS 5000 /* between two tries to open a journal */

/* Whether the agent's session has the conversation. */
enum rp__agent_history {
  RP_HISTORY_TOLD, /* it does */
  RP_HISTORY_DUE,  /* the next prompt carries the history; until it is answered the journal has no id of the agent's */
  RP_HISTORY_SENT, /* a prompt that carries it has no answer yet */
};

/* The request of the editor's that the session works on. */
enum rp__acp_wish { RP_WISH_RESUME, RP_WISH_LOAD, RP_WISH_CLOSE, RP_WISH_DELETE };

/* What of the choices an agent died of, as bits. */
enum rp__choice { RP_CHOICE_MODE = 1, RP_CHOICE_OPTIONS = 2 };

struct rp__settings {
  char *modes, *config, *mode;   /* what the agent said last of them; raw JSON */
  char *config_began;            /* … and what it said first */
  bool in_journal;               /* the journal may have choices that hold, and was not read for them yet */
  char *want_mode, *want_config; /* what the editor had when an agent was lost; NULL: nothing */
  size_t want_at;                /* how many of its options were looked at */
  unsigned left_out;             /* an agent died of them: bits of rp__choice */
};

/* What the agent does, as far as it may replay. */
enum rp__replay_phase {
  RP_REPLAY_NONE,     /* it was not asked for the session, or a turn has passed since */
  RP_REPLAY_LOADING,  /* it was told to load, and has not answered: all that it says is a replay */
  RP_REPLAY_RESUMING, /* it was told to resume, and should say nothing: what is known is a replay all the same */
  RP_REPLAY_ANSWERED, /* it has answered: what is known comes late */
  RP_REPLAY_TURN,     /* its first turn since: what is next in the journal's order may be late, or the answer */
};

struct rp__replay_filter {
  enum rp__replay_phase phase;
  struct rp__acp_transcript *transcript; /* NULL: not read, or it can't be */
  bool unread;                           /* it is read once there is something to compare */
  int64_t end;                           /* the journal's last event when the agent was asked */
  bool late;                             /* something of a replay came behind the agent's answer */
  bool goes_on;                          /* … and it goes on in the turn */
  bool user;                             /* words of the user's came in the turn */
  bool answered;                         /* a message of the turn's own came behind what is in doubt */
  struct rp__waiting_lines doubt;        /* a late replay's, or the turn's own */
};

struct rp__acp_session {
  struct rp__acp_session *next;
  struct rp__acp *a;
  enum rp__acp_state state;     /* changed by rp__acp_session_on alone */
  char *client_sid, *agent_sid; /* agent_sid: what it had last; NULL: none */
  bool bound;                   /* the agent that runs now has it, or is being asked about it */
  char id[RP_ID_MAX + 1], scope[RP_SCOPE_MAX + 1];
  char *params; /* of the last new, load or resume */
  struct rp__known_calls known;
  struct rp__settings settings;
  struct rp__ladder ladder;
  struct rp__replay_filter filter;
  struct rp__waiting_lines later; /* the agent's lines, said while the editor waits for its answer */

  /* turns */
  unsigned running;          /* prompts at the agent */
  char *tools[RP_ACP_TOOLS]; /* open tool calls: raw ids */
  size_t n_tools;
  enum rp__agent_history history;
  bool brief_due;                 /* the first prompt carries the start's brief */
  char preamble[RP_ACP_PREAMBLE]; /* the first words that were put before the user's */

  /* a request of the editor's */
  struct rp__call *asked; /* NULL: none, or the editor has cancelled it */
  enum rp__acp_wish wish;
  struct rp__replay *replay; /* of a load: what is told so far */
  int64_t end_by;            /* of a close: when the turn must be over; 0: there is none */

  /* the journal */
  rp_session *h;   /* NULL: it could not be opened */
  int64_t open_at; /* … and is tried again then */
  size_t body_max;
  char project[RP_PROJECT_NAME_MAX + 1]; /* the folder's name, for prompts; empty: none */
  int64_t lost, found; /* messages that could not be stored; those of which the journal tells that they are missing */
  int64_t lost_from;
  bool told_lost; /* the editor was told */
  int gone;       /* why it was taken away: an error's code */
};

struct rp__acp_session *rp__acp_open_here(const struct rp__acp *a, const char *id); /* by the journal's id */
struct rp__acp_session *rp__acp_by_client(const struct rp__acp *a, struct rp__json sid);
struct rp__acp_session *rp__acp_by_agent(const struct rp__acp *a, struct rp__json sid);
/* An id that the agent had before it got another: what comes under it is a late echo. */
bool rp__acp_stale(const struct rp__acp *a, struct rp__json sid);
/* NULL: no memory, or too many; `err` says which. */
struct rp__acp_session *rp__acp_session_new(struct rp__acp *a, const char *client_sid, rp_error *err);
/* A live one that the agent has named, without a journal yet. NULL: it can't be recorded. */
struct rp__acp_session *rp__acp_session_named(struct rp__acp *a, struct rp__json sid);
void rp__acp_session_free(struct rp__acp_session *s);
/* The session's next state by the table of session/machine.h; the caller does what is returned. */
enum rp__acp_do rp__acp_session_on(struct rp__acp_session *s, enum rp__acp_on on);
bool rp__acp_is_restoring(const struct rp__acp_session *s); /* or reloading */
/* A session of the agent's that we have not seen: its journal begins. Never fails: without one it is told. */
void rp__acp_session_begin(struct rp__acp_session *s, struct rp__json params);
/* One that the agent made of another, whose journal up to `seq` it begins with. `owed`: the agent has nothing of that.
 */
void rp__acp_session_branch(struct rp__acp_session *s, rp_session *from, int64_t seq, bool owed,
                            struct rp__json params);
/* … one that could not be begun then. */
RP_MUST_USE int rp__acp_session_begin_late(struct rp__acp_session *s, rp_error *err);
void rp__acp_session_retry(struct rp__acp_session *s); /* … now: something is said, or it is the last chance */
/* One that the journal has: RP_E_SESSION_NOT_FOUND, RP_E_HELD, … */
RP_MUST_USE int rp__acp_session_resume(struct rp__acp *a, const char *ref, bool by_wire, struct rp__acp_session **ret,
                                       rp_error *err);
RP_MUST_USE int rp__acp_session_reopen(struct rp__acp_session *s, rp_error *err);
/* Ends it in the journal and lets go of it. */
void rp__acp_session_end(struct rp__acp_session *s, const char *reason);
void rp__acp_put_provider(struct rp__acp_session *s); /* which agent has it now, and under which id */
bool rp__acp_set_agent_sid(struct rp__acp_session *s, struct rp__json sid); /* false: no memory */
void rp__acp_learn_update(struct rp__acp_session *s, struct rp__json update);

/* ---- turns, and words of ours (session/prompt.c) ---- */

/* The turn is over without the agent: tools that are open fail, the editor reads `text`, the prompts end. */
void rp__acp_turn_broken(struct rp__acp_session *s, const char *text);
/* Sends an update as if the agent had, and writes it down like one. */
void rp__acp_put_update(struct rp__acp_session *s, struct rp__buf *update);
/* A word of ours in the session: a notice where the editor knows them, else a message. */
void rp__acp_tell(struct rp__acp_session *s, const char *title, const char *text, bool store);
/* Tool calls that have no end yet. */
void rp__tools_learn(struct rp__acp_session *s, struct rp__json update, bool begins);
void rp__tools_leave(struct rp__acp_session *s); /* nobody will hear of their ends: so the ledger says */
void rp__tools_done(struct rp__acp_session *s);

/* ---- modes and options (session/settings.c) ---- */

/* What answers tell of them. */
void rp__acp_learn(struct rp__acp_session *s, struct rp__json result);
/* … an answer with which a session begins at the agent. */
void rp__settings_begin(struct rp__acp_session *s, struct rp__json result);
/* The agent has done what the editor asked for: written down, then the editor has its answer. */
void rp__settings_chosen(struct rp__acp_session *s, struct rp__json params, const struct rp__msg *m);
/* The editor's choice, as far as it knows, is to hold for the next agent too. */
void rp__settings_keep(struct rp__acp_session *s);
/* Whether an update is about them and comes while they are being set again: the editor is told what comes of it. */
bool rp__settings_hear(struct rp__acp_session *s, struct rp__json update);
/* Asks the agent for what differs, tells the editor what differs still, then rp__restore_settled. */
void rp__settings_again(struct rp__acp_session *s);

/*
 * ---- the replay filter (replay/replay-filter.c). It drops an update that can only be the agent's replay of events in
 * the journal. An update in doubt is delivered: the editor rather gets an update twice than never. ----
 */

void rp__replay_filter_begin(struct rp__acp_session *s);       /* the agent is told to load, or to resume */
void rp__replay_filter_end(struct rp__acp_session *s);         /* there is no more of it */
bool rp__replay_filter_begun(const struct rp__acp_session *s); /* something was known to be a replay */
/* Whether an update of the agent's is only its own replay, or may be: then it is kept, or dropped. */
bool rp__replay_filter_takes(struct rp__acp_session *s, const struct rp__msg *m);
void rp__replay_filter_prompted(struct rp__acp_session *s);
void rp__replay_filter_turn_ends(struct rp__acp_session *s); /* what was in doubt is delivered before, or dropped */
/* What agents say of themselves at any time, and never as a part of the conversation. */
bool rp__replay_filter_is_state(struct rp__json update);

/* ---- the journal: a line goes out when its events are stored (session/journal.c) ---- */

RP_MUST_USE int rp__inbox_new(struct rp__acp *a, rp_error *err);
void rp__inbox_close(struct rp__acp *a);
/* Handles what the engine has acknowledged. */
void rp__inbox_take(struct rp__acp *a);
/* The session, or the line's flow, goes: what is on its way stays without it. */
void rp__acp_journal_forget(struct rp__acp *a, const struct rp__acp_session *s);
void rp__acp_journal_forget_lines(struct rp__acp *a, const struct rp__line_queue *f);
/* Stores, then sends. Without events, or when they can't be stored, it is sent all the same. */
void rp__acp_journal_put(struct rp__acp_session *s, struct rp__acp_events *n, struct rp__line_queue *to,
                         struct rp__str line);
/* The same for events that were written with `rc`: where they could not be, the line goes on by itself. */
void rp__acp_journal_line(struct rp__acp_session *s, int rc, struct rp__acp_events *n, struct rp__line_queue *to,
                          struct rp__str line);
/* An event of ours; `json` a whole object. */
void rp__acp_journal_event(struct rp__acp_session *s, const char *kind, struct rp__buf *json, rp_durability d);
/* A message was delivered that can't be written down. `counted`: the engine refused it, and counts it too. */
void rp__acp_journal_lost(struct rp__acp_session *s, const rp_error *why, bool counted);
/* Whether another process ended it, deleted it or took it over: an error's code, or 0. */
int rp__acp_journal_outcome(struct rp__acp_session *s);
/* The engine refused a session's append, or its heartbeat. */
void rp__acp_journal_refused(struct rp__acp_session *s, const rp_error *why);
/* Waits until everything is stored and acknowledged. */
void rp__acp_journal_settle(struct rp__acp *a);

/* ---- ids on the wire (session/names.c) ---- */

enum rp__name {
  RP_NAME_FREE,  /* nobody here knows it */
  RP_NAME_OURS,  /* a session's own */
  RP_NAME_OTHER, /* another name of a session: the agent's since it was restored with a new one */
  RP_NAME_DELETED,
};

enum rp__journal_row { RP_ROW_NONE, RP_ROW_TRASHED, RP_ROW_LIVE };
enum rp__journal_row rp__name_row(struct rp__acp *a,
                                  const char *id); /* of the session that has this id in the journal */
/* What the journal knows of an id on the wire; `ret_id` gets that of the session, there or not. */
enum rp__name rp__name_find(struct rp__acp *a, const char *sid, char ret_id[RP_ID_MAX + 1]);
/* The id by which the editor finds that session: what its meta says, unless that is another's, of whom it is a fork. */
char *rp__name_own(const char *id, const char *said);
/* An id that is free is from now on another name of that session, or (NULL) that of a deleted one. */
void rp__name_put(struct rp__acp *a, const char *sid, const char *name_of);

/* ---- titles that an agent made of what it was told (session/title.c) ---- */

/* Whether an agent made it of what it was told with a prompt; `s` may be NULL. */
bool rp__title_is_ours(const struct rp__acp_session *s, struct rp__json title);
/* Takes an update with such a title: what else it says goes on. */
bool rp__title_takes(struct rp__acp_session *s, struct rp__json update);
size_t rp__title_leave_out(struct rp__json object, struct rp__buf *out); /* how many members stay */

/* ---- loads and resumes, and the session/new of --continue (restore/load.c) ---- */

/* It was begun because its replay was too long to wait: of what was not loaded nothing stays. */
void rp__acp_unadopt(struct rp__acp *a, struct rp__call *c);
struct rp__acp_session *rp__acp_adopt_early(struct rp__acp *a, struct rp__json sid);
void rp__load_continue(struct rp__acp *a, const struct rp__msg *m); /* a session/new that goes on with an old one */
void rp__load_ready(struct rp__acp_session *s);                     /* the agent has it: now the editor */
void rp__load_pump(struct rp__acp_session *s);
void rp__load_drop(struct rp__acp_session *s);

/* ---- updates of the agent's that come before the editor has their session (wire/waiting.c) ---- */

/* Keeps an update of a session that is being begun or loaded. False: it is not, or there is no room. */
bool rp__early_updates_hold(struct rp__acp *a, const struct rp__msg *m);
/* The session is known by now: what came for it is handled, in its order. */
void rp__early_updates_release(struct rp__acp_session *s);
/* There will be no such session: nobody is told of it. */
void rp__early_updates_drop(struct rp__acp *a, struct rp__json sid);
/* When nothing is being begun any more, what is left goes to the editor as it came. */
void rp__early_updates_settle(struct rp__acp *a);

/* ---- session/close and session/delete (session/close.c) ---- */

#define RP_ACP_CLOSE_MS 5000 /* for a turn to end before its session is closed */

/* Whether the journal has a session of that name; `id` gets its own. */
bool rp__acp_in_journal(struct rp__acp *a, struct rp__json sid, char id[RP_SCOPE_MAX + 1]);
void rp__close_go_on(struct rp__acp_session *s, bool late); /* its turn is over, or took too long */

#endif
