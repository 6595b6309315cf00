/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes an engine, and makes the checks with which every call begins. */
#include "base/options.h"
#include "engine/engine.h"
#include "base/ticks.h"

#include <errno.h>
#include <sodium.h>
#include <sys/stat.h>

#include "base/file.h"
#include "engine/keep/audit.h"
#include "engine/capture/mirror.h"
#include "engine/own-files.h"
#include "engine/run/slot.h"

#define PATTERNS_MAX (64 * 1024)

const char *rp_version(void)
{
  return RP_VERSION;
}

void rp_free(void *p)
{
  free(p);
}

const char *rp_store_path(const rp_engine *e)
{
  return e ? e->path : NULL;
}

int rp__engine_check(const rp_engine *e, rp_error *err)
{
  if (!e) return rp__fail(err, RP_E_USAGE, "no engine was given");
  if (!rp__forkguard_same(&e->guard))
    return rp__fail(err, RP_E_FORKED, "the engine was opened before a fork; open a new one in the child");
  return 0;
}

int64_t rp__engine_ticks(const rp_engine *e)
{
  int64_t ticks = rp__boot(&e->clock);
  return ticks ? ticks : rp__wall(&e->clock);
}

int64_t rp__engine_micros(const rp_engine *e)
{
  (void)e;
  return rp__ticks_us();
}

int rp__engine_read(rp_engine *e, struct rp__read *reads, size_t n, rp_error *err)
{
  int rc = e->store->ops->read(e->store, reads, n, err);
  for (size_t i = 0; !rc && i < n; i++) {
    rc = reads[i].rc;
    if (rc && err && reads[i].err.code) *err = reads[i].err; /* else whom it told gave the words */
  }
  return rc;
}

int rp__engine_commit(rp_engine *e, struct rp__op *ops, size_t n, rp_durability d, rp_error *err)
{
  struct rp__commit c = {.txn = {.ops = ops, .n = n, .durability = d}};
  RP_MAY_ASK_STORE();
  int rc = rp__commit_wait(&e->queue, &c);
  if (rc && err) *err = c.txn.err;
  if (!rc) rp__audit_count(e, ops, n);
  return rc;
}

bool rp__list_room(void *list, size_t n, size_t *cap, size_t size)
{
  void *p;
  if (n < *cap) return true;
  size_t more = *cap ? *cap * 2 : 16;
  memcpy(&p, list, sizeof p);
  void *grown = reallocarray(p, more, size);
  if (!grown) return false;
  memcpy(list, &grown, sizeof grown);
  *cap = more;
  return true;
}

int rp__text_give(struct rp__buf *text, char **ret, rp_error *err)
{
  char *taken = rp__buf_take(text);
  if (!taken) return rp__fail_nomem(err);
  *ret = taken;
  return 0;
}

static void on_wal_grown(void *ctx)
{
  rp_engine *e = ctx;
  if (!atomic_exchange(&e->keeper.wal_due, true)) {
    rp__keeper_start(e);
    rp__keeper_poke(&e->keeper);
  }
}

/* The path of the database file: what follows "sqlite:", or the default place. NULL with *ret_memory for "memory:". */
static int database_path(const char *url, char **ret, bool *ret_memory, rp_error *err)
{
  if (!url || !*url) url = getenv("REPRISE_DB");
  *ret_memory = false;
  if (!url || !*url) {
    char *home RP_AUTOFREE = rp__home();
    if (!home)
      return rp__fail(err, RP_E_USAGE, "there is no home for the database: set REPRISE_HOME, REPRISE_DB or --db");
    *ret = rp__path_join(home, "reprise.db");
    return *ret ? 0 : rp__fail_nomem(err);
  }
  if (strcmp(url, "memory:") == 0) {
    *ret_memory = true;
    *ret = NULL;
    return 0;
  }
  if (strncmp(url, "sqlite:", 7) == 0 && url[7]) {
    *ret = strdup(url + 7);
    return *ret ? 0 : rp__fail_nomem(err);
  }
  if (strncmp(url, "postgres", 8) == 0)
    return rp__fail_field(err, RP_E_USAGE, "db", "PostgreSQL is not supported by this version: use sqlite:PATH");
  return rp__fail_field(err, RP_E_USAGE, "db", "'%s' is no database: use sqlite:PATH", url);
}

/*
 * The file itself, whatever links lead to it: SQLite names the log and its index after that, so everything that lies
 * beside the database must. Found out once, for a link may be pointed elsewhere meanwhile.
 */
static int resolve_path(char **path, rp_error *err)
{
  RP_AUTOFREE char *file = NULL, *real = NULL;
  size_t n = rp__store_path_length(*path);
  if (!(file = strndup(*path, n))) return rp__fail_nomem(err);
  int rc = rp__path_real(file, &real, err);
  if (rc) return rc;
  struct rp__buf whole RP_AUTOBUF = RP_BUF(65536);
  rp__buf_str(&whole, real);
  rp__buf_str(&whole, *path + n);
  char *got = rp__buf_take(&whole);
  if (!got) return rp__fail_nomem(err);
  free(*path);
  *path = got;
  return 0;
}

