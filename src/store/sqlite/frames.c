/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the frames of the write-ahead log without SQLite. Each frame carries the log's salts and a checksum over itself
 * and all frames before it. So SQLite stops reading at the first bad frame, whatever follows it.
 *
 * SQLite holds no lock through a descriptor of the log, so opening and closing one is harmless.
 */
#include "store/sqlite/sqlite.h"

#include <endian.h>
#include <errno.h>

#define HEADER 32
#define FRAME 24
#define MAGIC 0x377f0682u /* the lowest bit: checksums are of big-endian words */

static uint32_t word_at(const unsigned char *p)
{
  uint32_t w;
  memcpy(&w, p, sizeof w);
  return be32toh(w);
}

static void sum_add(bool big, const unsigned char *p, size_t n, uint32_t sum[2])
{
  for (const unsigned char *end = p + n; p < end; p += 8) {
    uint32_t w[2];
    memcpy(w, p, sizeof w);
    sum[0] += (big ? be32toh(w[0]) : le32toh(w[0])) + sum[1];
    sum[1] += (big ? be32toh(w[1]) : le32toh(w[1])) + sum[0];
  }
}

static bool sum_fits(const uint32_t sum[2], const unsigned char *stored)
{
  return sum[0] == word_at(stored) && sum[1] == word_at(stored + 4);
}

/* 1: all of it, 0: the file ends before, negative: an errno. */
static int read_at(int fd, void *p, size_t n, int64_t at)
{
  for (size_t done = 0; done < n;) {
    ssize_t r = pread(fd, (char *)p + done, n - done, (off_t)at + (off_t)done);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return -errno;
    if (r == 0) return 0;
    done += (size_t)r;
  }
  return 1;
}

static int write_at(int fd, const void *p, size_t n, int64_t at)
{
  for (size_t done = 0; done < n;) {
    ssize_t w = pwrite(fd, (const char *)p + done, n - done, (off_t)at + (off_t)done);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) return w < 0 ? -errno : -EIO;
    done += (size_t)w;
  }
  return 0;
}

static bool page_size_ok(uint32_t n)
{
  return n >= 512 && n <= 65536 && (n & (n - 1)) == 0;
}

/* Frames whose checksums fit, from the first on. With `rewrite`, each is written where it was read. */
static int chain_walk(int fd, uint32_t upto, bool rewrite, struct rp__sq_frames *f, unsigned char *buf)
{
  unsigned char head[HEADER];
  uint32_t sum[2] = {0, 0};
  int rc = read_at(fd, head, sizeof head, 0);
  if (rc <= 0) return rc;
  bool big = word_at(head) & 1;
  f->there = true;
  f->page = page_size_ok(word_at(head + 8)) ? word_at(head + 8) : 4096;
  memcpy(f->salt, head + 16, sizeof f->salt);
  sum_add(big, head, 24, sum);
  if ((word_at(head) & ~1u) != MAGIC || !page_size_ok(word_at(head + 8)) || !sum_fits(sum, head + 24)) return 0;
  f->sound = true;
  if (rewrite && (rc = write_at(fd, head, sizeof head, 0)) < 0) return rc;
  for (uint32_t i = 1; i <= upto; i++) {
    int64_t at = HEADER + (int64_t)(i - 1) * (FRAME + f->page);
    rc = read_at(fd, buf, FRAME + f->page, at);
    if (rc <= 0) return rc;
    if (memcmp(buf + 8, f->salt, sizeof f->salt) != 0) return 0;
    sum_add(big, buf, 8, sum);
    sum_add(big, buf + FRAME, f->page, sum);
    if (!sum_fits(sum, buf + 16)) return 0;
    if (rewrite && (rc = write_at(fd, buf, FRAME + f->page, at)) < 0) return rc;
    f->chained = i;
    if (word_at(buf + 4) != 0) f->committed = i;
  }
  return 0;
}

int rp__sq_frames_walk(int fd, uint32_t upto, bool rewrite, struct rp__sq_frames *ret)
{
  struct rp__sq_frames f = {0};
  unsigned char *buf = malloc(FRAME + 65536);
  if (!buf) return -ENOMEM;
  int rc = chain_walk(fd, upto, rewrite, &f, buf);
  free(buf);
  if (rc >= 0) *ret = f;
  return RP_MIN(rc, 0);
}

int rp__sq_frames_salted(int fd, const struct rp__sq_frames *f, const uint32_t salt[2], uint32_t upto, bool *ret)
{
  bool found = false;
  int rc = 1;
  for (uint32_t i = f->chained + 1; rc > 0 && !found && i <= upto; i++) {
    unsigned char head[FRAME];
    rc = read_at(fd, head, sizeof head, HEADER + (int64_t)(i - 1) * (FRAME + f->page));
    found = rc > 0 && memcmp(head + 8, salt, 8) == 0;
  }
  if (rc >= 0) *ret = found;
  return RP_MIN(rc, 0);
}
