/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session has heard and seen (L-07): notes, frames, the tail of the transcript, and the subject of the
 * conversation. Notes that name the context they used are counted (L-13).
 *
 * The oldest notes and frames are dropped first, and only the newest frames keep their embeddings. A transcript that is
 * not final is replaced by the next one. Older parts can be read from the journal.
 */
#include "facets/evidence.h"

#include "facets/merge.h"
#include "json/text.h"

#define NOTES_MAX 500
#define NOTES_BYTES ((size_t)128 * 1024)
#define NOTE_TEXT_MAX 8192
#define FRAMES_MAX 240
#define EMBEDDINGS_MAX 20
#define EMBEDDING_MAX ((size_t)16 * 1024 - 1) /* of one */
#define EMBEDDINGS_BYTES ((size_t)160 * 1024) /* of all */
#define FRAMES_BYTES (EMBEDDINGS_BYTES + (size_t)48 * 1024)
#define TRANSCRIPT_MAX ((size_t)16 * 1024)
#define INTERIM_MAX ((size_t)4 * 1024)
#define ID_MAX (6 * RP_EVENT_ID_MAX + 2)
#define TIME_MAX 64
#define GIST_BYTES ((size_t)20 * 1024) /* of its saved form, at most */
#define TOPICS_MAX 32
#define TOPICS_READ 128 /* of one event */
#define TOPIC_RAW_MAX 256
#define TOPICS_BYTES ((size_t)TOPICS_MAX * (TOPIC_RAW_MAX + 1) + 2)
#define INTENT_RAW_MAX ((size_t)2048)
#define CONTEXT_MAX ((size_t)8 * 1024)
_Static_assert(TOPICS_BYTES + INTENT_RAW_MAX + CONTEXT_MAX + 64 <= GIST_BYTES, "the bounds add up");

static const struct rp__shape note_shape = {
    .name = "evidence.notes",
    .columns = {{"id", RP_CELL_ANY, RP_COL_NEED, ID_MAX},
                {"text", RP_CELL_TEXT, RP_COL_NEED, NOTE_TEXT_MAX},
                {"category", RP_CELL_TEXT, RP_COL_NULL, 256},
                {"confidence", RP_CELL_NUMBER, RP_COL_NULL},
                {"timestamp", RP_CELL_ANY, RP_COL_NULL, TIME_MAX},
                {"seq", RP_CELL_NUMBER, RP_COL_NEED}},
    .time_name = "at",
    .max_rows = NOTES_MAX,
    .max_bytes = NOTES_BYTES,
};

static const struct rp__shape frame_shape = {
    .name = "evidence.frames",
    .columns = {{"frame_id", RP_CELL_ANY, RP_COL_NEED, ID_MAX},
                {"timestamp", RP_CELL_ANY, RP_COL_NULL, TIME_MAX},
                {"embedding", RP_CELL_ANY, 0, EMBEDDING_MAX},
                {"uploaded_at", RP_CELL_ANY, 0, TIME_MAX},
                {"seq", RP_CELL_NUMBER, RP_COL_NEED}},
    .time_name = "at",
    .max_rows = FRAMES_MAX,
    .max_bytes = FRAMES_BYTES,
};

/* ---- what the conversation is about --------------------------------------------------- */

struct topics {
  struct rp__json v[TOPICS_MAX];
  size_t n;
};

/* A copy, made before the old one goes. */
static int set_value(struct rp__buf *b, struct rp__json v)
{
  struct rp__buf copy = RP_BUF(v.n);
  rp__buf_add(&copy, v.p, v.n);
  if (copy.err) return copy.err;
  rp__buf_done(b);
  *b = copy;
  return 0;
}

static bool topic_ok(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n > 2 && v.n <= TOPIC_RAW_MAX;
}

static void drop_topic(struct topics *t, size_t i)
{
  t->n--;
  memmove(&t->v[i], &t->v[i + 1], (t->n - i) * sizeof t->v[0]);
}

