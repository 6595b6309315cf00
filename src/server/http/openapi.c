/* SPDX-License-Identifier: Apache-2.0 */
/* The routes as an OpenAPI 3.1 document: everything in it comes from the table, the schemas and the table of errors. */
#include <ctype.h>

#include "server/http/route.h"

#define CODES_MAX 40 /* errors that one route may give */
#define PATH_TEXT 128

#define REF "#/components/schemas/"

/* ---- errors ---- */

struct codes {
  int v[CODES_MAX];
  size_t n;
};

static void codes_add(struct codes *c, const int *v, size_t n)
{
  for (size_t i = 0; i < n && v[i]; i++) {
    size_t k = 0;
    while (k < c->n && c->v[k] != v[i]) k++;
    if (k == c->n && c->n < CODES_MAX) c->v[c->n++] = v[i];
  }
}

#define ADD(c, ...) codes_add((c), (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void write_content(struct rp__jw *w, const char *type, const char *name, const char *value)
{
  rp__jw_kobject(w, type);
  rp__jw_kobject(w, "schema");
  if (value) rp__jw_kstr(w, name, value);
  rp__jw_end_object(w);
  rp__jw_end_object(w);
}

static void write_problem_content(struct rp__jw *w)
{
  write_content(w, "application/problem+json", "$ref", REF "Problem");
}

static void write_codes(struct rp__jw *w, const struct codes *c, int status)
{
  rp__jw_karray(w, "x-codes");
  for (size_t i = 0; i < c->n; i++)
    if (rp_error_lookup(c->v[i])->http == status) rp__jw_str(w, rp_error_lookup(c->v[i])->name);
  rp__jw_end_array(w);
}

static bool has_status(const struct codes *c, size_t n, int status)
{
  for (size_t i = 0; i < n; i++)
    if (rp_error_lookup(c->v[i])->http == status) return true;
  return false;
}

static const char *describe(int status)
{
  static const struct {
    int status;
    const char *text;
  } words[] = {
      {101, "The socket speaks another protocol from here on"},
      {200, "Done"},
      {201, "Made"},
      {202, "Taken; there is nothing to say"},
      {204, "Done; there is nothing to say"},
      {400, "The request can't be understood"},
      {401, "A valid token is needed"},
      {403, "Not allowed"},
      {404, "There is no such thing"},
      {405, "It is asked for in another way"},
      {409, "It stands otherwise than the request supposes"},
      {413, "Too large"},
      {415, "The body is of another type than wanted"},
      {422, "The body is JSON, but not what is wanted; `field` says where"},
      {429, "Too much; see Retry-After"},
      {500, "Something is broken on this side"},
      {503, "Not now; see Retry-After"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    if (words[i].status == status) return words[i].text;
  return "Failed";
}

/* ---- responses ---- */

static void begin_response(struct rp__jw *w, int status)
{
  char text[8];
  snprintf(text, sizeof text, "%d", status);
  rp__jw_kobject(w, text);
  rp__jw_kstr(w, "description", describe(status));
}

/* A text may be of several types; one that is JSON then is any document. */
static void write_answer_content(struct rp__jw *w, const struct rp__route *r)
{
  char ref[96], type[64];
  if (!(r->flags & RP_ROUTE_TEXT)) {
    snprintf(ref, sizeof ref, REF "%.60s", r->answer);
    write_content(w, "application/json", "$ref", ref);
    return;
  }
  for (const char *p = r->answer; *p;) {
    size_t n = strcspn(p, "|");
    snprintf(type, sizeof type, "%.*s", (int)n, p);
    write_content(w, type, "type", strcmp(type, "application/json") == 0 ? NULL : "string");
    p += n + (p[n] == '|');
  }
}

static void write_success(struct rp__jw *w, const struct rp__route *r, int status, const struct codes *c)
{
  if (!status) return;
  begin_response(w, status);
  if (status != 101 && status != 202 && status != 204) {
    rp__jw_kobject(w, "content");
    write_answer_content(w, r);
    if (has_status(c, c->n, status)) write_problem_content(w);
    rp__jw_end_object(w);
  }
  if (has_status(c, c->n, status)) write_codes(w, c, status);
  rp__jw_end_object(w);
}

/* ---- parameters ---- */

static void write_parameter(struct rp__jw *w, const char *name, const char *in, const char *schema, const char *help)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "name", name);
  rp__jw_kstr(w, "in", in);
  if (help) rp__jw_kstr(w, "description", help);
  if (strcmp(in, "path") == 0) rp__jw_kbool(w, "required", true);
  rp__jw_key(w, "schema");
  rp__jw_raw(w, schema, strlen(schema));
  rp__jw_end_object(w);
}

