/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking the credentials of an event's body: every string value is looked at decoded, a member whose name says that
 * it is a credential is masked whole (where the name is weak evidence, if it looks like one), protocol fields that only
 * sound like one are exempt by table (mask.c). A body without a secret stays the bytes that came.
 */
#ifndef RP_CORE_MASK_H
#define RP_CORE_MASK_H

#include "core/event.h"
#include "redact/redact.h"

/* *ret is `body` itself when nothing was masked, else bytes in `out`. *ret_hits may be NULL. RP_E_NOMEM, _TOO_LARGE. */
int rp__mask_body(const struct rp__redactor *r, enum rp__kind kind, struct rp__json body, struct rp__buf *out,
                  struct rp__str *ret, size_t *ret_hits);

/* The same for bytes that may be no event's: the strings of what is JSON, anything else as one text. */
int rp__mask_bytes(const struct rp__redactor *r, const void *bytes, size_t n, struct rp__buf *out, struct rp__str *ret,
                   size_t *ret_hits);

#endif
