/* SPDX-License-Identifier: Apache-2.0 */
/* The tool `task`: records unfinished work, so that a later session learns of it. */
#include "base/id.h"
#include "bridge/tool/tool.h"

#define BODY_MAX 65536
#define ID_ROOM 24
#define NAMES_MAX 300

enum { ACTION, TASK_ID, TITLE, STAGE };

static const char *const actions[] = {"open", "update", "done", "list", NULL};

static const struct rp__takes takes[] = {
    [ACTION] =
        {"action",
         "open begins a task, update changes its stage or title, done finishes it, list shows all that are not done",
         RP_TAKES_WORD, true, actions},
    [TASK_ID] = {"task_id", "Which task, with update and done. With open: an id of your own; one is made when left out",
                 RP_TAKES_TEXT, .min = 1, .max = 100},
    [TITLE] = {"title", "What is to be done, in one line; with open, or with update to change it", RP_TAKES_TEXT,
               .min = 1, .max = 200},
    [STAGE] = {"stage",
               "How far it is: build (when left out), verify, validate, or a word of your own; unfinished until done",
               RP_TAKES_TEXT, .min = 1, .max = 60},
    {0},
};

static int missing(const char *field, const char *action, rp_error *err)
{
  return rp__fail_field(err, RP_E_INVALID, field, "'%s' is missing: %s needs it", field, action);
}

/* ---- the document ---- */

static struct rp__json tasks_of(const char *state)
{
  return rp__json_get(rp__json_trusted(state, strlen(state)), "tasks");
}

static struct rp__json find_task(struct rp__json tasks, struct rp__json id)
{
  return rp__tool_named(tasks, "task_id", id);
}

static bool is_open(struct rp__json task)
{
  return rp__json_eq(rp__json_get(task, "status"), "open") && !rp__json_eq(rp__json_get(task, "stage"), "done");
}

/* Another session of the scope may have finished it meanwhile. */
static bool is_open_still(struct rp__tool_session *m, struct rp__json task)
{
  RP_AUTOFREE char *id = rp__json_dup(rp__json_get(task, "task_id"));
  bool open = is_open(task);
  if (open && id) RP_IGNORE(rp_task_open(m->s, id, &open, NULL)); /* else as the session knows it */
  return open;
}

static int write_open(struct rp__tool_session *m, struct rp__json tasks, struct rp__jw *w)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int open = 0;
  rp__jw_karray(w, "open_tasks");
  while (tasks.type == RP_JSON_ARRAY && rp__json_next(tasks, &it, NULL, &item)) {
    if (!is_open_still(m, item)) continue;
    rp__jw_value(w, item);
    open++;
  }
  rp__jw_end_array(w);
  return open;
}

/* What was done, the task as it is now, and all that are open. */
static int write_tasks(struct rp__tool_session *m, struct rp__json action, struct rp__json id, struct rp__jw *w,
                       rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  int rc = m->s ? rp__tool_state(m, &state, err) : 0;
  if (rc) return rc;
  struct rp__json tasks = state ? tasks_of(state) : (struct rp__json){0};
  rp__jw_object(w);
  rp__jw_kvalue(w, "action", action);
  if (id.type == RP_JSON_STRING) rp__jw_kvalue(w, "task", find_task(tasks, id));
  rp__jw_ki64(w, "count", write_open(m, tasks, w));
  if (rp__json_eq(action, "list")) rp__tool_elsewhere(m, "tasks", "task_id", tasks, w);
  rp__jw_end_object(w);
  return 0;
}

/* ---- writing one ---- */

struct change {
  struct rp__json id, title, stage; /* JSON strings */
  bool done;
};

static int append(struct rp__tool_session *m, const struct change *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  rp__jw_object(&w);
  rp__jw_kvalue(&w, "task_id", c->id);
  rp__jw_kvalue(&w, "title", c->title);
  rp__jw_kvalue(&w, "stage", c->stage);
  rp__jw_kstr(&w, "status", c->done ? "done" : "open");
  rp__jw_end_object(&w);
  if (body.err) return rp__fail_nomem(err);
  rp_event ev = {.kind = "task", .body = body.p, .body_len = body.n};
  return rp__tool_append(m, &ev, 1, err);
}

/* Of the form that the engine knows again when a message speaks of it. */
static void make_id(char out[ID_ROOM])
{
  uint32_t number;
  rp__system_random.fill(rp__system_random.ctx, &number, sizeof number);
  snprintf(out, ID_ROOM, "\"task-%08u\"", (unsigned)(number % 100000000u));
}

static int open_task(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  char made[ID_ROOM];
  struct change c = {.id = args[TASK_ID], .title = args[TITLE], .stage = args[STAGE]};
  if (c.title.type == RP_JSON_NONE) return missing("title", "open", err);
  if (c.stage.type == RP_JSON_NONE) c.stage = rp__json_trusted("\"build\"", 7);
  int rc = rp__tool_state(m, &state, err);
  if (rc) return rc;
  if (c.id.type == RP_JSON_NONE) {
    make_id(made);
    c.id = rp__json_trusted(made, strlen(made));
  } else if (is_open(find_task(tasks_of(state), c.id))) {
    rc = rp__fail_field(err, RP_E_INVALID, "task_id", "there is an open task of that id already");
    rp__hint(err, "change it with update, or open one under another id");
    return rc;
  }
  rc = append(m, &c, err);
  return rc ? rc : write_tasks(m, args[ACTION], c.id, w, err);
}

