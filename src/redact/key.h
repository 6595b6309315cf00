/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises names of credentials by their words: DB_PASSWORD, apiKey, x-auth-token; not token_count, is_secret,
 * public_key.
 */
#ifndef RP_REDACT_KEY_H
#define RP_REDACT_KEY_H

#include "base/macros.h"

enum rp__key_class {
  RP_KEY_NONE = 0,
  RP_KEY_TOKEN,    /* weak evidence: token, credentials, pass … are as often a parser's, a mode or a verdict */
  RP_KEY_SECRET,   /* api_key, client_secret, access_token … */
  RP_KEY_PASSWORD, /* chosen by people: may be any word or number */
  RP_KEY_PHRASE,   /* may be several words: passphrase */
  RP_KEY_PASS,     /* "pass" alone: a password, a verdict, a keyword */
  RP_KEY_MNEMONIC, /* is several words, else it is an instruction's or a key's */
};
enum rp__key_class rp__key_class(const char *name, size_t n);

/* Whether a text made of words has one that names credentials ("userPassword", "the-api-key"): a name, no secret. */
int rp__key_mentions(const char *text, size_t n);

#endif
