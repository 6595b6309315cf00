/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise serve`: runs the server, a program of its own, so that other commands need not load its libraries. */
#include <errno.h>
#include <signal.h>

#include "base/file.h"
#include "cli/cli.h"

#define SERVER "reprise-serve"
#define PATH_BYTES 4096
#define OWN_WORDS 8 /* the program's name, what the options of every command become, and the end */

enum { LISTEN, REPLACE, LOG_FORMAT, LOG_LEVEL, ACCESS_LOG, THREADS };

static const char *const switches[] = {"on", "off", NULL};

static const struct rp__opt opts[] = {
    [LISTEN] = {"listen", 0, RP_OPT_TEXT, "ADDRESS", "HOST:PORT or unix:PATH, several times for several"},
    [REPLACE] = {"replace", 0, RP_OPT_FLAG, NULL, "take over the sockets of the server that runs"},
    [LOG_FORMAT] = {"log-format", 0, RP_OPT_CHOICE, "F", "one of", rp__log_format_words},
    [LOG_LEVEL] = {"log-level", 0, RP_OPT_CHOICE, "L", "one of", rp__log_level_words},
    [ACCESS_LOG] = {"access-log", 0, RP_OPT_CHOICE, "X", "a line for each request", switches},
    [THREADS] = {"threads", 0, RP_OPT_NUMBER, "N", "threads that read requests (default: one per core)", NULL, 1, 256},
};

/* Where the server may be, seen from our own folder: installed beside us, in the build tree, in libexec. */
static const char *const places[] = {SERVER, "../server/" SERVER, "../libexec/reprise/" SERVER};

static int own_folder(char out[PATH_BYTES], rp_error *err)
{
  ssize_t n = readlink("/proc/self/exe", out, PATH_BYTES - 1);
  if (n < 0) return rp__fail(err, RP_E_FAILED, "where this program is can't be found out: %s", strerrordesc_np(errno));
  while (n > 0 && out[n - 1] != '/') n--;
  out[n > 1 ? n - 1 : n] = '\0';
  return 0;
}

/* A fresh path, or RP_E_FAILED that names all the places. */
static int server_find(char **ret, rp_error *err)
{
  char folder[PATH_BYTES];
  int code = own_folder(folder, err);
  for (size_t i = 0; !code && i < RP_ARRAY_SIZE(places); i++) {
    RP_AUTOFREE char *path = rp__path_join(folder, places[i]);
    if (!path) return rp__fail_nomem(err);
    if (access(path, X_OK) != 0) continue;
    *ret = RP_TAKE(path);
    return 0;
  }
  if (code) return code;
  rp__fail(err, RP_E_FAILED, "the server is not installed: there is no %s, %s or %s in %s", places[0], places[1],
           places[2], folder);
  rp__hint(err, "it comes with the same package as this program");
  return RP_E_FAILED;
}

/* What the options of every command mean to a server. Its own, which come behind, win. */
static int own_words(const struct rp__cli *c, const char **words)
{
  int n = 0;
  words[n++] = SERVER;
  if (rp__json_wanted(c)) {
    words[n++] = "--log-format";
    words[n++] = "json";
  }
  if (c->globals[RP_G_QUIET].count || c->globals[RP_G_VERBOSE].count) {
    words[n++] = "--log-level";
    words[n++] = c->globals[RP_G_QUIET].count ? "error" : "debug";
  }
  if (c->globals[RP_G_HELP].count || c->cmd != &rp__cmd_serve) words[n++] = "--help";
  if (c->globals[RP_G_VERSION].count) words[n++] = "--version";
  return n;
}

static int set_environment(const struct rp__cli *c, rp_error *err)
{
  const char *db = c->globals[RP_G_DB].text, *config = c->globals[RP_G_CONFIG].text;
  if ((db && setenv("REPRISE_DB", db, 1)) || (config && setenv("REPRISE_CONFIG", config, 1)))
    return rp__fail_nomem(err);
  return 0;
}

/* Returns only when it failed. */
static int server_run(const struct rp__cli *c, const char *path, rp_error *err)
{
  const char *own[OWN_WORDS];
  int n = own_words(c, own), more = c->cmd == &rp__cmd_serve ? c->n_args : 0;
  RP_AUTOFREE const char **words = calloc((size_t)(n + more) + 1, sizeof *words);
  if (!words) return rp__fail_nomem(err);
  memcpy(words, own, (size_t)n * sizeof *words);
  if (more) memcpy(words + n, c->args, (size_t)more * sizeof *words);
  int code = set_environment(c, err);
  if (code) return code;
  signal(SIGPIPE, SIG_DFL); /* what is ignored stays so in the next program, which has not asked for it */
  execv(path, (char *const *)(uintptr_t)words);
  return rp__fail(err, RP_E_FAILED, "%s can't be run: %s", path, strerrordesc_np(errno));
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOFREE char *path = NULL;
  int code = server_find(&path, err);
  return code ? code : server_run(c, path, err);
}

/* The server knows itself best; the table knows enough where there is none. */
static int explain(struct rp__cli *c, rp_error *err)
{
  RP_AUTOFREE char *path = NULL;
  if (server_find(&path, err) == 0) return server_run(c, path, err);
  *err = (rp_error){0};
  rp__help_command(c, &rp__cmd_serve, stdout);
  return 0;
}

const struct rp__cmd rp__cmd_serve = {
    .name = "serve",
    .theme = RP_THEME_SERVE,
    .usage = "",
    .summary = "Serve sessions over HTTP, live channels and sockets",
    .detail = "Listens on 127.0.0.1:7377 unless told otherwise. Off loopback each request needs a token, which\n"
              "'reprise token create' makes.",
    .example = "  $ reprise serve\n"
               "  $ reprise serve --listen 0.0.0.0:7377 --log-format json\n"
               "  $ reprise serve --replace\n",
    .max_args = -1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
    .forwards = true,
    .explain = explain,
};
