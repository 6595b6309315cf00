/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a process that is not our child: who vanishes closes its pipes just like who says goodbye. */
#ifndef RP_BRIDGE_FATE_H
#define RP_BRIDGE_FATE_H

#include <stdbool.h>
#include <stdint.h>

enum rp__fate {
  RP_FATE_LIVES,
  RP_FATE_LEFT, /* it exited in good order, or did what a signal asked it to */
  RP_FATE_FELL, /* killed, or exited with an error */
  RP_FATE_GONE, /* in a way that nobody can tell us */
};

struct rp__vigil {
  int64_t pid, start; /* start: ticks after boot; 0: nobody is watched */
  int pidfd;          /* -1: the kernel has none */
};

/* False: there is no such process. Then nothing is watched, and there is nothing to close. */
bool rp__vigil_open(struct rp__vigil *w, int64_t pid);
void rp__vigil_close(struct rp__vigil *w);
/*
 * Waits for nothing: a process that dies is marked so before its descriptors are closed, so whoever reads the end of a
 * pipe because of that sees the mark.
 */
enum rp__fate rp__vigil_fate(const struct rp__vigil *w);

#endif
