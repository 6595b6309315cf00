/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a journal as a conversation, page by page. */
#include "bridge/acp/replay/conversation.h"

#define PAGE_MAX ((size_t)256 * 1024 * 1024) /* bytes of a page: the last event may be of any size the store has */
#define FULL 1                               /* the callback's own word: the page is full */

static const struct {
  const char *name;
  enum rp__conversation_kind kind;
} kinds[] = {
    {"message", RP_CONVERSATION_MESSAGE},       {"tool", RP_CONVERSATION_TOOL},
    {"x-acp-update", RP_CONVERSATION_UPDATE},   {"x-acp-turn", RP_CONVERSATION_TURN_END},
    {"x-acp-request", RP_CONVERSATION_REQUEST}, {"x-acp-answer", RP_CONVERSATION_ANSWER},
    {"x-acp-agent", RP_CONVERSATION_DIED},      {"restored", RP_CONVERSATION_RUN},
};

int rp__conversation_open(struct rp__conversation *p, rp_session *s, int64_t end, rp_error *err)
{
  *p = (struct rp__conversation){.s = s, .end = end, .bytes = RP_BUF(PAGE_MAX), .blob = RP_BUF(RP_CONVERSATION_BLOB)};
  return end < 0 ? rp_wait(s, -1, 0, &p->end, err) : 0;
}

void rp__conversation_done(struct rp__conversation *p)
{
  rp__buf_done(&p->bytes);
  rp__buf_done(&p->blob);
}

void rp__conversation_rewind(struct rp__conversation *p)
{
  p->at = 0;
  p->i = p->n = 0;
  p->turn = false;
}

/* ---- pages ------------------------------------------------------------------------------------ */

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct rp__conversation *p = ctx;
  p->at = ev->seq;
  for (size_t k = 0; k < RP_ARRAY_SIZE(kinds); k++) {
    if (strcmp(ev->kind, kinds[k].name) != 0) continue;
    p->page[p->n].seq = ev->seq;
    p->page[p->n].kind = kinds[k].kind;
    p->page[p->n].at = p->bytes.n;
    p->page[p->n].n = ev->body_len;
    rp__buf_add(&p->bytes, ev->body, ev->body_len);
    p->n++;
    break;
  }
  if (p->bytes.err) return p->bytes.err;
  return p->n == RP_CONVERSATION_PAGE || p->bytes.n >= RP_CONVERSATION_BYTES ? FULL : 0;
}

/* ---- what an event means ---------------------------------------------------------------------- */

/* What others wrote while a turn was running is passed over. */
static enum rp__conversation_kind meaning(struct rp__conversation *p, struct rp__conversation_event *ev)
{
  struct rp__json body = ev->body;
  bool ours = rp__json_eq(rp__json_get(body, "source"), "acp"), back;
  switch (ev->kind) {
  case RP_CONVERSATION_MESSAGE:
    if (p->turn && !ours) return RP_CONVERSATION_OTHER;
    if (!ours || !rp__json_get(body, "turn").type) return RP_CONVERSATION_MESSAGE;
    p->turn = true;
    return RP_CONVERSATION_PROMPT;
  case RP_CONVERSATION_TOOL:
    ours = rp__json_get(body, "acp_blob").type == RP_JSON_STRING || rp__json_get(body, "acp").type == RP_JSON_OBJECT;
    return p->turn && !ours ? RP_CONVERSATION_OTHER : RP_CONVERSATION_TOOL;
  case RP_CONVERSATION_TURN_END: p->turn = false; return RP_CONVERSATION_TURN_END;
  case RP_CONVERSATION_DIED:
    return rp__json_eq(rp__json_get(body, "event"), "died") ? RP_CONVERSATION_DIED : RP_CONVERSATION_OTHER;
  case RP_CONVERSATION_RUN:
    back = rp__json_i64(rp__json_get(body, "to_seq"), &ev->to);
    if (!back && rp__json_get(body, "epoch").type != RP_JSON_NUMBER) return RP_CONVERSATION_OTHER;
    p->turn = false;
    return back ? RP_CONVERSATION_BACK : RP_CONVERSATION_RUN;
  default: return ev->kind;
  }
}

int rp__conversation_next(struct rp__conversation *p, struct rp__conversation_event *ret, rp_error *err)
{
  while (p->i == p->n && p->at < p->end) {
    int64_t before = p->at, limit = RP_MIN(p->end - p->at, (int64_t)RP_CONVERSATION_PAGE);
    rp__buf_reset(&p->bytes);
    p->i = p->n = 0;
    int rc = rp_events(p->s, p->at, limit, on_event, p, err);
    if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
    if (rc && rc != FULL) return rc;
    if (p->at == before) p->end = before; /* the journal is shorter than was thought */
  }
  if (p->i == p->n) return 0;
  size_t i = p->i++;
  *ret = (struct rp__conversation_event){.seq = p->page[i].seq, .kind = p->page[i].kind};
  ret->body = rp__json_trusted(p->bytes.p + p->page[i].at, p->page[i].n);
  ret->kind = meaning(p, ret);
  return 1;
}

/* ---- blobs -------------------------------------------------------------------------------------- */

static int on_blob(void *ctx, const void *bytes, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, bytes, n);
  return out->err;
}

/* 1: `out` has the blob's bytes. */
static int read_blob(struct rp__conversation *p, struct rp__json body, struct rp__buf *out, rp_error *err)
{
  struct rp__json id = rp__json_get(body, "acp_blob");
  if (id.type != RP_JSON_STRING) return 0;
  char *name RP_AUTOFREE = rp__json_dup(id);
  if (!name) return rp__fail_nomem(err);
  rp__buf_reset(out);
  int rc = rp_blob_get(p->s, name, on_blob, out, err);
  if (rc == RP_E_BLOB_NOT_FOUND) return 0;
  if (rc == RP_E_NOMEM) return rp__fail_nomem(err);
  return rc ? rc : 1;
}

int rp__conversation_whole(struct rp__conversation *p, struct rp__conversation_event *ev, rp_error *err)
{
  int rc = read_blob(p, ev->body, &p->blob, err);
  if (rc == 1) ev->body = rp__json_trusted(p->blob.p, p->blob.n);
  return RP_MIN(rc, 0);
}

static int on_one(void *ctx, const rp_event_info *ev)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, ev->body, ev->body_len);
  return out->err;
}

int rp__conversation_read(struct rp__conversation *p, int64_t seq, struct rp__buf *out, rp_error *err)
{
  struct rp__buf whole RP_AUTOBUF = RP_BUF(RP_CONVERSATION_BLOB);
  rp__buf_reset(out);
  int rc = rp_events(p->s, seq - 1, 1, on_one, out, err);
  if (rc) return rc == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
  rc = read_blob(p, rp__json_trusted(out->p ? out->p : "", out->n), &whole, err);
  if (rc != 1) return rc;
  rp__buf_reset(out);
  rp__buf_add(out, whole.p, whole.n);
  return out->err ? rp__fail_nomem(err) : 0;
}
