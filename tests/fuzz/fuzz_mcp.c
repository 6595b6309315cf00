/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile messages of MCP (B-04). The first byte says whether the rest comes over HTTP; then its first three lines are
 * the headers version, method and name ("-": there is none). Lines are messages of one conversation. What must hold:
 * each answer is one line of JSON with a result or an error, and what asks for nothing gets none.
 */
#include "bridge/line.h"
#include "bridge/mcp/mcp.h"

/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())

#define HEADERS 3
#define BYTES_MAX ((size_t)1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* No configuration of the user running this has a say. */
__attribute__((constructor)) static void leave_home(void)
{
  setenv("REPRISE_HOME", "/nonexistent/reprise", 1);
}

static void check_answer(const struct rp__mcp_reply *reply, const struct rp__buf *out)
{
  struct rp__json v, error;
  int64_t code = 0;
  MUST(!out->err && reply->none == (out->n == 0));
  MUST(!reply->none || !reply->code);
  int status = rp__mcp_status(reply);
  MUST(status == 200 || status == 202 || status == 400 || status == 404);
  if (reply->none) return;
  int rc = rp__json_parse(out->p, out->n, NULL, &v, NULL);
  MUST(rc == 0 && !memchr(out->p, '\n', out->n) && rp__json_eq(rp__json_get(v, "jsonrpc"), "2.0"));
  error = rp__json_get(v, "error");
  MUST((error.type == RP_JSON_OBJECT) == (rp__json_get(v, "result").type == RP_JSON_NONE));
  MUST(rp__json_i64(rp__json_get(error, "code"), &code) == (reply->code != 0) && code == reply->code);
}

static void talk(struct rp__mcp *m, struct rp__lines *lines)
{
  struct rp__str line;
  while (rp__lines_next(lines, true, &line)) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(RP_MCP_REPLY_MAX);
    struct rp__mcp_reply reply;
    rp__mcp_handle(m, line.p, line.n, &out, &reply);
    check_answer(&reply, &out);
  }
}

/* Headers are C strings: what comes behind a NUL is not theirs. */
static char *header(struct rp__lines *lines)
{
  struct rp__str line = {0};
  if (!rp__lines_next(lines, true, &line) || (line.n == 1 && line.p[0] == '-')) return NULL;
  char *text = strndup(line.p, line.n);
  MUST(text);
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 1 || n > BYTES_MAX) return 0;
  const rp_options o = {.db = "memory:", .short_lived = true};
  struct rp__mcp m = {.session = {.scope = "fuzz", .channel = "mcp", .owner = RP_OWNER_SELF, .remote = true}};
  struct rp__mcp_head head;
  struct rp__lines lines;
  char *value[HEADERS] = {NULL};
  int rc = rp_open(&o, &m.session.e, NULL);
  MUST(rc == 0);
  rp__lines_init(&lines, BYTES_MAX + 1);
  rc = rp__lines_add(&lines, (const char *)data + 1, n - 1, NULL);
  MUST(rc == 0);
  if (data[0] & 1) {
    for (size_t i = 0; i < HEADERS; i++) value[i] = header(&lines);
    head = (struct rp__mcp_head){value[0], value[1], value[2]};
    m.head = &head;
  }
  m.stateless = data[0] & 2;
  m.session.reads_only = data[0] & 4;
  talk(&m, &lines);
  rp__tool_session_end(&m.session, NULL);
  for (size_t i = 0; i < HEADERS; i++) free(value[i]);
  rp__lines_done(&lines);
  rp_close(m.session.e);
  return 0;
}
