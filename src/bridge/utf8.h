/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of peers that should be UTF-8 and are not. They are passed on as they came; the journal has them as readers do.
 */
#ifndef RP_BRIDGE_UTF8_H
#define RP_BRIDGE_UTF8_H

#include <stdbool.h>

#include "base/buf.h"

bool rp__utf8_ok(const char *p, size_t n);
/*
 * Appends the bytes with U+FFFD where there is no UTF-8, one for each beginning of a sequence that breaks off, as the
 * decoders of browsers and Node have it. ASCII stays, so JSON stays JSON.
 */
void rp__utf8_mend(struct rp__buf *out, const char *p, size_t n);
/* The same in place, where it is needed. */
void rp__utf8_mend_buf(struct rp__buf *b);

#endif
