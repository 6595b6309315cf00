/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how a process that is not our child ended. The end of its pipes does not tell: a process that is killed
 * closes them just like a process that exits in good order.
 */
#ifndef RP_BRIDGE_EXIT_CAUSE_H
#define RP_BRIDGE_EXIT_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

enum rp__exit_cause {
  RP_EXIT_NONE,
  RP_EXIT_ORDERLY, /* it exited in good order, or did what a signal asked it to */
  RP_EXIT_CRASHED, /* killed, or exited with an error */
  RP_EXIT_UNKNOWN, /* in a way that nobody can tell us */
};

struct rp__process_watch {
  int64_t pid, start; /* start: ticks after boot; 0: nobody is watched */
  int pidfd;          /* -1: the kernel has none */
};

/* False: there is no such process. Then nothing is watched, and there is nothing to close. */
bool rp__process_watch_open(struct rp__process_watch *w, int64_t pid);
void rp__process_watch_close(struct rp__process_watch *w);
/*
 * Waits for nothing: a process that dies is marked so before its descriptors are closed, so whoever reads the end of a
 * pipe because of that sees the mark.
 */
enum rp__exit_cause rp__process_watch_cause(const struct rp__process_watch *w);

#endif
