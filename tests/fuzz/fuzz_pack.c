/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs from a hostile disk. The first byte chooses how deep the rest goes: as a whole container, as the payload of a
 * container whose header fits, sealed or not, or as the text of one, which must come back as it was.
 */
#include <sodium.h>

#include "core/container.h"
#include "container.h"

#define AD RP_STR("fuzz")
/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct rp__key key = {.bytes = "a key for fuzzing", .id = "fuzzing"};

static int count(void *ctx, const void *bytes, size_t n)
{
  MUST(bytes && n > 0);
  *(size_t *)ctx += n;
  return 0;
}

static void try_container(const void *bytes, size_t n, const struct rp__key *k)
{
  rp_error err = {0};
  size_t given = 0;
  int rc = rp__unpack(bytes, n, k, AD, count, &given, &err);
  MUST(rc == err.code && given <= RP_BLOB_MAX);
}

/* Eight bytes of header (flags, size of the text), then the payload. */
static void try_payload(const uint8_t *data, size_t n, const struct rp__key *k)
{
  size_t whole = 0;
  RP_AUTOFREE unsigned char *bytes = container_make("RPB1", data, n, &whole);
  if (bytes) try_container(bytes, whole, k);
}

static int add(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return 0;
}

static void try_text(const uint8_t *data, size_t n, const struct rp__key *k)
{
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RP_PACK_MAX), out = RP_BUF(RP_BLOB_MAX);
  int rc = rp__pack(data, n, k, &rp__system_random, AD, &packed, NULL);
  MUST(rc == 0);
  rc = rp__unpack(packed.p, packed.n, k, AD, add, &out, NULL);
  MUST(rc == 0 && out.n == n && (n == 0 || memcmp(out.p, data, n) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0) return 0;
  switch (data[0] % 4) {
  case 0: try_container(data + 1, n - 1, NULL); break;
  case 1: try_payload(data + 1, n - 1, NULL); break;
  case 2: try_payload(data + 1, n - 1, &key); break;
  default: try_text(data + 1, n - 1, data[0] & 4 ? &key : NULL); break;
  }
  return 0;
}
