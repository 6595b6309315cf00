/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise tasks`: list the tasks that are not finished. */
#include "cli/out.h"
#include "cli/term.h"

enum { ALL };

static const struct rp__opt opts[] = {
    [ALL] = {"all", 'a', RP_OPT_FLAG, NULL, "also those that are done or deleted"},
};

static void task_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json task)
{
  bool colour = c->term.out_colour;
  struct rp__json from = rp__json_get(task, "inherited_from");
  bool pending = rp__json_get(task, "pending").type == RP_JSON_TRUE;
  rp__buf_printf(out, "%s%s%s ", RP_SGR(colour, pending ? RP_YELLOW : RP_DIM), pending ? "○" : "✓", RP_RESET(colour));
  rp__view_cell(out, rp__json_get(task, "task_id"), 14);
  rp__buf_char(out, ' ');
  rp__view_cell(out, rp__json_get(task, "stage"), 10);
  rp__buf_char(out, ' ');
  rp__view_text(out, rp__json_get(task, "title"), 0);
  if (rp__json_get(task, "flagged_incomplete").type == RP_JSON_TRUE) rp__buf_str(out, "  incomplete");
  if (from.type == RP_JSON_STRING) {
    rp__buf_str(out, "  from ");
    rp__view_id(out, from);
  }
  rp__buf_char(out, '\n');
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  RP_AUTOTEXT char *state = NULL;
  struct rp__listing l;
  struct rp__json_iter it = {0};
  struct rp__json task;
  int code = rp__cli_state(c, c->args[0], &state, err);
  if (code) return code;
  struct rp__json tasks = rp__json_get(rp__json_trusted(state, strlen(state)), "tasks");
  rp__listing_begin(&l, c, "{tasks:[", err);
  while (rp__json_next(tasks, &it, NULL, &task)) {
    if (!rp__opt_given(c, ALL) && rp__json_get(task, "pending").type != RP_JSON_TRUE) continue;
    l.n++;
    if (l.json)
      rp__jw_value(&l.w, task);
    else
      task_line(c, &out, task);
  }
  code = rp__out_text(&out, err);
  return rp__listing_end(&l, code, "no tasks");
}

const struct rp__cmd rp__cmd_tasks = {
    .name = "tasks",
    .theme = RP_THEME_MIND,
    .pages = true,
    .usage = "ID",
    .summary = "List the tasks that are not finished",
    .detail = "A task is unfinished in any stage but 'done', until its status is done or deleted.\n"
              "○ unfinished, ✓ over.",
    .example = "  $ reprise tasks ham-radio\n"
               "  ○ task-7         build      CAT control of the ft991a\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
