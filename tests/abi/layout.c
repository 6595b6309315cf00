/* SPDX-License-Identifier: Apache-2.0 */
/* Prints size and alignment of every public struct of the library: one half of its ABI, the other are its symbols. */
#include <stdio.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#define LAYOUT(type) printf("%s %zu %zu\n", #type, sizeof(type), _Alignof(type))

int main(void)
{
  LAYOUT(rp_ack);
  LAYOUT(rp_append_options);
  LAYOUT(rp_audit_info);
  LAYOUT(rp_brief_options);
  LAYOUT(rp_clock);
  LAYOUT(rp_durability);
  LAYOUT(rp_error);
  LAYOUT(rp_error_info);
  LAYOUT(rp_event);
  LAYOUT(rp_event_info);
  LAYOUT(rp_filter);
  LAYOUT(rp_finding);
  LAYOUT(rp_fork_options);
  LAYOUT(rp_gc_item);
  LAYOUT(rp_gc_options);
  LAYOUT(rp_hit);
  LAYOUT(rp_import_item);
  LAYOUT(rp_import_options);
  LAYOUT(rp_memory_info);
  LAYOUT(rp_mode);
  LAYOUT(rp_options);
  LAYOUT(rp_outbox_counts);
  LAYOUT(rp_outbox_notice);
  LAYOUT(rp_outbox_policy);
  LAYOUT(rp_outbox_what);
  LAYOUT(rp_owner_kind);
  LAYOUT(rp_presence_counts);
  LAYOUT(rp_presence_end);
  LAYOUT(rp_presence_host);
  LAYOUT(rp_presence_kind);
  LAYOUT(rp_presence_query);
  LAYOUT(rp_presence_row);
  LAYOUT(rp_request);
  LAYOUT(rp_secret);
  LAYOUT(rp_session_info);
  LAYOUT(rp_session_status);
  LAYOUT(rp_snapshot_info);
  LAYOUT(rp_start_options);
  LAYOUT(rp_store_info);
  LAYOUT(rp_store_options);
  LAYOUT(rp_token_info);
  LAYOUT(rp_token_options);
  return 0;
}
