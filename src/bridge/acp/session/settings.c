/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes and options of a session. An agent that gets a session back may begin with its defaults, while the editor still
 * shows what the user chose. That is dangerous: the editor may show the mode "plan" while the agent changes files.
 * Therefore mode and options are set again before any prompt passes, and the editor is told which of them could not be
 * set.
 */
#include "bridge/acp/session/session.h"

#define OPTIONS_MAX 64 /* of a session that are set again */

static bool same(struct rp__json a, struct rp__json b)
{
  if (a.type != b.type) return false;
  if (a.type != RP_JSON_STRING) return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
  char *text RP_AUTOFREE = rp__json_dup(a);
  return text && rp__json_eq(b, text);
}

static struct rp__json mode_of(const struct rp__acp_session *s)
{
  return s->settings.mode ? rp__acp_raw(s->settings.mode)
                          : rp__json_get(rp__acp_raw(s->settings.modes), "currentModeId");
}

static const char mode_update[] = "current_mode_update", mode_member[] = "currentModeId";
static const char config_update[] = "config_option_update", config_member[] = "configOptions";

/* ---- what is known ---- */

static bool chosen(const struct rp__acp_session *s)
{
  return s->settings.want_mode || s->settings.want_config;
}

static void replace(char **slot, struct rp__json value)
{
  free(RP_TAKE(*slot)); /* one that is too long is not known: the old one would be wrong */
  rp__acp_keep(slot, value);
}

void rp__acp_learn(struct rp__acp_session *s, struct rp__json result)
{
  struct rp__json modes = rp__json_get(result, "modes"), config = rp__json_get(result, "configOptions");
  if (modes.type == RP_JSON_OBJECT) {
    replace(&s->settings.modes, modes);
    free(RP_TAKE(s->settings.mode));
  }
  if (config.type != RP_JSON_ARRAY) return;
  replace(&s->settings.config, config);
  if (!s->settings.config_began) rp__acp_keep(&s->settings.config_began, config);
}

void rp__settings_begin(struct rp__acp_session *s, struct rp__json result)
{
  struct rp__json config = rp__json_get(result, "configOptions");
  if (config.type == RP_JSON_ARRAY) replace(&s->settings.config_began, config);
  rp__acp_learn(s, result);
}

void rp__settings_chosen(struct rp__acp_session *s, struct rp__json params, const struct rp__msg *m)
{
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__json mode = rp__json_get(params, "modeId"), config = rp__json_get(m->r.result, config_member);
  int rc = 0;
  rp__acp_learn(s, m->r.result);
  rp__acp_keep(&s->settings.mode, mode);
  if (mode.type)
    rc = rp__acp_event_choice(mode_update, mode_member, mode, "editor", &events, NULL);
  else if (config.type == RP_JSON_ARRAY)
    rc = rp__acp_event_choice(config_update, config_member, config, "editor", &events, NULL);
  events.odd = mode.type ? RP_RPC_PLAIN : m->r.odd;
  if (rc) events.n = 0;
  rp__acp_journal_put(s, &events, &s->a->to_client, m->line);
}

/* What the journal has is to hold, also for the first agent of this process. Read once it matters. */
static void recall(struct rp__acp_session *s)
{
  struct rp__buf mode RP_AUTOBUF = RP_BUF(RP_ACP_KEEP), options RP_AUTOBUF = RP_BUF(RP_ACP_KEEP);
  rp_error why = {0};
  if (!s->settings.in_journal) return;
  s->settings.in_journal = false;
  if (rp__replay_settings(s->h, &mode, &options, &why)) {
    rp__acp_log(s->a, "session %s: the mode and the options are not set again: %s", s->id, why.message);
    return;
  }
  if (mode.n) rp__acp_keep(&s->settings.want_mode, rp__json_trusted(mode.p, mode.n));
  if (options.n) rp__acp_keep(&s->settings.want_config, rp__json_trusted(options.p, options.n));
}

/* An agent that says nothing of its mode and its options is taken to have those it began with. */
void rp__settings_keep(struct rp__acp_session *s)
{
  if (s->settings.modes || s->settings.config) recall(s);
  if (chosen(s)) return; /* by an agent that died while it got them */
  rp__acp_keep(&s->settings.want_mode, mode_of(s));
  rp__acp_keep(&s->settings.want_config, rp__acp_raw(s->settings.config));
  if (!s->settings.want_mode && !s->settings.want_config) return;
  if (s->settings.want_mode) free(RP_TAKE(s->settings.mode));
  if (s->settings.want_config && s->settings.config_began)
    replace(&s->settings.config, rp__acp_raw(s->settings.config_began));
}

bool rp__settings_hear(struct rp__acp_session *s, struct rp__json update)
{
  struct rp__json what = rp__json_get(update, "sessionUpdate");
  if (!rp__acp_is_restoring(s)) return false;
  if (!rp__json_eq(what, mode_update) && !rp__json_eq(what, config_update)) return false;
  recall(s);
  if (!chosen(s)) return false;
  enum rp__replay_phase phase = s->filter.phase;
  bool replay = phase == RP_REPLAY_LOADING || s->ladder.phase == RP_LADDER_QUIET ||
                (phase == RP_REPLAY_RESUMING && rp__replay_filter_begun(s));
  if (!replay) rp__acp_learn_update(s, update); /* a replay tells what once was */
  return true;
}

/* ---- the editor ---- */

/*
 * What the editor shows and the agent has not. Where the answer to a load has such a member it says it; the journal has
 * it as well, for else the history would say something else.
 */
