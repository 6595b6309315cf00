/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pushes: what is done at once, what the engine is asked, and how payloads become events. */
#include <errno.h>

#include "base/clock.h"
#include "base/enum-words.h"
#include "base/id.h"
#include "server/channel/channel.h"
#include "server/http/call.h"

/* ---- pushes whose answer the engine may take a while to give: in the pool, and the channel waits for them ---- */

static rp_session *session_of(const struct rp__push *p)
{
  return p->ch->entry->s;
}

static int ask_checkpoint(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  int64_t n = 0;
  int rc = rp_checkpoint(session_of(p), &n, err);
  if (rc) return rc;
  rp__jw_object(w);
  rp__jw_ki64(w, "snapshot", n);
  rp__jw_end_object(w);
  return 0;
}

/*
 * L-08. By a handle of its own: the shared one goes on for who resumes the
 * session. Closing what is closed is fine: a client that heard no answer asks again.
 */
static int ask_close(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  struct rp__channels *c = p->ch->of;
  rp_session *s = NULL;
  int rc = rp_attach(c->srv->engine, p->ch->entry->id, &s, err);
  if (!rc) rc = rp_end(s, "close_session", err);
  rp_session_free(s);
  bool again = rc == RP_E_ENDED || rc == RP_E_TRANSITION;
  if (rc && !again) return rc;
  rp_presence_set_ended(c->srv->engine, p->ch->member->presence, true); /* nothing is left to close */
  rp__jw_object(w);
  rp__jw_kstr(w, "status", "closed");
  rp__jw_end_object(w);
  return 0;
}

/* The seed's own question: how far the client is behind the journal. */
static int sync_sequence(struct rp__push *p, int64_t known, struct rp__jw *w, rp_error *err)
{
  struct rp__shown x;
  int rc = rp__show(p->ch->of->srv->engine, p->ch->entry->id, &x, err);
  if (rc) return rc;
  int64_t gap = x.seq - known;
  if (known < 0 || gap < 0 || gap > RP_SYNC_GAP_MAX) {
    p->reason = "reset_required";
    return rp__fail_field(err, RP_E_SEQ_CONFLICT, "last_known_sequence", "the journal is at %lld, the client at %lld",
                          (long long)x.seq, (long long)known);
  }
  rp__jw_object(w);
  rp__jw_ki64(w, "gap", gap);
  rp__jw_kstr(w, "status", x.status);
  rp__jw_ki64(w, "seq", x.seq);
  rp__jw_end_object(w);
  return 0;
}

/* L-10: where a client that was away goes on. */
static int ask_sync(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  char *client_id RP_AUTOFREE = NULL;
  int64_t known = -1;
  int rc = rp__body_text(p->payload, "client_id", &client_id, err);
  if (!rc) rc = rp__body_i64(p->payload, "last_known_sequence", &known, err);
  if (rc) return rc;
  if (client_id) {
    int64_t last = 0, seq = 0;
    rc = rp_sync(session_of(p), client_id, &last, &seq, err);
    if (rc) return rc;
    rp__jw_object(w);
    rp__jw_ki64(w, "last_client_seq", last);
    rp__jw_ki64(w, "seq", seq);
    rp__jw_end_object(w);
    return 0;
  }
  if (rp__json_get(p->payload, "last_known_sequence").type == RP_JSON_NUMBER) return sync_sequence(p, known, w, err);
  return rp__fail_field(err, RP_E_INVALID, "client_id", "'client_id' is missing");
}

/* L-13: what the next segment should know. */
static int ask_brief(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  char *doc = NULL;
  int rc = rp_brief(session_of(p), false, &doc, err);
  if (rc) return rc;
  rp__jw_raw(w, doc, strlen(doc));
  rp_free(doc);
  return 0;
}

/* ---- pushes that are carried out immediately, because they concern the channel alone ---- */

static int now_ping(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)p, (void)err;
  rp__jw_object(w);
  rp__jw_kbool(w, "pong", true);
  rp__jw_end_object(w);
  return 0;
}

static int now_leave(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)w, (void)err;
  p->ch->goodbye = true;
  rp__channel_end_audio(p->ch);
  return 0;
}

/*
 * No raw audio goes into the journal: one small `x-audio` event tells of each
 * segment. A segment ends by word, with a final transcript, or when it is as long as the
 * seed allows.
 */
