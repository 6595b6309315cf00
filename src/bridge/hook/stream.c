/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process that takes the hooks of all sessions of a plugin as a stream. The process owns the runs of these
 * sessions, so the runs end when it dies. Its sessions are entries of the engine's presence, found by scope and key.
 * When there are too many, the session that was silent longest makes room.
 */
#include <errno.h>
#include <poll.h>

#include "base/text.h"
#include "bridge/broken-line.h"
#include "bridge/exit-cause.h"
#include "bridge/hook/hook.h"
#include "bridge/hook/hook-session.h"
#include "bridge/line.h"

#define SESSIONS_MAX 256
#define CHUNK 65536
#define CLOSED "agent closed"

struct member {
  struct rp__tool_session tools; /* the session, and what tools need of it */
  rp_presence *presence;
  unsigned calls; /* of tools that have no outcome yet */
};

struct stream {
  rp_engine *e;
  struct rp__hook_call call;
  enum rp__hook_rank rank;
  struct rp__process_watch agent; /* the process that speaks */
  int64_t lines;                  /* the clock of its entries */
};

/* ---- its sessions ---- */

/* The one of an input; NULL as input: the one that was silent longest. */
static struct member *find(struct stream *st, const struct rp__hook_session *input)
{
  rp_presence_query q = {.kind = RP_PRESENCE_HOOK};
  void *m = NULL;
  if (input) q.scope = input->scope, q.name = input->key;
  return rp_presence_find(st->e, &q, NULL, &m) ? m : NULL;
}

/* Lets go of the session. A run of ours that did not end is left as a crash leaves it. */
static void forget(struct stream *st, struct member *m)
{
  rp_presence_leave(st->e, m->presence, true, -1, st->lines);
  if (!m->tools.guest) rp_session_free(RP_TAKE(m->tools.s));
  rp__tool_session_leave(&m->tools);
  free(m);
}

/* Ends the session; a guest only lets go. */
static int drop(struct stream *st, struct member *m, const char *reason, rp_error *err)
{
  int rc = m->tools.guest ? 0 : rp_end(m->tools.s, reason, err);
  forget(st, m);
  return rc;
}

static int member_new(struct stream *st, const struct rp__hook_session *input, struct member **ret, rp_error *err)
{
  rp_presence_row row = {.kind = RP_PRESENCE_HOOK, .present = 1, .writers = 1};
  struct member *m = calloc(1, sizeof *m);
  if (!m) return rp__fail_nomem(err);
  m->tools.e = st->e;
  m->tools.guest = st->rank != RP_HOOK_ALONE;
  memcpy(m->tools.scope, input->scope, sizeof m->tools.scope);
  rp__text_copy(m->tools.channel, sizeof m->tools.channel, input->channel);
  int rc = m->tools.guest ? rp__hook_session_attach(st->e, input, NULL, &m->tools.s, err)
                          : rp__hook_session_start(st->e, input, RP_OWNER_SELF, 0, &m->tools.s, err);
  if (!rc) {
    /* The process owns the run, so that no heartbeats are needed. */
    const rp_presence_host host = {.host = m};
    row.number = rp_session_number(m->tools.s);
    snprintf(row.session, sizeof row.session, "%s", rp_session_id(m->tools.s));
    snprintf(row.scope, sizeof row.scope, "%s", input->scope);
    snprintf(row.name, sizeof row.name, "%s", input->key);
    rc = rp_presence_put(st->e, &row, &host, st->lines, &m->presence, err);
    if (rc) rp__tool_session_leave(&m->tools);
  }
  if (rc)
    free(m);
  else
    *ret = m;
  return rc;
}

/* The session of the input, begun when it is not there. What its start has to tell is appended to `brief`. */
static int enter(struct stream *st, const struct rp__hook_session *input, struct rp__buf *brief, struct member **ret,
                 rp_error *err)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_HOOK, .scope = input->scope, .name = input->key};
  if ((*ret = find(st, input))) {
    rp_presence_touch(st->e, &q, NULL, st->lines);
    return 0;
  }
  if (rp_presence_count(st->e, RP_PRESENCE_HOOK, 0).entries >= SESSIONS_MAX)
    drop(st, find(st, NULL), "silent for long", NULL);
  int rc = member_new(st, input, ret, err);
  if (!rc && !(*ret)->tools.guest) rp__hook_brief((*ret)->tools.s, brief);
  return rc;
}

/* ---- one line ---- */

struct reply {
  char session_id[RP_ID_MAX + 1];
  struct rp__buf context, result;
};

