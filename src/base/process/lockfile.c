/* SPDX-License-Identifier: Apache-2.0 */
/* Byte locks of `<db>.runs`, and its first page, which all processes map. */
#include "base/process/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SLOT_BITS 61 /* slots are a header's length to 2^61, so that slot and length stay inside off_t */
#define TAKE_TRIES 64

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

int rp__lockfile_open(struct rp__lockfile *l, const char *path, rp_error *err)
{
  RP_AUTOCLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat st;
  if (fd < 0 && errno == ELOOP) return rp__fail(err, RP_E_REFUSED, "%s: is a symbolic link", path);
  if (fd < 0 || fstat(fd, &st)) return rp__fail_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s: not a regular file", path);
  l->fd = fd;
  l->header = NULL;
  fd = -1;
  return 0;
}

void rp__lockfile_look(struct rp__lockfile *l, const char *path)
{
  l->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  l->header = NULL;
}

/*
 * Room for the header: a page of a mapping that has no block behind it kills the
 * process that writes to it on a full disk. fallocate changes no byte, so several
 * processes may do this at once; zeros written where a file system lacks it might
 * erase what another has written since, so those are written by one at a time.
 */
static bool header_make(const struct rp__lockfile *l)
{
  static const unsigned char zeros[RP_RUNS_HEADER];
  struct stat st;
  if (fstat(l->fd, &st)) return false;
  if (st.st_size >= RP_RUNS_HEADER && st.st_blocks >= RP_RUNS_HEADER / 512) return true;
  if (fallocate(l->fd, 0, 0, RP_RUNS_HEADER) == 0) return true;
  if (errno != EOPNOTSUPP || lock_set(l, F_OFD_SETLK, F_WRLCK, RP_RUNS_GROW_BYTE)) return false;
  bool made = fstat(l->fd, &st) == 0 &&
              (st.st_size >= RP_RUNS_HEADER || pwrite(l->fd, zeros, sizeof zeros, 0) == RP_RUNS_HEADER);
  lock_set(l, F_OFD_SETLK, F_UNLCK, RP_RUNS_GROW_BYTE);
  return made;
}

void rp__lockfile_map(struct rp__lockfile *l)
{
  struct stat st;
  int mode = l->header || l->fd < 0 ? -1 : fcntl(l->fd, F_GETFL);
  if (mode < 0) return; /* nothing is mapped to be read only that its owner would write to */
  bool writes = (mode & O_ACCMODE) == O_RDWR;
  if (writes && !header_make(l)) return;
  if (fstat(l->fd, &st) || st.st_size < RP_RUNS_HEADER) return;
  void *p = mmap(NULL, RP_RUNS_HEADER, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, l->fd, 0);
  if (p != MAP_FAILED) l->header = p;
}

void rp__lockfile_close(struct rp__lockfile *l)
{
  if (l->header) munmap(l->header, RP_RUNS_HEADER);
  l->header = NULL;
  if (l->fd >= 0) close(l->fd);
  l->fd = -1;
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
    int64_t slot = (int64_t)(random & ((1ULL << SLOT_BITS) - 1)) + RP_RUNS_HEADER;
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

int rp__lockfile_share_slot(struct rp__lockfile *l, int64_t slot)
{
  return lock_set(l, F_OFD_SETLKW, F_RDLCK, slot) ? RP_E_IO : 0;
}

void rp__lockfile_drop(struct rp__lockfile *l, int64_t slot)
{
  if (slot > RP_RUNS_QUEUE_BYTE) lock_set(l, F_OFD_SETLK, F_UNLCK, slot);
}

bool rp__lockfile_held(const struct rp__lockfile *l, int64_t slot)
{
  if (slot <= RP_RUNS_QUEUE_BYTE) return false;
  struct flock lock = byte_lock(F_WRLCK, slot);
  /* Where the kernel won't say, the holder counts as alive: the lease's time decides then. */
  return fcntl(l->fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

int rp__lockfile_queue_try(struct rp__lockfile *l)
{
  int errnum = lock_set(l, F_OFD_SETLK, F_WRLCK, RP_RUNS_QUEUE_BYTE);
  if (is_taken(errnum)) return RP_E_BUSY;
  return errnum ? rp__fail_errno(NULL, errnum, "queue") : 0;
}

int rp__lockfile_queue_wait(struct rp__lockfile *l)
{
  int errnum = lock_set(l, F_OFD_SETLKW, F_WRLCK, RP_RUNS_QUEUE_BYTE);
  return errnum ? rp__fail_errno(NULL, errnum, "queue") : 0;
}

void rp__lockfile_queue_sign(struct rp__lockfile *l, const struct rp__proc *self)
{
  struct rp__runs_writer *w = l->header ? &l->header->writer : NULL;
  if (!w) return;
  atomic_store_explicit(&w->start, (uint64_t)self->start, memory_order_relaxed);
  atomic_store_explicit(&w->ns, self->ns, memory_order_relaxed);
  atomic_fetch_add_explicit(&w->turns, 1, memory_order_relaxed);
  atomic_store_explicit(&w->pid, (uint64_t)self->pid, memory_order_release);
}

bool rp__lockfile_queue_held(const struct rp__lockfile *l)
{
  struct flock lock = byte_lock(F_WRLCK, RP_RUNS_QUEUE_BYTE);
  return fcntl(l->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void rp__lockfile_queue_look(const struct rp__lockfile *l, struct rp__turn *ret)
{
  struct rp__runs_writer *w = l->header ? &l->header->writer : NULL;
  struct rp__proc p = {0}, self = {0};
  struct rp__proc_line line = {0};
  *ret = (struct rp__turn){0};
  if (!w) return;
  p.pid = (int64_t)atomic_load_explicit(&w->pid, memory_order_acquire);
  p.start = (int64_t)atomic_load_explicit(&w->start, memory_order_relaxed);
  p.ns = atomic_load_explicit(&w->ns, memory_order_relaxed);
  ret->n = atomic_load_explicit(&w->turns, memory_order_relaxed);
  bool foreign = rp__proc_describe(0, &self, NULL) == 0 && p.ns != self.ns;
  /* A process that died in its turn left its name there, and the next one has not signed yet. */
  if (p.pid <= 0 || (!foreign && rp__proc_probe(&p) != RP_PROC_ALIVE)) return;
  ret->pid = p.pid;
  ret->here = !foreign && rp__proc_line(p.pid, &line);
  if (!ret->here) return;
  ret->stopped = line.state == 'T' || line.state == 't';
  memcpy(ret->name, line.name, sizeof ret->name);
}

const char *rp__turn_text(const struct rp__turn *t, char out[RP_TURN_TEXT])
{
  const char *state = t->stopped ? ", which is stopped," : "";
  if (!t->pid)
    snprintf(out, RP_TURN_TEXT, "another process");
  else if (!t->here)
    snprintf(out, RP_TURN_TEXT, "process %lld of another container", (long long)t->pid);
  else if (t->pid == getpid())
    snprintf(out, RP_TURN_TEXT, "another thread of this process");
  else
    snprintf(out, RP_TURN_TEXT, "process %lld (%s)%s", (long long)t->pid, t->name, state);
  return out;
}

void rp__lockfile_queue_leave(struct rp__lockfile *l)
{
  if (l->header) atomic_store_explicit(&l->header->writer.pid, 0, memory_order_release);
  lock_set(l, F_OFD_SETLK, F_UNLCK, RP_RUNS_QUEUE_BYTE);
}
