/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whose answers are documents of the engine, as the command line prints them with --json. */
#include <limits.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/text.h"
#include "server/http/handle.h"

#define CHAIN_MAX 1000
#define CHAIN_DEFAULT 20
#define SEARCH_MAX 1000
#define SEARCH_DEFAULT 20
#define RECAP_MAX 500
#define RECAP_DEFAULT 100
#define AUDIT_MAX 10000
#define AUDIT_DEFAULT 100
#define WINDOW_DEFAULT_MS 30000
#define WINDOW_MAX_MS (400LL * 24 * 3600 * 1000)
#define VIDEO_MAX_S 1e9

static int give(struct rp__http_call *c, int rc, char *json)
{
  if (!rc) rp__handle_give(c, json, strlen(json));
  return rc;
}

/* ---- of a session ---- */

int rp__handle_state(struct rp__http_call *c, rp_error *err)
{
  int64_t at = -1;
  char *json = NULL;
  int rc = rp__call_i64(c, "at", 0, INT64_MAX, &at, err);
  if (!rc) rc = rp_state_json(rp__call_session(c), at, &json, err);
  return give(c, rc, json);
}

static int on_snapshot(void *ctx, const rp_snapshot_info *s)
{
  struct rp__jw *w = ctx;
  rp__jw_object(w);
  rp__jw_ki64(w, "n", s->n);
  rp__jw_ki64(w, "seq", s->seq);
  rp__jw_ktime(w, "at", s->at_ms);
  rp__jw_kstr(w, "reason", s->reason);
  rp__jw_ki64(w, "size", s->size);
  rp__jw_ki64(w, "raw_size", s->raw_size);
  rp__jw_kbool(w, "sealed", s->sealed);
  rp__jw_end_object(w);
  return 0;
}

int rp__handle_snapshots(struct rp__http_call *c, rp_error *err)
{
  rp__jw_object(&c->w);
  rp__jw_karray(&c->w, "snapshots");
  int rc = rp_snapshots(rp__call_session(c), on_snapshot, &c->w, err);
  rp__jw_end_array(&c->w);
  rp__jw_end_object(&c->w);
  return rc;
}

int rp__handle_snapshot(struct rp__http_call *c, rp_error *err)
{
  char *json = NULL, *end;
  long long n = strtoll(c->param[1], &end, 10);
  if (*end || n < 1)
    return rp__fail_field(err, RP_E_USAGE, "n", "'%s' is no snapshot's number", rp__text_shown(c->param[1]));
  int rc = rp_snapshot_json(rp__call_session(c), n, &json, err);
  return give(c, rc, json);
}

int rp__handle_chain(struct rp__http_call *c, rp_error *err)
{
  int64_t depth = CHAIN_DEFAULT;
  char *json = NULL;
  int rc = rp__call_i64(c, "depth", 1, CHAIN_MAX, &depth, err);
  if (!rc && c->who.who == RP_WHO_SESSION && depth > 1) depth = 1; /* it opens that session alone */
  if (!rc) rc = rp_chain_json(c->srv->engine, c->entry->id, (int)depth, &json, err);
  return give(c, rc, json);
}

int rp__handle_brief(struct rp__http_call *c, rp_error *err)
{
  bool explain = false;
  char *json = NULL;
  int rc = rp__call_bool(c, "explain", &explain, err);
  if (!rc) rc = rp_brief(rp__call_session(c), explain, &json, err);
  return give(c, rc, json);
}

/* Seconds, whole or not, or a span like 1m. */
static bool parse_window(const char *text, int64_t *ret)
{
  struct rp__json v;
  double seconds;
  if (rp__json_parse(text, strlen(text), NULL, &v, NULL) || !rp__json_double(v, &seconds))
    return !rp__duration_parse(text, ret) && *ret >= 0 && *ret <= WINDOW_MAX_MS;
  if (!(seconds >= 0 && seconds <= WINDOW_MAX_MS / 1000.0)) return false;
  *ret = (int64_t)(seconds * 1000 + 0.5);
  return true;
}

int rp__handle_evidence(struct rp__http_call *c, rp_error *err)
{
  double video = -1;
  int64_t at = INT64_MIN, window = WINDOW_DEFAULT_MS;
  char *json = NULL, text[32] = "";
  int rc = rp__call_since(c, "at", &at, err);
  if (!rc) rc = rp__call_double(c, "video_at", 0, VIDEO_MAX_S, &video, err);
  if (!rc) rc = rp__call_text(c, "window", text, sizeof text, err);
  if (!rc && text[0] && !parse_window(text, &window))
    rc = rp__fail_field(err, RP_E_USAGE, "window", "the query's 'window' must be seconds, or a span like 1m");
  if (!rc && (at == INT64_MIN) == (video < 0))
    rc = rp__fail_field(err, RP_E_USAGE, "at", "it needs a moment: either 'at' or 'video_at'");
  if (rc) return rc;
  if (video >= 0) at = (int64_t)(video * 1000 + 0.5);
  rc = rp_evidence_json(rp__call_session(c), at, window, video >= 0, &json, err);
  return give(c, rc, json);
}

