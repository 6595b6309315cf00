/* SPDX-License-Identifier: Apache-2.0 */
/* What the server remembers of an agent between two of its messages: the tools that run, and the open stream. */
#include "server/agent/agent-session.h"

void rp__agent_tools_init(struct rp__agent_tools *m)
{
  m->n_calls = m->n_asked = 0;
  m->stream_id = RP_BUF(RP_AGENT_ID_MAX + 2);
  m->streamed = RP_BUF(RP_AGENT_STREAM_MAX);
}

void rp__agent_tools_done(struct rp__agent_tools *m)
{
  for (size_t i = 0; i < m->n_calls; i++) free(m->calls[i].id);
  for (size_t i = 0; i < m->n_asked; i++) free(m->asked[i].id);
  m->n_calls = m->n_asked = 0;
  rp__buf_done(&m->stream_id);
  rp__buf_done(&m->streamed);
}

/* ---- tools ---- */

static size_t find(const struct rp__agent_tools *m, struct rp__json id)
{
  size_t i = 0;
  while (i < m->n_calls && !rp__str_eq((struct rp__str){id.p, id.n}, m->calls[i].id)) i++;
  return i;
}

static void drop(struct rp__agent_tools *m, size_t i)
{
  free(m->calls[i].id);
  m->n_calls--;
  memmove(&m->calls[i], &m->calls[i + 1], (m->n_calls - i) * sizeof m->calls[0]);
}

/* Without memory the call goes nameless: no reason to refuse what the agent says. */
void rp__agent_tools_call(struct rp__agent_tools *m, struct rp__json id, struct rp__json name)
{
  rp__agent_tools_forget(m, id);
  if (m->n_calls == RP_AGENT_CALLS) drop(m, 0);
  char *both = malloc(id.n + name.n + 2);
  if (!both) return;
  memcpy(both, id.p, id.n);
  both[id.n] = '\0';
  memcpy(both + id.n + 1, name.p, name.n);
  both[id.n + 1 + name.n] = '\0';
  m->calls[m->n_calls++] = (struct rp__agent_call){both, both + id.n + 1};
}

const char *rp__agent_tools_name(const struct rp__agent_tools *m, struct rp__json id)
{
  size_t i = find(m, id);
  return i < m->n_calls ? m->calls[i].name : NULL;
}

void rp__agent_tools_forget(struct rp__agent_tools *m, struct rp__json id)
{
  size_t i = find(m, id);
  if (i < m->n_calls) drop(m, i);
}

/* ---- approvals and questions ---- */

/* One spelling of a string; 1 and "1" are two ids. NULL without memory. */
static char *spell(struct rp__json id)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_AGENT_MESSAGE_MAX);
  if (id.type == RP_JSON_NUMBER) {
    rp__buf_add(&out, id.p, id.n);
  } else {
    rp__buf_char(&out, '"');
    rp__json_text(id, &out);
  }
  return rp__buf_take(&out);
}

static size_t find_asked(const struct rp__agent_tools *m, bool approval, const char *id)
{
  size_t i = 0;
  while (i < m->n_asked && (m->asked[i].approval != approval || strcmp(m->asked[i].id, id) != 0)) i++;
  return i;
}

static void drop_asked(struct rp__agent_tools *m, size_t i)
{
  free(m->asked[i].id);
  m->n_asked--;
  memmove(&m->asked[i], &m->asked[i + 1], (m->n_asked - i) * sizeof m->asked[0]);
}

void rp__agent_tools_ask(struct rp__agent_tools *m, bool approval, struct rp__json id, bool stored)
{
  char *text RP_AUTOFREE = spell(id);
  if (!text) return;
  size_t i = find_asked(m, approval, text);
  if (i < m->n_asked) {
    m->asked[i].stored |= stored;
    return;
  }
  if (m->n_asked == RP_AGENT_ASKED) drop_asked(m, 0);
  m->asked[m->n_asked++] = (struct rp__agent_question){approval, stored, RP_TAKE(text)};
}

