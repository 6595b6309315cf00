/* SPDX-License-Identifier: Apache-2.0 */
/* MCP's resources: the list of them, the list of templates, and reading one. */
#include "bridge/mcp/resources.h"

#include "base/clock.h"
#include "bridge/tool/tool.h"

#define PREFIX "reprise://sessions/"
#define STATE "/state"
#define JSON_TYPE "application/json"
#define TITLE_MAX 80 /* characters of a session's name in a list */
#define FOUND 1

/* What there is whichever sessions there are, and the forms of the rest. */
struct place {
  const char *uri, *name, *title, *about, *type;
};

static const struct place fixed[] = {
    {"reprise://brief", "brief", "Brief",
     "What this project's earlier sessions leave behind: open tasks, pins, topics, facts", "text/plain"},
    {"reprise://sessions", "sessions", "Sessions", "The project's sessions, the newest first", JSON_TYPE},
};

static const struct place forms[] = {
    {"reprise://sessions/{id}", "session", "Session", "One session: when, where, how it ended", JSON_TYPE},
    {"reprise://sessions/{id}/state", "session-state", "Session state",
     "What a session holds: conversation, pins, tasks, tools, usage", JSON_TYPE},
};

/* ---- lists ---- */

static void write_place(const struct place *p, const char *uri_key, struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_kstr(w, uri_key, p->uri);
  rp__jw_kstr(w, "name", p->name);
  rp__jw_kstr(w, "title", p->title);
  rp__jw_kstr(w, "description", p->about);
  rp__jw_kstr(w, "mimeType", p->type);
  rp__jw_end_object(w);
}

void rp__resource_templates(struct rp__jw *w)
{
  rp__jw_karray(w, "resourceTemplates");
  for (size_t i = 0; i < RP_ARRAY_SIZE(forms); i++) write_place(&forms[i], "uriTemplate", w);
  rp__jw_end_array(w);
}

struct page {
  struct rp__jw w;
  size_t n;
  char last[RP_ID_MAX + 1]; /* the one after which the next page begins */
  bool more;
};

static int on_session(void *ctx, const rp_session_info *info)
{
  struct page *p = ctx;
  char uri[RP_RESOURCE_URI_MAX], at[RP_TIME_TEXT], about[RP_TIME_TEXT + 40];
  if (p->n == RP_RESOURCE_PAGE) {
    p->more = true;
    return FOUND;
  }
  p->n++;
  snprintf(p->last, sizeof p->last, "%s", info->id);
  snprintf(uri, sizeof uri, PREFIX "%s", info->id);
  rp__jw_object(&p->w);
  rp__jw_kstr(&p->w, "uri", uri);
  rp__jw_kstr(&p->w, "name", info->id);
  if (info->name && info->name[0]) {
    rp__jw_key(&p->w, "title");
    rp__jw_strn(&p->w, info->name, rp__tell_clip(info->name, strlen(info->name), TITLE_MAX));
  }
  snprintf(about, sizeof about, "%s, begun %s", rp_session_status_name(info->status),
           rp__time_format(info->created_at, at));
  rp__jw_kstr(&p->w, "description", about);
  rp__jw_kstr(&p->w, "mimeType", JSON_TYPE);
  rp__jw_end_object(&p->w);
  return 0;
}

static int bad_cursor(rp_error *err)
{
  return rp__fail_field(err, RP_E_INVALID, "cursor", "the cursor is none that was given");
}

int rp__resources_list(struct rp__tool_session *m, struct rp__json cursor, struct rp__jw *w, rp_error *err)
{
  RP_AUTOBUF struct rp__buf items = RP_BUF(RP_RESOURCE_DOC_MAX);
  RP_AUTOFREE char *after = rp__json_dup(cursor);
  struct page p = {.w = RP_JW(&items)};
  rp_filter f = {.scope = m->scope, .limit = RP_RESOURCE_PAGE + 1, .cursor = after};
  bool given = cursor.type != RP_JSON_NONE;
  if (given && cursor.type != RP_JSON_STRING) return bad_cursor(err);
  if (given && !after) return rp__fail_nomem(err);
  if (given && !after[0]) return bad_cursor(err);
  rp__jw_array(&p.w);
  for (size_t i = 0; !given && i < RP_ARRAY_SIZE(fixed); i++) write_place(&fixed[i], "uri", &p.w);
  int rc = rp_list(m->e, &f, on_session, &p, err);
  rp__jw_end_array(&p.w);
  if (given && rc == RP_E_SESSION_NOT_FOUND) return bad_cursor(err);
  if (rc && rc != FOUND) return rc;
  if (items.err) return rp__fail_nomem(err);
  rp__jw_key(w, "resources");
  rp__jw_raw(w, items.p, items.n);
  if (p.more) rp__jw_kstr(w, "nextCursor", p.last);
  return 0;
}

