/* SPDX-License-Identifier: Apache-2.0 */
/* The internal secret: finds or makes it, compares values with it, and derives values from it. */
#include "base/credentials/secret.h"

#include <errno.h>
#include <sodium.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/id.h"

#define RANDOM_BYTES 32
#define RANDOM_TEXT 44 /* base64url of them and a NUL */
#define TRIES 8        /* somebody else may make it, or take it away, while we look */

_Static_assert(RP_SECRET_HASH == crypto_generichash_BYTES, "what a hash has");

static int take(struct rp__internal_secret *s, struct rp__str text, const char *where, rp_error *err)
{
  if (text.n < RP_SECRET_MIN || text.n > RP_SECRET_MAX) {
    rp__fail_field(err, RP_E_CONFIG, "internal_secret_file", "the secret in %s has %zu bytes, wanted are %d to %d",
                   where, text.n, RP_SECRET_MIN, RP_SECRET_MAX);
    rp__hint(err, "take away what is there, and a new one is made");
    return RP_E_CONFIG;
  }
  crypto_generichash(s->hash, sizeof s->hash, (const unsigned char *)text.p, text.n, NULL, 0);
  return 0;
}

/* ---- the file ---- */

static int read_text(const char *path, struct rp__buf *ret, rp_error *err)
{
  struct stat st;
  if (lstat(path, &st)) return rp__fail_errno(err, errno, "%s can't be looked at", path);
  if (S_ISREG(st.st_mode) && (st.st_mode & 077)) {
    rp__fail_field(err, RP_E_CONFIG, "internal_secret_file", "others may read or change %s (mode %03o)", path,
                   (unsigned)st.st_mode & 0777);
    rp__hint(err, "'chmod 600' it; if somebody may have read it, remove it: a new one is made");
    return RP_E_CONFIG;
  }
  if (S_ISREG(st.st_mode) && st.st_uid != geteuid() && st.st_uid != 0)
    return rp__fail_field(err, RP_E_CONFIG, "internal_secret_file", "%s belongs to somebody else", path);
  int rc = rp__file_read(path, RP_SECRET_MAX, ret, err);
  while (!rc && ret->n && strchr(" \t\r\n", ret->p[ret->n - 1])) ret->p[--ret->n] = '\0';
  return rc;
}

/*
 * Linked into place once it is written: whoever finds the name finds the whole secret, and of two processes that make
 * one, the first wins.
 */
static int make_file(const char *path, rp_error *err)
{
  RP_CLEANUP(rp__file_draft_done) struct rp__file_draft d = {.dir = -1, .fd = -1};
  unsigned char bytes[RANDOM_BYTES];
  char text[RANDOM_TEXT + 1];
  int rc = rp__file_draft_open(path, &d, err);
  if (rc) return rc;
  rp__system_random.fill(rp__system_random.ctx, bytes, sizeof bytes);
  sodium_bin2base64(text, RANDOM_TEXT, bytes, sizeof bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  sodium_memzero(bytes, sizeof bytes);
  memcpy(text + RANDOM_TEXT - 1, "\n", 2);
  errno = 0;
  if (write(d.fd, text, RANDOM_TEXT) != RANDOM_TEXT)
    rc = rp__fail_errno(err, errno ? errno : ENOSPC, "%s can't be written", path);
  sodium_memzero(text, sizeof text);
  if (!rc) rc = rp__file_draft_keep(&d, false, err);
  return rc == RP_E_EXISTS ? 0 : rc;
}

static int load_file(const char *path, struct rp__internal_secret *ret, rp_error *err)
{
  int rc = RP_E_FILE_NOT_FOUND;
  for (int i = 0; rc == RP_E_FILE_NOT_FOUND && i < TRIES; i++) {
    struct rp__buf text RP_AUTOWIPE = RP_BUF(0);
    rc = read_text(path, &text, err);
    if (!rc) rc = take(ret, (struct rp__str){text.n ? text.p : "", text.n}, path, err);
    if (rc != RP_E_FILE_NOT_FOUND) break;
    int made = make_file(path, err);
    if (made) {
      rp__hint(err, "internal_secret_file names another place, or set INTERNAL_SECRET");
      return made;
    }
  }
  return rc;
}

static char *default_path(const char *db_path)
{
  const char *slash = strrchr(db_path, '/');
  char *folder RP_AUTOFREE = slash ? strndup(db_path, RP_MAX((size_t)(slash - db_path), 1)) : strdup(".");
  return folder ? rp__path_join(folder, RP_SECRET_FILE) : NULL;
}

int rp__secret_load(const char *file, const char *db_path, struct rp__internal_secret *ret, rp_error *err)
{
  const char *given = getenv("INTERNAL_SECRET");
  struct rp__internal_secret s;
  int rc;
  if (given && *given) {
    rc = take(&s, rp__str(given), "$INTERNAL_SECRET", err);
  } else if (file && *file) {
    rc = load_file(file, &s, err);
  } else if (db_path) {
    char *path RP_AUTOFREE = default_path(db_path);
    rc = path ? load_file(path, &s, err) : rp__fail_nomem(err);
  } else {
    rp__system_random.fill(rp__system_random.ctx, s.hash, sizeof s.hash);
    rc = 0;
  }
  if (!rc) *ret = s;
  return rc;
}

int rp__secret_text(const char *file, const char *db_path, char **ret, rp_error *err)
{
  const char *given = getenv("INTERNAL_SECRET");
  struct rp__buf text RP_AUTOWIPE = RP_BUF(RP_SECRET_MAX);
  struct rp__internal_secret checked;
  int rc = 0;
  if (given && *given) {
    rp__buf_str(&text, given);
  } else {
    char *path RP_AUTOFREE = file && *file ? strdup(file) : db_path ? default_path(db_path) : NULL;
    if (!path && !db_path) return rp__fail(err, RP_E_FILE_NOT_FOUND, "a store without a file keeps no secret");
    rc = path ? read_text(path, &text, err) : rp__fail_nomem(err);
  }
  if (!rc) rc = take(&checked, (struct rp__str){text.n ? text.p : "", text.n}, "the secret's file", err);
  rp__secret_wipe(&checked);
  if (rc) return rc;
  *ret = strndup(text.p, text.n);
  return *ret ? 0 : rp__fail_nomem(err);
}

void rp__secret_text_free(char *text)
{
  if (text) sodium_memzero(text, strlen(text));
  free(text);
}

void rp__secret_of(const char *text, struct rp__internal_secret *ret)
{
  crypto_generichash(ret->hash, sizeof ret->hash, (const unsigned char *)text, strlen(text), NULL, 0);
}

void rp__secret_wipe(struct rp__internal_secret *s)
{
  sodium_memzero(s, sizeof *s);
}

/* ---- use ---- */

bool rp__secret_is(const struct rp__internal_secret *s, struct rp__str text)
{
  unsigned char hash[RP_SECRET_HASH];
  crypto_generichash(hash, sizeof hash, (const unsigned char *)text.p, text.n, NULL, 0);
  return sodium_memcmp(hash, s->hash, sizeof hash) == 0;
}

void rp__secret_derive(const struct rp__internal_secret *s, const char *purpose, const char *text,
                       unsigned char out[RP_SECRET_HASH])
{
  crypto_generichash_state state;
  crypto_generichash_init(&state, s->hash, sizeof s->hash, RP_SECRET_HASH);
  crypto_generichash_update(&state, (const unsigned char *)purpose, strlen(purpose));
  crypto_generichash_update(&state, (const unsigned char *)text, strlen(text));
  crypto_generichash_final(&state, out, RP_SECRET_HASH);
}
