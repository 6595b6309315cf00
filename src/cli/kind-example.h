/* SPDX-License-Identifier: Apache-2.0 */
/* An example body for each kind of event, shown when one is refused. */
#ifndef RP_CLI_KIND_EXAMPLE_H
#define RP_CLI_KIND_EXAMPLE_H

/* A body of a kind of events that anybody may append, as somebody would type it; NULL for other kinds. */
const char *rp__kind_example(const char *kind);

#endif
