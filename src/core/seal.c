/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed form: magic byte, id of the key, nonce, ciphertext with its tag. */
#include "core/seal.h"

#include <sodium.h>

#include "base/text.h"

#define SEAL_MAGIC 0xA7
#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(RP_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the key has the cipher's size");
_Static_assert(RP_SEAL_OVERHEAD == 1 + RP_KEY_ID + NONCE_BYTES + TAG_BYTES, "the overhead is what the header says");

static void key_name(struct rp__key *k)
{
  unsigned char id[crypto_generichash_BYTES_MIN];
  crypto_generichash(id, sizeof id, NULL, 0, k->bytes, sizeof k->bytes);
  memcpy(k->id, id, RP_KEY_ID);
}

void rp__key_make(const struct rp__random *r, struct rp__key *ret)
{
  r->fill(r->ctx, ret->bytes, sizeof ret->bytes);
  key_name(ret);
}

int rp__key_parse(const char *text, size_t n, struct rp__key *ret, rp_error *err)
{
  struct rp__key k = {0};
  const char *end = NULL;
  size_t len = 0;
  while (n && rp__is_in(text[0], " \t\r\n")) text++, n--;
  while (n && rp__is_in(text[n - 1], " \t\r\n")) n--;
  if (sodium_init() < 0) return rp__fail(err, RP_E_FAILED, "the cryptographic library can't start");
  bool hex = n == 2 * RP_KEY_BYTES && sodium_hex2bin(k.bytes, RP_KEY_BYTES, text, n, NULL, &len, &end) == 0 &&
             len == RP_KEY_BYTES && end == text + n;
  if (!hex && n < RP_KEY_BYTES) {
    rp__fail_field(err, RP_E_CONFIG, "key_file", "the key has %zu bytes, at least %d are needed", n, RP_KEY_BYTES);
    rp__hint(err, "64 hexadecimal digits from a random source make a good key");
    return RP_E_CONFIG;
  }
  if (!hex) crypto_generichash(k.bytes, sizeof k.bytes, (const unsigned char *)text, n, NULL, 0);
  key_name(&k);
  *ret = k;
  rp__key_wipe(&k);
  return 0;
}

void rp__key_wipe(struct rp__key *k)
{
  sodium_memzero(k, sizeof *k);
}

int rp__seal(const struct rp__key *k, const struct rp__random *r, struct rp__str ad, const void *plain, size_t n,
             struct rp__buf *out)
{
  unsigned char *at = n > SIZE_MAX - RP_SEAL_OVERHEAD ? NULL : (unsigned char *)rp__buf_room(out, n + RP_SEAL_OVERHEAD);
  if (!at) return out->err ? out->err : RP_E_TOO_LARGE;
  at[0] = SEAL_MAGIC;
  memcpy(at + 1, k->id, RP_KEY_ID);
  unsigned char *nonce = at + 1 + RP_KEY_ID;
  r->fill(r->ctx, nonce, NONCE_BYTES);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + NONCE_BYTES, NULL, plain, n, (const unsigned char *)ad.p, ad.n,
                                             NULL, nonce, k->bytes);
  out->n += n + RP_SEAL_OVERHEAD;
  return 0;
}

int rp__unseal(const struct rp__key *k, struct rp__str ad, const void *sealed, size_t n, struct rp__buf *out,
               rp_error *err)
{
  const unsigned char *at = sealed;
  if (n < RP_SEAL_OVERHEAD || at[0] != SEAL_MAGIC) return rp__fail(err, RP_E_CORRUPT, "these are no sealed bytes");
  if (!k) {
    rp__fail(err, RP_E_KEY_MISSING, "this is sealed and no key is set");
    rp__hint(err, "set key_file, or REPRISE_KEY_FILE, to the key it was sealed with");
    return RP_E_KEY_MISSING;
  }
  if (memcmp(at + 1, k->id, RP_KEY_ID) != 0)
    return rp__fail(err, RP_E_KEY_WRONG, "this was sealed with another key than the one set");

  const unsigned char *nonce = at + 1 + RP_KEY_ID, *cipher = nonce + NONCE_BYTES;
  size_t cipher_n = n - 1 - RP_KEY_ID - NONCE_BYTES;
  unsigned char *plain = (unsigned char *)rp__buf_room(out, cipher_n);
  if (!plain)
    return out->err == RP_E_NOMEM ? rp__fail_nomem(err) : rp__fail(err, RP_E_TOO_LARGE, "sealed bytes over the limit");
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, cipher, cipher_n, (const unsigned char *)ad.p, ad.n,
                                                 nonce, k->bytes) != 0)
    return rp__fail(err, RP_E_CORRUPT, "sealed bytes are damaged or belong elsewhere");
  out->n += cipher_n - TAG_BYTES;
  plain[cipher_n - TAG_BYTES] = 0;
  return 0;
}

uint64_t rp__checksum(const void *bytes, size_t n, uint64_t seed)
{
  unsigned char key[crypto_shorthash_KEYBYTES] = "reprise\1", hash[crypto_shorthash_BYTES];
  uint64_t sum = 0;
  for (unsigned i = 0; i < 8; i++) key[8 + i] = (unsigned char)(seed >> (8 * i));
  crypto_shorthash(hash, bytes, n, key);
  for (unsigned i = 0; i < 8; i++) sum |= (uint64_t)hash[i] << (8 * i);
  return sum;
}
