/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file in which an agent keeps its conversation: JSON lines, the newest last. The forms are:
 * - {"type":"assistant","uuid","message":{"role","content":[{"type":"text","text"},…]}} for the agent, and
 *   {"type":"user",…} with a string or blocks for people. Results of tools are blocks of the user too. One answer may
 *   be several lines, each with one block.
 * - Gemini CLI: {"type":"gemini"|"user","id","content"}. A message that is written again has the same id.
 * - Copilot CLI: {"type":"assistant.message"|"user.message","data":{"messageId","content"}}.
 *
 * Lines in any other form are skipped.
 */
#include "bridge/hook/hook-session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/clock.h"

#define TAIL_MAX ((size_t)1024 * 1024) /* bytes read from its end */
#define LINES_MAX 256                  /* looked at, from the end */
#define LINE_DEPTH 128
#define LATE_MS 1000 /* waited for what an agent has not written out yet */
#define STEP_MS 20   /* … by looking so often where its folder can't be watched */

static bool read_tail(const char *path, struct rp__buf *out)
{
  struct stat st;
  /* What is no plain file might make us wait. */
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) return false;
  size_t want = RP_MIN((size_t)st.st_size, TAIL_MAX);
  off_t at = st.st_size - (off_t)want;
  while (out->n < want) {
    char *room = rp__buf_room(out, want - out->n);
    ssize_t n = room ? pread(fd, room, want - out->n, at + (off_t)out->n) : -1;
    if (n <= 0) break;
    out->n += (size_t)n;
  }
  return out->n > 0;
}

static bool has_block(struct rp__json content, const char *type)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  while (rp__json_next(content, &it, NULL, &block))
    if (rp__json_eq(rp__json_get(block, "type"), type) || rp__json_get(block, type).type) return true;
  return false;
}

static void add_text(struct rp__json content, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json block;
  if (content.type == RP_JSON_STRING) rp__json_text(content, out);
  if (content.type != RP_JSON_ARRAY) return;
  while (rp__json_next(content, &it, NULL, &block)) {
    struct rp__json type = rp__json_get(block, "type");
    if (type.type && !rp__json_eq(type, "text")) continue;
    if (out->n) rp__buf_char(out, '\n');
    rp__json_text(rp__json_get(block, "text"), out);
  }
}

enum verdict { PASS, FOUND, STOP, LATE };

static enum verdict judge(struct rp__json entry, struct rp__buf *ret, char ret_id[RP_TRANSCRIPT_ID + 1])
{
  struct rp__json type = rp__json_get(entry, "type"), data = rp__json_get(entry, "data"), id;
  struct rp__json content = rp__json_get(rp__json_get(entry, "message"), "content");
  if (!content.type) content = rp__json_get(data.type ? data : entry, "content");
  /* A branch of the agent's own, not what it said to its person. */
  if (rp__json_get(entry, "isSidechain").type == RP_JSON_TRUE) return PASS;
  if (rp__json_get(data, "parentToolCallId").type == RP_JSON_STRING) return PASS;
  if (rp__json_eq(type, "user")) { /* it ends the turn, unless it is machinery */
    bool results = has_block(content, "tool_result") || has_block(content, "functionResponse");
    return rp__json_get(entry, "isMeta").type == RP_JSON_TRUE || results ? PASS : STOP;
  }
  /* Copilot CLI calls its hook before the answer is in the file, which ends anywhere then: what asks for a tool is
   * none. */
  if (rp__json_eq(type, "user.message") || rp__json_eq(type, "assistant.turn_start")) return LATE;
  if (rp__json_eq(type, "session.start") || rp__json_eq(type, "session.resume")) return LATE;
  bool copilot = rp__json_eq(type, "assistant.message");
  if (copilot && rp__json_count(rp__json_get(data, "toolRequests"))) return LATE;
  if (!copilot && !rp__json_eq(type, "assistant") && !rp__json_eq(type, "gemini")) return PASS;
  add_text(content, ret);
  if (!ret->n || ret->err) return copilot ? STOP : PASS;
  id = rp__json_get(entry, "uuid");
  if (!id.type) id = rp__json_get(data, "messageId");
  if (!id.type) id = rp__json_get(entry, "id");
  RP_AUTOBUF struct rp__buf name = RP_BUF(RP_TRANSCRIPT_ID + 1);
  if (rp__json_text(id, &name) == 0 && name.n) snprintf(ret_id, RP_TRANSCRIPT_ID + 1, "%s", name.p);
  return FOUND;
}

/* ---- lines from the end ---- */

