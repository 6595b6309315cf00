/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a named thread. */
#include "base/process/thread.h"

int rp__thread_start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg)
{
  int rc = pthread_create(ret, NULL, fn, arg);
  if (!rc) pthread_setname_np(*ret, name);
  return rc;
}
