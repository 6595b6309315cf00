/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the session's states and of the ladder: whole, without contradictions, and as the documents have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/macros.h"
#include "bridge/acp/restore/ladder.h"
#include "bridge/acp/session/machine.h"

/* As the documents write them. */

static const char *const state_names[RP_ACP_STATES] = {
    [RP_ACP_COLD] = "cold",           [RP_ACP_QUEUED] = "queued", [RP_ACP_RESTORING] = "restoring",
    [RP_ACP_RELOADING] = "reloading", [RP_ACP_FORKED] = "forked", [RP_ACP_LIVE] = "live",
    [RP_ACP_ENDING] = "ending",       [RP_ACP_TAKEN] = "taken",
};

static const char *const on_names[RP_ONS] = {
    [RP_ON_NAMED] = "named by the agent",
    [RP_ON_COPIED] = "copied from another",
    [RP_ON_ANSWERED] = "answered to the editor",
    [RP_ON_LINE] = "line of the editor",
    [RP_ON_RESTORE] = "restore",
    [RP_ON_WAIT] = "restore after others",
    [RP_ON_RESTORED] = "restored",
    [RP_ON_FAILED] = "not restored",
    [RP_ON_AGENT_GONE] = "agent gone",
    [RP_ON_TURN_OVER] = "turn over",
    [RP_ON_END] = "close or delete",
    [RP_ON_TAKEN] = "taken away",
    [RP_ON_REOPENED] = "journal reopened",
};

static const char *const do_names[RP_DOS] = {
    [RP_DO_NOTHING] = "nothing", [RP_DO_REFUSE] = "refuse",   [RP_DO_PASS] = "pass",
    [RP_DO_WAIT] = "wait",       [RP_DO_RESTORE] = "restore", [RP_DO_CLIMB] = "climb",
    [RP_DO_RELEASE] = "release", [RP_DO_CLOSE] = "close",     [RP_DO_TELL] = "tell",
};

static const char *const ladder_phase_names[RP_LADDER_PHASES] = {[RP_LADDER_IDLE] = "idle",
                                                                 [RP_LADDER_ASKING] = "asking",
                                                                 [RP_LADDER_QUIET] = "quiet",
                                                                 [RP_LADDER_MODE] = "mode",
                                                                 [RP_LADDER_OPTIONS] = "options"};
static const char *const ladder_on_names[RP_LADDER_ONS] = {
    [RP_LADDER_ON_ASK] = "rung asked",           [RP_LADDER_ON_ANSWER] = "rung held",
    [RP_LADDER_ON_REPLAY] = "rung held, replay", [RP_LADDER_ON_REFUSAL] = "rung refused",
    [RP_LADDER_ON_SET_MODE] = "mode asked",      [RP_LADDER_ON_SET_OPTION] = "option asked",
    [RP_LADDER_ON_SETTLED] = "settled",          [RP_LADDER_ON_STOP] = "stopped"};

static void every_state_answers_every_event(void **state)
{
  (void)state;
  for (unsigned s = 0; s < RP_ACP_STATES; s++) {
    assert_non_null(state_names[s]);
    for (unsigned on = 0; on < RP_ONS; on++) {
      unsigned rows = 0;
      for (unsigned i = 0; i < rp__acp_n_rows; i++) rows += rp__acp_rows[i].on == on && rp__acp_rows[i].in & 1u << s;
      struct rp__acp_step step = rp__acp_machine(s, on);
      assert_true(rows <= 1);
      assert_true(step.to < RP_ACP_STATES && step.action < RP_DOS);
      assert_int_equal(rows == 0, step.action == RP_DO_REFUSE);
      if (!rows) assert_int_equal(step.to, s);
    }
  }
}

/* Whatever is under way, an agent that ends leaves no session that waits for it, and a close comes to its end. */
static void no_state_waits_for_an_agent_that_is_gone(void **state)
{
  (void)state;
  for (unsigned s = 0; s < RP_ACP_STATES; s++) {
    enum rp__acp_state to = rp__acp_machine(s, RP_ON_AGENT_GONE).to;
    assert_true(to == RP_ACP_COLD || to == RP_ACP_QUEUED || to == RP_ACP_ENDING || to == RP_ACP_TAKEN);
    assert_int_equal(rp__acp_machine(s, RP_ON_TAKEN).to, RP_ACP_TAKEN);
  }
  assert_int_equal(rp__acp_machine(RP_ACP_ENDING, RP_ON_AGENT_GONE).action, RP_DO_CLOSE);
  assert_int_equal(rp__acp_machine(RP_ACP_QUEUED, RP_ON_RESTORE).action, RP_DO_CLIMB);
}

