/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is no secret stays: at most one false hit in five megabytes of code, JSON, logs, manuals and
 * messages in many languages, read from what is installed. The arguments are pairs of a name and a folder; one that is
 * absent, and what a bound cuts off, is said. JSON goes the way of bodies (decoded strings with their names), all else
 * is text. Every hit is told with a sum by which it can be entered below once somebody has looked at it.
 * $REDACT_CORPUS_MB reads so much of each corpus, without a limit of time.
 */
#include "redact_test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#include "core/mask.h"

#define CORPUS_MAX (16u << 20) /* bytes read of one corpus: enough to count, short enough to wait for */
#define FILE_MAX_BYTES (4 << 20)
#define CORPUS_SECONDS 20
#define FALSE_BYTES 5e6 /* bytes that may have one false hit */
#define SHOWN 60

/* Hits that are right: credentials that a manual or an example shows as such. The sum is that of the masked bytes. */
static const struct {
  uint64_t sum;
  const char *why;
} reviewed[] = {
    {UINT64_C(0xf6d7936fa1c27754), "our demonstration of masking"},
    {UINT64_C(0x5fcc128861ed0dd9), "our manual on masking"},
    {UINT64_C(0x9331532577c8e784), "OpenSSL: a key that is published in its header"},
    {UINT64_C(0x0fd990c5156251fe), "PyJWT: an example of a token"},
    {UINT64_C(0x3c8f7135ba801fa5), "distutils: an example of .pypirc"},
    {UINT64_C(0x55e6407fd6eea643), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x03b3433f2c47d86f), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x058633e2ffe8cd27), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x87ca6becf2a5aec2), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x617d0862d799231c), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x273f5e023867ba98), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x3244b53af1033797), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x70c94e0268584f33), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x846b2a1e2fad7fcb), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0xecc1a4474851bc28), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0xbb65956c4b8b34bf), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0xdc8d8ca0645472e9), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x4f459807254f1ee7), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0xc60b8fd9544285d0), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x003934191339461a), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0xc97395cb2119ad20), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x229abea48616cee4), "oauthlib: requests and answers with tokens"},
    {UINT64_C(0x9dde685d7f95c75b), "npm: an example of .npmrc"},
    {UINT64_C(0x507a637f3b8046f5), "npm: an example of .npmrc"},
    {UINT64_C(0xa0cfbb0320b11fc6), "npm: an example of .npmrc"},
    {UINT64_C(0xc16faedb7489c212), "octokit: examples of tokens"},
    {UINT64_C(0xd3cd566fdd26faea), "octokit: examples of tokens"},
    {UINT64_C(0xb14c88f4a58e4d25), "octokit: examples of tokens"},
    {UINT64_C(0xdddfc6f557863d93), "octokit: examples of tokens"},
    {UINT64_C(0xcd704dd6132b705f), "octokit: examples of tokens"},
    {UINT64_C(0xbcca4fc5ada878fa), "octokit: examples of tokens"},
    {UINT64_C(0xab12efedabb1f0b0), "apt_auth.conf(5): an example of a password"},
    {UINT64_C(0x1f864da2cebece04), "pam.conf(5): an example of a password"},
    {UINT64_C(0xd82b0c9f9be850f1), "systemd.netdev(5): an example of a private key"},
    {UINT64_C(0x406875e765229906), "gcloud(1): an example of a password"},
    {UINT64_C(0x3b155ae7ca54d6ae), "gcloud(1): an example of a password"},
    {UINT64_C(0x507c4f90e3aef6c2), "openssl-cmp(1): an example of a secret"},
    {UINT64_C(0x0e627699b98376d0), "AWS: the example of a key id"},
    {UINT64_C(0xa4e61cf2b4bf7153), "moto: a shared key that is made up"},
};

/* nftw has no argument for its callback. */
static struct {
  const struct rp__redactor *r;
  size_t bytes, hits, right, files, max;
  double until;
  const char *path;
  bool cut;
} now;

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t sum_of(const char *p, size_t n)
{
  uint64_t h = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * UINT64_C(1099511628211);
  return h;
}

static void tell(const char *name, const char *text, size_t from, size_t to)
{
  uint64_t sum = sum_of(text + from, to - from);
  for (size_t i = 0; i < RP_ARRAY_SIZE(reviewed); i++) {
    if (reviewed[i].sum != sum) continue;
    now.right++;
    return;
  }
  size_t before = RP_MIN(from, 40);
  char shown[SHOWN + 64];
  int n = snprintf(shown, sizeof shown, "%.*s<%.*s>", (int)before, text + from - before, (int)RP_MIN(to - from, SHOWN),
                   text + from);
  for (int i = 0; i < n && i < (int)sizeof shown - 1; i++)
    if ((unsigned char)shown[i] < ' ') shown[i] = '~';
  printf("  %s: %s: %s 0x%016llx\n", now.path, name, shown, (unsigned long long)sum);
  now.hits++;
}

static int on_secret(void *ctx, const struct rp__secret *s)
{
  tell(s->name, ctx, s->start, s->end);
  return 0;
}

