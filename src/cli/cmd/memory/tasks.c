/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise tasks`: list the tasks that are not finished. */
#include "cli/out.h"
#include "cli/term.h"
#include "cli/view.h"

enum { ALL };

static const struct rp__opt opts[] = {
    [ALL] = {"all", 'a', RP_OPT_FLAG, NULL, "also those that are done or deleted"},
};

static bool shown(const struct rp__cli *c, struct rp__json task)
{
  return rp__opt_given(c, ALL) || rp__json_get(task, "pending").type == RP_JSON_TRUE;
}

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

static int print_tasks(const struct rp__cli *c, struct rp__json tasks, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  struct rp__json_iter it = {0};
  struct rp__json task;
  bool json = rp__json_wanted(c);
  if (json) rp__jw_object(&w), rp__jw_key(&w, "tasks"), rp__jw_array(&w);
  while (rp__json_next(tasks, &it, NULL, &task)) {
    if (!shown(c, task)) continue;
    if (json)
      rp__jw_value(&w, task);
    else
      task_line(c, &out, task);
  }
  if (json) {
    rp__jw_pack(&w, "]}");
    return rp__out_buf(c, &out, err);
  }
  if (out.n == 0 && c->term.err_tty) fputs("no tasks\n", stderr);
  return rp__view_print(&out, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *state = NULL;
  int code = rp__cli_state(c, c->args[0], &state, err);
  return code ? code : print_tasks(c, rp__json_get(rp__json_trusted(state, strlen(state)), "tasks"), err);
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