static int now_audio_chunk(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  struct rp__audio *a = &p->ch->audio;
  int64_t n = p->binary ? (int64_t)p->data.n : rp__push_chunk_bytes(rp__json_get(p->payload, "data"));
  (void)w;
  if (n < 0)
    return rp__fail_field(err, RP_E_INVALID, "data", "'data' must be an array, an object, a string or a binary frame");
  int64_t now = rp__server_now(p->ch->of->srv);
  if (a->chunks && a->bytes + n > RP_AUDIO_BYTES) rp__channel_end_audio(p->ch);
  if (!a->chunks) a->from_ms = now;
  a->chunks++;
  a->bytes += n;
  a->to_ms = now;
  bool full = a->bytes >= RP_AUDIO_BYTES || a->bytes >= (int64_t)RP_AUDIO_SECONDS * RP_AUDIO_RATE;
  if (full) rp__channel_end_audio(p->ch);
  return 0;
}

static int now_stop_recording(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)w, (void)err;
  rp__channel_end_audio(p->ch);
  return 0;
}

/* What is still being said is no history: the others hear it, the journal does not. */
static int now_partial(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)w;
  if (rp__json_get(p->payload, "text").type != RP_JSON_STRING)
    return rp__fail_field(err, RP_E_INVALID, "text", "'text' must be a string");
  struct rp__channel *other = p->ch->member ? p->ch->member->channels : NULL;
  for (; other; other = other->fellow)
    if (other != p->ch) rp__channel_tell(other, "transcript_partial", (struct rp__str){p->payload.p, p->payload.n});
  return 0;
}

/* Goes into what follows; alone it is no event. */
static int now_set_timestamp(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  double video;
  (void)w;
  if (!rp__json_double(rp__json_get(p->payload, "timestamp"), &video) || !(video >= 0))
    return rp__fail_field(err, RP_E_INVALID, "timestamp", "'timestamp' must be a number of seconds >= 0");
  p->ch->video = video;
  p->ch->has_video = true;
  return 0;
}

/* ---- the table ---- */

#define FIELDS(...) ((const struct rp__push_field[]){__VA_ARGS__, {0}})
#define APPENDS (RP_PUSH_WRITES | RP_PUSH_OBJECT)
#define NOTE_FIELDS                                                                                                    \
  FIELDS({"id", "id", NULL, RP_FILL_UUID}, {"timestamp", "timestamp_seconds", "timestamp", RP_FILL_VIDEO})

/* clang-format off */
const struct rp__push_row rp__pushes[] = {
  {"event", APPENDS, .kind = ""}, /* says its kind and body itself */
  {"checkpoint", RP_PUSH_WRITES | RP_PUSH_ALONE, .ask = ask_checkpoint},
  {"close_session", RP_PUSH_WRITES | RP_PUSH_ALONE, .ask = ask_close},
  {"sync", RP_PUSH_OBJECT | RP_PUSH_ALONE, .ask = ask_sync},
  {"brief", RP_PUSH_ALONE, .ask = ask_brief},
  {"ping", RP_PUSH_BINARY, .now = now_ping},
  {"note", APPENDS, .kind = "note", .fields = NOTE_FIELDS},
  {"note_created", APPENDS, .kind = "note", .fields = NOTE_FIELDS},
  {"transcript_final", APPENDS, .kind = "transcript", .fields = FIELDS(
    {"final", NULL, NULL, RP_FILL_TRUE}, {"timestamp", "timestamp", NULL, RP_FILL_VIDEO},
    {"duration_seconds", "durationSeconds", "duration_seconds", RP_FILL_NOTHING},
    {"transcription_time_ms", "transcriptionTimeMs", "transcription_time_ms", RP_FILL_NOTHING})},
  {"transcript_partial", RP_PUSH_WRITES | RP_PUSH_OBJECT | RP_PUSH_SILENT, .now = now_partial},
  {"frame_embedding", APPENDS, .kind = "frame", .fields = FIELDS(
    {"frame_id", "frame_id", NULL, RP_FILL_UUID}, {"timestamp", "timestamp", NULL, RP_FILL_VIDEO},
    {"uploaded_at", "uploaded_at", NULL, RP_FILL_NOW},
    {"embedding_time_ms", "embeddingTimeMs", "embedding_time_ms", RP_FILL_NOTHING})},
  {"update_video_context", APPENDS, .kind = "session", .fields = FIELDS({"meta", "video_id", NULL, RP_FILL_NOTHING})},
  {"set_timestamp", RP_PUSH_OBJECT, .now = now_set_timestamp},
  {"audio_chunk", RP_PUSH_WRITES | RP_PUSH_SILENT | RP_PUSH_BINARY, .now = now_audio_chunk},
  {"stop_recording", RP_PUSH_WRITES, .now = now_stop_recording},
  {0},
};
const struct rp__push_row rp__push_leave = {"phx_leave", RP_PUSH_ALONE, .now = now_leave};
const struct rp__push_row rp__push_audio = {"x-audio", RP_PUSH_SILENT | RP_PUSH_OBJECT, .kind = "x-audio"};
/* clang-format on */

