/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as people write them. */
#ifndef RP_BASE_SIZE_H
#define RP_BASE_SIZE_H

#include "base/macros.h"

/*
 * Reads "4096", "512K", "512M", "2G", "1T", each also with "B" or "iB" behind the letter, in any case: always powers of
 * 1024, whole numbers only. 0 or RP_E_USAGE.
 */
int rp__size_parse(const char *s, int64_t *ret);
/* "17 B", "1.2 KiB" … */
void rp__size_format(int64_t bytes, char *out, size_t n);

#endif