static void add_topics(struct topics *t, struct rp__json from)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (from.type != RP_JSON_ARRAY) return;
  for (size_t read = 0; read < TOPICS_READ && rp__json_next(from, &it, NULL, &item); read++) {
    if (!topic_ok(item)) continue;
    size_t i = 0;
    while (i < t->n && rp__json_text_cmp((struct rp__str){t->v[i].p, t->v[i].n}, (struct rp__str){item.p, item.n})) i++;
    if (i < t->n) drop_topic(t, i);
    if (t->n == TOPICS_MAX) drop_topic(t, 0);
    t->v[t->n++] = item;
  }
}

static int merge_topics(struct rp__gist *g, struct rp__json told)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(TOPICS_BYTES);
  struct topics t = {.n = 0};
  add_topics(&t, rp__json_trusted(g->topics.p, g->topics.n));
  add_topics(&t, told);
  if (t.n == 0) return 0;
  struct rp__jw w = RP_JW(&out);
  rp__jw_array(&w);
  for (size_t i = 0; i < t.n; i++) rp__jw_value(&w, t.v[i]);
  rp__jw_end_array(&w);
  return out.err ? out.err : set_value(&g->topics, rp__json_trusted(out.p, out.n));
}

/*
 * Topics come behind the others when they are told (again), objects of context are merged, else the new stands in place
 * of the old; a member that is null says nothing. 0 or RP_E_NOMEM.
 */
static int gist_merge(struct rp__gist *g, struct rp__json body)
{
  struct rp__json intent = rp__json_get(body, "intent");
  int rc = merge_topics(g, rp__json_get(body, "topics"));
  if (rc == 0 && intent.type == RP_JSON_STRING && intent.n <= INTENT_RAW_MAX) rc = set_value(&g->intent, intent);
  if (rc) return rc;
  struct rp__json told = rp__json_get(body, "context");
  struct rp__json have = rp__json_trusted(g->context.p, g->context.n);
  bool ok;
  if (told.type == RP_JSON_NONE || told.type == RP_JSON_NULL) return 0;
  if (have.type != RP_JSON_OBJECT || told.type != RP_JSON_OBJECT)
    return told.n <= CONTEXT_MAX ? set_value(&g->context, told) : 0;
  struct rp__object both = {0};
  rc = rp__object_load(&both, have, CONTEXT_MAX, &ok);
  if (rc == 0) rc = rp__object_merge(&both, told, NULL, CONTEXT_MAX);
  if (rc == 0) rc = set_value(&g->context, rp__object_json(&both));
  rp__object_done(&both);
  return rc;
}

static void write_member(struct rp__jw *w, const char *name, const struct rp__buf *b, const char *otherwise)
{
  rp__jw_key(w, name);
  rp__jw_raw(w, b->n ? b->p : otherwise, b->n ? b->n : strlen(otherwise));
}

/* Fills an empty one; *ret_ok is false when nobody saved that. 0 or RP_E_NOMEM. */
static int gist_load(struct rp__gist *g, struct rp__json v, bool *ret_ok)
{
  struct rp__json topics = rp__json_get(v, "topics"), intent = rp__json_get(v, "intent");
  struct rp__json context = rp__json_get(v, "context");
  bool intent_ok = intent.type == RP_JSON_NULL || (intent.type == RP_JSON_STRING && intent.n <= INTENT_RAW_MAX);
  struct rp__json_iter it = {0};
  struct rp__json item;
  size_t n = 0;
  bool topics_ok = topics.type == RP_JSON_ARRAY && topics.n <= TOPICS_BYTES;
  while (topics_ok && rp__json_next(topics, &it, NULL, &item)) topics_ok = topic_ok(item) && ++n <= TOPICS_MAX;
  *ret_ok = topics_ok && intent_ok && context.type != RP_JSON_NONE && context.n <= CONTEXT_MAX;
  if (!*ret_ok) return 0;
  int rc = n ? set_value(&g->topics, topics) : 0;
  if (rc == 0 && intent.type != RP_JSON_NULL) rc = set_value(&g->intent, intent);
  if (rc == 0 && context.type != RP_JSON_NULL) rc = set_value(&g->context, context);
  return rc;
}

