/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of sessions that have subscribers (C-10). A list has the last known document of a scope's newest sessions,
 * which a scan lists, and of older sessions whose journals grew since. The items are in the order of their last change,
 * and each change has a number of its own. Removed items stay for a while, for subscribers that were not told yet.
 */
#include "server/live/hub.h"
#include "base/ticks.h"

#define REMOVED_TEXT (6 * RP_ID_MAX + 64)

struct scan {
  struct rp__task task;
  struct rp__job job;
  struct rp__session_list *roll;
  struct rp__session_list_item **items;
  size_t n, bytes;
  bool more;                            /* sessions than were listed */
  int64_t oldest;                       /* number of the last one listed */
  int64_t cursor;                       /* the roll's, moved on when all went well */
  struct rp__session_list_item **older; /* sessions below `oldest` */
  size_t n_older;
  int64_t *number; /* of those to be looked at */
  size_t n_numbers, cap;
  bool behind; /* more has changed than was looked at */
  int rc;
  int64_t us;
};

/* ---- items ---- */

static struct rp__session_list_item **place_of(struct rp__session_list *r, const char *id)
{
  uint32_t h = 2166136261u;
  for (const char *p = id; *p; p++) h = (h ^ (unsigned char)*p) * 16777619u;
  struct rp__session_list_item **at = &r->bucket[h % RP_LIVE_ROLL_BUCKETS];
  while (*at && strcmp((*at)->id, id) != 0) at = &(*at)->chain;
  return at;
}

static void item_free(struct rp__session_list_item *it)
{
  if (!it) return;
  rp_free(it->json);
  free(it);
}

static void unlink_item(struct rp__session_list *r, struct rp__session_list_item *it)
{
  *(it->prev ? &it->prev->next : &r->first) = it->next;
  *(it->next ? &it->next->prev : &r->last) = it->prev;
}

static void link_last(struct rp__session_list *r, struct rp__session_list_item *it)
{
  it->stamp = ++r->stamp;
  it->next = NULL;
  it->prev = r->last;
  *(r->last ? &r->last->next : &r->first) = it;
  r->last = it;
}

static void drop(struct rp__session_list *r, struct rp__session_list_item *it)
{
  *place_of(r, it->id) = it->chain;
  unlink_item(r, it);
  if (it->removed) r->n_removed--;
  item_free(it);
}

/* ---- a scan, by a reader ---- */

static int item_new(const rp_session_info *info, struct rp__session_list_item **ret)
{
  struct rp__session_list_item *it = calloc(1, sizeof *it);
  if (!it) return RP_E_NOMEM;
  snprintf(it->id, sizeof it->id, "%s", info->id);
  it->open = info->ended_at == 0;
  it->number = info->number;
  int rc = rp_session_json(info, &it->json, NULL);
  if (rc) {
    free(it);
    return rc;
  }
  it->n = strlen(it->json);
  *ret = it;
  return 0;
}

static int on_session(void *ctx, const rp_session_info *info)
{
  struct scan *s = ctx;
  if (s->n == RP_LIVE_ROLL_SESSIONS || s->bytes >= RP_LIVE_ROLL_BYTES) {
    s->more = true;
    return 1;
  }
  int rc = item_new(info, &s->items[s->n]);
  if (rc) return rc;
  s->oldest = info->number;
  s->bytes += s->items[s->n]->n + sizeof *s->items[s->n];
  s->n++;
  return 0;
}

/* ---- … of those that are older than the list goes ---- */

static int note_number(struct scan *s, int64_t number)
{
  if (s->n_numbers == s->cap) {
    size_t cap = s->cap ? s->cap * 2 : 64;
    void *p = reallocarray(s->number, cap, sizeof *s->number);
    if (!p) return RP_E_NOMEM;
    s->number = p;
    s->cap = cap;
  }
  s->number[s->n_numbers++] = number;
  return 0;
}

static int on_change(void *ctx, int64_t number, int64_t seq)
{
  struct scan *s = ctx;
  (void)seq;
  return number < s->oldest ? note_number(s, number) : 0;
}

