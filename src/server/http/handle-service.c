/* SPDX-License-Identifier: Apache-2.0 */
/* Routes about the server itself: its start page, /openapi.json, whether it is alive, whether it is ready, metrics. */
#include "server/http/route.h"
#include "server/server.h"

/* ---- the page ---- */

static const char page[] =
    "<!doctype html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Reprise</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em;"
    "color-scheme:light dark}code{font-size:.95em}</style></head>\n"
    "<body><h1>Reprise</h1>\n"
    "<p>This is <code>reprise-serve</code> %s. It keeps the sessions of AI agents: what happened, and what they knew, "
    "survives the process.</p>\n"
    "<ul>\n"
    "<li><a href=\"/openapi.json\">/openapi.json</a>: every route, what it takes and what it answers</li>\n"
    "<li><a href=\"/healthz\">/healthz</a>, <a href=\"/readyz\">/readyz</a>: whether it lives, whether it serves</li>\n"
    "<li><a href=\"/metrics\">/metrics</a>: its numbers, for Prometheus</li>\n"
    "</ul>\n"
    "<p>Read on in <code>docs/protocol.md</code>, <code>docs/operations.md</code> and <code>man reprise-serve</code>."
    "</p></body></html>\n";

int rp__handle_index(struct rp__http_call *c, rp_error *err)
{
  (void)err;
  c->type = c->route->answer;
  c->header = (struct rp__header){"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"};
  rp__buf_printf(&c->out, page, rp_version());
  return 0;
}

int rp__handle_openapi(struct rp__http_call *c, rp_error *err)
{
  (void)err;
  rp__buf_add(&c->out, c->srv->openapi, c->srv->openapi_len);
  return 0;
}

/* ---- life ---- */

int rp__handle_healthz(struct rp__http_call *c, rp_error *err)
{
  (void)err;
  int64_t ms = atomic_load(&c->srv->ready) ? rp__server_now(c->srv) - c->srv->started_ms : 0;
  rp__jw_object(&c->w);
  rp__jw_kstr(&c->w, "status", "ok");
  rp__jw_kstr(&c->w, "version", rp_version());
  rp__jw_kdouble(&c->w, "uptime", (double)ms / 1000);
  rp__jw_end_object(&c->w);
  return 0;
}

int rp__handle_readyz(struct rp__http_call *c, rp_error *err)
{
  rp_outbox_counts s;
  (void)err;
  rp_outbox_counts_get(c->srv->engine, &s);
  const char *status = atomic_load(&c->srv->draining) ? "draining"
                       : !atomic_load(&c->srv->ready) ? "starting"
                       : s.away || s.waiting_events   ? "degraded"
                                                      : "ok";
  rp__jw_object(&c->w);
  rp__jw_kstr(&c->w, "status", status);
  rp__jw_kobject(&c->w, "checks");
  /* Paths and names of files are for the log: anybody may ask here. */
  rp__jw_kobject(&c->w, "store");
  rp__jw_kstr(&c->w, "status", s.away ? "away" : s.waiting_events ? "catching_up" : "ok");
  if (s.away) {
    rp__jw_ktime(&c->w, "since", s.away_since_ms);
    rp__jw_kstr(&c->w, "code", rp_error_lookup(s.code)->name);
    rp__jw_kstr(&c->w, "why", rp_error_lookup(s.code)->text);
  }
  rp__jw_ki64(&c->w, "waiting_events", s.waiting_events);
  rp__jw_ki64(&c->w, "waiting_bytes", s.waiting_bytes);
  rp__jw_end_object(&c->w);
  rp__jw_end_object(&c->w);
  rp__jw_end_object(&c->w);
  if (strcmp(status, "ok") == 0) return 0;
  c->status = 503;
  c->header = (struct rp__header){"Retry-After", "2"};
  return 0;
}

int rp__handle_metrics(struct rp__http_call *c, rp_error *err)
{
  char *text = NULL;
  int rc = rp_metrics_text(c->srv->engine, &text, err);
  if (rc) return rc;
  c->type = c->route->answer;
  rp__buf_str(&c->out, text);
  rp_free(text);
  rp__server_metrics(c->srv, &c->out);
  return 0;
}
