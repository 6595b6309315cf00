/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that belongs to one test and goes with all that is in it. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <stddef.h>

#define SCRATCH_PATH 512

struct scratch {
  char dir[SCRATCH_PATH];
};

/* Below $TMPDIR or /tmp. 0 or -1 with errno. */
int scratch_make(struct scratch *s);
/* In memory where the machine has such a place: for tests that open a database thousands of times. */
int scratch_make_fast(struct scratch *s);
/* Empties the folder and keeps it. */
void scratch_empty(const struct scratch *s);
void scratch_remove(struct scratch *s);
/* dir/name into `out` (SCRATCH_PATH bytes); returns `out`. */
char *scratch_path(const struct scratch *s, const char *name, char *out);

#endif
