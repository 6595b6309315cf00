/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots from a hostile disk. The first byte chooses how deep the rest goes:
 * as a whole container; as the payload of a container whose header fits (the
 * checksum would stop nearly everything else); as the document inside.
 */
#include <sodium.h>
#include <zstd.h>

#include "core/snapshot.h"
#include "facets/table.h"
#include "container.h"

#define AD RP_STR("fuzz")
/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())
#define SAVED_MAX ((size_t)4 * 1024 * 1024 + 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void save(const struct rp__fold *f, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__fold_save(f, &w);
  MUST(!out->err);
}

static void apply(struct rp__fold *f, enum rp__kind kind, const char *body)
{
  int64_t to, seq = rp__fold_seq(f);
  if (seq == INT64_MAX) return;
  struct rp__event ev = {seq + 1, 5, kind, NULL, rp__json_trusted(body, strlen(body))};
  int rc = rp__fold_apply(f, &ev, &to);
  MUST(rc == 0);
}

/* Whatever could be loaded saves within its bounds, loads again, and is the same then. */
static void check_state(struct rp__fold *f)
{
  RP_AUTOBUF struct rp__buf a = RP_BUF(SAVED_MAX), b = RP_BUF(SAVED_MAX), bytes = RP_BUF(2 * SAVED_MAX);
  RP_AUTOFOLD struct rp__fold *back = NULL;
  size_t raw;
  apply(f, RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"on\"}");
  apply(f, RP_KIND_TOOL, "{\"call_id\":\"a\",\"name\":\"b\",\"status\":\"running\"}");
  apply(f, RP_KIND_RESTORED, "{\"cause\":\"crash\",\"elapsed_seconds\":1.5}");
  apply(f, RP_KIND_USAGE, "{\"tokens_in\":1,\"cost_usd\":0.5}");
  save(f, &a);
  int rc = rp__snapshot_encode(f, NULL, &rp__system_random, AD, &bytes, &raw, NULL);
  MUST(rc == 0 && raw == a.n);
  rc = rp__snapshot_decode(bytes.p, bytes.n, NULL, AD, &rp__facets, &back, NULL);
  MUST(rc == 0);
  save(back, &b);
  MUST(a.n == b.n && memcmp(a.p, b.p, a.n) == 0);
}

static void try_container(const void *bytes, size_t n, const struct rp__key *key)
{
  RP_AUTOFOLD struct rp__fold *f = NULL;
  rp_error err = {0};
  int rc = rp__snapshot_decode(bytes, n, key, AD, &rp__facets, &f, &err);
  MUST(rc == err.code && (rc == 0) == (f != NULL));
  if (f) check_state(f);
}

/* Eight bytes of header (version, flags, size of the document), then the payload. */
static void try_payload(const uint8_t *data, size_t n, const struct rp__key *key)
{
  size_t whole = 0;
  RP_AUTOFREE unsigned char *bytes = container_make("RPS1", data, n, &whole);
  if (bytes) try_container(bytes, whole, key);
}

static void try_document(const uint8_t *data, size_t n)
{
  size_t bound = ZSTD_compressBound(n);
  RP_AUTOFREE unsigned char *bytes = malloc(8 + bound);
  if (!bytes || n > RP_SNAPSHOT_MAX) return;
  memset(bytes, 0, 8);
  bytes[0] = 1;
  for (unsigned i = 0; i < 4; i++) bytes[4 + i] = (unsigned char)(n >> (8 * i));
  size_t packed = ZSTD_compress(bytes + 8, bound, data, n, 1);
  if (!ZSTD_isError(packed)) try_payload(bytes, 8 + packed, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static const struct rp__key key = {.bytes = "a key for fuzzing", .id = "fuzzing"};
  if (n == 0) return 0;
  switch (data[0] % 4) {
  case 0: try_container(data + 1, n - 1, NULL); break;
  case 1: try_payload(data + 1, n - 1, NULL); break;
  case 2: try_payload(data + 1, n - 1, &key); break;
  default: try_document(data + 1, n - 1); break;
  }
  return 0;
}
