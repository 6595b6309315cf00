/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of sealed tails: making, renewing, and finding one by its number. */
#include "engine/journal/tail-key.h"

#include <sodium.h>
#include <time.h>

#include "base/file.h"
#include "engine/engine.h"
#include "engine/own-files.h"
#include "engine/run/slot.h"

#define FILE_FIRST "reprise-seal 1\n"
#define FILE_MAX 512
#define HEX (2 * RP_KEY_BYTES)
#define ROTATE_MS (24 * 60 * 60 * 1000LL)
#define SETTLED_MS (60 * 60 * 1000LL) /* whoever seals with the key before has heard of the new one by then */
#define AGAIN_MS (10 * 60 * 1000LL)
#define TURN_TRIES 200
#define TURN_MS 10

void rp__tail_keys_init(struct rp__tail_keys *k)
{
  *k = (struct rp__tail_keys){0};
  pthread_mutex_init(&k->lock, NULL); /* default mutexes can't fail to initialise on Linux */
}

void rp__tail_keys_done(struct rp__tail_keys *k)
{
  sodium_memzero(&k->set, sizeof k->set);
  pthread_mutex_destroy(&k->lock);
}

/* ---- the file ---- */

static char *file_path(const rp_engine *e)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(1 << 16);
  rp__buf_add(&name, e->path, rp__store_path_length(e->path));
  rp__buf_str(&name, RP_SEAL_SUFFIX);
  return rp__buf_take(&name);
}

/* n 0: there is no file. */
static int file_read(const rp_engine *e, struct rp__tail_key_set *ret, rp_error *err)
{
  struct rp__buf text RP_AUTOWIPE = RP_BUF(FILE_MAX);
  char *path RP_AUTOFREE = file_path(e);
  size_t first = sizeof FILE_FIRST - 1;
  if (!path) return rp__fail_nomem(err);
  ret->n = 0;
  int rc = rp__file_read(path, FILE_MAX - 1, &text, err);
  if (rc) return rc == RP_E_FILE_NOT_FOUND ? 0 : rc;
  if (text.n < first || memcmp(text.p, FILE_FIRST, first) != 0 || strlen(text.p) != text.n) {
    rc = rp__fail(err, RP_E_CORRUPT, "%s: this is no file of keys for tails", path);
  } else {
    for (char *at = text.p + first; !rc && *at; ret->n += !rc) { /* a line: the key in hex, when it was made */
      const char *number = at + HEX + 1;
      bool good = ret->n < RP_TAIL_KEYS && strnlen(at, HEX + 1) > HEX && at[HEX] == ' ' &&
                  !rp__key_parse(at, HEX, &ret->key[ret->n], NULL);
      if (good) ret->made_at[ret->n] = strtoll(number, &at, 10);
      if (!good || at == number || *at++ != '\n')
        rc = rp__fail(err, RP_E_CORRUPT, "%s: its line %zu is no key", path, ret->n + 2);
    }
  }
  if (rc) rp__hint(err, "move it away: a new one is made, and 'reprise verify' names the streams that lose their end");
  return rc;
}

static int file_write(const rp_engine *e, const struct rp__tail_key_set *k, rp_error *err)
{
  struct rp__buf text RP_AUTOWIPE = RP_BUF(FILE_MAX);
  char *path RP_AUTOFREE = file_path(e), hex[HEX + 1];
  rp__buf_room(&text, FILE_MAX - 1); /* at once: growing would leave a copy of a key behind */
  rp__buf_str(&text, FILE_FIRST);
  for (size_t i = 0; i < k->n; i++) {
    sodium_bin2hex(hex, sizeof hex, k->key[i].bytes, RP_KEY_BYTES);
    rp__buf_printf(&text, "%s %lld\n", hex, (long long)k->made_at[i]);
  }
  sodium_memzero(hex, sizeof hex);
  if (!path || text.err) return rp__fail_nomem(err);
  return rp__file_write(path, text.p, text.n, err);
}

/* ---- changing it ---- */

static int64_t turn_slot(void)
{
  static const char name[] = "tail-key";
  return (int64_t)(rp__checksum(name, sizeof name - 1, 0) >> 3) + 1;
}

/* A new key in front; what stood there is the one before. */
static void keys_advance(const rp_engine *e, struct rp__tail_key_set *k)
{
  k->key[1] = k->key[0];
  k->made_at[1] = k->made_at[0];
  k->n = RP_MIN(k->n + 1, (size_t)RP_TAIL_KEYS);
  k->made_at[0] = rp__engine_now(e);
  rp__key_make(&rp__system_random, &k->key[0]);
}

struct use {
  const unsigned char *id;
  bool found;
};

static int on_tail(void *ctx, const struct rp__tail_row *row)
{
  struct use *x = ctx;
  const unsigned char *sealed = row->tail;
  x->found |= row->tail_len > RP_KEY_ID && memcmp(sealed + 1, x->id, RP_KEY_ID) == 0; /* behind the magic byte */
  return 0;
}

static int tell_store(rp_engine *e, const struct rp__key *key, rp_error *err)
{
  struct rp__op op = {.type = RP_OP_TAIL_KEY, .now_ms = rp__engine_now(e), .u.tail_key.id = key->id};
  return rp__engine_commit(e, &op, 1, RP_OS, err);
}