/* ---- of a scope, or of all ---- */

static int on_hit(void *ctx, const rp_hit *hit)
{
  struct rp__jw *w = ctx;
  rp__jw_object(w);
  rp__jw_kstr(w, "session_id", hit->session_id);
  rp__jw_kstr(w, "scope", hit->scope);
  rp__jw_ki64(w, "seq", hit->seq);
  rp__jw_ktime(w, "at", hit->at_ms);
  rp__jw_kstr(w, "kind", hit->kind);
  rp__jw_kstr(w, "snippet", hit->snippet);
  rp__jw_kdouble(w, "rank", hit->rank);
  rp__jw_end_object(w);
  return 0;
}

int rp__handle_search(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1], words[RP_CALL_TEXT + 1] = "";
  int64_t limit = SEARCH_DEFAULT;
  int rc = rp__handle_scope(c, scope, err);
  if (!rc) rc = rp__call_text(c, "q", words, sizeof words, err);
  if (!rc) rc = rp__call_i64(c, "limit", 1, SEARCH_MAX, &limit, err);
  if (!rc && !words[strspn(words, " \t")])
    rc = rp__fail_field(err, RP_E_USAGE, "q", "there are no words to search for");
  if (rc) return rc;
  rp__jw_object(&c->w);
  rp__jw_karray(&c->w, "hits");
  rc = rp_search(c->srv->engine, words, scope[0] ? scope : NULL, (int)limit, on_hit, &c->w, err);
  if (rc == RP_E_USAGE) snprintf(err->field, sizeof err->field, "q");
  rp__jw_end_array(&c->w);
  rp__jw_end_object(&c->w);
  return rc;
}

/* The sessions are listed first and read then, so that no read of the store lasts as long as the answer. */
struct recap {
  int64_t since, until, limit, n;
  bool more;
  char ids[RECAP_MAX][RP_ID_MAX + 1];
};

static int on_recapped(void *ctx, const rp_session_info *info)
{
  struct recap *r = ctx;
  if (info->created_at >= r->until) return 0;
  r->more = r->n == r->limit;
  if (r->more) return RP_HANDLE_STOP;
  snprintf(r->ids[r->n++], sizeof r->ids[0], "%s", info->id);
  return 0;
}

/* Whether any of its requests was made in the time asked for. */
static bool asked_within(const struct recap *r, struct rp__json digest)
{
  struct rp__json_iter it = {0};
  struct rp__json request, at;
  int64_t ms;
  while (rp__json_next(rp__json_get(digest, "requests"), &it, NULL, &request)) {
    at = rp__json_get(request, "at");
    if (at.type == RP_JSON_STRING && !rp__time_parse(at.p + 1, at.n - 2, &ms) && ms >= r->since && ms < r->until)
      return true;
  }
  return false;
}

int rp__handle_recap(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  struct recap *r RP_AUTOFREE = calloc(1, sizeof *r);
  int64_t silent = 0, unreadable = 0;
  if (!r) return rp__fail_nomem(err);
  r->limit = RECAP_DEFAULT;
  r->until = INT64_MAX;
  int rc = rp__handle_scope(c, scope, err);
  if (!rc) rc = rp__call_since(c, "since", &r->since, err);
  if (!rc) rc = rp__call_since(c, "until", &r->until, err);
  if (!rc) rc = rp__call_i64(c, "limit", 1, RECAP_MAX, &r->limit, err);
  if (rc) return rc;
  rp_filter f = {.scope = scope[0] ? scope : NULL, .since_ms = r->since, .by_activity = true, .limit = INT_MAX};
  rc = rp_list(c->srv->engine, &f, on_recapped, r, err);
  if (rc && rc != RP_HANDLE_STOP) return rc;
  rp__jw_pack(&c->w, "{sessions:[");
  for (int64_t i = 0; i < r->n; i++) {
    char *json = NULL;
    rc = rp_digest_json(c->srv->engine, r->ids[i], &json, err);
    if (rc == RP_E_NOMEM || rc == RP_E_BUSY || rc == RP_E_UNREACHABLE) return rc;
    struct rp__json digest = rc ? (struct rp__json){0} : rp__json_trusted(json, strlen(json));
    unreadable += rc != 0;
    silent += !rc && rp__json_get(digest, "requests").type == RP_JSON_NONE;
    if (asked_within(r, digest)) rp__jw_value(&c->w, digest);
    rp_free(json);
  }
  *err = (rp_error){0}; /* of one that can't be read */
  rp__jw_pack(&c->w, "] silent:i unreadable:i more:b}", silent, unreadable, r->more);
  return 0;
}

