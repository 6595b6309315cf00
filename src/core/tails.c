/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a session's open streams, and its form in the session's head. */
#include "core/tails.h"

static void remove_at(struct rp__tails *t, size_t i)
{
  memmove(&t->at[i], &t->at[i + 1], (--t->n - i) * sizeof t->at[0]);
}

void rp__tails_note(struct rp__tails *t, uint64_t voice, int64_t seq)
{
  size_t i = 0;
  while (i < t->n && t->at[i].voice != voice) i++;
  if (i < t->n) remove_at(t, i);
  if (seq && t->n == RP_TAILS_MAX) remove_at(t, 0); /* entries stand in the order of their events */
  if (seq) t->at[t->n++] = (struct rp__tail_at){voice, seq};
}

static unsigned char *put64(unsigned char *at, uint64_t v)
{
  for (int i = 0; i < 8; i++) *at++ = (unsigned char)(v >> (8 * i));
  return at;
}

static uint64_t get64(const unsigned char *at)
{
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}

size_t rp__tails_write(const struct rp__tails *t, unsigned char out[RP_TAILS_BYTES])
{
  unsigned char *at = out;
  if (!t->number && !t->n) return 0;
  at = put64(at, (uint64_t)t->number);
  for (size_t i = 0; i < t->n; i++) at = put64(put64(at, t->at[i].voice), (uint64_t)t->at[i].seq);
  return (size_t)(at - out);
}

bool rp__tails_read(const void *bytes, size_t n, struct rp__tails *ret)
{
  const unsigned char *at = bytes;
  *ret = (struct rp__tails){0};
  if (!n) return true;
  if (n < 8 || (n - 8) % 16 || n > RP_TAILS_BYTES) return false;
  struct rp__tails t = {.number = (int64_t)(get64(at) & INT64_MAX), .n = (n - 8) / 16};
  for (size_t i = 0; i < t.n; i++) {
    t.at[i] = (struct rp__tail_at){get64(at + 8 + 16 * i), (int64_t)get64(at + 16 + 16 * i)};
    if (!t.at[i].voice || t.at[i].seq < 1) return false;
  }
  *ret = t;
  return true;
}
