/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise hook status`: lists the agents whose settings run Reprise, and how they run it. */
#include "cli/hook-install.h"

#include <errno.h>
#include <sys/stat.h>

#include "cli/agent-look.h"
#include "cli/out.h"
#include "cli/term.h"

#define DOC_MAX ((size_t)4 * 1024 * 1024)

struct status {
  const struct rp__cli *c;
  const struct rp__hook_agent *agent; /* the one told last */
  struct rp__jw *w;                   /* NULL: for a person */
  int uses;
};

/* ---- as JSON ---- */

static void write_use(struct rp__jw *w, const struct rp__agent_use *use)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "agent", use->agent->name);
  rp__jw_kstr(w, "as", use->mcp ? "mcp" : "hooks");
  rp__jw_kstr(w, "for", use->project ? "project" : "user");
  rp__jw_kstr(w, "file", use->file);
  if (use->trouble) {
    rp__jw_kstr(w, "error", use->trouble);
    rp__jw_end_object(w);
    return;
  }
  if (use->mcp)
    rp__jw_kstr(w, "name", use->name);
  else
    rp__jw_ki64(w, "events", use->events);
  if (!use->mcp) rp__jw_ki64(w, "events_wanted", use->wanted);
  rp__jw_kstr(w, "command", use->command);
  rp__jw_kstr(w, "program", use->program);
  rp__jw_kbool(w, "exists", use->exists);
  rp__jw_kbool(w, "this_program", use->own);
  rp__jw_end_object(w);
}

/* ---- for a person ---- */

static void print_use(struct status *s, const struct rp__agent_use *use)
{
  bool colour = s->c->term.out_colour, bad = use->trouble || !use->exists;
  if (s->agent != use->agent) printf("%s%s%s\n", RP_SGR(colour, RP_BOLD), use->agent->title, RP_RESET(colour));
  printf("  %s%s%s %-5s %s",
         RP_SGR(colour, bad        ? RP_RED
                        : use->own ? RP_GREEN
                                   : RP_YELLOW),
         bad        ? "✗"
         : use->own ? "✓"
                    : "!",
         RP_RESET(colour), use->mcp ? "mcp" : "hooks", use->file);
  if (use->trouble) {
    printf(": %s\n", use->trouble);
    return;
  }
  if (use->mcp)
    printf(", as %s", use->name);
  else
    printf(", %d of %d events", use->events, use->wanted);
  printf(": %s%s\n", use->program,
         !use->exists ? ", which is not there"
         : use->own   ? ""
                      : ", which is another program");
  if (s->c->globals[RP_G_VERBOSE].count) printf("      %s\n", use->command);
}

static int on_use(void *ctx, const struct rp__agent_use *use)
{
  struct status *s = ctx;
  if (s->w)
    write_use(s->w, use);
  else
    print_use(s, use);
  s->agent = use->agent;
  s->uses++;
  return 0;
}

int rp__hook_status_run(struct rp__cli *c, const struct rp__hook_agent *agent, const char *project, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(DOC_MAX);
  struct rp__jw w = RP_JW(&doc);
  char folder[PATH_MAX];
  struct status s = {.c = c, .w = rp__json_wanted(c) ? &w : NULL};
  if (!realpath(project ? project : ".", folder)) return rp__fail_errno(err, errno, "%s", project ? project : ".");
  rp__jw_object(&w);
  rp__jw_key(&w, "uses");
  rp__jw_array(&w);
  int rc = rp__agent_look(agent, folder, on_use, &s, err);
  rp__jw_end_array(&w);
  rp__jw_end_object(&w);
  if (rc || s.w) return rc ? rc : rp__out_buf(c, &doc, err);
  if (!s.uses) printf("%s told to run this program\n", agent ? "it is not" : "no agent is");
  return 0;
}
