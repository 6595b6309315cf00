/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises names of credentials: splits a name into words and judges these by a table. */
#include "redact/key.h"

#include "base/text.h"

#include "redact/redact.h"

#define NAME_MAX_BYTES 96
#define WORDS_MAX 16

/* The words of a name in lower case, each ended by NUL. */
struct words {
  char text[NAME_MAX_BYTES + WORDS_MAX + 1];
  const char *at[WORDS_MAX];
  size_t n;
};

static void words_split(struct words *w, const char *name, size_t n)
{
  size_t to = 0;
  w->n = 0;
  if (n > NAME_MAX_BYTES) {
    name += n - NAME_MAX_BYTES;
    n = NAME_MAX_BYTES;
  }
  for (size_t i = 0; i < n; i++) {
    char c = name[i], before = i ? name[i - 1] : '\0', next = i + 1 < n ? name[i + 1] : '\0';
    if (!rp__is_alnum(c)) continue;
    /* my_key, myKey, APIKey */
    bool begins = !rp__is_alnum(before) || (rp__is_upper(c) && (!rp__is_upper(before) || rp__is_lower(next)));
    if (begins && w->n < WORDS_MAX) {
      w->text[to++] = '\0';
      w->at[w->n++] = w->text + to;
    }
    w->text[to++] = rp__ascii_lower(c);
  }
  w->text[to] = '\0';
}

static bool in(const char *const *list, const char *word)
{
  for (; *list; list++)
    if (**list == *word && strcmp(*list, word) == 0) return true;
  return false;
}

