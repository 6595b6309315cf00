/* SPDX-License-Identifier: Apache-2.0 */
/* Our own file calls (linked with --wrap): the nth fails with ENOSPC or EIO. SQLite's go through vfs.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "plan.h"

struct plan plan_file;

static bool fails(void)
{
  if (!plan_fails(&plan_file)) return false;
  errno = plan_file.how == VFS_ENOSPC ? ENOSPC : EIO;
  return true;
}

static mode_t mode_of(int flags, va_list args)
{
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

/* Meson's large-file flag makes `open` the symbol open64; both names are covered. */
#define WRAP_OPEN(name)                                                                                                \
  int __real_##name(const char *p, int f, ...);                                                                        \
  int __wrap_##name(const char *p, int f, ...);                                                                        \
  int __wrap_##name(const char *p, int f, ...)                                                                         \
  {                                                                                                                    \
    va_list args;                                                                                                      \
    va_start(args, f);                                                                                                 \
    mode_t mode = mode_of(f, args);                                                                                    \
    va_end(args);                                                                                                      \
    return fails() ? -1 : __real_##name(p, f, mode);                                                                   \
  }
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_OPENAT(name)                                                                                              \
  int __real_##name(int d, const char *p, int f, ...);                                                                 \
  int __wrap_##name(int d, const char *p, int f, ...);                                                                 \
  int __wrap_##name(int d, const char *p, int f, ...)                                                                  \
  {                                                                                                                    \
    va_list args;                                                                                                      \
    va_start(args, f);                                                                                                 \
    mode_t mode = mode_of(f, args);                                                                                    \
    va_end(args);                                                                                                      \
    return fails() ? -1 : __real_##name(d, p, f, mode);                                                                \
  }
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

#define WRAP_FCNTL(name)                                                                                               \
  int __real_##name(int fd, int cmd, ...);                                                                             \
  int __wrap_##name(int fd, int cmd, ...);                                                                             \
  int __wrap_##name(int fd, int cmd, ...)                                                                              \
  {                                                                                                                    \
    va_list args;                                                                                                      \
    va_start(args, cmd);                                                                                               \
    void *arg = va_arg(args, void *);                                                                                  \
    va_end(args);                                                                                                      \
    bool unlock = (cmd == F_OFD_SETLK || cmd == F_OFD_SETLKW) && ((struct flock *)arg)->l_type == F_UNLCK;             \
    return !unlock && fails() ? -1 : __real_##name(fd, cmd, arg);                                                      \
  }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

#define WRAP_CALL(type, name, params, args)                                                                            \
  type __real_##name params;                                                                                           \
  type __wrap_##name params;                                                                                           \
  type __wrap_##name params                                                                                            \
  {                                                                                                                    \
    return fails() ? -1 : __real_##name args;                                                                          \
  }
WRAP_CALL(int, fsync, (int fd), (fd))
WRAP_CALL(int, fdatasync, (int fd), (fd))
WRAP_CALL(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP_CALL(int, ftruncate64, (int fd, off_t n), (fd, n))
WRAP_CALL(int, rename, (const char *from, const char *to), (from, to))
WRAP_CALL(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP_CALL(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP_CALL(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