static int unknown(struct rp__json tasks, rp_error *err)
{
  char names[NAMES_MAX];
  rp__tell_names(tasks, "task_id", names, sizeof names);
  int rc = rp__fail_field(err, RP_E_MEMORY_NOT_FOUND, "task_id", "no such task; known %s%s",
                          names[0] ? "are: " : "is none", names);
  rp__hint(err, "list shows the open ones with their ids");
  return rc;
}

/* A task of another session of the scope: whoever finishes it says so for all of them. */
static struct rp__json find_elsewhere(struct rp__tool_session *m, struct rp__json id, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__tool_elsewhere(m, "tasks", "task_id", (struct rp__json){0}, &w);
  rp__jw_end_object(&w);
  if (out->err) return (struct rp__json){0};
  return find_task(rp__json_get(rp__json_trusted(out->p, out->n), "elsewhere"), id);
}

static int check_change(const struct rp__json *args, bool done, rp_error *err)
{
  if (args[TASK_ID].type == RP_JSON_NONE) return missing("task_id", done ? "done" : "update", err);
  if (!done && args[TITLE].type == RP_JSON_NONE && args[STAGE].type == RP_JSON_NONE)
    return missing("stage", "update", err);
  return 0;
}

static int check(struct rp__tool_session *m, const struct rp__json *args, rp_error *err)
{
  RP_AUTOBUF struct rp__buf others = RP_BUF(RP_TOOL_DOC_MAX);
  if (rp__json_eq(args[ACTION], "open")) return args[TITLE].type == RP_JSON_NONE ? missing("title", "open", err) : 0;
  int rc = check_change(args, rp__json_eq(args[ACTION], "done"), err);
  if (rc || find_elsewhere(m, args[TASK_ID], &others).type != RP_JSON_NONE) return rc;
  if (others.err) return rp__fail_nomem(err);
  return unknown(rp__json_get(rp__json_trusted(others.p, others.n), "elsewhere"), err);
}

static int change_task(struct rp__tool_session *m, const struct rp__json *args, bool done, struct rp__jw *w,
                       rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  int rc = check_change(args, done, err);
  if (!rc) rc = rp__tool_state(m, &state, err);
  if (rc) return rc;
  struct rp__json task = find_task(tasks_of(state), args[TASK_ID]);
  RP_AUTOBUF struct rp__buf others = RP_BUF(RP_TOOL_DOC_MAX);
  if (task.type == RP_JSON_NONE) task = find_elsewhere(m, args[TASK_ID], &others);
  if (task.type == RP_JSON_NONE) return unknown(tasks_of(state), err);
  struct change c = {.id = args[TASK_ID], .title = args[TITLE], .stage = args[STAGE]};
  if (c.title.type == RP_JSON_NONE) c.title = rp__json_get(task, "title");
  if (c.stage.type == RP_JSON_NONE) c.stage = rp__json_get(task, "stage");
  c.done = done || rp__json_eq(c.stage, "done");
  if (c.done) c.stage = rp__json_trusted("\"done\"", 6);
  rc = append(m, &c, err);
  return rc ? rc : write_tasks(m, args[ACTION], c.id, w, err);
}

static bool asks(const struct rp__json *args)
{
  return rp__json_eq(args[ACTION], "list");
}

static int run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  if (rp__json_eq(args[ACTION], "open")) return open_task(m, args, w, err);
  if (rp__json_eq(args[ACTION], "list")) return write_tasks(m, args[ACTION], (struct rp__json){0}, w, err);
  return change_task(m, args, rp__json_eq(args[ACTION], "done"), w, err);
}

/* ---- telling ---- */

static void tell_task(struct rp__json task, struct rp__buf *out)
{
  rp__buf_str(out, "- [");
  rp__tell_text(out, rp__json_get(task, "task_id"), 0);
  rp__buf_str(out, "] ");
  rp__tell_text(out, rp__json_get(task, "title"), 0);
  rp__buf_str(out, " (stage: ");
  rp__tell_text(out, rp__json_get(task, "stage"), 0);
  rp__buf_str(out, ")\n");
}

static void tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json tasks = rp__json_get(doc, "open_tasks"), task = rp__json_get(doc, "task"), item;
  struct rp__json_iter it = {0};
  size_t count = rp__json_count(tasks);
  if (task.type == RP_JSON_OBJECT) {
    rp__buf_str(out, is_open(task) ? "Open:\n" : "Done:\n");
    tell_task(task, out);
    rp__buf_printf(out, "%zu open in all.", count);
    return;
  }
  if (count == 0) rp__buf_str(out, "No open tasks.");
  while (rp__json_next(tasks, &it, NULL, &item)) tell_task(item, out);
  tasks = rp__json_get(doc, "elsewhere");
  it = (struct rp__json_iter){0};
  if (rp__json_count(tasks)) rp__buf_str(out, "\nOpen in other sessions of this scope:\n");
  while (rp__json_next(tasks, &it, NULL, &item)) tell_task(item, out);
}

const struct rp__tool rp__tool_task = {
    .name = "task",
    .title = "Tasks",
    .description =
        "Tracks work that may outlive this session: what is open when it ends is told to the next one. Open a task "
        "when "
        "you begin something of several steps, update its stage as you go, and mark it done when it is finished.",
    .takes = takes,
    .always = true,
    .asks = asks,
    .check = check,
    .run = run,
    .tell = tell,
};
