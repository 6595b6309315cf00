/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise log`: print the journal, one event per line. */
#include "cli/out.h"
#include "cli/term.h"

#define WAIT_MS 200 /* how long a signal may go unnoticed */
#define LINE_MAX_BYTES (4 * RP_BODY_MAX)
#define STOP 1 /* what the callback returns when it has enough */

enum { AFTER, LIMIT, TAIL, KIND, FOLLOW };

static const struct rp__opt opts[] = {
    [AFTER] = {"after", 0, RP_OPT_NUMBER, "SEQ", "only events behind this one", NULL, 0, INT64_MAX},
    [LIMIT] = {"limit", 'n', RP_OPT_NUMBER, "N", "at most so many", NULL, 1, INT64_MAX},
    [TAIL] = {"tail", 't', RP_OPT_NUMBER, "N", "only the last so many", NULL, 0, INT64_MAX},
    [KIND] = {"kind", 0, RP_OPT_TEXT, "KIND", "only events of this kind"},
    [FOLLOW] = {"follow", 'f', RP_OPT_FLAG, NULL, "stay and print events as they come, until interrupted"},
};

struct reading {
  const struct rp__cli *c;
  int64_t seen, left; /* the last seq read; how many may still be printed, < 0 for any number */
  int64_t skip;       /* how many are passed over before that */
  const char *kind;
  struct rp__buf line;
  bool joins;           /* chunks of one message are told in one line, whose beginning is in `line` */
  char speaker[256];    /* role and id of the message that `line` has the beginning of; empty: of none */
  struct rp__buf words; /* what was said of it so far */
  rp_error *err;
};

static int text_columns(const struct rp__cli *c)
{
  return c->term.out_tty ? RP_MAX(c->term.columns - 46, 20) : 0;
}

/* Prints the message that was being joined, if there is one. */
static int line_end(struct reading *r)
{
  if (!r->speaker[0]) return 0;
  r->speaker[0] = '\0';
  rp__term_cut(&r->line, r->words.p ? r->words.p : "", r->words.err ? 0 : r->words.n, text_columns(r->c));
  return rp__out_line(&r->line, r->err);
}

static int print_person(struct reading *r, const rp_event_info *ev)
{
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len);
  struct rp__json role = rp__json_get(body, "role"), id = rp__json_get(body, "message_id");
  bool colour = r->c->term.out_colour;
  char at[RP_MOMENT_TEXT], speaker[sizeof r->speaker] = ""; /* whose message a chunk is of; empty: it is no chunk */
  if (r->joins && strcmp(ev->kind, "message") == 0 && rp__json_get(body, "partial").type == RP_JSON_TRUE)
    snprintf(speaker, sizeof speaker, "%.*s %.*s", (int)role.n, role.p, (int)id.n, id.n ? id.p : "");
  if (speaker[0] && strcmp(speaker, r->speaker) == 0) {
    rp__event_content(&r->words, rp__json_get(body, "content"));
    return 0;
  }
  int code = line_end(r);
  if (code) return code;
  rp__buf_reset(&r->line);
  rp__buf_printf(&r->line, "%s%6lld  %-*s%s  ", RP_SGR(colour, RP_DIM), (long long)ev->seq, RP_MOMENT_COLUMNS,
                 rp__moment_format(r->c, ev->at_ms, at), RP_RESET(colour));
  rp__buf_str(&r->line, RP_SGR(colour, RP_CYAN));
  rp__term_cell(&r->line, ev->kind, 11);
  rp__buf_printf(&r->line, "%s ", RP_RESET(colour));
  if (!speaker[0]) {
    rp__event_text(&r->line, ev->kind, body, text_columns(r->c));
    return rp__out_line(&r->line, r->err);
  }
  memcpy(r->speaker, speaker, sizeof speaker);
  rp__buf_reset(&r->words);
  rp__event_content(&r->words, role);
  rp__buf_str(&r->words, ": ");
  rp__event_content(&r->words, rp__json_get(body, "content"));
  return 0;
}

/* A damaged event may have been of any kind. */
static bool is_wanted(const struct reading *r, const rp_event_info *ev)
{
  return !r->kind || ev->lost || strcmp(r->kind, ev->kind) == 0;
}

static int count_event(void *ctx, const rp_event_info *ev)
{
  struct reading *r = ctx;
  r->skip += is_wanted(r, ev);
  return 0;
}

static int print_event(void *ctx, const rp_event_info *ev)
{
  struct reading *r = ctx;
  r->seen = ev->seq;
  if (!is_wanted(r, ev)) return 0;
  if (r->skip > 0) {
    r->skip--;
    return 0;
  }
  int code;
  if (rp__json_wanted(r->c)) {
    rp__buf_reset(&r->line);
    rp__event_json(&r->line, ev);
    code = rp__out_line(&r->line, r->err);
  } else {
    code = print_person(r, ev);
  }
  if (code) return code;
  if (r->left > 0) r->left--;
  return r->left == 0 || rp__out_gone() ? STOP : 0;
}

static int take_seq(void *ctx, const rp_session_info *info)
{
  int64_t *seq = ctx;
  *seq = info->seq;
  return 0;
}

/* Where the last events begin: by their numbers, which have no holes, or, of one kind, by counting them. */
static int find_tail(struct rp__cli *c, struct reading *r, rp_error *err)
{
  int64_t n = rp__opt_num(c, TAIL, 0), seq = 0;
  int code = r->kind ? rp_events(c->session, r->seen, 0, count_event, r, err)
                     : rp_show(c->engine, rp_session_id(c->session), take_seq, &seq, err);
  if (r->kind)
    r->skip = RP_MAX(r->skip - n, 0);
  else
    r->seen = RP_MAX(r->seen, seq - n);
  return code;
}

static int follow(struct rp__cli *c, struct reading *r, int signals, rp_error *err)
{
  for (;;) {
    int64_t seq = 0;
    if (fflush(stdout) || rp__out_gone() || rp__signals_read(signals)) return 0;
    int code = rp_wait(c->session, r->seen, WAIT_MS, &seq, err);
    if (!code && seq > r->seen) code = rp_events(c->session, r->seen, 0, print_event, r, err);
    if (code) return code == STOP ? 0 : code;
  }
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool stay = rp__opt_given(c, FOLLOW);
  RP_AUTOCLOSE int signals = -1;
  struct reading r = {
      .c = c,
      .seen = rp__opt_num(c, AFTER, 0),
      .left = rp__opt_num(c, LIMIT, -1),
      .kind = rp__opt_text(c, KIND),
      .line = RP_BUF(LINE_MAX_BYTES),
      .joins = !stay,
      .words = RP_BUF(LINE_MAX_BYTES),
      .err = err,
  };
  if (rp__opt_given(c, TAIL) && rp__opt_given(c, LIMIT))
    return rp__fail_field(err, RP_E_USAGE, "tail", "--tail and --limit exclude each other");
  int code = stay ? rp__signals_open(&signals, err) : 0;
  if (!code) code = rp__cli_attach(c, c->args[0], stay ? RP_USE_STAY : RP_USE_LOOK, err);
  if (!code && rp__opt_given(c, TAIL)) code = find_tail(c, &r, err);
  if (!code) code = rp_events(c->session, r.seen, 0, print_event, &r, err);
  if (!code && stay) code = follow(c, &r, signals, err);
  if (!code || code == STOP) code = line_end(&r);
  rp__buf_done(&r.line);
  rp__buf_done(&r.words);
  return code;
}

const struct rp__cmd rp__cmd_log = {
    .name = "log",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "ID",
    .summary = "Print the journal, one event per line",
    .detail = "With --json each line is {\"seq\",\"at\",\"kind\",\"body\"}, the body's bytes as they were stored.\n"
              "For people the chunks of a streamed message are one line, which has the first one's number; with\n"
              "--follow each is its own.",
    .example = "  $ reprise log kitchen-chat --kind message --tail 20 --follow\n"
               "       2  2026-01-31 13:00:00 CET   message     user: hello\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
