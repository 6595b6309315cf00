/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the program: its clock, its log and messages, its engine. */
#include "cli/cli.h"
#include "cli/out.h"
#include "cli/pager.h"
#include "cli/term.h"

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
  if (rp__time_parse(now, strlen(now), &ms)) {
    rp__fail(err, RP_E_USAGE, "REPRISE_NOW: '%s' is not a time", now);
    rp__hint(err, "write it like 2026-01-31T12:00:00Z, or unset it");
    return RP_E_USAGE;
  }
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
  RP_AUTOBUF struct rp__buf out = RP_BUF(1024);
  struct rp__jw w = RP_JW(&out);
  rp_ack ack;
  if (body->err == RP_E_TOO_LARGE) return rp__fail(err, RP_E_TOO_LARGE, "the event is too large");
  if (body->err) return rp__fail_nomem(err);
  const rp_event ev = {.kind = kind, .body = body->p, .body_len = body->n};
  int code = rp__cli_attach(c, ref, RP_USE_CHANGE, err);
  if (!code) code = rp_append(c->session, &ev, NULL, &ack, err);
  if (code) return code;
  rp__ack_write(&w, &ack);
  return rp__out_buf(c, &out, err);
}

int rp__cli_state(struct rp__cli *c, const char *ref, char **ret, rp_error *err)
{
  int code = rp__cli_attach(c, ref, RP_USE_LOOK, err);
  return code ? code : rp_state_json(c->session, -1, ret, err);
}

static void report_json(const rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(8192);
  struct rp__jw w = RP_JW(&b);
  rp__jw_object(&w);
  rp__jw_key(&w, "error");
  rp__error_write(&w, err, 0);
  rp__jw_end_object(&w);
  if (!b.err) fprintf(stderr, "%s\n", b.p);
}

/* Messages may quote what a user or a peer wrote: shown only after control characters are gone. */
static void report_text(const struct rp__cli *c, const rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(8192);
  const char *message = err->message[0] ? err->message : rp_error_lookup(err->code)->text;
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
}

int rp__cli_report(const struct rp__cli *c, const rp_error *err)
{
  if (rp__json_wanted(c))
    report_json(err);
  else
    report_text(c, err);
  return rp_error_lookup(err->code)->exit_code;
}
