/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the ladder say and expect: a session of the journal's, and requests of the proxy's own. */
#ifndef TEST_ACP_LADDER_H
#define TEST_ACP_LADDER_H

#include "unit/bridge/acp_rig.h"

#define LOAD(id, sid) CALL(id, "session/load", "{\"sessionId\":\"" sid "\",\"cwd\":\"/p\",\"mcpServers\":[]}")
#define CAN_RESUME "\"loadSession\":true,\"sessionCapabilities\":{\"resume\":{}}"
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

/* A session with one turn, in the journal alone: the process that had it is gone. */
static inline void history(struct acp_rig *x, const char *caps)
{
  acp_begin(x, "");
  acp_play(x, (struct acp_step[]){
                  {C, PROMPT("2", "s1", "my question"), 0},
                  {TO_A, PROMPT("2", "s1", "my question"), 0},
                  {A, CHUNK("s1", "an answer"), 0},
                  {TO_C, CHUNK("s1", "an answer"), 0},
                  {A, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                  {TO_C, RESULT("2", "{\"stopReason\":\"end_turn\"}"), 0},
                  {END, NULL, 0},
              });
  rp__acp_client_gone(x->a, "editor closed");
  acp_open(x, NULL);
  acp_greet(x, caps);
}

#endif
