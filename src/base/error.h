/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in rp_error. Every failing path calls one of these once, where the cause is known. */
#ifndef RP_BASE_ERROR_H
#define RP_BASE_ERROR_H

#include <reprise/error.h>

#include "base/macros.h"

/* Each returns its code, so that `return rp__fail(err, RP_E_…, "…")` reads well. `err` may be NULL. */
int rp__fail(rp_error *err, int code, const char *fmt, ...) RP_PRINTF(3, 4);
/* The same, naming the part of the input at fault. */
int rp__fail_field(rp_error *err, int code, const char *field, const char *fmt, ...) RP_PRINTF(4, 5);
/* Out of memory: no formatting, no allocation. */
int rp__fail_nomem(rp_error *err);
/* Translates errno: ENOSPC → FULL, EROFS/EACCES → READONLY, ENOENT → FILE_NOT_FOUND, ENOMEM → NOMEM, else IO. */
int rp__fail_errno(rp_error *err, int errnum, const char *fmt, ...) RP_PRINTF(3, 4);
/* Adds what to do about it. */
void rp__hint(rp_error *err, const char *fmt, ...) RP_PRINTF(2, 3);
/* Puts "context: " before the message while an error climbs. Returns err->code (RP_E_FAILED without an err). */
int rp__wrap(rp_error *err, const char *fmt, ...) RP_PRINTF(2, 3);

#endif
