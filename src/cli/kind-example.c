/* SPDX-License-Identifier: Apache-2.0 */
/* An example body for each kind of event. */
#include "cli/kind-example.h"

#include <string.h>

#include "base/macros.h"

/* clang-format off */
static const struct {
  const char *kind, *body;
} examples[] = {
    {"message", "{\"role\":\"user\",\"content\":\"hello\"}"},
    {"note", "{\"id\":\"n1\",\"text\":\"the relay is warm\"}"},
    {"frame", "{\"frame_id\":\"f1\",\"timestamp\":12.5}"},
    {"transcript", "{\"text\":\"good morning\"}"},
    {"intent", "{\"topics\":[\"tea\"],\"intent\":\"order\"}"},
    {"pin", "{\"label\":\"radio\",\"content\":\"38400 baud\",\"importance\":\"high\"}"},
    {"unpin", "{\"label\":\"radio\"}"},
    {"task", "{\"task_id\":\"t1\",\"title\":\"mend the relay\",\"stage\":\"build\"}"},
    {"project", "{\"name\":\"ham radio\"}"},
    {"activity", "{\"text\":\"soldering\",\"tool\":\"bash\"}"},
    {"learning", "{\"memory_id\":\"m1\",\"content\":\"it is 38400 baud\"}"},
    {"confidence", "{\"memory_id\":\"m1\",\"old_score\":0.9,\"new_score\":0.4,\"reason\":\"it was 4800\"}"},
    {"sop", "{\"sop_path\":\"a.md\",\"injected_at\":\"2026-01-31T12:00:00Z\",\"acknowledged\":true,\"tool_call\":\"bash\"}"},
    {"tool", "{\"call_id\":\"c1\",\"name\":\"bash\",\"status\":\"running\"}"},
    {"emotion", "{\"event\":\"pat_level2\",\"intensity\":0.5}"},
    {"person", "{\"name\":\"Ada\"}"},
    {"sleep", "{\"state\":\"awake\"}"},
    {"approval", "{\"id\":\"a1\",\"status\":\"pending\"}"},
    {"question", "{\"id\":\"q1\",\"status\":\"pending\"}"},
    {"usage", "{\"tokens_in\":1200,\"tokens_out\":300,\"cost_usd\":0.02}"},
    {"session", "{\"name\":\"kitchen\"}"},
    {"provider", "{\"type\":\"acp\"}"},
};
/* clang-format on */

const char *rp__kind_example(const char *kind)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(examples); i++)
    if (strcmp(examples[i].kind, kind) == 0) return examples[i].body;
  return strncmp(kind, "x-", 2) == 0 ? "{\"any\":\"thing\"}" : NULL;
}
