/* SPDX-License-Identifier: Apache-2.0 */
/* Random events of work: pins, tasks, projects, activity, learnings, and messages that speak of them. */
#ifndef RANDOM_WORK_H
#define RANDOM_WORK_H

#include "../../lib/dice.h"
#include "core/event.h"

static inline const char *work_pick(struct dice *d, const char *const *words, size_t n)
{
  return words[dice_below(d, (int64_t)n)];
}
#define WORK(d, ...)                                                                                                   \
  work_pick(d, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Few names in several spellings, so that they meet again. */
static inline const char *work_task(struct dice *d)
{
  return WORK(d, "task-1", "task-2", "Task-1", "T-9", "t\\u0061sk-1", "two words", "task-x", "\\u0001", "task-1.5",
              "\xc3\xa4-1");
}

static inline const char *work_label(struct dice *d)
{
  return WORK(d, "a", "\\u0061", "b [inherited from s @ t]", "b", "c\\n", "task-1 todo", "wip \\u0000", "\xe2\x82\xac",
              "d", "e", "f", "g", "h", "i", "j", "k", "CRITICAL");
}

static inline const char *work_text(struct dice *d)
{
  return WORK(d, "todo ", "pending: ", "done ", "Is it closed? ", "but ", "\xe5\xae\x8c\xe6\x88\x90\xe4\xba\x86", "if ",
              "is not done. ", "finished, ", "ham radio ", "Ham Radio; ", "CRITICAL\\n", "\\u00dcber ", "don't ",
              "/Projects/nova ", "lbf-ham-radio ", "\\ud83d\\ude00", "\xe6\x97\xa5");
}

static inline void random_text(struct dice *d, struct rp__buf *b)
{
  for (int64_t i = dice_below(d, 8); i > 0; i--) {
    rp__buf_str(b, work_text(d));
    if (dice_below(d, 3) == 0) rp__buf_printf(b, "%s ", work_task(d));
    if (dice_below(d, 3) == 0) rp__buf_printf(b, "word%d ", (int)dice_below(d, 3000));
  }
  if (dice_below(d, 40) == 0)
    for (int64_t i = dice_below(d, 20000); i > 0; i--) rp__buf_str(b, "\\n");
}

static inline void random_pin(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"label\":\"%s\",\"content\":\"", work_label(d));
  random_text(d, b);
  rp__buf_printf(b, "\",\"importance\":%s,\"inherited_from\":%s,\"pinned_at\":%s}",
                 WORK(d, "\"normal\"", "\"high\"", "\"critical\"", "5"), WORK(d, "null", "\"s1\"", "7"),
                 WORK(d, "null", "\"2026-01-01T00:00:00Z\"", "\"soon\""));
}

static inline void random_task(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b,
                 "{\"task_id\":\"%s\",\"title\":\"%s\",\"stage\":\"%s\",\"status\":%s,\"flagged_incomplete\":%s,"
                 "\"source\":\"%s\",\"at\":\"2026-01-01\",\"confirmed\":%s}",
                 work_task(d), work_label(d), WORK(d, "build", "design", "done", "VERIFY"),
                 WORK(d, "null", "\"open\"", "\"done\"", "\"deleted\""), WORK(d, "true", "false", "null"),
                 WORK(d, "working_memory_scan", "message", "else"), WORK(d, "true", "null"));
}

static inline void random_memory(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b,
                 "{\"memory_id\":\"m%d\",\"content\":\"%s\",\"categories\":[\"%s\"],\"confidence\":%s,"
                 "\"original\":%s,\"old_score\":1,\"new_score\":%s,\"reason\":\"%s\",\"inherited_from\":%s}",
                 (int)dice_below(d, 300), work_text(d), work_text(d), WORK(d, "0.25", "1", "1e-3", "null"),
                 WORK(d, "1.0", "null"), WORK(d, "0.1", "0.30000000000000000000000000000000000000000001", "\"x\""),
                 work_label(d), WORK(d, "null", "\"s1\""));
}

static inline void random_sop(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"sop_path\":\"%s\",\"injected_at\":%s,\"acknowledged\":%s,\"tool_call\":%s}", work_label(d),
                 WORK(d, "5.25", "\"2026\"", "[ ]"), WORK(d, "true", "false"),
                 WORK(d, "null", "{ \"a\" : 1 }", "\"x\""));
}

static inline void random_activity(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"name\":\"%s\",\"workdir\":\"%s\",\"tool\":\"%s\",\"categories\":[\"%s\", 5],\"text\":\"",
                 work_label(d), WORK(d, "/srv/u/Projects/nova/src", "/srv/t\\u006fol", "/", "/Projects/a b/c"),
                 WORK(d, "shell", "Read File"), work_text(d));
  random_text(d, b);
  rp__buf_str(b, "\"}");
}

static inline void random_said(struct dice *d, struct rp__buf *b)
{
  bool blocks = dice_below(d, 3) == 0;
  rp__buf_printf(b, "{\"role\":\"%s\",%s\"content\":%s\"", WORK(d, "user", "assistant", "system"),
                 WORK(d, "", "\"message_id\":\"m\\u0031\",", "\"partial\":true,"),
                 blocks ? "[{\"type\":\"image\"},{\"type\":\"text\",\"text\":" : "");
  random_text(d, b);
  rp__buf_str(b, blocks ? "\"}]}" : "\"}");
}

static inline void random_list(struct dice *d, struct rp__buf *b, const char *name,
                               void (*one)(struct dice *d, struct rp__buf *b))
{
  rp__buf_printf(b, ",\"%s\":[7", name);
  for (int64_t i = dice_below(d, 6); i > 0; i--) {
    rp__buf_char(b, ',');
    one(d, b);
  }
  rp__buf_char(b, ']');
}

static inline void random_inheritance(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"cause\":\"clean\",\"elapsed_seconds\":%d", (int)dice_below(d, 9000));
  random_list(d, b, "pins", random_pin);
  random_list(d, b, "tasks", random_task);
  random_list(d, b, "memories", random_memory);
  rp__buf_char(b, '}');
}

/* Writes a body and returns its kind. */
static inline enum rp__kind random_work(struct dice *d, struct rp__buf *b)
{
  static const struct {
    enum rp__kind kind;
    void (*body)(struct dice *d, struct rp__buf *b);
  } kinds[] = {{RP_KIND_PIN, random_pin},           {RP_KIND_PIN, random_pin},
               {RP_KIND_UNPIN, random_pin},         {RP_KIND_TASK, random_task},
               {RP_KIND_TASK, random_task},         {RP_KIND_PROJECT, random_activity},
               {RP_KIND_ACTIVITY, random_activity}, {RP_KIND_LEARNING, random_memory},
               {RP_KIND_CONFIDENCE, random_memory}, {RP_KIND_SOP, random_sop},
               {RP_KIND_MESSAGE, random_said},      {RP_KIND_MESSAGE, random_said},
               {RP_KIND_MESSAGE, random_said},      {RP_KIND_RESTORED, random_inheritance}};
  size_t i = (size_t)dice_below(d, RP_ARRAY_SIZE(kinds));
  kinds[i].body(d, b);
  return kinds[i].kind;
}

#endif
