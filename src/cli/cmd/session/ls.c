/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise ls`: list sessions, the one that was active last first. */
#include "base/given-values.h"
#include "cli/out.h"
#include "cli/term.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 100000
#define ID_SHOWN 13      /* of a UUIDv7: its whole time, one dash */
#define OPEN_READ 200    /* open sessions whose states are read, which takes milliseconds each */
#define TITLE_LOOKED 100 /* events among which the first request is looked for */
#define TITLE_BYTES 4096 /* of it that are looked at */
#define TITLE_MIN 8      /* columns; other columns give way for them */
#define TITLE_MAX 80     /* where there is no terminal */
#define NAME_MIN 12      /* columns of a scope or a key at least */

enum { SCOPE, ALL, STATUS, SINCE, LIMIT, CURSOR };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's (default: this project's, outside one all)"},
    [ALL] = {"all", 'a', RP_OPT_FLAG, NULL, "of all scopes, also inside a project"},
    [STATUS] = {"status", 0, RP_OPT_CHOICE, "ST", "only those that are", rp__status_words},
    [SINCE] = {"since", 0, RP_OPT_SINCE, "T", "only those active since then (a time, or like 2h)"},
    [LIMIT] = {"limit", 'n', RP_OPT_NUMBER, "N", "at most so many (default 50)", NULL, 1, LIMIT_MAX},
    [CURSOR] = {"cursor", 0, RP_OPT_TEXT, "ID", "go on behind the last session of the page before"},
};

enum { COL_ID, COL_SCOPE, COL_KEY, COL_STATUS, COL_EVENTS, COL_AGE, COL_TITLE, COL_MAX };
static const char *const titles[COL_MAX] = {"ID", "SCOPE", "KEY", "STATUS", "EVENTS", "ACTIVE", "TITLE"};

struct row {
  char id[RP_ID_MAX + 1];
  struct rp__buf cells[COL_MAX];
  char *doc; /* for a program: the session's document */
  bool open;
};

/* A page is collected first: columns are as wide as what stands in them. */
struct page {
  struct rp__cli *c;
  const char *scope; /* NULL: all */
  struct row *rows;
  int n, limit, n_open;
  struct rp__buf doc;
  struct rp__jw w;
};

static void set_cell(struct row *r, int col, const char *text)
{
  r->cells[col] = RP_BUF(2 * TITLE_BYTES);
  rp__term_cut(&r->cells[col], text, strlen(text), 0);
  rp__buf_str(&r->cells[col], "");
}

static int collect_row(struct page *p, struct row *r, const rp_session_info *info)
{
  char text[64];
  snprintf(text, sizeof(text), "%.*s", strlen(info->id) == 36 ? ID_SHOWN : 60, info->id);
  set_cell(r, COL_ID, text);
  set_cell(r, COL_SCOPE, info->scope ? info->scope : "-");
  set_cell(r, COL_KEY, info->key ? info->key : "-");
  set_cell(r, COL_STATUS, rp_session_status_name(info->status));
  snprintf(text, sizeof(text), "%lld", (long long)info->seq);
  set_cell(r, COL_EVENTS, text);
  rp__age_format(info->last_activity_at, rp__cli_now(p->c), text, sizeof(text));
  set_cell(r, COL_AGE, text);
  set_cell(r, COL_TITLE, info->name ? info->name : "");
  for (int i = 0; i < COL_MAX; i++)
    if (r->cells[i].err) return RP_E_NOMEM;
  return 0;
}

/* ---- titles ---- */

#define FOUND 1 /* what the callback returns to stop */

static int first_request(void *ctx, const rp_event_info *ev)
{
  struct rp__buf *text = ctx;
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len);
  if (ev->lost || strcmp(ev->kind, "message") != 0 || !rp__json_eq(rp__json_get(body, "role"), "user")) return 0;
  rp__event_content(text, rp__json_get(body, "content"));
  return FOUND;
}

/* What the user asked for first, of a session without a digest: it was recorded before there were any. */
static void add_first_request(struct page *p, const struct row *r, struct rp__buf *cell)
{
  struct rp__cli *c = p->c;
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_BODY_MAX);
  if (rp_attach(c->engine, r->id, &c->session, NULL)) return;
  int code = rp_events(c->session, 0, TITLE_LOOKED, first_request, &text, NULL);
  rp_session_free(RP_TAKE(c->session));
  if (code != FOUND || !text.n || text.err) return;
  const char *from = text.p + strspn(text.p, " \t\r\n");
  rp__term_cut(cell, from, RP_MIN(strlen(from), TITLE_BYTES), 0);
}

/*
 * The name that a session was given, and what its user asked last. One that can't be read (sealed) has its name alone;
 * open ones beyond a number are told by what their user asked first.
 */
static int find_title(struct page *p, struct row *r, rp_error *err)
{
  struct rp__buf *cell = &r->cells[COL_TITLE];
  RP_AUTOTEXT char *digest = NULL;
  bool read = !r->open || p->n_open++ < OPEN_READ;
  bool failed = !read || rp_digest_json(p->c->engine, r->id, &digest, NULL) != 0;
  struct rp__json doc = failed ? (struct rp__json){0} : rp__json_trusted(digest, strlen(digest));
  struct rp__json asked = rp__json_get(doc, "last_request");
  if (r->doc) {
    rp__jw_object(&p->w);
    rp__out_members(&p->w, rp__json_trusted(r->doc, strlen(r->doc)));
    rp__out_asked(&p->w, doc);
    rp__jw_end_object(&p->w);
    return p->doc.err ? rp__fail(err, p->doc.err, "can't list the sessions") : 0;
  }
  if (asked.type == RP_JSON_STRING) {
    if (cell->n) rp__buf_str(cell, " · ");
    rp__view_text(cell, asked, 0);
  } else if (!cell->n)
    add_first_request(p, r, cell);
  return cell->err ? rp__fail_nomem(err) : 0;
}

/* ---- collecting ---- */

static int collect(void *ctx, const rp_session_info *info)
{
  struct page *p = ctx;
  if (p->n >= p->limit) return 0;
  struct row *rows = reallocarray(p->rows, (size_t)p->n + 1, sizeof(*rows));
  if (!rows) return RP_E_NOMEM;
  p->rows = rows;
  struct row *r = &rows[p->n++];
  *r = (struct row){0};
  snprintf(r->id, sizeof(r->id), "%s", info->id);
  r->open = info->ended_at == 0;
  return rp__json_wanted(p->c) ? rp_session_json(info, &r->doc, NULL) : collect_row(p, r, info);
}

/* ---- the table ---- */

static bool column_shown(const struct page *p, int col)
{
  return col != COL_SCOPE || !p->scope || !p->c->term.out_tty;
}

static void print_row(const struct page *p, const int *widths, const struct row *r, const char *colour)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(16384), shown = RP_BUF(16384);
  for (int i = 0; i < COL_MAX; i++) {
    RP_AUTOBUF struct rp__buf cell = RP_BUF(16384);
    const char *text = r ? r->cells[i].p : titles[i];
    if (!column_shown(p, i)) continue;
    rp__term_cut(&cell, text, strlen(text), widths[i]);
    int pad = widths[i] - rp__term_columns(cell.p ? cell.p : "", cell.n);
    if (i) rp__buf_str(&line, "  ");
    for (int k = 0; i == COL_EVENTS && k < pad; k++) rp__buf_char(&line, ' ');
    rp__buf_add(&line, cell.p, cell.n);
    for (int k = 0; i != COL_EVENTS && i + 1 < COL_MAX && k < pad; k++) rp__buf_char(&line, ' ');
  }
  while (line.n > 0 && line.p[line.n - 1] == ' ') line.p[--line.n] = '\0';
  if (!line.err) rp__term_cut(&shown, line.p, line.n, p->c->term.out_tty ? p->c->term.columns : 0);
  bool on = p->c->term.out_colour && colour;
  printf("%s%s%s\n", RP_SGR(on, colour), shown.p && !shown.err ? shown.p : "", RP_RESET(on));
}

/*
 * The title has what the others leave. Where that is too little, scopes are cut before keys, which people type; a key
 * that can't be whole is of no more use long than short.
 */
static void fit_columns(const struct page *p, int widths[COL_MAX])
{
  static const int giving[] = {COL_SCOPE, COL_KEY};
  int left = p->c->term.columns, whole = widths[COL_KEY];
  if (!p->c->term.out_tty) {
    widths[COL_TITLE] = RP_MIN(widths[COL_TITLE], TITLE_MAX);
    return;
  }
  for (int i = 0; i < COL_TITLE; i++) left -= column_shown(p, i) ? widths[i] + 2 : 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(giving); i++) {
    int col = giving[i], wanted = RP_MIN(TITLE_MIN, widths[COL_TITLE]) - left;
    if (!column_shown(p, col) || wanted <= 0 || widths[col] <= NAME_MIN) continue;
    int cut = RP_MIN(wanted, widths[col] - NAME_MIN);
    widths[col] -= cut;
    left += cut;
  }
  if (widths[COL_KEY] < whole && left < widths[COL_TITLE]) {
    int cut = RP_MIN(widths[COL_TITLE] - left, widths[COL_KEY] - NAME_MIN);
    widths[COL_KEY] -= cut;
    left += cut;
  }
  widths[COL_TITLE] = RP_MAX(RP_MIN(left, widths[COL_TITLE]), 1);
}

static void print_table(const struct page *p)
{
  int widths[COL_MAX];
  struct rp__cli *c = p->c;
  for (int i = 0; i < COL_MAX; i++) {
    widths[i] = (int)strlen(titles[i]);
    for (int k = 0; k < p->n; k++) {
      const struct rp__buf *cell = &p->rows[k].cells[i];
      widths[i] = RP_MAX(widths[i], rp__term_columns(cell->p, cell->n));
    }
  }
  fit_columns(p, widths);
  if (p->n) print_row(p, widths, NULL, RP_BOLD);
  for (int k = 0; k < p->n; k++) print_row(p, widths, &p->rows[k], NULL);
  if (c->no_store.code)
    rp__cli_say(c,
                "nothing yet: %s; 'reprise start --scope NAME' begins a session, 'reprise demo' shows what that is for",
                c->no_store.message);
  else if (p->n == 0 && c->term.err_tty)
    rp__cli_say(c, "no sessions");
  if (p->scope && !rp__opt_given(c, SCOPE) && c->term.err_tty)
    rp__cli_say(c, "the sessions of the scope %s; --all lists every scope's", p->scope);
  if (p->n == p->limit && c->term.err_tty) rp__cli_say(c, "more: --cursor %s", p->rows[p->n - 1].id);
}

static void page_done(struct page *p)
{
  for (int i = 0; p->rows && i < p->n; i++) {
    for (int k = 0; k < COL_MAX; k++) rp__buf_done(&p->rows[i].cells[k]);
    rp_free(p->rows[i].doc);
  }
  free(p->rows);
  rp__buf_done(&p->doc);
}

static int list(struct page *p, rp_error *err)
{
  const struct rp__cli *c = p->c;
  rp_filter f = {
      .scope = p->scope,
      .by_activity = true,
      .since_ms = rp__opt_num(c, SINCE, 0),
      .limit = p->limit,
      .cursor = rp__opt_text(c, CURSOR),
  };
  int code = rp__given_status(rp__opt_text(c, STATUS), &f.status, err);
  if (code) return code;
  rp__jw_pack(&p->w, "{sessions:[");
  code = rp_list(c->engine, &f, collect, p, err);
  if (code) return err->code ? code : rp__fail(err, code, "can't list the sessions");
  for (int i = 0; !code && i < p->n; i++) code = find_title(p, &p->rows[i], err);
  rp__jw_pack(&p->w, "] cursor:s}", p->n && p->n == p->limit ? p->rows[p->n - 1].id : NULL);
  return code;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(page_done)
  struct page p = {.c = c, .limit = (int)rp__opt_num(c, LIMIT, LIMIT_DEFAULT), .doc = RP_BUF(RP_CLI_DOC_MAX)};
  p.w = RP_JW(&p.doc);
  if (rp__opt_given(c, ALL) && rp__opt_given(c, SCOPE))
    return rp__fail_field(err, RP_E_USAGE, "all", "--all and --scope exclude each other");
  int code = rp__opt_given(c, ALL) ? 0 : rp__scope_default(c, rp__opt_text(c, SCOPE), &p.scope, err);
  if (!code) code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = list(&p, err);
  if (code) return code;
  if (rp__json_wanted(c)) return rp__out_buf(c, &p.doc, err);
  print_table(&p);
  return 0;
}

const struct rp__cmd rp__cmd_ls = {
    .name = "ls",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "",
    .summary = "List sessions, the one that was active last first",
    .detail = "Inside a project its own, with --all those of every scope. The title is the name that the session was\n"
              "given and what its user asked last; 'reprise recap' tells more of that, by project and day.",
    .example = "  $ reprise ls --scope nova --since 7d\n"
               "  ID             KEY           STATUS  EVENTS  ACTIVE   TITLE\n"
               "  0197a3c2-5b1e  kitchen-chat  active      12  3 m ago  Remind me of the cake at four\n",
    RP_OPTS(opts),
    .run = run,
};
