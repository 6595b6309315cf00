/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session has heard and seen (L-07): notes, frames, the tail of the transcript, and what the conversation is
 * about. Notes that say which context they used are counted (L-13).
 *
 * The oldest notes and frames go first; only the newest frames keep their embeddings. A transcript that is not final is
 * replaced by the next one. Older parts are questions to the journal.
 */
#include "facets/table.h"

#include "facets/gist.h"
#include "facets/rows.h"

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

enum note_column { NOTE_ID, NOTE_TEXT, NOTE_CATEGORY, NOTE_CONFIDENCE, NOTE_TIMESTAMP, NOTE_SEQ };
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

enum frame_column { FRAME_ID, FRAME_TIMESTAMP, FRAME_EMBEDDING, FRAME_UPLOADED, FRAME_SEQ };
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

struct evidence {
  struct rp__rows notes, frames;
  struct rp__buf transcript, interim; /* plain text; interim: what is not final yet */
  struct rp__gist gist;
  int64_t context_used;
};

static void evidence_init(void *state)
{
  struct evidence *e = state;
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

static int apply_note(struct evidence *e, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  char seq[24];
  bool ok;
  c.cell[NOTE_SEQ] = rp__str(seq_text(ev->seq, seq));
  int rc = rp__cells_read(&note_shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  c.cell[NOTE_SEQ] = rp__str(seq); /* whatever the body says under that name */
  if (uses_context(rp__json_get(ev->body, "context_used")) && e->context_used < INT64_MAX) e->context_used++;
  return rp__rows_put(&e->notes, &note_shape, e->notes.count, &c, ev->at_ms);
}

/* Takes embeddings away, from the newest frame backwards, where there are too many or too many bytes of them. */
static int thin_embeddings(struct rp__rows *r)
{
  size_t count = 0, bytes = 0;
  for (size_t i = r->count; i > 0; i--) {
    const struct rp__row *row = r->v[i - 1];
    size_t n = row->n[FRAME_EMBEDDING];
    if (n == 0) continue;
    count++;
    bytes += n;
    if (count <= EMBEDDINGS_MAX && bytes <= EMBEDDINGS_BYTES) continue;
    RP_AUTOCELLS struct rp__cells c = {0};
    rp__cells_from(&c, row);
    c.cell[FRAME_EMBEDDING] = (struct rp__str){0};
    int rc = rp__rows_put(r, &frame_shape, i - 1, &c, row->at_ms);
    if (rc) return rc;
  }
  return 0;
}

static int apply_frame(struct evidence *e, const struct rp__event *ev)
{
  RP_AUTOCELLS struct rp__cells c = {0};
  char seq[24];
  bool ok;
  c.cell[FRAME_SEQ] = rp__str(seq_text(ev->seq, seq));
  int rc = rp__cells_read(&frame_shape, ev->body, &c, &ok);
  if (rc || !ok) return rc;
  c.cell[FRAME_SEQ] = rp__str(seq);
  struct rp__json embedding = rp__json_get(ev->body, "embedding");
  bool kept = (embedding.type == RP_JSON_ARRAY || embedding.type == RP_JSON_STRING) && embedding.n <= EMBEDDING_MAX;
  if (!kept) c.cell[FRAME_EMBEDDING] = (struct rp__str){0};
  rc = rp__rows_put(&e->frames, &frame_shape, e->frames.count, &c, ev->at_ms);
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

static int apply_transcript(struct evidence *e, const struct rp__event *ev)
{
  struct rp__json text = rp__json_get(ev->body, "text");
  if (text.type != RP_JSON_STRING) return 0;
  rp__buf_reset(&e->interim);
  if (text.n <= 2) return 0;
  if (rp__json_get(ev->body, "final").type == RP_JSON_FALSE) return add_text(&e->interim, text, INTERIM_MAX);
  return add_text(&e->transcript, text, TRANSCRIPT_MAX);
}

static int evidence_apply(void *state, const struct rp__event *ev)
{
  switch (ev->kind) {
  case RP_KIND_NOTE: return apply_note(state, ev);
  case RP_KIND_FRAME: return apply_frame(state, ev);
  case RP_KIND_TRANSCRIPT: return apply_transcript(state, ev);
  case RP_KIND_INTENT: return rp__gist_merge(&((struct evidence *)state)->gist, ev->body);
  default: return 0;
  }
}

static bool evidence_empty(const void *state)
{
  const struct evidence *e = state;
  return e->notes.count == 0 && e->frames.count == 0 && e->transcript.n == 0 && e->interim.n == 0 &&
         rp__gist_empty(&e->gist) && e->context_used == 0;
}

/* ---- writing --------------------------------------------------------------------------- */

static void write_tail(const struct evidence *e, struct rp__jw *w)
{
  rp__jw_key(w, "memory");
  rp__gist_write(&e->gist, w);
  rp__jw_ki64(w, "context_used", e->context_used);
}

static void evidence_save(const void *state, struct rp__jw *w)
{
  const struct evidence *e = state;
  rp__jw_object(w);
  rp__jw_key(w, "notes");
  rp__rows_save(&e->notes, &note_shape, w);
  rp__jw_key(w, "frames");
  rp__rows_save(&e->frames, &frame_shape, w);
  rp__jw_key(w, "transcript");
  rp__jw_strn(w, e->transcript.p, e->transcript.n);
  rp__jw_key(w, "interim");
  rp__jw_strn(w, e->interim.p, e->interim.n);
  write_tail(e, w);
  rp__jw_end_object(w);
}

static void evidence_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct evidence *e = state;
  RP_AUTOBUF struct rp__buf text = RP_BUF(TRANSCRIPT_MAX + INTERIM_MAX + 1);
  (void)now_ms;
  rp__buf_add(&text, e->transcript.p, e->transcript.n);
  if (text.n && e->interim.n) rp__buf_char(&text, ' ');
  rp__buf_add(&text, e->interim.p, e->interim.n);
  if (text.err && !w->out->err) w->out->err = text.err;
  rp__jw_object(w);
  rp__jw_key(w, "notes");
  rp__rows_show(&e->notes, &note_shape, w);
  rp__jw_key(w, "frames");
  rp__rows_show(&e->frames, &frame_shape, w);
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
  struct evidence *e = state;
  int rc = rp__rows_load(&e->notes, &note_shape, rp__json_get(v, "notes"), err);
  if (rc == 0) rc = rp__rows_load(&e->frames, &frame_shape, rp__json_get(v, "frames"), err);
  if (rc == 0)
    rc = load_text(&e->transcript, rp__json_get(v, "transcript"), TRANSCRIPT_MAX, "evidence.transcript", err);
  if (rc == 0) rc = load_text(&e->interim, rp__json_get(v, "interim"), INTERIM_MAX, "evidence.interim", err);
  if (rc) return rc;
  bool ok;
  if (rp__gist_load(&e->gist, rp__json_get(v, "memory"), &ok)) return rp__fail_nomem(err);
  if (!ok) return corrupt(err, "evidence.memory");
  bool counted = rp__json_i64(rp__json_get(v, "context_used"), &e->context_used) && e->context_used >= 0;
  return counted ? 0 : corrupt(err, "evidence.context_used");
}

static int64_t newest_of(const struct rp__rows *r, unsigned column)
{
  int64_t newest = 0, seq;
  for (size_t i = 0; i < r->count; i++) {
    if (!rp__json_i64(rp__row_cell(r->v[i], column), &seq)) seq = INT64_MAX;
    newest = RP_MAX(newest, seq);
  }
  return newest;
}

static int64_t evidence_newest(const void *state)
{
  const struct evidence *e = state;
  return RP_MAX(newest_of(&e->notes, NOTE_SEQ), newest_of(&e->frames, FRAME_SEQ));
}

static void evidence_done(void *state)
{
  struct evidence *e = state;
  rp__rows_done(&e->notes);
  rp__rows_done(&e->frames);
  rp__buf_done(&e->transcript);
  rp__buf_done(&e->interim);
  rp__gist_done(&e->gist);
}

const struct rp__facet_ops rp__facet_evidence = {
    .name = "evidence",
    .state_size = sizeof(struct evidence),
    .max_bytes = NOTES_BYTES + FRAMES_BYTES + 2 * (TRANSCRIPT_MAX + INTERIM_MAX) + RP_GIST_BYTES + 512,
    .init = evidence_init,
    .apply = evidence_apply,
    .empty = evidence_empty,
    .save = evidence_save,
    .show = evidence_show,
    .load = evidence_load,
    .newest = evidence_newest,
    .done = evidence_done,
};
