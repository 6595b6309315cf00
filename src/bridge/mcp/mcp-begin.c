/* SPDX-License-Identifier: Apache-2.0 */
/* How a conversation begins in either era: who we are, what there is, and what was before (N-05: one text). */
#include "base/text.h"
#include "bridge/mark.h"
#include "bridge/mcp/mcp-impl.h"

#define INSTRUCTIONS_MAX ((size_t)1024 * 1024)

/* Claude Code shows a model the first 2,048 characters: so the brief stands before what the tools say of themselves. */
static const char purpose[] =
    "Reprise keeps this agent's sessions: what was said and done survives restarts, crashes and weeks away.";
static const char ahead[] = " What earlier sessions left behind follows; should it break off, the resource "
                            "reprise://brief has the whole.";
static const char offer[] =
    "Pin what must stay in mind with working_memory and see it with working_memory_view, keep track of work with task, "
    "store facts with remember and find "
    "them with recall, look up what was said with session_search, and take over an earlier session with "
    "session_continue.";

void rp__mcp_server_info(struct rp__jw *w)
{
  rp__jw_object(w);
  rp__jw_kstr(w, "name", "reprise");
  rp__jw_kstr(w, "title", "Reprise");
  rp__jw_kstr(w, "version", rp_version());
  rp__jw_end_object(w);
}

static void write_capabilities(struct rp__jw *w)
{
  static const char *const names[] = {"tools", "resources", "prompts"};
  rp__jw_key(w, "capabilities");
  rp__jw_object(w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    rp__jw_key(w, names[i]);
    rp__jw_object(w);
    rp__jw_end_object(w);
  }
  rp__jw_end_object(w);
}

static void write_brief(const char *brief, struct rp__buf *out)
{
  rp__buf_str(out, ahead);
  rp__buf_str(out, "\n\n");
  rp__mark(out, brief, strlen(brief));
}

/* Of what was there when the session began, or, where clients come back to it, of what is there now. */
static int tell(struct rp__mcp *m, struct rp__buf *out, rp_error *err)
{
  struct rp__buf now RP_AUTOBUF = RP_BUF(INSTRUCTIONS_MAX);
  /* To guests nothing is told (decision 15), and whose guests we are may not show yet. */
  if (rp__mind_waits(&m->mind)) return rp__mind_open(&m->mind, err);
  bool due = m->stateless || m->mind.reads_only;
  int rc = 0;
  if (m->mind.lazy && !m->mind.reads_only)
    rc = rp__mind_greet(&m->mind, &due, err);
  else if (!m->mind.reads_only)
    rc = rp__mind_begin(&m->mind, err);
  /* Who initializes twice was told at the first time. */
  bool again = m->initialized && m->mind.told;
  const char *brief = rc || again ? NULL : rp__mind_brief(&m->mind);
  if (!rc && !brief && due) {
    rc = rp__mind_brief_now(&m->mind, &now, err);
    if (!rc && now.n) brief = now.p;
  }
  if (brief) write_brief(brief, out);
  m->mind.told = m->mind.told || brief;
  return rc;
}

void rp__mcp_introduce(struct rp__mcp *m, struct rp__jw *w)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(INSTRUCTIONS_MAX);
  char words[RP_MCP_WORDS];
  rp_error err = {0};
  write_capabilities(w);
  rp__buf_str(&text, purpose);
  /* A store that is away is no reason to be without tools: each of them says what is wrong, until it is not. */
  if (tell(m, &text, &err) && err.code != RP_E_SESSION_NOT_FOUND) {
    rp__mcp_words(m, &err, words);
    rp__buf_printf(&text, "\n\nThe store can't be reached just now: %s", words);
  }
  rp__buf_str(&text, "\n\n");
  rp__buf_str(&text, offer);
  rp__jw_kstr(w, "instructions", text.err ? offer : text.p);
}

void rp__mcp_client(struct rp__mcp *m, struct rp__json client_info)
{
  if (m->mind.by[0]) return; /* the transport knows better */
  char *name RP_AUTOFREE = rp__json_dup(rp__json_get(client_info, "name"));
  if (name) rp__text_copy(m->mind.by, sizeof m->mind.by, name);
}
