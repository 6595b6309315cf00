/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program. Each command is one file with one `struct rp__cmd`; table.c lists
 * them. Parsing, help, completion and the tests of the manual all read that
 * table. Commands use the public API alone, as any user's program would.
 *
 * Data goes to stdout, talk to stderr. A command returns 0 or a negative
 * enum rp_code with `err` filled; only main reports and exits.
 */
#ifndef RP_CLI_H
#define RP_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/enum-words.h"
#include "json/json.h"

#define RP_CLI_OPTS_MAX 16                /* options of one command */
#define RP_CLI_DOC_MAX (64 * 1024 * 1024) /* bytes of one printed document */

enum rp__opt_type {
  RP_OPT_FLAG,
  RP_OPT_TEXT,
  RP_OPT_NUMBER, /* an integer between min and max */
  RP_OPT_TIME,   /* ISO 8601 */
  RP_OPT_SINCE,  /* ISO 8601, or a duration before now */
  RP_OPT_CHOICE, /* one of `choices`; the value's num is its place */
  RP_OPT_REAL,   /* a number with decimals between min and max; the value's real */
  RP_OPT_SPAN,   /* a duration like 90, 30s, 5m, 2h; the value's num is milliseconds */
};

struct rp__opt {
  const char *name; /* long form, without the dashes */
  char letter;      /* short form, or 0 */
  enum rp__opt_type type;
  const char *arg; /* what help calls the value; NULL for a flag */
  const char *help;
  const char *const *choices; /* ends with NULL */
  int64_t min, max;
};

/* What was given for an option; count is 0 when it was not. */
struct rp__value {
  const char *text;
  int64_t num;
  double real;
  unsigned count;
};

/* What stands in the place of a command's arguments, for completion. */
enum rp__arg_kind { RP_ARG_NONE, RP_ARG_SESSION, RP_ARG_FILE, RP_ARG_WORDS, RP_ARG_COMMAND };

enum rp__theme {
  RP_THEME_WRITE,
  RP_THEME_READ,
  RP_THEME_MIND,
  RP_THEME_TRAVEL,
  RP_THEME_MOVE,
  RP_THEME_SERVE,
  RP_THEME_CARE,
  RP_THEME_MORE,
  RP_THEME_MAX,
};

struct rp__cli;

struct rp__cmd {
  const char *name;
  enum rp__theme theme;
  bool hidden;         /* left out of the overview and of completion */
  bool pages;          /* what it prints may be long, and is read from the top */
  const char *usage;   /* its arguments, without the options */
  const char *summary; /* one line */
  const char *detail;  /* a paragraph for --help, or NULL */
  const char *example; /* shown by --help; lines end with \n */
  const char *words;   /* fixed first words, separated by spaces, or NULL */
  enum rp__arg_kind arg;
  int min_args, max_args; /* max_args < 0: any number */
  const struct rp__opt *opts;
  size_t n_opts;
  int (*run)(struct rp__cli *c, rp_error *err);
  /*
   * Another program does the work: the options of every command are read here, all other words are kept as arguments,
   * as they came, and `opts` is for completion and the manual. `explain` then tells --help, where the other can.
   */
  bool forwards;
  int (*explain)(struct rp__cli *c, rp_error *err);
  /* Whether whoever ran it must not notice a failure: then nothing is said (but with -v) and the exit code is 0. */
  bool (*forgives)(const struct rp__cli *c, int argc, char **argv);
  bool reopens; /* opens the store more than once, so that each engine is closed for good */
};

/* What a command takes, in its entry of the table: the kind of its arguments and how many; its options. */
#define RP_ARGS(kind, min, max) .arg = (kind), .min_args = (min), .max_args = (max)
#define RP_OPTS(table) .opts = (table), .n_opts = RP_ARRAY_SIZE(table)

