/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/list: first the sessions of the journal, the one used last first, then the sessions that only the agent
 * knows. A cursor says which of the two parts goes on, and where: "r:" with time and id of the last session listed, or
 * "a:" with the agent's own cursor.
 */
#include "bridge/acp/session/session.h"

#include <errno.h>
#include <limits.h>

#define LIST_MS 5000 /* for the agent's part of a list */
#define PAGE 50
#define TITLE_CHARS 80
#define LOOK_EVENTS 16 /* among so many there is a first prompt, or there is no title */
#define CURSOR_MAX 4096

struct item {
  char id[RP_ID_MAX + 1], status[16];
  char *meta;
  int64_t at;
};

struct page {
  const char *cwd; /* or NULL: all */
  bool later;      /* only what comes behind these two */
  int64_t after_at;
  const char *after_id;
  bool met; /* the second one: what has the same time and is listed behind it comes behind it */
  struct item item[PAGE];
  size_t n;
  bool more;
};

static void page_done(struct page *p)
{
  for (size_t i = 0; i < p->n; i++) free(p->item[i].meta);
}

static int on_session(void *ctx, const rp_session_info *info)
{
  struct page *p = ctx;
  struct rp__json meta = rp__acp_raw(info->meta);
  if (p->later && strcmp(info->id, p->after_id) == 0) p->met = true;
  if (!info->channel || strcmp(info->channel, "acp") != 0) return 0;
  struct rp__json cwd = rp__json_get(meta, "cwd");
  if (cwd.type != RP_JSON_STRING || (p->cwd && !rp__json_eq(cwd, p->cwd))) return 0;
  bool told = p->later && info->last_activity_at >= p->after_at &&
              (info->last_activity_at > p->after_at || !p->met || strcmp(info->id, p->after_id) == 0);
  if (told) return 0;
  /* Its place in the page's order; they come newest first. */
  size_t i = p->n;
  while (i && info->last_activity_at > p->item[i - 1].at) i--;
  if (p->n == PAGE) p->more = true;
  if (i == PAGE) return 0; /* of a later page */
  if (p->n == PAGE) free(p->item[--p->n].meta);
  memmove(p->item + i + 1, p->item + i, (p->n - i) * sizeof p->item[0]);
  p->n++;
  struct item *it = &p->item[i];
  snprintf(it->id, sizeof it->id, "%s", info->id);
  snprintf(it->status, sizeof it->status, "%s", rp_session_status_name(info->status));
  it->meta = strndup(meta.p, meta.n);
  it->at = info->last_activity_at;
  return 0;
}

/* ---- a title: its name, else the first words of the user's ---- */

/* Names come by events, so the row that is listed has none. */
static bool write_name(rp_session *s, struct rp__jw *w)
{
  char *state = NULL;
  if (rp_state_json(s, -1, &state, NULL)) return false;
  struct rp__json settings = rp__json_get(rp__json_trusted(state, strlen(state)), "settings");
  struct rp__json name = rp__json_get(settings, "name");
  bool has = name.type == RP_JSON_STRING && name.n > 2;
  if (has) rp__jw_pack(w, "title:v", name);
  rp_free(state);
  return has;
}

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len), content = rp__json_get(body, "content"), block;
  struct rp__json_iter it = {0};
  struct rp__buf *out = ctx;
  if (strcmp(ev->kind, "message") != 0 || !rp__json_eq(rp__json_get(body, "role"), "user")) return 0;
  while (!out->n && rp__json_next(content, &it, NULL, &block)) rp__json_text(rp__json_get(block, "text"), out);
  return out->n ? 1 : 0;
}

