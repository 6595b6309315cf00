/* SPDX-License-Identifier: Apache-2.0 */
/* Sections with pending tasks and pins: those that the plan brings, and those of a session that is resumed. */
#include "base/clock.h"
#include "continuity/brief-impl.h"
#include "continuity/pin.h"
#include "facets/tasks.h"
#include "facets/words.h"

#define STAGE_CHARS 60
#define CRITICAL_CHARS 1000
#define CONTENT_CHARS 300

/* ---- tasks ------------------------------------------------------------------------ */

static void task_line(struct rp__buf *out, const char *id, const char *title, const char *stage, int64_t days)
{
  rp__buf_str(out, "- [");
  rp__plain_text(out, id, RP_LABEL_CHARS);
  rp__buf_str(out, "] ");
  if (rp__plain_text(out, title, RP_LABEL_CHARS)) rp__buf_char(out, ' ');
  rp__buf_str(out, "(last stage: ");
  if (rp__plain_text(out, stage, STAGE_CHARS) == 0) rp__buf_str(out, "unknown");
  rp__buf_printf(out, ", %lldd ago)", (long long)days);
}

void rp__brief_tasks(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__rows *own = rp__rows_of(in->resumed ? in->state : NULL, &rp__facet_tasks);
  size_t n = 0;
  const struct rp__task_choice *t = in->plan ? rp__plan_tasks(in->plan, &n) : NULL;
  rp__draft_section(d, RP_SEC_TASKS, "tasks that were not finished");
  for (size_t i = 0; i < n && t[i].taken; i++) {
    task_line(rp__draft_item(d), t[i].task_id, t[i].title, t[i].stage, t[i].days);
    rp__draft_why(d, "%s", t[i].reason);
  }
  for (size_t i = 0; i < own->count; i++) {
    const struct rp__row *task = own->v[i];
    if (!rp__task_row_pending(task, in->now_ms)) continue;
    RP_AUTOFREE char *id = rp__json_dup(rp__row_cell(task, RP_TASK_ID));
    RP_AUTOFREE char *title = rp__json_dup(rp__row_cell(task, RP_TASK_TITLE));
    RP_AUTOFREE char *stage = rp__json_dup(rp__row_cell(task, RP_TASK_STAGE));
    if (!id || !title || !stage) {
      if (!d->bytes.err) d->bytes.err = RP_E_NOMEM;
      return;
    }
    size_t k = 0;
    while (k < n && strcmp(t[k].task_id, id) != 0) k++;
    if (k < n) continue; /* the plan has it */
    task_line(rp__draft_item(d), id, title, stage, rp__days_since(in->now_ms, task->at_ms ? task->at_ms : in->now_ms));
    rp__draft_why(d, "pending in this session");
  }
}

/* ---- pins --------------------------------------------------------------------------- */

static const struct rp__pin_choice *planned_pins(const struct rp__brief_input *in, size_t *ret_n)
{
  *ret_n = 0;
  const struct rp__pin_choice *pins = in->plan ? rp__plan_pins(in->plan, ret_n) : NULL;
  while (*ret_n && !pins[*ret_n - 1].taken) --*ret_n;
  return pins;
}

size_t rp__brief_pin_count(const struct rp__brief_input *in)
{
  size_t n;
  (void)planned_pins(in, &n);
  return n + rp__pins_count(in->resumed ? in->state : NULL);
}

static bool says_so(const char *label)
{
  static const char word[] = "CRITICAL";
  size_t n = sizeof word - 1;
  return strncmp(label, word, n) == 0 && !rp__is_alnum(label[n]);
}

/*
 * "- label (yesterday): content", of which the content may be cut off. The whole provenance is told by `pins` and the
 * record: a model has no use for ids.
 */
static void pin_line(const struct rp__brief_input *in, struct rp__draft *d, const char *label, const char *id,
                     const char *end, struct rp__json content, bool critical)
{
  int64_t end_ms;
  struct rp__buf *out = rp__draft_item(d);
  rp__buf_str(out, critical && !says_so(label) ? "- CRITICAL: " : "- ");
  rp__plain_text(out, label, RP_LABEL_CHARS);
  if (id[0] && rp__time_parse(end, strlen(end), &end_ms) == 0) {
    rp__buf_str(out, " (");
    rp__ago_words(in->now_ms, end_ms, out);
    rp__buf_char(out, ')');
  } else if (id[0]) {
    rp__buf_str(out, " (inherited)");
  }
  rp__draft_short(d);
  rp__buf_str(out, ": ");
  if (rp__plain_value(out, content, critical ? CRITICAL_CHARS : CONTENT_CHARS) == 0 && !out->err) out->n -= 2;
}

void rp__brief_pins(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__rows *own = rp__rows_of(in->resumed ? in->state : NULL, &rp__facet_pins);
  size_t n;
  const struct rp__pin_choice *p = planned_pins(in, &n);
  rp__draft_section(d, RP_SEC_PINS, "pins in working memory, CRITICAL ones first");
  for (int round = 0; round < 2; round++) {
    bool critical = round == 0;
    for (size_t i = 0; i < n; i++) {
      if (p[i].critical != critical) continue;
      pin_line(in, d, p[i].label, p[i].source_id, p[i].source_end, rp__json_get(p[i].pin, "content"), critical);
      rp__draft_why(d, "%s", p[i].reason);
    }
    for (size_t i = 0; i < own->count && !d->bytes.err; i++) {
      struct rp__pin pin = rp__pin_in_state(own->v[i]);
      struct rp__provenance from = {0};
      if (rp__pin_critical(&pin) != critical) continue;
      RP_AUTOFREE char *label = rp__json_dup(pin.label);
      if (!label || rp__pin_provenance(&pin, &from)) {
        d->bytes.err = RP_E_NOMEM;
        break;
      }
      label[rp__pin_bare(rp__str(label)).n] = '\0';
      pin_line(in, d, label, from.id, from.end, pin.content, critical);
      rp__draft_why(d, critical ? "a CRITICAL pin of this session" : "a pin of this session");
    }
  }
}
