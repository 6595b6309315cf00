/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a run is alive. The proofs, in their order: a lock that the kernel keeps, a process that the kernel
 * names, a boot that is over. Without a proof the time since the last heartbeat decides, and the verdict says that it
 * is no proof.
 */
#include "core/liveness.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/enum-words.h"

/* A heartbeat this far in the future is no drift: the wall clock was set back. */
#define CLOCK_SLACK_MS 60000

static const char *const owner_names[] = {[RP_RUN_LOCK] = "lock", [RP_RUN_PID] = "pid", [RP_RUN_NONE] = "none", NULL};

static const char *const cause_names[RP_CAUSE_MAX + 1] = {
    [RP_CAUSE_CLEAN] = "clean",     [RP_CAUSE_CRASH] = "crash",           [RP_CAUSE_KILLED] = "killed",
    [RP_CAUSE_REBOOT] = "reboot",   [RP_CAUSE_POWER_LOSS] = "power_loss", [RP_CAUSE_CLOCK_JUMP] = "clock_jump",
    [RP_CAUSE_UPGRADE] = "upgrade",
};

static const char *const restart_names[RP_RESTART_NONE + 1] = {
    [RP_RESTART_FRESH] = "fresh_start",
    [RP_RESTART_CRASH] = "crash_recovery",
    [RP_RESTART_SHORT] = "short_break",
    [RP_RESTART_LONG] = "long_absence",
};

const char *rp__owner_name(enum rp__owner o)
{
  return (unsigned)o < RP_RUN_OWNER_MAX ? owner_names[o] : "none";
}

enum rp__owner rp__owner_parse(const char *s)
{
  int i = s ? rp__word_find(owner_names, rp__str(s)) : -1;
  return i < 0 ? RP_RUN_NONE : (enum rp__owner)i;
}

const char *rp__cause_name(enum rp__cause c)
{
  return (unsigned)c < RP_CAUSE_MAX ? cause_names[c] : NULL;
}

enum rp__cause rp__cause_parse(const char *s)
{
  int i = s ? rp__word_find(cause_names + RP_CAUSE_CLEAN, rp__str(s)) : -1;
  return i < 0 ? RP_CAUSE_NONE : (enum rp__cause)(i + RP_CAUSE_CLEAN);
}

enum rp__cause rp__cause_of_reason(const char *reason)
{
  if (!reason) return RP_CAUSE_CLEAN;
  if (strcmp(reason, "upgrade") == 0) return RP_CAUSE_UPGRADE;
  if (strcmp(reason, "killed") == 0 || strncmp(reason, "killed:", 7) == 0) return RP_CAUSE_KILLED;
  return RP_CAUSE_CLEAN;
}

/* ---- the verdict -------------------------------------------------------- */

static void verdict(struct rp__verdict *v, bool alive, bool provable, enum rp__cause cause)
{
  v->alive = alive;
  v->provable = provable;
  v->cause = alive ? RP_CAUSE_NONE : cause;
}

static bool this_boot(const struct rp__evidence *e)
{
  return e->boot_known && e->same_boot;
}

/* Both readings of the boot clock are there and comparable. */
static bool boot_clock_ok(const struct rp__evidence *e)
{
  return this_boot(e) && e->heartbeat_boot_ms > 0 && e->now_boot_ms >= e->heartbeat_boot_ms;
}

/* Saturating, because stored times may be anything. */
static int64_t span_ms(int64_t from, int64_t to)
{
  int64_t d;
  if (__builtin_sub_overflow(to, from, &d)) return to > from ? INT64_MAX : INT64_MIN;
  return d;
}

