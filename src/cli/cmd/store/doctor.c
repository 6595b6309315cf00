/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise doctor`: check the store and its surroundings: disk, locks, clock, agents' files. */
#include "cli/hook-install.h"
#include "cli/out.h"
#include "cli/term.h"

#define DOC_MAX ((size_t)4 * 1024 * 1024)

static void tell_checks(struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  static const char *const marks[][3] = {{"ok", "✓", RP_GREEN}, {"warning", "!", RP_YELLOW}, {"", "✗", RP_RED}};
  bool colour = c->term.out_colour;
  struct rp__json_iter it = {0};
  struct rp__json check;
  while (rp__json_next(rp__json_get(doc, "checks"), &it, NULL, &check)) {
    size_t i = 0;
    while (*marks[i][0] && !rp__json_eq(rp__json_get(check, "status"), marks[i][0])) i++;
    rp__buf_printf(out, "%s%s%s ", RP_SGR(colour, marks[i][2]), marks[i][1], RP_RESET(colour));
    rp__view_text(out, rp__json_get(check, "check"), 0);
    rp__buf_str(out, ": ");
    rp__view_text(out, rp__json_get(check, "detail"), 0);
    rp__buf_char(out, '\n');
  }
}

/* ---- agents ---- */

static void add_check(struct rp__jw *w, const char *name, const char *status, const char *detail)
{
  rp__jw_pack(w, "{check:s status:s detail:s}", name, status, detail);
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
  rp__jw_pack(&w, "{version:s checks:[{check:s status:s detail:s}]}", rp_version(), "database", "warning", detail);
  *ret = rp__buf_take(&b);
  return *ret ? 0 : rp__fail_nomem(err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  RP_AUTOBUF struct rp__buf all = RP_BUF(DOC_MAX);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = c->no_store.code ? nothing_yet(c, &json, err) : rp_doctor_json(c->engine, &json, err);
  if (!code) code = add_agents(json, &all, err);
  if (code) return code;
  struct rp__json_iter it = {0};
  struct rp__json check, checks = rp__json_get(rp__json_trusted(all.p, all.n), "checks");
  int64_t bad = 0;
  code = rp__out_told(c, all.p, tell_checks, err);
  while (rp__json_next(checks, &it, NULL, &check)) bad += rp__json_eq(rp__json_get(check, "status"), "problem");
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
    .run = run,
};
