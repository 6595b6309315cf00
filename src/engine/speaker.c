/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/speaker.h"

void rp__speaker_base(const char *name, char base[RP_SPEAKER_BASE])
{
  const char *kind = strchr(name, '/'), *role = kind ? strchr(kind + 1, '/') : NULL;
  snprintf(base, RP_SPEAKER_BASE, "%.*s", (int)(role ? RP_MIN(role - name, RP_SPEAKER_BASE - 1) : 0), name);
}

void rp__speaker_done(struct rp__speaker *k)
{
  rp__redact_stream_done(&k->stream);
  rp__buf_done(&k->shell);
  memset(k->tail, 0, sizeof k->tail);
  *k = (struct rp__speaker){0};
}

struct rp__speaker *rp__speaker_find(rp_session *s, const char *base)
{
  struct rp__speech *sp = s->speech;
  struct rp__speaker *oldest = &sp->speakers[0];
  for (size_t i = 0; i < RP_SPEAKERS; i++) {
    struct rp__speaker *k = &sp->speakers[i];
    if (k->used && strcmp(k->base, base) == 0) return k->used = ++sp->clock, k;
    if (k->used < oldest->used) oldest = k;
  }
  if (oldest->used) {
    rp__speaker_emit(s, oldest);
    rp__speaker_done(oldest);
  }
  snprintf(oldest->base, sizeof oldest->base, "%s", base);
  oldest->used = ++sp->clock;
  return oldest;
}

static bool tail_masked(const struct rp__speaker *k)
{
  static const size_t mask = sizeof RP_MASK - 1;
  return k->n_tail >= mask && memcmp(k->tail + k->n_tail - mask, RP_MASK, mask) == 0;
}

static bool tail_open(const struct rp__redactor *r, const struct rp__speaker *k)
{
  return tail_masked(k) || rp__redact_tail(r, k->tail, k->n_tail) < k->n_tail;
}

void rp__speaker_said(const struct rp__redactor *r, struct rp__speaker *k, const char *text, size_t n)
{
  if (n < RP_SPEAKER_TAIL && n + k->n_tail > RP_SPEAKER_TAIL) {
    size_t drop = n + k->n_tail - RP_SPEAKER_TAIL;
    memmove(k->tail, k->tail + drop, k->n_tail - drop);
    k->n_tail -= drop;
  }
  if (n >= RP_SPEAKER_TAIL) {
    text += n - RP_SPEAKER_TAIL;
    n = RP_SPEAKER_TAIL;
    k->n_tail = 0;
  }
  if (n) memcpy(k->tail + k->n_tail, text, n);
  k->n_tail += n;
  k->open = tail_open(r, k);
}

bool rp__speaker_seam_open(const struct rp__redactor *r, const struct rp__speaker *k, const char *text, size_t n)
{
  char seam[2 * RP_SPEAKER_PLAIN];
  size_t more = RP_MIN(n, RP_SPEAKER_PLAIN);
  if (!k->open) return false;
  if (k->n_tail > RP_SPEAKER_PLAIN || tail_masked(k)) return true;
  memcpy(seam, k->tail, k->n_tail);
  memcpy(seam + k->n_tail, text, more);
  return rp__redact_suspects(r, seam, k->n_tail + more);
}

struct rp__speaker *rp__speaker_open(const rp_session *s, const char *name)
{
  for (size_t i = 0; s->speech && i < RP_SPEAKERS; i++) {
    struct rp__speaker *k = &s->speech->speakers[i];
    if (k->used && (k->unfinished || k->stream.held.n) && strcmp(k->name, name) == 0) return k;
  }
  return NULL;
}

int rp__speaker_emit(rp_session *s, struct rp__speaker *k)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_REDACT_TAIL_MAX * 2), body RP_AUTOBUF = RP_BUF(RP_SPEAKER_SHELL + 65536);
  char name[RP_SPEAKER_MAX];
  size_t hits = 0;
  if (!k->stream.held.n) return 0;
  int rc = rp__redact_stream_end(s->e->redactor, &k->stream, &text, &hits);
  if (rc || !text.n || !k->shell.n) return rc;
  struct rp__event ev = {.kind = k->kind, .kind_name = rp__kind_name(k->kind)};
  ev.body = rp__json_trusted(k->shell.p, k->shell.n);
  struct rp__json said = rp__mask_chunk(&ev, name);
  if (said.type != RP_JSON_STRING || rp__mask_with_text(ev.body, said, text.p, text.n, &body)) return RP_E_NOMEM;
  rp_event event = {.kind = ev.kind_name, .body = body.p, .body_len = body.n};
  rp_append_options o = {.durability = RP_OS, .expect = -1};
  return rp__journal_append(s, &event, 1, &o, true, NULL, NULL);
}
