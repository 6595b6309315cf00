/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise feel`: record an event that changes the agent's emotions. */
#include "cli/out.h"
#include "cli/view.h"

#define EVENTS_MAX 128
#define SECTION "[event "

enum { INTENSITY, LIST };

static const struct rp__opt opts[] = {
    [INTENSITY] = {"intensity", 'i', RP_OPT_REAL, "X", "how strongly, 0 to 10 (default 1)", NULL, 0, 10},
    [LIST] = {"list", 0, RP_OPT_FLAG, NULL, "name the events of the table that comes along"},
};

/* The names of the events, cut out of the table's text in place. */
struct events {
  char *ini; /* freed with rp_free */
  const char *names[EVENTS_MAX + 1];
  size_t n;
};

static void events_done(struct events *e)
{
  rp_free(e->ini);
}

static int events_load(struct events *e, rp_error *err)
{
  int code = rp_emotions_ini(&e->ini, err);
  if (code) return code;
  for (char *line = e->ini, *next; line && e->n < EVENTS_MAX; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    char *end = strchr(line, ']');
    if (strncmp(line, SECTION, strlen(SECTION)) != 0 || !end) continue;
    *end = '\0';
    e->names[e->n++] = line + strlen(SECTION);
  }
  return 0;
}

static bool events_have(const struct events *e, const char *name)
{
  for (size_t i = 0; i < e->n; i++)
    if (strcmp(e->names[i], name) == 0) return true;
  return false;
}

static int list(const struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(events_done) struct events e = {0};
  RP_AUTOBUF struct rp__buf b = RP_BUF(65536);
  struct rp__jw w = RP_JW(&b);
  int code = events_load(&e, err);
  if (code) return code;
  if (!rp__json_wanted(c)) {
    for (size_t i = 0; i < e.n; i++) printf("%s\n", e.names[i]);
    return 0;
  }
  rp__jw_object(&w);
  rp__jw_key(&w, "events");
  rp__jw_array(&w);
  for (size_t i = 0; i < e.n; i++) rp__jw_str(&w, e.names[i]);
  rp__jw_end_array(&w);
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

/* Whether the session or its scope has a table of its own: then only the engine knows what is in it. */
static int has_own_table(struct rp__cli *c, bool *ret, rp_error *err)
{
  char *state = NULL, *file = NULL;
  int code = rp__cli_state(c, c->args[0], &state, err);
  if (code) return code;
  struct rp__json doc = rp__json_trusted(state, strlen(state));
  struct rp__json settings = rp__json_get(rp__json_get(doc, "settings"), "settings");
  RP_AUTOFREE char *scope = rp__json_dup(rp__json_get(rp__json_get(doc, "session"), "scope"));
  *ret = rp__json_get(settings, "emotions").type != RP_JSON_NONE;
  rp_free(state);
  code = rp_config_get(c->engine, scope, "emotions_file", &file, err);
  if (!code && *file) *ret = true;
  rp_free(file);
  return code;
}

/* A misspelt event would be stored and felt by nobody. */
static int check_event(struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(events_done) struct events e = {0};
  bool own = false;
  int code = events_load(&e, err);
  if (code || events_have(&e, c->args[1])) return code;
  code = has_own_table(c, &own, err);
  rp__cli_done(c);
  if (code || own) return code;
  rp__fail_field(err, RP_E_USAGE, "event", "'%s' is no event of the table", c->args[1]);
  const char *near = rp__suggest(c->args[1], e.names);
  if (near)
    rp__hint(err, "did you mean '%s'?", near);
  else
    rp__hint(err, "'reprise feel --list' names them; 'reprise config emotions' is a table to edit");
  return RP_E_USAGE;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&body);
  if (rp__opt_given(c, LIST)) return list(c, err);
  if (c->n_args < 2) {
    rp__fail(err, RP_E_USAGE, "it needs ID EVENT");
    rp__hint(err, "'reprise feel --list' names the events");
    return RP_E_USAGE;
  }
  int code = check_event(c, err);
  if (code) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "event", c->args[1]);
  if (rp__opt_given(c, INTENSITY)) rp__jw_kdouble(&w, "intensity", rp__opt_real(c, INTENSITY, 1));
  rp__jw_end_object(&w);
  return rp__cli_append(c, c->args[0], "emotion", &body, err);
}

const struct rp__cmd rp__cmd_feel = {
    .name = "feel",
    .theme = RP_THEME_MIND,
    .usage = "ID EVENT | --list",
    .summary = "Let something happen that is felt",
    .detail = "What an event does to joy, sadness, anger, fear and disgust, and whether it leaves a wound,\n"
              "stands in a table that can be edited: 'reprise config emotions' prints it.",
    .example = "  $ reprise feel nova pat_level2 --intensity 0.5\n"
               "  {\"seq\":31,\"durability\":\"disk\"}\n",
    .arg = RP_ARG_SESSION,
    .max_args = 2,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .reopens = true,
    .run = run,
};
