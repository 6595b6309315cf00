/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the session that a hook's input belongs to. */
#include "bridge/hook/hook-session.h"

#include "base/id.h"
#include "base/text.h"
#include "bridge/sibling-bridges.h"
#include "bridge/injected-text.h"

#define META_MAX 16384
#define PATH_MAX_BYTES 4096

enum rp__hook_rank rp__hook_rank(void)
{
  const char *bridge = getenv("REPRISE_BRIDGE");
  if (bridge && *bridge) return RP_HOOK_WITHIN;
  return rp__workspace_session() ? RP_HOOK_GUEST : RP_HOOK_ALONE;
}

/* The text of a member, cut at `size`; false when it is no string or empty. */
static bool take_text(struct rp__json input, const char *name, char *ret, size_t size)
{
  RP_AUTOFREE char *text = rp__json_dup(rp__hook_field(input, name));
  if (!text || !*text) return false;
  rp__text_copy(ret, size, text);
  return true;
}

/*
 * The project, not where the agent happens to be: its `cwd` follows the commands it runs. Agents name the project in
 * the environment of their hooks.
 */
static int find_scope(struct rp__hook_session *h, const struct rp__hook_call *c, rp_error *err)
{
  char given[RP_SCOPE_MAX + 2];
  const char *project = c->stream ? NULL : rp__workspace_project();
  bool own = take_text(h->input, "scope", given, sizeof given);
  if (project)
    rp__text_copy(h->project, sizeof h->project, project);
  else if (take_text(h->input, "cwd", h->project, sizeof h->project))
    project = h->project;
  const char *name = own ? given : c->scope;
  if (!rp__workspace_former(name, project, h->former)) h->former[0] = '\0';
  return rp__workspace_scope(name, project, h->scope, err);
}

static int find_key(struct rp__hook_session *h, rp_error *err)
{
  RP_AUTOBUF struct rp__buf id = RP_BUF(RP_HOOK_INPUT_MAX), key = RP_BUF(RP_HOOK_INPUT_MAX);
  rp__json_text(rp__hook_field(h->input, "session_id"), &id);
  if (id.err) return rp__fail_nomem(err);
  if (!id.n)
    return rp__fail_field(err, RP_E_INVALID, "session_id", "'session_id' is missing: the input names no session");
  if (memchr(id.p, '\0', id.n))
    return rp__fail_field(err, RP_E_INVALID, "session_id", "'session_id' holds a NUL character");
  rp__buf_printf(&key, "%s:%s", h->agent->name, id.p);
  if (key.err) return rp__fail_nomem(err);
  rp__workspace_id(h->agent->name, key.p, h->key);
  return 0;
}

/* Where the agent was spoken to: by it the scope's sessions are kept apart when per_channel is set. */
static int find_channel(struct rp__hook_session *h, rp_error *err)
{
  struct rp__json v = rp__json_get(h->input, "channel");
  RP_AUTOFREE char *given = rp__json_dup(v);
  rp__text_copy(h->channel, sizeof h->channel, RP_HOOK_CHANNEL_NONE);
  if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) return 0;
  if (!given || strlen(given) > RP_HOOK_CHANNEL || !rp__name_ok(given))
    return rp__fail_field(err, RP_E_INVALID, "channel",
                          "'channel' must be a name of at most %d letters, digits and . _ : -", RP_HOOK_CHANNEL);
  rp__text_copy(h->channel, sizeof h->channel, given);
  return 0;
}

