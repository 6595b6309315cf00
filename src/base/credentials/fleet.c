/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the file with the tokens of agents whose sessions were imported from another program's store. */
#include "base/credentials/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/id.h"

#define TRIES 100 /* writers that were faster, before a writer gives up */

struct rp__fleet {
  char *path; /* NULL: none */
  pthread_mutex_t lock;
  struct stat seen; /* of the file as it was read; st_ino 0: none was */
  struct rp__buf text;
};

bool rp__fleet_takes(struct rp__str text, size_t max, bool spaces)
{
  if (text.n < RP_FLEET_TOKEN_MIN || text.n > max || text.p[0] == ' ' || text.p[text.n - 1] == ' ') return false;
  for (size_t i = 0; i < text.n; i++)
    if (text.p[i] < ' ' || text.p[i] > '~' || (text.p[i] == ' ' && !spaces)) return false;
  return true;
}

int rp__fleet_new(const char *db_path, struct rp__fleet **ret, rp_error *err)
{
  struct rp__buf path RP_AUTOBUF = RP_BUF(65536);
  struct rp__fleet *f = calloc(1, sizeof *f);
  if (!f) return rp__fail_nomem(err);
  pthread_mutex_init(&f->lock, NULL);
  f->text = RP_BUF(RP_FLEET_BYTES);
  if (db_path) {
    rp__buf_printf(&path, "%s" RP_FLEET_SUFFIX, db_path);
    f->path = rp__buf_take(&path);
  }
  if (db_path && !f->path) {
    rp__fleet_free(f);
    return rp__fail_nomem(err);
  }
  *ret = f;
  return 0;
}

void rp__fleet_free(struct rp__fleet *f)
{
  if (!f) return;
  rp__buf_wipe(&f->text);
  pthread_mutex_destroy(&f->lock);
  free(f->path);
  free(f);
}

/* ---- reading ---- */

static bool is_ours(const struct stat *st)
{
  return S_ISREG(st->st_mode) && !(st->st_mode & 077) && (st->st_uid == geteuid() || st->st_uid == 0);
}

int rp__fleet_check(struct rp__fleet *f, rp_error *err)
{
  struct stat st;
  if (!f->path || lstat(f->path, &st) || is_ours(&st)) return 0;
  if (!S_ISREG(st.st_mode)) return rp__fail(err, RP_E_REFUSED, "%s is not a regular file", f->path);
  return rp__fail(err, RP_E_REFUSED, "%s: others may read or change it; 'chmod 600' it", f->path);
}

/* With the lock held. A file that can't be read counts as none. */
static void look(struct rp__fleet *f)
{
  struct stat st = {0};
  bool there = f->path && lstat(f->path, &st) == 0 && is_ours(&st);
  const struct stat *seen = &f->seen;
  if (there && st.st_ino == seen->st_ino && st.st_size == seen->st_size && st.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
      st.st_mtim.tv_nsec == seen->st_mtim.tv_nsec)
    return;
  f->seen = (struct stat){0};
  rp__buf_wipe(&f->text);
  f->text = RP_BUF(RP_FLEET_BYTES);
  if (there && rp__file_read(f->path, RP_FLEET_BYTES, &f->text, NULL) == 0) f->seen = st;
}

/* One line: a word that says what it is, and up to four others. */
struct line {
  struct rp__str word[5];
  size_t n;
  struct rp__str whole; /* with its end */
};

static bool next_line(const struct rp__buf *text, size_t *at, struct line *ret)
{
  if (*at >= text->n) return false;
  const char *p = text->p + *at, *end = memchr(p, '\n', text->n - *at);
  size_t n = end ? (size_t)(end - p) : text->n - *at;
  *ret = (struct line){.whole = {p, n + (end != NULL)}};
  *at += ret->whole.n;
  for (size_t i = 0; i < n && ret->n < RP_ARRAY_SIZE(ret->word);) {
    size_t from = i;
    while (i < n && p[i] != ' ') i++;
    if (i > from) ret->word[ret->n++] = (struct rp__str){p + from, i - from};
    i++;
  }
  return true;
}

/* A secret may have spaces in it. */
static bool is_secret(struct line *l)
{
  if (l->n < 2 || !rp__str_eq(l->word[0], "secret")) return false;
  const char *end = l->whole.p + l->whole.n - (l->whole.p[l->whole.n - 1] == '\n');
  l->word[1].n = (size_t)(end - l->word[1].p);
  return true;
}

static bool is_agent(const struct line *l, const char *id)
{
  return l->n >= 4 && rp__str_eq(l->word[0], "agent") && (!id || rp__str_eq(l->word[1], id));
}

static bool is_born(const struct line *l, rp__birth birth)
{
  char hex[17];
  snprintf(hex, sizeof hex, "%016llx", (unsigned long long)birth);
  return birth == RP_BIRTH_ANY || rp__str_eq(l->word[2], hex);
}

static bool same_text(struct rp__str a, struct rp__str b)
{
  return a.n == b.n && sodium_memcmp(a.p, b.p, a.n) == 0;
}

bool rp__fleet_knows(struct rp__fleet *f, struct rp__str secret)
{
  struct line l;
  bool known = false;
  pthread_mutex_lock(&f->lock);
  look(f);
  for (size_t at = 0; next_line(&f->text, &at, &l);) known |= is_secret(&l) && same_text(l.word[1], secret);
  pthread_mutex_unlock(&f->lock);
  return known;
}

