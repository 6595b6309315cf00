/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise doctor`: check the store and its surroundings: disk, locks, clock, agents' files. */
#include "cli/agent-look.h"
#include "cli/out.h"
#include "cli/term.h"

#define DOC_MAX ((size_t)4 * 1024 * 1024)

static void add_text(struct rp__buf *line, struct rp__json v)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(4096);
  if (rp__json_text(v, &text) == 0 && text.n) rp__term_cut(line, text.p, text.n, 0);
}

static int print_check(const struct rp__cli *c, struct rp__json check, rp_error *err)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(65536);
  bool colour = c->term.out_colour;
  struct rp__json status = rp__json_get(check, "status");
  bool ok = rp__json_eq(status, "ok"), warning = rp__json_eq(status, "warning");
  rp__buf_printf(&line, "%s%s%s ",
                 RP_SGR(colour, ok        ? RP_GREEN
                                : warning ? RP_YELLOW
                                          : RP_RED),
                 ok        ? "✓"
                 : warning ? "!"
                           : "✗",
                 RP_RESET(colour));
  add_text(&line, rp__json_get(check, "check"));
  rp__buf_str(&line, ": ");
  add_text(&line, rp__json_get(check, "detail"));
  return rp__out_line(&line, err);
}

static int print_checks(const struct rp__cli *c, struct rp__json doc, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json check;
  int code = 0;
  while (!code && rp__json_next(rp__json_get(doc, "checks"), &it, NULL, &check)) code = print_check(c, check, err);
  return code;
}

static int64_t count_bad(struct rp__json doc)
{
  struct rp__json_iter it = {0};
  struct rp__json check;
  int64_t bad = 0;
  while (rp__json_next(rp__json_get(doc, "checks"), &it, NULL, &check))
    bad += rp__json_eq(rp__json_get(check, "status"), "problem");
  return bad;
}

/* ---- agents ---- */

static void add_check(struct rp__jw *w, const char *name, const char *status, const char *detail)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "check", name);
  rp__jw_kstr(w, "status", status);
  rp__jw_kstr(w, "detail", detail);
  rp__jw_end_object(w);
}

struct uses {
  struct rp__jw *w;
  int n;
};

/* An agent whose hook is gone says so at every turn, if at all; a server that is gone is just missing. */
static int on_use(void *ctx, const struct rp__agent_use *use)
{
  struct uses *u = ctx;
  RP_AUTOBUF struct rp__buf detail = RP_BUF(4 * PATH_MAX);
  const char *status = "ok", *as = use->mcp ? "mcp" : "hooks";
  u->n++;
  rp__buf_printf(&detail, "%s, %s: ", use->agent->title, use->file);
  if (use->trouble) {
    rp__buf_str(&detail, use->trouble);
    status = "warning";
  } else if (!use->exists) {
    rp__buf_printf(&detail, "%s is not there; ", use->program);
    if (use->mcp)
      rp__buf_printf(&detail, "mend the entry %s", use->name);
    else
      rp__buf_printf(&detail, "'reprise hook install --agent %s' mends it", use->agent->name);
    status = "problem";
  } else if (!use->mcp && use->events < use->wanted) {
    rp__buf_printf(&detail, "%d of %d events; 'reprise hook install --agent %s' adds the rest", use->events,
                   use->wanted, use->agent->name);
    status = "warning";
  } else if (!use->own) {
    rp__buf_printf(&detail, "%s is another program than this", use->program);
    status = "warning";
  } else {
    rp__buf_printf(&detail, "runs %s", use->program);
  }
  add_check(u->w, as, status, detail.err ? use->file : detail.p);
  return 0;
}

/* The engine's document, and what the settings of agents say of us. */
static int add_agents(const char *json, struct rp__buf *out, rp_error *err)
{
  struct rp__json doc = rp__json_trusted(json, strlen(json)), key, value, item;
  struct rp__json_iter members = {0};
  struct rp__jw w = RP_JW(out);
  struct uses uses = {.w = &w};
  char here[PATH_MAX];
  int rc = 0;
  rp__jw_object(&w);
  while (!rc && rp__json_next(doc, &members, &key, &value)) {
    struct rp__json_iter checks = {0};
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
    rp__jw_key(&w, name);
    if (strcmp(name, "checks") != 0) {
      rp__jw_value(&w, value);
      continue;
    }
    rp__jw_array(&w);
    while (rp__json_next(value, &checks, NULL, &item)) rp__jw_value(&w, item);
    rc = rp__agent_look(NULL, getcwd(here, sizeof here), on_use, &uses, err);
    if (!rc && !uses.n) add_check(&w, "hooks", "ok", "no agent is told to run this program");
    rp__jw_end_array(&w);
  }
  rp__jw_end_object(&w);
  return rc || !out->err ? rc : rp__fail_nomem(err);
}

/* Before the first session there is nothing but the place where the store will be. */
static int nothing_yet(const struct rp__cli *c, char **ret, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__jw w = RP_JW(&b);
  char detail[sizeof(c->no_store.message) + 64];
  snprintf(detail, sizeof(detail), "%s yet; 'reprise start' creates one", c->no_store.message);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "version", rp_version());
  rp__jw_key(&w, "checks");
  rp__jw_array(&w);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "check", "database");
  rp__jw_kstr(&w, "status", "warning");
  rp__jw_kstr(&w, "detail", detail);
  rp__jw_end_object(&w);
  rp__jw_end_array(&w);
  rp__jw_end_object(&w);
  *ret = rp__buf_take(&b);
  return *ret ? 0 : rp__fail_nomem(err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  char *json = NULL;
  RP_AUTOBUF struct rp__buf all = RP_BUF(DOC_MAX);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = c->no_store.code ? nothing_yet(c, &json, err) : rp_doctor_json(c->engine, &json, err);
  if (!code) code = add_agents(json, &all, err);
  rp_free(json);
  if (code) return code;
  struct rp__json doc = rp__json_trusted(all.p, all.n);
  code = rp__json_wanted(c) ? rp__out_buf(c, &all, err) : print_checks(c, doc, err);
  int64_t bad = count_bad(doc);
  if (!code && bad)
    code = rp__fail(err, RP_E_FAILED, "%lld %s found", (long long)bad, bad == 1 ? "problem" : "problems");
  return code;
}

const struct rp__cmd rp__cmd_doctor = {
    .name = "doctor",
    .theme = RP_THEME_CARE,
    .pages = true,
    .usage = "",
    .summary = "Check the surroundings: store, disk, locks, clock, agents' files",
    .detail = "Warnings are marked with !, problems with ✗; a problem makes the exit code 1.",
    .example = "  $ reprise doctor\n"
               "  ✓ schema: version 1\n",
    .max_args = 0,
    .run = run,
};
