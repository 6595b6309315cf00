/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass over a journal, which sends the history to the editor. Everything keeps its order. A state update is
 * sent once, at the place of its last value. A tool call without an end is closed where the run ends in which the call
 * was made. When the agent died in the middle of a turn, the call is closed where that turn ends.
 */
#include "bridge/acp/replay/replay.h"

#include "bridge/acp/replay/conversation.h"
#include "bridge/acp/session/event.h"

#define STEP_BYTES ((size_t)1024 * 1024)       /* emitted in one step, after which no further event is begun */
#define RUN_MAX ((size_t)256 * 1024)           /* raw bytes of a text that is joined; the next chunk begins another */
#define RUN_ID_MAX ((size_t)4 * 1024)          /* raw bytes of a message's id */
#define UPDATE_MAX ((size_t)160 * 1024 * 1024) /* bytes of one update: a blob, and terminals put in */
#define PROMPT_BLOCKS 64                       /* blocks of a prompt that are known again when the agent repeats them */
#define OPEN_MAX 4096                          /* tool calls without an end; the oldest is closed when there are more */
#define SUMMARY_MAX ((size_t)4 * 1024 * 1024)
#define PART_MAX ((size_t)256 * 1024)

enum voice { USER, AGENT, THOUGHT };

struct open_call {
  uint64_t id;
  char *raw; /* its toolCallId as JSON */
};

/* Chunks that are one update: same voice, same id, same other members. */
struct run {
  bool any; /* voice, id and rest are those of somebody */
  enum voice voice;
  struct rp__buf id, rest; /* raw JSON; empty: none */
  struct rp__buf text;     /* raw, behind its opening quote */
};

struct rp__replay {
  struct rp__conversation conversation;
  bool compaction; /* the client understands compaction_update */
  struct rp__survey survey;
  struct run run;
  struct open_call *open;
  size_t n_open, cap_open;
  uint64_t prompt[PROMPT_BLOCKS + 1]; /* hashes of what the user said in this turn */
  size_t n_prompt;
  bool died; /* the agent, in this turn: what is still open at its end was cut off */
  struct rp__buf out, scratch;
  size_t emitted; /* bytes, in this step */
  rp__update_fn *emit;
  void *ctx;
};

static int emit_update(struct rp__replay *r, const char *update, size_t n)
{
  r->emitted += n;
  return r->emit(r->ctx, update, n);
}

