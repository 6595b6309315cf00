/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cycle of continuity: a session that pins, plans, learns and feels, its end with a record, a successor that takes
 * it all over, continuing, the log, redaction and retention. Whatever call fails, a start fails with a code of the
 * table or starts and says what is missing, and the log stays whole.
 */
#include <stdio.h>
#include <string.h>

#include "cycle.h"
#include "lib/rig.h"

#define SCOPE "fault"
#define WORD "correct horse battery staple"

static int step_open(struct cycle *c, rp_error *err)
{
  if (c->engine) return 0;
  return c->open ? c->open(c, err) : rig_open(c->url, c->threads, &c->engine, err);
}

static int start_as(struct cycle *c, const char *id, rp_error *err)
{
  rp_start_options o = {
      .scope = SCOPE, .id = id, .owner = RP_OWNER_SELF, .topics = "radio,bridge", .meta = "{\"video_id\":\"v1\"}"};
  rp_session_free(c->session);
  c->session = NULL;
  return rp_start(c->engine, &o, &c->session, err);
}

static int step_start(struct cycle *c, rp_error *err)
{
  return start_as(c, "first", err);
}

static int put(struct cycle *c, const char *kind, const char *body, const char *key, rp_error *err)
{
  rp_event ev = {.kind = kind, .body = body, .idempotency_key = key};
  return rp_append(c->session, &ev, NULL, NULL, err);
}

static int step_pin(struct cycle *c, rp_error *err)
{
  return put(c, "pin", "{\"label\":\"radio\",\"content\":\"CRITICAL: the phrase is " WORD "\"}", "pin", err);
}

static int step_task(struct cycle *c, rp_error *err)
{
  return put(c, "task", "{\"task_id\":\"task-7\",\"title\":\"The bridge\",\"stage\":\"build\"}", "task", err);
}

static int step_remember(struct cycle *c, rp_error *err)
{
  return rp_remember(c->session, "The antenna is on the roof", 0.9, "radio,roof", NULL, err);
}

static int step_feel(struct cycle *c, rp_error *err)
{
  int rc = put(c, "emotion", "{\"event\":\"violence\"}", "feel", err);
  return rc ? rc : put(c, "message", "{\"role\":\"user\",\"content\":\"" WORD "\"}", "said", err);
}

static int step_blob(struct cycle *c, rp_error *err)
{
  char id[RP_BLOB_ID_MAX + 1], body[RP_BLOB_ID_MAX + 32];
  int rc = rp_blob_put(c->session, "it is " WORD, strlen("it is " WORD), id, err);
  snprintf(body, sizeof body, "{\"blob\":\"%s\"}", rc ? "" : id);
  return rc ? rc : put(c, "x-blob", body, "blob", err);
}

static int step_end(struct cycle *c, rp_error *err)
{
  return rp_end(c->session, "done", err);
}

/* Who restores nothing says why; who says nothing has restored. */
static int step_successor(struct cycle *c, rp_error *err)
{
  int rc = start_as(c, "second", err);
  if (rc != 0) return rc;
  const char *doc = rp_start_json(c->session);
  bool resumed = strstr(doc, "\"resumed\":true") != NULL, warned = strstr(doc, "\"warnings\":[]") == NULL;
  if (resumed || warned || strstr(doc, "\"pins\":1,\"tasks\":1")) return 0;
  fprintf(stderr, "neither restored nor warned: %s\n", doc);
  return err->code = 1;
}

static int step_brief(struct cycle *c, rp_error *err)
{
  char *doc;
  rp_brief_options o = {.scope = SCOPE, .explain = true};
  int rc = rp_brief(c->session, true, &doc, err);
  if (rc != 0) return rc;
  rp_free(doc);
  rc = rp_brief_scope(c->engine, &o, &doc, err);
  if (rc == 0) rp_free(doc);
  return rc;
}

/* What a start would tell of a session that nobody ended. */
static int step_preview(struct cycle *c, rp_error *err)
{
  char *doc;
  rp_session *left = NULL;
  rp_start_options start = {.scope = "left", .id = "left", .owner = RP_OWNER_SELF};
  rp_event ev = {.kind = "task",
                 .body = "{\"task_id\":\"task-8\",\"title\":\"Left\",\"stage\":\"build\"}",
                 .idempotency_key = "task"};
  rp_brief_options o = {.scope = "left"};
  int rc = rp_start(c->engine, &start, &left, err);
  if (rc == 0) rc = rp_append(left, &ev, NULL, NULL, err);
  rp_session_free(left);
  if (rc == 0) rc = rp_brief_scope(c->engine, &o, &doc, err);
  if (rc == 0) rp_free(doc);
  return rc;
}

static int step_continue(struct cycle *c, rp_error *err)
{
  char *doc;
  int rc = rp_continue(c->session, "first", "the tester", &doc, err);
  if (rc == 0) rp_free(doc);
  return rc;
}

