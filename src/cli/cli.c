/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the program: its clock, its log and messages, its engine. */
#include "cli/cli.h"

#include <errno.h>

#include "base/text.h"
#include "bridge/workspace.h"
#include "cli/out.h"
#include "cli/term.h"

#define CHUNK 65536

static const char *env(const char *name)
{
  const char *s = getenv(name);
  return s && *s ? s : NULL;
}

static bool env_on(const char *name)
{
  const char *s = env(name);
  return s && strcmp(s, "0") != 0;
}

static void print_log(void *ctx, rp_log_level level, const char *text)
{
  static const char *const names[] = {"error", "warning", "info", "debug"};
  struct rp__cli *c = ctx;
  if (level > c->level) return;
  RP_AUTOBUF struct rp__buf line = RP_BUF(65536);
  if (rp__json_wanted(c)) {
    struct rp__jw w = RP_JW(&line);
    rp__jw_object(&w);
    rp__jw_kstr(&w, names[level], text);
    rp__jw_end_object(&w);
    if (!line.err) fprintf(stderr, "%s\n", line.p);
    return;
  }
  rp__buf_printf(&line, "reprise: %s: ", names[level]);
  rp__term_cut(&line, text, strlen(text), 0);
  rp__buf_char(&line, '\n');
  rp__pager_say(c, line.err ? "reprise: a message is too long to show\n" : line.p);
}

void rp__cli_say(struct rp__cli *c, const char *fmt, ...)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  char text[1024];
  va_list ap;
  if (rp__json_wanted(c) || c->globals[RP_G_QUIET].count) return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  rp__term_cut(&line, text, strlen(text), 0);
  rp__buf_char(&line, '\n');
  if (!line.err) rp__pager_say(c, line.p);
}

int rp__cli_init(struct rp__cli *c, rp_error *err)
{
  const char *now = env("REPRISE_NOW");
  rp__term_init(&c->term);
  c->level = env_on("REPRISE_DEBUG") || env_on("CORTEX_SESSION_DEBUG") ? RP_LOG_DEBUG : RP_LOG_WARN;
  c->clock = rp__system_clock;
  if (!now) return 0;
  int64_t ms;
  if (rp__time_parse(now, strlen(now), &ms))
    return rp__hinted(err, rp__fail(err, RP_E_USAGE, "REPRISE_NOW: '%s' is not a time", now),
                      "write it like 2026-01-31T12:00:00Z, or unset it");
  c->clock = rp__clock_shifted(&c->shifted, ms);
  return 0;
}

void rp__cli_done(struct rp__cli *c)
{
  rp_session_free(RP_TAKE(c->session));
  rp_close(RP_TAKE(c->engine));
}

int64_t rp__cli_now(const struct rp__cli *c)
{
  return rp__wall(&c->clock);
}

int rp__cli_open(struct rp__cli *c, enum rp__use use, rp_error *err)
{
  return rp__cli_open_db(c, c->globals[RP_G_DB].text, use, err);
}

static int open_engine(struct rp__cli *c, const char *db, enum rp__use use, rp_error *err)
{
  bool live = use == RP_USE_LIVE || use == RP_USE_STAY;
  const rp_options o = {
      .db = db,
      .config = c->globals[RP_G_CONFIG].text,
      .clock = &c->clock,
      .log = print_log,
      .log_ctx = c,
      .short_lived = !live,
      .ends_process = !c->cmd || !c->cmd->reopens,
      .read_only = use == RP_USE_READ || use == RP_USE_LOOK,
      .existing = use != RP_USE_WRITE && use != RP_USE_LIVE,
  };
  return rp_open(&o, &c->engine, err);
}

int rp__cli_open_db(struct rp__cli *c, const char *db, enum rp__use use, rp_error *err)
{
  rp_error why = {0};
  int code = open_engine(c, db, use, &why);
  /* Corrupt: the whole store may be lost, which keeps nobody from beginning anew, with a warning. */
  if (use == RP_USE_LOOK && (code == RP_E_VERSION || code == RP_E_CORRUPT)) return open_engine(c, db, RP_USE_MEND, err);
  bool looks = use == RP_USE_LOOK || use == RP_USE_READ;
  bool stands_in = looks || use == RP_USE_CHANGE || use == RP_USE_STAY;
  if (code == RP_E_NO_STORE && stands_in && !c->globals[RP_G_DB].count) {
    c->no_store = why;
    return open_engine(c, "memory:", looks ? RP_USE_CHANGE : use, err);
  }
  if (code) *err = why;
  return code;
}

int rp__cli_attach(struct rp__cli *c, const char *ref, enum rp__use use, rp_error *err)
{
  int code = rp__cli_open(c, use, err);
  return code ? code : rp_attach(c->engine, ref, &c->session, err);
}