static int emit_out(struct rp__replay *r, rp_error *err)
{
  if (r->out.err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (r->out.err) return rp__fail(err, r->out.err, "an update is too large to be told again");
  return emit_update(r, r->out.p, r->out.n);
}

/* ---- messages: chunks that follow each other are one, as long as voice, id and other members are the same; texts are
 * joined as the raw JSON they are, every other block is an update of its own ---- */

static const char *const chunk_names[] = {
    [USER] = "user_message_chunk",
    [AGENT] = "agent_message_chunk",
    [THOUGHT] = "agent_thought_chunk",
};

/* ---- writing ------------------------------------------------------------------------------------ */

static int too_large(int code, rp_error *err)
{
  return code == RP_E_NOMEM ? rp__fail_nomem(err) : rp__fail(err, code, "a message is too large to be told again");
}

/* An update with one block: `block` is its raw JSON. */
static int emit_block(struct rp__replay *r, struct rp__str block, rp_error *err)
{
  const struct run *run = &r->run;
  struct rp__jw w = RP_JW(&r->out);
  struct rp__json_iter it = {0};
  struct rp__json key, value, none = {0};
  rp__buf_reset(&r->out);
  rp__jw_pack(&w, "{sessionUpdate:s content:v messageId:?v", chunk_names[run->voice],
              rp__json_trusted(block.p, block.n), run->id.n ? rp__json_trusted(run->id.p, run->id.n) : none);
  struct rp__json rest = run->rest.n ? rp__json_trusted(run->rest.p, run->rest.n) : none;
  while (rp__json_next(rest, &it, &key, &value)) rp__acp_copy_member(&w, key, value);
  rp__jw_end_object(&w);
  return emit_out(r, err);
}

/* Whether the agent only repeats what the user had said: the prompt itself was told already. */
static bool is_repeat(const struct rp__replay *r, struct rp__json v)
{
  if (r->run.voice != USER || !r->n_prompt) return false;
  uint64_t hash = rp__acp_event_hash(v);
  for (size_t i = 0; i < r->n_prompt; i++)
    if (r->prompt[i] == hash) return true;
  return false;
}

static int flush_text(struct rp__replay *r, rp_error *err)
{
  struct rp__buf *joined = &r->run.text;
  struct rp__jw w = RP_JW(&r->scratch);
  int rc = 0;
  if (!joined->n) return 0;
  rp__buf_char(joined, '"');
  if (joined->err) return too_large(joined->err, err);
  struct rp__json text = {joined->p, joined->n, RP_JSON_STRING};
  if (!is_repeat(r, text)) {
    rp__buf_reset(&r->scratch);
    rp__jw_pack(&w, "{type:s text:v}", "text", text);
    rc = r->scratch.err ? too_large(r->scratch.err, err)
                        : emit_block(r, (struct rp__str){r->scratch.p, r->scratch.n}, err);
  }
  rp__buf_reset(joined);
  return rc;
}

static int run_flush(struct rp__replay *r, rp_error *err)
{
  int rc = flush_text(r, err);
  r->run.any = false;
  return rc;
}

/* ---- whose chunk it is ----------------------------------------------------------------------------- */

static bool same(const struct rp__buf *b, struct rp__json v)
{
  return b->n == v.n && (!v.n || memcmp(b->p, v.p, v.n) == 0);
}

static int set(struct rp__buf *b, struct rp__json v, rp_error *err)
{
  rp__buf_reset(b);
  if (v.n) rp__buf_add(b, v.p, v.n);
  return b->err ? too_large(b->err, err) : 0;
}

/* Goes on with the run, or begins another. */
static int turn_to(struct rp__replay *r, enum voice voice, struct rp__json id, struct rp__json rest, rp_error *err)
{
  struct run *run = &r->run;
  if (id.type != RP_JSON_STRING || id.n > RUN_ID_MAX) id = (struct rp__json){0};
  if (rest.type != RP_JSON_OBJECT) rest = (struct rp__json){0};
  if (run->any && run->voice == voice && same(&run->id, id) && same(&run->rest, rest)) return 0;
  int rc = run_flush(r, err);
  run->voice = voice;
  if (!rc) rc = set(&run->id, id, err);
  if (!rc) rc = set(&run->rest, rest, err);
  run->any = !rc;
  return rc;
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

/* The text of a block that is nothing but a text. */
static struct rp__json plain_text(struct rp__json block)
{
  struct rp__json text = rp__json_get(block, "text");
  bool plain =
      text.type == RP_JSON_STRING && rp__json_count(block) == 2 && rp__json_eq(rp__json_get(block, "type"), "text");
  return plain ? text : (struct rp__json){0};
}

static int add_block(struct rp__replay *r, struct rp__json block, rp_error *err)
{
  struct rp__json text = block.type == RP_JSON_STRING ? block : plain_text(block);
  struct rp__buf *joined = &r->run.text;
  if (!text.type && block.type != RP_JSON_OBJECT) return 0;
  int rc = !text.type || (joined->n && joined->n + text.n > RUN_MAX) ? flush_text(r, err) : 0;
  if (rc) return rc;
  if (!text.type) return is_repeat(r, block) ? 0 : emit_block(r, (struct rp__str){block.p, block.n}, err);
  if (text.n <= 2) return 0;
  if (!joined->n) rp__buf_char(joined, '"');
  rp__buf_add(joined, text.p + 1, text.n - 2);
  return joined->err ? too_large(joined->err, err) : 0;
}

static int tell_message(struct rp__replay *r, struct rp__json body, rp_error *err)
{
  struct rp__json role = rp__json_get(body, "role"), content = rp__json_get(body, "content"), block;
  struct rp__json_iter it = {0};
  bool ours = rp__json_eq(rp__json_get(body, "source"), "acp");
  enum voice voice = rp__json_eq(role, "user") ? USER : AGENT;
  if (rp__json_get(body, "thought").type == RP_JSON_TRUE) voice = THOUGHT;
  bool told = ours && rp__json_eq(role, "system") && rp__acp_event_is_ours(rp__json_get(body, "message_id"));
  if (voice == AGENT && !told && !rp__json_eq(role, "assistant")) return 0;
  bool partial = rp__json_get(body, "partial").type == RP_JSON_TRUE, ends = ours && !partial && r->run.any;
  struct rp__json rest = rp__json_get(body, "acp"), id = rp__json_get(body, "message_id");
  /* The end of a stream has nothing of its own: it goes to whatever run is open in that voice. */
  if (ends && voice == r->run.voice && rp__json_get(body, "acp").type == RP_JSON_NONE)
    rest = r->run.rest.n ? rp__json_trusted(r->run.rest.p, r->run.rest.n) : (struct rp__json){0};
  int rc = turn_to(r, voice, id, rest, err);
  if (!rc && content.type == RP_JSON_STRING) rc = add_block(r, content, err);
  while (!rc && content.type == RP_JSON_ARRAY && rp__json_next(content, &it, NULL, &block))
    rc = add_block(r, block, err);
  return !rc && !partial ? run_flush(r, err) : rc;
}

/* ---- prompts ----------------------------------------------------------------------------------------- */

static int tell_prompt(struct rp__replay *r, struct rp__json body, rp_error *err)
{
  struct rp__json content = rp__json_get(body, "content"), block;
  struct rp__buf *all = &r->scratch;
  struct rp__json_iter it = {0};
  int rc = run_flush(r, err);
  r->n_prompt = 0;
  if (!rc) rc = turn_to(r, USER, (struct rp__json){0}, (struct rp__json){0}, err);
  while (!rc && rp__json_next(content, &it, NULL, &block))
    if (block.type == RP_JSON_OBJECT) rc = emit_block(r, (struct rp__str){block.p, block.n}, err);
  r->run.any = false;
  if (rc) return rc;
  /* The blocks are remembered one by one, and their texts as one: agents may repeat them in either form. */
  rp__buf_reset(all);
  rp__buf_char(all, '"');
  for (it = (struct rp__json_iter){0}; rp__json_next(content, &it, NULL, &block);) {
    struct rp__json text = plain_text(block);
    if (text.n > 2) rp__buf_add(all, text.p + 1, text.n - 2);
    if (r->n_prompt < PROMPT_BLOCKS) r->prompt[r->n_prompt++] = rp__acp_event_hash(text.type ? text : block);
  }
  rp__buf_char(all, '"');
  if (all->err) return too_large(all->err, err);
  r->prompt[r->n_prompt++] = rp__acp_event_hash((struct rp__json){all->p, all->n, RP_JSON_STRING});
  return 0;
}

/* ---- calls without an end ------------------------------------------------------------------------- */

static int emit_failed(struct rp__replay *r, const char *raw, rp_error *err)
{
  struct rp__jw w = RP_JW(&r->out);
  rp__buf_reset(&r->out);
  rp__jw_pack(&w, "{sessionUpdate:s toolCallId:r status:s}", "tool_call_update", raw, "failed");
  return emit_out(r, err);
}

static void forget(struct rp__replay *r, size_t i)
{
  free(r->open[i].raw);
  r->n_open--;
  memmove(&r->open[i], &r->open[i + 1], (r->n_open - i) * sizeof *r->open);
}

/* One that was cut off has been told as failed. */
static bool has_ended(struct rp__json status)
{
  return rp__json_eq(status, "done") || rp__json_eq(status, "failed") || rp__json_eq(status, "unknown");
}

/* ---- terminals -------------------------------------------------------------------------------------- */

static int write_terminal(struct rp__replay *r, struct rp__jw *w, struct rp__json id, int64_t seq, rp_error *err)
{
  struct rp__buf gone RP_AUTOBUF = RP_BUF(2 * id.n + 128);
  struct rp__json text;
  int rc = rp__survey_output(&r->survey, &r->conversation, id, seq, &r->scratch, &text, err);
  if (rc) return rc;
  rp__buf_str(&gone, "[the output of terminal ");
  rp__json_text(id, &gone);
  rp__buf_str(&gone, " is gone]");
  rp__jw_pack(w, "{type:s content:{type:s", "content", "text");
  if (text.type == RP_JSON_STRING)
    rp__jw_pack(w, "text:v}}", text);
  else
    rp__jw_pack(w, "text:n}}", gone.p, gone.n);
  return 0;
}

static bool is_terminal(struct rp__json item)
{
  return rp__json_eq(rp__json_get(item, "type"), "terminal");
}

static bool has_terminal(struct rp__json content)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (content.type != RP_JSON_ARRAY) return false;
  while (rp__json_next(content, &it, NULL, &item))
    if (is_terminal(item)) return true;
  return false;
}

/* ---- calls ------------------------------------------------------------------------------------------- */

static int write_ours(struct rp__replay *r, const struct rp__conversation_event *ev, struct rp__json acp, rp_error *err)
{
  struct rp__jw w = RP_JW(&r->out);
  struct rp__json_iter it = {0};
  struct rp__json key, value, item;
  int rc = 0;
  rp__buf_reset(&r->out);
  rp__jw_object(&w);
  while (!rc && rp__json_next(acp, &it, &key, &value)) {
    struct rp__json_iter at = {0};
    if (!rp__json_eq(key, "content") || !has_terminal(value)) {
      rp__acp_copy_member(&w, key, value);
      continue;
    }
    rp__jw_pack(&w, "content:[");
    while (!rc && rp__json_next(value, &at, NULL, &item)) {
      if (is_terminal(item))
        rc = write_terminal(r, &w, rp__json_get(item, "terminalId"), ev->seq, err);
      else
        rp__jw_value(&w, item);
    }
    rp__jw_end_array(&w);
  }
  rp__jw_pack(&w, "rawInput:?v rawOutput:?v}", rp__json_get(ev->body, "input"), rp__json_get(ev->body, "output"));
  return rc;
}

/* A call that another bridge wrote down. Its first word begins it; ends are updates. */
static void write_others(struct rp__replay *r, struct rp__json body)
{
  static const char *const words[][2] = {
      {"intended", "pending"}, {"running", "in_progress"}, {"done", "completed"}, {"failed", "failed"}};
  struct rp__jw w = RP_JW(&r->out);
  struct rp__json status = rp__json_get(body, "status");
  const char *word = "failed";
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    if (rp__json_eq(status, words[i][0])) word = words[i][1];
  rp__buf_reset(&r->out);
  rp__jw_pack(&w, "{sessionUpdate:s toolCallId:v title:v status:s rawInput:?v rawOutput:?v}",
              has_ended(status) ? "tool_call_update" : "tool_call", rp__json_get(body, "call_id"),
              rp__json_get(body, "name"), word, rp__json_get(body, "input"), rp__json_get(body, "output"));
}

static int tell_tool(struct rp__replay *r, const struct rp__conversation_event *ev, rp_error *err)
{
  struct rp__json acp = rp__json_get(ev->body, "acp"), id = rp__json_get(acp, "toolCallId");
  bool ours = id.type == RP_JSON_STRING;
  if (!ours) id = rp__json_get(ev->body, "call_id");
  if (id.type != RP_JSON_STRING) return 0;
  int rc = run_flush(r, err);
  if (rc) return rc;
  if (ours)
    rc = write_ours(r, ev, acp, err);
  else
    write_others(r, ev->body);
  if (!rc) rc = emit_out(r, err);
  if (rc) return rc;
  /* Whether it is open from here on. */
  bool ended = has_ended(rp__json_get(ev->body, "status"));
  uint64_t hash = rp__acp_event_hash(id);
  size_t i = 0;
  while (i < r->n_open && r->open[i].id != hash) i++;
  if (ended && i < r->n_open) forget(r, i);
  if (ended || i < r->n_open) return 0;
  char *raw RP_AUTOFREE = strndup(id.p, id.n);
  if (!raw) return rp__fail_nomem(err);
  if (r->n_open == OPEN_MAX) { /* one too many is told as failed now: should it end after all, that is told too */
    rc = emit_failed(r, r->open[0].raw, err);
    forget(r, 0);
  } else if (r->n_open == r->cap_open) {
    size_t cap = r->cap_open ? 2 * r->cap_open : 16;
    struct open_call *more = realloc(r->open, cap * sizeof *more);
    if (!more) return rp__fail_nomem(err);
    r->open = more;
    r->cap_open = cap;
  }
  if (!rc) r->open[r->n_open++] = (struct open_call){hash, RP_TAKE(raw)};
  return rc;
}

/* ---- compactions: each is told where it began, as what its updates made of it; its events are read again ---- */

/* Raw JSON; the summary's blocks with commas between them. */
enum part { ID, STATUS, SUMMARY, ERROR, META, PARTS };
static const char *const patched[PARTS] = {[STATUS] = "status", [ERROR] = "error", [META] = "_meta"};

struct whole {
  struct rp__buf part[PARTS];
};

static void whole_done(struct whole *w)
{
  for (int i = 0; i < PARTS; i++) rp__buf_done(&w->part[i]);
}

/* A summary that grows too long ends where it does; nothing else of it is lost. */
static void add_summary(struct rp__buf *summary, struct rp__json block)
{
  if (block.type != RP_JSON_OBJECT || summary->n + block.n + 1 > SUMMARY_MAX) return;
  if (summary->n) rp__buf_char(summary, ',');
  rp__buf_add(summary, block.p, block.n);
}

/* Absent: as it was. Null: cleared. */
static void patch(struct rp__buf *part, struct rp__json v)
{
  if (!v.type || v.n > PART_MAX) return;
  rp__buf_reset(part);
  if (v.type != RP_JSON_NULL) rp__buf_add(part, v.p, v.n);
}

static int gather(struct rp__replay *r, const struct rp__compaction *c, struct whole *all, rp_error *err)
{
  struct rp__conversation past RP_CLEANUP(rp__conversation_done);
  struct rp__conversation_event ev;
  int rc = rp__conversation_open(&past, r->conversation.s, c->last, err);
  past.at = c->first - 1;
  while (!rc && (rc = rp__conversation_next(&past, &ev, err)) > 0) {
    rc = 0;
    struct rp__json update = rp__json_get(ev.body, "update"), id = rp__json_get(update, "compactionId");
    bool other = ev.kind != RP_CONVERSATION_UPDATE || !rp__is_compaction(rp__json_get(update, "sessionUpdate"));
    if (other || rp__acp_event_hash(id) != c->id || rp__survey_undone(&r->survey, ev.seq)) continue;
    if (!all->part[ID].n) patch(&all->part[ID], id);
    rc = rp__conversation_whole(&past, &ev, err);
    if (rc) break;
    struct rp__json_iter it = {0};
    update = rp__json_get(ev.body, "update");
    struct rp__json summary = rp__json_get(update, "summary"), block;
    if (rp__json_eq(rp__json_get(update, "sessionUpdate"), "compaction_summary_chunk")) {
      add_summary(&all->part[SUMMARY], rp__json_get(update, "content"));
      continue;
    }
    for (int i = 0; i < PARTS; i++)
      if (patched[i]) patch(&all->part[i], rp__json_get(update, patched[i]));
    if (summary.type) rp__buf_reset(&all->part[SUMMARY]);
    while (rp__json_next(summary, &it, NULL, &block)) add_summary(&all->part[SUMMARY], block);
  }
  return rc;
}

static int tell_compaction(struct rp__replay *r, const struct rp__conversation_event *ev, rp_error *err)
{
  struct whole all RP_CLEANUP(whole_done) = {0};
  const struct rp__compaction *c = NULL;
  const char *raw[PARTS];
  struct rp__jw w = RP_JW(&r->out);
  for (size_t i = 0; i < r->survey.n_compactions; i++)
    if (r->survey.compactions[i].first == ev->seq) c = &r->survey.compactions[i];
  if (!c) return 0;
  for (int i = 0; i < PARTS; i++) all.part[i] = RP_BUF(i == SUMMARY ? SUMMARY_MAX : PART_MAX);
  int rc = run_flush(r, err);
  if (!rc) rc = gather(r, c, &all, err);
  if (rc) return rc;
  for (int i = 0; i < PARTS; i++) {
    if (all.part[i].err) return rp__fail_nomem(err);
    raw[i] = all.part[i].n ? all.part[i].p : NULL;
  }
  if (!raw[STATUS]) raw[STATUS] = "\"in_progress\"";
  /* It does not go on beyond the run in which it began. */
  if (strcmp(raw[STATUS], "\"in_progress\"") == 0 && c->last < r->survey.last_run) raw[STATUS] = "\"failed\"";
  rp__buf_reset(&r->out);
  rp__jw_pack(&w, "{sessionUpdate:s compactionId:?r status:r", "compaction_update", raw[ID], raw[STATUS]);
  if (raw[SUMMARY]) {
    rp__jw_pack(&w, "summary:[");
    rp__jw_raw(&w, all.part[SUMMARY].p, all.part[SUMMARY].n);
    rp__jw_end_array(&w);
  }
  rp__jw_pack(&w, "error:?r _meta:?r}", raw[ERROR], raw[META]);
  return emit_out(r, err);
}

/* ---- updates as they came ------------------------------------------------------------------------- */

static int tell_update(struct rp__replay *r, struct rp__conversation_event *ev, rp_error *err)
{
  /* What is kept elsewhere stands here only when it made no sense; a notice is of its moment. */
  static const char *const left_out[] = {
      "notice", "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"};
  struct rp__json update = rp__json_get(ev->body, "update"), name = rp__json_get(update, "sessionUpdate");
  const int64_t *last = r->survey.last;
  int state = rp__state_update(name);
  if (name.type != RP_JSON_STRING || name.n <= 2) return 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(left_out); i++)
    if (rp__json_eq(name, left_out[i])) return 0;
  bool title = state == RP_STATE_INFO && last[RP_STATE_TITLE] == ev->seq;
  if (state >= 0 && last[state] != ev->seq && !title) return 0;
  if (rp__is_compaction(name)) return r->compaction ? tell_compaction(r, ev, err) : 0;
  int rc = rp__conversation_whole(&r->conversation, ev, err);
  if (rc || rp__json_get(ev->body, "acp_blob").type)
    return rc; /* what is left of one whose blob is gone is no update */
  rc = run_flush(r, err);
  if (rc) return rc;
  update = rp__json_get(ev->body, "update");
  return emit_update(r, update.p, update.n);
}

