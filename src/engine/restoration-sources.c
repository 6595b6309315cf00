/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan is given beside the records: the scope's memories, and its newest word on each task. */
#include "engine/derive.h"
#include "engine/memory.h"
#include "engine/restoration.h"

#define MEMORIES_MAX 256

/* ---- memories ---- */

static void fact_done(struct rp__memory_fact *m)
{
  free((void *)(uintptr_t)m->memory_id);
  free((void *)(uintptr_t)m->content);
  free((void *)(uintptr_t)m->session_id);
}

void rp__restoration_drop_memories(struct rp__restoration *r)
{
  for (size_t i = 0; i < r->n_memories; i++) fact_done(&r->memories[i]);
  free(r->memories);
  r->memories = NULL;
  r->n_memories = 0;
}

struct memory_scan {
  struct rp__restoration *r;
  const struct rp__key *key;
  const char *session_id; /* only what this session learned, or NULL */
  rp_error *err;
};

/* A session that the next start would close has learned it by its end, as one that has ended. */
static int64_t learned_at(const struct rp__restoration *r, const struct rp__memory_row *row)
{
  const struct rp__ending *ending = rp__ending_of(&r->endings, row->session_id);
  return ending && ending->closes ? ending->end_ms : row->learned_at;
}

static int on_memory(void *ctx, const struct rp__memory_row *row)
{
  struct memory_scan *x = ctx;
  struct rp__restoration *r = x->r;
  char *content, *categories;
  if (row->damaged) {
    rp__log(&r->e->log, RP_LOG_WARN, "memory %s of scope %s is damaged and left out", row->id, row->scope);
    return 0;
  }
  if (x->session_id && strcmp(x->session_id, row->session_id) != 0) return 0;
  if (r->n_memories == MEMORIES_MAX) return 0;
  int rc = rp__memory_open(x->key, row, &content, &categories, x->err);
  if (rc) return rc;
  free(categories);
  for (size_t i = 0; i < r->n_memories; i++) { /* what was remembered twice is told once, with the better score */
    if (strcmp(r->memories[i].content, content) != 0) continue;
    free(content);
    return 0;
  }
  struct rp__memory_fact *m = &r->memories[r->n_memories];
  *m = (struct rp__memory_fact){.memory_id = strdup(row->id),
                                .content = content,
                                .session_id = strdup(row->session_id),
                                .confidence = row->confidence,
                                .learned_at = learned_at(r, row)};
  r->n_memories++;
  return m->memory_id && m->session_id ? 0 : rp__fail_nomem(x->err);
}

int rp__restoration_memories(struct rp__restoration *r, const char *session_id, rp_error *err)
{
  struct memory_scan x = {.r = r, .session_id = session_id, .err = err};
  struct rp__memory_filter f = {.scope = r->scope, .limit = session_id ? 0 : MEMORIES_MAX};
  r->memories = calloc(MEMORIES_MAX, sizeof *r->memories);
  if (!r->memories) return rp__fail_nomem(err);
  int rc = rp__scope_key(r->e, r->scope, &x.key, err);
  return rc ? rc : r->e->store->ops->memory_list(r->e->store, &f, on_memory, &x, err);
}

static bool is_known(const struct rp__memory_fact *m, struct rp__json learnings, size_t skip)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (rp__json_next(learnings, &it, NULL, &v)) {
    if (skip && skip--) continue;
    if (rp__json_eq(rp__json_get(v, "memory_id"), m->memory_id)) return true;
    if (rp__json_eq(rp__json_get(v, "content"), m->content)) return true;
  }
  return false;
}

void rp__restoration_drop_known(struct rp__restoration *r, struct rp__json learnings, size_t last)
{
  size_t n = rp__json_count(learnings), skip = n > last ? n - last : 0, kept = 0;
  for (size_t i = 0; i < r->n_memories; i++) {
    if (is_known(&r->memories[i], learnings, skip))
      fact_done(&r->memories[i]);
    else
      r->memories[kept++] = r->memories[i];
  }
  r->n_memories = kept;
}

/* ---- tasks ---- */

static int on_word(void *ctx, const struct rp__event *ev)
{
  struct rp__task_word *w = ctx;
  w->title = rp__json_dup(rp__json_get(ev->body, "title"));
  w->stage = rp__json_dup(rp__json_get(ev->body, "stage"));
  return 0;
}

/* The scope's newest word on a task, read from the journal it was said in. */
static int task_word(void *ctx, const char *task_id, struct rp__task_word *ret)
{
  struct rp__restoration *r = ctx;
  const struct rp__key *key = NULL;
  struct rp__task_row row;
  struct rp__session_row session = {0};
  rp_session *s = NULL;
  bool found = false;
  int rc = rp__scope_key(r->e, r->scope, &key, r->err);
  if (!rc) rc = r->e->store->ops->task_get(r->e->store, r->scope, rp__task_hash(key, task_id), &row, &found, r->err);
  if (rc || !found) return rc;
  ret->known = true;
  ret->open = row.open;
  ret->at_ms = row.at_ms;
  rc = r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, row.session_id, &session, NULL);
  if (rc) return 0; /* its words are gone, what they came to is known */
  if (!rp__session_open(r->e, &session, 0, &s, NULL)) {
    rp__journal_read(s, row.seq - 1, row.seq, on_word, ret, NULL);
    rp__session_unref(s);
  }
  rp__session_row_done(&session);
  return 0;
}

struct rp__plan_sources rp__restoration_sources(struct rp__restoration *r)
{
  return (struct rp__plan_sources){
      .task_word = task_word, .ctx = r, .memories = r->memories, .n_memories = r->n_memories};
}