static void reply_done(struct reply *r)
{
  rp__buf_done(&r->context);
  rp__buf_done(&r->result);
}

static void name_session(struct reply *r, const struct member *m)
{
  snprintf(r->session_id, sizeof r->session_id, "%s", rp_session_id(m->tools.s));
}

static int on_hook(struct stream *st, struct rp__json line, struct reply *r, rp_error *err)
{
  struct rp__hook_session input;
  struct member *m;
  int rc = rp__hook_session_init(&input, &st->call, line, err);
  if (rc || input.event == RP_HOOK_NONE) return rc;
  if (input.event == RP_HOOK_END) {
    char reason[RP_SCOPE_MAX + 1];
    rp__hook_reason(&input, reason);
    if (!(m = find(st, &input))) return 0;
    name_session(r, m);
    return drop(st, m, reason, err);
  }
  rc = enter(st, &input, &r->context, &m, err);
  if (rc) return rc;
  name_session(r, m);
  if (input.event == RP_HOOK_TOOL_BEFORE) m->calls++;
  if (input.event == RP_HOOK_TOOL_AFTER && m->calls) m->calls--;
  if (input.event == RP_HOOK_PROMPT || input.event == RP_HOOK_STOP) m->calls = 0;
  if (st->rank == RP_HOOK_WITHIN && input.event != RP_HOOK_COMPACT) return 0;
  rc = rp__hook_note(m->tools.s, &input, err);
  if (rc != RP_E_ENDED || m->tools.guest) return rc;
  /* A session that somebody ended from elsewhere begins anew, once. */
  drop(st, m, CLOSED, NULL);
  rc = enter(st, &input, &r->context, &m, err);
  if (rc) return rc;
  name_session(r, m);
  return rp__hook_note(m->tools.s, &input, err);
}

static int on_tool(struct stream *st, struct rp__json line, struct rp__json tool, struct reply *r, rp_error *err)
{
  struct rp__hook_call call = st->call;
  struct rp__hook_session input;
  struct member *m;
  const struct rp__tool *t = rp__tool_find(tool);
  if (!t) return rp__fail_field(err, RP_E_INVALID, "tool", "there is no tool of that name");
  call.event = "UserPromptSubmit"; /* like what may begin a session */
  int rc = rp__hook_session_init(&input, &call, line, err);
  if (!rc) rc = enter(st, &input, &r->context, &m, err);
  if (rc) return rc;
  name_session(r, m);
  return rp__tool_call(&m->tools, t, rp__json_get(line, "arguments"), &r->result, err);
}

static void write_error(struct rp__jw *w, const rp_error *err)
{
  const rp_error_info *info = rp_error_lookup(err->code);
  rp__jw_kobject(w, "error");
  rp__jw_kstr(w, "code", info->name);
  rp__jw_kstr(w, "message", err->message[0] ? err->message : info->text);
  if (err->field[0]) rp__jw_kstr(w, "field", err->field);
  if (err->hint[0]) rp__jw_kstr(w, "hint", err->hint);
  rp__jw_end_object(w);
}

static void write_reply(struct rp__buf *out, struct rp__json id, const struct reply *r, const rp_error *err)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kvalue(&w, "id", id);
  rp__jw_kbool(&w, "ok", !err->code);
  if (r->session_id[0]) rp__jw_kstr(&w, "session_id", r->session_id);
  if (r->context.n && !r->context.err) {
    rp__jw_key(&w, "context");
    rp__jw_strn(&w, r->context.p, r->context.n);
  }
  if (!err->code && r->result.n) {
    rp__jw_key(&w, "result");
    rp__jw_raw(&w, r->result.p, r->result.n);
  }
  if (err->code) write_error(&w, err);
  rp__jw_end_object(&w);
  rp__buf_char(out, '\n');
}

static void handle(struct stream *st, struct rp__str line, struct rp__buf *out)
{
  struct reply r RP_CLEANUP(reply_done) = {.context = RP_BUF(RP_HOOK_ANSWER_MAX), .result = RP_BUF(RP_TOOL_DOC_MAX)};
  struct rp__json_limits limits = {.max_depth = RP_HOOK_DEPTH};
  struct rp__json input = {0}, tool;
  rp_error err = {0};
  st->lines++;
  int rc = rp__json_parse(line.p, line.n, &limits, &input, &err);
  if (!rc && (tool = rp__json_get(input, "tool")).type)
    rc = on_tool(st, input, tool, &r, &err);
  else if (!rc)
    rc = on_hook(st, input, &r, &err);
  /* What was tried on the way is no error when the whole went well. */
  if (!rc) err = (rp_error){0};
  if (rc && !err.code) err.code = rc;
  /* Whoever waits for the answer to a line that can't be read waits for it all the same. */
  write_reply(out, input.type ? rp__json_get(input, "id") : rp__broken_line_id(line.p, line.n), &r, &err);
}

