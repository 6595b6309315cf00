/* SPDX-License-Identifier: Apache-2.0 */
#include "server/settings.h"

#include <math.h>

#include "base/error.h"

#define THREADS_MAX 8              /* without a word in the configuration: more only help with other cores */
#define PER_ADDRESS_REMOTE 256     /* likewise, once other machines can reach us */
#define SECONDS_MAX (86400.0 * 30) /* of any time here */
#define BYTES_MAX (1024.0 * 1024 * 1024)

enum type { TEXT, BOOL, INT, SIZE, REAL, MS };

/* The configuration checks that a number is one; the server also needs it in bounds. */
static const struct setting {
  const char *name;
  enum type type;
  size_t offset;
  double min, max;
} table[] = {
#define AT(field) offsetof(struct rp__settings, field)
    {"listen", TEXT, AT(listen)},
    {"allowed_origins", TEXT, AT(allowed_origins)},
    {"allowed_hosts", TEXT, AT(allowed_hosts)},
    {"trusted_proxies", TEXT, AT(trusted_proxies)},
    {"local", TEXT, AT(local)},
    {"internal_secret_file", TEXT, AT(internal_secret_file)},
    {"remote", BOOL, AT(remote)},
    {"http_threads", INT, AT(threads), 0, 256},
    {"max_connections", INT, AT(max_connections), 1, 1000000},
    {"max_per_address", INT, AT(max_per_address), 0, 1000000},
    {"max_request_bytes", SIZE, AT(max_body), 1024, BYTES_MAX},
    {"queue_bytes", SIZE, AT(queue_bytes), 4096, BYTES_MAX},
    {"spill_bytes", SIZE, AT(spill_bytes), 0, BYTES_MAX},
    {"client_rate", REAL, AT(client_rate), 0, 1e9},
    {"idle_connection_s", INT, AT(idle_s), 1, SECONDS_MAX},
    {"request_s", INT, AT(request_s), 1, SECONDS_MAX},
    {"stall_s", MS, AT(stall_ms), 0.1, SECONDS_MAX},
    {"stop_s", MS, AT(stop_ms), 1, 3600},
    {"leave_s", MS, AT(leave_ms), 0, SECONDS_MAX},
    {"reconnect_s", MS, AT(reconnect_ms), 0, SECONDS_MAX},
    {"evict_s", MS, AT(evict_ms), 0, SECONDS_MAX},
#undef AT
};

static bool is_true(const char *text)
{
  static const char *const words[] = {"true", "yes", "on", "1"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    if (strcmp(text, words[i]) == 0) return true;
  return false;
}

static int number(const struct setting *t, const char *text, double *ret, rp_error *err)
{
  char *end;
  double v = strtod(text, &end);
  if (end == text || *end || !(v >= t->min && v <= t->max))
    return rp__fail_field(err, RP_E_CONFIG, t->name, "%s: %.60s is not from %.15g to %.15g", t->name, text, t->min,
                          t->max);
  if (t->type != REAL && t->type != MS && v != floor(v))
    return rp__fail_field(err, RP_E_CONFIG, t->name, "%s: %.60s is no whole number", t->name, text);
  *ret = v;
  return 0;
}

static int set(struct rp__settings *s, const struct setting *t, char *text, rp_error *err)
{
  char *at = (char *)s + t->offset;
  double v = 0;
  int rc = t->type == TEXT || t->type == BOOL ? 0 : number(t, text, &v, err);
  if (rc) return rc;
  switch (t->type) {
  case TEXT: *(char **)at = strdup(text); return *(char **)at ? 0 : rp__fail_nomem(err);
  case BOOL: *(bool *)at = is_true(text); return 0;
  case INT: *(int *)at = (int)v; return 0;
  case SIZE: *(size_t *)at = (size_t)v; return 0;
  case REAL: *(double *)at = v; return 0;
  case MS: *(int64_t *)at = (int64_t)(v * 1000 + 0.5); return 0;
  }
  return 0;
}

static int whole_seconds(int64_t ms)
{
  return (int)((ms + 999) / 1000);
}

int rp__settings_load(struct rp__settings *s, rp_engine *e, rp_error *err)
{
  struct rp__settings new = {0};
  int rc = 0;
  for (size_t i = 0; !rc && i < RP_ARRAY_SIZE(table); i++) {
    char *text = NULL;
    rc = rp_config_get(e, NULL, table[i].name, &text, err);
    if (!rc) rc = set(&new, &table[i], text, err);
    rp_free(text);
  }
  if (rc) {
    rp__settings_done(&new);
    return rc;
  }
  new.stall_s = whole_seconds(new.stall_ms);
  new.leave_s = whole_seconds(new.leave_ms);
  new.reconnect_s = whole_seconds(new.reconnect_ms);
  if (!new.threads) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    new.threads = cores < 1 ? 1 : (int)RP_MIN(cores, THREADS_MAX);
  }
  *s = new;
  return 0;
}

int64_t rp__settings_ms(const struct rp__settings *s, rp_engine *e, const char *scope, const char *name)
{
  const struct setting *t = table;
  char *own = NULL, *all = NULL;
  double v;
  while (strcmp(t->name, name) != 0) t++;
  int64_t ms = *(const int64_t *)((const char *)s + t->offset);
  bool known = rp_config_get(e, scope, name, &own, NULL) == 0 && rp_config_get(e, NULL, name, &all, NULL) == 0;
  if (known && strcmp(own, all) != 0 && number(t, own, &v, NULL) == 0) ms = (int64_t)(v * 1000 + 0.5);
  rp_free(own);
  rp_free(all);
  return ms;
}

void rp__settings_reachable(struct rp__settings *s, bool only_loopback)
{
  if (!s->max_per_address && !only_loopback) s->max_per_address = PER_ADDRESS_REMOTE;
}

bool rp__settings_own_user(const struct rp__settings *s)
{
  return s->local && strcmp(s->local, "uid") == 0;
}

void rp__settings_done(struct rp__settings *s)
{
  free(s->listen);
  free(s->allowed_origins);
  free(s->allowed_hosts);
  free(s->trusted_proxies);
  free(s->local);
  free(s->internal_secret_file);
  *s = (struct rp__settings){0};
}