static void judge_by_time(const struct rp__evidence *e, struct rp__verdict *v)
{
  bool boot = boot_clock_ok(e);
  int64_t age = boot ? e->now_boot_ms - e->heartbeat_boot_ms : span_ms(e->heartbeat_ms, e->now_ms);
  if (age < -CLOCK_SLACK_MS) {
    verdict(v, false, false, RP_CAUSE_CLOCK_JUMP);
    snprintf(v->evidence, sizeof v->evidence, "the last heartbeat lies %" PRId64 " s in the future", -(age / 1000));
    return;
  }
  if (age < 0) age = 0;
  verdict(v, age < e->ttl_ms, false, RP_CAUSE_CRASH);
  snprintf(v->evidence, sizeof v->evidence,
           v->alive ? "a heartbeat %" PRId64 " s ago" : "no heartbeat for %" PRId64 " s", age / 1000);
}

void rp__lease_judge(const struct rp__evidence *e, int64_t pid, struct rp__verdict *ret)
{
  bool alive = e->proc == RP_PROC_ALIVE, lock = e->owner == RP_RUN_LOCK;
  *ret = (struct rp__verdict){0};
  if (lock && e->lock_held) {
    /* A forked child keeps the lock's description open; the process that took the run may be gone all the same. */
    bool orphaned = e->proc == RP_PROC_DEAD && this_boot(e);
    verdict(ret, !orphaned, true, RP_CAUSE_CRASH);
    snprintf(ret->evidence, sizeof ret->evidence,
             orphaned ? "pid %" PRId64 " is gone; a child of it keeps the lock" : "pid %" PRId64 " holds its lock",
             pid);
  } else if (e->boot_known && !e->same_boot) {
    bool power = e->shutdown == RP_SHUTDOWN_POWER_LOSS;
    const char *how = power                                ? "without a shutdown record"
                      : e->shutdown == RP_SHUTDOWN_ORDERLY ? "after an orderly shutdown"
                                                           : "in an unknown way";
    verdict(ret, false, true, power ? RP_CAUSE_POWER_LOSS : RP_CAUSE_REBOOT);
    snprintf(ret->evidence, sizeof ret->evidence, "the machine was booted again since, %s", how);
  } else if (lock) {
    verdict(ret, false, true, RP_CAUSE_CRASH);
    snprintf(ret->evidence, sizeof ret->evidence, "lock of pid %" PRId64 " is free", pid);
  } else if (e->owner == RP_RUN_PID && e->proc != RP_PROC_UNKNOWN) {
    verdict(ret, alive, true, RP_CAUSE_CRASH);
    snprintf(ret->evidence, sizeof ret->evidence, "pid %" PRId64 " %s", pid, alive ? "is running" : "is gone");
  } else {
    judge_by_time(e, ret);
  }
}

/* ---- how long away ------------------------------------------------------- */

double rp__elapsed_seconds(const struct rp__evidence *e)
{
  int64_t wall = span_ms(e->heartbeat_ms, e->now_ms);
  if (boot_clock_ok(e)) {
    int64_t boot = e->now_boot_ms - e->heartbeat_boot_ms;
    int64_t apart = span_ms(boot, wall);
    if (apart > CLOCK_SLACK_MS || apart < -CLOCK_SLACK_MS) wall = boot;
  }
  return wall > 0 ? (double)wall / 1000.0 : 0.0;
}

const char *rp__restart_name(enum rp__restart r)
{
  return (unsigned)r < RP_RESTART_NONE ? restart_names[r] : NULL;
}

enum rp__restart rp__restart_parse(const char *s)
{
  int i = s ? rp__word_find(restart_names, rp__str(s)) : -1;
  return i < 0 ? RP_RESTART_NONE : (enum rp__restart)i;
}

enum rp__restart rp__restart_classify(bool any_previous, bool clean, double elapsed_s, double crash_s, double short_s)
{
  if (!any_previous) return RP_RESTART_FRESH;
  if (!(elapsed_s > 0)) elapsed_s = 0;
  if (!clean && elapsed_s < crash_s) return RP_RESTART_CRASH;
  return elapsed_s < short_s ? RP_RESTART_SHORT : RP_RESTART_LONG;
}