/* ---- reading and writing ---- */

static int write_all(int fd, const struct rp__buf *b, rp_error *err)
{
  size_t at = 0;
  if (b->err) return rp__fail_nomem(err);
  while (at < b->n) {
    ssize_t n = write(fd, b->p + at, b->n - at);
    if (n < 0 && errno == EINTR) continue;
    /* An agent that is gone reads no answers; what it said before is written down all the same. */
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) return 0;
    if (n < 0) return rp__fail_errno(err, errno, "can't answer");
    at += (size_t)n;
  }
  return 0;
}

static int answer_lines(struct stream *st, struct rp__lines *lines, bool last, int out, rp_error *err)
{
  struct rp__str line;
  while (rp__lines_next(lines, last, &line)) {
    RP_AUTOBUF struct rp__buf reply = RP_BUF(RP_HOOK_ANSWER_MAX + RP_TOOL_DOC_MAX + CHUNK);
    handle(st, line, &reply);
    int rc = write_all(out, &reply, err);
    if (rc) return rc;
  }
  return 0;
}

/* A line without an end in sight: refused now, and what is still to come of it is thrown away. */
static int refuse_long(struct rp__lines *lines, int out, rp_error *err)
{
  RP_AUTOBUF struct rp__buf answer = RP_BUF(CHUNK);
  struct reply r = {0};
  rp_error why = {0};
  struct rp__json id = rp__broken_line_id(lines->buf.p + lines->at, lines->buf.n - lines->at);
  rp__fail(&why, RP_E_TOO_LARGE, "a line is over %zu bytes", RP_HOOK_INPUT_MAX);
  write_reply(&answer, id, &r, &why);
  rp__lines_skip(lines);
  return write_all(out, &answer, err);
}

/* Whether there is something to read; false: it is time to end. */
static bool wait_input(const struct stream *st, int in)
{
  struct pollfd p[2] = {{.fd = in, .events = POLLIN}, {.fd = st->call.stop, .events = POLLIN}};
  int n;
  do n = poll(p, st->call.stop ? 2 : 1, -1);
  while (n < 0 && errno == EINTR);
  return n > 0 && !(st->call.stop && p[1].revents);
}

static int serve(struct stream *st, int in, int out, rp_error *err)
{
  struct rp__lines lines RP_CLEANUP(rp__lines_done);
  rp__lines_init(&lines, RP_HOOK_INPUT_MAX);
  while (wait_input(st, in)) {
    char *room = rp__lines_room(&lines, CHUNK, err);
    if (!room && lines.buf.err == RP_E_NOMEM) return RP_E_NOMEM;
    if (!room) {
      int rc = refuse_long(&lines, out, err);
      if (rc) return rc;
      continue;
    }
    ssize_t n = read(in, room, CHUNK);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return rp__fail_errno(err, errno, "can't read");
    rp__lines_added(&lines, (size_t)n);
    int rc = answer_lines(st, &lines, n == 0, out, err);
    if (rc || n == 0) return rc;
  }
  return 0;
}

/*
 * Nobody speaks any more. Where the agent did not leave in good order (one that was killed leaves its pipe like one
 * that closes it), or a tool was still running, that is no orderly end but what a crash leaves behind, and the next
 * start tells of it.
 */
static void close_all(struct stream *st)
{
  enum rp__exit_cause cause = st->agent.start ? rp__process_watch_cause(&st->agent) : RP_EXIT_NONE;
  bool crashed = cause == RP_EXIT_CRASHED || cause == RP_EXIT_UNKNOWN;
  for (struct member *m; (m = find(st, NULL));) {
    if ((crashed || m->calls) && !m->tools.guest)
      forget(st, m);
    else
      drop(st, m, CLOSED, NULL);
  }
}

int rp__hook_stream(rp_engine *e, const struct rp__hook_call *c, int in, int out, rp_error *err)
{
  struct stream st = {.e = e, .call = *c, .rank = rp__hook_rank()};
  st.call.stream = true;
  if (!st.call.agent) st.call.agent = rp__hook_agent_find("openclaw");
  bool watched = c->owner_pid > 0 && rp__process_watch_open(&st.agent, c->owner_pid);
  int rc = serve(&st, in, out, err);
  close_all(&st);
  if (watched) rp__process_watch_close(&st.agent);
  return rc;
}
