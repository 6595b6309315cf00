/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths and queries of requests. They are split before they are decoded, so that an escaped slash or dot separates
 * nothing.
 */
#ifndef RP_NET_URI_H
#define RP_NET_URI_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Decodes %XX (and, in a query, '+') into `out` of `size` bytes with a NUL. RP_E_USAGE: broken escape, NUL byte,
 * control character or invalid UTF-8; RP_E_TOO_LARGE. */
int rp__uri_decode(struct rp__str raw, bool query, char *out, size_t size);

/* The next segment of a path ("/a/b"): false at the end. `*at` starts at the path's first byte. Raw. */
bool rp__uri_segment(struct rp__str path, size_t *at, struct rp__str *ret);

/* The raw value of the first parameter of that name; false when there is none. "a" alone has the empty value. */
bool rp__uri_param(struct rp__str query, const char *name, struct rp__str *ret);
/* Iteration over all of them: start with *at = 0. */
bool rp__uri_next(struct rp__str query, size_t *at, struct rp__str *ret_name, struct rp__str *ret_value);

#endif
