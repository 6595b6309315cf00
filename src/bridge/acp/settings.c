/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes and options of a session. An agent that gets one back may begin with its defaults, while the editor still shows
 * what the user chose, and "plan" that is none is a hazard: so they are set again before any prompt goes on, and the
 * editor is told what could not be.
 */
#include "bridge/acp/impl.h"

#define OPTIONS_MAX 64 /* of a session that are set again */

static struct rp__json raw(const char *text)
{
  return text ? rp__json_trusted(text, strlen(text)) : (struct rp__json){0};
}

static bool same(struct rp__json a, struct rp__json b)
{
  if (a.type != b.type) return false;
  if (a.type != RP_JSON_STRING) return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
  char *text RP_AUTOFREE = rp__json_dup(a);
  return text && rp__json_eq(b, text);
}

static struct rp__json mode_of(const struct rp__acp_session *s)
{
  return s->mode ? raw(s->mode) : rp__json_get(raw(s->modes), "currentModeId");
}

static const char mode_update[] = "current_mode_update", mode_member[] = "currentModeId";
static const char config_update[] = "config_option_update", config_member[] = "configOptions";

/* ---- what is known ---- */

static void replace(char **slot, struct rp__json value)
{
  free(*slot);
  *slot = NULL; /* one that is too long is not known: the old one would be wrong */
  rp__acp_keep(slot, value);
}

void rp__acp_learn(struct rp__acp_session *s, struct rp__json result)
{
  struct rp__json modes = rp__json_get(result, "modes"), config = rp__json_get(result, "configOptions");
  if (modes.type == RP_JSON_OBJECT) {
    replace(&s->modes, modes);
    free(s->mode);
    s->mode = NULL;
  }
  if (config.type != RP_JSON_ARRAY) return;
  replace(&s->config, config);
  if (!s->config_began) rp__acp_keep(&s->config_began, config);
}

void rp__settings_begin(struct rp__acp_session *s, struct rp__json result)
{
  struct rp__json config = rp__json_get(result, "configOptions");
  if (config.type == RP_JSON_ARRAY) replace(&s->config_began, config);
  rp__acp_learn(s, result);
}

void rp__settings_drop(struct rp__acp_session *s)
{
  free(s->want_mode);
  free(s->want_config);
  s->want_mode = s->want_config = NULL;
  s->chosen = false;
  s->left_out = 0;
}

void rp__settings_chosen(struct rp__acp_session *s, struct rp__json params, const struct rp__msg *m)
{
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  struct rp__json mode = rp__json_get(params, "modeId"), config = rp__json_get(m->r.result, config_member);
  int rc = 0;
  rp__notes_init(&notes);
  rp__acp_learn(s, m->r.result);
  rp__acp_keep(&s->mode, mode);
  if (mode.type)
    rc = rp__note_choice(mode_update, mode_member, mode, "editor", &notes, NULL);
  else if (config.type == RP_JSON_ARRAY)
    rc = rp__note_choice(config_update, config_member, config, "editor", &notes, NULL);
  notes.odd = mode.type ? RP_RPC_PLAIN : m->r.odd;
  if (rc) notes.n = 0;
  rp__store_put(s, &notes, &s->a->to_client, m->line);
}

/* What the journal has is to hold, also for the first agent of this process. Read once it matters. */
static void recall(struct rp__acp_session *s)
{
  struct rp__buf mode RP_AUTOBUF = RP_BUF(RP_ACP_KEEP), options RP_AUTOBUF = RP_BUF(RP_ACP_KEEP);
  rp_error why = {0};
  if (!s->recall) return;
  s->recall = false;
  if (rp__replay_settings(s->h, &mode, &options, &why)) {
    rp__acp_log(s->a, "session %s: the mode and the options are not set again: %s", s->id, why.message);
    return;
  }
  if (mode.n) rp__acp_keep(&s->want_mode, rp__json_trusted(mode.p, mode.n));
  if (options.n) rp__acp_keep(&s->want_config, rp__json_trusted(options.p, options.n));
  s->chosen = s->want_mode || s->want_config;
}

/* An agent that says nothing of its mode and its options is taken to have those it began with. */
void rp__settings_keep(struct rp__acp_session *s)
{
  if (s->modes || s->config) recall(s);
  if (s->chosen) return; /* by an agent that died while it got them */
  rp__acp_keep(&s->want_mode, mode_of(s));
  rp__acp_keep(&s->want_config, raw(s->config));
  if (!s->want_mode && !s->want_config) return;
  s->chosen = true;
  if (s->want_mode) {
    free(s->mode);
    s->mode = NULL;
  }
  if (s->want_config && s->config_began) replace(&s->config, raw(s->config_began));
}

bool rp__settings_hear(struct rp__acp_session *s, struct rp__json update)
{
  struct rp__json what = rp__json_get(update, "sessionUpdate");
  if (s->state != RP_ACP_RESTORING) return false;
  if (!rp__json_eq(what, mode_update) && !rp__json_eq(what, config_update)) return false;
  recall(s);
  if (!s->chosen) return false;
  bool replay = s->swallow || s->quiet_at || (s->sift && s->echo && rp__echo_begun(s->echo));
  if (!replay) rp__acp_learn_update(s, update); /* a replay tells what once was */
  return true;
}