static void write_parameters(struct rp__jw *w, const struct rp__route *r)
{
  static const char text[] = "{\"type\":\"string\"}";
  static const char name_schema[] = "{\"$ref\":\"" REF "Name\"}", n_schema[] = "{\"type\":\"integer\",\"minimum\":1}";
  struct rp__str segment, whole = rp__str(r->path);
  char name[32];
  rp__jw_karray(w, "parameters");
  for (size_t at = 0; rp__uri_segment(whole, &at, &segment);) {
    if (!segment.n || segment.p[0] != ':') continue;
    snprintf(name, sizeof name, "%.*s", (int)segment.n - 1, segment.p + 1);
    bool id = strcmp(name, "id") == 0, n = strcmp(name, "n") == 0;
    write_parameter(w, name, "path", n ? n_schema : name_schema,
                    id ? "an id, a unique prefix of one, a key, or last" : NULL);
  }
  for (size_t i = 0; i < RP_ROUTE_QUERY && r->query[i].name; i++)
    write_parameter(w, r->query[i].name, "query", r->query[i].schema, r->query[i].help);
  if (rp__route_names_session(r))
    write_parameter(w, "scope", "query", "{\"$ref\":\"" REF "Name\"}", "where to look for a key, a prefix or last");
  if (r->flags & RP_ROUTE_KEY)
    write_parameter(w, "Idempotency-Key", "header", text,
                    "a repeat within 24 h gets the first answer again; with another body it is a conflict");
  if (strcmp(r->path, "/mcp") == 0)
    write_parameter(w, "MCP-Session-Id", "header", text, "as it came with the answer to initialize");
  if (r->flags & RP_ROUTE_SESSION && r->flags & RP_ROUTE_TAKES)
    write_parameter(w, "Last-Event-ID", "header", text, "goes on after the event of this number");
  rp__jw_end_array(w);
}

/* ---- operations ---- */

