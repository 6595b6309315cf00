/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the word that a misspelt word probably stands for. */
#ifndef RP_BASE_SUGGEST_H
#define RP_BASE_SUGGEST_H

#include "base/macros.h"

/* The name (of a list ended by NULL) that somebody who wrote `word` probably meant, or NULL. */
const char *rp__suggest(const char *word, const char *const *names);

#endif
