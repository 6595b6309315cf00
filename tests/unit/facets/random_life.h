/* SPDX-License-Identifier: Apache-2.0 */
/* Random events of what lives in a session beside its words: feelings, evidence, presence, what is pending, settings.
 */
#ifndef RANDOM_LIFE_H
#define RANDOM_LIFE_H

#include "random_work.h"

static inline void random_emotion(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(
      b, "{\"event\":\"%s\",\"intensity\":%s}",
      WORK(d, "violence", "abuse", "pat_level2", "loud_noise", "insult", "sustained_yelling", "sunset", "none"),
      WORK(d, "1", "0.3333333333333333", "null", "7", "-1", "1e300"));
}

static inline void random_session(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b, "{\"name\":%s,\"settings\":{\"emotions\":%s,\"%s\":%s},\"meta\":%s}",
                 WORK(d, "\"a\"", "null", "7", "\"\\u0000\""),
                 WORK(d, "null", "5", "{}", "{\"events\":{\"sunset\":{\"deltas\":{\"awe\":0.7}},\"abuse\":null}}",
                      "{ \"levels\": {\"joy\":{\"baseline\":0.05,\"decay\":0.3}},\"boredom\":{\"grow\":0.31}}"),
                 WORK(d, "x", "\\u0078", "y"), WORK(d, "1", "null", "{\"z\":[ ]}"),
                 WORK(d, "null", "{}", "{\"k\":1}", "{\"k\":null,\"l\":{}}"));
}

static inline void random_evidence(struct dice *d, enum rp__kind *kind, struct rp__buf *b)
{
  switch (dice_below(d, 4)) {
  case 0:
    *kind = RP_KIND_NOTE;
    rp__buf_printf(b, "{\"id\":%s,\"text\":%s,\"timestamp\":%s,\"context_used\":%s}",
                   WORK(d, "1", "\"\\u0061\"", "null"), WORK(d, "\"x\"", "\"\\u0001\\ud800\"", "7"),
                   WORK(d, "1.50", "\"12:00\"", "null"), WORK(d, "true", "[]", "[1]"));
    return;
  case 1:
    *kind = RP_KIND_FRAME;
    rp__buf_printf(b, "{\"frame_id\":%d,\"timestamp\":%s,\"embedding\":%s}", (int)dice_below(d, 9),
                   WORK(d, "1e3", "\"t\""), WORK(d, "[0.10, 2]", "null", "\"AAAA\"", "5"));
    return;
  case 2:
    *kind = RP_KIND_TRANSCRIPT;
    rp__buf_printf(b, "{\"text\":%s,\"final\":%s}", WORK(d, "\"so\"", "\"\\ud83d\\ude00 \"", "\"\\n\"", "\"\""),
                   WORK(d, "true", "false", "null"));
    return;
  default:
    *kind = RP_KIND_INTENT;
    rp__buf_printf(b, "{\"topics\":%s,\"intent\":%s,\"context\":%s}",
                   WORK(d, "[\"a\",\"b\"]", "[\"\\u0062\"]", "null", "[]"), WORK(d, "\"i\"", "null"),
                   WORK(d, "{\"a\" : 1}", "{\"a\":null}", "null", "[1]"));
  }
}

/* Carried parts as an engine or somebody else's program would give them. */
static inline void random_carried(struct dice *d, struct rp__buf *b)
{
  rp__buf_printf(b,
                 "{\"cause\":\"clean\",\"elapsed_seconds\":%s,\"carried\":{\"conversation\":%s,\"affect\":%s,"
                 "\"presence\":%s,\"memory\":%s}}",
                 WORK(d, "0", "30.25", "7000", "null"),
                 WORK(d, "[{\"role\":\"user\",\"content\":\"c\",\"at\":\"2026-01-01T00:00:00Z\"}]", "null", "[1]"),
                 WORK(d, "null", "{\"levels\":{\"fear\":0.77},\"boredom\":0.2}",
                      "{\"mood\":\"sad\",\"last_ms\":1699999999000,\"wounds\":[{\"floors\":{\"fear\":0.3}}]}"),
                 WORK(d, "null", "{\"last_person\":\"p\"}", "{\"sleep\":\"sleeping\"}"),
                 WORK(d, "null", "{\"topics\":[\"t\",1],\"intent\":\"i\"}", "{\"context\":{\"a\":1}}", "[1]"));
}

static inline void random_life(struct dice *d, enum rp__kind *kind, struct rp__buf *b)
{
  switch (dice_below(d, 10)) {
  case 0 ... 2: *kind = RP_KIND_EMOTION, random_emotion(d, b); break;
  case 3: *kind = RP_KIND_SESSION, random_session(d, b); break;
  case 4 ... 5: random_evidence(d, kind, b); break;
  case 6: *kind = RP_KIND_RESTORED, random_carried(d, b); break;
  case 7:
    *kind = dice_below(d, 2) ? RP_KIND_PERSON : RP_KIND_SLEEP;
    rp__buf_printf(b, "{\"name\":%s,\"state\":\"%s\"}", WORK(d, "\"p\"", "\"\\u0070\"", "1"),
                   WORK(d, "awake", "sleeping", "gone"));
    break;
  case 8:
    *kind = dice_below(d, 2) ? RP_KIND_APPROVAL : RP_KIND_QUESTION;
    rp__buf_printf(b, "{\"id\":%s,\"status\":\"%s\",\"more\": [ 1 ]}", WORK(d, "1", "\"1\"", "\"\\u0031\"", "null"),
                   WORK(d, "pending", "pending", "allowed", "answered"));
    break;
  default:
    *kind = RP_KIND_PROVIDER;
    rp__buf_printf(b, "{\"type\":%s,\"config\":%s,\"%s\":%s}", WORK(d, "\"a\"", "\"\\u0061\"", "\"b\""),
                   WORK(d, "{\"m\":1}", "{\"m\":null,\"n\":{}}", "null"), WORK(d, "metadata", "current_task"),
                   WORK(d, "{\"q\":2}", "null", "5"));
  }
}

#endif