/* ---- the facet ------------------------------------------------------------------------ */

static void evidence_init(const struct rp__facet_ops *ops, void *state)
{
  struct rp__evidence_heard *e = state;
  (void)ops;
  e->notes.shape = &note_shape;
  e->frames.shape = &frame_shape;
  e->transcript = RP_BUF(2 * TRANSCRIPT_MAX + 1); /* the old tail and a new one, until the sum is cut */
  e->interim = RP_BUF(2 * INTERIM_MAX + 1);
}

/* ---- notes and frames ------------------------------------------------------------ */

static const char *seq_text(int64_t seq, char out[24])
{
  snprintf(out, 24, "%lld", (long long)seq);
  return out;
}

/* Whether a note names the context it was made with. */
static bool uses_context(struct rp__json v)
{
  return v.type == RP_JSON_TRUE || ((v.type == RP_JSON_ARRAY || v.type == RP_JSON_OBJECT) &&
                                    rp__json_next(v, &(struct rp__json_iter){0}, NULL, NULL));
}

static int apply_note(struct rp__evidence_heard *e, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  char seq[24];
  bool ok;
  c.cell[RP_NOTE_SEQ] = rp__str(seq_text(ev->seq, seq));
  int rc = rp__cells_read(&note_shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  c.cell[RP_NOTE_SEQ] = rp__str(seq); /* whatever the body says under that name */
  if (uses_context(rp__event_get(ev, "context_used")) && e->context_used < INT64_MAX) e->context_used++;
  return rp__rows_put(&e->notes, e->notes.count, &c, ev->at_ms);
}

/* Takes embeddings away, from the newest frame backwards, where there are too many or too many bytes of them. */
static int thin_embeddings(struct rp__rows *r)
{
  size_t count = 0, bytes = 0;
  for (size_t i = r->count; i > 0; i--) {
    const struct rp__row *row = r->v[i - 1];
    size_t n = row->n[RP_FRAME_EMBEDDING];
    if (n == 0) continue;
    count++;
    bytes += n;
    if (count <= EMBEDDINGS_MAX && bytes <= EMBEDDINGS_BYTES) continue;
    RP_AUTOCELLS struct rp__cells c = {0};
    rp__cells_from(&c, row);
    c.cell[RP_FRAME_EMBEDDING] = (struct rp__str){0};
    int rc = rp__rows_put(r, i - 1, &c, row->at_ms);
    if (rc) return rc;
  }
  return 0;
}

static int apply_frame(struct rp__evidence_heard *e, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  char seq[24];
  bool ok;
  c.cell[RP_FRAME_SEQ] = rp__str(seq_text(ev->seq, seq));
  int rc = rp__cells_read(&frame_shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  c.cell[RP_FRAME_SEQ] = rp__str(seq);
  struct rp__json embedding = rp__event_get(ev, "embedding");
  bool kept = (embedding.type == RP_JSON_ARRAY || embedding.type == RP_JSON_STRING) && embedding.n <= EMBEDDING_MAX;
  if (!kept) c.cell[RP_FRAME_EMBEDDING] = (struct rp__str){0};
  rc = rp__rows_put(&e->frames, e->frames.count, &c, ev->at_ms);
  return rc ? rc : thin_embeddings(&e->frames);
}

/* ---- the transcript ---------------------------------------------------------------- */

/* The last `max` bytes, from the beginning of a character. */
static void keep_tail(struct rp__buf *b, size_t max)
{
  if (b->n <= max) return;
  size_t from = b->n - max;
  while (from < b->n && ((unsigned char)b->p[from] & 0xc0) == 0x80) from++;
  memmove(b->p, b->p + from, b->n - from);
  b->n -= from;
  b->p[b->n] = '\0';
}

/* Adds a text behind a space. Other control characters than line ends would only cost room. */
static int add_text(struct rp__buf *b, struct rp__json v, size_t max)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(v.n);
  if (rp__json_text(v, &text)) return text.err;
  keep_tail(&text, max);
  for (size_t i = 0; i < text.n; i++) {
    if ((unsigned char)text.p[i] < 0x20 && text.p[i] != '\n') text.p[i] = ' ';
  }
  if (b->n && b->p[b->n - 1] != ' ' && b->p[b->n - 1] != '\n') rp__buf_char(b, ' ');
  rp__buf_add(b, text.p, text.n);
  if (!b->err) keep_tail(b, max);
  return b->err;
}

static int apply_transcript(struct rp__evidence_heard *e, const struct rp__event *ev)
{
  struct rp__json text = rp__event_get(ev, "text");
  if (text.type != RP_JSON_STRING) return 0;
  rp__buf_reset(&e->interim);
  if (text.n <= 2) return 0;
  if (rp__event_get(ev, "final").type == RP_JSON_FALSE) return add_text(&e->interim, text, INTERIM_MAX);
  return add_text(&e->transcript, text, TRANSCRIPT_MAX);
}

bool rp__gist_empty(const struct rp__gist *g)
{
  return g->topics.n == 0 && g->intent.n == 0 && g->context.n == 0;
}

/* N-07: the memory of the conversation before, until this one has its own. */
static int apply_restored(struct rp__gist *g, const struct rp__event *ev)
{
  struct rp__json carried = rp__json_get(rp__event_get(ev, "carried"), "memory");
  return carried.type == RP_JSON_OBJECT && rp__gist_empty(g) ? gist_merge(g, carried) : 0;
}

static int evidence_apply(void *state, const struct rp__event *ev)
{
  switch (ev->kind) {
  case RP_KIND_NOTE: return apply_note(state, ev);
  case RP_KIND_FRAME: return apply_frame(state, ev);
  case RP_KIND_TRANSCRIPT: return apply_transcript(state, ev);
  case RP_KIND_INTENT: return gist_merge(&((struct rp__evidence_heard *)state)->gist, ev->body);
  case RP_KIND_RESTORED: return apply_restored(&((struct rp__evidence_heard *)state)->gist, ev);
  default: return 0;
  }
}

static bool evidence_empty(const void *state)
{
  const struct rp__evidence_heard *e = state;
  return e->notes.count == 0 && e->frames.count == 0 && e->transcript.n == 0 && e->interim.n == 0 &&
         rp__gist_empty(&e->gist) && e->context_used == 0;
}

/* ---- writing --------------------------------------------------------------------------- */

void rp__gist_write(const struct rp__gist *g, struct rp__jw *w)
{
  rp__jw_kobject(w, "memory");
  write_member(w, "topics", &g->topics, "[]");
  write_member(w, "intent", &g->intent, "null");
  write_member(w, "context", &g->context, "null");
  rp__jw_end_object(w);
}

static void write_tail(const struct rp__evidence_heard *e, struct rp__jw *w)
{
  rp__gist_write(&e->gist, w);
  rp__jw_ki64(w, "context_used", e->context_used);
}

static void evidence_save(const void *state, struct rp__jw *w)
{
  const struct rp__evidence_heard *e = state;
  rp__jw_object(w);
  rp__jw_key(w, "notes");
  rp__rows_save(&e->notes, w);
  rp__jw_key(w, "frames");
  rp__rows_save(&e->frames, w);
  rp__jw_pack(w, "transcript:n interim:n", e->transcript.p, e->transcript.n, e->interim.p, e->interim.n);
  write_tail(e, w);
  rp__jw_end_object(w);
}

void rp__evidence_transcript(const struct rp__evidence_heard *e, struct rp__buf *out)
{
  rp__buf_add(out, e->transcript.p, e->transcript.n);
  if (out->n && e->interim.n) rp__buf_char(out, ' ');
  rp__buf_add(out, e->interim.p, e->interim.n);
}

static void evidence_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct rp__evidence_heard *e = state;
  RP_AUTOBUF struct rp__buf text = RP_BUF(TRANSCRIPT_MAX + INTERIM_MAX + 1);
  rp__evidence_transcript(e, &text);
  if (text.err && !w->out->err) w->out->err = text.err;
  rp__jw_object(w);
  rp__jw_key(w, "notes");
  rp__rows_show(&e->notes, now_ms, w);
  rp__jw_key(w, "frames");
  rp__rows_show(&e->frames, now_ms, w);
  rp__jw_key(w, "transcript");
  rp__jw_strn(w, text.p, text.n);
  write_tail(e, w);
  rp__jw_end_object(w);
}

