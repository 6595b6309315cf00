/* SPDX-License-Identifier: Apache-2.0 */
/* What the proxy remembers of tool calls and requests, also of a session that comes back. */
#include "bridge/acp/session/event.h"
#include "base/enum-words.h"

#include "base/text.h"

#define PAGE 256 /* events looked at from the journal's end; four times as many each further time */

struct rp__known_call *rp__known_call(struct rp__known_calls *b, uint64_t id)
{
  for (size_t i = 0; i < RP_KNOWN_CALLS; i++)
    if (b->calls[i].id == id) return &b->calls[i];
  return NULL;
}

struct rp__known_call *rp__known_call_add(struct rp__known_calls *b, uint64_t id)
{
  struct rp__known_call *c = &b->calls[b->next_call++ % RP_KNOWN_CALLS];
  *c = (struct rp__known_call){.id = id};
  return c;
}

struct rp__known_request *rp__known_request(struct rp__known_calls *b, uint64_t id)
{
  for (size_t i = 0; i < RP_KNOWN_ASKED; i++)
    if (b->asked[i].id == id) return &b->asked[i];
  return NULL;
}

struct rp__known_request *rp__known_request_add(struct rp__known_calls *b, uint64_t id)
{
  struct rp__known_request *a = rp__known_request(b, id);
  if (!a) a = &b->asked[b->next_asked++ % RP_KNOWN_ASKED];
  *a = (struct rp__known_request){.id = id};
  return a;
}

/* ---- from the journal ----------------------------------------------------------------------- */

struct loading {
  struct rp__known_calls *known;
  bool calls; /* the newest page: its calls are remembered */
  bool found;
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct loading *l = ctx;
  bool tool = strcmp(ev->kind, "tool") == 0;
  int64_t turn;
  if (!tool && strcmp(ev->kind, "message") != 0 && strcmp(ev->kind, "x-acp-turn") != 0) return 0;
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len);
  if (!rp__json_i64(rp__json_get(body, "turn"), &turn) || turn < 0) return 0;
  l->found = true;
  l->known->turn = RP_MAX(l->known->turn, turn);
  struct rp__json id = rp__json_get(rp__json_get(body, "acp"), "toolCallId"), name = rp__json_get(body, "name");
  if (!tool || !l->calls || id.type != RP_JSON_STRING) return 0;
  struct rp__buf text RP_AUTOBUF = RP_BUF(name.n + 1);
  if (rp__json_text(name, &text)) return text.err;
  uint64_t hash = rp__acp_event_hash(id);
  struct rp__known_call *c = rp__known_call(l->known, hash);
  if (!c) c = rp__known_call_add(l->known, hash);
  c->turn = turn;
  c->status = rp__tool_status_words[RP_TOOL_RUNNING];
  for (size_t i = 0; i < RP_TOOL_STATUSES; i++)
    if (rp__json_eq(rp__json_get(body, "status"), rp__tool_status_words[i])) c->status = rp__tool_status_words[i];
  rp__text_copy(c->name, sizeof c->name, text.p ? text.p : "");
  return 0;
}

int rp__known_calls_load(rp_session *s, struct rp__known_calls *ret, rp_error *err)
{
  struct rp__known_calls known = {0};
  struct loading l = {.known = &known, .calls = true};
  int64_t last, page = PAGE;
  int rc = rp_wait(s, -1, 0, &last, err);
  if (rc) return rc;
  while (last > 0 && !l.found) {
    int64_t from = RP_MAX(last - page, 0);
    rc = rp_events(s, from, last - from, on_event, &l, err);
    if (rc) return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
    l.calls = false;
    last = from;
    page *= 4;
  }
  *ret = known;
  return 0;
}
