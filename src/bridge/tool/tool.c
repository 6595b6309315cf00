/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tools, and the code that is the same for all of them. */
#include "bridge/tool/tool.h"

#include "base/text.h"

#define NAME_CELL 36 /* bytes of one name in a list of them */

const struct rp__tool *const rp__tools[] = {
    &rp__tool_working_memory,
    &rp__tool_working_memory_view,
    &rp__tool_task,
    &rp__tool_remember,
    &rp__tool_recall,
    &rp__tool_session_status,
    &rp__tool_session_search,
    &rp__tool_session_chain,
    &rp__tool_session_continue,
    &rp__tool_cortex_session_continue,
    NULL,
};

const struct rp__tool *rp__tool_find(struct rp__json name)
{
  for (const struct rp__tool *const *t = rp__tools; *t; t++)
    if (rp__json_eq(name, (*t)->name)) return *t;
  return NULL;
}

void rp__tool_schema(const struct rp__tool *t, struct rp__jw *w)
{
  rp__takes_schema(t->takes, w);
}

/* ---- calling ---- */

static int check(struct rp__tool_session *m, const struct rp__tool *t, const struct rp__json *args, rp_error *err)
{
  bool passing = false;
  if (!t->check || !m->lazy || m->s || m->reads_only) return 0;
  int rc = rp__tool_session_look(m, &passing, err);
  if (passing) rp__tool_session_leave(m);
  return rc || m->s ? rc : t->check(m, args, err);
}

static int run(struct rp__tool_session *m, const struct rp__tool *t, const struct rp__json *args, struct rp__buf *out,
               rp_error *err)
{
  struct rp__jw w = RP_JW(out);
  bool passing = false, asks = t->reads || (t->asks && t->asks(args));
  int rc = asks ? 0 : check(m, t, args, err);
  if (rc) return rc;
  rc = t->lone           ? rp__tool_session_open(m, err)
       : m->lazy && asks ? rp__tool_session_look(m, &passing, err)
                         : rp__tool_session_begin(m, err);
  if (rc) return rc;
  /* Nobody else says that a run without an owner lives. */
  if (m->s && m->owner == RP_OWNER_NONE && !m->reads_only) rp_heartbeat(m->s, NULL);
  rc = t->run(m, args, &w, err);
  if (passing) rp__tool_session_leave(m);
  return rc;
}

int rp__tool_call(struct rp__tool_session *m, const struct rp__tool *t, struct rp__json args, struct rp__buf *out,
                  rp_error *err)
{
  struct rp__json values[RP_TAKES_MAX];
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_TOOL_DOC_MAX);
  rp_error why = {0};
  int rc = rp__takes_check(t->takes, args, values, &why);
  if (!rc) rc = run(m, t, values, &doc, &why);
  /* A session that was ended by others, or a run that only lived by its heartbeats: the next one takes its place. */
  if (m->begun && (rc == RP_E_ENDED || (rc == RP_E_FENCED && m->owner == RP_OWNER_NONE))) {
    rp__tool_session_leave(m);
    rp__buf_reset(&doc);
    rc = run(m, t, values, &doc, &why);
  }
  if (rc && err) *err = why;
  if (rc) return rc;
  if (doc.err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (doc.err) {
    rp__fail(err, doc.err, "the answer is over %zu bytes", RP_TOOL_DOC_MAX);
    rp__hint(err, "ask for less, for example with a smaller limit");
    return doc.err;
  }
  size_t before = out->n;
  rp__buf_add(out, doc.p, doc.n);
  if (!out->err) return 0;
  out->n = before;
  return rp__fail(err, out->err, "the answer does not fit");
}

void rp__tool_text(const struct rp__tool *t, struct rp__json doc, struct rp__buf *out)
{
  if (t->tell)
    t->tell(doc, out);
  else
    rp__buf_add(out, doc.p, doc.n);
}

void rp__tool_error_text(const rp_error *err, struct rp__buf *out)
{
  rp__buf_printf(out, "Error: %s (%s).", err->message, rp_error_lookup(err->code)->name);
  if (err->hint[0]) rp__buf_printf(out, " What to do: %s.", err->hint);
  if (rp_error_lookup(err->code)->retryable) rp__buf_str(out, " Trying again later may help.");
}

