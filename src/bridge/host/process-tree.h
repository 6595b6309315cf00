/* SPDX-License-Identifier: Apache-2.0 */
/* The descendants of this process, read from /proc. Nothing here allocates or locks; one thread at a time. */
#ifndef RP_BRIDGE_HOST_TREE_H
#define RP_BRIDGE_HOST_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* All but `spare` and what descends from those gets the signal. How many were alive; -1: there is no /proc. */
int rp__tree_signal(const pid_t *spare, size_t n_spare, int sig);
/* The children of this process, at most `max`; how many. */
size_t rp__tree_children(pid_t *ret, size_t max);

#endif
