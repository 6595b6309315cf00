/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes that are carried out immediately, because they concern the channel alone. */
#include "server/channel/channel.h"

int rp__now_ping(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)p;
  (void)err;
  rp__jw_object(w);
  rp__jw_kbool(w, "pong", true);
  rp__jw_end_object(w);
  return 0;
}

int rp__now_leave(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)w;
  (void)err;
  p->ch->goodbye = true;
  rp__channel_end_audio(p->ch);
  return 0;
}

/*
 * No raw audio goes into the journal: one small `x-audio` event tells of each
 * segment. A segment ends by word, with a final transcript, or when it is as long as the
 * seed allows.
 */
int rp__now_audio_chunk(struct rp__push *p, struct rp__jw *w, rp_error *err)
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

int rp__now_stop_recording(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)w;
  (void)err;
  rp__channel_end_audio(p->ch);
  return 0;
}

/* What is still being said is no history: the others hear it, the journal does not. */
int rp__now_partial(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  (void)w;
  if (rp__json_get(p->payload, "text").type != RP_JSON_STRING)
    return rp__fail_field(err, RP_E_INVALID, "text", "'text' must be a string");
  struct rp__channel *other = p->ch->member ? rp__member_channels(p->ch->member) : NULL;
  for (; other; other = other->fellow)
    if (other != p->ch) rp__channel_tell(other, "transcript_partial", (struct rp__str){p->payload.p, p->payload.n});
  return 0;
}

/* Goes into what follows; alone it is no event. */
int rp__now_set_timestamp(struct rp__push *p, struct rp__jw *w, rp_error *err)
{
  double video;
  (void)w;
  if (!rp__json_double(rp__json_get(p->payload, "timestamp"), &video) || !(video >= 0))
    return rp__fail_field(err, RP_E_INVALID, "timestamp", "'timestamp' must be a number of seconds >= 0");
  p->ch->video = video;
  p->ch->has_video = true;
  return 0;
}