enum rp__global {
  RP_G_DB,
  RP_G_CONFIG,
  RP_G_JSON,
  RP_G_UTC,
  RP_G_NO_PAGER,
  RP_G_VERBOSE,
  RP_G_QUIET,
  RP_G_HELP,
  RP_G_VERSION,
  RP_G_MAX,
};

struct rp__cli_terminal {
  bool in_tty, out_tty, err_tty;
  bool out_colour, err_colour;
  int columns;
};

/* A program that shows what is printed, page by page. */
struct rp__pager {
  pid_t pid;           /* 0: none */
  struct rp__buf said; /* on stderr, once it is gone */
};

/* One run of the program. */
struct rp__cli {
  const struct rp__cmd *cmd;
  struct rp__value globals[RP_G_MAX];
  struct rp__value opts[RP_CLI_OPTS_MAX];
  char **args;
  int n_args;
  struct rp__cli_terminal term;
  rp_log_level level;
  rp_clock clock;
  struct rp__shifted_clock shifted;
  rp_engine *engine; /* opened by the command, closed by main */
  rp_error no_store; /* why it is an empty one, or code 0: there is no store yet */
  struct rp__pager pager;
  char scope[RP_ID_MAX + 1]; /* of where the command was run; see rp__scope_default */
  rp_session *session;       /* attached by the command, freed by main */
};

static inline void rp__textp(char **p)
{
  rp_free(*p);
}
/* A text of the library's, freed when the variable leaves its scope. */
#define RP_AUTOTEXT RP_CLEANUP(rp__textp)

/* ---- table.c, opt.c ---- */

extern const struct rp__cmd *const rp__cmds[]; /* ends with NULL */
extern const struct rp__opt rp__global_opts[RP_G_MAX];
const struct rp__cmd *rp__cmd_find(const char *name);

/*
 * Reads the command line into `c`, keeping pointers into argv, which is reordered.
 * Nothing is demanded of the arguments when help was asked for. RP_E_USAGE.
 */
RP_MUST_USE int rp__opt_parse(struct rp__cli *c, int argc, char **argv, rp_error *err);
/* A whole decimal number within [min, max]. */
bool rp__number_parse(const char *s, int64_t min, int64_t max, int64_t *ret);
/* A decimal number, with or without a fraction, within [min, max]; a point whatever the locale. */
bool rp__real_parse(const char *s, double min, double max, double *ret);

/* ---- cli.c ---- */

/*
 * How a command means to use the store. Only WRITE and LIVE create one. Where none has been made yet LOOK, CHANGE and
 * STAY work on an empty one in memory, unless --db named it: that is taken for a slip of the fingers.
 */
enum rp__use {
  RP_USE_READ,   /* nothing is created or written */
  RP_USE_LOOK,   /* the same, but one of an older version is migrated */
  RP_USE_MEND,   /* one short change of a store that must be there */
  RP_USE_CHANGE, /* one short change of something in it */
  RP_USE_STAY,   /* the same for a while: background threads */
  RP_USE_WRITE,  /* one short change that may be the first */
  RP_USE_LIVE,   /* the same for a while */
};
/* Reads the environment: clock, level of talk, terminal. */
RP_MUST_USE int rp__cli_init(struct rp__cli *c, rp_error *err);
void rp__cli_done(struct rp__cli *c);
RP_MUST_USE int rp__cli_open(struct rp__cli *c, enum rp__use use, rp_error *err);
/* The same on a database of the command's own choosing. */
RP_MUST_USE int rp__cli_open_db(struct rp__cli *c, const char *db, enum rp__use use, rp_error *err);
/* Opens, and attaches to the session that the argument names. */
RP_MUST_USE int rp__cli_attach(struct rp__cli *c, const char *ref, enum rp__use use, rp_error *err);
/* The same, and prints the acknowledgement of one event appended to it. */
RP_MUST_USE int rp__cli_append(struct rp__cli *c, const char *ref, const char *kind, const struct rp__buf *body,
                               rp_error *err);
