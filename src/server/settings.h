/* SPDX-License-Identifier: Apache-2.0 */
/* The server's part of the configuration: the rows marked RP_OPTION_SERVER, read once at its start. */
#ifndef RP_SERVER_SETTINGS_H
#define RP_SERVER_SETTINGS_H

#include <reprise/admin.h>

#include "base/config-options.h"

/* Fills the server's members of `s`, as they are outside any scope. RP_E_CONFIG names the option that is out of bounds.
 */
RP_MUST_USE int rp__server_settings_load(struct rp__scope_config *s, rp_engine *e, rp_error *err);
/*
 * The time of that name (leave_s, reconnect_s, evict_s) in a scope: its section may say otherwise. A value there that
 * is out of bounds counts as none. Any thread.
 */
int64_t rp__server_settings_ms(const struct rp__scope_config *s, rp_engine *e, const char *scope, const char *name);
/* Sets the bound that depends on who can reach the server and was not configured. */
void rp__server_settings_reachable(struct rp__scope_config *s, bool only_loopback);
void rp__server_settings_done(struct rp__scope_config *s);

#endif
