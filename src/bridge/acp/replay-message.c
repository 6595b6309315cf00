/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages told again: chunks that follow each other are one, as long as voice, id and whatever else came with them are
 * the same. Texts are joined as the raw JSON they are; every other block is an update of its own.
 */
#include "bridge/acp/note-impl.h"
#include "bridge/acp/replay-impl.h"

static const char *const names[] = {
    [RP_VOICE_USER] = "user_message_chunk",
    [RP_VOICE_AGENT] = "agent_message_chunk",
    [RP_VOICE_THOUGHT] = "agent_thought_chunk",
};

void rp__run_done(struct rp__run *run)
{
  rp__buf_done(&run->id);
  rp__buf_done(&run->rest);
  rp__buf_done(&run->text);
}

/* ---- writing ------------------------------------------------------------------------------------ */

static int too_large(int code, rp_error *err)
{
  return code == RP_E_NOMEM ? rp__fail_nomem(err) : rp__fail(err, code, "a message is too large to be told again");
}

/* An update with one block: `block` is its raw JSON. */
static int emit_block(struct rp__replay *r, struct rp__str block, rp_error *err)
{
  const struct rp__run *run = &r->run;
  struct rp__jw w = RP_JW(&r->out);
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__buf_reset(&r->out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", names[run->voice]);
  rp__jw_key(&w, "content");
  rp__jw_raw(&w, block.p, block.n);
  if (run->id.n) {
    rp__jw_key(&w, "messageId");
    rp__jw_raw(&w, run->id.p, run->id.n);
  }
  struct rp__json rest = run->rest.n ? rp__json_trusted(run->rest.p, run->rest.n) : (struct rp__json){0};
  while (rp__json_next(rest, &it, &key, &value)) rp__note_member(&w, key, value);
  rp__jw_end_object(&w);
  return rp__replay_emit_out(r, err);
}

static int emit_text(struct rp__replay *r, struct rp__json text, rp_error *err)
{
  struct rp__jw w = RP_JW(&r->scratch);
  rp__buf_reset(&r->scratch);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "text");
  rp__jw_key(&w, "text");
  rp__jw_value(&w, text);
  rp__jw_end_object(&w);
  if (r->scratch.err) return too_large(r->scratch.err, err);
  return emit_block(r, (struct rp__str){r->scratch.p, r->scratch.n}, err);
}

/* Whether the agent only repeats what the user had said: the prompt itself was told already. */
static bool is_repeat(const struct rp__replay *r, struct rp__json v)
{
  if (r->run.voice != RP_VOICE_USER || !r->n_prompt) return false;
  uint64_t hash = rp__note_hash(v);
  for (size_t i = 0; i < r->n_prompt; i++)
    if (r->prompt[i] == hash) return true;
  return false;
}

static int flush_text(struct rp__replay *r, rp_error *err)
{
  struct rp__run *run = &r->run;
  if (!run->text.n) return 0;
  rp__buf_char(&run->text, '"');
  if (run->text.err) return too_large(run->text.err, err);
  struct rp__json text = {run->text.p, run->text.n, RP_JSON_STRING};
  int rc = is_repeat(r, text) ? 0 : emit_text(r, text, err);
  rp__buf_reset(&run->text);
  return rc;
}

