/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the option structs of the public API in a way that lets the structs grow. A caller built against an older
 * header passes a shorter struct, one built against a newer header a longer struct; the first member, `size`, gives the
 * length.
 */
#ifndef RP_BASE_OPTIONS_H
#define RP_BASE_OPTIONS_H

#include "base/error.h"

/*
 * Copies the caller's struct `given` (NULL: all defaults) into *ret, which has `known` bytes. `first` is the size of
 * the struct's first version, which a `size` of 0 stands for. Bytes beyond `known` must be zero: a member that this
 * library does not know was set (RP_E_USAGE).
 */
RP_MUST_USE int rp__options_read(void *ret, size_t known, size_t first, const void *given, rp_error *err);

/* `last` is the last member of the struct's first version. */
#define RP__OPTIONS(ret, given, last, err)                                                                             \
  rp__options_read((ret), sizeof *(ret), offsetof(__typeof__(*(ret)), last) + sizeof((ret)->last), (given), (err))

#endif
