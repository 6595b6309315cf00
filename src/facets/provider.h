/* SPDX-License-Identifier: Apache-2.0 */
/* The agent behind a session, as its `provider` events describe it, and the status of its runtime. */
#ifndef RP_FACETS_PROVIDER_H
#define RP_FACETS_PROVIDER_H

#include "core/fold.h"
#include "core/runtime.h"

/* The members that `provider` events have set, an object that lasts until the fold changes. */
struct rp__json rp__provider(const struct rp__fold *f);
/* How the agent does; RP_RUNTIME_NONE when nobody said. */
enum rp__runtime rp__runtime_status(const struct rp__fold *f);

#endif
