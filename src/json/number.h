/* SPDX-License-Identifier: Apache-2.0 */
/* The text of doubles, whatever the locale of the program around us. */
#ifndef RP_JSON_NUMBER_H
#define RP_JSON_NUMBER_H

#include "base/macros.h"

#define RP_DOUBLE_TEXT 40
/*
 * Writes a finite number as the shortest text that reads back the same: "0.3",
 * "600.0"; with an exponent only below 1e-5 and from 1e16 on. Returns its length.
 */
size_t rp__double_format(double v, char out[RP_DOUBLE_TEXT]);

#endif
