/* SPDX-License-Identifier: Apache-2.0 */
/* MCP's prompts: their list and their texts. */
#include "bridge/mcp/prompts.h"

#include "bridge/injected-text.h"
#include "bridge/mcp/handoff.h"

#define REF_MAX 128

static const struct rp__takes takes[] = {
    {"session", "The session's id, the beginning of one, or its key; the current or last one when left out",
     RP_TAKES_TEXT, .min = 1, .max = REF_MAX},
    {0},
};

/* `id`: empty when the project has no session yet. */
typedef int write_fn(struct rp__tool_session *m, const char *id, bool named, struct rp__buf *out, rp_error *err);

struct prompt {
  const char *name, *title, *description;
  write_fn *write;
};

/* ---- resume ---- */

static int add_brief_of(struct rp__tool_session *m, const char *id, struct rp__buf *out, rp_error *err)
{
  rp_session *s = NULL;
  char *doc = NULL;
  int rc = rp_attach(m->e, id, &s, err);
  if (!rc) rc = rp_brief(s, false, &doc, err);
  struct rp__json brief = {0};
  if (!rc) brief = rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, out);
  rp_free(doc);
  rp_session_free(s);
  return rc;
}

static int write_resume(struct rp__tool_session *m, const char *id, bool named, struct rp__buf *out, rp_error *err)
{
  if (named)
    rp__buf_printf(out,
                   "Go on with the work of session %s. Call session_continue with session_id \"%s\" first, so that its "
                   "pins, tasks and memories are yours; then say in a few lines where it stopped and what comes next, "
                   "and go on.",
                   id, id);
  else
    rp__buf_str(out,
                "Go on with the work where the last session of this project stopped. Say in a few lines where that "
                "is and what comes next, then go on.");
  rp__buf_str(out, "\n\n" RP_HANDOFF_RECORDED "\n\n");
  bool other = named && !(m->s && strcmp(id, rp_session_id(m->s)) == 0);
  if (other) rp__buf_printf(out, "It is what session %s had in mind; the one you are in is another.\n\n", id);
  size_t before = out->n;
  int rc = named ? add_brief_of(m, id, out, err) : rp__tool_session_brief_now(m, out, err);
  if (!rc && out->n == before) rp__buf_str(out, "(There is nothing to go on from: this is the first session.)");
  return rc;
}

/* ---- handoff ---- */

static int write_handoff(struct rp__tool_session *m, const char *id, bool named, struct rp__buf *out, rp_error *err)
{
  (void)named;
  if (!id[0]) {
    rp__buf_str(out, "Nothing was recorded in this project yet: there is nothing to hand over.");
    return 0;
  }
  return rp__handoff_write(m->e, id, out, err);
}

static const struct prompt prompts[] = {
    {"resume", "Resume", "Go on where an earlier session of this project stopped", write_resume},
    {"handoff", "Hand over",
     "What another agent must know to take over: state, open tasks, pins, tools of unknown outcome", write_handoff},
};

/* ---- the protocol's side ---- */

void rp__prompts_list(struct rp__jw *w)
{
  rp__jw_karray(w, "prompts");
  for (size_t i = 0; i < RP_ARRAY_SIZE(prompts); i++) {
    rp__jw_pack(w, "{name:s title:s description:s arguments:[", prompts[i].name, prompts[i].title,
                prompts[i].description);
    for (const struct rp__takes *row = takes; row->name; row++) {
      rp__jw_pack(w, "{name:s description:s required:b}", row->name, row->about, row->required);
    }
    rp__jw_pack(w, "]}");
  }
  rp__jw_end_array(w);
}

/* The session named, else the current one, else the last, else none. */
static int choose(struct rp__tool_session *m, struct rp__json given, char ret[RP_ID_MAX + 1], rp_error *err)
{
  RP_AUTOFREE char *ref = rp__json_dup(given);
  ret[0] = '\0';
  if (given.type == RP_JSON_NONE && m->s) {
    snprintf(ret, RP_ID_MAX + 1, "%s", rp_session_id(m->s));
    return 0;
  }
  if (given.type != RP_JSON_NONE && !ref) return rp__fail_nomem(err);
  int rc = rp__tool_session_resolve(m, ref ? ref : "last", ret, err);
  if (rc == RP_E_SESSION_NOT_FOUND && !ref) return 0;
  if (rc && err && !err->field[0]) snprintf(err->field, sizeof err->field, "session");
  return rc;
}

int rp__prompt_get(struct rp__tool_session *m, struct rp__json name, struct rp__json args, struct rp__jw *w,
                   rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_PROMPT_MAX), marked = RP_BUF(2 * RP_PROMPT_MAX);
  struct rp__json values[RP_TAKES_MAX];
  char id[RP_ID_MAX + 1];
  const struct prompt *p = NULL;
  for (size_t i = 0; i < RP_ARRAY_SIZE(prompts); i++)
    if (rp__json_eq(name, prompts[i].name)) p = &prompts[i];
  if (!p) return rp__fail_field(err, RP_E_INVALID, "name", "there is no such prompt; there are resume and handoff");
  int rc = rp__takes_check(takes, args, values, err);
  if (!rc) rc = choose(m, values[0], id, err);
  if (!rc) rc = p->write(m, id, values[0].type != RP_JSON_NONE, &text, err);
  if (rc) return rc;
  if (text.err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (text.err) return rp__fail(err, text.err, "the prompt is over %zu bytes", RP_PROMPT_MAX);
  /* Agents give it to their model as the user's words, and to their hooks. */
  rp__mark(&marked, text.p, text.n);
  if (marked.err) return rp__fail_nomem(err);
  rp__jw_pack(w, "description:s messages:[{role:s content:{type:s text:n}}]", p->description, "user", "text", marked.p,
              marked.n);
  return 0;
}
