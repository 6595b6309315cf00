/* SPDX-License-Identifier: Apache-2.0 */
/* bench [--quick] [--only a,b] [--dir D] [--results D] [--rounds N] [--langgraph D --script F] */
#include "ours.h"
#include "process.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *name;
  void (*run)(const struct bench *b);
} sections[] = {
    {"append", section_append},     {"group", section_group},       {"rivals", section_rivals},
    {"resume", section_resume},     {"throttle", section_throttle}, {"cost", section_cost},
    {"fold", section_fold},         {"plan", section_plan},         {"recall", section_recall},
    {"start-brief", section_start}, {"capture", section_capture},   {"limits", section_limits},
    {"redact", section_redact},     {"serve", section_serve},       {"hook", section_hook},
    {"acp", section_acp},
};

static const struct {
  const char *name;
  child_fn *run;
} children[] = {{"resume", child_resume},
                {"bare-resume", child_bare_resume},
                {"throttle", child_throttle},
                {"cost", child_cost},
                {"recall", child_recall}};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int child_main(char **args)
{
  struct bench b = {0};
  snprintf(b.dir, sizeof b.dir, "%s", args[1]);
  b.quick = getenv("BENCH_QUICK") != NULL;
  for (size_t i = 0; i < COUNT(children); i++) {
    if (strcmp(children[i].name, args[0]) != 0) continue;
    children[i].run(&b, args + 2);
    return 0;
  }
  die("there is no child %s", args[0]);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)st, (void)flag, (void)ftw;
  return remove(path);
}

static void scratch_clear(const char *dir)
{
  nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A folder of its own below the one given, so that clearing it can't touch anything else. */
static void scratch_make(struct bench *b, const char *below)
{
  if (mkdir(below, 0700) != 0 && errno != EEXIST) die("%s: %s", below, strerror(errno));
  snprintf(b->dir, sizeof b->dir, "%s/bench-XXXXXX", below);
  if (mkdtemp(b->dir) == NULL) die("%s: %s", below, strerror(errno));
}

static bool listed(const char *list, const char *name)
{
  size_t n = strlen(name);
  for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
    if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
  return false;
}

static bool section_known(const char *name)
{
  for (size_t i = 0; i < COUNT(sections); i++)
    if (strcmp(sections[i].name, name) == 0) return true;
  return false;
}

static void check_only(const char *list)
{
  char copy[256], known[256] = "", *save = NULL;
  for (size_t i = 0, n = 0; i < COUNT(sections) && n < sizeof known; i++)
    n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", sections[i].name);
  snprintf(copy, sizeof copy, "%s", list);
  for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
    if (!section_known(word)) die("there is no section '%s', only %s", word, known);
}

struct arguments {
  const char *dir, *only;
};

static void parse(int argc, char **argv, struct bench *b, struct arguments *a)
{
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      b->quick = true;
      continue;
    }
    if (i + 1 == argc) die("%s is no option, or lacks its value", argv[i]);
    const char *name = argv[i++], *value = argv[i];
    if (strcmp(name, "--only") == 0)
      a->only = value;
    else if (strcmp(name, "--dir") == 0)
      a->dir = value;
    else if (strcmp(name, "--results") == 0)
      b->results = value;
    else if (strcmp(name, "--langgraph") == 0)
      b->langgraph = value;
    else if (strcmp(name, "--script") == 0)
      b->script = value;
    else if (strcmp(name, "--rounds") == 0)
      b->rounds = (int)strtol(value, NULL, 10);
    else
      die("there is no option %s", name);
  }
  if (b->rounds < 1) die("--rounds takes a number from 1 up");
  if (a->only) check_only(a->only);
}

int main(int argc, char **argv)
{
  if (argc >= 4 && strcmp(argv[1], "--child") == 0) return child_main(argv + 2);
  int broken = 0;
  struct bench b = {.rounds = 3, .broken = &broken};
  struct arguments a = {.dir = "."};
  parse(argc, argv, &b, &a);
  ssize_t n = readlink("/proc/self/exe", b.self, sizeof b.self - 1);
  if (n <= 0) die("this program can't be found");
  if (b.quick) setenv("BENCH_QUICK", "1", 1); /* for the children */
  body_at(0);
  scratch_make(&b, a.dir);
  for (size_t i = 0; i < COUNT(sections); i++)
    if (a.only == NULL || listed(a.only, sections[i].name)) sections[i].run(&b);
  scratch_clear(b.dir);
  if (broken) fprintf(stderr, "bench: %d limit%s missed\n", broken, broken == 1 ? " was" : "s were");
  return broken ? 1 : 0;
}
