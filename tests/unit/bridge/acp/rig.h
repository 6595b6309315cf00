/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy in a world of memory: the test is the editor, the agent and the clock. A conversation is a table of steps;
 * the engine is a real one.
 */
#ifndef TEST_ACP_RIG_H
#define TEST_ACP_RIG_H

#include <pthread.h>

#include "bridge/acp/acp.h"
#include "unit/engine/rig.h"

#define ACP_LINES 8192

struct acp_lines {
  char *line[ACP_LINES];
  size_t n, taken;
};

struct acp_rig {
  struct rig *r;
  rp_engine *e; /* r's own is closed: this one has its threads, as the program's */
  struct rp__acp *a;
  struct acp_lines to[2]; /* by side */
  int64_t now, timer;     /* timer: when; -1 none */
  int starts, stops, finished;
  int fail_starts; /* so many starts fail */
  bool reading[2];
  size_t backlog[2];
  int logs, warnings;
  pthread_mutex_t lock;
  pthread_cond_t poked;
  unsigned pokes;
};

int acp_setup(void **state);
int acp_teardown(void **state);
/* A proxy over the rig's store; a former one is freed as if the process had died. NULL: the usual options. */
void acp_open(struct acp_rig *x, const struct rp__acp_options *o);
void acp_free(struct acp_rig *x);
/* Another engine on the same store, as another process has it. */
rp_engine *acp_other_engine(struct acp_rig *x);

enum acp_what {
  END, /* of a table */
  C,   /* the editor sends */
  A,   /* the agent sends */
  TO_C,
  TO_A, /* the next line there; '*' stands for anything */
  C_A,  /* the editor sends, and the agent gets just that */
  A_C,  /* … the other way round */
  NONE, /* nothing more was sent to anybody */
  WAIT, /* `ms` pass */
  DIE,  /* the agent, with `ms` as its status */
};

struct acp_step {
  enum acp_what what;
  const char *text;
  int64_t ms;
};

void acp_play(struct acp_rig *x, const struct acp_step *steps);
void acp_say(struct acp_rig *x, enum rp__acp_side from, const char *line);
/* The next line to a side; waits for what is being stored. NULL: there is none. */
const char *acp_next(struct acp_rig *x, enum rp__acp_side to);
void acp_wait(struct acp_rig *x, int64_t ms);
bool acp_like(const char *text, const char *pattern);

/* How many events of the session are like that: kind, and a pattern of the body. */
int acp_count(struct acp_rig *x, const char *id, const char *kind, const char *pattern);

/* The usual beginning: an agent with these members in its capabilities, and a session "s1" in /p. */
void acp_greet(struct acp_rig *x, const char *caps);
void acp_begin(struct acp_rig *x, const char *caps);

#define INIT "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"
#define NEW(id)                                                                                                        \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"session/new\",\"params\":{\"cwd\":\"/p\",\"mcpServers\":[]}}"
#define PROMPT(id, sid, text)                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"" sid                  \
  "\",\"prompt\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"
#define CHUNK(sid, text)                                                                                               \
  "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"" sid                                \
  "\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}}}"
#define USER(sid, text)                                                                                                \
  "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"" sid                                \
  "\",\"update\":{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}}}"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define END_TURN(id) RESULT(id, "{\"stopReason\":\"end_turn\"}")
#define ERROR(id, code) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"no\"}}"
/* Any error with that code; what it says may follow. */
#define REFUSED(id, code) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",*"
/* How a turn ends whose agent died. */
#define DIED(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32603,*\"data\":{\"code\":\"agent.died\",*"
#define CALL(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define NOTE(method, params) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"

#endif