/* ---- events ----------------------------------------------------------------------------------------- */

/* The end of a turn, or of all that went on. */
static int tell_end(struct rp__replay *r, bool run, rp_error *err)
{
  bool cut = run || r->died;
  r->n_prompt = 0;
  r->died = false;
  int rc = run_flush(r, err);
  if (rc || !cut) return rc;
  for (size_t i = 0; i < r->n_open; i++) {
    if (!rc) rc = emit_failed(r, r->open[i].raw, err);
    free(r->open[i].raw);
  }
  r->n_open = 0;
  return rc;
}

static int tell(struct rp__replay *r, struct rp__conversation_event *ev, rp_error *err)
{
  bool prompt = ev->kind == RP_CONVERSATION_PROMPT, message = ev->kind == RP_CONVERSATION_MESSAGE;
  if (rp__survey_undone(&r->survey, ev->seq)) return 0;
  int rc =
      prompt || message || ev->kind == RP_CONVERSATION_TOOL ? rp__conversation_whole(&r->conversation, ev, err) : 0;
  if (!rc && prompt) rc = tell_end(r, false, err);
  if (rc) return rc;
  switch (ev->kind) {
  case RP_CONVERSATION_PROMPT: return tell_prompt(r, ev->body, err);
  case RP_CONVERSATION_MESSAGE: return tell_message(r, ev->body, err);
  case RP_CONVERSATION_TOOL: return tell_tool(r, ev, err);
  case RP_CONVERSATION_UPDATE: return tell_update(r, ev, err);
  case RP_CONVERSATION_TURN_END: return tell_end(r, false, err);
  case RP_CONVERSATION_DIED: r->died = true; return run_flush(r, err);
  case RP_CONVERSATION_RUN: return tell_end(r, true, err);
  default: return 0;
  }
}

