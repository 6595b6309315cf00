/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about processes and this boot. A process is named by pid, start time and
 * pid namespace, because pids are reused and mean nothing in another namespace.
 */
#ifndef RP_BASE_PROC_H
#define RP_BASE_PROC_H

#include <stdbool.h>

#include "base/error.h"

#define RP_BOOT_ID 37
#define RP_HOST 65
#define RP_PROC_NAME 65 /* of kernel threads; a process has 15 bytes */

struct rp__proc {
  int64_t pid;
  int64_t start; /* clock ticks after boot, field 22 of /proc/PID/stat; 0: unknown */
  uint64_t ns;   /* inode of the pid namespace in which `pid` was given, the describer's; 0: unknown */
  char boot_id[RP_BOOT_ID];
};

enum rp__proc_state {
  RP_PROC_ALIVE,
  RP_PROC_DEAD,    /* gone, reused by another process, or a zombie nobody reaped yet */
  RP_PROC_UNKNOWN, /* another pid namespace or unreadable: only time can tell */
};

/* The fields of /proc/PID/stat. */
struct rp__proc_line {
  char name[RP_PROC_NAME], state;
  int64_t parent, threads, start;
  unsigned long flags; /* the kernel's PF_… */
  int status;          /* as waitpid gives it; 0 of one that has not ended, and where we may not know */
};
/* Also of one that has ended and was not waited for. False: there is none, or /proc does not say. */
bool rp__proc_line(int64_t pid, struct rp__proc_line *ret);

void rp__boot_id(char out[RP_BOOT_ID]); /* empty when unknown */
void rp__hostname(char out[RP_HOST]);
/* Facts of a process in this namespace (pid 0: ourselves). RP_E_USAGE when there is no such living process. */
RP_MUST_USE int rp__proc_describe(int64_t pid, struct rp__proc *ret, rp_error *err);
/* Whether the process described (maybe by another process, before a reboot) is alive. */
enum rp__proc_state rp__proc_probe(const struct rp__proc *p);

/*
 * Whether the machine went down in good order after `since_ms`: reads the wtmp
 * file for a shutdown record between then and the present boot.
 */
enum rp__shutdown { RP_SHUTDOWN_UNKNOWN, RP_SHUTDOWN_ORDERLY, RP_SHUTDOWN_POWER_LOSS };
enum rp__shutdown rp__shutdown_kind(const char *wtmp_path, int64_t since_ms);

/* A page that a forked child sees wiped: tells, without a syscall, whether we are still the process that made it. */
struct rp__forkguard {
  volatile int *page;
};
int rp__forkguard_init(struct rp__forkguard *g);
bool rp__forkguard_same(const struct rp__forkguard *g);
void rp__forkguard_done(struct rp__forkguard *g);

#endif