bool rp__agent_tools_asked(const struct rp__agent_tools *m, bool approval, struct rp__json id)
{
  char *text RP_AUTOFREE = spell(id);
  size_t i = text ? find_asked(m, approval, text) : m->n_asked;
  return i < m->n_asked && m->asked[i].stored;
}

void rp__agent_tools_settle(struct rp__agent_tools *m, bool approval, struct rp__json id)
{
  char *text RP_AUTOFREE = spell(id);
  size_t i = text ? find_asked(m, approval, text) : m->n_asked;
  if (i < m->n_asked) drop_asked(m, i);
}

const char *rp__agent_tools_waits(const struct rp__agent_tools *m, const char *status)
{
  bool approvals = false, questions = false;
  for (size_t i = 0; i < m->n_asked; i++) *(m->asked[i].approval ? &approvals : &questions) = true;
  if (questions && (!approvals || strcmp(status, "awaiting_answer") == 0)) return "awaiting_answer";
  return approvals ? "awaiting_approval" : NULL;
}

/* ---- streams ---- */

void rp__agent_tools_stream(struct rp__agent_tools *m, struct rp__json id, struct rp__json token)
{
  bool same = id.n && m->stream_id.n == id.n && memcmp(m->stream_id.p, id.p, id.n) == 0;
  if (!same) {
    rp__buf_reset(&m->stream_id);
    rp__buf_reset(&m->streamed);
    if (id.n) rp__buf_add(&m->stream_id, id.p, id.n);
  }
  if (!same) m->stream_from = RP_STREAM_HEARD;
  if (same && m->stream_from == RP_STREAM_RECALLED) m->stream_from = RP_STREAM_RESUMED;
  rp__json_text(token, &m->streamed); /* too much of it, or no memory: it will not be the same */
}

void rp__agent_tools_recall(struct rp__agent_tools *m, struct rp__json id, struct rp__json text)
{
  rp__agent_tools_stream(m, (struct rp__json){0}, (struct rp__json){0});
  rp__agent_tools_stream(m, id, text);
  m->stream_from = RP_STREAM_RECALLED;
}

/* Whether the bytes of the part come in that order in the whole, be it with others between them. */
static bool is_in(const struct rp__buf *part, const struct rp__buf *whole)
{
  size_t n = 0;
  for (size_t i = 0; i < whole->n && n < part->n; i++) n += whole->p[i] == part->p[n];
  return n == part->n;
}

enum rp__agent_stream rp__agent_tools_streamed(const struct rp__agent_tools *m, struct rp__json id,
                                               struct rp__json content)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_AGENT_MESSAGE_MAX);
  struct rp__json_iter it = {0};
  struct rp__json block;
  if (!m->stream_id.n || m->stream_id.err) return RP_STREAM_OTHER;
  if (content.type == RP_JSON_STRING) rp__json_text(content, &out);
  while (content.type == RP_JSON_ARRAY && rp__json_next(content, &it, NULL, &block))
    if (rp__json_eq(rp__json_get(block, "type"), "text")) rp__json_text(rp__json_get(block, "text"), &out);
  bool known = m->streamed.n && !m->streamed.err && out.n && !out.err;
  bool common = known && memcmp(out.p, m->streamed.p, RP_MIN(out.n, m->streamed.n)) == 0;
  bool named = id.n == m->stream_id.n && memcmp(id.p, m->stream_id.p, id.n) == 0;
  switch (m->stream_from) {
  case RP_STREAM_HEARD:
    if (common && out.n == m->streamed.n) return RP_STREAM_SAME;
    if (named || common || m->streamed.err) return RP_STREAM_WHOLE;
    return known && is_in(&m->streamed, &out) ? RP_STREAM_WHOLE : RP_STREAM_OTHER;
  case RP_STREAM_RECALLED: return named || (common && out.n >= m->streamed.n) ? RP_STREAM_WHOLE : RP_STREAM_OTHER;
  case RP_STREAM_RESUMED: return RP_STREAM_WHOLE;
  }
  return RP_STREAM_OTHER;
}