/* Who does not create must be told so before a folder, locks or a key are made beside a mistyped name. */
static int check_there(const rp_engine *e, rp_error *err)
{
  struct stat st;
  if (!e->read_only && !e->existing) return 0;
  RP_AUTOFREE char *file = strndup(e->path, rp__store_path_length(e->path));
  if (!file) return rp__fail_nomem(err);
  if (stat(file, &st) == 0 || (errno != ENOENT && errno != ENOTDIR)) return 0;
  rp__fail(err, RP_E_NO_STORE, "there is no store at %s", file);
  rp__hint(err, "check --db and REPRISE_DB; commands that begin something, such as 'reprise start', create a store");
  return RP_E_NO_STORE;
}

/* `<db>.runs`, beside the file. */
static int open_locks(rp_engine *e, rp_error *err)
{
  struct rp__buf name RP_AUTOBUF = RP_BUF(8192);
  rp__buf_add(&name, e->path, rp__store_path_length(e->path));
  rp__buf_str(&name, ".runs");
  if (name.err) return rp__fail_nomem(err);
  if (e->read_only) {
    rp__lockfile_look(&e->locks, name.p); /* who only looks can tell the living, too */
    return 0;
  }
  return rp__lockfile_open(&e->locks, name.p, err);
}

static void engine_free(rp_engine *e)
{
  rp__presence_free(e->presence);
  rp__slots_free(e);
  if (e->locks.fd >= 0) rp__lockfile_close(&e->locks);
  if (e->store) e->store->ops->close(e->store);
  while (e->keys) {
    struct rp__scope_key *k = e->keys;
    e->keys = k->next;
    rp__key_wipe(&k->key);
    free(k);
  }
  rp__tail_keys_done(&e->tail_keys);
  rp__forkguard_done(&e->guard);
  rp__config_free(e->config);
  rp__redactor_free(e->redactor);
  rp__documents_done(&e->documents);
  rp__fleet_free(e->fleet);
  pthread_mutex_destroy(&e->lock);
  free(e->path);
  free(e);
}

static rp_engine *engine_new(const rp_options *o)
{
  rp_engine *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->locks.fd = -1;
  rp__tail_keys_init(&e->tail_keys);
  e->clock = o->clock ? *o->clock : rp__system_clock;
  e->log = (struct rp__log){o->log, o->log_ctx};
  e->short_lived = o->short_lived;
  e->ends_process = o->ends_process;
  e->read_only = o->read_only;
  e->existing = o->existing;
  rp__metrics_init(&e->metrics);
  rp__documents_init(&e->documents);
  if (pthread_mutex_init(&e->lock, NULL)) {
    free(e);
    return NULL;
  }
  return e;
}

static bool debug_wanted(const char *name)
{
  const char *v = getenv(name);
  return v && *v && strcmp(v, "0") != 0;
}

/* What every engine needs whatever its store. */
static int engine_prepare(rp_engine *e, const rp_options *o, rp_error *err)
{
  if (sodium_init() < 0) return rp__fail(err, RP_E_FAILED, "libsodium can't be initialised");
  if (rp__forkguard_init(&e->guard)) return rp__fail_nomem(err);
  rp__hostname(e->host);
  e->debug = debug_wanted("REPRISE_DEBUG") || debug_wanted("CORTEX_SESSION_DEBUG");
  int rc = rp__proc_describe(0, &e->self, err);
  if (!rc) rc = rp__presence_new(&e->presence, err);
  if (!rc) rc = rp__config_load(o->config, &e->config, err);
  if (rc) return rc;
  /* Patterns of the user's own come from one file for all scopes. */
  const char *path = rp__config_of(e->config, NULL)->redact_patterns;
  struct rp__buf own RP_AUTOBUF = RP_BUF(PATTERNS_MAX);
  rc = *path ? rp__file_read(path, PATTERNS_MAX, &own, err) : 0;
  if (rc) return rp__wrap(err, "redact_patterns");
  rc = rp__redactor_new(*path ? own.p : NULL, &e->redactor, err);
  return rc && *path ? rp__wrap(err, "%s", path) : rc;
}

/* The store is there: the queue and the keeper. */
static int engine_ready(rp_engine *e, rp_engine **ret, rp_error *err)
{
  char *path RP_AUTOFREE = e->path ? strndup(e->path, rp__store_path_length(e->path)) : NULL;
  int rc = e->path && !path ? rp__fail_nomem(err) : rp__fleet_new(path, &e->fleet, err);
  if (rc) {
    engine_free(e);
    return rc;
  }
  rp__commitq_init(&e->queue, e->store, &e->changes, &e->outbox);
  rp__outbox_init(&e->outbox, e);
  if (rp__keeper_init(&e->keeper)) {
    rp__outbox_done(&e->outbox);
    rp__commitq_done(&e->queue);
    engine_free(e);
    return rp__fail_nomem(err);
  }
  *ret = e;
  return 0;
}