static int by_number(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static int on_older(void *ctx, const rp_session_info *info)
{
  struct scan *s = ctx;
  const char *scope = s->roll->scope;
  if (info->trashed_at || (scope[0] && strcmp(scope, info->scope) != 0)) return 0;
  int rc = item_new(info, &s->older[s->n_older]);
  if (!rc) s->n_older++;
  return rc;
}

/* What grew since the last scan, and those that were asked for. */
static int look_at_older(struct scan *s, rp_engine *e)
{
  int64_t before = s->cursor - RP_LIVE_ROLL_CHANGES;
  while (s->more && s->cursor - before >= RP_LIVE_ROLL_CHANGES && s->n_numbers <= RP_LIVE_ROLL_WOKEN) {
    before = s->cursor;
    int rc = rp_changes(e, &s->cursor, RP_LIVE_ROLL_CHANGES, on_change, s, NULL);
    if (rc) return rc;
  }
  s->behind = s->more && s->cursor - before >= RP_LIVE_ROLL_CHANGES;
  if (!s->n_numbers) return 0;
  qsort(s->number, s->n_numbers, sizeof *s->number, by_number);
  s->older = calloc(s->n_numbers, sizeof(struct rp__session_list_item *));
  if (!s->older) return RP_E_NOMEM;
  for (size_t i = 0; i < s->n_numbers; i++) {
    bool twice = i && s->number[i] == s->number[i - 1];
    int rc = twice || s->number[i] >= s->oldest ? 0 : rp_show_number(e, s->number[i], on_older, s, NULL);
    if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  }
  return 0;
}

static void scan_free(struct scan *s)
{
  for (size_t i = 0; i < s->n; i++) item_free(s->items[i]);
  for (size_t i = 0; i < s->n_older; i++) item_free(s->older[i]);
  free(s->items);
  free(s->older);
  free(s->number);
  free(s);
}

static void scan_run(struct rp__task *t)
{
  struct scan *s = (struct scan *)(void *)t;
  struct rp__live *l = s->roll->l;
  const char *scope = s->roll->scope[0] ? s->roll->scope : NULL;
  rp_filter f = {.scope = scope, .limit = RP_LIVE_ROLL_SESSIONS + 1};
  int64_t began = rp__ticks_us(), now = -1;
  /* Taken before the list is read: nothing falls between the two. */
  s->rc = rp_changes(l->srv->engine, &now, 0, on_change, s, NULL);
  if (!s->rc) s->rc = rp_list(l->srv->engine, &f, on_session, s, NULL);
  if (s->rc > 0) s->rc = 0;
  if (!s->more || s->cursor < 0) s->cursor = now;
  if (!s->rc) s->rc = look_at_older(s, l->srv->engine);
  s->us = rp__ticks_us() - began;
  if (!rp__loop_post(l->srv->loop, &s->job)) scan_free(s);
}

static void on_scan(struct rp__job *job);

/* Who has not heard yet of the ones that are kept no more begins anew. */
static int ask_for_older(struct rp__session_list *r, struct scan *s)
{
  struct rp__session_list_item *before;
  size_t n = 0;
  for (struct rp__session_list_item *it = r->last; it; it = before) {
    before = it->prev;
    if (!it->older || it->removed) continue;
    if (n++ < RP_LIVE_ROLL_SESSIONS) {
      it->asked = true;
      if (note_number(s, it->number)) return RP_E_NOMEM;
    } else {
      r->forgotten = RP_MAX(r->forgotten, it->stamp);
      drop(r, it);
    }
  }
  return 0;
}

void rp__session_list_scan(struct rp__session_list *r)
{
  struct scan *s = calloc(1, sizeof *s);
  if (s) s->items = calloc(RP_LIVE_ROLL_SESSIONS, sizeof(struct rp__session_list_item *));
  if (!s || !s->items || ask_for_older(r, s)) {
    if (s) scan_free(s);
    return;
  }
  s->cursor = r->cursor;
  s->task.fn = scan_run;
  s->job.fn = on_scan;
  s->roll = r;
  int64_t commits = atomic_load(&r->l->commits);
  if (!rp__pool_post(r->l->readers, &s->task)) {
    scan_free(s);
    return;
  }
  r->commits = commits;
  r->scanning = true;
  r->pins++;
}

/* ---- what is new ---- */

/* Returns the rank it had in the list, or SIZE_MAX for one that is new there. */
static size_t merge(struct rp__session_list *r, struct rp__session_list_item *new, size_t rank, bool older)
{
  struct rp__session_list_item **at = place_of(r, new->id), *it = *at;
  if (!it) {
    new->rank = rank;
    new->seen = true;
    new->older = older;
    *at = new;
    link_last(r, new);
    return SIZE_MAX;
  }
  size_t before = it->removed || it->older ? SIZE_MAX : it->rank;
  it->rank = rank;
  it->number = new->number;
  it->seen = true;
  it->older = older;
  if (it->removed || it->n != new->n || memcmp(it->json, new->json, it->n) != 0) {
    if (it->removed) r->n_removed--;
    rp_free(it->json);
    it->json = RP_TAKE(new->json);
    it->n = new->n;
    it->open = new->open;
    it->removed = false;
    unlink_item(r, it);
    link_last(r, it);
  }
  item_free(new);
  return before;
}

/* Without memory it stays until the next scan misses it again. */
static void remove_item(struct rp__session_list *r, struct rp__session_list_item *it)
{
  struct rp__buf out = RP_BUF(REMOVED_TEXT);
  struct rp__jw w = RP_JW(&out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", it->id);
  rp__jw_end_object(&w);
  size_t n = out.n;
  char *json = rp__buf_take(&out);
  if (!json) return;
  rp_free(it->json);
  it->json = json;
  it->n = n;
  it->removed = true;
  r->n_removed++;
  unlink_item(r, it);
  link_last(r, it);
}

/* ---- rolls ---- */

void rp__session_list_release(struct rp__session_list *r)
{
  struct rp__live *l = r->l;
  struct rp__session_list **at = &l->rolls;
  if (r->pins || r->subs) return;
  while (*at != r) at = &(*at)->next;
  *at = r->next;
  l->n_rolls--;
  rp__live_listeners(l, -1);
  while (r->first) drop(r, r->first);
  free(r);
}

static void on_scan(struct rp__job *job)
{
  struct scan *s = (struct scan *)(void *)((char *)job - offsetof(struct scan, job));
  struct rp__session_list *r = s->roll;
  int64_t pause_ms = RP_MAX(RP_LIVE_TICK_MS, s->us * RP_LIVE_ROLL_SHARE / 1000);
  if (s->more) pause_ms = RP_MAX(pause_ms, RP_LIVE_ROLL_LARGE_MS);
  r->due_ms = rp__loop_now(r->l->srv->loop) + pause_ms - RP_LIVE_TICK_MS / 2;
  r->scanning = false;
  if (s->rc || s->behind) r->commits = -1; /* again */
  if (!s->rc) {
    size_t oldest = 0;
    for (size_t i = 0; i < s->n; i++) {
      size_t before = merge(r, s->items[i], i, false);
      if (before != SIZE_MAX) oldest = RP_MAX(oldest, before);
    }
    for (size_t i = 0; i < s->n_older; i++) merge(r, s->older[i], SIZE_MAX, true);
    s->n = s->n_older = 0;
    r->cursor = s->cursor;
    /*
     * Those that were not listed: gone, or, when the list was cut, perhaps only older than its last (`oldest`). Of
     * these the open ones are looked at by their numbers from now on.
     */
    struct rp__session_list_item *next, *end = r->last;
    for (struct rp__session_list_item *it = r->first; it; it = next) {
      next = it == end ? NULL : it->next;
      bool missing = !it->seen && !it->removed, looked_at = it->asked || !it->older;
      it->seen = it->asked = false;
      if (!missing || !looked_at) continue;
      if (!it->older && s->more && it->rank > oldest) {
        it->older = it->open;
        if (!it->open) drop(r, it);
        continue;
      }
      remove_item(r, it);
    }
    for (struct rp__session_list_item *it = r->first; r->n_removed > RP_LIVE_ROLL_REMOVED && it; it = next) {
      next = it->next;
      if (!it->removed) continue;
      r->forgotten = it->stamp;
      drop(r, it);
    }
    r->scanned = true;
  }
  scan_free(s);
  rp__list_feed(r);
  r->pins--;
  rp__session_list_release(r);
}

void rp__session_lists_tick(struct rp__live *l)
{
  int64_t commits = atomic_load(&l->commits);
  for (struct rp__session_list *r = l->rolls; r; r = r->next)
    if (!r->scanning && r->subs && commits != r->commits && rp__loop_now(l->srv->loop) >= r->due_ms)
      rp__session_list_scan(r);
}

void rp__session_lists_free(struct rp__live *l)
{
  while (l->rolls) {
    struct rp__session_list *r = l->rolls;
    r->pins = 0;
    r->subs = NULL;
    rp__session_list_release(r);
  }
}

int rp__session_list_get(struct rp__live *l, const char *scope, struct rp__session_list **ret, rp_error *err)
{
  struct rp__session_list *r = l->rolls;
  while (r && strcmp(r->scope, scope) != 0) r = r->next;
  if (!r && l->n_rolls >= RP_LIVE_ROLLS_MAX)
    return rp__fail(err, RP_E_LIMIT, "the sessions of %d scopes are watched already", RP_LIVE_ROLLS_MAX);
  if (!r) {
    r = calloc(1, sizeof *r);
    if (!r) return rp__fail_nomem(err);
    r->l = l;
    r->commits = r->cursor = -1;
    snprintf(r->scope, sizeof r->scope, "%s", scope);
    r->next = l->rolls;
    l->rolls = r;
    l->n_rolls++;
    rp__live_listeners(l, 1);
    rp__live_tick(l);
  }
  *ret = r;
  return 0;
}
