/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for each test, gone afterwards; cmocka with the headers it wants before it. */
#ifndef RP_TEST_SCRATCH_H
#define RP_TEST_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <sys/stat.h>

#include "base/file.h"

static inline int scratch_remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)st, (void)flag, (void)ftw;
  return remove(path);
}

static inline int scratch_make(void **state)
{
  const char *tmp = getenv("TMPDIR");
  *state = rp__path_join(tmp && *tmp ? tmp : "/tmp", "reprise-base-XXXXXX");
  return *state && mkdtemp(*state) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
  int r = nftw(*state, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(*state);
  return r;
}

static inline mode_t mode_of(const char *path)
{
  struct stat st;
  assert_int_equal(lstat(path, &st), 0);
  return st.st_mode & 07777;
}

#define scratch_test(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

#endif
