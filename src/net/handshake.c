/* SPDX-License-Identifier: Apache-2.0 */
/* The opening handshake (RFC 6455, 4.2). The server supports no extensions, so its answer names none. */
#include "net/ws.h"

#include <sodium.h>
#include <strings.h>

#include "net/sha1.h"

#define KEY_BYTES 16
#define KEY_TEXT 24
#define ACCEPT_TEXT 29 /* 20 bytes in base64, with a NUL */
static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/* Is the token in the comma-separated list? */
static bool lists(const char *list, const char *token)
{
  size_t n = strlen(token);
  while (list && *list) {
    list += strspn(list, " \t,");
    size_t len = strcspn(list, ",");
    size_t word = len;
    while (word && (list[word - 1] == ' ' || list[word - 1] == '\t')) word--;
    if (word == n && strncasecmp(list, token, n) == 0) return true;
    list += len;
  }
  return false;
}

static bool is_key(const char *key)
{
  uint8_t bytes[KEY_BYTES + 2];
  size_t n = 0;
  return key && strlen(key) == KEY_TEXT &&
         sodium_base642bin(bytes, sizeof(bytes), key, KEY_TEXT, NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
         n == KEY_BYTES;
}

int rp__ws_answer(const struct rp__ws_hello *hello, const char *protocol, struct rp__buf *ret_head, rp_error *err)
{
  char accepted[ACCEPT_TEXT];
  if (hello->method != RP_GET) return rp__fail(err, RP_E_USAGE, "a WebSocket is opened with GET");
  if (!lists(hello->upgrade, "websocket")) {
    rp__fail_field(err, RP_E_USAGE, "Upgrade", "the header Upgrade does not name websocket");
    rp__hint(err, "open this address with a WebSocket client");
    return RP_E_USAGE;
  }
  if (!lists(hello->connection, "upgrade"))
    return rp__fail_field(err, RP_E_USAGE, "Connection", "the header Connection does not name Upgrade");
  if (!hello->version || strcmp(hello->version, "13") != 0) {
    rp__fail_field(err, RP_E_USAGE, "Sec-WebSocket-Version", "version %.20s of WebSocket is not spoken here",
                   hello->version ? hello->version : "(none)");
    rp__hint(err, "Sec-WebSocket-Version: 13");
    return RP_E_USAGE;
  }
  if (!is_key(hello->key))
    return rp__fail_field(err, RP_E_USAGE, "Sec-WebSocket-Key", "Sec-WebSocket-Key is not 16 bytes in base64");
  char text[KEY_TEXT + sizeof(salt) - 1];
  uint8_t hash[RP_SHA1_SIZE];
  memcpy(text, hello->key, KEY_TEXT);
  memcpy(text + KEY_TEXT, salt, sizeof(salt) - 1);
  rp__sha1(text, sizeof(text), hash);
  sodium_bin2base64(accepted, ACCEPT_TEXT, hash, sizeof(hash), sodium_base64_VARIANT_ORIGINAL);
  rp__buf_printf(ret_head,
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: %s\r\n" RP_HTTP_SAFE_LINES,
                 accepted);
  if (protocol) rp__buf_printf(ret_head, "Sec-WebSocket-Protocol: %s\r\n", protocol);
  rp__buf_str(ret_head, "\r\n");
  return ret_head->err ? rp__fail(err, ret_head->err, "no room for the handshake's answer") : 0;
}

int rp__ws_handshake(struct rp__request *r, const char *protocol, struct rp__buf *ret_head, rp_error *err)
{
  const struct rp__ws_hello hello = {
      .method = rp__request_method(r),
      .connection = rp__request_header(r, "Connection"),
      .upgrade = rp__request_header(r, "Upgrade"),
      .version = rp__request_header(r, "Sec-WebSocket-Version"),
      .key = rp__request_header(r, "Sec-WebSocket-Key"),
  };
  return rp__ws_answer(&hello, protocol, ret_head, err);
}
