/* SPDX-License-Identifier: Apache-2.0 */
/* The preamble of X-09, in the seed's words, and behind it what the seed does not tell. */
#include "continuity/brief-impl.h"
#include "continuity/record.h"

#define PROJECTS_SHOWN 32
#define TOPICS_SHOWN 10

/* ---- header ---------------------------------------------------------------------- */

/* Sessions that gave something: the restored ones, and those a CRITICAL pin came from. */
static size_t contributors(const struct rp__plan *p)
{
  size_t n, n_pins;
  const struct rp__candidate *const *restored = rp__plan_restored(p, &n);
  const struct rp__pin_choice *pins = rp__plan_pins(p, &n_pins);
  size_t count = n;
  for (size_t i = 0; i < n_pins && pins[i].taken; i++) {
    bool counted = false;
    for (size_t k = 0; k < n && !counted; k++) counted = restored[k] == pins[i].from;
    for (size_t k = 0; k < i && !counted; k++) counted = pins[k].from == pins[i].from;
    count += !counted;
  }
  return count;
}

static void header(const struct rp__brief_input *in, size_t sessions, struct rp__draft *d)
{
  rp__draft_section(d, RP_SEC_HEADER, "%s", "");
  struct rp__buf *out = rp__draft_item(d);
  if (sessions || !in->resumed) {
    rp__buf_printf(out, "[SESSION CONTINUITY — inherited from %zu prior session(s)]", sessions);
    rp__draft_why(d, "%zu earlier session(s) give something to this one", sessions);
  } else if (in->restart == RP_RESTART_FRESH) {
    rp__buf_str(out, "[SESSION CONTINUITY — this session so far]");
    rp__draft_why(d, "the session goes on");
  } else {
    rp__buf_str(out, "[SESSION CONTINUITY — this session, resumed after ");
    rp__time_words(in->elapsed_seconds, out);
    rp__buf_char(out, ']');
    rp__draft_why(d, "the session is resumed (%s)", rp__restart_name(in->restart));
  }
}

/* ---- lists ----------------------------------------------------------------------- */

static void add_list(struct rp__draft *d, struct rp__json list, size_t max, const char *why)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (d->sections[d->n_sections - 1].n < max && rp__json_next(list, &it, NULL, &v)) {
    struct rp__buf *out = rp__draft_item(d);
    if (rp__plain_value(out, v, RP_LABEL_CHARS) == 0 || rp__draft_repeats(d))
      rp__draft_cancel(d);
    else
      rp__draft_why(d, "%s", why);
    if (out->err) return;
  }
}

/* Of the restored sessions, best first; of a resumed one its own first. */
static void list_section(const struct rp__brief_input *in, enum rp__section kind, enum rp__record_part part,
                         const char *name, size_t max, struct rp__draft *d)
{
  size_t n = 0;
  const struct rp__candidate *const *restored = in->plan ? rp__plan_restored(in->plan, &n) : NULL;
  rp__draft_section(d, kind, "%s of %s", rp__record_names[part],
                    in->resumed ? "the session" : "the restored sessions, best first");
  if (in->resumed) add_list(d, rp__json_get(in->state, name), max, "the session's own");
  for (size_t i = 0; i < n; i++)
    add_list(d, rp__json_get(restored[i]->record, rp__record_names[part]), max, restored[i]->session_id);
}

static void working_memory(const struct rp__brief_input *in, struct rp__draft *d)
{
  size_t n = rp__brief_pin_count(in);
  if (n == 0) return;
  rp__draft_section(d, RP_SEC_WORKING_MEMORY, "%s", "");
  rp__buf_printf(rp__draft_item(d), "WORKING MEMORY RESTORED: %zu pins%s", n, in->resumed ? "" : " inherited");
  rp__draft_why(d, in->resumed ? "pins of the session" : "pins the plan inherits");
  rp__buf_str(rp__draft_item(d), "(Use working_memory view to see all pins)");
  rp__draft_why(d, "there are pins to view");
}

void rp__brief_coder(const struct rp__brief_input *in, struct rp__draft *d)
{
  size_t sessions = in->plan ? contributors(in->plan) : 0;
  /* where no earlier session qualifies, silence. */
  if (sessions == 0 && !in->resumed) return;
  header(in, sessions, d);
  rp__brief_tasks(in, d);
  list_section(in, RP_SEC_PROJECTS, RP_PART_PROJECTS, "projects", PROJECTS_SHOWN, d);
  list_section(in, RP_SEC_TOPICS, RP_PART_HOT_TOPICS, "topics", TOPICS_SHOWN, d);
  working_memory(in, d);
  rp__brief_stopped(in, d);
  rp__brief_tools(in, d);
  rp__brief_waiting(in, d);
  rp__brief_memories(in, d);
  rp__brief_pins(in, d);
  if (in->resumed) rp__brief_evidence(in, d);
}
