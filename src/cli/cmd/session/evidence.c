/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise evidence`: show the notes, frames and words around a moment. */
#include "cli/out.h"
#include "cli/term.h"

#define WINDOW_DEFAULT_MS 30000
#define VIDEO_MAX_S 1000000000

enum { AT, WINDOW, VIDEO_AT };

static const struct rp__opt opts[] = {
    [AT] = {"at", 0, RP_OPT_SINCE, "T", "the moment (a time, or like 5m for five minutes ago)"},
    [WINDOW] = {"window", 'w', RP_OPT_SPAN, "S", "how far around it to look (default 30 seconds each way)"},
    [VIDEO_AT] = {"video-at", 0, RP_OPT_REAL, "SECONDS", "the moment in the video's own time", NULL, 0, VIDEO_MAX_S},
};

/* The clock's time, the video's own where it is known, and what there was. */
static void item_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v, const char *main)
{
  struct rp__json body = rp__json_get(v, "body"), category = rp__json_get(body, "category");
  struct rp__json video = rp__json_get(body, "timestamp");
  rp__buf_str(out, RP_SGR(c->term.out_colour, RP_DIM));
  rp__view_time(c, out, rp__json_get(v, "at"));
  if (video.type == RP_JSON_NUMBER) rp__buf_printf(out, "  video %8.1f s", rp__view_number(video));
  rp__buf_printf(out, "%s  ", RP_RESET(c->term.out_colour));
  rp__view_text(out, rp__json_get(body, main), 0);
  if (category.type == RP_JSON_STRING) {
    rp__buf_str(out, "  (");
    rp__view_text(out, category, 0);
    rp__buf_char(out, ')');
  }
  rp__buf_char(out, '\n');
}

static void tell_evidence(struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  static const char *const lists[][2] = {{"notes", "text"}, {"frames", "frame_id"}, {"transcript", "text"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) {
    struct rp__json_iter it = {0};
    struct rp__json item, list = rp__json_get(doc, lists[i][0]);
    if (rp__json_count(list)) rp__view_heading(c, out, lists[i][0]);
    while (rp__json_next(list, &it, NULL, &item)) item_line(c, out, item, lists[i][1]);
  }
  if (out->n == 0 && !c->globals[RP_G_QUIET].count) fputs("nothing around that moment\n", stderr);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  bool video = rp__opt_given(c, VIDEO_AT);
  if (video == rp__opt_given(c, AT))
    return rp__hinted(err, rp__fail_field(err, RP_E_USAGE, "at", "it needs a moment: --at or --video-at"),
                      "see 'reprise evidence --help'");
  int64_t at = video ? (int64_t)(rp__opt_real(c, VIDEO_AT, 0) * 1000 + 0.5) : rp__opt_num(c, AT, 0);
  int code = rp__cli_attach(c, c->args[0], RP_USE_LOOK, err);
  if (!code) code = rp_evidence_json(c->session, at, rp__opt_num(c, WINDOW, WINDOW_DEFAULT_MS), video, &json, err);
  return code ? code : rp__out_told(c, json, tell_evidence, err);
}

const struct rp__cmd rp__cmd_evidence = {
    .name = "evidence",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "ID --at T",
    .summary = "Show the notes, frames and words around a moment",
    .example = "  $ reprise evidence lecture --at 5m --window 1m\n"
               "  $ reprise evidence lecture --video-at 312.5\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
