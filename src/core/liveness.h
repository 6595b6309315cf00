/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs: which process holds a session, whether that process is alive, and why it stopped (B-03, B-05, N-03). The rules
 * are pure functions over evidence that the engine gathers.
 */
#ifndef RP_CORE_LEASE_H
#define RP_CORE_LEASE_H

#include <stdbool.h>

#include "base/process/proc.h"

enum rp__owner {
  RP_RUN_LOCK, /* a process that holds a byte of <db>.runs */
  RP_RUN_PID,  /* a named process */
  RP_RUN_NONE, /* nobody: lives by heartbeats */
  RP_RUN_OWNER_MAX,
};
const char *rp__owner_name(enum rp__owner o);
enum rp__owner rp__owner_parse(const char *s);

enum rp__cause {
  RP_CAUSE_NONE, /* fresh start */
  RP_CAUSE_CLEAN,
  RP_CAUSE_CRASH,
  RP_CAUSE_KILLED,
  RP_CAUSE_REBOOT,
  RP_CAUSE_POWER_LOSS,
  RP_CAUSE_CLOCK_JUMP,
  RP_CAUSE_UPGRADE,
  RP_CAUSE_MAX,
};
const char *rp__cause_name(enum rp__cause c);  /* NULL for NONE */
enum rp__cause rp__cause_parse(const char *s); /* RP_CAUSE_NONE when unknown */
/* The cause by the reason given to an end: "upgrade", "killed", "killed:9"; else clean. */
enum rp__cause rp__cause_of_reason(const char *reason);

/* The evidence about a run. */
struct rp__evidence {
  enum rp__owner owner;
  bool lock_held;                         /* of RP_RUN_LOCK: somebody else's description holds the byte */
  enum rp__proc_state proc;               /* of the holder or named owner */
  bool same_boot, boot_known;             /* boot id of the run against ours */
  enum rp__shutdown shutdown;             /* of another boot */
  int64_t heartbeat_ms, now_ms;           /* wall clock: last sign of life, and now */
  int64_t heartbeat_boot_ms, now_boot_ms; /* boot clock; 0: unknown */
  int64_t ttl_ms;
};

struct rp__verdict {
  bool alive;
  bool provable;        /* alive or dead by lock, process or boot, not by time */
  enum rp__cause cause; /* of a dead one */
  char evidence[160];   /* one line: "lock of pid 4711 is free", "no heartbeat for 42 s" … */
};
void rp__lease_judge(const struct rp__evidence *e, int64_t pid, struct rp__verdict *ret);

/* Seconds since the last sign of life. A clock that went back counts as 0; where the boot clock contradicts the wall
 * clock by more than a minute within one boot, the boot clock is believed. */
double rp__elapsed_seconds(const struct rp__evidence *e);

enum rp__restart {
  RP_RESTART_FRESH,
  RP_RESTART_CRASH,
  RP_RESTART_SHORT,
  RP_RESTART_LONG,
  RP_RESTART_NONE, /* not known: of a run that came from elsewhere, or from before it was noted */
};
/* fresh_start, crash_recovery, short_break, long_absence; NULL for NONE */
const char *rp__restart_name(enum rp__restart r);
enum rp__restart rp__restart_parse(const char *s); /* RP_RESTART_NONE when unknown */
enum rp__restart rp__restart_classify(bool any_previous, bool clean, double elapsed_s, double crash_s, double short_s);

#endif
