/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address that a request comes from. A request with a proxy's header never counts
 * as one from this machine, whatever address the header names. The address in the
 * header is used only if the proxy is trusted, and only for limits and the log.
 */
#ifndef RP_SERVER_CLIENT_H
#define RP_SERVER_CLIENT_H

#include <stdbool.h>

#include "base/error.h"
#include "net/http.h"

#define RP_CLIENT_HOPS 32 /* proxies looked at, from the last one back */

struct rp__client {
  char address[RP_HTTP_ADDRESS_TEXT]; /* or "unix" */
  bool direct;                        /* a program on this machine, with no proxy between */
};

/* `trusted`: addresses, networks (10.0.0.0/8) or "unix", separated by commas or spaces. */
void rp__client_find(const char *trusted, const struct rp__request *r, struct rp__client *ret);
/* The same from texts: the peer's address and X-Forwarded-For, or NULL. */
void rp__client_address(const char *trusted, const char *peer, const char *forwarded_for,
                        char ret[RP_HTTP_ADDRESS_TEXT]);
/* What counts as one client: an IPv6 network (/64) has one holder, who may use all of its addresses. */
void rp__client_group(const char *address, char ret[RP_HTTP_ADDRESS_TEXT]);
/* RP_E_CONFIG names the entry that is no address. */
RP_MUST_USE int rp__proxies_check(const char *trusted, rp_error *err);

#endif