static int see_memory(void *ctx, const rp_memory_info *m)
{
  (void)m;
  ++*(int *)ctx;
  return 0;
}

static int step_memories(struct cycle *c, rp_error *err)
{
  int n = 0;
  return rp_memories(c->engine, SCOPE, "antenna", 5, see_memory, &n, err);
}

static int step_audit(struct cycle *c, rp_error *err)
{
  char *doc;
  int rc = rp_audit_verify(c->engine, NULL, NULL, &doc, err);
  if (rc == 0) rp_free(doc);
  return rc;
}

static int step_chain(struct cycle *c, rp_error *err)
{
  char *doc;
  int rc = rp_chain_json(c->engine, "second", 5, &doc, err);
  if (rc == 0) rp_free(doc);
  return rc;
}

static int step_status(struct cycle *c, rp_error *err)
{
  char *run = NULL, *latest = NULL, *used = NULL;
  int rc = rp_session_status_json(c->engine, "second", NULL, &run, err);
  if (rc == 0) rc = rp_session_status_json(c->engine, NULL, SCOPE, &latest, err);
  if (rc == 0) rc = rp_usage_json(c->session, &used, err);
  rp_free(run);
  rp_free(latest);
  rp_free(used);
  return rc;
}

/* Whether a file holds the word; it is read in overlapping pieces. */
static bool file_holds(const char *path)
{
  static char bytes[1 << 16];
  size_t kept = 0, n;
  bool found = false;
  FILE *f = fopen(path, "rb");
  while (f && !found && (n = fread(bytes + kept, 1, sizeof(bytes) - kept, f)) > 0) {
    n += kept;
    found = memmem(bytes, n, WORD, strlen(WORD)) != NULL;
    kept = n < strlen(WORD) ? n : strlen(WORD);
    memmove(bytes, bytes + n - kept, kept);
  }
  if (f) fclose(f);
  return found;
}

/* Both have it, for the second inherited it. After a failure and another try no byte is left either. */
static int step_redact(struct cycle *c, rp_error *err)
{
  static const char *const names[] = {"first", "second"}, *const files[] = {"f.db", "f.db-wal", "sessions/first.json"};
  char *doc, path[700];
  for (size_t i = 0; i < 2; i++) {
    int rc = rp_redact_session(c->engine, names[i], WORD, false, NULL, NULL, &doc, err);
    if (rc != 0) return rc;
    rp_free(doc);
  }
  for (size_t i = 0; i < 3; i++) {
    const char *dir = strchr(c->url, ':') + 1;
    snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(dir, '/') - dir), dir, files[i]);
    if (!file_holds(path)) continue;
    fprintf(stderr, "%s: %s still holds it\n", c->trace, path);
    return err->code = 1;
  }
  return 0;
}

static int see_item(void *ctx, const rp_gc_item *item)
{
  (void)item;
  ++*(int *)ctx;
  return 0;
}

static int step_gc(struct cycle *c, rp_error *err)
{
  char *doc;
  int n = 0;
  rp_gc_options o = {.older_than_ms = 1};
  int rc = rp_gc(c->engine, &o, see_item, &n, NULL, NULL, &doc, err);
  if (rc == 0) rp_free(doc);
  return rc;
}

static int one_more(void *ctx, const rp_token_info *t)
{
  (void)t;
  ++*(int *)ctx;
  return 0;
}

/* A token that was given opens, whatever fails behind it, until it is revoked (C-02). */
static int step_token(struct cycle *c, rp_error *err)
{
  char *text = NULL;
  int n = 0;
  int rc = rp_token_create(c->engine, &(rp_token_options){.name = "fault", .scope = SCOPE}, &text, err);
  if (rc == 0) rc = rp_token_check(c->engine, text, one_more, &n, err);
  if (rc == 0 && n != 1) rc = err->code = 1;
  if (rc == 0) rc = rp_token_revoke(c->engine, text, err);
  rp_free(text);
  if (rc == RP_E_UNAUTHORIZED) fprintf(stderr, "a good token was refused: %s\n", err->message);
  return rc == RP_E_UNAUTHORIZED ? err->code = 1 : rc;
}

const struct cycle_step cycle_continuity[] = {
    {"open", step_open, 0},
    {"start", step_start, 0},
    {"pin", step_pin, 0},
    {"task", step_task, 0},
    {"remember", step_remember, 0},
    {"feel", step_feel, 0},
    {"blob", step_blob, 0},
    {"end", step_end, RP_E_ENDED},
    {"successor", step_successor, 0},
    {"brief", step_brief, 0},
    {"preview", step_preview, 0},
    {"continue", step_continue, 0},
    {"memories", step_memories, 0},
    {"chain", step_chain, 0},
    {"status", step_status, 0},
    {"token", step_token, 0},
    {"audit", step_audit, 0},
    {"redact", step_redact, 0},
    {"end of the second", step_end, RP_E_ENDED},
    {"gc", step_gc, 0},
    {"audit again", step_audit, 0},
    {NULL, NULL, 0},
};
