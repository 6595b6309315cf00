/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of continuity do over and over: write an event, end, look at the log, at rows and at bytes. */
#ifndef TEST_ENGINE_LIFE_H
#define TEST_ENGINE_LIFE_H

#include <dirent.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "unit/engine/rig.h"

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static inline void put(rp_session *s, const char *kind, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = kind, .body = body};
  if (rp_append(s, &ev, NULL, NULL, &err)) fail_msg("%s %s: %s", kind, body, err.message);
}

static inline void pin(rp_session *s, const char *label, const char *content)
{
  char body[1024];
  snprintf(body, sizeof body, "{\"label\":\"%s\",\"content\":\"%s\"}", label, content);
  put(s, "pin", body);
}

static inline void end(rp_session *s)
{
  rp_error err = {0};
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
}

static inline const char *start_get(const rp_session *s, const char *path)
{
  return rig_get(rp_start_json(s), path);
}

static inline void id_of(const rp_session *s, char out[RP_ID_MAX + 1])
{
  snprintf(out, RP_ID_MAX + 1, "%s", rp_session_id(s));
}

/* One member of the session's state, in rig_get's buffer. */
static inline const char *state_get(rp_session *s, const char *path)
{
  char *doc = rig_state(s, -1);
  const char *hit = rig_get(doc, path);
  free(doc);
  return hit;
}

/* Opens the engine again with an option set, as a user's environment would have it. */
static inline void reopen_with(struct rig *r, const char *name, const char *value)
{
  setenv(name, value, 1);
  rig_reopen(r);
  unsetenv(name);
}

/* How often a text occurs. */
static inline int times(const char *text, const char *word)
{
  int n = 0;
  for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) n++;
  return n;
}

/* ---- the audit log ---- */

struct audit_search {
  const char *event;
  int n;
  char fields[4096]; /* of the last one */
};

static inline int on_audit(void *ctx, const rp_audit_info *a)
{
  struct audit_search *x = ctx;
  if (strcmp(a->event, x->event) != 0) return 0;
  x->n++;
  snprintf(x->fields, sizeof x->fields, "%s", a->fields ? a->fields : "");
  return 0;
}

static inline struct audit_search audited(struct rig *r, const char *scope, const char *event)
{
  struct audit_search x = {.event = event};
  rp_error err = {0};
  OK(rp_audit(r->e, scope, 0, 0, on_audit, &x, &err), err);
  return x;
}

/* ---- rows ---- */

static inline sqlite3 *sql_open(struct rig *r)
{
  sqlite3 *db;
  assert_int_equal(sqlite3_open(r->url + strlen("sqlite:"), &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 5000);
  return db;
}

static inline void sql_run(struct rig *r, const char *sql)
{
  sqlite3 *db = sql_open(r);
  char *why = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
  sqlite3_close(db);
}

/* The first column of the first row as text, "" for none; freed by the caller. */
static inline char *sql_text(struct rig *r, const char *sql)
{
  sqlite3 *db = sql_open(r);
  sqlite3_stmt *q;
  if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  const char *text = sqlite3_step(q) == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
  char *copy = strdup(text ? text : "");
  assert_non_null(copy);
  sqlite3_finalize(q);
  sqlite3_close(db);
  return copy;
}

static inline int64_t sql_number(struct rig *r, const char *sql)
{
  char *text = sql_text(r, sql);
  int64_t n = strtoll(text, NULL, 10);
  free(text);
  return n;
}

/* ---- bytes ---- */

/* The whole file with a NUL behind it, or NULL; freed by the caller. */
static inline char *slurp(const char *path, size_t *ret_n)
{
  struct stat st;
  FILE *f = fopen(path, "rb");
  if (!f || fstat(fileno(f), &st)) return NULL;
  char *bytes = malloc((size_t)st.st_size + 1);
  assert_non_null(bytes);
  *ret_n = fread(bytes, 1, (size_t)st.st_size, f);
  bytes[*ret_n] = 0;
  fclose(f);
  return bytes;
}

/* The path of a file below the folder that holds the needle, in a static buffer, or NULL. */
static inline const char *held_by(const char *dir, const char *needle)
{
  static char found[SCRATCH_PATH * 2];
  const char *hit = NULL;
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *entry; !hit && (entry = readdir(d));) {
    char path[SCRATCH_PATH * 2];
    struct stat st;
    size_t n;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
    if (stat(path, &st)) continue;
    if (S_ISDIR(st.st_mode)) {
      hit = held_by(path, needle);
      continue;
    }
    char *bytes = slurp(path, &n);
    if (bytes && memmem(bytes, n, needle, strlen(needle))) {
      snprintf(found, sizeof found, "%s", path);
      hit = found;
    }
    free(bytes);
  }
  closedir(d);
  return hit;
}

#endif