const struct rp__push_row *rp__push_find(const char *name)
{
  for (const struct rp__push_row *row = rp__pushes; row->name; row++)
    if (strcmp(row->name, name) == 0) return row;
  return NULL;
}

/* ---- the body ---- */

static bool there(struct rp__json v)
{
  return v.type != RP_JSON_NONE && v.type != RP_JSON_NULL;
}

/* What says how to store, and not what. */
static bool is_envelope(struct rp__json key)
{
  static const char *const names[] = {"client_id", "client_seq", "at", "durability", "fallback"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++)
    if (rp__json_eq(key, names[i])) return true;
  return false;
}

static bool is_mapped(const struct rp__push_field *f, struct rp__json key)
{
  for (; f && f->to; f++) {
    if (rp__json_eq(key, f->to) || (f->from && rp__json_eq(key, f->from)) || (f->alt && rp__json_eq(key, f->alt)))
      return true;
  }
  return false;
}

static void fill(const struct rp__push_field *f, const struct rp__push_moment *m, struct rp__jw *w)
{
  char id[RP_UUID_TEXT];
  if (f->fill == RP_FILL_NOTHING || (f->fill == RP_FILL_VIDEO && !m->has_video)) return;
  rp__jw_key(w, f->to);
  if (f->fill == RP_FILL_UUID) {
    rp__uuid7(id, m->now_ms, &rp__system_random);
    rp__jw_str(w, id);
  } else if (f->fill == RP_FILL_NOW) {
    rp__jw_time(w, m->now_ms);
  } else if (f->fill == RP_FILL_VIDEO) {
    rp__jw_double(w, m->video);
  } else {
    rp__jw_bool(w, true);
  }
}

static void write_body(const struct rp__push_row *row, const struct rp__push_moment *m, struct rp__json payload,
                       struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  for (const struct rp__push_field *f = row->fields; f && f->to; f++) {
    struct rp__json v = f->from ? rp__json_get(payload, f->from) : (struct rp__json){0};
    if (!there(v) && f->alt) v = rp__json_get(payload, f->alt);
    if (there(v))
      rp__jw_kvalue(&w, f->to, v);
    else
      fill(f, m, &w);
  }
  while (rp__json_next(payload, &it, &key, &value)) {
    if (is_envelope(key) || is_mapped(row->fields, key)) continue;
    /* A key as it came, escapes and all: its bytes were checked. */
    char *name RP_AUTOFREE = rp__json_dup(key);
    if (name)
      rp__jw_kvalue(&w, name, value);
    else if (!out->err)
      out->err = RP_E_NOMEM;
  }
  rp__jw_end_object(&w);
}

/* The journal would refuse it by the name it has there, which is not always the one it came under. */
static int check_times(const struct rp__push_row *row, struct rp__json payload, rp_error *err)
{
  for (const struct rp__push_field *f = row->fields; f && f->to; f++) {
    double seconds;
    int64_t ms;
    if (f->fill != RP_FILL_VIDEO) continue;
    const char *name = f->alt && !there(rp__json_get(payload, f->from)) ? f->alt : f->from;
    struct rp__json v = rp__json_get(payload, name);
    if (!there(v) || (rp__json_double(v, &seconds) && seconds >= 0)) continue;
    if (v.type == RP_JSON_STRING && v.n > 2 && rp__time_parse(v.p + 1, v.n - 2, &ms) == 0) continue;
    return rp__fail_field(err, RP_E_INVALID, name, "'%s' must be a time: a number of seconds >= 0, or ISO 8601 text",
                          name);
  }
  return 0;
}

/* The seed's word for another video is a change of the session's metadata. */
static int write_video(struct rp__json payload, struct rp__buf *out, rp_error *err)
{
  struct rp__json v = rp__json_get(payload, "video_id");
  struct rp__jw w = RP_JW(out);
  if (v.type != RP_JSON_STRING && v.type != RP_JSON_NUMBER)
    return rp__fail_field(err, RP_E_INVALID, "video_id", "'video_id' must be a string or a number");
  rp__jw_object(&w);
  rp__jw_kobject(&w, "meta");
  rp__jw_kvalue(&w, "video_id", v);
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  return 0;
}

/* ---- what is around it ---- */