/* ---- the editor ---- */

static bool answer_has(const struct rp__acp_session *s, const char *member)
{
  return s->asked && rp__json_get(raw(s->answer), member).type > RP_JSON_NULL;
}

static void tell(struct rp__acp_session *s, const char *what, const char *member, struct rp__json value)
{
  struct rp__buf update RP_AUTOBUF = RP_BUF(2 * RP_ACP_KEEP);
  struct rp__jw w = RP_JW(&update);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", what);
  rp__jw_key(&w, member);
  rp__jw_value(&w, value);
  rp__jw_end_object(&w);
  rp__acp_put_update(s, &update, true);
}

/* The answer to a load says it. The journal has it as well, for else the history would say something else. */
static void write_down(struct rp__acp_session *s, const char *what, const char *member, struct rp__json value)
{
  struct rp__notes notes RP_CLEANUP(rp__notes_done);
  rp__notes_init(&notes);
  if (rp__note_choice(what, member, value, NULL, &notes, NULL)) return;
  rp__store_put(s, &notes, &s->a->to_client, (struct rp__str){0});
}

/* What the editor shows and the agent has not. */
static void tell_rest(struct rp__acp_session *s)
{
  struct rp__json mode = mode_of(s), config = raw(s->config);
  if (mode.type && s->want_mode && !same(mode, raw(s->want_mode)))
    (answer_has(s, "modes") ? write_down : tell)(s, mode_update, mode_member, mode);
  if (config.type && s->want_config && !same(config, raw(s->want_config)))
    (answer_has(s, config_member) ? write_down : tell)(s, config_update, config_member, config);
  rp__settings_drop(s);
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
  if (!s || s->state == RP_ACP_COLD) return;
  s->choosing = RP_CHOICE_NONE;
  if (m && m->r.type == RP_RPC_RESULT) rp__acp_learn(s, m->r.result);
  if (m)
    set_options(s);
  else
    tell_rest(s); /* it takes too long: prompts go on */
}

/* False: it could not be asked. */
static bool ask_option(struct rp__acp_session *s, struct rp__json want)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__json type = rp__json_get(want, "type"), value = rp__json_get(want, "currentValue");
  struct rp__jw w;
  struct rp__call *c = rp__acp_ask(s->a, "session/set_config_option", s, RP_ACP_RESTORE_MS, on_option, &out, &w);
  if (!c) return false;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", s->agent_sid);
  rp__jw_key(&w, "configId");
  rp__jw_value(&w, rp__json_get(want, "id"));
  if (value.type != RP_JSON_STRING) {
    rp__jw_key(&w, "type");
    rp__jw_value(&w, type);
  }
  rp__jw_key(&w, "value");
  rp__jw_value(&w, value);
  rp__jw_end_object(&w);
  s->choosing = RP_CHOICE_OPTIONS;
  rp__acp_asked(s->a, c, &out, &w);
  return true;
}

/* One after the other: each may change what the others offer. */
static void set_options(struct rp__acp_session *s)
{
  struct rp__json_iter it = {0};
  struct rp__json want;
  bool left_out = s->left_out & RP_CHOICE_OPTIONS;
  for (size_t i = 0; !left_out && i < OPTIONS_MAX && rp__json_next(raw(s->want_config), &it, NULL, &want); i++) {
    if (i < s->want_at) continue;
    s->want_at = i + 1;
    struct rp__json value = rp__json_get(want, "currentValue");
    struct rp__json has = find_by(raw(s->config), "id", rp__json_get(want, "id"));
    if (!has.type || !value.type || same(value, rp__json_get(has, "currentValue")) || !offers(has, value)) continue;
    if (ask_option(s, want)) return;
  }
  tell_rest(s);
}

static void on_mode(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__acp_session *s = c->s;
  (void)a;
  if (!s || s->state == RP_ACP_COLD) return;
  s->choosing = RP_CHOICE_NONE;
  if (m && m->r.type == RP_RPC_RESULT) rp__acp_keep(&s->mode, raw(s->want_mode));
  if (m)
    set_options(s);
  else
    tell_rest(s);
}

static bool ask_mode(struct rp__acp_session *s)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  struct rp__jw w;
  struct rp__call *c = rp__acp_ask(s->a, "session/set_mode", s, RP_ACP_RESTORE_MS, on_mode, &out, &w);
  if (!c) return false;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionId", s->agent_sid);
  rp__jw_key(&w, "modeId");
  rp__jw_value(&w, raw(s->want_mode));
  rp__jw_end_object(&w);
  s->choosing = RP_CHOICE_MODE;
  rp__acp_asked(s->a, c, &out, &w);
  return true;
}

void rp__settings_again(struct rp__acp_session *s)
{
  if (s->modes || s->config) recall(s);
  struct rp__json want = raw(s->want_mode);
  s->want_at = 0;
  bool differs = want.type && !(s->left_out & RP_CHOICE_MODE) && !same(want, mode_of(s));
  bool offered = find_by(rp__json_get(raw(s->modes), "availableModes"), "id", want).type;
  if (differs && offered && ask_mode(s)) return;
  set_options(s);
}
