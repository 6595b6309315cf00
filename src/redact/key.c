/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/key.h"

#include "redact/redact.h"

#define NAME_MAX_BYTES 96
#define WORDS_MAX 16

/* The words of a name in lower case, each ended by NUL. */
struct words {
  char text[NAME_MAX_BYTES + WORDS_MAX + 1];
  const char *at[WORDS_MAX];
  size_t n;
};

static bool is_upper(char c)
{
  return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
  return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Whether a word begins at name[i], which is a letter or digit: my_key, myKey, APIKey. */
static bool word_begins(const char *name, size_t n, size_t i)
{
  if (i == 0) return true;
  char before = name[i - 1], c = name[i];
  if (!is_upper(before) && !is_lower(before) && !is_digit(before)) return true;
  if (!is_upper(c)) return false;
  return !is_upper(before) || (i + 1 < n && is_lower(name[i + 1]));
}

static void words_split(struct words *w, const char *name, size_t n)
{
  size_t to = 0;
  w->n = 0;
  if (n > NAME_MAX_BYTES) {
    name += n - NAME_MAX_BYTES;
    n = NAME_MAX_BYTES;
  }
  for (size_t i = 0; i < n; i++) {
    char c = name[i];
    if (!is_upper(c) && !is_lower(c) && !is_digit(c)) continue;
    if (word_begins(name, n, i) && w->n < WORDS_MAX) {
      w->text[to++] = '\0';
      w->at[w->n++] = w->text + to;
    }
    w->text[to++] = is_upper(c) ? (char)(c + 32) : c;
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

/* password_confirmation, SECRET_KEY_BASE, token2, DB_PASSWORD_PROD are named by what stands before. */
static void words_trim(struct words *w)
{
  const char *const *additions =
      LIST("prod", "production", "staging", "dev", "development", "base", "value", "plain", "plaintext", "raw", "old",
           "new", "current", "confirm", "confirmation", "again", "repeat", "text", "str", "string", "default", "b64");
  while (w->n > 0) {
    char *last = w->text + (w->at[w->n - 1] - w->text);
    size_t n = strlen(last);
    while (n > 0 && is_digit(last[n - 1])) last[--n] = '\0';
    if (n > 0 && !(w->n > 1 && in(additions, last))) return;
    w->n--;
  }
}

/* is_secret, has_password, reset_token: a question or a deed, no value. */
static bool asks(const struct words *w)
{
  return w->n > 1 && in(LIST("is", "has", "no", "use", "uses", "require", "requires", "required", "need", "needs",
                             "allow", "enable", "disable", "show", "hide", "check", "verify", "validate", "forgot",
                             "forget", "reset", "change", "without", "with", "get", "set", "parse", "read", "next",
                             "expect", "generate", "max", "min"),
                        w->at[0]);
}

static enum rp__key_class class_of_token(const char *before)
{
  if (in(LIST("page", "continuation", "cancel", "cancellation", "cancelation", "special", "start", "end", "eos", "bos",
              "pad", "unk", "sep", "cls", "stop", "first", "last", "cur", "prev", "per", "input", "output", "lookahead",
              "peek", "word", "sub", "char", "open", "close", "comment", "keyword", "operator", "invalid", "unexpected",
              "each", "every", "skip", "sync", "resume", "change", "etag", "shutdown", "stopping", "line", "pagination",
              "idempotency", "progress", "lock"),
         before))
    return RP_KEY_NONE;
  return in(LIST("access", "refresh", "auth", "api", "bearer", "bot", "session", "security", "secret", "oauth",
                 "github", "gitlab", "gh", "slack", "npm", "id", "jwt", "service", "personal", "deploy", "ci", "app",
                 "hf", "telegram", "discord", "vault", "csrf", "xsrf", "private", "admin", "device", "web", "login"),
            before)
             ? RP_KEY_SECRET
             : RP_KEY_TOKEN;
}

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

/* CACHE_KEY, PRIMARY_KEY are known not to be; any other KEY of an environment may be a service's. */
static bool is_env_key(const char *name, size_t n, const char *before, const char *last)
{
  if (strcmp(last, "key") != 0 || !*before) return false;
  for (size_t i = 0; i < n; i++)
    if (is_lower(name[i]) || name[i] == '-') return false;
  return !in(LIST("cache", "primary", "foreign", "public", "sort", "partition", "idempotency", "host", "hot", "index",
                  "registry", "hash", "unique", "object", "s3", "routing", "row", "group", "msg", "message", "lookup"),
             before);
}

enum rp__key_class rp__key_class(const char *name, size_t n)
{
  struct words w;
  words_split(&w, name, n);
  words_trim(&w);
  if (w.n == 0 || asks(&w)) return RP_KEY_NONE;
  const char *last = w.at[w.n - 1], *before = w.n > 1 ? w.at[w.n - 2] : "";
  if (strcmp(last, "passphrase") == 0) return RP_KEY_PHRASE;
  if (strcmp(last, "mnemonic") == 0) return RP_KEY_MNEMONIC;
  if (in(LIST("pwd", "passcode", "passwords", "dbpwd", "userpwd"), last) || ends_in(LIST("password", "passwd"), last))
    return RP_KEY_PASSWORD;
  if (strcmp(last, "token") == 0) return class_of_token(before);
  if (in(LIST("secrets", "credential", "credentials", "authorization", "bearer", "jwt"), last)) return RP_KEY_TOKEN;
  if (strcmp(last, "apikeys") == 0 ||
      ends_in(LIST("secret", "apikey", "apitoken", "authtoken", "accesstoken", "refreshtoken", "sessiontoken",
                   "secretkey", "privatekey", "accesskey", "signingkey", "encryptionkey", "authkey", "accountkey",
                   "masterkey"),
              last))
    return RP_KEY_SECRET;
  enum rp__key_class pair = class_of_pair(before, last);
  return pair == RP_KEY_NONE && is_env_key(name, n, before, last) ? RP_KEY_TOKEN : pair;
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
