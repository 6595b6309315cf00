/* SPDX-License-Identifier: Apache-2.0 */
/* The coder's template: the preamble of X-09 in the words of Helios Cortex, then sections that Cortex does not have. */
#include "continuity/brief-impl.h"
#include "continuity/record.h"
#include "facets/rows.h"
#include "facets/table.h"

#define PROJECTS_SHOWN 32
#define TOPICS_SHOWN 6
#define TOPICS_BELOW 500 /* bytes of a brief that says little */

/* ---- header ---------------------------------------------------------------------- */

/* Sessions that gave something: the restored ones, those a CRITICAL pin came from, and those that speak. */
static size_t contributors(const struct rp__brief_input *in)
{
  const struct rp__plan *p = in->plan;
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
  for (size_t i = 0; i < in->n_sessions; i++) {
    bool counted = false;
    for (size_t k = 0; k < n && !counted; k++)
      counted = strcmp(restored[k]->session_id, in->sessions[i].session_id) == 0;
    for (size_t k = 0; k < n_pins && pins[k].taken && !counted; k++)
      counted = strcmp(pins[k].from->session_id, in->sessions[i].session_id) == 0;
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

/*
 * Adds a name to the section that is open, unless it is full or has that name; a topic only if nothing before tells it.
 * False: no more are wanted.
 */
static bool add_name(struct rp__draft *d, struct rp__json string, struct rp__str text, size_t max, const char *why)
{
  const struct rp__draft_section *s = &d->sections[d->n_sections - 1];
  bool topic = s->kind == RP_SEC_TOPICS;
  if (s->n >= max) return false;
  struct rp__buf *out = rp__draft_item(d);
  struct rp__plain t = rp__plain_begin(out, RP_LABEL_CHARS);
  rp__plain_json(&t, string);
  rp__plain_bytes(&t, text.p, text.n);
  bool told = rp__plain_end(&t) == 0 || rp__draft_repeats(d);
  if (!told && !out->err && topic) {
    size_t at = d->items[d->n_items].at;
    told = rp__draft_mentions(d, (struct rp__str){out->p + at, out->n - at});
  }
  if (told)
    rp__draft_cancel(d);
  else
    rp__draft_why(d, "%s", why);
  return !out->err;
}

/* What the restored sessions have of it, best first. */
static void add_restored(const struct rp__brief_input *in, enum rp__record_part part, size_t max, struct rp__draft *d)
{
  size_t n = 0;
  const struct rp__candidate *const *restored = in->plan ? rp__plan_restored(in->plan, &n) : NULL;
  for (size_t i = 0; i < n; i++) {
    struct rp__json list = rp__json_get(restored[i]->record, rp__record_names[part]), v;
    struct rp__json_iter it = {0};
    while (rp__json_next(list, &it, NULL, &v) && add_name(d, v, RP_STR(""), max, restored[i]->session_id)) continue;
  }
}

/* The only project is the folder that everybody stands in: its name is no news. */
static void drop_own_folder(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__draft_section *s = &d->sections[d->n_sections - 1];
  const char *root = in->root                                           ? in->root
                     : in->n_sessions && in->sessions[0].digest->root.n ? in->sessions[0].digest->root.p
                                                                        : NULL;
  const char *name = root ? strrchr(root, '/') : NULL;
  if (s->n != 1 || !name || d->bytes.err) return;
  const struct rp__draft_item *item = &d->items[s->first];
  if (strlen(name + 1) == item->n && memcmp(name + 1, d->bytes.p + item->at, item->n) == 0) rp__draft_drop(d);
}

/* Of the restored sessions; of a resumed one its own first. */
static void projects_and_topics(const struct rp__brief_input *in, struct rp__draft *d)
{
  static const char own[] = "the session's own";
  const struct rp__fold *state = in->resumed ? in->state : NULL;
  const char *whose = in->resumed ? "the session" : "the restored sessions, best first";
  const struct rp__rows *projects = rp__rows_of(state, &rp__facet_projects);
  struct rp__topic_found topics[RP_TOPICS_FOUND];
  size_t n_topics = rp__topics_best(state, topics);

  rp__draft_section(d, RP_SEC_PROJECTS, "%s of %s", rp__record_names[RP_PART_PROJECTS], whose);
  for (size_t i = 0; i < projects->count; i++)
    if (!add_name(d, rp__row_cell(projects->v[i], 0), RP_STR(""), PROJECTS_SHOWN, own)) break;
  add_restored(in, RP_PART_PROJECTS, PROJECTS_SHOWN, d);
  drop_own_folder(in, d);

  /* Bare names help only where there are no sentences. */
  size_t told = 0;
  for (size_t i = 0; i < d->n_items; i++) told += d->items[i].n;
  if (in->n_sessions && told > TOPICS_BELOW) return;
  rp__draft_section(d, RP_SEC_TOPICS, "%s of %s", rp__record_names[RP_PART_HOT_TOPICS], whose);
  for (size_t i = 0; i < n_topics; i++)
    if (!topics[i].part &&
        !add_name(d, (struct rp__json){0}, (struct rp__str){topics[i].text, topics[i].n}, TOPICS_SHOWN, own))
      break;
  add_restored(in, RP_PART_HOT_TOPICS, TOPICS_SHOWN, d);
}

void rp__brief_coder(const struct rp__brief_input *in, struct rp__draft *d)
{
  size_t sessions = in->plan ? contributors(in) : 0;
  /* where no earlier session qualifies, silence. */
  if (sessions == 0 && !in->resumed) return;
  header(in, sessions, d);
  rp__brief_last(in, d);
  /* Of a run in which nothing was asked it is no news that it died. */
  if (in->resumed || in->n_sessions == 0 || in->sessions[0].crashed) rp__brief_stopped(in, d);
  rp__brief_tools(in, d);
  rp__brief_waiting(in, d);
  rp__brief_work(in, d);
  rp__brief_tasks(in, d);
  rp__brief_todos(in, d);
  rp__brief_rules(in, d);
  size_t pins = rp__brief_pin_count(in);
  if (pins) {
    rp__draft_section(d, RP_SEC_WORKING_MEMORY, "%s", "");
    rp__buf_printf(rp__draft_item(d), "WORKING MEMORY RESTORED: %zu pins%s", pins, in->resumed ? "" : " inherited");
    rp__draft_why(d, in->resumed ? "pins of the session" : "pins the plan inherits");
    rp__buf_str(rp__draft_item(d), "(Use working_memory view to see all pins)");
    rp__draft_why(d, "there are pins to view");
  }
  rp__brief_pins(in, d);
  rp__brief_memories(in, d);
  rp__brief_others(in, d);
  projects_and_topics(in, d);
  if (in->resumed) rp__brief_evidence(in, d);
  rp__brief_more(in, d);
}