int rp__hook_session_init(struct rp__hook_session *h, const struct rp__hook_call *c, struct rp__json input,
                          rp_error *err)
{
  *h = (struct rp__hook_session){.input = input};
  if (input.type != RP_JSON_OBJECT) return rp__fail(err, RP_E_INVALID, "the input is no object");
  if (c->event)
    rp__text_copy(h->word, sizeof h->word, c->event);
  else if (!take_text(input, "hook_event_name", h->word, sizeof h->word))
    return rp__fail_field(err, RP_E_INVALID, "hook_event_name", "'hook_event_name' is missing: the event has no name");
  h->agent = c->agent ? c->agent : rp__hook_agent_guess(h->word, input);
  const struct rp__hook_word *word = h->agent ? rp__hook_word_find(h->agent, h->word) : NULL;
  h->event = word ? word->event : RP_HOOK_NONE;
  h->known = word != NULL;
  if (h->event == RP_HOOK_NONE) return 0;
  int rc = find_key(h, err);
  if (!rc) rc = find_channel(h, err);
  return rc ? rc : find_scope(h, c, err);
}

int rp__hook_session_start(rp_engine *e, const struct rp__hook_session *h, rp_owner_kind owner, int64_t pid,
                           rp_session **ret, rp_error *err)
{
  static const char *const members[][2] = {
      {"session_id", "agent_session_id"}, {"cwd", "cwd"}, {"transcript_path", "transcript_path"}, {"model", "model"}};
  RP_AUTOBUF struct rp__buf meta = RP_BUF(META_MAX);
  struct rp__jw w = RP_JW(&meta);
  char text[PATH_MAX_BYTES];
  rp__jw_pack(&w, "{agent:s", h->agent->name);
  for (size_t i = 0; i < RP_ARRAY_SIZE(members); i++)
    if (take_text(h->input, members[i][0], text, sizeof text)) rp__jw_kstr(&w, members[i][1], text);
  rp__siblings_mark(&w, pid, "hook");
  rp__jw_end_object(&w);
  RP_AUTOBUF struct rp__buf topics = RP_BUF(RP_START_TOPICS_BYTES), prompt = RP_BUF(RP_HOOK_INPUT_MAX);
  if (h->event == RP_HOOK_PROMPT) RP_IGNORE(rp__hook_prompt(h, &prompt)); /* a start without its topics is a start */
  if (h->project[0]) rp__workspace_topics(NULL, h->project, &topics);
  rp_start_options o = {
      .scope = h->scope,
      .key = h->key,
      .channel = h->channel,
      .provider = h->agent->name,
      .meta = meta.err ? NULL : meta.p,
      .topics = topics.err ? NULL : topics.p,
      .prompt = prompt.err ? NULL : prompt.p,
      .owner = owner,
      .owner_pid = pid,
  };
  if (!h->former[0]) return rp_start(e, &o, ret, err);
  rp_start_options old = o;
  old.scope = h->former;
  old.mode = RP_MODE_RESUME;
  int rc = rp_start(e, &old, ret, err);
  if (rc != RP_E_SESSION_NOT_FOUND) return rc;
  return rp_start(e, &o, ret, err);
}

int rp__hook_session_attach(rp_engine *e, const struct rp__hook_session *h, const char *cwd, rp_session **ret,
                            rp_error *err)
{
  char id[RP_SCOPE_MAX + 1];
  bool sure;
  RP_AUTOFREE char *sid = rp__json_dup(rp__hook_field(h->input, "session_id"));
  const struct rp__workspace_guest guest = {.agent_sid = sid};
  int rc = rp__workspace_host(e, h->scope, cwd, &guest, id, &sure, err);
  return rc ? rc : rp_attach(e, id, ret, err);
}

void rp__hook_brief(const rp_session *s, struct rp__buf *out)
{
  const char *doc = rp_start_json(s);
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_HOOK_ANSWER_MAX);
  if (doc) rp__json_text(rp__json_get(rp__json_trusted(doc, strlen(doc)), "brief"), &text);
  if (!text.err) rp__mark(out, text.p, text.n);
}

void rp__hook_reason(const struct rp__hook_session *h, char ret[RP_SCOPE_MAX + 1])
{
  if (!take_text(h->input, "reason", ret, RP_SCOPE_MAX + 1)) rp__text_copy(ret, RP_SCOPE_MAX + 1, "agent closed");
}
