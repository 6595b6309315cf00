/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a plan beside the records: the scope's memories, and the newest event about each task of the scope. */
#include "engine/journal/derived-rows.h"
#include "engine/keep/memory.h"
#include "engine/start/restoration.h"
#include "facets/learnings.h"
#include "facets/words.h"
#include "store/search-words.h"

/* Memories that a start looks at: those learned, confirmed or recalled last, and those about the current topics. */
#define MEMORIES_FRESH 192
#define MEMORIES_ABOUT 64
#define MEMORIES_MAX (MEMORIES_FRESH + MEMORIES_ABOUT)

/* ---- memories ---- */

static void fact_done(struct rp__memory_fact *m)
{
  free((void *)(uintptr_t)m->memory_id);
  free((void *)(uintptr_t)m->content);
  free((void *)(uintptr_t)m->session_id);
  free((void *)(uintptr_t)m->categories);
}

void rp__restoration_drop_memories(struct rp__restoration *r)
{
  for (size_t i = 0; i < r->n_memories; i++) fact_done(&r->memories[i]);
  free(r->memories);
  r->memories = NULL;
  r->n_memories = 0;
}

/*
 * its age runs from the last time that it was learned, confirmed, corrected or recalled. A session that the next
 * start would close has learned it by its end, as one that has ended.
 */
static int64_t fresh_at(const struct rp__restoration *r, const struct rp__memory_row *row)
{
  const struct rp__ending *ending = rp__ending_of(&r->endings, row->session_id);
  int64_t learned_at = ending && ending->closes ? ending->end_ms : row->learned_at;
  return RP_MAX(learned_at, RP_MAX(row->updated_at, row->used_at));
}

static int on_memory(void *ctx, const struct rp__memory_row *row)
{
  struct rp__restoration *r = ctx;
  char *content, *categories;
  if (!r->memories && !(r->memories = calloc(MEMORIES_MAX, sizeof *r->memories))) return rp__fail_nomem(r->err);
  if (row->damaged) {
    rp__log(&r->e->log, RP_LOG_WARN, "memory %s of scope %s is damaged and left out", row->id, row->scope);
    return 0;
  }
  if (r->memories_of && strcmp(r->memories_of, row->session_id) != 0) return 0;
  if (r->memories_without && strcmp(r->memories_without, row->session_id) == 0) return 0;
  if (r->n_memories == MEMORIES_MAX) return 0;
  int rc = rp__memory_open(r->key, row, &content, &categories, r->err);
  if (rc) return rc;
  size_t i = 0; /* what was remembered twice is told once, with the better score */
  while (i < r->n_memories && strcmp(r->memories[i].content, content) != 0) i++;
  struct rp__memory_fact *m = &r->memories[i];
  if (i < r->n_memories && row->confidence <= m->confidence) {
    free(content);
    free(categories);
    return 0;
  }
  if (i < r->n_memories)
    fact_done(m);
  else
    r->n_memories++;
  *m = (struct rp__memory_fact){.memory_id = strdup(row->id),
                                .content = content,
                                .session_id = strdup(row->session_id),
                                .confidence = row->confidence,
                                .fresh_at = fresh_at(r, row),
                                .categories = categories,
                                .uses = row->uses};
  return m->memory_id && m->session_id ? 0 : rp__fail_nomem(r->err);
}

static struct rp__read memories_reading(struct rp__restoration *r, const struct rp__memory_filter *f)
{
  return (struct rp__read){.type = RP_READ_MEMORIES, .ctx = r, .u.memories = {.filter = *f, .fn = on_memory}};
}

struct rp__read rp__restoration_memories_of(struct rp__restoration *r, const char *session_id)
{
  r->memories_of = session_id;
  return memories_reading(r, &(struct rp__memory_filter){.scope = r->scope});
}

size_t rp__restoration_memories(struct rp__restoration *r, const char *channel, struct rp__read *reads)
{
  struct rp__memory_filter f = {.scope = r->scope, .fresh = true, .channel = channel, .limit = MEMORIES_FRESH};
  struct rp__words topics = rp__words(rp__str(r->topics ? r->topics : ""));
  struct rp__word w;
  size_t n = 0, at = 0;
  reads[n++] = memories_reading(r, &f);
  for (size_t i = 0; i < RP_TERMS_MAX && rp__words_next(&topics, &w); i++)
    at += (size_t)snprintf(r->topic_words + at, sizeof r->topic_words - at, "%s%s", at ? " " : "", w.text);
  if (!at || r->key) return n; /* a sealed scope has no full text */
  f.words = r->topic_words;
  f.limit = MEMORIES_ABOUT;
  reads[n++] = memories_reading(r, &f);
  return n;
}

void rp__restoration_drop_known(struct rp__restoration *r, size_t last)
{
  const struct rp__rows *learned = rp__rows_of(r->state, &rp__facet_learnings);
  size_t from = learned->count > last ? learned->count - last : 0, kept = 0;
  for (size_t i = 0; i < r->n_memories; i++) {
    const struct rp__memory_fact *m = &r->memories[i];
    bool known = false;
    for (size_t k = from; k < learned->count && !known; k++)
      known = rp__json_eq(rp__row_cell(learned->v[k], RP_LEARNING_MEMORY_ID), m->memory_id) ||
              rp__json_eq(rp__row_cell(learned->v[k], RP_LEARNING_CONTENT), m->content);
    if (known)
      fact_done(&r->memories[i]);
    else
      r->memories[kept++] = r->memories[i];
  }
  r->n_memories = kept;
}

