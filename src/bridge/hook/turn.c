/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a turn ended, where no answer ended it. Claude Code calls no hook when the user rejects a tool in its dialog or
 * interrupts the turn, but writes both into its file. The next hook of the session reads them there.
 */
#include "bridge/hook/hook-session.h"

#include "base/text.h"

#define BODY_MAX ((size_t)2 * 1024 * 1024)
#define INLINE_MAX ((size_t)256 * 1024) /* bytes of a reason */
#define LOOKBACK 512                    /* events searched for calls without an outcome */
#define CALLS_MAX 16                    /* calls of one turn that were rejected */
#define CALL_MAX 128
#define NAME_MAX_BYTES 128

/* ---- what a result says ---- */

/* How agents begin the result of a call that the user rejected. The user's words follow `said` and end at `until`. */
static const struct {
  const char *begins, *said, *until;
  bool never_ran; /* is never the result of a call that ran: there it is text that a tool read */
} rejections[] = {
    {"The user doesn't want to proceed with this tool use", "the user said:", "\n\nNote: The user's next message",
     true},
    {"The user doesn't want to take this action right now", NULL, NULL, true},
    {"[Operation Cancelled] Reason: User did not allow tool call", NULL, NULL}, /* Gemini CLI, Qwen Code */
    {"exec command rejected by user", NULL, NULL},                              /* Codex */
    {"patch rejected by user", NULL, NULL},
};

static const char *find(struct rp__str in, const char *what)
{
  return what && in.n ? memmem(in.p, in.n, what, strlen(what)) : NULL;
}

bool rp__hook_declined(struct rp__str result, bool ran, struct rp__buf *said)
{
  size_t i = 0;
  while (i < RP_ARRAY_SIZE(rejections) &&
         (find(result, rejections[i].begins) != result.p || (ran && rejections[i].never_ran)))
    i++;
  if (!result.n || i == RP_ARRAY_SIZE(rejections)) return false;
  const char *from = find(result, rejections[i].said), *end = result.p + result.n;
  if (!from) return true;
  from += strlen(rejections[i].said);
  const char *until = find((struct rp__str){from, (size_t)(end - from)}, rejections[i].until);
  if (until) end = until;
  while (from < end && rp__is_in(*from, " \t\r\n")) from++;
  while (end > from && rp__is_in(end[-1], " \t\r\n")) end--;
  rp__buf_add(said, from, (size_t)(end - from));
  return true;
}

void rp__hook_write_declined(struct rp__jw *w, const struct rp__buf *said)
{
  rp__jw_kbool(w, "declined", true);
  if (said->n && !said->err) rp__jw_pack(w, "said:n", said->p, said->n);
}

int rp__hook_turn(rp_session *s, const char *status, struct rp__json reason, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  rp__jw_pack(&w, "{status:s", status);
  if (reason.type == RP_JSON_STRING && reason.n <= INLINE_MAX) rp__jw_kvalue(&w, "reason", reason);
  rp__jw_end_object(&w);
  return rp__hook_append(s, "turn", &body, RP_DISK, err);
}

/* ---- what the agent's file says ---- */

struct rejected {
  char id[CALL_MAX], name[NAME_MAX_BYTES]; /* no name: the journal has no such call, or its outcome */
  struct rp__buf said;
};

struct turn {
  struct rejected calls[CALLS_MAX];
  size_t n;
  bool told; /* the journal knows already how it ended */
};

static void turn_done(struct turn *t)
{
  for (size_t i = 0; i < t->n; i++) rp__buf_done(&t->calls[i].said);
}

static void on_failed(void *ctx, const char *call_id, struct rp__str result)
{
  struct turn *t = ctx;
  if (t->n == CALLS_MAX || strlen(call_id) >= CALL_MAX) return;
  struct rejected *c = &t->calls[t->n];
  *c = (struct rejected){.said = RP_BUF(INLINE_MAX)};
  if (!rp__hook_declined(result, false, &c->said)) return;
  rp__text_copy(c->id, sizeof c->id, call_id);
  t->n++;
}

/* Finds the names of rejected calls that have no outcome yet. */
static int on_event(void *ctx, const rp_event_info *ev)
{
  struct turn *t = ctx;
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len);
  bool tool = strcmp(ev->kind, "tool") == 0;
  if (strcmp(ev->kind, "turn") == 0) t->told = true;
  if (strcmp(ev->kind, "message") == 0 && rp__json_eq(rp__json_get(body, "role"), "user")) t->told = false;
  for (size_t i = 0; tool && i < t->n; i++) {
    struct rejected *c = &t->calls[i];
    if (!rp__json_eq(rp__json_get(body, "call_id"), c->id)) continue;
    RP_AUTOFREE char *name = rp__json_dup(rp__json_get(body, "name"));
    bool open = name && rp__json_eq(rp__json_get(body, "status"), "intended");
    rp__text_copy(c->name, sizeof c->name, open ? name : "");
  }
  return 0;
}

void rp__hook_turn_ended(rp_session *s, const struct rp__hook_session *h)
{
  struct turn t RP_CLEANUP(turn_done) = {0};
  int64_t client, seq;
  bool interrupted;
  RP_AUTOFREE char *path = rp__json_dup(rp__hook_field(h->input, "transcript_path"));
  if (!path) return;
  rp__transcript_turn(path, on_failed, &t, &interrupted);
  if (!t.n && !interrupted) return;
  if (rp_sync(s, "hook", &client, &seq, NULL)) return;
  if (rp_events(s, RP_MAX(0, seq - LOOKBACK), LOOKBACK, on_event, &t, NULL)) return;
  for (size_t i = t.n; i-- > 0;) {
    RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
    struct rp__jw w = RP_JW(&body);
    if (!t.calls[i].name[0]) continue;
    rp__jw_pack(&w, "{call_id:s name:s status:s", t.calls[i].id, t.calls[i].name, "failed");
    rp__hook_write_declined(&w, &t.calls[i].said);
    rp__jw_end_object(&w);
    if (rp__hook_append(s, "tool", &body, RP_DISK, NULL)) return;
  }
  if (interrupted && !t.told) RP_IGNORE(rp__hook_turn(s, "cancelled", (struct rp__json){0}, NULL));
}
