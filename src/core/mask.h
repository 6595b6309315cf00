/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks the credentials in an event's body. Every string value is decoded and searched. A member whose name is that of
 * a credential is masked whole; where the name is weak evidence, only if the value looks like a credential. Protocol
 * fields whose names only sound like credentials are exempt, by a table in mask.c. A body without a secret keeps its
 * bytes.
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
