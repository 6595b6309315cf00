/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes for one publisher per process. Commits of this process wake it. Commits of other processes are looked for
 * every few milliseconds, by the store's version number, which takes no query to read.
 */
#include "engine/journal/changes.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "engine/engine.h"

#define LOOK_MS 10        /* how often another process's commits are looked for: half of what is promised */
#define CHANGES_MAX 65536 /* events that one call looks at unless it says otherwise */
#define FOREVER (INT64_MAX / 4)

void rp__changes_note(struct rp__changes *c)
{
  atomic_fetch_add(&c->moved, 1);
  if (atomic_load(&c->waits)) syscall(SYS_futex, &c->moved, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void rp_changes_wake(rp_engine *e)
{
  if (rp__engine_check(e, NULL)) return;
  atomic_store(&e->changes.woken, true);
  rp__changes_note(&e->changes);
}

int rp_changes(rp_engine *e, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  if (!cursor || !fn) return rp__fail(err, RP_E_USAGE, "changes need a cursor and somebody to tell");
  return e->store->ops->changes(e->store, cursor, limit > 0 ? limit : CHANGES_MAX, fn, ctx, err);
}

int rp_changes_wait(rp_engine *e, int timeout_ms, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  struct rp__changes *c = &e->changes;
  int64_t until = timeout_ms < 0 ? FOREVER : rp__engine_micros(e) + (int64_t)timeout_ms * 1000;
  for (;;) {
    if (atomic_exchange(&c->woken, false)) return 0;
    /* Both marks are taken anew before the caller reads, so that what it does not see yet makes one of them differ the
     * next time. */
    uint32_t moved = atomic_load(&c->moved);
    int64_t version;
    rc = e->store->ops->version(e->store, &version, err);
    if (rc) return rc;
    bool changed = !c->known || version != c->version || moved != c->seen;
    c->known = true;
    c->version = version;
    c->seen = moved;
    if (changed) return 1;
    int64_t left = (until - rp__engine_micros(e) + 999) / 1000;
    if (left <= 0) return 0;
    struct timespec t = {.tv_nsec = RP_MIN(left, LOOK_MS) * 1000000};
    atomic_store(&c->waits, true);
    syscall(SYS_futex, &c->moved, FUTEX_WAIT_PRIVATE, c->seen, &t, NULL, 0); /* at once when it is another by now */
    atomic_store(&c->waits, false);
  }
}
