/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the machine went down, from wtmp: an orderly shutdown writes a record
 * before the next boot's; the plug does not.
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <utmpx.h>

#define BATCH 64
#define RECORDS_MAX 1000000 /* 366 MiB; a log longer than that has lost its meaning */

static int64_t record_ms(const struct utmpx *u)
{
  return (int64_t)u->ut_tv.tv_sec * 1000 + u->ut_tv.tv_usec / 1000;
}

static bool is_shutdown(const struct utmpx *u)
{
  return u->ut_type == RUN_LVL && strncmp(u->ut_user, "shutdown", sizeof u->ut_user) == 0;
}

/* Reads whole records; fewer than asked for only at the end, where a half-written one is left out. */
static size_t records_read(int fd, struct utmpx *out, size_t max)
{
  size_t n = 0, size = max * sizeof *out;
  while (n < size) {
    ssize_t done = read(fd, (char *)out + n, size - n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    n += (size_t)done;
  }
  return n / sizeof *out;
}

/*
 * The first boot after `since_ms` is the one that followed the end in question;
 * later ones tell of other nights. Records stand in the order of writing, which a
 * clock set back does not change.
 */
enum rp__shutdown rp__shutdown_kind(const char *wtmp_path, int64_t since_ms)
{
  RP_AUTOCLOSE int fd = open(wtmp_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct utmpx batch[BATCH];
  bool orderly = false;
  size_t n = BATCH;
  if (fd < 0) return RP_SHUTDOWN_UNKNOWN;
  for (size_t seen = 0; n == BATCH && seen < RECORDS_MAX; seen += n) {
    n = records_read(fd, batch, BATCH);
    for (size_t i = 0; i < n; i++) {
      if (record_ms(&batch[i]) < since_ms) continue;
      if (is_shutdown(&batch[i])) orderly = true;
      if (batch[i].ut_type == BOOT_TIME) return orderly ? RP_SHUTDOWN_ORDERLY : RP_SHUTDOWN_POWER_LOSS;
    }
  }
  return RP_SHUTDOWN_UNKNOWN;
}