int rp__run_flush(struct rp__replay *r, rp_error *err)
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
static int turn_to(struct rp__replay *r, enum rp__voice voice, struct rp__json id, struct rp__json rest, rp_error *err)
{
  struct rp__run *run = &r->run;
  if (id.type != RP_JSON_STRING || id.n > RP_RUN_ID_MAX) id = (struct rp__json){0};
  if (rest.type != RP_JSON_OBJECT) rest = (struct rp__json){0};
  if (run->any && run->voice == voice && same(&run->id, id) && same(&run->rest, rest)) return 0;
  int rc = rp__run_flush(r, err);
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

static int add_text(struct rp__replay *r, struct rp__json text, rp_error *err)
{
  struct rp__buf *joined = &r->run.text;
  int rc = joined->n && joined->n + text.n > RP_RUN_MAX ? flush_text(r, err) : 0;
  if (rc || text.n <= 2) return rc;
  if (!joined->n) rp__buf_char(joined, '"');
  rp__buf_add(joined, text.p + 1, text.n - 2);
  return joined->err ? too_large(joined->err, err) : 0;
}

static int add_block(struct rp__replay *r, struct rp__json block, rp_error *err)
{
  struct rp__json text = block.type == RP_JSON_STRING ? block : plain_text(block);
  if (text.type) return add_text(r, text, err);
  if (block.type != RP_JSON_OBJECT) return 0;
  int rc = flush_text(r, err);
  if (rc || is_repeat(r, block)) return rc;
  return emit_block(r, (struct rp__str){block.p, block.n}, err);
}

static int add_content(struct rp__replay *r, struct rp__json content, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  int rc = content.type == RP_JSON_STRING ? add_block(r, content, err) : 0;
  if (content.type != RP_JSON_ARRAY) return rc;
  while (!rc && rp__json_next(content, &it, NULL, &block)) rc = add_block(r, block, err);
  return rc;
}

int rp__replay_message(struct rp__replay *r, struct rp__json body, rp_error *err)
{
  struct rp__json role = rp__json_get(body, "role");
  bool ours = rp__json_eq(rp__json_get(body, "source"), "acp");
  enum rp__voice voice = rp__json_eq(role, "user") ? RP_VOICE_USER : RP_VOICE_AGENT;
  if (rp__json_get(body, "thought").type == RP_JSON_TRUE) voice = RP_VOICE_THOUGHT;
  bool told = ours && rp__json_eq(role, "system") && rp__note_is_ours(rp__json_get(body, "message_id"));
  if (voice == RP_VOICE_AGENT && !told && !rp__json_eq(role, "assistant")) return 0;
  bool partial = rp__json_get(body, "partial").type == RP_JSON_TRUE, ends = ours && !partial && r->run.any;
  struct rp__json rest = rp__json_get(body, "acp"), id = rp__json_get(body, "message_id");
  /* The end of a stream has nothing of its own: it goes to whatever run is open in that voice. */
  if (ends && voice == r->run.voice && rp__json_get(body, "acp").type == RP_JSON_NONE)
    rest = r->run.rest.n ? rp__json_trusted(r->run.rest.p, r->run.rest.n) : (struct rp__json){0};
  int rc = turn_to(r, voice, id, rest, err);
  if (!rc) rc = add_content(r, rp__json_get(body, "content"), err);
  return !rc && !partial ? rp__run_flush(r, err) : rc;
}

/* ---- prompts ----------------------------------------------------------------------------------------- */

/* The blocks one by one, and their texts as one: agents may repeat them in either form. */
static int remember_prompt(struct rp__replay *r, struct rp__json content, rp_error *err)
{
  struct rp__buf *all = &r->scratch;
  struct rp__json_iter it = {0};
  struct rp__json block;
  r->n_prompt = 0;
  rp__buf_reset(all);
  rp__buf_char(all, '"');
  while (rp__json_next(content, &it, NULL, &block)) {
    struct rp__json text = plain_text(block);
    if (text.n > 2) rp__buf_add(all, text.p + 1, text.n - 2);
    if (r->n_prompt < RP_PROMPT_BLOCKS) r->prompt[r->n_prompt++] = rp__note_hash(text.type ? text : block);
  }
  rp__buf_char(all, '"');
  if (all->err) return too_large(all->err, err);
  r->prompt[r->n_prompt++] = rp__note_hash((struct rp__json){all->p, all->n, RP_JSON_STRING});
  return 0;
}

int rp__replay_prompt(struct rp__replay *r, struct rp__json body, rp_error *err)
{
  struct rp__json content = rp__json_get(body, "content"), block;
  struct rp__json_iter it = {0};
  int rc = rp__run_flush(r, err);
  r->n_prompt = 0;
  if (!rc) rc = turn_to(r, RP_VOICE_USER, (struct rp__json){0}, (struct rp__json){0}, err);
  while (!rc && rp__json_next(content, &it, NULL, &block))
    if (block.type == RP_JSON_OBJECT) rc = emit_block(r, (struct rp__str){block.p, block.n}, err);
  r->run.any = false;
  return rc ? rc : remember_prompt(r, content, err);
}