int rp__handle_scope_brief(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1], topics[RP_CALL_TEXT + 1] = "", channel[RP_ID_MAX + 1] = "";
  rp_brief_options o = {.scope = scope};
  char *json = NULL;
  memcpy(scope, c->param[0], sizeof scope);
  int rc = rp__handle_narrow(c, scope, err);
  if (!rc) rc = rp__call_text(c, "topics", topics, sizeof topics, err);
  if (!rc) rc = rp__call_text(c, "channel", channel, sizeof channel, err);
  if (!rc) rc = rp__call_bool(c, "explain", &o.explain, err);
  if (rc) return rc;
  if (topics[0]) o.topics = topics;
  if (channel[0]) o.channel = channel;
  rc = rp_brief_scope(c->srv->engine, &o, &json, err);
  return give(c, rc, json);
}

/* ---- the audit log ---- */

struct log_page {
  struct rp__http_call *c;
  int64_t limit, n, last;
  bool more;
};

static int on_record(void *ctx, const rp_audit_info *a)
{
  struct log_page *p = ctx;
  struct rp__jw *w = &p->c->w;
  if (p->n == p->limit || (p->n && p->c->out.n > RP_HANDLE_PAGE_BYTES)) {
    p->more = true;
    return RP_HANDLE_STOP;
  }
  p->n++;
  p->last = a->n;
  rp__jw_object(w);
  rp__jw_ki64(w, "n", a->n);
  rp__jw_ktime(w, "at", a->at_ms);
  rp__jw_kstr(w, "scope", a->scope);
  rp__jw_kstr(w, "event", a->event);
  rp__jw_key(w, "fields");
  a->fields ? rp__jw_raw(w, a->fields, strlen(a->fields)) : rp__jw_null(w);
  rp__jw_kstr(w, "prev_hash", a->prev_hash);
  rp__jw_kstr(w, "hash", a->hash);
  rp__jw_end_object(w);
  return 0;
}

/* Numbers count within a scope: only there can a page be followed by the next. */
int rp__handle_audit(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  int64_t after = 0;
  struct log_page p = {.c = c, .limit = AUDIT_DEFAULT};
  int rc = rp__handle_scope(c, scope, err);
  if (!rc) rc = rp__call_i64(c, "after", 0, INT64_MAX, &after, err);
  if (!rc) rc = rp__call_i64(c, "limit", 1, AUDIT_MAX, &p.limit, err);
  if (!rc && after && !scope[0])
    rc = rp__fail_field(err, RP_E_USAGE, "after", "'after' counts the records of one scope: name it with 'scope'");
  if (rc) return rc;
  rp__jw_object(&c->w);
  rp__jw_karray(&c->w, "records");
  rc = rp_audit(c->srv->engine, scope[0] ? scope : NULL, after, p.limit + 1, on_record, &p, err);
  if (rc && rc != RP_HANDLE_STOP) return rc;
  rp__jw_end_array(&c->w);
  rp__jw_key(&c->w, "next_after");
  p.more &&scope[0] ? rp__jw_i64(&c->w, p.last) : rp__jw_null(&c->w);
  rp__jw_kbool(&c->w, "more", p.more);
  rp__jw_end_object(&c->w);
  return 0;
}

/* ---- the routes that clients of the original programs use (N-18, L-04) ---- */

/* How the latest run began that the asker may see. */
int rp__handle_api_session(struct rp__http_call *c, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  char *json = NULL;
  int rc = rp__handle_scope(c, scope, err);
  if (!rc) rc = rp_session_status_json(c->srv->engine, NULL, scope[0] ? scope : NULL, &json, err);
  return give(c, rc, json);
}

struct asker {
  struct rp__http_call *c;
  rp_error *err;
};

static int on_pinged(void *ctx, const rp_session_info *info)
{
  const struct asker *x = ctx;
  struct rp__jw *w = &x->c->w;
  int rc = rp__auth_allows(&x->c->who, RP_RIGHT_READ, info->id, info->scope, rp__birth_of(info), x->err);
  if (rc) return rc;
  if (info->ended_at || info->trashed_at)
    return rp__fail(x->err, RP_E_SESSION_NOT_FOUND, "session %s is over: %s", info->id,
                    info->trashed_at ? "in the trash" : rp_session_status_name(info->status));
  rp__jw_object(w);
  rp__jw_kstr(w, "status", rp_session_status_name(info->status));
  rp__jw_kstr(w, "session_id", info->id);
  rp__jw_end_object(w);
  return 0;
}

int rp__handle_api_ping(struct rp__http_call *c, rp_error *err)
{
  struct asker x = {c, err};
  char scope[RP_ID_MAX + 1], id[RP_ID_MAX + 1];
  int rc = rp__call_scope(c, scope, err);
  if (!rc) rc = rp_resolve_in(c->srv->engine, scope[0] ? scope : NULL, c->param[0], id, err);
  return rc ? rc : rp_show(c->srv->engine, id, on_pinged, &x, err);
}
