/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions that speak in a brief by their digests (B-13): the last session with a request, whatever its age, those
 * of the days before it, and those that are open. Their records are read together with the records that the plan wants.
 */
#include "engine/start/restoration.h"

#include <assert.h>

#include "continuity/record.h"
#include "engine/keep/archive.h"

#define ENDED_MAX 6 /* of those that ended; the brief tells how many of them it has room for */
#define FOUND_MAX (ENDED_MAX + RP_ENDINGS_MAX + RP_LIVING_MAX)

struct rp__speaking {
  int64_t ref, end_ms;
  char id[RP_NAME];
  bool archived, lives, stored; /* stored: its record is to be read */
  bool loaded, crashed;
  int64_t begun_ms;
  struct rp__digest digest;
};

static_assert(RP_SPEAKERS_MAX >= ENDED_MAX + RP_LIVING_MAX, "all that speak have room");

void rp__speaking_done(struct rp__restoration *r)
{
  for (size_t i = 0; i < r->n_speaking; i++)
    if (r->speaking[i].loaded) rp__digest_done(&r->speaking[i].digest);
  free(RP_TAKE(r->speaking));
  r->n_speaking = r->n_speakers = 0;
}

static struct rp__speaking *add(struct rp__restoration *r)
{
  assert(r->n_speaking < FOUND_MAX);
  if (!r->speaking) r->speaking = calloc(FOUND_MAX, sizeof *r->speaking);
  if (!r->speaking) return NULL;
  return &r->speaking[r->n_speaking++];
}

static int on_recall(void *ctx, const struct rp__recall *row)
{
  struct rp__restoration *r = ctx;
  if (rp__ending_of(&r->endings, row->session_id)) return 0; /* what it knows now counts */
  struct rp__speaking *s = add(r);
  if (!s) return RP_E_NOMEM;
  *s = (struct rp__speaking){
      .ref = row->session_ref, .end_ms = row->ended_at, .archived = row->archived, .stored = true};
  snprintf(s->id, sizeof s->id, "%s", row->session_id);
  return 0;
}

struct rp__read rp__speaking_reading(struct rp__restoration *r, const char *channel)
{
  return (struct rp__read){
      .type = RP_READ_RECALL,
      .ctx = r,
      .u.recall = {
          .filter = {.scope = r->scope, .channel = channel, .since_ms = INT64_MIN, .limit = ENDED_MAX, .asked = true},
          .fn = on_recall}};
}

size_t rp__speaking_wanted(const struct rp__restoration *r, int64_t *refs, const char **archived, size_t max)
{
  size_t n = 0;
  for (size_t i = 0; i < r->n_speaking && n < max; i++) {
    if (!r->speaking[i].stored) continue;
    archived[n] = r->speaking[i].archived ? r->speaking[i].id : NULL;
    refs[n++] = r->speaking[i].ref;
  }
  return n;
}

/* The digest of a session from its record. One that can't be read says nothing, as at a start without it. */
static int load_one(struct rp__restoration *r, struct rp__speaking *s, rp_error *err)
{
  struct rp__buf bytes RP_AUTOBUF = RP_BUF((size_t)4 * 1024 * 1024);
  rp_error why = {0};
  struct rp__json doc, began;
  int rc = rp__restoration_record_text(r, s->ref, s->id, &bytes, &doc, &why);
  if (rp__capture_passes(rc)) {
    if (err) *err = why;
    return rc;
  }
  struct rp__json digest = rc ? (struct rp__json){0} : rp__json_get(doc, RP_RECORD_DIGEST);
  if (digest.type != RP_JSON_OBJECT) return 0;
  s->crashed = rp__json_get(doc, "crash_recovered").type == RP_JSON_TRUE;
  began = rp__json_get(doc, "start_time");
  if (began.type == RP_JSON_STRING && rp__time_parse(began.p + 1, began.n - 2, &s->begun_ms)) s->begun_ms = 0;
  rp__digest_init(&s->digest);
  s->loaded = true;
  rc = rp__digest_load(&s->digest, digest, &why);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  if (!rc) return 0;
  rp__log(&r->e->log, RP_LOG_WARN, "the digest of session %s is not told: %s", s->id, why.message);
  rp__digest_done(&s->digest);
  s->loaded = false;
  return 0;
}

/* The newest first; of two at once the one that ended. */
static int by_end(const void *x, const void *y)
{
  const struct rp__speaking *a = x, *b = y;
  if (a->end_ms == b->end_ms && a->lives != b->lives) return a->lives ? 1 : -1;
  if (a->end_ms != b->end_ms) return a->end_ms > b->end_ms ? -1 : 1;
  return strcmp(b->id, a->id);
}

int rp__speaking_load(struct rp__restoration *r, const char *without, rp_error *err)
{
  for (size_t i = 0; i < r->endings.n; i++) {
    const struct rp__ending *e = &r->endings.p[i];
    struct rp__speaking *s = add(r);
    if (!s) return rp__fail_nomem(err);
    *s = (struct rp__speaking){.ref = e->session_ref, .end_ms = e->end_ms, .lives = e->lives};
    snprintf(s->id, sizeof s->id, "%s", e->session_id);
  }
  int rc = 0;
  if (r->n_speaking) qsort(r->speaking, r->n_speaking, sizeof r->speaking[0], by_end);
  for (size_t i = 0, ended = 0; !rc && i < r->n_speaking; i++) {
    struct rp__speaking *s = &r->speaking[i];
    if ((without && strcmp(s->id, without) == 0) || (!s->lives && ended == ENDED_MAX)) continue;
    rc = load_one(r, s, err);
    if (rc || !s->loaded || rp__digest_count(&s->digest) == 0) continue;
    ended += !s->lives;
    r->speakers[r->n_speakers++] = (struct rp__brief_session){.session_id = s->id,
                                                              .digest = &s->digest,
                                                              .begun_ms = s->begun_ms,
                                                              .end_ms = s->end_ms,
                                                              .lives = s->lives,
                                                              .crashed = s->crashed && !s->lives};
  }
  return rc;
}

void rp__speaking_own(struct rp__restoration *r, const rp_session *s, const struct rp__fold *f)
{
  const struct rp__digest *d = rp__digest_of(f);
  if (!d || rp__digest_count(d) == 0) return;
  r->speakers[0] = (struct rp__brief_session){.session_id = s->id, .digest = d};
  r->n_speakers = 1;
}
