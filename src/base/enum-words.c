/* SPDX-License-Identifier: Apache-2.0 */
/* Closed sets of words that several layers read or write, each in one table. */
#include "base/enum-words.h"

#include <assert.h>

const char *const rp__durability_words[] = {
    [RP_DEFAULT] = "", [RP_MEMORY] = "memory", [RP_OS] = "os", [RP_DISK] = "disk", NULL};
const char *const rp__mode_words[] = {
    [RP_MODE_AUTO] = "auto", [RP_MODE_RESUME] = "resume", [RP_MODE_SUCCESSOR] = "successor", NULL};
const char *const rp__log_level_words[] = {
    [RP_LOG_ERROR] = "error", [RP_LOG_WARN] = "warn", [RP_LOG_INFO] = "info", [RP_LOG_DEBUG] = "debug", NULL};
const char *const rp__log_format_words[] = {"logfmt", "json", NULL};
const char *const rp__status_words[] = {[RP_STATUS_CREATED] = "created", [RP_STATUS_ACTIVE] = "active",
                                        [RP_STATUS_IDLE] = "idle",       [RP_STATUS_CHECKPOINTED] = "checkpointed",
                                        [RP_STATUS_CLOSED] = "closed",   [RP_STATUS_ABANDONED] = "abandoned",
                                        [RP_STATUS_MAX] = NULL};
const char *const rp__tool_status_words[] = {
    [RP_TOOL_INTENDED] = "intended", [RP_TOOL_RUNNING] = "running", [RP_TOOL_DONE] = "done",
    [RP_TOOL_FAILED] = "failed",     [RP_TOOL_UNKNOWN] = "unknown", [RP_TOOL_STATUSES] = NULL};
const char *const rp__importance_words[] = {"normal", "high", "critical", NULL};

int rp__word_find(const char *const *words, struct rp__str word)
{
  for (int i = 0; words[i]; i++)
    if (rp__str_eq(word, words[i])) return i;
  return -1;
}

const char *rp__durability_name(rp_durability d)
{
  assert(d <= RP_DISK);
  return d == RP_DEFAULT ? NULL : rp__durability_words[d];
}

rp_durability rp__durability_parse(const char *text)
{
  int d = rp__word_find(rp__durability_words, rp__str(text));
  return d < 0 ? RP_DEFAULT : (rp_durability)d;
}

const char *rp__status_name(enum rp__status s)
{
  return (unsigned)s < RP_STATUS_MAX ? rp__status_words[s] : "unknown";
}

enum rp__status rp__status_parse(const char *s, size_t n)
{
  int i = rp__word_find(rp__status_words, (struct rp__str){s, n});
  return i < 0 ? RP_STATUS_MAX : (enum rp__status)i;
}

bool rp__status_ended(enum rp__status s)
{
  return s == RP_STATUS_CLOSED || s == RP_STATUS_ABANDONED;
}

bool rp__status_word_ended(const char *word)
{
  return rp__status_ended(rp__status_parse(word, strlen(word)));
}