static const char *tag_of(const char *path)
{
  static const struct {
    const char *head, *tag;
  } tags[] = {{"/v1/sessions", "sessions"}, {"/v1/", "questions"},   {"/api/", "seeds"}, {"/mcp", "mcp"},
              {"/socket", "sockets"},       {"/internal", "sockets"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(tags); i++)
    if (strncmp(path, tags[i].head, strlen(tags[i].head)) == 0) return tags[i].tag;
  return "service";
}

static const char *method_word(enum rp__method m)
{
  switch (m) {
  case RP_POST: return "post";
  case RP_PUT: return "put";
  case RP_PATCH: return "patch";
  case RP_DELETE: return "delete";
  default: return "get";
  }
}

static void write_operation(struct rp__jw *w, const struct rp__route *r)
{
  rp__jw_kobject(w, method_word(r->method));
  /* "get_v1_sessions_id" */
  char text[PATH_TEXT];
  int head = snprintf(text, sizeof text, "%s_", method_word(r->method));
  size_t n = (size_t)head;
  for (const char *p = r->path; *p && n + 1 < sizeof text; p++) {
    if (isalnum((unsigned char)*p))
      text[n++] = *p;
    else if (text[n - 1] != '_' && p[1])
      text[n++] = '_';
  }
  text[n] = 0;
  if (n == (size_t)head) text[n - 1] = 0;
  rp__jw_kstr(w, "operationId", text);
  rp__jw_kstr(w, "summary", r->summary);
  rp__jw_karray(w, "tags");
  rp__jw_str(w, tag_of(r->path));
  rp__jw_end_array(w);
  /* Who is local needs no token; who is not needs one everywhere but at the door. */
  rp__jw_karray(w, "security");
  rp__jw_object(w);
  rp__jw_end_object(w);
  if (r->right != RP_RIGHT_NONE) {
    rp__jw_object(w);
    rp__jw_karray(w, "bearer");
    rp__jw_end_array(w);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  write_parameters(w, r);
  if (r->request) {
    char ref[96];
    snprintf(ref, sizeof ref, REF "%.60s", r->request);
    rp__jw_kobject(w, "requestBody");
    rp__jw_kbool(w, "required", !(r->flags & RP_ROUTE_OPTIONAL));
    rp__jw_kobject(w, "content");
    write_content(w, "application/json", "$ref", ref);
    rp__jw_end_object(w);
    rp__jw_end_object(w);
  }
  /* What a route may answer beside success: what everybody may, what its flags bring along, and its own. */
  struct codes c = {0};
  bool reads_store = r->right != RP_RIGHT_NONE;
  ADD(&c, RP_E_HOST, RP_E_ORIGIN, RP_E_UNAUTHORIZED, RP_E_LIMIT, RP_E_BUSY, RP_E_NOMEM, RP_E_CANCELLED, RP_E_FAILED);
  if (!(r->flags & RP_ROUTE_LAX) || strchr(r->path, ':') || reads_store) ADD(&c, RP_E_USAGE);
  if (reads_store) ADD(&c, RP_E_FORBIDDEN, RP_E_UNREACHABLE, RP_E_IO, RP_E_CORRUPT);
  if (r->right == RP_RIGHT_WRITE || r->right == RP_RIGHT_SCOPE) ADD(&c, RP_E_FULL, RP_E_READONLY);
  if (r->method != RP_GET) ADD(&c, RP_E_TOO_LARGE);
  if (r->flags & RP_ROUTE_SESSION) ADD(&c, RP_E_SESSION_NOT_FOUND, RP_E_AMBIGUOUS, RP_E_KEY_MISSING, RP_E_KEY_WRONG);
  if (r->flags & RP_ROUTE_RPC)
    ADD(&c, RP_E_MEDIA_TYPE);
  else if (r->flags & RP_ROUTE_JSON || r->method == RP_POST)
    ADD(&c, RP_E_JSON, RP_E_MEDIA_TYPE, RP_E_INVALID);
  if (r->flags & RP_ROUTE_KEY) ADD(&c, RP_E_KEY_REUSED);
  codes_add(&c, r->errors, RP_ROUTE_ERRORS);
  rp__jw_kobject(w, "responses");
  write_success(w, r, r->status, &c);
  write_success(w, r, r->also_status, &c);
  for (size_t i = 0; i < c.n; i++) {
    int status = rp_error_lookup(c.v[i])->http;
    if (has_status(&c, i, status) || status == r->status || status == r->also_status) continue;
    begin_response(w, status);
    rp__jw_kobject(w, "content");
    if (r->flags & RP_ROUTE_RPC && (status == 400 || status == 404)) write_answer_content(w, r);
    write_problem_content(w);
    rp__jw_end_object(w);
    write_codes(w, &c, status);
    rp__jw_end_object(w);
  }
  rp__jw_end_object(w);
  rp__jw_end_object(w);
}

/* ---- the document ---- */

int rp__openapi_write(struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "openapi", "3.1.0");
  rp__jw_kobject(&w, "info");
  rp__jw_kstr(&w, "title", "Reprise");
  rp__jw_kstr(&w, "version", rp_version());
  rp__jw_kstr(&w, "description",
              "Durable sessions for AI agents. Every GET also takes HEAD. Errors are application/problem+json; x-codes "
              "lists the codes of each status. On loopback no token is needed.");
  rp__jw_end_object(&w);
  rp__jw_kobject(&w, "paths");
  for (const struct rp__route *r = rp__routes; r->path; r++) {
    const struct rp__route *same = rp__routes;
    while (strcmp(same->path, r->path) != 0) same++;
    if (same != r) continue; /* its path was written with the first of its methods */
    /* "/v1/sessions/:id" as "/v1/sessions/{id}". */
    char text[PATH_TEXT];
    size_t n = 0;
    bool variable = false;
    for (const char *p = r->path;; p++) {
      if (variable && (*p == '/' || !*p)) {
        text[n++] = '}';
        variable = false;
      }
      if (!*p || n + 3 >= sizeof text) break;
      if (*p == ':') variable = true;
      text[n++] = *p == ':' ? '{' : *p;
    }
    text[n] = 0;
    rp__jw_key(&w, text);
    rp__jw_object(&w);
    for (; same->path; same++)
      if (strcmp(same->path, r->path) == 0) write_operation(&w, same);
    rp__jw_end_object(&w);
  }
  rp__jw_end_object(&w);
  rp__jw_kobject(&w, "components");
  rp__jw_kobject(&w, "securitySchemes");
  rp__jw_kobject(&w, "bearer");
  rp__jw_kstr(&w, "type", "http");
  rp__jw_kstr(&w, "scheme", "bearer");
  rp__jw_kstr(&w, "description", "a token of `reprise token create` (rpt_…), or a session's own (rps_…)");
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  rp__jw_kobject(&w, "schemas");
  for (const struct rp__schema *s = rp__schemas; s->name; s++) {
    rp__jw_key(&w, s->name);
    rp__jw_raw(&w, s->json, strlen(s->json));
  }
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  return out->err;
}
