/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/speaker.h"

void rp__speaker_base(const char *name, char base[RP_SPEAKER_BASE])
{
  const char *kind = strchr(name, '/'), *role = kind ? strchr(kind + 1, '/') : NULL;
  snprintf(base, RP_SPEAKER_BASE, "%.*s", (int)(role ? RP_MIN(role - name, RP_SPEAKER_BASE - 1) : 0), name);
}

struct rp__speaker *rp__speaker_find(struct rp__speech *sp, const char *base)
{
  struct rp__speaker *oldest = &sp->speakers[0];
  for (size_t i = 0; i < RP_SPEAKERS; i++) {
    struct rp__speaker *k = &sp->speakers[i];
    if (k->used && strcmp(k->base, base) == 0) return k->used = ++sp->clock, k;
    if (k->used < oldest->used) oldest = k;
  }
  *oldest = (struct rp__speaker){0};
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