/* The same, and reads its state as it is now. Free with rp_free. */
RP_MUST_USE int rp__cli_state(struct rp__cli *c, const char *ref, char **ret, rp_error *err);
/*
 * What was given, else $REPRISE_SCOPE, else, inside a project, the scope that bridges have for it (bridge/workspace.h).
 * With none of them *ret is NULL. The text is the caller's, or c's. RP_E_INVALID: $REPRISE_SCOPE is no name.
 */
RP_MUST_USE int rp__scope_default(struct rp__cli *c, const char *given, const char **ret, rp_error *err);
/* The same for a command that can't do without: RP_E_USAGE, which says how to name one. */
RP_MUST_USE int rp__scope_required(struct rp__cli *c, const char *given, const char **ret, rp_error *err);
/* The topics of a start in this project, after those given (or NULL); with a scope of its own, those given alone. */
const char *rp__topics_here(const char *scope, const char *given, struct rp__buf *room);
/*
 * A line on stderr for a person, behind what a pager shows; nothing with --json or --quiet. `text` is made safe, and
 * may hold what others wrote.
 */
void rp__cli_say(struct rp__cli *c, const char *fmt, ...) RP_PRINTF(2, 3);
/* Prints an error as the contract says and returns the exit code. */
int rp__cli_report(const struct rp__cli *c, const rp_error *err);
int64_t rp__cli_now(const struct rp__cli *c);

static inline bool rp__opt_given(const struct rp__cli *c, int opt)
{
  return c->opts[opt].count > 0;
}
static inline const char *rp__opt_text(const struct rp__cli *c, int opt)
{
  return c->opts[opt].text;
}
/* The number given, or `otherwise`. */
static inline int64_t rp__opt_num(const struct rp__cli *c, int opt, int64_t otherwise)
{
  return rp__opt_given(c, opt) ? c->opts[opt].num : otherwise;
}
static inline double rp__opt_real(const struct rp__cli *c, int opt, double otherwise)
{
  return rp__opt_given(c, opt) ? c->opts[opt].real : otherwise;
}
static inline bool rp__json_wanted(const struct rp__cli *c)
{
  return c->globals[RP_G_JSON].count > 0;
}

/* Adds what to do about a failure, whose code it returns: return rp__hinted(err, rp__fail(err, …), "…"). */
int rp__hinted(rp_error *err, int failed, const char *fmt, ...) RP_PRINTF(3, 4);
/* Words that don't go together: RP_E_USAGE, and where to read about them. */
#define RP_USAGE(c, err, ...)                                                                                          \
  rp__hinted((err), rp__fail((err), RP_E_USAGE, __VA_ARGS__), "see 'reprise %s --help'", (c)->cmd->name)
/* Adds which of `names` was meant by a word that is none of them; where none is like it, `otherwise`. */
void rp__hint_near(rp_error *err, const char *word, const char *const *names, const char *otherwise);
/* Reads all there is, up to the buffer's limit: RP_E_NOMEM, RP_E_TOO_LARGE, or RP_E_IO with errno. */
RP_MUST_USE int rp__read_all(int fd, struct rp__buf *ret);
/* The first program of that name in $PATH; false: there is none. */
bool rp__on_path(const char *name, char ret[PATH_MAX]);

/* ---- pager.c ---- */

/*
 * What is printed from now on goes through the pager, where a person can be asked to turn pages: stdin and stdout are
 * terminals, the command pages, and neither --json, --no-pager nor --follow was given. Where none can be started there
 * is none.
 */
void rp__pager_start(struct rp__cli *c);
/* Waits until the person has read it all, then tells what was said meanwhile, and that there was no such pager. */
void rp__pager_finish(struct rp__cli *c);
/* On stderr: now, or, while a pager has the screen, behind it. From any thread. */
void rp__pager_say(struct rp__cli *c, const char *text);

/* ---- signals.c: SIGINT and SIGTERM as a descriptor to poll, so that long commands end in good order ---- */