bool rp__fleet_opens(struct rp__fleet *f, const char *session_id, rp__birth birth, struct rp__str token)
{
  struct line l;
  bool opens = false;
  pthread_mutex_lock(&f->lock);
  look(f);
  for (size_t at = 0; next_line(&f->text, &at, &l);)
    opens |= is_agent(&l, session_id) && is_born(&l, birth) && same_text(l.word[3], token);
  pthread_mutex_unlock(&f->lock);
  return opens;
}

static void copy_word(char *out, size_t size, struct rp__str word)
{
  snprintf(out, size, "%.*s", (int)RP_MIN(word.n, size - 1), word.n ? word.p : "");
}

bool rp__fleet_find(struct rp__fleet *f, const char *session_id, rp__birth birth, struct rp__fleet_agent *ret,
                    char secret[RP_SECRET_MAX + 1])
{
  struct rp__str group = {0};
  struct line l;
  bool found = false;
  pthread_mutex_lock(&f->lock);
  look(f);
  for (size_t at = 0; !found && next_line(&f->text, &at, &l);) {
    if (is_secret(&l)) group = l.word[1];
    if (!is_agent(&l, session_id) || !is_born(&l, birth)) continue;
    *ret = (struct rp__fleet_agent){.birth = birth};
    copy_word(ret->id, sizeof ret->id, l.word[1]);
    copy_word(ret->token, sizeof ret->token, l.word[3]);
    copy_word(ret->manager, sizeof ret->manager, l.word[4]);
    copy_word(secret, RP_SECRET_MAX + 1, group);
    found = true;
  }
  pthread_mutex_unlock(&f->lock);
  return found;
}

/* ---- writing ---- */

/* Alone among writers until the descriptor is closed. A file that was replaced meanwhile is not the one to wait for. */
static int lock_file(const char *path, int *ret, rp_error *err)
{
  for (int i = 0; i < TRIES; i++) {
    struct stat mine, there;
    RP_AUTOCLOSE int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) || fstat(fd, &mine)) return rp__fail_errno(err, errno, "%s", path);
    if (lstat(path, &there) || there.st_ino != mine.st_ino) continue;
    if (!is_ours(&mine)) return rp__fail(err, RP_E_REFUSED, "%s: others may read or change it; 'chmod 600' it", path);
    *ret = fd;
    fd = -1;
    return 0;
  }
  return rp__fail(err, RP_E_BUSY, "%s: too many write it", path);
}

struct edit {
  const char *secret;
  const struct rp__fleet_agent *agents;
  size_t n;
  const char *gone; /* NULL: nobody */
};

static bool goes(const struct edit *x, const struct line *l)
{
  if (x->gone && is_agent(l, x->gone)) return true;
  for (size_t i = 0; i < x->n; i++)
    if (is_agent(l, x->agents[i].id)) return true;
  return false;
}

static int edit(struct rp__fleet *f, const struct edit *x, rp_error *err)
{
  struct rp__buf old RP_AUTOWIPE = RP_BUF(0), out RP_AUTOWIPE = RP_BUF(RP_FLEET_BYTES);
  RP_AUTOCLOSE int fd = -1;
  int rc = lock_file(f->path, &fd, err);
  if (!rc) rc = rp__file_read(f->path, RP_FLEET_BYTES, &old, err);
  if (rc) return rc;
  /* Agents stay behind the secret they know; a secret that nobody knows any more goes. */
  struct rp__str group = {0};
  struct line l;
  for (size_t at = 0; next_line(&old, &at, &l);) {
    if (is_secret(&l)) group = l.whole;
    if (!is_agent(&l, NULL) || goes(x, &l)) continue;
    if (group.n) rp__buf_add(&out, group.p, group.n);
    group.n = 0;
    rp__buf_add(&out, l.whole.p, l.whole.n);
  }
  if (x->n) rp__buf_printf(&out, "secret %s\n", x->secret);
  for (size_t i = 0; i < x->n; i++) {
    const struct rp__fleet_agent *a = &x->agents[i];
    rp__buf_printf(&out, "agent %s %016llx %s%s%s\n", a->id, (unsigned long long)a->birth, a->token,
                   a->manager[0] ? " " : "", a->manager);
  }
  if (out.err == RP_E_TOO_LARGE) return rp__fail(err, out.err, "%s would be over %zu bytes", f->path, RP_FLEET_BYTES);
  if (out.err) return rp__fail_nomem(err);
  return rp__file_write(f->path, out.p ? out.p : "", out.n, err);
}

int rp__fleet_add(struct rp__fleet *f, const char *secret, const struct rp__fleet_agent *agents, size_t n,
                  rp_error *err)
{
  const struct edit x = {.secret = secret, .agents = agents, .n = n};
  if (!f->path) return rp__fail(err, RP_E_USAGE, "a store without a file keeps no tokens");
  return n ? edit(f, &x, err) : 0;
}

int rp__fleet_forget(struct rp__fleet *f, const char *session_id, rp_error *err)
{
  const struct edit x = {.gone = session_id};
  struct line l;
  bool there = false;
  pthread_mutex_lock(&f->lock);
  look(f);
  for (size_t at = 0; next_line(&f->text, &at, &l);) there |= is_agent(&l, session_id);
  pthread_mutex_unlock(&f->lock);
  return there ? edit(f, &x, err) : 0;
}
