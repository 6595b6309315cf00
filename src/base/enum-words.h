/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closed sets of words that several layers read or write, each in one table: in the order of its enum, ended by NULL,
 * so that a table also serves as the choices of an option.
 */
#ifndef RP_BASE_ENUM_WORDS_H
#define RP_BASE_ENUM_WORDS_H

#include <stdbool.h>

#include <reprise/reprise.h>

#include "base/macros.h"

/* Statuses of a session; the moves between them are in core/lifecycle.h. */
enum rp__status {
  RP_STATUS_CREATED,
  RP_STATUS_ACTIVE,
  RP_STATUS_IDLE,
  RP_STATUS_CHECKPOINTED,
  RP_STATUS_CLOSED,
  RP_STATUS_ABANDONED,
  RP_STATUS_MAX,
};

/* Statuses of a tool call. */
enum rp__tool_status {
  RP_TOOL_INTENDED,
  RP_TOOL_RUNNING,
  RP_TOOL_DONE,
  RP_TOOL_FAILED,
  RP_TOOL_UNKNOWN,
  RP_TOOL_STATUSES
};

extern const char *const rp__durability_words[]; /* rp_durability: choices begin at RP_MEMORY, RP_DEFAULT has no word */
extern const char *const rp__mode_words[];       /* rp_mode */
extern const char *const rp__log_level_words[];  /* rp_log_level */
extern const char *const rp__log_format_words[]; /* logfmt, json */
extern const char *const rp__status_words[];     /* enum rp__status */
extern const char *const rp__tool_status_words[]; /* enum rp__tool_status */
extern const char *const rp__importance_words[];  /* of pins: normal, high, critical */

/* The place of a word in a table; -1 when it is not there. */
int rp__word_find(const char *const *words, struct rp__str word);
/* The word of a durability; NULL for RP_DEFAULT. */
const char *rp__durability_name(rp_durability d);
/* RP_DEFAULT when there is no such durability. */
rp_durability rp__durability_parse(const char *text);
const char *rp__status_name(enum rp__status s);
/* RP_STATUS_MAX when there is no such status. */
enum rp__status rp__status_parse(const char *s, size_t n);
bool rp__status_ended(enum rp__status s);
/* The same of a status as the public interface tells it. */
bool rp__status_word_ended(const char *word);

#endif
