/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a request's head more strictly than libmicrohttpd does. Everything that two programs could read in two ways
 * (where a line, a name or the body ends) is refused, because a proxy in front of the server may read it the other way.
 */
#include <strings.h>

#include "net/http-impl.h"

static const char *const method_names[] = {
    [RP_GET] = "GET",     [RP_HEAD] = "HEAD",     [RP_POST] = "POST",       [RP_PUT] = "PUT",
    [RP_PATCH] = "PATCH", [RP_DELETE] = "DELETE", [RP_OPTIONS] = "OPTIONS", [RP_METHOD_OTHER] = "?",
};

const char *rp__method_name(enum rp__method m)
{
  return method_names[m];
}

enum rp__method rp__http_method(const char *name)
{
  for (unsigned i = 0; i < RP_METHOD_OTHER; i++)
    if (strcmp(name, method_names[i]) == 0) return (enum rp__method)i;
  return RP_METHOD_OTHER;
}

/* What may stand in a header's name (RFC 9110, token). */
static bool is_token(const char *s, size_t n)
{
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < n; i++) {
    char c = s[i];
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && (c == '\0' || !strchr(others, c))) return false;
  }
  return n > 0;
}

static bool is_visible(const char *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

struct head {
  const char *expected; /* where the next line must begin, NULL: lines are not looked at */
  int hosts, lengths, encodings;
  const char *length, *encoding;
  int code;
  rp_error *err;
};

static enum MHD_Result check_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_n,
                                    const char *value, size_t value_n)
{
  struct head *head = cls;
  (void)kind;
  if (head->expected && name != head->expected)
    head->code = rp__fail(head->err, RP_E_USAGE, "a line of the head does not end in CR LF, or goes on in the next");
  else if (!is_token(name, name_n))
    head->code = rp__fail(head->err, RP_E_USAGE, "a header's name has a character that names can't have");
  else if (!is_visible(value, value_n))
    head->code = rp__fail_field(head->err, RP_E_USAGE, name, "the header's value has a control character");
  if (head->code) return MHD_NO;
  if (head->expected) head->expected = value + value_n + 2;
  if (name_n == 4 && strcasecmp(name, "Host") == 0) head->hosts++;
  if (name_n == 14 && strcasecmp(name, "Content-Length") == 0) {
    head->lengths++;
    head->length = value;
  }
  if (name_n == 17 && strcasecmp(name, "Transfer-Encoding") == 0) {
    head->encodings++;
    head->encoding = value;
  }
  return MHD_YES;
}

static int check_framing(struct rp__request *r, const struct head *head, bool old, rp_error *err)
{
  if (head->encodings && (old || head->encodings > 1 || strcasecmp(head->encoding, "chunked") != 0))
    return rp__fail_field(err, RP_E_USAGE, "Transfer-Encoding", "only \"chunked\" is understood, once, with HTTP/1.1");
  if (head->encodings && head->lengths)
    return rp__fail_field(err, RP_E_USAGE, "Content-Length", "can't stand beside Transfer-Encoding");
  if (head->lengths > 1) return rp__fail_field(err, RP_E_USAGE, "Content-Length", "stands in the request twice");
  if (head->hosts > 1 || (head->hosts == 0 && !old))
    return rp__fail_field(err, RP_E_USAGE, "Host", "must stand in the request once");
  r->chunked = head->encodings > 0;
  r->uploads = r->chunked || (head->length && strtoull(head->length, NULL, 10) > 0);
  return 0;
}

static int check_target(const struct rp__request *r, rp_error *err)
{
  const char *uri = r->uri.p;
  if (*uri != '/' && !(r->method == RP_OPTIONS && strcmp(uri, "*") == 0))
    return rp__fail(err, RP_E_USAGE, "the request's target must begin with a slash");
  for (size_t i = 0; i < r->uri.n; i++)
    if (uri[i] <= 0x20 || uri[i] >= 0x7f || uri[i] == '#')
      return rp__fail(err, RP_E_USAGE, "byte %zu of the request's target must be escaped", i);
  return 0;
}

/* The parts of the request line and every header must lie in the buffer as they came, with nothing but their marks
 * between them; where each begins tells how the line before ended. */
static const char *first_line_end(const struct rp__request *r, const char *method, const char *url, const char *version)
{
  bool tight = url == method + strlen(method) + 1 && version == url + r->uri.n + 1;
  return tight ? version + strlen(version) + 2 : NULL;
}

int rp__http_check_head(struct rp__request *r, const char *method, const char *url, const char *version, rp_error *err)
{
  struct rp__http *h = r->conn->h;
  struct head head = {.err = err};
  size_t size = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
  if (size > RP_HTTP_HEAD_MAX) {
    r->refusal = 431;
    return rp__fail_field(err, RP_E_TOO_LARGE, "head", "the head has %zu bytes, at most %d are read", size,
                          RP_HTTP_HEAD_MAX);
  }
  if (h->exact_lines && !(head.expected = first_line_end(r, method, url, version)))
    return rp__fail(err, RP_E_USAGE, "the request line is not METHOD TARGET VERSION with single spaces");
  MHD_get_connection_values_n(r->mhd, MHD_HEADER_KIND, check_header, &head);
  if (head.code) return head.code;
  if (head.expected && head.expected + 2 != method + size)
    return rp__fail(err, RP_E_USAGE, "a line of the head does not end in CR LF");
  int code = check_target(r, err);
  return code ? code : check_framing(r, &head, strcmp(version, "HTTP/1.0") == 0, err);
}