/* ---- loading --------------------------------------------------------------------------- */

static int corrupt(rp_error *err, const char *field)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, field, "'%s' holds what no snapshot does", field);
}

static int load_text(struct rp__buf *b, struct rp__json v, size_t max, const char *field, rp_error *err)
{
  if (v.type != RP_JSON_STRING) return corrupt(err, field);
  rp__json_text(v, b);
  if (b->err == RP_E_NOMEM) return rp__fail_nomem(err);
  return !b->err && b->n <= max ? 0 : corrupt(err, field);
}

static int evidence_load(void *state, struct rp__json v, rp_error *err)
{
  struct rp__evidence_heard *e = state;
  int rc = rp__rows_load(&e->notes, rp__json_get(v, "notes"), err);
  if (rc == 0) rc = rp__rows_load(&e->frames, rp__json_get(v, "frames"), err);
  if (rc == 0)
    rc = load_text(&e->transcript, rp__json_get(v, "transcript"), TRANSCRIPT_MAX, "evidence.transcript", err);
  if (rc == 0) rc = load_text(&e->interim, rp__json_get(v, "interim"), INTERIM_MAX, "evidence.interim", err);
  if (rc) return rc;
  bool ok;
  if (gist_load(&e->gist, rp__json_get(v, "memory"), &ok)) return rp__fail_nomem(err);
  if (!ok) return corrupt(err, "evidence.memory");
  bool counted = rp__json_i64(rp__json_get(v, "context_used"), &e->context_used) && e->context_used >= 0;
  return counted ? 0 : corrupt(err, "evidence.context_used");
}