/* The line before `*end`, which moves to its beginning. False: there is no other. */
static bool line_before(const struct rp__buf *tail, const char **end, struct rp__json *ret, bool *ret_read)
{
  const struct rp__json_limits limits = {.max_depth = LINE_DEPTH, .allow_duplicates = true};
  while (*end > tail->p && (*end)[-1] == '\n') (*end)--;
  const char *to = *end;
  while (*end > tail->p && (*end)[-1] != '\n') (*end)--;
  *ret_read = to > *end && rp__json_parse(*end, (size_t)(to - *end), &limits, ret, NULL) == 0;
  return to > tail->p;
}

/* The text with which Claude Code says, in the user's name, that the user interrupted the turn. */
static const char interrupted_text[] = "[Request interrupted by user";

/* Whether a line of Claude Code's is something that the user typed: what is before it is of an earlier turn. */
static bool is_prompt(struct rp__json entry, struct rp__json content, bool *interrupted)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TAIL_MAX);
  if (rp__json_get(entry, "isMeta").type == RP_JSON_TRUE || has_block(content, "tool_result")) return false;
  add_text(content, &text);
  bool marks = text.p && strncmp(text.p, interrupted_text, sizeof interrupted_text - 1) == 0;
  *interrupted = *interrupted || marks;
  return !marks;
}

void rp__transcript_turn(const char *path, rp__transcript_failed_fn *fn, void *ctx, bool *ret_interrupted)
{
  RP_AUTOBUF struct rp__buf tail = RP_BUF(TAIL_MAX + 1);
  struct rp__json entry, block;
  bool read;
  *ret_interrupted = false;
  if (!read_tail(path, &tail)) return;
  const char *end = tail.p + tail.n;
  for (int i = 0; i < LINES_MAX && line_before(&tail, &end, &entry, &read); i++) {
    struct rp__json content = read ? rp__json_get(rp__json_get(entry, "message"), "content") : (struct rp__json){0};
    struct rp__json_iter it = {0};
    if (!content.type || rp__json_get(entry, "isSidechain").type == RP_JSON_TRUE) continue;
    if (!rp__json_eq(rp__json_get(entry, "type"), "user")) continue;
    if (is_prompt(entry, content, ret_interrupted)) return;
    while (rp__json_next(content, &it, NULL, &block)) {
      RP_AUTOBUF struct rp__buf text = RP_BUF(TAIL_MAX);
      RP_AUTOFREE char *id = rp__json_dup(rp__json_get(block, "tool_use_id"));
      if (!id || rp__json_get(block, "is_error").type != RP_JSON_TRUE) continue;
      add_text(rp__json_get(block, "content"), &text);
      if (text.n && !text.err) fn(ctx, id, (struct rp__str){text.p, text.n});
    }
  }
}

static enum verdict look(const char *path, struct rp__buf *ret, char ret_id[RP_TRANSCRIPT_ID + 1])
{
  RP_AUTOBUF struct rp__buf tail = RP_BUF(TAIL_MAX + 1);
  /* Copilot CLI's file may not be there yet, or be made and still empty. */
  const char *slash = strrchr(path, '/');
  const enum verdict nothing = slash && strcmp(slash, "/events.jsonl") == 0 ? LATE : STOP;
  ret_id[0] = '\0';
  if (!read_tail(path, &tail)) return nothing;
  const char *end = tail.p + tail.n;
  struct rp__json entry;
  bool read;
  for (int i = 0; i < LINES_MAX && line_before(&tail, &end, &entry, &read); i++) {
    if (!read) continue;
    enum verdict v = judge(entry, ret, ret_id);
    if (v != PASS) return v;
  }
  return nothing;
}

bool rp__transcript_last(const char *path, struct rp__buf *ret, char ret_id[RP_TRANSCRIPT_ID + 1])
{
  enum verdict v = look(path, ret, ret_id);
  if (v != LATE) return v == FOUND && !ret->err;
  RP_AUTOCLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  int64_t until = rp__boot(&rp__system_clock) + LATE_MS;
  RP_AUTOFREE char *folder = strdup(path);
  char *slash = folder ? strrchr(folder, '/') : NULL;
  if (slash) *slash = '\0';
  /* Of the folder: the file itself may not be there yet, nor may that. */
  if (slash && fd >= 0) inotify_add_watch(fd, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  /* Looked at once more now that nothing is missed; then whenever something changed, or may have where nothing could
   * be watched. */
  while ((v = look(path, ret, ret_id)) == LATE) {
    char events[4096];
    struct pollfd p = {.fd = fd, .events = POLLIN}; /* -1 is waited for as well, and never comes */
    int64_t left = until - rp__boot(&rp__system_clock);
    if (left <= 0) break;
    if (poll(&p, 1, (int)RP_MIN(left, (int64_t)STEP_MS)) > 0) (void)!read(fd, events, sizeof events);
  }
  return v == FOUND && !ret->err;
}