/* Blocks both (before any thread is made) and returns a descriptor that becomes readable when one comes. */
RP_MUST_USE int rp__signals_open(int *ret_fd, rp_error *err);
/* Takes the signal that came, if any, and gives both back their usual effect: a second one ends the process. */
int rp__signals_read(int fd);

/* ---- tempdir.c: a folder for a throwaway database, and the database in it ---- */

struct rp__tempdir {
  char path[256];
  char db[300]; /* "sqlite:PATH" in it */
};
/* Makes a folder "$TMPDIR/reprise-NAME.XXXXXX", or in `fallback` when TMPDIR is not set. */
RP_MUST_USE int rp__tempdir_make(struct rp__tempdir *t, const char *name, const char *fallback, rp_error *err);
/* Removes it with the files and folders in it. Does nothing for one that was not made. */
void rp__tempdir_remove(struct rp__tempdir *t);

/* ---- retain.c ---- */

/* Until when a session that is in the trash since `trashed_ms` can be taken back (trash_days of its scope). */
RP_MUST_USE int rp__trash_until(struct rp__cli *c, const char *scope, int64_t trashed_ms, int64_t *ret, rp_error *err);
/*
 * Asks on the terminal. Anything but a yes is RP_E_CANCELLED. Without a terminal nobody can be asked: RP_E_USAGE, which
 * says that --yes is needed.
 */
RP_MUST_USE int rp__cli_confirm(const struct rp__cli *c, const char *question, rp_error *err);
/* A session as these commands speak of it, copied: they tell of it after it has gone. */
struct rp__subject {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1];
  int64_t events, bytes, trashed_at, held_at;
};
/* Finds it by id, unique beginning of an id, or key: outside the trash and then in it, or the other way round. */
RP_MUST_USE int rp__subject_find(struct rp__cli *c, const char *ref, bool trash_first, struct rp__subject *ret,
                                 rp_error *err);
/* The id in the width of a table: the beginning of one that was made here, else all of it. */
const char *rp__id_short(const char *id, char out[RP_ID_MAX + 1]);

/* ---- help.c ---- */

void rp__help_overview(const struct rp__cli *c, FILE *f);
void rp__help_command(const struct rp__cli *c, const struct rp__cmd *cmd, FILE *f);
/* To stdout, by the command itself where it does that. */
RP_MUST_USE int rp__help_explain(struct rp__cli *c, const struct rp__cmd *cmd, rp_error *err);

/* ---- commands ---- */

extern const struct rp__cmd rp__cmd_start, rp__cmd_append, rp__cmd_heartbeat, rp__cmd_checkpoint, rp__cmd_end;
extern const struct rp__cmd rp__cmd_ls, rp__cmd_recap, rp__cmd_show, rp__cmd_state, rp__cmd_log, rp__cmd_search;
extern const struct rp__cmd rp__cmd_snapshots, rp__cmd_restore, rp__cmd_fork, rp__cmd_export, rp__cmd_import;
extern const struct rp__cmd rp__cmd_verify, rp__cmd_doctor, rp__cmd_stats, rp__cmd_config, rp__cmd_bench;
extern const struct rp__cmd rp__cmd_brief, rp__cmd_continue, rp__cmd_chain, rp__cmd_pin, rp__cmd_unpin, rp__cmd_pins;
extern const struct rp__cmd rp__cmd_tasks, rp__cmd_remember, rp__cmd_memories, rp__cmd_feel, rp__cmd_mood;
extern const struct rp__cmd rp__cmd_evidence, rp__cmd_redact, rp__cmd_audit;
extern const struct rp__cmd rp__cmd_gc, rp__cmd_trash, rp__cmd_untrash, rp__cmd_hold, rp__cmd_rm;
extern const struct rp__cmd rp__cmd_acp, rp__cmd_hook, rp__cmd_mcp, rp__cmd_serve, rp__cmd_token;
extern const struct rp__cmd rp__cmd_demo, rp__cmd_demo_agent, rp__cmd_completion, rp__cmd_help, rp__cmd_version;

#endif
