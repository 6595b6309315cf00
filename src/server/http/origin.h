/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the Host and Origin headers. A page that points a name of its own at our
 * address (DNS rebinding) is recognised by the Host; a page that calls us by our own
 * name is recognised by its Origin. Pure: texts in, decisions out.
 */
#ifndef RP_SERVER_ORIGIN_H
#define RP_SERVER_ORIGIN_H

#include <stdbool.h>

#include "base/error.h"

#define RP_HOST_TEXT 254 /* bytes of a name and its NUL */

struct rp__host {
  char name[RP_HOST_TEXT]; /* in lower case; an address in its usual form, without brackets */
  int port;                /* 0: none was given */
  bool literal;            /* an address, no name */
};

/* "name", "name:7377", "127.0.0.1", "[::1]:7377". False for what is no such thing. */
bool rp__host_parse(struct rp__str text, struct rp__host *ret);
/* localhost, 127.0.0.0/8 or ::1: names that no server of names decides about. */
bool rp__host_is_loopback(const struct rp__host *h);
/* An address in its usual form: "::FFFF:10.0.0.1" is "10.0.0.1". False for what is none. */
bool rp__address_parse(struct rp__str text, char out[RP_HOST_TEXT]);

/* Whether the list (separated by commas or spaces) has it: "a.example", "a.example:8443", "*.example.com", "*". */
bool rp__host_listed(const char *list, const struct rp__host *h);
/* The same for scheme://host[:port], as browsers send it; "*" is all, but "null" never is any. */
bool rp__origin_listed(const char *list, const char *origin);
/* Whether a page of that origin came from the host that it now calls. */
bool rp__origin_is_host(const char *origin, const struct rp__host *h);

/* RP_E_CONFIG names the entry of a list that can never fit. */
RP_MUST_USE int rp__hosts_check(const char *list, rp_error *err);
RP_MUST_USE int rp__origins_check(const char *list, rp_error *err);

/* The next word of a list; false at the end. Start with *at = list. */
bool rp__list_next(const char **at, struct rp__str *ret);

#endif
