/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes, frames and transcripts around a moment (L-07). They are read from the journal and not from the state, because
 * the state forgets older ones.
 */
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

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct search *x = ctx;
  enum sort k = ev->kind == RP_KIND_NOTE         ? SORT_NOTE
                : ev->kind == RP_KIND_FRAME      ? SORT_FRAME
                : ev->kind == RP_KIND_TRANSCRIPT ? SORT_TRANSCRIPT
                                                 : SORTS;
  int64_t at = ev->at_ms;
  if (k == SORTS) return 0;
  if (x->video) { /* the moment is a place in the video, and an event without one is about none */
    double seconds;
    struct rp__json stamp = rp__json_get(ev->body, "timestamp");
    if (!rp__json_double(stamp, &seconds) || seconds < -1e12 || seconds > 1e12) return 0;
    at = (int64_t)(seconds * 1000.0);
  }
  if (at < x->at - x->window || at > x->at + x->window) return 0;
  if (x->n[k] == EVIDENCE_MAX) return x->dropped++, 0;
  x->n[k]++;
  rp__jw_pack(&x->w[k], "{seq:i at:t offset_seconds:d body:v}", ev->seq, ev->at_ms, (double)(at - x->at) / 1000.0,
              ev->body);
  return x->out[k].err;
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
  if (!rc) {
    rp__jw_pack(&w, "{session_id:s", s->id);
    if (video)
      rp__jw_kdouble(&w, "video_at", (double)x.at / 1000.0);
    else
      rp__jw_ktime(&w, "at", x.at);
    rp__jw_kdouble(&w, "window_seconds", (double)x.window / 1000.0);
    for (int k = 0; k < SORTS; k++) {
      rp__jw_key(&w, sort_names[k]);
      rp__jw_raw(&w, x.out[k].p, x.out[k].n);
    }
    rp__jw_pack(&w, "left_out:i}", x.dropped);
  }
  for (int k = 0; k < SORTS; k++) {
    if (!rc && x.out[k].err) rc = x.out[k].err;
    rp__buf_done(&x.out[k]);
  }
  if (rc == RP_E_TOO_LARGE) return rp__fail(err, rc, "there is too much around that moment: ask for a smaller window");
  if (rc) return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
  return rp__text_give(&out, ret, err);
}