int rp__engine_open_with(const rp_options *options, struct rp__store *store, rp_engine **ret, rp_error *err)
{
  rp_options none = {0};
  rp_engine *e = engine_new(options ? options : &none);
  if (!e) {
    store->ops->close(store);
    return rp__fail_nomem(err);
  }
  e->store = store;
  int rc = engine_prepare(e, options ? options : &none, err);
  if (rc) {
    engine_free(e);
    return rc;
  }
  return engine_ready(e, ret, err);
}

int rp_open(const rp_options *options, rp_engine **ret, rp_error *err)
{
  rp_options own, *o = &own;
  bool memory = false;
  int rc = RP__OPTIONS(o, options, ends_process, err);
  if (rc) return rc;
  rp_engine *e = engine_new(o);
  if (!e) return rp__fail_nomem(err);
  rc = engine_prepare(e, o, err);
  if (!rc) rc = database_path(o->db, &e->path, &memory, err);
  if (!rc && !memory) rc = resolve_path(&e->path, err);
  if (!rc && !memory) rc = rp__own_files_config(e, err);
  if (!rc && !memory) rc = check_there(e, err);
  if (!rc) {
    struct rp__store_options with = {
        .path = e->path,
        .read_only = e->read_only,
        .existing = e->existing,
        .short_lived = e->short_lived,
        .clock = &e->clock,
        .self = &e->self,
        .log = e->log,
        .wal_grown = e->short_lived ? NULL : on_wal_grown,
        .ctx = e,
    };
    rc = e->path ? rp__store_sqlite_open(&with, &e->store, err) : rp__store_memory_open(&with, &e->store, err);
  }
  if (!rc && !memory) rc = open_locks(e, err);
  if (rc) {
    engine_free(e);
    return rc;
  }
  rc = engine_ready(e, ret, err);
  if (!rc) rp__unsaid_tell(e);
  if (!rc) rp__keeper_start(e); /* L-09: what was abandoned is looked for now, and from then on */
  return rc;
}

static void drain(rp_engine *e)
{
  rp__commitq_drain(&e->queue);
  rp__outbox_flush(&e->outbox);
}

void rp_close(rp_engine *e)
{
  static rp_engine *volatile left; /* keeps leak checkers from reporting an engine that is left to the system */
  if (!e) return;
  if (e->ends_process && e->short_lived && !rp__mirror_stores_wanted(e) && !atomic_load(&e->keeper.prune_due) &&
      e->store->ops->at_rest && e->store->ops->at_rest(e->store)) {
    (void)(left = e);
    return;
  }
  if (!rp__forkguard_same(&e->guard)) return; /* the parent's: its threads and locks are not ours to end */
  if (atomic_load(&e->keeper.prune_due)) RP_IGNORE(rp__keeper_prune(e, NULL)); /* the next one prunes */
  drain(e); /* what is told of a commit may still want the keeper */
  rp__keeper_done(e);
  /* What is stored from here on somebody else tells of. An engine that stored nothing has nothing to tell. */
  rp_error err = {0};
  pthread_mutex_lock(&e->queue.lock);
  bool stored = e->queue.txns > 0;
  pthread_mutex_unlock(&e->queue.lock);
  if ((!e->short_lived || stored) && rp__mirror_stores(e, true, &err) < 0)
    rp__log(&e->log, RP_LOG_WARN, "store_file: %s", err.message);
  rp__outbox_done(&e->outbox);
  rp__commitq_done(&e->queue);
  engine_free(e);
}

int rp_flush(rp_engine *e, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (!rc) drain(e);
  return rc;
}

int rp_config_get(rp_engine *e, const char *scope, const char *name, char **ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  const struct rp__option *option = name ? rp__config_option(name) : NULL;
  if (!option) return rp__fail_field(err, RP_E_USAGE, "name", "there is no option '%.60s'", name ? name : "");
  char *value = strdup(rp__config_text(e->config, scope, option));
  if (!value) return rp__fail_nomem(err);
  *ret = value;
  return 0;
}

int rp_config_number(rp_engine *e, const char *scope, const char *name, double *ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  const struct rp__option *option = name ? rp__config_option(name) : NULL;
  if (option && rp__option_number(option, rp__config_of(e->config, scope), ret)) return 0;
  return rp__fail_field(err, RP_E_USAGE, "name", "there is no option '%.60s' that is a number", name ? name : "");
}

int rp_config_ini(char **ret, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(256 * 1024);
  rp__config_sample(&out);
  return rp__text_give(&out, ret, err);
}

int rp_config_json(rp_engine *e, const char *scope, char **ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024 * 1024);
  struct rp__jw w = RP_JW(&out);
  rp__config_show(e->config, scope, &w);
  return rp__text_give(&out, ret, err);
}