static void write_item(struct rp__acp *a, const struct item *it, struct rp__jw *w)
{
  struct rp__json meta = rp__acp_raw(it->meta ? it->meta : "{}"), more = rp__json_get(meta, "additional_directories");
  char *said RP_AUTOFREE = rp__json_dup(rp__json_get(meta, "acp_session_id")),
             *sid RP_AUTOFREE = rp__name_own(it->id, said);
  struct rp__buf text RP_AUTOBUF = RP_BUF(2 * RP_BODY_MAX);
  rp_session *s = NULL;
  rp__jw_pack(w, "{sessionId:s cwd:v", sid ? sid : it->id, rp__json_get(meta, "cwd"));
  if (more.type == RP_JSON_ARRAY) rp__jw_pack(w, "additionalDirectories:v", more);
  /* A title: its name, else the first words of the user's. One that can't be read has none. */
  if (!rp_attach(a->e, it->id, &s, NULL) && !write_name(s, w))
    RP_IGNORE(rp_events(s, 0, LOOK_EVENTS, on_event, &text, NULL));
  rp_session_free(s);
  if (!text.err && text.n) {
    size_t i = 0;
    for (size_t chars = 0; i < text.n && text.p[i] != '\n' && chars < TITLE_CHARS; chars++)
      for (i++; i < text.n && ((unsigned char)text.p[i] & 0xC0) == 0x80;) i++;
    rp__jw_pack(w, "title:n", text.p, i);
  }
  /* Whether somebody lives in it, which the protocol has no word for. */
  rp__jw_pack(w, "updatedAt:t _meta:{reprise:{status:s}}}", it->at, it->status);
}

/* ---- the answer ---- */

/* `items` as they stand between the brackets. */
static void answer(struct rp__acp *a, struct rp__call *c, const struct rp__buf *items, const char *side,
                   const char *cursor)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE), next RP_AUTOBUF = RP_BUF(CURSOR_MAX + 3);
  struct rp__jw w = rp__rpc_begin_result(&out, rp__call_id(c));
  if (cursor) rp__buf_printf(&next, "%s%s", side, cursor);
  rp__jw_pack(&w, "{sessions:[");
  if (items->n) rp__jw_raw(&w, items->p, items->n);
  rp__jw_pack(&w, "] nextCursor:?s}", next.err ? NULL : next.p);
  rp__rpc_end(&w);
  if (items->err) out.err = items->err;
  if (out.err)
    rp__acp_answer_error(a, c, RP_ACP_E_INTERNAL, "the list can't be written", NULL);
  else
    rp__acp_answer(a, c, &out);
}

/* ---- the agent's part ---- */

static void on_agents(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__call *asked = c->peer;
  struct rp__json result = {0}, session;
  struct rp__json_iter it = {0};
  if (!asked) return; /* it was cancelled */
  if (m && m->r.type == RP_RPC_RESULT) result = m->r.result;
  while (rp__json_next(rp__json_get(result, "sessions"), &it, NULL, &session)) {
    if (asked->params && !rp__json_eq(rp__json_get(session, "cwd"), asked->params)) continue;
    struct rp__json sid = rp__json_get(session, "sessionId");
    char *name RP_AUTOFREE = rp__json_dup(sid), id[RP_ID_MAX + 1];
    /* Ours, or deleted: it is told before, or not at all. */
    if (!name || rp__acp_by_agent(a, sid) || rp__name_find(a, name, id) != RP_NAME_FREE) continue;
    if (asked->text->n) rp__buf_char(asked->text, ',');
    if (rp__title_is_ours(NULL, rp__json_get(session, "title")))
      rp__title_leave_out(session, asked->text);
    else
      rp__buf_add(asked->text, session.p, session.n);
  }
  char *next RP_AUTOFREE = rp__json_dup(rp__json_get(result, "nextCursor"));
  answer(a, asked, asked->text, "a:", next);
}

static void ask_agent(struct rp__acp *a, struct rp__call *asked, struct rp__json cwd, const char *cursor)
{
  struct rp__buf params RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = RP_JW(&params);
  rp__jw_pack(&w, "{cwd:?v cursor:?s}", cwd.type == RP_JSON_STRING ? cwd : (struct rp__json){0}, cursor);
  struct rp__call *c = rp__acp_ask(a, "session/list", rp__acp_written(&params), NULL, LIST_MS, on_agents);
  if (!c) {
    answer(a, asked, asked->text, "a:", NULL);
    return;
  }
  c->peer = asked;
  asked->peer = c;
  asked->params = rp__json_dup(cwd); /* the agent may not filter */
}