/* With the turn: makes the first key, the next one, or drops the one before, as is due by now. */
static int keys_change(rp_engine *e, struct rp__tail_key_set *k, rp_error *err)
{
  int64_t age = k->n ? rp__engine_now(e) - k->made_at[0] : 0;
  if (k->n == RP_TAIL_KEYS && age > SETTLED_MS) {
    /* The one before goes, unless an undecided tail needs it. Where that can't be told, one does. */
    struct use x = {.id = k->key[1].id};
    if (e->store->ops->tail_list(e->store, 0, NULL, on_tail, &x, NULL) || x.found) return 0; /* there is room for two */
    rp__key_wipe(&k->key[1]);
    k->n = 1;
  }
  bool next = !k->n || age > ROTATE_MS;
  if (next) keys_advance(e, k);
  int rc = file_write(e, k, err);
  return !rc && next && k->n > 1 ? tell_store(e, &k->key[0], err) : rc;
}

static bool change_due(const rp_engine *e, const struct rp__tail_key_set *k)
{
  int64_t now = rp__engine_now(e), age = k->n ? now - k->made_at[0] : 0;
  if (k->n && k->look_at > now && k->look_at - now <= AGAIN_MS) return false;
  return !k->n || age > ROTATE_MS || (k->n == RP_TAIL_KEYS && age > SETTLED_MS && !e->short_lived);
}

static void keys_keep(rp_engine *e, const struct rp__tail_key_set *k)
{
  pthread_mutex_lock(&e->tail_keys.lock);
  e->tail_keys.set = *k;
  e->tail_keys.set.look_at = rp__engine_now(e) + AGAIN_MS;
  pthread_mutex_unlock(&e->tail_keys.lock);
}

static void keys_copy(rp_engine *e, struct rp__tail_key_set *ret)
{
  pthread_mutex_lock(&e->tail_keys.lock);
  *ret = e->tail_keys.set;
  pthread_mutex_unlock(&e->tail_keys.lock);
}

static void keys_wipe(struct rp__tail_key_set *k)
{
  sodium_memzero(k, sizeof *k);
}
#define AUTOKEYS RP_CLEANUP(keys_wipe)

/* ---- using it ---- */

int rp__tail_key_ready(rp_engine *e, bool change, rp_error *err)
{
  const struct timespec pause = {.tv_nsec = TURN_MS * 1000000L};
  struct rp__tail_key_set k AUTOKEYS = {0};
  RP_MAY_ASK_STORE();
  pthread_mutex_lock(&e->tail_keys.lock);
  bool due = (change || !e->tail_keys.set.n) && change_due(e, &e->tail_keys.set);
  if (due) k = e->tail_keys.set;
  pthread_mutex_unlock(&e->tail_keys.lock);
  if (!due) return 0;
  if (!e->path) { /* nothing outlives this process, so neither need its key */
    if (!k.n) keys_advance(e, &k);
    keys_keep(e, &k);
    return 0;
  }
  int rc = k.n ? 0 : file_read(e, &k, err);
  k.look_at = 0;
  if (!rc && change_due(e, &k)) {
    rp_error why = {0};
    /* A byte of <db>.runs says who may change the file. Where there is a key, another may take the turn. */
    rc = rp__slot_take_named(e, turn_slot(), &why);
    for (int i = 0; rc == RP_E_BUSY && !k.n && i < TURN_TRIES; i++) {
      nanosleep(&pause, NULL);
      rc = rp__slot_take_named(e, turn_slot(), &why);
    }
    if (rc) rp__wrap(&why, "the key of tails");
    bool turn = !rc;
    if (turn) rc = file_read(e, &k, &why); /* somebody may have been first */
    k.look_at = 0;
    struct rp__tail_key_set had AUTOKEYS = k;
    if (!rc && change_due(e, &k)) rc = keys_change(e, &k, &why);
    if (turn) rp__slot_drop(e, turn_slot());
    if (rc) k = had; /* a key that is in no file opens nothing after this process */
    if (rc && k.n) { /* the key there is will do for now */
      rp__log(&e->log, RP_LOG_DEBUG, "%s", why.message);
      rc = 0;
    } else if (rc && err) {
      *err = why;
    }
  }
  if (!rc) keys_keep(e, &k);
  return rc;
}

bool rp__tail_keys_used(rp_engine *e)
{
  pthread_mutex_lock(&e->tail_keys.lock);
  bool used = e->tail_keys.set.n > 0;
  pthread_mutex_unlock(&e->tail_keys.lock);
  return used;
}

void rp__tail_key_current(rp_engine *e, struct rp__key *ret)
{
  struct rp__tail_key_set k AUTOKEYS = {0};
  keys_copy(e, &k);
  *ret = k.key[0];
}

static bool key_among(const struct rp__tail_key_set *k, const unsigned char *id, struct rp__key *ret)
{
  for (size_t i = 0; i < k->n; i++) {
    if (memcmp(k->key[i].id, id, RP_KEY_ID) != 0) continue;
    *ret = k->key[i];
    return true;
  }
  return false;
}

int rp__tail_key_find(rp_engine *e, const unsigned char id[RP_KEY_ID], struct rp__key *ret, rp_error *err)
{
  struct rp__tail_key_set k AUTOKEYS = {0};
  keys_copy(e, &k);
  if (key_among(&k, id, ret)) return 0;
  if (e->path) {
    int rc = file_read(e, &k, err);
    if (rc) return rc;
    if (k.n) keys_keep(e, &k);
    if (key_among(&k, id, ret)) return 0;
  }
  return rp__fail(err, RP_E_KEY_MISSING, "the key that sealed it is gone");
}

int rp__tail_key_again(rp_engine *e, rp_error *err)
{
  struct rp__tail_key_set k AUTOKEYS = {0};
  int rc = e->path ? file_read(e, &k, err) : 0;
  if (rc) return rc;
  if (e->path) keys_keep(e, &k);
  rc = rp__tail_key_ready(e, false, err);
  if (!rc) keys_copy(e, &k);
  return rc ? rc : tell_store(e, &k.key[0], err);
}