static bool ends_in(const char *const *list, const char *word)
{
  size_t n = strlen(word);
  for (; *list; list++) {
    size_t k = strlen(*list);
    if (k <= n && memcmp(word + n - k, *list, k) == 0) return true;
  }
  return false;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static enum rp__key_class class_of_pair(const char *before, const char *last)
{
  if (in(LIST("key", "keys"), last))
    return in(LIST("api", "secret", "private", "access", "auth", "signing", "encryption", "account", "master",
                   "service", "subscription", "deploy", "consumer", "app", "storage", "shared", "hmac", "admin", "aes",
                   "stripe", "openai", "anthropic", "gemini", "mistral", "groq", "cohere", "sendgrid", "mailgun",
                   "twilio", "datadog", "newrelic", "algolia", "supabase", "pinecone", "replicate", "deepseek",
                   "openrouter", "perplexity", "xai", "cloudflare", "heroku", "linear", "notion", "pusher", "mapbox",
                   "elevenlabs", "webhook", "license"),
              before)
               ? RP_KEY_SECRET
               : RP_KEY_NONE;
  if (strcmp(last, "data") == 0) return strcmp(before, "key") == 0 ? RP_KEY_TOKEN : RP_KEY_NONE;
  if (strcmp(last, "pass") == 0 && !*before) return RP_KEY_PASS;
  if (strcmp(last, "pass") == 0)
    return in(LIST("db", "database", "smtp", "mail", "email", "user", "admin", "root", "mysql", "postgres", "pg",
                   "redis", "ftp", "ssh", "http", "auth", "proxy", "login", "mongo", "mongodb", "my", "imap", "amqp",
                   "rabbitmq", "ldap", "wifi", "vpn", "sudo", "keystore", "truststore", "app"),
              before)
               ? RP_KEY_PASSWORD
               : RP_KEY_NONE;
  if (strcmp(last, "phrase") == 0) return in(LIST("pass", "recovery", "seed"), before) ? RP_KEY_PHRASE : RP_KEY_NONE;
  return RP_KEY_NONE;
}

enum rp__key_class rp__key_class(const char *name, size_t n)
{
  /* password_confirmation, SECRET_KEY_BASE, token2, DB_PASSWORD_PROD are named by what stands before. */
  const char *const *additions =
      LIST("prod", "production", "staging", "dev", "development", "base", "value", "plain", "plaintext", "raw", "old",
           "new", "current", "confirm", "confirmation", "again", "repeat", "text", "str", "string", "default", "b64");
  struct words w;
  words_split(&w, name, n);
  for (; w.n > 0; w.n--) {
    char *word = w.text + (w.at[w.n - 1] - w.text);
    size_t length = strlen(word);
    while (length > 0 && rp__is_digit(word[length - 1])) word[--length] = '\0';
    if (length > 0 && !(w.n > 1 && in(additions, word))) break;
  }
  if (w.n == 0) return RP_KEY_NONE;
  /* is_secret, has_password, reset_token: a question or a deed, no value. */
  if (w.n > 1 &&
      in(LIST("is", "has", "no", "use", "uses", "require", "requires", "required", "need", "needs", "allow", "enable",
              "disable", "show", "hide", "check", "verify", "validate", "forgot", "forget", "reset", "change",
              "without", "with", "get", "set", "parse", "read", "next", "expect", "generate", "max", "min"),
         w.at[0]))
    return RP_KEY_NONE;
  const char *last = w.at[w.n - 1], *before = w.n > 1 ? w.at[w.n - 2] : "";
  if (strcmp(last, "passphrase") == 0) return RP_KEY_PHRASE;
  if (strcmp(last, "mnemonic") == 0) return RP_KEY_MNEMONIC;
  if (in(LIST("pwd", "passcode", "passwords", "dbpwd", "userpwd"), last) || ends_in(LIST("password", "passwd"), last))
    return RP_KEY_PASSWORD;
  if (strcmp(last, "token") == 0) {
    if (in(LIST("page", "continuation", "cancel", "cancellation", "cancelation", "special", "start", "end", "eos",
                "bos", "pad", "unk", "sep", "cls", "stop", "first", "last", "cur", "prev", "per", "input", "output",
                "lookahead", "peek", "word", "sub", "char", "open", "close", "comment", "keyword", "operator",
                "invalid", "unexpected", "each", "every", "skip", "sync", "resume", "change", "etag", "shutdown",
                "stopping", "line", "pagination", "idempotency", "progress", "lock"),
           before))
      return RP_KEY_NONE;
    return in(LIST("access", "refresh", "auth", "api", "bearer", "bot", "session", "security", "secret", "oauth",
                   "github", "gitlab", "gh", "slack", "npm", "id", "jwt", "service", "personal", "deploy", "ci", "app",
                   "hf", "telegram", "discord", "vault", "csrf", "xsrf", "private", "admin", "device", "web", "login"),
              before)
               ? RP_KEY_SECRET
               : RP_KEY_TOKEN;
  }
  if (in(LIST("secrets", "credential", "credentials", "authorization", "bearer", "jwt"), last)) return RP_KEY_TOKEN;
  if (strcmp(last, "apikeys") == 0 ||
      ends_in(LIST("secret", "apikey", "apitoken", "authtoken", "accesstoken", "refreshtoken", "sessiontoken",
                   "secretkey", "privatekey", "accesskey", "signingkey", "encryptionkey", "authkey", "accountkey",
                   "masterkey"),
              last))
    return RP_KEY_SECRET;
  enum rp__key_class pair = class_of_pair(before, last);
  if (pair != RP_KEY_NONE || strcmp(last, "key") != 0 || !*before) return pair;
  /* CACHE_KEY, PRIMARY_KEY are known not to be; any other KEY of an environment may be a service's. */
  for (size_t i = 0; i < n; i++)
    if (rp__is_lower(name[i]) || name[i] == '-') return RP_KEY_NONE;
  return in(LIST("cache", "primary", "foreign", "public", "sort", "partition", "idempotency", "host", "hot", "index",
                 "registry", "hash", "unique", "object", "s3", "routing", "row", "group", "msg", "message", "lookup"),
            before)
             ? RP_KEY_NONE
             : RP_KEY_TOKEN;
}

bool rp__redact_key_name(const char *name, size_t n)
{
  return rp__key_class(name, n) != RP_KEY_NONE;
}

int rp__key_mentions(const char *text, size_t n)
{
  struct words w;
  words_split(&w, text, n);
  for (size_t i = 0; i < w.n; i++) {
    if (in(LIST("pwd", "key", "keys", "auth", "oauth", "pass", "pw", "bearer", "tokens", "secrets", "passwords"),
           w.at[i]))
      return 1;
    if (ends_in(
            LIST("password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "authorization"),
            w.at[i]))
      return 1;
  }
  return 0;
}