/* ---- ours ---- */

/* "TIME:ID" */
static bool read_cursor(struct rp__acp *a, struct page *p, char *cursor)
{
  char *end = NULL;
  if (!cursor) return true;
  if (*cursor < '0' || *cursor > '9') return false;
  errno = 0;
  p->after_at = strtoll(cursor, &end, 10);
  if (errno || *end != ':' || !end[1]) return false;
  p->after_id = end + 1;
  p->later = true;
  p->met = rp__name_row(a, p->after_id) != RP_ROW_LIVE; /* of one that is gone nothing is behind */
  return true;
}

static void tell_ours(struct rp__acp *a, struct rp__call *c, struct rp__json cwd, char *cursor)
{
  struct page p RP_CLEANUP(page_done) = {0};
  char *dir RP_AUTOFREE = rp__json_dup(cwd);
  rp_filter f = {.scope = a->o.scope, .limit = INT_MAX};
  struct rp__jw w = RP_JW(c->text);
  char next[RP_ID_MAX + 32];
  rp_error why = {0};
  p.cwd = dir;
  if (!read_cursor(a, &p, cursor)) {
    rp__acp_answer_error(a, c, RP_ACP_E_PARAMS, "params.cursor: is none of ours", NULL);
    return;
  }
  if (rp_list(a->e, &f, on_session, &p, &why) < 0) {
    rp__acp_answer_error(a, c, RP_ACP_E_INTERNAL, why.message, NULL);
    return;
  }
  for (size_t i = 0; i < p.n; i++) write_item(a, &p.item[i], &w);
  if (p.more) snprintf(next, sizeof next, "%lld:%s", (long long)p.item[p.n - 1].at, p.item[p.n - 1].id);
  if (!p.more && a->caps.list && a->agent_state == RP_AGENT_UP)
    ask_agent(a, c, cwd, NULL);
  else
    answer(a, c, c->text, "r:", p.more ? next : NULL);
}

void rp__acp_on_list(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json cwd = rp__json_get(m->r.params, "cwd"), at = rp__json_get(m->r.params, "cursor");
  const char *bad = NULL;
  if (cwd.type > RP_JSON_NULL && cwd.type != RP_JSON_STRING) bad = "params.cwd: must be a string";
  if (at.type > RP_JSON_NULL && (at.type != RP_JSON_STRING || at.n > CURSOR_MAX))
    bad = "params.cursor: is none of ours";
  if (bad) {
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_PARAMS, bad, NULL);
    return;
  }
  char *cursor RP_AUTOFREE = rp__json_dup(at);
  struct rp__call *c = rp__calls_add(&a->client, m->r.id, RP_CALL_HERE);
  if (c) c->text = calloc(1, sizeof *c->text);
  if (!c || !c->text) {
    rp__call_free(c);
    rp__acp_error(a, RP_ACP_CLIENT, m->r.id, RP_ACP_E_INTERNAL, "out of memory", NULL);
    return;
  }
  *c->text = RP_BUF(RP_ACP_LINE / 2);
  bool agents = cursor && strncmp(cursor, "a:", 2) == 0 && a->caps.list;
  if (!cursor || (strncmp(cursor, "r:", 2) == 0 && cursor[2])) {
    tell_ours(a, c, cwd, cursor ? cursor + 2 : NULL);
  } else if (agents && a->agent_state == RP_AGENT_UP) {
    ask_agent(a, c, cwd, cursor + 2);
  } else if (agents) {
    struct rp__buf why RP_AUTOBUF = RP_BUF(4096);
    rp__death_describe(a, &why);
    rp__acp_answer_error(a, c, RP_ACP_E_INTERNAL, why.err ? "the agent keeps ending" : why.p, NULL);
  } else {
    rp__acp_answer_error(a, c, RP_ACP_E_PARAMS, "params.cursor: is none of ours", NULL);
  }
}