/* ---- tasks ---- */

/* The scope's newest word on a task that a restored record tells of. */
struct rp__known_task {
  char *id;
  struct rp__task_row row;
  bool found;
  struct rp__task_word word;
  const struct rp__key *key;
};

void rp__restoration_drop_tasks(struct rp__restoration *r)
{
  for (size_t i = 0; i < r->n_tasks; i++) {
    free(r->tasks[i].id);
    free(r->tasks[i].word.title);
    free(r->tasks[i].word.stage);
  }
  free(r->tasks);
  r->tasks = NULL;
  r->n_tasks = 0;
}

/* The event it was said in. */
static int on_word(void *ctx, const struct rp__event_row *row)
{
  struct rp__known_task *t = ctx;
  struct rp__buf plain RP_AUTOBUF = RP_BUF(2 * RP_BODY_MAX);
  struct rp__str body = {row->body, row->body_len};
  if (row->sealed && rp__unseal(t->key, rp__str(t->row.session_id), body.p, body.n, &plain, NULL)) return 0;
  if (row->sealed) body = (struct rp__str){plain.p, plain.n};
  struct rp__json said = rp__json_trusted(body.p, body.n);
  t->word.title = rp__json_dup(rp__json_get(said, "title"));
  t->word.stage = rp__json_dup(rp__json_get(said, "stage"));
  return 0;
}

static int by_id(const void *a, const void *b)
{
  return strcmp(((const struct rp__known_task *)a)->id, ((const struct rp__known_task *)b)->id);
}

/* The ids of all tasks of the records that come back, each once. */
static int gather(struct rp__restoration *r, rp_error *err)
{
  size_t n_from, total = 0, n = 0;
  const struct rp__candidate *const *from = rp__plan_restored(r->plan, &n_from);
  for (size_t i = 0; i < n_from; i++)
    total += rp__json_count(rp__json_get(from[i]->record, rp__record_names[RP_PART_TASKS]));
  if (!total) return 0;
  r->tasks = calloc(total, sizeof *r->tasks);
  if (!r->tasks) return rp__fail_nomem(err);
  for (size_t i = 0; i < n_from; i++) {
    struct rp__json_iter it = {0};
    struct rp__json task;
    while (rp__json_next(rp__json_get(from[i]->record, rp__record_names[RP_PART_TASKS]), &it, NULL, &task)) {
      r->tasks[r->n_tasks].key = r->key;
      if (!(r->tasks[r->n_tasks++].id = rp__json_dup(rp__json_get(task, "task_id")))) return rp__fail_nomem(err);
    }
  }
  qsort(r->tasks, r->n_tasks, sizeof *r->tasks, by_id);
  for (size_t i = 0; i < r->n_tasks; i++) {
    if (n && strcmp(r->tasks[n - 1].id, r->tasks[i].id) == 0)
      free(r->tasks[i].id);
    else
      r->tasks[n++] = r->tasks[i];
  }
  r->n_tasks = n;
  return 0;
}

int rp__restoration_tasks(struct rp__restoration *r, rp_error *err)
{
  struct rp__store *store = r->e->store;
  int rc = gather(r, err);
  if (rc || !r->n_tasks) return rc;
  struct rp__read *reads RP_AUTOFREE = calloc(r->n_tasks, sizeof *reads);
  size_t n = 0;
  if (!reads) return rp__fail_nomem(err);
  for (size_t i = 0; i < r->n_tasks; i++)
    reads[i] = (struct rp__read){.type = RP_READ_TASK,
                                 .u.task = {.scope = r->scope,
                                            .hash = rp__task_hash(r->key, r->tasks[i].id),
                                            .ret = &r->tasks[i].row,
                                            .ret_found = &r->tasks[i].found}};
  rc = rp__engine_read(r->e, reads, r->n_tasks, err);
  for (size_t i = 0; !rc && i < r->n_tasks; i++) {
    struct rp__known_task *t = &r->tasks[i];
    if (!t->found) continue;
    t->word = (struct rp__task_word){.known = true, .open = t->row.open, .at_ms = t->row.at_ms};
    reads[n++] = (struct rp__read){.type = RP_READ_EVENTS,
                                   .ctx = t,
                                   .u.events = {.range = {.session_ref = t->row.session_ref,
                                                          .session_id = t->row.session_id,
                                                          .after = t->row.seq - 1,
                                                          .limit = 1},
                                                .fn = on_word}};
  }
  /* Words that can't be read are gone; what they came to is known. */
  if (!rc && n) (void)store->ops->read(store, reads, n, NULL);
  return rc;
}

static int task_word(void *ctx, const char *task_id, struct rp__task_word *ret)
{
  struct rp__restoration *r = ctx;
  struct rp__known_task wanted = {.id = (char *)(uintptr_t)task_id};
  struct rp__known_task *t = r->n_tasks ? bsearch(&wanted, r->tasks, r->n_tasks, sizeof *t, by_id) : NULL;
  if (!t) return 0;
  *ret = t->word;
  t->word.title = t->word.stage = NULL;
  return 0;
}

struct rp__plan_sources rp__restoration_sources(struct rp__restoration *r)
{
  return (struct rp__plan_sources){
      .task_word = task_word, .ctx = r, .memories = r->memories, .n_memories = r->n_memories, .topics = r->topics};
}
