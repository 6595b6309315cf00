/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_FACETS_SETTINGS_H
#define RP_FACETS_SETTINGS_H

/* Bytes of a session's name as JSON; a longer one is not taken. */
#define RP_SESSION_NAME_MAX ((size_t)2048)

#endif
