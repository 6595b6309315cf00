/* SPDX-License-Identifier: Apache-2.0 */
/* The user id of the process at the other end of a local connection. */
#ifndef RP_NET_PEER_H
#define RP_NET_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Who made the socket that is connected to `fd` (TCP, or a unix socket). False where that can't be known: the other end
 * is on another machine or in another network namespace, has closed already, or the kernel does not tell.
 */
bool rp__peer_uid(int fd, uid_t *ret);
/* Whether it is this process's own user, or root; false when that is not known. */
bool rp__peer_is_own(int fd);
/* Whether the kernel tells of TCP at all. */
bool rp__peer_is_told(void);

#endif