static void tell_choice(struct rp__acp_session *s, const char *what, const char *member, const char *in_answer,
                        struct rp__json value, const char *want)
{
  struct rp__buf update RP_AUTOBUF = RP_BUF(2 * RP_ACP_KEEP);
  struct rp__acp_events events RP_AUTOEVENTS = RP_ACP_EVENTS;
  struct rp__jw w = RP_JW(&update);
  if (!value.type || !want || same(value, rp__acp_raw(want))) return;
  if (s->asked && rp__json_get(rp__acp_raw(s->ladder.answer), in_answer).type > RP_JSON_NULL) {
    if (!rp__acp_event_choice(what, member, value, NULL, &events, NULL))
      rp__acp_journal_put(s, &events, &s->a->to_client, (struct rp__str){0});
    return;
  }
  rp__jw_pack(&w, "{sessionUpdate:s", what);
  rp__jw_key(&w, member);
  rp__jw_pack(&w, "v}", value);
  rp__acp_put_update(s, &update);
}

static void tell_rest(struct rp__acp_session *s)
{
  struct rp__settings *t = &s->settings;
  tell_choice(s, mode_update, mode_member, "modes", mode_of(s), t->want_mode);
  tell_choice(s, config_update, config_member, config_member, rp__acp_raw(t->config), t->want_config);
  free(RP_TAKE(t->want_mode));
  free(RP_TAKE(t->want_config));
  t->left_out = 0;
  rp__restore_settled(s);
}

/* ---- the agent ---- */

static struct rp__json find_by(struct rp__json list, const char *key, struct rp__json value)
{
  struct rp__json_iter it = {0};
  struct rp__json one;
  while (rp__json_next(list, &it, NULL, &one))
    if (same(rp__json_get(one, key), value)) return one;
  return (struct rp__json){0};
}

/* Options of a choice may stand in groups. */
static bool offers(struct rp__json option, struct rp__json value)
{
  struct rp__json options = rp__json_get(option, "options"), group;
  struct rp__json_iter it = {0};
  if (options.type != RP_JSON_ARRAY) return true;
  if (find_by(options, "value", value).type) return true;
  while (rp__json_next(options, &it, NULL, &group))
    if (find_by(rp__json_get(group, "options"), "value", value).type) return true;
  return false;
}

static void set_options(struct rp__acp_session *s);

static void on_option(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = c->s;
  (void)a;
  if (!s || s->ladder.phase != RP_LADDER_OPTIONS) return;
  if (m && m->r.type == RP_RPC_RESULT) rp__acp_learn(s, m->r.result);
  if (m)
    set_options(s);
  else
    tell_rest(s); /* it takes too long: prompts go on */
}

/* One after the other: each may change what the others offer. */
static void set_options(struct rp__acp_session *s)
{
  struct rp__json_iter it = {0};
  struct rp__json want;
  bool left_out = s->settings.left_out & RP_CHOICE_OPTIONS;
  for (size_t i = 0;
       !left_out && i < OPTIONS_MAX && rp__json_next(rp__acp_raw(s->settings.want_config), &it, NULL, &want); i++) {
    if (i < s->settings.want_at) continue;
    s->settings.want_at = i + 1;
    struct rp__json value = rp__json_get(want, "currentValue");
    struct rp__json has = find_by(rp__acp_raw(s->settings.config), "id", rp__json_get(want, "id"));
    if (!has.type || !value.type || same(value, rp__json_get(has, "currentValue")) || !offers(has, value)) continue;
    struct rp__buf params RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
    struct rp__jw w = RP_JW(&params);
    rp__jw_pack(&w, "{sessionId:s configId:v", s->agent_sid, rp__json_get(want, "id"));
    if (value.type != RP_JSON_STRING) rp__jw_pack(&w, "type:v", rp__json_get(want, "type"));
    rp__jw_pack(&w, "value:v}", value);
    if (!rp__acp_ask(s->a, "session/set_config_option", rp__acp_written(&params), s, RP_ACP_RESTORE_MS, on_option))
      continue;
    rp__ladder_move(&s->ladder, RP_LADDER_ON_SET_OPTION);
    return;
  }
  tell_rest(s);
}

static void on_mode(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = c->s;
  (void)a;
  if (!s || s->ladder.phase != RP_LADDER_MODE) return;
  if (m && m->r.type == RP_RPC_RESULT) rp__acp_keep(&s->settings.mode, rp__acp_raw(s->settings.want_mode));
  if (m)
    set_options(s);
  else
    tell_rest(s);
}

void rp__settings_again(struct rp__acp_session *s)
{
  struct rp__buf params RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w = RP_JW(&params);
  if (s->settings.modes || s->settings.config) recall(s);
  struct rp__json want = rp__acp_raw(s->settings.want_mode);
  s->settings.want_at = 0;
  bool differs = want.type && !(s->settings.left_out & RP_CHOICE_MODE) && !same(want, mode_of(s));
  bool offered = find_by(rp__json_get(rp__acp_raw(s->settings.modes), "availableModes"), "id", want).type;
  rp__jw_pack(&w, "{sessionId:s modeId:v}", s->agent_sid, want);
  if (differs && offered &&
      rp__acp_ask(s->a, "session/set_mode", rp__acp_written(&params), s, RP_ACP_RESTORE_MS, on_mode))
    rp__ladder_move(&s->ladder, RP_LADDER_ON_SET_MODE);
  else
    set_options(s);
}
