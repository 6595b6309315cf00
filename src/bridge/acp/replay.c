/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second look, which tells. Everything keeps its order; a state update is told where its last value stands. Calls
 * that nobody ended are closed where the run ends in which they were made, or the turn in which the agent died: that is
 * the end of their turn when it was cut off.
 */
#include "bridge/acp/replay-impl.h"

#define STEP_BYTES ((size_t)1024 * 1024) /* emitted in one step, after which no further event is begun */

int rp__replay_emit(struct rp__replay *r, const char *update, size_t n, rp_error *err)
{
  (void)err;
  r->emitted += n;
  return r->emit(r->ctx, update, n);
}

int rp__replay_emit_out(struct rp__replay *r, rp_error *err)
{
  if (r->out.err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (r->out.err) return rp__fail(err, r->out.err, "an update is too large to be told again");
  return rp__replay_emit(r, r->out.p, r->out.n, err);
}

void rp__replay_free(struct rp__replay *r)
{
  if (!r) return;
  rp__past_done(&r->past);
  rp__survey_done(&r->survey);
  rp__run_done(&r->run);
  for (size_t i = 0; i < r->n_open; i++) free(r->open[i].raw);
  free(r->open);
  rp__buf_done(&r->out);
  rp__buf_done(&r->scratch);
  free(r);
}

int rp__replay_new(rp_session *s, const struct rp__replay_options *o, struct rp__replay **ret, rp_error *err)
{
  struct rp__replay *r = calloc(1, sizeof *r);
  if (!r) return rp__fail_nomem(err);
  r->options = *o;
  r->out = r->scratch = RP_BUF(RP_UPDATE_MAX);
  r->run = (struct rp__run){.id = RP_BUF(RP_RUN_ID_MAX), .rest = RP_BUF(RP_UPDATE_MAX), .text = RP_BUF(RP_UPDATE_MAX)};
  int rc = rp__past_open(&r->past, s, -1, err);
  if (!rc) rc = rp__survey(r, err);
  if (rc) {
    rp__replay_free(r);
    return rc;
  }
  *ret = r;
  return 0;
}

static int read_last(struct rp__replay *r, int state, const char *member, struct rp__buf *out, rp_error *err)
{
  if (!r->survey.last[state]) return 0;
  int rc = rp__past_read(&r->past, r->survey.last[state], &r->scratch, err);
  if (rc) return rc;
  struct rp__json body = rp__json_trusted(r->scratch.p, r->scratch.n);
  struct rp__json value = rp__json_get(rp__json_get(body, "update"), member);
  if (value.type) rp__buf_add(out, value.p, value.n);
  return out->err ? rp__fail(err, out->err, "modes or options do not fit") : 0;
}

int rp__replay_settings(rp_session *s, struct rp__buf *mode, struct rp__buf *options, rp_error *err)
{
  const struct rp__replay_options o = {0};
  struct rp__replay *r = NULL;
  int rc = rp__replay_new(s, &o, &r, err);
  if (rc) return rc;
  rc = read_last(r, RP_STATE_MODE, "currentModeId", mode, err);
  if (!rc) rc = read_last(r, RP_STATE_CONFIG, "configOptions", options, err);
  rp__replay_free(r);
  return rc;
}

/* ---- updates as they came ------------------------------------------------------------------------- */

/* What is kept elsewhere stands here only when it made no sense; a notice is of its moment. */
static bool left_out(struct rp__json name)
{
  static const char *const names[] = {
      "notice", "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update",
      NULL};
  if (name.type != RP_JSON_STRING || name.n <= 2) return true;
  for (const char *const *n = names; *n; n++)
    if (rp__json_eq(name, *n)) return true;
  return false;
}

static bool is_last(const struct rp__survey *s, int state, int64_t seq)
{
  return s->last[state] == seq || (state == RP_STATE_INFO && s->last[RP_STATE_TITLE] == seq);
}

static int tell_update(struct rp__replay *r, struct rp__past_event *ev, rp_error *err)
{
  struct rp__json update = rp__json_get(ev->body, "update"), name = rp__json_get(update, "sessionUpdate");
  int state = rp__state_update(name);
  if (left_out(name) || (state >= 0 && !is_last(&r->survey, state, ev->seq))) return 0;
  if (rp__is_compaction(name)) return r->options.compaction ? rp__replay_compaction(r, ev, err) : 0;
  int rc = rp__past_whole(&r->past, ev, err);
  if (rc || rp__json_get(ev->body, "acp_blob").type)
    return rc; /* what is left of one whose blob is gone is no update */
  rc = rp__run_flush(r, err);
  if (rc) return rc;
  update = rp__json_get(ev->body, "update");
  return rp__replay_emit(r, update.p, update.n, err);
}

/* ---- events ----------------------------------------------------------------------------------------- */

/* The end of a turn, or of all that went on. */
static int tell_end(struct rp__replay *r, bool run, rp_error *err)
{
  bool cut = run || r->died;
  r->n_prompt = 0;
  r->died = false;
  int rc = rp__run_flush(r, err);
  return !rc && cut ? rp__replay_close_calls(r, err) : rc;
}

static int tell_died(struct rp__replay *r, rp_error *err)
{
  r->died = true;
  return rp__run_flush(r, err);
}

static int tell_said(struct rp__replay *r, struct rp__past_event *ev, rp_error *err)
{
  int rc = rp__past_whole(&r->past, ev, err);
  if (rc) return rc;
  switch (ev->kind) {
  case RP_PAST_PROMPT: rc = tell_end(r, false, err); return rc ? rc : rp__replay_prompt(r, ev->body, err);
  case RP_PAST_MESSAGE: return rp__replay_message(r, ev->body, err);
  default: return rp__replay_tool(r, ev, err);
  }
}

static int tell(struct rp__replay *r, struct rp__past_event *ev, rp_error *err)
{
  if (rp__survey_undone(&r->survey, ev->seq)) return 0;
  switch (ev->kind) {
  case RP_PAST_PROMPT:
  case RP_PAST_MESSAGE:
  case RP_PAST_TOOL: return tell_said(r, ev, err);
  case RP_PAST_UPDATE: return tell_update(r, ev, err);
  case RP_PAST_TURN_END: return tell_end(r, false, err);
  case RP_PAST_DIED: return tell_died(r, err);
  case RP_PAST_RUN: return tell_end(r, true, err);
  default: return 0;
  }
}

int rp__replay_step(struct rp__replay *r, rp__update_fn *emit, void *ctx, bool *ret_more, rp_error *err)
{
  struct rp__past_event ev;
  int rc = 1;
  r->emit = emit;
  r->ctx = ctx;
  r->emitted = 0;
  for (int i = 0; i < RP_REPLAY_STEP && r->emitted < STEP_BYTES; i++) {
    rc = rp__past_next(&r->past, &ev, err);
    if (rc <= 0) break;
    rc = tell(r, &ev, err);
    if (rc) return rc;
    rc = 1;
  }
  if (rc < 0) return rc;
  bool more = rc == 1;
  rc = more ? 0 : tell_end(r, false, err);
  if (!rc) *ret_more = more;
  return rc;
}
