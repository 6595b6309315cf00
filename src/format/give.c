/* SPDX-License-Identifier: Apache-2.0 */
#include "format/give.h"

#include "format/take.h"

static void block_text(struct rp__json block, struct rp__buf *out)
{
  struct rp__json text = rp__json_get(block, "text"), type = rp__json_get(block, "type");
  char name[32];
  if (out->n) rp__buf_char(out, '\n');
  if (text.type == RP_JSON_STRING) {
    rp__json_text(text, out);
    return;
  }
  rp__text_of(type, name, sizeof name);
  rp__buf_printf(out, "[%s]", name[0] ? name : "content");
}

void rp__content_text(struct rp__json content, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (content.type == RP_JSON_STRING) rp__json_text(content, out);
  if (content.type != RP_JSON_ARRAY) return;
  struct rp__buf blocks RP_AUTOBUF = RP_BUF(out->max);
  while (rp__json_next(content, &it, NULL, &item)) block_text(item, &blocks);
  if (blocks.err && !out->err) out->err = blocks.err;
  if (blocks.n) rp__buf_add(out, blocks.p, blocks.n);
}

bool rp__same_message(struct rp__json a, struct rp__json b)
{
  char role[16];
  struct rp__json id = rp__json_get(a, "message_id"), other = rp__json_get(b, "message_id");
  bool named = id.type == RP_JSON_STRING;
  if (named != (other.type == RP_JSON_STRING)) return false;
  if (named && (id.n != other.n || memcmp(id.p, other.p, id.n) != 0)) return false;
  if (!named && rp__json_get(a, "partial").type != RP_JSON_TRUE) return false;
  rp__text_of(rp__json_get(a, "role"), role, sizeof role);
  return rp__json_eq(rp__json_get(b, "role"), role);
}

bool rp__talk_next(struct rp__json messages, struct rp__talk *k, struct rp__turn *turn)
{
  rp__buf_reset(&turn->text);
  if (k->next.type == RP_JSON_NONE && !rp__json_next(messages, &k->it, NULL, &k->next)) return false;
  struct rp__json first = k->next;
  rp__text_of(rp__json_get(first, "role"), turn->role, sizeof turn->role);
  turn->message_id = rp__json_get(first, "message_id");
  turn->source = rp__json_get(first, "source");
  turn->at_ms = rp__when(rp__json_get(first, "at"));
  do {
    rp__content_text(rp__json_get(k->next, "content"), &turn->text);
    if (!rp__json_next(messages, &k->it, NULL, &k->next)) k->next = (struct rp__json){0};
  } while (k->next.type != RP_JSON_NONE && rp__same_message(first, k->next));
  return true;
}

int rp__give_pretty(const struct rp__giver *g, const struct rp__buf *compact, bool ascii, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(2 * RP_FOREIGN_MAX);
  if (compact->err == RP_E_TOO_LARGE)
    return rp__fail(err, RP_E_TOO_LARGE, "the export is over %zu bytes", compact->max);
  if (compact->err) return rp__fail_nomem(err);
  rp__json_pretty(rp__json_trusted(compact->p, compact->n), ascii, &out);
  rp__buf_char(&out, '\n');
  return rp__give(g, &out, err);
}
