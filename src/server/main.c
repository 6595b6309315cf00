/* SPDX-License-Identifier: Apache-2.0 */
/* The program reprise-serve: its options, its signals, its exit code. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/enum-words.h"
#include "base/suggest.h"
#include "server/server.h"

#define CLOSE_RESTART                                                                                                  \
  1012 /* sockets are told to come back: whatever ends us, another server follows sooner or later                      \
        */

/* ---- options ---- */

enum option { LISTEN, REPLACE, DB, CONFIG, LOG_FORMAT, LOG_LEVEL, ACCESS_LOG, THREADS, VERBOSE, QUIET, HELP, VERSION };

static const char *const switches[] = {"off", "on", NULL};

static const struct option_row {
  const char *name;
  char letter;
  const char *arg; /* NULL: it takes none */
  const char *const *choices;
  const char *help;
} table[] = {
    [LISTEN] = {"listen", 0, "ADDRESS", NULL, "HOST:PORT, PORT or unix:PATH; several times for several"},
    [REPLACE] = {"replace", 0, NULL, NULL, "take over the sockets of the server that runs on this database"},
    [DB] = {"db", 0, "URL", NULL, "sqlite:PATH or memory: (default $REPRISE_DB, or reprise.db at home)"},
    [CONFIG] = {"config", 0, "FILE", NULL, "the configuration (default $REPRISE_CONFIG)"},
    [LOG_FORMAT] = {"log-format", 0, "F", rp__log_format_words, "of the lines on standard error"},
    [LOG_LEVEL] = {"log-level", 0, "L", rp__log_level_words, "what is logged (default: info)"},
    [ACCESS_LOG] = {"access-log", 0, "X", switches, "a line for each request (default: on)"},
    [THREADS] = {"threads", 0, "N", NULL, "threads that read requests, 1 to 256 (default: one per core, 8 at most)"},
    [VERBOSE] = {"verbose", 'v', NULL, NULL, "the same as --log-level debug"},
    [QUIET] = {"quiet", 'q', NULL, NULL, "the same as --log-level error"},
    [HELP] = {"help", 'h', NULL, NULL, "this text"},
    [VERSION] = {"version", 0, NULL, NULL, "the version"},
};

struct program {
  struct rp__server_options o;
  const char *listen[RP_LISTEN_MAX + 1];
  size_t n_listen;
  rp_clock clock;
  struct rp__shifted_clock shifted;
  bool help, version;
};

static void print_help(void)
{
  printf("usage: reprise serve [OPTIONS]\n\n"
         "Serves sessions over HTTP, live channels and sockets, on 127.0.0.1:7377 unless told otherwise.\n"
         "Off loopback each request needs a token, which 'reprise token create' makes.\n\noptions\n");
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    const struct option_row *t = &table[i];
    char left[48];
    const char letter[] = {'-', t->letter, ',', ' ', '\0'};
    snprintf(left, sizeof left, "%s--%s %s", t->letter ? letter : "", t->name, t->arg ? t->arg : "");
    printf("  %-24s %s", left, t->help);
    for (size_t k = 0; t->choices && t->choices[k]; k++) printf("%s%s", k ? ", " : ": ", t->choices[k]);
    putchar('\n');
  }
  printf("\nexamples\n"
         "  $ reprise serve\n"
         "  $ reprise serve --listen 0.0.0.0:7377 --listen unix:/run/reprise/socket --log-format json\n"
         "  $ reprise serve --replace        # a new version, without refusing one connection\n\n"
         "Everything else is configured in reprise.ini: see reprise-serve(8) and reprise.ini(5).\n");
}

static const struct option_row *find_option(const char *word, size_t n)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    const struct option_row *t = &table[i];
    if (word[1] == '-' ? strncmp(t->name, word + 2, n - 2) == 0 && t->name[n - 2] == '\0'
                       : n == 2 && t->letter == word[1])
      return t;
  }
  return NULL;
}

