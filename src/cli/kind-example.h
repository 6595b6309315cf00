/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_CLI_KIND_EXAMPLE_H
#define RP_CLI_KIND_EXAMPLE_H

/* A body of a kind of events that anybody may append, as somebody would type it; NULL for other kinds. */
const char *rp__kind_example(const char *kind);

#endif
