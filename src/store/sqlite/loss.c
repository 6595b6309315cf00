/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects the loss of synced commits. SQLite takes the first frame of its log that it can't read for the log's end, so
 * one flipped bit silently removes every later commit. Therefore, after each sync of a commit, what the sync made
 * durable is noted in memory that all processes share, `<db>.runs` (no system call). A process that opens the database
 * compares.
 *
 * An alarm needs proof, because a false alarm is worse than a missed one (docs/decisions.md). There are two proofs:
 * - The log has the salts of the note and fewer good frames, and either a later frame still has those salts, or the
 *   database file was not touched since our last checkpoint (a copy restored in its place would have been).
 * - There is no log, the note has frames that were not in the database file, that file was not written since our last
 *   checkpoint, and the newest event of the note is not in it, or not even our tables. Until the first checkpoint the
 *   tables are in the log alone, and a file that we just made counts as one that we checkpointed.
 *
 * Other salts (the log was begun anew, after a complete checkpoint) and another inode (another file) prove nothing.
 */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "core/seal.h"

#define TURN_MS 100    /* for the turn in which an alarm is noted: it is raised by the next opening otherwise */
#define INDEX_WORDS 25 /* the header of the log's index twice, and the number of frames backfilled */

/* ---- the log's index, which lies in shared memory ---- */

__attribute__((no_sanitize("thread"))) bool rp__sq_index_read(struct rp__sq_conn *c, struct rp__sq_index *ret)
{
  enum { FRAMES = 4, SALT = 8, COPY = 12, BACKFILLED = 24 };
  uint32_t w[INDEX_WORDS];
  if (!c->wal_index) c->wal_index = rp__sq_wal_index(c);
  if (!c->wal_index) return false;
  for (int i = 0; i < INDEX_WORDS; i++) w[i] = c->wal_index[i];
  if (memcmp(w, w + COPY, COPY * sizeof *w) != 0) return false; /* somebody is writing it */
  *ret = (struct rp__sq_index){.frames = w[FRAMES], .salt = {w[SALT], w[SALT + 1]}, .backfilled = w[BACKFILLED]};
  return true;
}

/* ---- the note ---- */

static uint64_t sum_of(const void *p, size_t n)
{
  uint64_t sum = rp__checksum(p, n, 1);
  return sum ? sum : 1;
}

#define SUM_OF(r) sum_of((r), offsetof(__typeof__(*(r)), sum))

/* The newer of the two that is whole. */
__attribute__((no_sanitize("thread"))) static bool note_read(const struct rp__runs_sync *sync,
                                                             struct rp__runs_synced *ret)
{
  bool found = false;
  for (int i = 0; i < 2; i++) {
    struct rp__runs_synced r = sync->synced[i];
    if (r.sum != SUM_OF(&r) || (found && r.n < ret->n)) continue;
    *ret = r;
    found = true;
  }
  return found;
}

/* In the writers' turn. */
__attribute__((no_sanitize("thread"))) static void note_write(struct rp__sq_store *s, struct rp__runs_synced r)
{
  struct rp__runs_synced *pair = s->sync->synced;
  r.n = RP_MAX(pair[0].n, pair[1].n) + 1;
  r.inode = s->inode;
  r.sum = SUM_OF(&r);
  struct rp__runs_synced *to = &pair[r.n & 1];
  atomic_store(&to->sum, 0);
  to->n = r.n;
  memcpy(to->salt, r.salt, sizeof to->salt);
  to->frame = r.frame;
  to->backfilled = r.backfilled;
  to->row = r.row;
  to->inode = r.inode;
  atomic_store(&to->sum, r.sum);
}

void rp__sq_synced(struct rp__sq_conn *c)
{
  struct rp__sq_store *s = c->store;
  struct rp__sq_index index;
  struct rp__runs_synced last = {0};
  /* Nothing written; or somebody else's program wrote since, and whether that was synced is not known. */
  if (!c->committed || !rp__sq_index_read(c, &index) || index.frames != c->committed) return;
  if (!note_read(s->sync, &last) || last.inode != s->inode) last.row = 0;
  note_write(s, (struct rp__runs_synced){.salt = {index.salt[0], index.salt[1]},
                                         .frame = index.frames,
                                         .backfilled = index.backfilled,
                                         .row = RP_MAX(last.row, c->row)});
}