int rp__replay_step(struct rp__replay *r, rp__update_fn *emit, void *ctx, bool *ret_more, rp_error *err)
{
  struct rp__conversation_event ev;
  int rc = 1;
  r->emit = emit;
  r->ctx = ctx;
  r->emitted = 0;
  for (int i = 0; i < RP_REPLAY_STEP && r->emitted < STEP_BYTES; i++) {
    rc = rp__conversation_next(&r->conversation, &ev, err);
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

/* ---- its life ---- */

void rp__replay_free(struct rp__replay *r)
{
  if (!r) return;
  rp__conversation_done(&r->conversation);
  rp__survey_done(&r->survey);
  rp__buf_done(&r->run.id);
  rp__buf_done(&r->run.rest);
  rp__buf_done(&r->run.text);
  for (size_t i = 0; i < r->n_open; i++) free(r->open[i].raw);
  free(r->open);
  rp__buf_done(&r->out);
  rp__buf_done(&r->scratch);
  free(r);
}

int rp__replay_new(rp_session *s, bool compaction, struct rp__replay **ret, rp_error *err)
{
  struct rp__replay *r = calloc(1, sizeof *r);
  if (!r) return rp__fail_nomem(err);
  r->compaction = compaction;
  r->out = r->scratch = RP_BUF(UPDATE_MAX);
  r->run = (struct run){.id = RP_BUF(RUN_ID_MAX), .rest = RP_BUF(UPDATE_MAX), .text = RP_BUF(UPDATE_MAX)};
  int rc = rp__conversation_open(&r->conversation, s, -1, err);
  if (!rc) rc = rp__survey(&r->conversation, &r->survey, err);
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
  int rc = rp__conversation_read(&r->conversation, r->survey.last[state], &r->scratch, err);
  if (rc) return rc;
  struct rp__json body = rp__json_trusted(r->scratch.p, r->scratch.n);
  struct rp__json value = rp__json_get(rp__json_get(body, "update"), member);
  if (value.type) rp__buf_add(out, value.p, value.n);
  return out->err ? rp__fail(err, out->err, "modes or options do not fit") : 0;
}

int rp__replay_settings(rp_session *s, struct rp__buf *mode, struct rp__buf *options, rp_error *err)
{
  struct rp__replay *r = NULL;
  int rc = rp__replay_new(s, false, &r, err);
  if (rc) return rc;
  rc = read_last(r, RP_STATE_MODE, "currentModeId", mode, err);
  if (!rc) rc = read_last(r, RP_STATE_CONFIG, "configOptions", options, err);
  rp__replay_free(r);
  return rc;
}
