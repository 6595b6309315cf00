/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts allocations: all of the process by standing in for malloc and its kin, and
 * SQLite's among them by standing in for its allocator. Nothing is counted in builds
 * with a sanitizer, which stands there itself.
 */
#ifndef BENCH_COUNT_H
#define BENCH_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct counts {
  int64_t all, sqlite;
};

bool count_works(void);
/* Before the first use of SQLite in the process. */
void count_sqlite(void);
void count_start(void);
struct counts count_stop(void);

#endif
