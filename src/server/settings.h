/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration says about the server, read once at its start. */
#ifndef RP_SERVER_SETTINGS_H
#define RP_SERVER_SETTINGS_H

#include <stdbool.h>

#include <reprise/reprise.h>

#include "base/macros.h"

struct rp__settings {
  char *listen;          /* addresses, separated by commas */
  char *allowed_origins; /* separated by commas or spaces, as all lists here */
  char *allowed_hosts;
  char *trusted_proxies;
  char *local;                /* "any" or "uid" */
  char *internal_secret_file; /* empty: beside the database */
  bool remote;
  int threads, max_connections, max_per_address;
  size_t max_body, queue_bytes, spill_bytes;
  double client_rate; /* 0: no limit */
  int idle_s, request_s, stall_s, leave_s, reconnect_s;
  int64_t stall_ms, stop_ms, leave_ms, reconnect_ms, evict_ms; /* outside any scope: see rp__settings_ms */
};

/* RP_E_CONFIG names the option that is out of bounds. */
int rp__settings_load(struct rp__settings *s, rp_engine *e, rp_error *err);
/*
 * The time of that name (leave_s, reconnect_s, evict_s) in a scope: its section may say otherwise. A value there that
 * is out of bounds counts as none. Any thread.
 */
int64_t rp__settings_ms(const struct rp__settings *s, rp_engine *e, const char *scope, const char *name);
/* Once it is known who can reach us: what depends on that and was not configured. */
void rp__settings_reachable(struct rp__settings *s, bool only_loopback);
void rp__settings_done(struct rp__settings *s);
/* Whether only the server's own user and root are local. */
bool rp__settings_own_user(const struct rp__settings *s);

#endif
