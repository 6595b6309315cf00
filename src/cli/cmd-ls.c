/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/out.h"
#include "cli/term.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 100000
#define ID_SHOWN 13 /* of a UUIDv7: its whole time, one dash */

enum { SCOPE, STATUS, SINCE, LIMIT, CURSOR };

static const char *const statuses[] = {"created", "active", "idle", "checkpointed", "closed", "abandoned", NULL};

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's"},
    [STATUS] = {"status", 0, RP_OPT_CHOICE, "ST", "only those that are", statuses},
    [SINCE] = {"since", 0, RP_OPT_SINCE, "T", "only those active since then (a time, or like 2h)"},
    [LIMIT] = {"limit", 'n', RP_OPT_NUMBER, "N", "at most so many (default 50)", NULL, 1, LIMIT_MAX},
    [CURSOR] = {"cursor", 0, RP_OPT_TEXT, "ID", "go on behind the last session of the page before"},
};

struct row {
  struct rp__buf cells[6];
};

/* A page is collected first: columns are as wide as what stands in them. */
struct page {
  struct rp__cli *c;
  struct row *rows;
  int n, limit;
  char last[RP_ID_MAX + 1];
  struct rp__buf doc;
  struct rp__jw w;
};

enum { COL_ID, COL_SCOPE, COL_KEY, COL_STATUS, COL_EVENTS, COL_AGE, COL_MAX };
static const char *const titles[COL_MAX] = {"ID", "SCOPE", "KEY", "STATUS", "EVENTS", "ACTIVE"};
static const int cell_max[COL_MAX] = {36, 24, 28, 12, 20, 16};

static void set_cell(struct row *r, int col, const char *text)
{
  r->cells[col] = RP_BUF(512);
  rp__term_cut(&r->cells[col], text, strlen(text), cell_max[col]);
  rp__buf_str(&r->cells[col], "");
}

static int collect_row(struct page *p, const rp_session_info *info)
{
  char text[64];
  struct row *r = &p->rows[p->n];
  bool uuid = strlen(info->id) == 36;
  snprintf(text, sizeof(text), "%.*s", uuid ? ID_SHOWN : 60, info->id);
  set_cell(r, COL_ID, text);
  set_cell(r, COL_SCOPE, info->scope ? info->scope : "-");
  set_cell(r, COL_KEY, info->key ? info->key : "-");
  set_cell(r, COL_STATUS, info->status);
  snprintf(text, sizeof(text), "%lld", (long long)info->seq);
  set_cell(r, COL_EVENTS, text);
  rp__age_format(info->last_activity_at, rp__cli_now(p->c), text, sizeof(text));
  set_cell(r, COL_AGE, text);
  for (int i = 0; i < COL_MAX; i++)
    if (r->cells[i].err) return RP_E_NOMEM;
  return 0;
}

static int collect_json(struct page *p, const rp_session_info *info)
{
  char *json = NULL;
  int code = rp_session_json(info, &json, NULL);
  if (code) return code;
  rp__jw_raw(&p->w, json, strlen(json));
  rp_free(json);
  return p->doc.err;
}

static int collect(void *ctx, const rp_session_info *info)
{
  struct page *p = ctx;
  int code = 0;
  if (p->n >= p->limit) return 0;
  if (rp__json_wanted(p->c)) {
    code = collect_json(p, info);
  } else {
    struct row *rows = reallocarray(p->rows, (size_t)p->n + 1, sizeof(*rows));
    if (!rows) return RP_E_NOMEM;
    p->rows = rows;
    p->rows[p->n] = (struct row){0};
    code = collect_row(p, info);
  }
  p->n++;
  snprintf(p->last, sizeof(p->last), "%s", info->id);
  return code;
}

static void print_row(const struct page *p, const int *widths, const struct row *r, const char *colour)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  for (int i = 0; i < COL_MAX; i++) {
    const char *text = r ? r->cells[i].p : titles[i];
    int pad = widths[i] - rp__term_columns(text, strlen(text));
    if (i) rp__buf_str(&line, "  ");
    for (int k = 0; i == COL_EVENTS && k < pad; k++) rp__buf_char(&line, ' ');
    rp__buf_str(&line, text);
    for (int k = 0; i != COL_EVENTS && i + 1 < COL_MAX && k < pad; k++) rp__buf_char(&line, ' ');
  }
  bool on = p->c->term.out_colour && colour;
  printf("%s%s%s\n", RP_SGR(on, colour), line.err ? "" : line.p, RP_RESET(on));
}

static void print_table(const struct page *p)
{
  int widths[COL_MAX];
  for (int i = 0; i < COL_MAX; i++) {
    widths[i] = (int)strlen(titles[i]);
    for (int k = 0; k < p->n; k++) {
      const struct rp__buf *cell = &p->rows[k].cells[i];
      widths[i] = RP_MAX(widths[i], rp__term_columns(cell->p, cell->n));
    }
  }
  if (p->n) print_row(p, widths, NULL, RP_BOLD);
  for (int k = 0; k < p->n; k++) print_row(p, widths, &p->rows[k], NULL);
  if (p->n == 0 && p->c->term.err_tty) fputs("no sessions\n", stderr);
  if (p->n == p->limit && p->c->term.err_tty) fprintf(stderr, "more: --cursor %s\n", p->last);
}

static void page_done(struct page *p)
{
  for (int i = 0; p->rows && i < p->n; i++)
    for (int k = 0; k < COL_MAX; k++) rp__buf_done(&p->rows[i].cells[k]);
  free(p->rows);
  rp__buf_done(&p->doc);
}

static int list(struct page *p, rp_error *err)
{
  const struct rp__cli *c = p->c;
  const rp_filter f = {
      .scope = rp__opt_text(c, SCOPE),
      .status = rp__opt_text(c, STATUS),
      .since_ms = rp__opt_num(c, SINCE, 0),
      .limit = p->limit,
      .cursor = rp__opt_text(c, CURSOR),
  };
  rp__jw_object(&p->w);
  rp__jw_key(&p->w, "sessions");
  rp__jw_array(&p->w);
  int code = rp_list(c->engine, &f, collect, p, err);
  if (code) return err->code ? code : rp__fail(err, code, "can't list the sessions");
  rp__jw_end_array(&p->w);
  rp__jw_kstr(&p->w, "cursor", p->n == p->limit ? p->last : NULL);
  rp__jw_end_object(&p->w);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(page_done)
  struct page p = {.c = c, .limit = (int)rp__opt_num(c, LIMIT, LIMIT_DEFAULT), .doc = RP_BUF(RP_CLI_DOC_MAX)};
  p.w = RP_JW(&p.doc);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = list(&p, err);
  if (code) return code;
  if (rp__json_wanted(c)) return rp__out_buf(c, &p.doc, err);
  print_table(&p);
  return 0;
}

const struct rp__cmd rp__cmd_ls = {
    .name = "ls",
    .theme = RP_THEME_READ,
    .usage = "",
    .summary = "List sessions, the newest first",
    .example = "  $ reprise ls --scope nova --since 7d\n"
               "  ID             SCOPE  KEY           STATUS  EVENTS  ACTIVE\n"
               "  0197a3c2-5b1e  nova   kitchen-chat  active      12  3 m ago\n",
    .max_args = 0,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
