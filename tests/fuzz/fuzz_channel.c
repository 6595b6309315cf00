/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile bytes as a client's message on a channel (L-03). The first byte says whether the rest is a text frame or a
 * binary one. What must hold: what was understood, written again, is understood the same; what was not names a reason;
 * nothing beyond the bytes is read.
 */
#include "server/channel/phoenix.h"

/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool same(struct rp__str a, struct rp__str b)
{
  return (a.p == NULL) == (b.p == NULL) && a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static void check_names(const struct rp__phx *m)
{
  const struct rp__str name[] = {m->join_ref, m->ref, m->topic, m->event};
  for (size_t i = 0; i < RP_ARRAY_SIZE(name); i++)
    MUST(name[i].n <= RP_PHX_NAME_MAX && (!name[i].p || strlen(name[i].p) == name[i].n));
  MUST(m->topic.n && m->event.n);
}

static void check_again(const struct rp__phx *m)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_PHX_OUT_MAX);
  struct rp__phx again;
  if (m->binary)
    rp__phx_push_binary(&out, m->join_ref.p, m->ref.p, m->topic.p, m->event.p, m->data);
  else
    rp__phx_push(&out, m->join_ref.p, m->ref.p, m->topic.p, m->event.p, (struct rp__str){m->payload.p, m->payload.n});
  MUST(!out.err);
  int rc = rp__phx_read(m->binary, out.p, out.n, &again, NULL);
  MUST(rc == 0 && again.binary == m->binary);
  MUST(same(again.join_ref, m->join_ref) && same(again.ref, m->ref));
  MUST(same(again.topic, m->topic) && same(again.event, m->event));
  MUST(again.data.n == m->data.n && (!m->data.n || memcmp(again.data.p, m->data.p, m->data.n) == 0));
  MUST(again.payload.type == m->payload.type && again.payload.n == m->payload.n);
  MUST(!m->payload.n || memcmp(again.payload.p, m->payload.p, m->payload.n) == 0);
}

/* Replies to it are JSON, or a frame whose lengths add up. */
static void check_replies(const struct rp__phx *m)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_PHX_OUT_MAX), binary = RP_BUF(RP_PHX_OUT_MAX);
  struct rp__json v;
  rp__phx_reply(&text, m->join_ref.p, m->ref.p, m->topic.p, true, RP_STR("{}"));
  int rc = rp__json_parse(text.p, text.n, NULL, &v, NULL);
  MUST(!text.err && rc == 0 && rp__json_count(v) == 5);
  rp__phx_reply_binary(&binary, m->join_ref.p, m->ref.p, m->topic.p, false, m->data);
  MUST(!binary.err && binary.n == 5 + m->join_ref.n + m->ref.n + m->topic.n + 5 + m->data.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 1) return 0;
  struct rp__phx m;
  rp_error err = {0};
  int rc = rp__phx_read(data[0] & 1, (const char *)data + 1, n - 1, &m, &err);
  MUST(rc == err.code && (rc == 0) == (err.message[0] == '\0'));
  if (rc) return 0;
  check_names(&m);
  check_again(&m);
  check_replies(&m);
  return 0;
}
