/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a corpus without libFuzzer: every file in the folders (or files) named on
 * the command line goes through the target once, in memory of its exact size, so that
 * the address sanitizer sees any read beyond it. A folder without files is a failure:
 * a test that runs nothing must not pass.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (64L << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void die(const char *what, const char *path)
{
  fprintf(stderr, "fuzz driver: %s: %s\n", path, what);
  exit(1);
}

static void replay_file(const char *path)
{
  FILE *f = fopen(path, "rb");
  if (!f) die("can't be opened", path);
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  if (n < 0 || n > FILE_MAX) die("not a file of acceptable size", path);
  rewind(f);
  uint8_t *bytes = malloc(n ? (size_t)n : 1);
  if (!bytes || fread(bytes, 1, (size_t)n, f) != (size_t)n) die("can't be read", path);
  fclose(f);
  LLVMFuzzerTestOneInput(bytes, (size_t)n);
  free(bytes);
}

static unsigned replay_folder(const char *folder)
{
  struct dirent **entries = NULL;
  unsigned replayed = 0;
  int n = scandir(folder, &entries, NULL, alphasort);
  if (n < 0) die("can't be listed", folder);
  for (int i = 0; i < n; i++) {
    char path[4096];
    struct stat st;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) >= sizeof(path))
      die("name too long", folder);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
      replay_file(path);
      replayed++;
    }
    free(entries[i]);
  }
  free(entries);
  if (replayed == 0) die("holds no files to replay", folder);
  return replayed;
}

int main(int argc, char **argv)
{
  unsigned replayed = 0;
  if (argc < 2) die("name a folder of inputs", argv[0]);
  for (int i = 1; i < argc; i++) {
    struct stat st;
    if (stat(argv[i], &st) != 0) die("absent", argv[i]);
    if (S_ISDIR(st.st_mode)) {
      replayed += replay_folder(argv[i]);
    } else {
      replay_file(argv[i]);
      replayed++;
    }
  }
  printf("%u inputs replayed\n", replayed);
  return 0;
}
