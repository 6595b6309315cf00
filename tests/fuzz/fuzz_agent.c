/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile bytes as the messages of an agent (C-06), one per line. What must hold: the events made of a message are
 * objects without duplicate keys, at least one when it is numbered, and their status is one that may follow; what was
 * not understood names a field.
 */
#include "server/agent/agent-session.h"

/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_events(const struct rp__agent_act *act)
{
  static const struct rp__json_limits limits = {.max_depth = RP_AGENT_DEPTH + 4};
  struct rp__json body;
  MUST(act->n <= RP_AGENT_EVENTS && (act->n || !act->client_seq));
  for (size_t i = 0; i < act->n; i++) {
    int rc = rp__json_parse(act->text.p + act->part[i].at, act->part[i].n, &limits, &body, NULL);
    MUST(rc == 0 && body.type == RP_JSON_OBJECT);
  }
}

static void check_message(struct rp__agent_tools *tools, char *status, struct rp__json message)
{
  struct rp__agent_act act;
  rp_error err = {0};
  int rc = rp__agent_read(tools, status, message, &act, &err);
  MUST(!rc || rc == RP_E_NOMEM || rc == RP_E_TOO_LARGE || (rc == RP_E_INVALID && err.field[0] && err.message[0]));
  if (rc) return;
  check_events(&act);
  if (act.status) {
    MUST(rp_runtime_may(*status ? status : NULL, act.status));
    snprintf(status, RP_AGENT_STATUS, "%s", act.status);
  }
  rp__agent_act_done(&act);
}

/* The same bytes as the body of an event for the agent. */
static void check_word(struct rp__json body)
{
  static const char *const kinds[] = {"message", "approval", "question", "x-command"};
  static const struct rp__json_limits limits = {.max_depth = RP_AGENT_DEPTH + 4};
  for (size_t i = 0; i < RP_ARRAY_SIZE(kinds); i++) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(RP_AGENT_MESSAGE_MAX);
    struct rp__json message;
    if (rp__agent_write(kinds[i], 1, body, &out) == RP_WORD_NONE || out.err) continue;
    MUST(rp__json_parse(out.p, out.n, &limits, &message, NULL) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static const struct rp__json_limits limits = {.max_depth = RP_AGENT_DEPTH};
  struct rp__agent_tools tools;
  char status[RP_AGENT_STATUS] = "";
  rp__agent_tools_init(&tools);
  for (size_t at = 0; at < n;) {
    const char *line = (const char *)data + at, *end = memchr(line, '\n', n - at);
    size_t k = end ? (size_t)(end - line) : n - at;
    struct rp__json message;
    at += k + 1;
    if (rp__json_parse(line, k, &limits, &message, NULL)) continue;
    check_message(&tools, status, message);
    check_word(message);
  }
  rp__agent_tools_done(&tools);
  return 0;
}
