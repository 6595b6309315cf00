/* SPDX-License-Identifier: Apache-2.0 */
/* Times in a person's words, and the days they fall on. A day is a local one ($TZ), or, with `utc`, one of UTC. */
#ifndef RP_CLI_WHEN_H
#define RP_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * Reads a moment: ISO 8601, a duration before now ("2h", "7d"), or a day: "today", "yesterday", the name of a day of
 * the week (the newest that is not after today), "last tuesday" (the newest before today), "3 days" or "3 days ago",
 * "2026-01-31". A day is its beginning, or, with `end`, the beginning of the day behind it. False: it is none of these.
 */
RP_MUST_USE bool rp__when_parse(const char *text, int64_t now_ms, bool utc, bool end, int64_t *ret_ms);
/* The beginning of the day of a moment, `days` later. */
int64_t rp__when_day(int64_t ms, int days, bool utc);
/* "2026-01-31" and, for people, "Saturday 31 January" (with the year where it is not that of `now_ms`). */
#define RP_WHEN_TEXT 48
const char *rp__when_date(int64_t ms, bool utc, char out[RP_WHEN_TEXT]);
const char *rp__when_words(int64_t ms, int64_t now_ms, bool utc, char out[RP_WHEN_TEXT]);

#endif
