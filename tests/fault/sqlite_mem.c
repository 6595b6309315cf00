/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite's allocator, with a plan in front and a count behind. */
#include <sqlite3.h>
#include <stddef.h>

#include "plan.h"

struct plan plan_sqlite;

static sqlite3_mem_methods real;
static atomic_long held;

static void *mem_malloc(int n)
{
  if (plan_fails(&plan_sqlite)) return NULL;
  void *p = real.xMalloc(n);
  if (p) atomic_fetch_add(&held, real.xSize(p));
  return p;
}

static void mem_free(void *p)
{
  if (p) atomic_fetch_sub(&held, real.xSize(p));
  real.xFree(p);
}

static void *mem_realloc(void *p, int n)
{
  if (plan_fails(&plan_sqlite)) return NULL;
  int before = p ? real.xSize(p) : 0;
  void *moved = real.xRealloc(p, n);
  if (moved) atomic_fetch_add(&held, real.xSize(moved) - before);
  return moved;
}

int sqlite_mem_install(void)
{
  int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
  if (rc != SQLITE_OK) return rc;
  sqlite3_mem_methods mine = real;
  mine.xMalloc = mem_malloc;
  mine.xFree = mem_free;
  mine.xRealloc = mem_realloc;
  /* Small blocks come from a connection's own pool otherwise, and could never fail. */
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &mine);
}

long sqlite_mem_outstanding(void)
{
  return held;
}