static int choose(const struct option_row *t, const char *value, int *ret, rp_error *err)
{
  for (int i = 0; t->choices[i]; i++)
    if (strcmp(t->choices[i], value) == 0) {
      *ret = i;
      return 0;
    }
  rp__fail_field(err, RP_E_USAGE, t->name, "--%s: '%.60s' is none of its values", t->name, value);
  rp__hint(err, "one of those in 'reprise serve --help'");
  return RP_E_USAGE;
}

static int set_option(struct program *p, enum option o, const char *value, rp_error *err)
{
  int n = 0, rc = value && table[o].choices ? choose(&table[o], value, &n, err) : 0;
  long threads;
  char *end;
  if (rc) return rc;
  switch (o) {
  case LISTEN:
    if (p->n_listen == RP_LISTEN_MAX)
      return rp__fail_field(err, RP_E_USAGE, "listen", "--listen: at most %d addresses", RP_LISTEN_MAX);
    p->listen[p->n_listen++] = value;
    return rp__listen_check(value, err); /* before a store is opened for nothing */
  case REPLACE: p->o.replace = true; return 0;
  case DB: p->o.db = value; return 0;
  case CONFIG: p->o.config = value; return 0;
  case LOG_FORMAT: p->o.log_format = n ? RP_SLOG_JSON : RP_SLOG_LOGFMT; return 0;
  case LOG_LEVEL: p->o.log_level = (rp_log_level)n; return 0;
  case ACCESS_LOG: p->o.access_log = n != 0; return 0;
  case THREADS:
    threads = strtol(value, &end, 10);
    if (end == value || *end || threads < 1 || threads > 256)
      return rp__fail_field(err, RP_E_USAGE, "threads", "--threads: '%.60s' is not a number from 1 to 256", value);
    p->o.threads = (int)threads;
    return 0;
  case VERBOSE: p->o.log_level = RP_LOG_DEBUG; return 0;
  case QUIET: p->o.log_level = RP_LOG_ERROR; return 0;
  case HELP: p->help = true; return 0;
  case VERSION: p->version = true; return 0;
  }
  return 0;
}

static int parse(struct program *p, int argc, char **argv, rp_error *err)
{
  int rc = 0;
  for (int at = 1; !rc && at < argc; at++) {
    const char *word = argv[at], *eq = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL, *value = NULL;
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    if (word[0] != '-' || n < 2) return rp__fail(err, RP_E_USAGE, "one word too many: '%.60s'", word);
    const struct option_row *t = find_option(word, n);
    if (!t) {
      const char *names[RP_ARRAY_SIZE(table) + 1] = {NULL};
      char name[64];
      for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) names[i] = table[i].name;
      rp__fail(err, RP_E_USAGE, "unknown option '%.*s'", (int)RP_MIN(n, sizeof name), word);
      snprintf(name, sizeof name, "%.*s", (int)RP_MIN(n, sizeof name - 1), word + strspn(word, "-"));
      const char *near = rp__suggest(name, names);
      if (near)
        rp__hint(err, "did you mean --%s?", near);
      else
        rp__hint(err, "see 'reprise serve --help'");
      return RP_E_USAGE;
    }
    if (eq && !t->arg) return rp__fail_field(err, RP_E_USAGE, t->name, "--%s takes no value", t->name);
    if (t->arg) value = eq ? eq + 1 : argv[++at];
    if (t->arg && !value) return rp__fail_field(err, RP_E_USAGE, t->name, "--%s needs a value", t->name);
    rc = set_option(p, (enum option)(t - table), value, err);
  }
  p->o.listen = p->n_listen ? p->listen : NULL;
  return rc;
}

/* ---- the process ---- */

