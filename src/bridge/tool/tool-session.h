/* SPDX-License-Identifier: Apache-2.0 */
/* The session that tools act on, and the tools themselves: the same for MCP, for hooks and for plugins. */
#ifndef RP_BRIDGE_TOOL_SESSION_H
#define RP_BRIDGE_TOOL_SESSION_H

#include <stdbool.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "bridge/tool/args.h"
#include "bridge/sibling-bridges.h"
#include "bridge/workspace.h"
#include "json/json.h"

/* Zero but for `e`, `scope` and `channel` is a good start: owned by this process, confined to its scope. */
struct rp__tool_session {
  rp_engine *e; /* NULL: `open` gives it */
  /* Tries to open the store, each time that something needs it; or NULL. */
  int (*open)(void *ctx, rp_engine **ret, rp_error *err);
  void *open_ctx;
  char scope[RP_SCOPE_MAX + 1];
  rp_session *s;         /* NULL until a tool needs one */
  rp_presence *presence; /* of rp__tool_session_heartbeat; or NULL */
  bool guest; /* of a bridge around us, of our agent's others, or of whoever holds `ref`: no start, no brief */
  rp_owner_kind owner;
  int64_t owner_pid; /* with RP_OWNER_PID */
  int64_t agent_pid; /* whose others may have begun a session for us to join (bridge/sibling-bridges.h); 0: nobody's */
  struct rp__sibling sibling;  /* taken: the run is the agent's, and the last of its servers to go ends it */
  struct rp__sibling teller;   /* taken: this agent's brief was told without a session, to be seen by its hooks */
  char channel[32];            /* of the session begun here */
  char ref[RP_SCOPE_MAX + 1];  /* a session to act on, or its key to be; empty: a new one */
  char by[RP_SCOPE_MAX + 1];   /* who asks, for the audit (the client's name); empty: the channel */
  bool remote;                 /* asked over a network: what surrounds this process is not around the asker */
  bool reads_only;             /* nothing may be written or begun: RP_E_FORBIDDEN */
  bool lazy;                   /* only what writes begins a session: the client may ask one thing and go */
  bool begun;                  /* `s` came from rp__tool_session_begin, which may give another when it has ended */
  bool told;                   /* `brief` went to the model */
  int64_t born_ms, greeted_ms; /* when this server was started and first spoken to: by that its host is known */
  bool hosted;                 /* it had one: whose guests we are after that, only what goes on there tells */
  char *brief;                 /* what the start gave, or NULL */
};

/*
 * Whether ours is still to be found among the sessions of a bridge around us. An agent greets its servers while it
 * begins the session they are for, which shows only after that: who has no use for it yet does not ask.
 */
bool rp__tool_session_waits(struct rp__tool_session *m);
/* Opens the store if it is not open yet. Before anything else that needs it; rp__tool_session_begin and tools do it
 * themselves.
 */
RP_MUST_USE int rp__tool_session_open(struct rp__tool_session *m, rp_error *err);
/*
 * Begins or joins the session, once. A bridge around us has one already, and so does whoever lives in the session that
 * `ref` names: then its guest. Otherwise `ref` is resumed by id, ended or not, or started by key. With reads_only there
 * is only joining: `ref`, or else the scope's last. Without `ref` the session of our agent's hooks or of another server
 * of its is joined too. With an agent, and RP_OWNER_SELF, the run is the agent's.
 * RP_E_SESSION_NOT_FOUND: a bridge is around us, and has none yet.
 */
RP_MUST_USE int rp__tool_session_begin(struct rp__tool_session *m, rp_error *err);
/*
 * Without beginning anything: joins what the same agent's others have begun, or whose guests we are. *ret_tell: there
 * is nothing to join and nobody told this agent the brief (rp__tool_session_brief_now has it): it is told here.
 */
RP_MUST_USE int rp__tool_session_greet(struct rp__tool_session *m, bool *ret_tell, rp_error *err);
/*
 * For a tool that reads: the session that rp__tool_session_greet joins, else the scope's last, whose guest we are until
 * rp__tool_session_leave (*ret_passing), else none, which is no error.
 */