static void every_state_can_be_reached_and_left(void **state)
{
  bool from[RP_ACP_STATES][RP_ACP_STATES] = {0};
  (void)state;
  for (unsigned s = 0; s < RP_ACP_STATES; s++)
    for (unsigned on = 0; on < RP_ONS; on++) from[s][rp__acp_machine(s, on).to] = true;
  for (unsigned k = 0; k < RP_ACP_STATES; k++)
    for (unsigned i = 0; i < RP_ACP_STATES; i++)
      for (unsigned j = 0; j < RP_ACP_STATES; j++) from[i][j] |= from[i][k] && from[k][j];
  for (unsigned i = 0; i < RP_ACP_STATES; i++)
    for (unsigned j = 0; j < RP_ACP_STATES; j++) assert_true(from[i][j]);
}

static void the_ladder_can_always_be_stopped(void **state)
{
  (void)state;
  for (unsigned p = 0; p < RP_LADDER_PHASES; p++) {
    assert_int_equal(rp__ladder_next(p, RP_LADDER_ON_STOP), RP_LADDER_IDLE);
    for (unsigned on = 0; on < RP_LADDER_ONS; on++) assert_true(rp__ladder_next(p, on) <= RP_LADDER_PHASES);
  }
}

/* ---- the documents ---- */

static void read_docs(struct rp__buf *out)
{
  char piece[4096];
  FILE *f = fopen(getenv("ARCHITECTURE"), "r");
  assert_non_null(f);
  for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) rp__buf_add(out, piece, n);
  fclose(f);
}

static void docs_have(const struct rp__buf *docs, struct rp__buf *line)
{
  rp__buf_char(line, '\n');
  if (!memmem(docs->p, docs->n, line->p, line->n)) fail_msg("docs/architecture.md has no line %s", line->p);
  rp__buf_reset(line);
}

static void the_documents_show_the_session_table(void **state)
{
  struct rp__buf docs RP_AUTOBUF = RP_BUF(1 << 20), line RP_AUTOBUF = RP_BUF(4096);
  (void)state;
  read_docs(&docs);
  for (unsigned i = 0; i < rp__acp_n_rows; i++) {
    const struct rp__acp_row *r = &rp__acp_rows[i];
    const char *comma = "";
    rp__buf_printf(&line, "| %s | ", on_names[r->on]);
    for (unsigned s = 0; s < RP_ACP_STATES; s++) {
      if (!(r->in & 1u << s)) continue;
      rp__buf_printf(&line, "%s%s", comma, state_names[s]);
      comma = ", ";
    }
    rp__buf_printf(&line, " | %s | %s |", r->to == RP_ACP_STATES ? "as it was" : state_names[r->to],
                   do_names[r->action]);
    docs_have(&docs, &line);
  }
  static const char head[] = "| event | in | next | action |\n| --- | --- | --- | --- |\n";
  const char *at = strstr(docs.p, head);
  assert_non_null(at);
  unsigned rows = 0;
  for (at += sizeof head - 1; *at == '|'; at = strchr(at, '\n') + 1) rows++;
  assert_int_equal(rows, rp__acp_n_rows);
}

static void the_documents_show_the_ladder(void **state)
{
  struct rp__buf docs RP_AUTOBUF = RP_BUF(1 << 20), line RP_AUTOBUF = RP_BUF(4096);
  (void)state;
  read_docs(&docs);
  rp__buf_str(&line, "| event |");
  for (unsigned p = 0; p < RP_LADDER_PHASES; p++) rp__buf_printf(&line, " %s |", ladder_phase_names[p]);
  docs_have(&docs, &line);
  for (unsigned on = 0; on < RP_LADDER_ONS; on++) {
    rp__buf_printf(&line, "| %s |", ladder_on_names[on]);
    for (unsigned p = 0; p < RP_LADDER_PHASES; p++) {
      enum rp__ladder_phase to = rp__ladder_next(p, on);
      rp__buf_printf(&line, " %s |", to == RP_LADDER_PHASES ? "–" : ladder_phase_names[to]);
    }
    docs_have(&docs, &line);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_state_answers_every_event),
      cmocka_unit_test(no_state_waits_for_an_agent_that_is_gone),
      cmocka_unit_test(every_state_can_be_reached_and_left),
      cmocka_unit_test(the_ladder_can_always_be_stopped),
      cmocka_unit_test(the_documents_show_the_session_table),
      cmocka_unit_test(the_documents_show_the_ladder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
