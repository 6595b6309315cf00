/* SPDX-License-Identifier: Apache-2.0 */
/* Computes session tokens and compares them. */
#include "base/credentials/session-token.h"

#include <sodium.h>

#define SESSION_PURPOSE "session, born:"
#define SESSION_MAC 24 /* bytes of a session's token behind its birth */

/* A store that gives a deleted session's number to the next one still has another time, or another scope. */
rp__birth rp__birth_of(const rp_session_info *info)
{
  unsigned char hash[crypto_generichash_BYTES];
  crypto_generichash_state st;
  rp__birth birth;
  int64_t numbers[2] = {info->number, info->created_at};
  crypto_generichash_init(&st, NULL, 0, sizeof hash);
  crypto_generichash_update(&st, (const unsigned char *)numbers, sizeof numbers);
  crypto_generichash_update(&st, (const unsigned char *)info->scope, strlen(info->scope));
  crypto_generichash_final(&st, hash, sizeof hash);
  memcpy(&birth, hash, sizeof birth);
  return birth == RP_BIRTH_ANY ? 1 : birth;
}

void rp__session_token(const struct rp__internal_secret *s, const char *session_id, rp__birth birth,
                       char out[RP_SESSION_TOKEN_TEXT])
{
  unsigned char hash[RP_SECRET_HASH], bytes[sizeof birth + SESSION_MAC];
  char text[17 + RP_ID_MAX + 1];
  snprintf(text, sizeof text, "%016llx:%s", (unsigned long long)birth, session_id);
  rp__secret_derive(s, SESSION_PURPOSE, text, hash);
  memcpy(bytes, &birth, sizeof birth);
  memcpy(bytes + sizeof birth, hash, SESSION_MAC);
  memcpy(out, RP_SESSION_TOKEN_PREFIX, sizeof RP_SESSION_TOKEN_PREFIX);
  sodium_bin2base64(out + sizeof RP_SESSION_TOKEN_PREFIX - 1,
                    RP_SESSION_TOKEN_TEXT - (sizeof RP_SESSION_TOKEN_PREFIX - 1), bytes, sizeof bytes,
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool rp__session_token_is(const struct rp__internal_secret *s, const char *session_id, rp__birth birth,
                          struct rp__str token)
{
  unsigned char bytes[sizeof birth + SESSION_MAC];
  char right[RP_SESSION_TOKEN_TEXT];
  size_t head = sizeof RP_SESSION_TOKEN_PREFIX - 1, n = 0;
  rp__birth claimed;
  if (token.n != sizeof right - 1 || strlen(session_id) > RP_ID_MAX) return false;
  if (sodium_base642bin(bytes, sizeof bytes, token.p + head, token.n - head, NULL, &n, NULL,
                        sodium_base64_VARIANT_URLSAFE_NO_PADDING) ||
      n != sizeof bytes)
    return false;
  memcpy(&claimed, bytes, sizeof claimed);
  rp__session_token(s, session_id, claimed, right);
  bool ours = sodium_memcmp(token.p, right, sizeof right - 1) == 0;
  return ours && claimed != RP_BIRTH_ANY && (birth == RP_BIRTH_ANY || birth == claimed);
}