int rp__cli_append(struct rp__cli *c, const char *ref, const char *kind, const struct rp__buf *body, rp_error *err)
{
  rp_ack ack;
  if (body->err == RP_E_TOO_LARGE) return rp__fail(err, RP_E_TOO_LARGE, "the event is too large");
  if (body->err) return rp__fail_nomem(err);
  const rp_event ev = {.kind = kind, .body = body->p, .body_len = body->n};
  int code = rp__cli_attach(c, ref, RP_USE_CHANGE, err);
  if (!code) code = rp_append(c->session, &ev, NULL, &ack, err);
  return code ? code : rp__out_ack(c, &ack, err);
}

int rp__cli_state(struct rp__cli *c, const char *ref, char **ret, rp_error *err)
{
  int code = rp__cli_attach(c, ref, RP_USE_LOOK, err);
  return code ? code : rp_state_json(c->session, -1, ret, err);
}

/* ---- scopes ---- */

_Static_assert(sizeof((struct rp__cli){0}.scope) > RP_SCOPE_MAX, "a scope fits");

int rp__scope_default(struct rp__cli *c, const char *given, const char **ret, rp_error *err)
{
  char root[RP_PROJECT_PATH_MAX];
  *ret = given;
  if (given || (!env("REPRISE_SCOPE") && !rp__workspace_root(NULL, root))) return 0;
  int code = rp__workspace_scope(NULL, root, c->scope, err);
  if (!code) *ret = c->scope;
  return code;
}

int rp__scope_required(struct rp__cli *c, const char *given, const char **ret, rp_error *err)
{
  int code = rp__scope_default(c, given, ret, err);
  if (code || *ret) return code;
  code = rp__fail_field(err, RP_E_USAGE, "scope", "--scope is missing, and no project is around here");
  return rp__hinted(err, code,
                    "name an agent, a project or a robot, like --scope my-agent; inside a repository, or a folder with "
                    "an agent's settings, that is the scope");
}

const char *rp__topics_here(const char *scope, const char *given, struct rp__buf *room)
{
  if (scope) return given; /* of what is elsewhere the folder here says nothing */
  rp__workspace_topics(given, NULL, room);
  return room->err || !room->n ? given : room->p;
}

/* ---- input and programs ---- */

int rp__read_all(int fd, struct rp__buf *ret)
{
  for (;;) {
    char *room = rp__buf_room(ret, CHUNK);
    if (!room) return ret->err;
    ssize_t n = read(fd, room, CHUNK);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? RP_E_IO : 0;
    ret->n += (size_t)n;
  }
}

bool rp__on_path(const char *name, char ret[PATH_MAX])
{
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t n = strcspn(path, ":");
    int size = snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, path, name);
    if (n && size < PATH_MAX && access(ret, X_OK) == 0) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

/* ---- errors ---- */

int rp__hinted(rp_error *err, int failed, const char *fmt, ...)
{
  char hint[sizeof err->hint];
  va_list args;
  va_start(args, fmt);
  rp__text_vformat(hint, sizeof hint, fmt, args);
  va_end(args);
  rp__hint(err, "%s", hint);
  return failed;
}

void rp__hint_near(rp_error *err, const char *word, const char *const *names, const char *otherwise)
{
  const char *near = rp__suggest(word, names);
  if (near)
    rp__hint(err, "did you mean '%s'?", near);
  else
    rp__hint(err, "%s", otherwise);
}

int rp__cli_report(const struct rp__cli *c, const rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(8192);
  const rp_error_info *info = rp_error_lookup(err->code);
  const char *message = err->message[0] ? err->message : info->text;
  if (rp__json_wanted(c)) {
    struct rp__jw w = RP_JW(&b);
    rp__jw_object(&w);
    rp__jw_key(&w, "error");
    rp__error_write(&w, err, 0);
    rp__jw_end_object(&w);
    if (!b.err) fprintf(stderr, "%s\n", b.p);
    return info->exit_code;
  }
  /* Messages may quote what a user or a peer wrote: shown only after control characters are gone. */
  rp__buf_printf(&b, "%sreprise:%s ", RP_SGR(c->term.err_colour, RP_RED), RP_RESET(c->term.err_colour));
  if (c->cmd) rp__buf_printf(&b, "%s: ", c->cmd->name);
  rp__term_cut(&b, message, strlen(message), 0);
  if (err->hint[0]) {
    rp__buf_str(&b, "\n  hint: ");
    rp__term_cut(&b, err->hint, strlen(err->hint), 0);
  }
  if (b.err)
    fputs("reprise: out of memory\n", stderr);
  else
    fprintf(stderr, "%s\n", b.p);
  return info->exit_code;
}
