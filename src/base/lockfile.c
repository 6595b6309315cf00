/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define QUEUE_BYTE 0
#define SLOT_BITS 61 /* slots are 1 to 2^61, so that slot and length stay inside off_t */
#define TAKE_TRIES 64

int rp__lockfile_open(struct rp__lockfile *l, const char *path, rp_error *err)
{
  RP_AUTOCLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat st;
  if (fd < 0 && errno == ELOOP) return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
  if (fd < 0 || fstat(fd, &st)) return rp__fail_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  l->fd = fd;
  fd = -1;
  return 0;
}

void rp__lockfile_look(struct rp__lockfile *l, const char *path)
{
  l->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void rp__lockfile_close(struct rp__lockfile *l)
{
  if (l->fd >= 0) close(l->fd);
  l->fd = -1;
}

static struct flock byte_lock(short type, int64_t byte)
{
  return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
}

/* 0 or an errno. A signal handler may interrupt the wait; nothing but the lock ends it. */
static int lock_set(const struct rp__lockfile *l, int command, short type, int64_t byte)
{
  struct flock lock = byte_lock(type, byte);
  for (;;) {
    if (fcntl(l->fd, command, &lock) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

static bool is_taken(int errnum)
{
  return errnum == EAGAIN || errnum == EACCES;
}

int rp__lockfile_take(struct rp__lockfile *l, const struct rp__random *r, int64_t *ret_slot, rp_error *err)
{
  for (int i = 0; i < TAKE_TRIES; i++) {
    uint64_t random;
    r->fill(r->ctx, &random, sizeof random);
    int64_t slot = (int64_t)(random & ((1ULL << SLOT_BITS) - 1)) + 1;
    int errnum = lock_set(l, F_OFD_SETLK, F_WRLCK, slot);
    if (errnum == 0) {
      *ret_slot = slot;
      return 0;
    }
    if (!is_taken(errnum)) return rp__fail_errno(err, errnum, "can't lock a run's slot");
  }
  return rp__fail(err, RP_E_BUSY, "no free slot for a run after %d tries", TAKE_TRIES);
}

int rp__lockfile_take_slot(struct rp__lockfile *l, int64_t slot)
{
  int errnum = lock_set(l, F_OFD_SETLK, F_WRLCK, slot);
  if (is_taken(errnum)) return RP_E_BUSY;
  return errnum ? RP_E_IO : 0;
}

void rp__lockfile_drop(struct rp__lockfile *l, int64_t slot)
{
  if (slot > QUEUE_BYTE) lock_set(l, F_OFD_SETLK, F_UNLCK, slot);
}

bool rp__lockfile_held(const struct rp__lockfile *l, int64_t slot)
{
  if (slot <= QUEUE_BYTE) return false;
  struct flock lock = byte_lock(F_WRLCK, slot);
  /* Where the kernel won't say, the holder counts as alive: the lease's time decides then. */
  return fcntl(l->fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

int rp__lockfile_queue_try(struct rp__lockfile *l)
{
  int errnum = lock_set(l, F_OFD_SETLK, F_WRLCK, QUEUE_BYTE);
  if (is_taken(errnum)) return RP_E_BUSY;
  return errnum ? rp__fail_errno(NULL, errnum, "queue") : 0;
}

int rp__lockfile_queue_wait(struct rp__lockfile *l)
{
  int errnum = lock_set(l, F_OFD_SETLKW, F_WRLCK, QUEUE_BYTE);
  return errnum ? rp__fail_errno(NULL, errnum, "queue") : 0;
}

void rp__lockfile_queue_leave(struct rp__lockfile *l)
{
  lock_set(l, F_OFD_SETLK, F_UNLCK, QUEUE_BYTE);
}
