/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the ladder say and expect: a session of the journal's, and requests of the proxy's own. */
#ifndef TEST_ACP_LADDER_H
#define TEST_ACP_LADDER_H

#include "unit/bridge/acp/rig.h"

#define LOAD(id, sid) CALL(id, "session/load", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define LIST(id) CALL(id, "session/list", "{\"cwd\":\"/p\"}")
#define CAN_RESUME "\"loadSession\":true,\"sessionCapabilities\":{\"resume\":{}}"
#define ONLY_RESUME "\"sessionCapabilities\":{\"resume\":{}}"
#define CAN_LOAD "\"loadSession\":true"
#define ASK_RESUME(n)                                                                                                  \
  "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"session/resume\",\"params\":{\"sessionId\":\"s1\",*"
#define ASK_LOAD(n)                                                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n "\",\"method\":\"session/load\",\"params\":{\"sessionId\":\"s1\",*"
#define ASK_NEW(n)                                                                                                     \
  "{\"jsonrpc\":\"2.0\",\"id\":\"reprise/" n                                                                           \
  "\",\"method\":\"session/new\",\"params\":{\"cwd\":\"/p\",\"mcpServers\":[]}}"
#define OWN(n, result) RESULT("\"reprise/" n "\"", result)
#define OWN_ERROR(n, code) ERROR("\"reprise/" n "\"", code)
#define REPLAY_USER "*\"sessionId\":\"s1\"*user_message_chunk*my question*"
#define REPLAY_AGENT "*\"sessionId\":\"s1\"*agent_message_chunk*\"an answer\"*"
#define COMMANDS(sid)                                                                                                  \
  NOTE("session/update", "{\"sessionId\":\"" sid "\",\"update\":{\"sessionUpdate\":\"available_commands_update\","     \
                         "\"availableCommands\":[]}}")

/* A prompt that carries the history, to an agent with a session "s9". */
#define HISTORY_PROMPT                                                                                                 \
  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/"                                                                \
  "prompt\",\"params\":{\"sessionId\":\"s9\",\"prompt\":[{\"type\":"                                                   \
  "\"text\",\"text\":\"*my question*an answer*\"},{\"type\":\"text\",\"text\":\"and now?\"}]}}"

/* A turn that is the history of most tests. */
static inline void one_turn(struct acp_rig *x)
{
  acp_play(x, (struct acp_step[]){
                  {C_A, PROMPT("2", "s1", "my question"), 0},
                  {A_C, CHUNK("s1", "an answer"), 0},
                  {A_C, END_TURN("2"), 0},
                  {END, NULL, 0},
              });
}

/* The next process, with an agent of the same name. */
static inline void next_process(struct acp_rig *x, const char *caps, const struct rp__acp_options *o)
{
  rp__acp_client_gone(x->a, "editor closed");
  acp_open(x, o);
  acp_greet(x, caps);
}

/* A session with one turn, in the journal alone: the process that had it is gone. */
static inline void history(struct acp_rig *x, const char *caps)
{
  acp_begin(x, "");
  one_turn(x);
  next_process(x, caps, NULL);
}

/* The editor is told that turn, and then has its answer. */
static inline void told(struct acp_rig *x, const char *answer)
{
  acp_play(x, (struct acp_step[]){
                  {TO_C, REPLAY_USER, 0},
                  {TO_C, REPLAY_AGENT, 0},
                  {TO_C, answer, 0},
                  {END, NULL, 0},
              });
}

/* The agent died and is introduced again. */
static inline void reborn(struct acp_rig *x, const char *hello_back)
{
  acp_play(
      x, (struct acp_step[]){
             {DIE, NULL, -9}, {TO_A, "*\"reprise/*\"method\":\"initialize\"*", 0}, {A, hello_back, 0}, {END, NULL, 0}});
}

/* The agent is asked, and answers. */
static inline void asked(struct acp_rig *x, const char *what, const char *answer)
{
  acp_play(x, (struct acp_step[]){{TO_A, what, 0}, {A, answer, 0}, {END, NULL, 0}});
}
#define HELLO_BACK(n, caps) OWN(n, "{\"protocolVersion\":1,\"agentCapabilities\":{" caps "}}")

#endif
