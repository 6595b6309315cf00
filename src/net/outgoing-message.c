/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to peers: bytes with a count of references, made once and shared by all receivers. */
#include "net/conn.h"

#include <assert.h>

struct rp__net_msg *rp__msg_new(const void *bytes, size_t n)
{
  if (n > SIZE_MAX / 2) return NULL;
  struct rp__net_msg *m = malloc(sizeof(*m) + n);
  if (!m) return NULL;
  atomic_init(&m->refs, 1);
  m->n = n;
  if (bytes && n) memcpy(m->bytes, bytes, n);
  return m;
}

struct rp__net_msg *rp__msg_ref(struct rp__net_msg *m)
{
  assert(atomic_load_explicit(&m->refs, memory_order_relaxed) > 0); /* who refs one has one */
  atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

void rp__msg_unref(struct rp__net_msg *m)
{
  if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) free(m);
}