RP_MUST_USE int rp__tool_session_look(struct rp__tool_session *m, bool *ret_passing, rp_error *err);
/* Joins what rp__tool_session_waits for, if it is there. True: it was guessed, so let go of it after a look at it. */
bool rp__tool_session_peek(struct rp__tool_session *m);
/*
 * Sends the session's heartbeat, if it is ours to send and one is due; returns the ms until the next. For servers that
 * keep their session for long.
 */
int64_t rp__tool_session_heartbeat(struct rp__tool_session *m, int64_t every_ms, int64_t now_ms);
/*
 * The text for the model: what the start gave, NULL when there is nothing to tell or we are guests; but who takes the
 * place of a server that is gone tells it again. Owned by the tool session.
 */
const char *rp__tool_session_brief(struct rp__tool_session *m);
/* The brief as it stands, for who asks: of the session, or what a start would give. Nothing where there is none to
 * give. Changes nothing. */
RP_MUST_USE int rp__tool_session_brief_now(struct rp__tool_session *m, struct rp__buf *out, rp_error *err);
/*
 * Ends what was begun here; a guest only lets go. Of those who share their agent's session the last one ends it, unless
 * its hooks go on, or it died: then the next start finds its run dead, and says so. NULL reason is fine.
 */
void rp__tool_session_end(struct rp__tool_session *m, const char *reason);
/* Lets go without ending. */
void rp__tool_session_leave(struct rp__tool_session *m);

/*
 * The id that a reference names: id, key, unique prefix or "last" of the scope. What is of other scopes or in the trash
 * is not found.
 */
RP_MUST_USE int rp__tool_session_resolve(const struct rp__tool_session *m, const char *ref, char ret[RP_ID_MAX + 1],
                                         rp_error *err);
/* RP_E_FORBIDDEN when the session only reads. */
RP_MUST_USE int rp__tool_session_may_write(const struct rp__tool_session *m, rp_error *err);

struct rp__tool {
  const char *name, *title, *description;
  const struct rp__takes *takes;
  bool reads, destroys, repeats; /* MCP's annotations readOnlyHint, destructiveHint, idempotentHint */
  bool lone;                     /* needs no session of its own */
  bool always;                   /* of the few that a model should know from the start */
  /* Whether this call only reads, of a tool that may write; NULL: none does. */
  bool (*asks)(const struct rp__json *args);
  /*
   * Before a session is begun for a call that writes: whether what is given can do, and what it names is there for a
   * session to inherit. One that fails leaves no empty session behind. NULL: nothing to check.
   */
  int (*check)(struct rp__tool_session *m, const struct rp__json *args, rp_error *err);
  /* Writes the result's document (one JSON object). `args`: by the rows of `takes`. Errors are told to the model. */
  int (*run)(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err);
  /* The document as text for a model; NULL: as it is. */
  void (*tell)(struct rp__json doc, struct rp__buf *out);
};

#define RP_TOOL_DOC_MAX ((size_t)4 * 1024 * 1024) /* bytes of one result */

extern const struct rp__tool *const rp__tools[]; /* ends with NULL; their order is fixed */
const struct rp__tool *rp__tool_find(struct rp__json name);
/*
 * Checks the arguments against what the tool takes (unknown, missing, wrong type: RP_E_INVALID naming the field) and
 * runs it. NONE as arguments is an empty object. On an error `out` is as it was.
 */
RP_MUST_USE int rp__tool_call(struct rp__tool_session *m, const struct rp__tool *t, struct rp__json args,
                              struct rp__buf *out, rp_error *err);
/* What rp__tool_call wrote, as text for a model. */
void rp__tool_text(const struct rp__tool *t, struct rp__json doc, struct rp__buf *out);
/* An error as a model should read it: what went wrong and what to do, in one or two lines. */
void rp__tool_error_text(const rp_error *err, struct rp__buf *out);

#endif