/* ---- reading ---- */

static int no_such(const char *uri, rp_error *err)
{
  int rc = rp__fail_field(err, RP_E_SESSION_NOT_FOUND, "uri", "there is no resource '%.200s'", uri);
  rp__hint(err, "resources/list names what there is");
  return rc;
}

struct reading {
  struct rp__jw w;
  rp_error *err;
};

static int on_info(void *ctx, const rp_session_info *info)
{
  struct reading *r = ctx;
  char *doc = NULL;
  int rc = rp_session_json(info, &doc, r->err);
  if (!rc) rp__jw_raw(&r->w, doc, strlen(doc));
  rp_free(doc);
  return rc;
}

static int read_sessions(struct rp__tool_session *m, struct rp__buf *out, rp_error *err)
{
  struct reading r = {RP_JW(out), err};
  const rp_filter f = {.scope = m->scope, .limit = RP_RESOURCE_PAGE};
  rp__jw_object(&r.w);
  rp__jw_kstr(&r.w, "scope", m->scope);
  rp__jw_karray(&r.w, "sessions");
  int rc = rp_list(m->e, &f, on_info, &r, err);
  rp__jw_end_array(&r.w);
  rp__jw_end_object(&r.w);
  return rc;
}

static int read_state(struct rp__tool_session *m, const char *id, struct rp__buf *out, rp_error *err)
{
  rp_session *s = NULL;
  char *doc = NULL;
  int rc = rp_attach(m->e, id, &s, err);
  if (!rc) rc = rp_state_json(s, -1, &doc, err);
  if (!rc) rp__buf_str(out, doc);
  rp_free(doc);
  rp_session_free(s);
  return rc;
}

/* Exact ids only: a key or "last" would name another session tomorrow. */
static int read_session(struct rp__tool_session *m, const char *uri, struct rp__buf *out, rp_error *err)
{
  const char *rest = uri + strlen(PREFIX), *slash = strchr(rest, '/');
  char ref[RP_ID_MAX + 1], id[RP_ID_MAX + 1];
  size_t n = slash ? (size_t)(slash - rest) : strlen(rest);
  if (n == 0 || n > RP_ID_MAX || (slash && strcmp(slash, STATE) != 0)) return no_such(uri, err);
  memcpy(ref, rest, n);
  ref[n] = '\0';
  int rc = rp__tool_session_resolve(m, ref, id, err);
  bool missing = rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_USAGE || rc == RP_E_AMBIGUOUS;
  if (missing || (!rc && strcmp(id, ref) != 0)) return no_such(uri, err);
  if (rc) return rc;
  if (slash) return read_state(m, id, out, err);
  char *doc = NULL;
  size_t len = 0;
  rc = rp_session_get_json(m->e, id, &doc, &len, err);
  if (!rc) rp__buf_add(out, doc, len);
  rp_free(doc);
  return rc;
}

int rp__resource_read(struct rp__tool_session *m, struct rp__json uri, struct rp__jw *w, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_RESOURCE_DOC_MAX);
  RP_AUTOFREE char *text = rp__json_dup(uri);
  if (uri.type != RP_JSON_STRING) return rp__fail_field(err, RP_E_INVALID, "uri", "'uri' must be a string");
  if (!text) return rp__fail_nomem(err);
  if (strlen(text) >= RP_RESOURCE_URI_MAX) return no_such(text, err);
  int rc = strcmp(text, "reprise://sessions") == 0      ? read_sessions(m, &doc, err)
           : strcmp(text, "reprise://brief") == 0       ? rp__tool_session_brief_now(m, &doc, err)
           : strncmp(text, PREFIX, strlen(PREFIX)) == 0 ? read_session(m, text, &doc, err)
                                                        : no_such(text, err);
  if (rc) return rc;
  if (doc.err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (doc.err) return rp__fail(err, doc.err, "the resource is over %zu bytes", RP_RESOURCE_DOC_MAX);
  rp__jw_karray(w, "contents");
  rp__jw_object(w);
  rp__jw_kvalue(w, "uri", uri);
  rp__jw_kstr(w, "mimeType", strcmp(text, "reprise://brief") == 0 ? "text/plain" : JSON_TYPE);
  rp__jw_key(w, "text");
  rp__jw_strn(w, doc.p ? doc.p : "", doc.n);
  rp__jw_end_object(w);
  rp__jw_end_array(w);
  return 0;
}
