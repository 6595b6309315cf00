/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that listen.c and handover.c share. */
#ifndef RP_NET_LISTEN_IMPL_H
#define RP_NET_LISTEN_IMPL_H

#include "net/listen.h"

/* What the kernel knows of a socket that should be listening; makes it non-blocking and close-on-exec. */
RP_MUST_USE int rp__listen_describe(int fd, struct rp__listener *ret, rp_error *err);

#endif