static int read_envelope(struct rp__json payload, struct rp__push_event *e, rp_error *err)
{
  char *at RP_AUTOFREE = NULL, *durability RP_AUTOFREE = NULL;
  struct rp__json fallback = rp__json_get(payload, "fallback");
  bool numbered = there(rp__json_get(payload, "client_seq"));
  int rc = rp__body_text(payload, "client_id", &e->client_id, err);
  if (!rc) rc = rp__body_i64(payload, "client_seq", &e->client_seq, err);
  if (rc) return rc;
  if (numbered && !e->client_id)
    return rp__fail_field(err, RP_E_INVALID, "client_id", "'client_seq' needs a 'client_id'");
  if (!numbered && e->client_id)
    return rp__fail_field(err, RP_E_INVALID, "client_seq", "'client_id' needs a 'client_seq'");
  rc = rp__body_text(payload, "at", &at, err);
  if (rc) return rc;
  if (at && rp__time_parse(at, strlen(at), &e->at_ms))
    return rp__fail_field(err, RP_E_INVALID, "at", "'at' must be a time like 2026-11-16T09:30:00Z");
  rc = rp__body_text(payload, "durability", &durability, err);
  if (rc) return rc;
  if (durability && !(e->durability = rp__durability_parse(durability)))
    return rp__fail_field(err, RP_E_INVALID, "durability", "'durability' must be memory, os or disk");
  e->accepts_memory = there(fallback);
  if (there(fallback) && !rp__json_eq(fallback, "memory"))
    return rp__fail_field(err, RP_E_INVALID, "fallback", "'fallback' must be memory");
  return 0;
}

static int read_event(struct rp__json payload, struct rp__push_event *e, rp_error *err)
{
  static const char *const known[] = {"kind", "body", "at", "client_id", "client_seq", "durability", "fallback", NULL};
  struct rp__json body = rp__json_get(payload, "body");
  int rc = rp__body_known(payload, known, err);
  if (!rc) rc = rp__body_text(payload, "kind", &e->kind, err);
  if (rc) return rc;
  if (!e->kind) return rp__fail_field(err, RP_E_INVALID, "kind", "'kind' is missing");
  if (body.type == RP_JSON_NONE) return rp__fail_field(err, RP_E_INVALID, "body", "'body' is missing");
  rp__buf_add(&e->body, body.p, body.n);
  return 0;
}

int rp__push_event(const struct rp__push_row *row, const struct rp__push_moment *m, struct rp__json payload,
                   struct rp__push_event *ret, rp_error *err)
{
  struct rp__push_event e = {.body = RP_BUF(RP_PUSH_BODY_MAX)};
  int rc = read_envelope(payload, &e, err);
  if (!rc) rc = check_times(row, payload, err);
  if (!rc && !row->kind[0])
    rc = read_event(payload, &e, err);
  else if (!rc && !(e.kind = strdup(row->kind)))
    rc = rp__fail_nomem(err);
  else if (!rc && strcmp(row->name, "update_video_context") == 0)
    rc = write_video(payload, &e.body, err);
  else if (!rc)
    write_body(row, m, payload, &e.body);
  if (!rc && e.body.err) rc = rp__fail(err, e.body.err, "the body of the event can't be made");
  if (rc)
    rp__push_event_done(&e);
  else
    *ret = e;
  return rc;
}

void rp__push_event_done(struct rp__push_event *e)
{
  free(e->kind);
  free(e->client_id);
  rp__buf_done(&e->body);
  *e = (struct rp__push_event){0};
}

/* ---- answers ---- */

int64_t rp__push_chunk_bytes(struct rp__json data)
{
  if (data.type == RP_JSON_ARRAY || data.type == RP_JSON_OBJECT) return (int64_t)rp__json_count(data);
  if (data.type != RP_JSON_STRING) return -1;
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_PUSH_BODY_MAX);
  return rp__json_text(data, &text) ? -1 : (int64_t)text.n;
}

int64_t rp__push_expected(const rp_error *err)
{
  static const char words[] = "expected client_seq ";
  const char *at = err->code == RP_E_CLIENT_GAP ? strstr(err->message, words) : NULL;
  if (!at) return 0;
  errno = 0;
  long long v = strtoll(at + sizeof words - 1, NULL, 10);
  return errno || v < 1 ? 0 : v;
}

void rp__push_refusal(const rp_error *err, const char *reason, struct rp__jw *w)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  int64_t expected = rp__push_expected(err);
  char message[RP_PROBLEM_TEXT];
  rp__problem_text(err, message);
  rp__jw_object(w);
  rp__jw_kstr(w, "reason", reason ? reason : info->name);
  rp__jw_kstr(w, "message", message);
  if (err->field[0]) rp__jw_kstr(w, "field", err->field);
  if (err->hint[0]) rp__jw_kstr(w, "hint", err->hint);
  rp__jw_kbool(w, "retryable", info->retryable);
  if (expected) rp__jw_ki64(w, "expected", expected);
  rp__jw_end_object(w);
}