static int64_t evidence_newest(const void *state)
{
  const struct rp__evidence_heard *e = state;
  return RP_MAX(rp__rows_newest(&e->notes, RP_NOTE_SEQ), rp__rows_newest(&e->frames, RP_FRAME_SEQ));
}

static void evidence_done(void *state)
{
  struct rp__evidence_heard *e = state;
  rp__rows_done(&e->notes);
  rp__rows_done(&e->frames);
  rp__buf_done(&e->transcript);
  rp__buf_done(&e->interim);
  rp__buf_done(&e->gist.topics);
  rp__buf_done(&e->gist.intent);
  rp__buf_done(&e->gist.context);
}

const struct rp__facet_ops rp__facet_evidence = {
    .name = "evidence",
    .state_size = sizeof(struct rp__evidence_heard),
    .max_bytes = NOTES_BYTES + FRAMES_BYTES + 2 * (TRANSCRIPT_MAX + INTERIM_MAX) + GIST_BYTES + 512,
    .init = evidence_init,
    .apply = evidence_apply,
    .empty = evidence_empty,
    .save = evidence_save,
    .show = evidence_show,
    .load = evidence_load,
    .newest = evidence_newest,
    .done = evidence_done,
};

const struct rp__evidence_heard *rp__evidence_heard(const struct rp__fold *f)
{
  return f ? rp__fold_facet(f, rp__facet_evidence.name) : NULL;
}
