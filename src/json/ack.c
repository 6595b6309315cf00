/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of an acknowledgement. */
#include "json/ack.h"

#include "base/enum-words.h"

static void number_or_null(struct rp__jw *w, const char *name, int64_t number, bool known)
{
  rp__jw_key(w, name);
  known ? rp__jw_i64(w, number) : rp__jw_null(w);
}

void rp__ack_members(struct rp__jw *w, const rp_ack *ack, bool many)
{
  if (many) number_or_null(w, "first_seq", ack->first_seq, ack->seq > 0);
  number_or_null(w, "seq", ack->seq, ack->seq > 0);
  rp__jw_kstr(w, "durability", rp__durability_name(ack->durability));
  if (ack->repeated) rp__jw_kbool(w, "repeated", true);
  if (ack->budget_low) rp__jw_kdouble(w, "budget_share", ack->budget_share);
}

void rp__ack_write(struct rp__jw *w, const rp_ack *ack)
{
  rp__jw_object(w);
  rp__ack_members(w, ack, false);
  rp__jw_end_object(w);
}