static int set_clock(struct program *p, rp_error *err)
{
  const char *now = getenv("REPRISE_NOW");
  int64_t ms;
  if (!now || !*now) return 0;
  if (rp__time_parse(now, strlen(now), &ms)) {
    rp__fail(err, RP_E_USAGE, "REPRISE_NOW: '%.60s' is not a time", now);
    rp__hint(err, "write it like 2026-01-31T12:00:00Z, or unset it");
    return RP_E_USAGE;
  }
  p->clock = rp__clock_shifted(&p->shifted, ms);
  p->o.clock = &p->clock;
  return 0;
}

/* Until it is time to end. */
static void serve(struct rp__server *s, int signals)
{
  struct pollfd p[] = {{.fd = signals, .events = POLLIN}, {.fd = s->replaced_fd, .events = POLLIN}};
  struct signalfd_siginfo got;
  for (;;) {
    if (poll(p, 2, -1) < 0) continue;
    if (p[1].revents) return;
    if (read(signals, &got, sizeof got) != (ssize_t)sizeof got) continue;
    if (got.ssi_signo != SIGHUP) {
      rp__server_stopping(s);
      rp__slog(&s->log, RP_LOG_INFO, "signal", RP_F("name", got.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM"));
      return;
    }
    rp__slog(&s->log, RP_LOG_WARN, "signal", RP_F("name", "SIGHUP"),
             RP_F("means", "the configuration is read at the start; --replace starts anew without a gap"));
  }
}

static atomic_bool hurry;

static void on_second_signal(int sig)
{
  (void)sig;
  atomic_store(&hurry, true);
}

static int run(const struct rp__server_options *o, rp_error *err)
{
  const struct sigaction impatient = {.sa_handler = on_second_signal, .sa_flags = (int)SA_RESETHAND};
  struct rp__server *s;
  struct rlimit files;
  sigset_t set;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of the store, not our end */
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return rp__fail_errno(err, errno, "no signal can be waited for");
  /* A socket is a file descriptor; the soft limit is low for the sake of programs that use select. */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  int rc = rp__server_open(o, &s, err);
  if (rc) return rc;
  serve(s, signals);
  /* The second signal makes it hurry, the third ends it where it stands. */
  sigaction(SIGTERM, &impatient, NULL);
  sigaction(SIGINT, &impatient, NULL);
  sigdelset(&set, SIGHUP);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  int64_t lost = rp__server_close(s, CLOSE_RESTART);
  if (!lost) return 0;
  return rp__fail(err, RP_E_FAILED, "%lld events that were accepted as memory could not be stored", (long long)lost);
}

static int report(const rp_error *err, bool json)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  if (json) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(8192);
    struct rp__jw w = RP_JW(&b);
    rp__jw_object(&w);
    rp__jw_kobject(&w, "error");
    rp__jw_kstr(&w, "code", info->name);
    rp__jw_kstr(&w, "message", err->message[0] ? err->message : info->text);
    rp__jw_kstr(&w, "hint", err->hint[0] ? err->hint : NULL);
    if (err->field[0]) rp__jw_kstr(&w, "field", err->field);
    rp__jw_end_object(&w);
    rp__jw_end_object(&w);
    if (!b.err) fprintf(stderr, "%s\n", b.p);
    return info->exit_code;
  }
  fprintf(stderr, "reprise-serve: %s\n", err->message[0] ? err->message : info->text);
  if (err->hint[0]) fprintf(stderr, "  hint: %s\n", err->hint);
  return info->exit_code;
}

int main(int argc, char **argv)
{
  struct program p = {.o = {.log_level = RP_LOG_INFO, .access_log = true, .hurry = &hurry, .bounded = true}};
  rp_error err = {0};
  int rc = parse(&p, argc, argv, &err);
  if (!rc && p.help) {
    print_help();
    return 0;
  }
  if (!rc && p.version) {
    printf("reprise-serve %s\n", rp_version());
    return 0;
  }
  if (!rc) rc = set_clock(&p, &err);
  if (!rc) rc = run(&p.o, &err);
  return rc ? report(&err, p.o.log_format == RP_SLOG_JSON) : 0;
}
