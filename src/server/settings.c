/* SPDX-License-Identifier: Apache-2.0 */
/* The server's part of the configuration: loading it, and the times that a scope may change. */
#include "server/settings.h"

#include <assert.h>
#include <math.h>

#include "base/error.h"

#define THREADS_MAX 8          /* where the configuration does not say: more threads only help with more cores */
#define PER_ADDRESS_REMOTE 256 /* likewise, once other machines can reach us */

int rp__server_settings_load(struct rp__scope_config *s, rp_engine *e, rp_error *err)
{
  struct rp__scope_config new = {0};
  int rc = 0;
  for (const struct rp__option *o = rp__config_options; !rc && o < rp__config_options + RP_CONFIG_N; o++) {
    char *text = NULL;
    if (!(o->flags & RP_OPTION_SERVER)) continue;
    rc = rp_config_get(e, NULL, o->name, &text, err);
    if (rc) break;
    enum rp__option_fit fit = rp__option_set(o, text, &new);
    if (fit == RP_OPTION_FRACTION)
      rc = rp__fail_field(err, RP_E_CONFIG, o->name, "%s: %.60s is no whole number", o->name, text);
    else if (fit != RP_OPTION_FITS)
      rc = rp__fail_field(err, RP_E_CONFIG, o->name, "%s: %.60s is not from %.15g to %.15g", o->name, text, o->min,
                          rp__option_max(o));
    if (o->type != RP_OPTION_TEXT) rp_free(text); /* the others are kept: see rp__server_settings_done */
  }
  if (rc) {
    rp__server_settings_done(&new);
    return rc;
  }
  if (!new.http_threads) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    new.http_threads = cores < 1 ? 1 : (int)RP_MIN(cores, THREADS_MAX);
  }
  *s = new;
  return 0;
}

int64_t rp__server_settings_ms(const struct rp__scope_config *s, rp_engine *e, const char *scope, const char *name)
{
  const struct rp__option *o = rp__config_option(name);
  double own, all;
  assert(o && o->type == RP_OPTION_SECONDS && o->flags == RP_OPTION_SERVER);
  if (!rp_config_number(e, scope, name, &own, NULL) && !rp_config_number(e, NULL, name, &all, NULL) && own != all)
    return llround(own * 1000);
  return *(const int64_t *)(const void *)((const char *)s + o->offset);
}

void rp__server_settings_reachable(struct rp__scope_config *s, bool only_loopback)
{
  if (!s->max_per_address && !only_loopback) s->max_per_address = PER_ADDRESS_REMOTE;
}

void rp__server_settings_done(struct rp__scope_config *s)
{
  for (const struct rp__option *o = rp__config_options; o < rp__config_options + RP_CONFIG_N; o++) {
    if (o->type != RP_OPTION_TEXT) continue;
    const char *text = *(const char **)(void *)((char *)s + o->offset);
    rp_free((void *)(uintptr_t)text);
  }
  *s = (struct rp__scope_config){0};
}
