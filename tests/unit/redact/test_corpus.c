/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is left alone: at most one hit in a megabyte of it. The arguments are pairs of a name and a folder; one
 * that is absent is skipped. Hits are told, for most turn out to be true ones.
 */
#include "redact_test.h"

#include <ftw.h>
#include <sys/stat.h>

#define CORPUS_MAX (24u << 20) /* bytes read of one corpus: enough to count, short enough to wait for */
#define FILE_MAX_BYTES (4 << 20)

/* nftw has no argument for its callback. */
static struct {
  const struct rp__redactor *r;
  size_t bytes, hits;
  const char *path;
} now;

static int on_secret(void *ctx, const struct rp__secret *s)
{
  const char *text = ctx;
  printf("  %s: %s: %.*s\n", now.path, s->name, (int)RP_MIN(s->end - s->start, 60), text + s->start);
  now.hits++;
  return 0;
}

/* Code and documents; not the redaction's own tests, nor what others install beside a standard library. */
static bool is_wanted(const char *path)
{
  static const char *const endings[] = {".c", ".h", ".py", ".md", ".sh", ".build", ".1", ".5", ".7", ".json"};
  static const char *const others[] = {"redact", "mask", "site-packages", "dist-packages", "/test/", "/tests/test_"};
  const char *dot = strrchr(path, '.');
  bool known = false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(endings) && dot; i++) known |= strcmp(dot, endings[i]) == 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(others); i++) known &= strstr(path, others[i]) == NULL;
  return known;
}

static int on_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)ftw;
  if (flag != FTW_F || !is_wanted(path) || st->st_size == 0 || st->st_size > FILE_MAX_BYTES) return 0;
  if (now.bytes > CORPUS_MAX) return 1;
  size_t n = (size_t)st->st_size;
  RP_AUTOFREE char *text = malloc(n);
  FILE *f = fopen(path, "rb");
  if (!text || !f) {
    if (f) fclose(f);
    return 0;
  }
  n = fread(text, 1, n, f);
  fclose(f);
  now.path = path;
  now.bytes += n;
  return rp__redact_find(now.r, text, n, on_secret, text);
}

int main(int argc, char **argv)
{
  struct rp__redactor *r = NULL;
  double bytes = 0, hits = 0;
  if (argc < 3 || rp__redactor_new(NULL, &r, NULL)) return 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    now.r = r;
    now.bytes = now.hits = 0;
    nftw(argv[i + 1], on_file, 32, FTW_PHYS);
    printf("%s: %.2f MB, %zu hits\n", argv[i], (double)now.bytes / 1e6, now.hits);
    bytes += (double)now.bytes;
    hits += (double)now.hits;
  }
  rp__redactor_free(r);
  printf("together: %.2f MB, %.0f hits\n", bytes / 1e6, hits);
  if (bytes < 1e6) return 77; /* nothing to speak of was there */
  return hits * 1e6 <= bytes ? 0 : 1;
}
