/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns events into messages for the agent. Each message carries the event's number, by which an agent recognises a
 * message that it has got before.
 */
#include "server/agent/agent-session.h"

static void put(struct rp__jw *w, const char *name, struct rp__json v)
{
  if (v.type == RP_JSON_NONE) return;
  rp__jw_kvalue(w, name, v);
}

static struct rp__jw begin(struct rp__buf *out, const char *type, int64_t seq)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", type);
  rp__jw_ki64(&w, "seq", seq);
  return w;
}

static enum rp__agent_word write_prompt(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  if (!rp__json_eq(rp__json_get(body, "role"), "user")) return RP_WORD_NONE;
  struct rp__jw w = begin(out, "user_message", seq);
  put(&w, "content", rp__json_get(body, "content"));
  put(&w, "messageId", rp__json_get(body, "message_id"));
  put(&w, "partial", rp__json_get(body, "partial"));
  rp__jw_end_object(&w);
  return RP_WORD_WORK;
}

static enum rp__agent_word write_approval(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  struct rp__json status = rp__json_get(body, "status");
  bool allowed = rp__json_eq(status, "allowed");
  if (!allowed && !rp__json_eq(status, "denied")) return RP_WORD_NONE;
  struct rp__jw w = begin(out, "approval_response", seq);
  put(&w, "approvalId", rp__json_get(body, "id"));
  rp__jw_kbool(&w, "allow", allowed);
  put(&w, "message", rp__json_get(body, "message"));
  rp__jw_end_object(&w);
  return RP_WORD_WORK;
}

static enum rp__agent_word write_answer(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  if (!rp__json_eq(rp__json_get(body, "status"), "answered")) return RP_WORD_NONE;
  struct rp__json answers = rp__json_get(body, "answers");
  struct rp__jw w = begin(out, "question_response", seq);
  put(&w, "questionId", rp__json_get(body, "id"));
  put(&w, "answers", answers.type == RP_JSON_NONE ? rp__json_get(body, "answer") : answers);
  rp__jw_end_object(&w);
  return RP_WORD_WORK;
}

static enum rp__agent_word write_command(int64_t seq, struct rp__json body, struct rp__buf *out)
{
  static const char *const commands[] = {"interrupt", "update_settings", "set_model", "get_models"};
  struct rp__json command = rp__json_get(body, "command"), key, value;
  struct rp__json_iter it = {0};
  size_t i = 0;
  while (i < RP_ARRAY_SIZE(commands) && !rp__json_eq(command, commands[i])) i++;
  if (i == RP_ARRAY_SIZE(commands)) return RP_WORD_NONE;
  struct rp__jw w = begin(out, commands[i], seq);
  while (rp__json_next(body, &it, &key, &value)) {
    char *name RP_AUTOFREE = rp__json_dup(key);
    if (!name) out->err = RP_E_NOMEM;
    if (!name || strcmp(name, "command") == 0 || strcmp(name, "type") == 0 || strcmp(name, "seq") == 0) continue;
    put(&w, name, value);
  }
  rp__jw_end_object(&w);
  return RP_WORD_COMMAND;
}

enum rp__agent_word rp__agent_write(const char *kind, int64_t seq, struct rp__json body, struct rp__buf *out)
{
  static const struct {
    const char *kind;
    enum rp__agent_word (*write)(int64_t seq, struct rp__json body, struct rp__buf *out);
  } rows[] = {
      {"message", write_prompt},
      {"approval", write_approval},
      {"question", write_answer},
      {"x-command", write_command},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++)
    if (strcmp(kind, rows[i].kind) == 0) return rows[i].write(seq, body, out);
  return RP_WORD_NONE;
}
