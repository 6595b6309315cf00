/* SPDX-License-Identifier: Apache-2.0 */
/* Engines, sessions and checks for tests of whole processes. */
#include "lib/rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No configuration of the user running the tests has a say; programs we start inherit this. */
__attribute__((constructor)) static void rig_leave_home(void)
{
  setenv("REPRISE_HOME", "/nonexistent/reprise", 1);
  unsetenv("REPRISE_CONFIG");
}

char *rig_url(const char *path, char *out)
{
  snprintf(out, RIG_URL, "sqlite:%s", path);
  return out;
}

int rig_open(const char *url, bool threads, rp_engine **ret, rp_error *err)
{
  rp_options o = {.db = url, .short_lived = !threads};
  return rp_open(&o, ret, err);
}

int rig_hold(rp_engine *e, const char *key, bool force, rp_session **ret, rp_error *err)
{
  rp_start_options o = {.scope = "test", .key = key, .owner = RP_OWNER_SELF, .force = force};
  return rp_start(e, &o, ret, err);
}

int rig_append(rp_session *s, const char *prefix, int64_t n, const rp_append_options *o, rp_ack *ret, rp_error *err)
{
  char body[64], key[RP_ID_MAX + 1];
  snprintf(body, sizeof(body), "{\"n\":%" PRId64 "}", n);
  if (prefix) snprintf(key, sizeof(key), "%s-%" PRId64, prefix, n);
  rp_event ev = {.kind = "x-n", .body = body, .idempotency_key = prefix ? key : NULL};
  return rp_append(s, &ev, o, ret, err);
}

int64_t rig_number(const rp_event_info *ev)
{
  char text[32] = "";
  if (strcmp(ev->kind, "x-n") != 0 || ev->body_len < 6 || memcmp(ev->body, "{\"n\":", 5) != 0) return -1;
  size_t n = ev->body_len - 5;
  memcpy(text, ev->body + 5, n < sizeof(text) ? n : sizeof(text) - 1);
  return strtoll(text, NULL, 10);
}

static int scan_one(void *ctx, const rp_event_info *ev)
{
  struct rig_scan *scan = ctx;
  if (ev->seq != scan->seq + 1) scan->holes++;
  scan->seq = ev->seq;
  int64_t n = rig_number(ev);
  if (n < 0) return 0;
  if (n != scan->last + 1) scan->disorder++;
  scan->last = n;
  scan->events++;
  return 0;
}

int rig_scan(rp_session *s, struct rig_scan *scan, rp_error *err)
{
  return rp_events(s, scan->seq, 0, scan_one, scan, err);
}

static int print_finding(void *ctx, const rp_finding *f)
{
  (void)ctx;
  fprintf(stderr, "# verify: %s seq %" PRId64 ": %s\n", f->session_id ? f->session_id : "store", f->seq, f->what);
  return 0;
}

int rig_verify(rp_engine *e, rp_error *err)
{
  return rp_verify(e, NULL, false, print_finding, NULL, NULL, NULL, err);
}

int rig_verify_file(const char *url, rp_error *err)
{
  rp_engine *e;
  int rc = rig_open(url, false, &e, err);
  if (rc != 0) return rc;
  rc = rig_verify(e, err);
  rp_close(e);
  return rc;
}

bool rig_typed(int code)
{
  return code < 0 && rp_error_lookup(code)->code == code;
}

const char *rig_why(const rp_error *err)
{
  static char text[700];
  const char *name = rp_error_lookup(err->code)->name;
  snprintf(text, sizeof(text), "%d %s: %s%s%s", err->code, name, err->message, err->hint[0] ? "; " : "", err->hint);
  return text;
}
