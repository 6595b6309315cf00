/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of tool calls (B-04). */
#ifndef RP_FACETS_TOOLS_H
#define RP_FACETS_TOOLS_H

#include "base/enum-words.h"
#include "facets/table.h"

struct rp__tool_call {
  struct rp__json call_id, name; /* JSON strings; they last until the fold changes */
  enum rp__tool_status status;
};

/* Calls in the order in which they were first seen. A fold that is NULL has none. */
size_t rp__tools_count(const struct rp__fold *f);
struct rp__tool_call rp__tools_at(const struct rp__fold *f, size_t i);

#endif