/* ---- shared ---- */

int rp__tool_state(struct rp__tool_session *m, char **ret, rp_error *err)
{
  if (!m->s) {
    int rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "nothing was recorded in this project yet");
    rp__hint(err, "a session begins with the first pin, task or memory");
    return rc;
  }
  return rp_state_json(m->s, -1, ret, err);
}

struct rp__json rp__tool_named(struct rp__json array, const char *member, struct rp__json string)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  RP_AUTOFREE char *text = string.type == RP_JSON_STRING ? rp__json_dup(string) : NULL;
  while (text && array.type == RP_JSON_ARRAY && rp__json_next(array, &it, NULL, &item))
    if (rp__json_eq(rp__json_get(item, member), text)) return item;
  return (struct rp__json){0};
}

static void write_elsewhere(struct rp__json item, struct rp__jw *w)
{
  static const char *const members[] = {"label", "content", "task_id", "title", "stage", "session_id"};
  rp__jw_object(w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++) {
    struct rp__json v = rp__json_get(item, members[i]);
    if (v.type == RP_JSON_NONE) continue;
    rp__jw_kvalue(w, members[i], v);
  }
  rp__jw_end_object(w);
}

void rp__tool_elsewhere(struct rp__tool_session *m, const char *part, const char *id, struct rp__json own,
                        struct rp__jw *w)
{
  const rp_brief_options o = {.scope = m->scope,
                              .channel = m->channel[0] ? m->channel : NULL,
                              .explain = true,
                              .without = m->s ? rp_session_id(m->s) : NULL};
  RP_AUTODOC char *doc = NULL;
  struct rp__json_iter it = {0};
  struct rp__json item;
  rp__jw_karray(w, "elsewhere");
  struct rp__json all = rp_brief_scope(m->e, &o, &doc, NULL) ? (struct rp__json){0}
                                                             : rp__json_get(rp__json_trusted(doc, strlen(doc)), part);
  while (all.type == RP_JSON_ARRAY && rp__json_next(all, &it, NULL, &item)) {
    bool given =
        rp__json_get(item, "content").type == RP_JSON_STRING || rp__json_get(item, "title").type == RP_JSON_STRING;
    if (given && rp__tool_named(own, id, rp__json_get(item, id)).type == RP_JSON_NONE) write_elsewhere(item, w);
  }
  rp__jw_end_array(w);
}

int rp__tool_append(struct rp__tool_session *m, const rp_event *ev, size_t n, rp_error *err)
{
  rp_ack ack;
  int rc = rp__tool_session_may_write(m, err);
  return rc ? rc : rp_append_many(m->s, ev, n, NULL, &ack, err);
}

size_t rp__tell_clip(const char *s, size_t n, size_t chars)
{
  size_t i = 0;
  for (; i < n; i++)
    if (((unsigned char)s[i] & 0xc0) != 0x80 && chars-- == 0) break;
  return i;
}

void rp__tell_text(struct rp__buf *out, struct rp__json string, size_t max)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(string.n + 1);
  if (string.type != RP_JSON_STRING || string.n == 2) return;
  if (rp__json_text(string, &text)) {
    out->err = out->err ? out->err : RP_E_NOMEM;
    return;
  }
  size_t keep = max ? rp__tell_clip(text.p, text.n, max) : text.n;
  for (size_t i = 0; i < keep; i++)
    if ((unsigned char)text.p[i] < 0x20) text.p[i] = ' ';
  rp__buf_add(out, text.p, keep);
  if (keep < text.n) rp__buf_str(out, "…");
}

void rp__tell_names(struct rp__json array, const char *member, char *out, size_t size)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  size_t n = 0;
  out[0] = '\0';
  while (array.type == RP_JSON_ARRAY && n + NAME_CELL + 8 < size && rp__json_next(array, &it, NULL, &item)) {
    RP_AUTOFREE char *name = rp__json_dup(rp__json_get(item, member));
    char cell[NAME_CELL];
    if (!name) continue;
    rp__text_copy(cell, sizeof cell, name);
    n += (size_t)snprintf(out + n, size - n, "%s'%s'", n ? ", " : "", cell);
  }
}
