/* SPDX-License-Identifier: Apache-2.0 */
/* What was noted, seen and said around a moment (L-07): a question to the journal, not to the state, so nothing of it
 * was forgotten. */
#include "engine/engine.h"

#define EVIDENCE_MAX 10000 /* entries of each kind */

enum sort { SORT_NOTE, SORT_FRAME, SORT_TRANSCRIPT, SORTS };
static const char *const sort_names[SORTS] = {"notes", "frames", "transcript"};

struct search {
  int64_t at, window;
  bool video;
  struct rp__buf out[SORTS];
  struct rp__jw w[SORTS];
  int64_t n[SORTS], dropped;
};

static enum sort sort_of(enum rp__kind k)
{
  return k == RP_KIND_NOTE         ? SORT_NOTE
         : k == RP_KIND_FRAME      ? SORT_FRAME
         : k == RP_KIND_TRANSCRIPT ? SORT_TRANSCRIPT
                                   : SORTS;
}

/* The moment an event is about: when it was stored, or where in the video. False: it says nothing of the video. */
static bool moment(const struct search *x, const struct rp__event *ev, int64_t *ret)
{
  double seconds;
  struct rp__json stamp = rp__json_get(ev->body, "timestamp");
  *ret = ev->at_ms;
  if (!x->video) return true;
  if (!rp__json_double(stamp, &seconds) || seconds < -1e12 || seconds > 1e12) return false;
  *ret = (int64_t)(seconds * 1000.0);
  return true;
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct search *x = ctx;
  enum sort k = sort_of(ev->kind);
  int64_t at;
  if (k == SORTS || !moment(x, ev, &at)) return 0;
  if (at < x->at - x->window || at > x->at + x->window) return 0;
  if (x->n[k] == EVIDENCE_MAX) return x->dropped++, 0;
  x->n[k]++;
  rp__jw_object(&x->w[k]);
  rp__jw_ki64(&x->w[k], "seq", ev->seq);
  rp__jw_ktime(&x->w[k], "at", ev->at_ms);
  rp__jw_kdouble(&x->w[k], "offset_seconds", (double)(at - x->at) / 1000.0);
  rp__jw_key(&x->w[k], "body");
  rp__jw_value(&x->w[k], ev->body);
  rp__jw_end_object(&x->w[k]);
  return x->out[k].err;
}

static void write_found(rp_session *s, const struct search *x, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "session_id", s->id);
  if (x->video)
    rp__jw_kdouble(w, "video_at", (double)x->at / 1000.0);
  else
    rp__jw_ktime(w, "at", x->at);
  rp__jw_kdouble(w, "window_seconds", (double)x->window / 1000.0);
  for (int k = 0; k < SORTS; k++) {
    rp__jw_key(w, sort_names[k]);
    rp__jw_raw(w, x->out[k].p, x->out[k].n);
  }
  rp__jw_ki64(w, "left_out", x->dropped);
  rp__jw_end_object(w);
}

int rp_evidence_json(rp_session *s, int64_t at_ms, int64_t window_ms, bool video, char **ret, rp_error *err)
{
  struct search x = {.at = at_ms, .window = window_ms, .video = video};
  struct rp__buf out RP_AUTOBUF = RP_BUF(4 * RP_STATE_MAX);
  struct rp__jw w = RP_JW(&out);
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (window_ms < 0 || window_ms > INT64_MAX / 4)
    return rp__fail_field(err, RP_E_USAGE, "window", "a window is not negative");
  for (int k = 0; k < SORTS; k++) {
    x.out[k] = RP_BUF(RP_STATE_MAX);
    x.w[k] = RP_JW(&x.out[k]);
    rp__jw_array(&x.w[k]);
  }
  rc = rp__journal_read_past(s, 0, 0, on_event, &x, NULL, err);
  for (int k = 0; k < SORTS; k++) rp__jw_end_array(&x.w[k]);
  if (!rc) write_found(s, &x, &w);
  for (int k = 0; k < SORTS; k++) {
    if (!rc && x.out[k].err) rc = x.out[k].err;
    rp__buf_done(&x.out[k]);
  }
  if (rc == RP_E_TOO_LARGE) return rp__fail(err, rc, "there is too much around that moment: ask for a smaller window");
  if (rc) return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
  *ret = rp__buf_take(&out);
  return *ret ? 0 : rp__fail_nomem(err);
}
