/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cues: the words by which the digest knows rules, go-ons, errors, log lines and tools. The built-in lists are data
 * (cues.ini); a session may have further ones in its settings, which its user gave.
 */
#ifndef RP_FACETS_CUES_H
#define RP_FACETS_CUES_H

#include "json/json.h"

/* In the order of tools/cues.py. */
enum rp__cue_list {
  RP_CUE_RULES,
  RP_CUE_RULE_BEGINNINGS,
  RP_CUE_LASTING,
  RP_CUE_NO_RULES,
  RP_CUE_POINTING,
  RP_CUE_GO_ON,
  RP_CUE_REFUSALS,
  RP_CUE_ANNOUNCEMENTS,
  RP_CUE_FILLERS,
  RP_CUE_ERRORS,
  RP_CUE_NOISE,
  RP_CUE_QUIET,
  RP_CUE_EDIT_TOOLS,
  RP_CUE_RUN_TOOLS,
  RP_CUE_TODO_TOOLS,
  RP_CUE_ASK_TOOLS,
  RP_CUE_PLAN_TOOLS,
  RP_CUE_LOG_LINES,
  RP_CUE_LISTS,
};
extern const char *const rp__cue_list_names[RP_CUE_LISTS]; /* sections of a file, members of the settings */

#define RP_CUES_BYTES ((size_t)12 * 1024) /* of a user's lists as JSON; longer ones are not taken */
#define RP_CUE_MAX 120                    /* bytes of one of their entries */

/* A user's own lists; NULL: none. */
typedef const struct rp__cue_set *rp__cues;
/*
 * Makes them from their JSON: {"rules":["…"],…}. The JSON may be anybody's, so what is no entry is left out; NULL when
 * nothing is left. 0 or RP_E_NOMEM.
 */
RP_MUST_USE int rp__cues_new(struct rp__json lists, struct rp__cue_set **ret);
void rp__cues_free(struct rp__cue_set *set);

/* Identifies the built-in lists. A state of the digest may differ between two versions of them. */
extern const char rp__cues_hash[];

/* The text in small letters, with straight apostrophes: as the functions below want it. */
void rp__cues_lower(struct rp__str text, struct rp__buf *out);
/* Whether a phrase of the list stands anywhere in the text. */
bool rp__cues_in(rp__cues more, enum rp__cue_list list, struct rp__str lower);
/* Bytes of the longest phrase of the list that the text begins with; 0: none. */
size_t rp__cues_begin(rp__cues more, enum rp__cue_list list, struct rp__str lower);
/* The lists, as bits, of which all of the text is a phrase, ASCII letters in any case. */
unsigned rp__cues_lists(rp__cues more, struct rp__str text);

/* Whether a line was printed by a program, by its beginning or because it has more signs than letters. */
bool rp__cues_log_line(rp__cues more, struct rp__str line);

/* Reads a text in the form of cues.ini; appends the JSON that sessions keep. RP_E_CONFIG names the line. */
RP_MUST_USE int rp__cues_read(struct rp__str ini, struct rp__buf *out, rp_error *err);

#endif