/* Where a body was masked: the masks of `out` laid beside the bytes they stand for. */
static void tell_masks(const char *text, size_t n, struct rp__str out)
{
  size_t at = 0, mask = strlen(RP_MASK);
  for (size_t i = 0; i < out.n && at < n;) {
    if (out.p[i] == text[at]) {
      i++;
      at++;
      continue;
    }
    /* A secret may begin with the mask's own first byte, and what stood there before is gone: back to the mask. */
    while (i > 0 && (out.n - i < mask || memcmp(out.p + i, RP_MASK, mask) != 0)) i--, at--;
    size_t behind = RP_MIN(out.n - i - mask, 24);
    const char *next = memmem(out.p + i + mask, behind, "[REDACTED", 9);
    if (next) behind = (size_t)(next - (out.p + i + mask));
    const char *end = behind ? memmem(text + at, n - at, out.p + i + mask, behind) : text + n;
    size_t to = end ? (size_t)(end - text) : n;
    tell("JSON", text, at, to);
    at = to;
    i += mask;
  }
}

static int look(const char *path, char *text, size_t n)
{
  const char *dot = strrchr(path, '.');
  bool json = dot && (strcmp(dot, ".json") == 0 || strcmp(dot, ".ipynb") == 0);
  if (!json) return rp__redact_find(now.r, text, n, on_secret, text);
  struct rp__buf out = RP_BUF(OUT_MAX);
  struct rp__str masked;
  size_t hits = 0;
  int rc = rp__mask_bytes(now.r, text, n, &out, &masked, &hits);
  if (!rc && hits) tell_masks(text, n, masked);
  rp__buf_done(&out);
  return rc;
}

/* Not what is about secrets or tests them: credentials there are meant to look like some. */
static bool is_wanted(const char *path)
{
  static const char *const others[] = {"redact", "mask",      "/test/",     "/tests/",   "/test_",
                                       "_test.", "/testing/", "/testdata/", "/fixtures/"};
  static const char *const endings[] = {".so",  ".a",    ".o",     ".pyc", ".png", ".jpg", ".wasm",   ".node",
                                        ".br",  ".zst",  ".xz",    ".whl", ".gif", ".pdf", ".sqlite", ".db",
                                        ".ico", ".woff", ".woff2", ".ttf", ".zip", ".exe", ".rlib",   ".rmeta"};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; i < RP_ARRAY_SIZE(others); i++)
    if (strstr(path, others[i])) return false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(endings) && dot; i++)
    if (strcmp(dot, endings[i]) == 0) return false;
  return true;
}

/* The file, unpacked if it is packed; compiled messages (.mo) have NULs between them. */
static char *read_text(const char *path, size_t *ret)
{
  gzFile f = gzopen(path, "rb");
  char *text = f ? malloc(FILE_MAX_BYTES) : NULL;
  int n = text ? gzread(f, text, FILE_MAX_BYTES) : -1;
  if (f) gzclose(f);
  if (n <= 0) {
    free(text);
    return NULL;
  }
  *ret = (size_t)n;
  for (int i = 0; i < n; i++)
    if (text[i] == '\0') text[i] = '\n';
  return text;
}

static int on_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)ftw;
  if (flag != FTW_F || !is_wanted(path) || st->st_size == 0 || st->st_size > FILE_MAX_BYTES) return 0;
  if (now.bytes > now.max || seconds() > now.until) {
    now.cut = true;
    return 1;
  }
  size_t n = 0;
  RP_AUTOFREE char *text = read_text(path, &n);
  if (!text) return 0;
  now.path = path;
  now.bytes += n;
  now.files++;
  return look(path, text, n);
}

int main(int argc, char **argv)
{
  struct rp__redactor *r = NULL;
  double bytes = 0, hits = 0, right = 0;
  const char *all = getenv("REDACT_CORPUS_MB");
  if (argc < 3 || rp__redactor_new(NULL, &r, NULL)) return 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    memset(&now, 0, sizeof now);
    now.r = r;
    now.max = all ? (size_t)strtoul(all, NULL, 10) << 20 : CORPUS_MAX;
    now.until = all ? 1e9 : seconds() + CORPUS_SECONDS;
    nftw(argv[i + 1], on_file, 32, FTW_PHYS);
    printf("%s: %.2f MB in %zu files, %zu hits, %zu reviewed ones%s%s\n", argv[i], (double)now.bytes / 1e6, now.files,
           now.hits, now.right, now.cut ? "; the rest was not read" : "", now.files == 0 ? "; nothing is there" : "");
    bytes += (double)now.bytes;
    hits += (double)now.hits;
    right += (double)now.right;
  }
  rp__redactor_free(r);
  printf("together: %.2f MB, %.0f hits (%.3f in a megabyte; the limit is %.3f), %.0f reviewed ones\n", bytes / 1e6,
         hits, bytes > 0 ? hits / (bytes / 1e6) : 0, 1e6 / FALSE_BYTES, right);
  if (bytes < 1e6) return 77; /* nothing to speak of was there */
  return hits * FALSE_BYTES <= bytes ? 0 : 1;
}