static int64_t ns_of(struct timespec t)
{
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void db_seen(struct rp__sq_store *s, const struct stat *st)
{
  atomic_store(&s->sync->changed, ns_of(st->st_ctim));
  atomic_store(&s->sync->modified, ns_of(st->st_mtim));
}

void rp__sq_db_seen(struct rp__sq_store *s)
{
  struct stat st;
  if (!s->memory[0] && stat(s->path, &st) == 0) db_seen(s, &st);
}

void rp__sq_db_made(struct rp__sq_store *s)
{
  note_write(s, (struct rp__runs_synced){0});
  rp__sq_db_seen(s);
}

/* ---- the alarm ---- */

static bool loss_read(const struct rp__sq_store *s, struct rp__runs_loss *ret)
{
  *ret = s->sync->loss;
  return ret->sum != 0 && ret->sum == SUM_OF(ret) && ret->inode == s->inode;
}

/* In the writers' turn. One that nobody accepted yet grows. */
static void loss_write(struct rp__sq_store *s, struct rp__runs_loss loss)
{
  struct rp__runs_loss before, *to = &s->sync->loss;
  if (loss_read(s, &before) && before.first_row <= before.last_row) {
    loss.first_row = loss.first_row <= loss.last_row ? RP_MIN(loss.first_row, before.first_row) : before.first_row;
    loss.last_row = RP_MAX(loss.last_row, before.last_row);
  }
  loss.sum = SUM_OF(&loss);
  atomic_store(&to->sum, 0);
  to->first_row = loss.first_row;
  to->last_row = loss.last_row;
  to->first_frame = loss.first_frame;
  to->frame = loss.frame;
  to->at_ms = loss.at_ms;
  to->inode = loss.inode;
  atomic_store(&to->sum, loss.sum);
}

bool rp__sq_loss_tell(const struct rp__sq_store *s, char *out, size_t size)
{
  struct rp__runs_loss l;
  if (!loss_read(s, &l)) l = s->loss; /* who only reads can't note it */
  if (l.sum == 0) return false;
  int n = snprintf(out, size,
                   "frames %u to %u of the write-ahead log were synced and can't be read any more: ", l.first_frame,
                   l.frame);
  if (n < 0 || (size_t)n >= size) return true;
  if (l.first_row <= l.last_row)
    snprintf(
        out + n, size - (size_t)n,
        "events %lld to %lld of the store were acknowledged and are lost ('reprise verify --accept' ends this alarm)",
        (long long)l.first_row, (long long)l.last_row);
  else
    snprintf(out + n, size - (size_t)n,
             "no event is lost, but other changes may be ('reprise verify --accept' ends this alarm)");
  return true;
}

struct suspicion {
  const struct rp__runs_synced *note;
  struct rp__sq_index index;
  struct rp__sq_frames frames;
  bool salted;               /* a frame beyond the good ones is of the same log */
  bool untouched, unwritten; /* the database file, since our last checkpoint */
  bool bare;                 /* our tables are not there */
  int64_t row;               /* the newest event there is, or was */
};

static bool is_lost(const struct suspicion *x)
{
  const struct rp__runs_synced *n = x->note;
  if (!x->frames.there) return n->backfilled < n->frame && x->unwritten && (x->bare || n->row > x->row);
  if (x->frames.sound && memcmp(x->frames.salt, n->salt, sizeof n->salt) != 0) return false;
  if (x->frames.committed >= n->frame) return false;
  return x->salted || (x->frames.sound && x->untouched);
}

/* Reads what there is of the log. False when that can't be done, or something changes meanwhile. */
static bool suspicion_read(struct rp__sq_store *s, struct rp__sq_conn *c, struct suspicion *x)
{
  struct stat st;
  struct rp__sq_index after;
  int64_t version;
  RP_AUTOCLOSE int fd = open(s->wal_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno != ENOENT) return false;
  if (fd >= 0 && rp__sq_frames_walk(fd, UINT32_MAX, false, &x->frames) < 0) return false;
  if (fd >= 0 && x->frames.there && rp__sq_frames_salted(fd, &x->frames, x->note->salt, x->note->frame, &x->salted) < 0)
    return false;
  if (stat(s->path, &st) != 0 || rp__sq_schema_version(c, &version, NULL) != 0) return false;
  x->bare = version == 0;
  if (!x->bare && rp__sq_last_id(c, &x->row, NULL) != 0) return false;
  x->untouched = ns_of(st.st_ctim) == atomic_load(&s->sync->changed);
  x->unwritten = ns_of(st.st_mtim) == atomic_load(&s->sync->modified);
  return rp__sq_index_read(c, &after) && memcmp(&after, &x->index, sizeof after) == 0;
}

/* Whether the note does not fit what SQLite makes of the log, and why that is. False: it can't be told now. */
static bool look_closely(struct rp__sq_store *s, struct rp__sq_conn *c, const struct rp__runs_synced *note)
{
  struct suspicion x = {.note = note};
  struct rp__runs_synced now;
  bool lost = true;
  /* Twice, for a program that is not ours may have been in the middle of beginning the log anew. */
  for (int i = 0; i < 2 && lost; i++) {
    x = (struct suspicion){.note = note};
    if (!rp__sq_index_read(c, &x.index) || !suspicion_read(s, c, &x)) return false;
    lost = is_lost(&x);
  }
  if (!note_read(s->sync, &now) || now.n != note->n) return false; /* somebody goes on writing */
  if (lost) {
    struct rp__runs_loss loss = {.first_row = x.row + 1,
                                 .last_row = note->row,
                                 .first_frame = x.frames.committed + 1,
                                 .frame = note->frame,
                                 .at_ms = rp__wall(&s->clock),
                                 .inode = s->inode,
                                 .sum = 1};
    if (s->read_only)
      s->loss = loss;
    else
      loss_write(s, loss);
  } else if (x.frames.sound && x.frames.committed >= note->frame && memcmp(x.frames.salt, note->salt, 8) == 0) {
    return true; /* the index alone was begun anew */
  }
  /* The note is about what is no more. Left to stand, it would raise the alarm again. */
  if (!s->read_only) note_write(s, (struct rp__runs_synced){.row = x.row});
  return true;
}

void rp__sq_loss_look(struct rp__sq_store *s, struct rp__sq_conn *c, bool bare)
{
  struct rp__runs_synced note;
  struct rp__sq_index index;
  struct stat st;
  char text[300];
  if (s->memory[0] || stat(s->path, &st) != 0) return;
  s->inode = st.st_ino;
  bool noted = note_read(s->sync, &note) && note.frame > 0 && note.inode == s->inode;
  bool fits =
      !noted || !rp__sq_index_read(c, &index) ||
      (index.frames > 0 && (memcmp(index.salt, note.salt, sizeof note.salt) != 0 || index.frames >= note.frame));
  bool told = fits;
  if (!fits && s->read_only) told = look_closely(s, c, &note);
  /* Where our tables are to be made, this is the last time that it can be told. */
  if (!fits && !s->read_only && rp__sq_queue_enter(s->queue, bare ? s->busy_ms : TURN_MS, NULL) == 0) {
    told = look_closely(s, c, &note);
    rp__sq_queue_leave(s->queue);
  }
  if (told && !s->read_only) db_seen(s, &st);
  /* Who only reads can't go on without our tables: the error says it. */
  if ((bare && s->read_only) || !rp__sq_loss_tell(s, text, sizeof text)) return;
  rp__log(&s->log, RP_LOG_WARN, "%s: %s", s->path, text);
}

int rp__sq_log_check(struct rp__sq_conn *c, uint32_t *ret_frame, rp_error *err)
{
  struct rp__sq_index before, after;
  struct rp__sq_frames f = {0};
  *ret_frame = 0;
  RP_AUTOCLOSE int fd = open(c->store->wal_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 || !rp__sq_index_read(c, &before) || before.frames == 0) return 0;
  int rc = rp__sq_frames_walk(fd, before.frames, false, &f);
  if (rc < 0) return rp__fail_errno(err, -rc, "%s", c->store->wal_path);
  /* The index is changed before the log is begun anew, so frames of an index that stands were not written over. */
  bool same = rp__sq_index_read(c, &after) && memcmp(after.salt, before.salt, sizeof after.salt) == 0 &&
              after.frames >= before.frames;
  if (same && f.chained < before.frames) *ret_frame = f.chained + 1;
  return 0;
}

int rp__sq_accept(struct rp__store *base, char *ret, size_t size, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  int rc = rp__sq_writable(s, err);
  if (rc == 0) rc = rp__sq_queue_enter(s->queue, s->busy_ms, err);
  if (rc != 0) return rc;
  if (!rp__sq_loss_tell(s, ret, size)) ret[0] = '\0';
  atomic_store(&s->sync->loss.sum, 0);
  rp__sq_queue_leave(s->queue);
  return 0;
}
