/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a named thread. */
#ifndef RP_BASE_THREAD_H
#define RP_BASE_THREAD_H

#include <pthread.h>

/* pthread_create with a name (at most 15 characters) for `top -H`, gdb and perf; returns what that returns. */
static inline int rp__thread_start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg)
{
  int rc = pthread_create(ret, NULL, fn, arg);
  if (!rc) pthread_setname_np(*ret, name);
  return rc;
}

#endif
