/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals: colours, widths, text made safe to show, ages, progress bars. */
#ifndef RP_CLI_TERM_H
#define RP_CLI_TERM_H

#include "base/size.h"
#include "cli/cli.h"

#define RP_BOLD "1"
#define RP_DIM "2"
#define RP_RED "31"
#define RP_GREEN "32"
#define RP_YELLOW "33"
#define RP_CYAN "36"

void rp__term_init(struct rp__cli_terminal *t);

/* Escape sequences, or empty text without colours. */
const char *rp__sgr(bool colour, const char *code, char out[12]);
#define RP_SGR(colour, code) rp__sgr((colour), (code), (char[12]){0})
#define RP_RESET(colour) ((colour) ? "\033[0m" : "")

/*
 * Appends `s` in at most `columns` columns (0: any number), cut with an ellipsis;
 * control characters become spaces, so that stored text can't drive the terminal.
 */
void rp__term_cut(struct rp__buf *out, const char *s, size_t n, int columns);
/* The same, filled up with spaces to exactly `columns`. */
void rp__term_cell(struct rp__buf *out, const char *s, int columns);
int rp__term_columns(const char *s, size_t n);

/* "just now", "42 s ago", "3 m ago", "5 h ago", "12 d ago"; "in …" for the future. */
void rp__age_format(int64_t ms, int64_t now_ms, char *out, size_t n);
/* "2026-01-31 13:00:00 CET": in the local zone ($TZ), or, with --utc, in UTC. */
#define RP_MOMENT_TEXT 64
#define RP_MOMENT_COLUMNS 24 /* of a cell that holds one in most zones */
const char *rp__moment_format(const struct rp__cli *c, int64_t ms, char out[RP_MOMENT_TEXT]);

/* A bar on stderr, drawn only on a terminal and at most ten times a second. */
struct rp__progress {
  const struct rp__cli *cli;
  const char *what;
  bool shown;
  int64_t drawn_ms;
};
#define RP_PROGRESS(c, what_) ((struct rp__progress){.cli = (c), .what = (what_)})
/* An rp_progress_fn; ctx is the struct. */
int rp__progress_step(void *ctx, int64_t done, int64_t total);
void rp__progress_clear(struct rp__progress *p);

#endif
