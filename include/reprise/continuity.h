/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuity: briefs, memories, tasks, search and usage, for programs that give text to a model.
 *
 * Strings handed out as char ** are JSON documents; free them with rp_free.
 */
#ifndef REPRISE_CONTINUITY_H
#define REPRISE_CONTINUITY_H

#include <reprise/reprise.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The brief (the text for the model) of a session as of now, made from its state, which includes what it inherited:
 * {"session_id","at","restart","brief"}. With `explain` the document also has "lines", an array of {"line","reason"},
 * and in a robot's scope the decisions that rp_brief_scope explains. "brief" is null when the brief would be empty, or
 * when brief_bytes is too small for the text; in the second case "warning" says so. The call changes nothing. The brief
 * that a start made is in rp_start_json.
 */
RP_API RP_MUST_USE int rp_brief(rp_session *s, bool explain, char **ret, rp_error *err);

typedef struct rp_brief_options {
  size_t size;
  const char *scope;   /* required */
  const char *topics;  /* comma separated, or NULL */
  const char *channel; /* with per_channel, or NULL */
  bool explain;
  const char *without; /* id of a session to leave out as a source, or NULL */
} rp_brief_options;
/*
 * The brief that a new session of the scope would get now: {"scope","at","restart","brief"}. With `explain` the
 * document also has "lines" and the decisions behind the brief: "counts", "candidates", "pins", "memories" and "tasks"
 * (docs/protocol.md lists their members). "brief" and "warning" are as with rp_brief. The call changes nothing.
 */
RP_API RP_MUST_USE int rp_brief_scope(rp_engine *e, const rp_brief_options *o, char **ret, rp_error *err);

/*
 * Copies pins, tasks and memories of the session that `from` names into `s`, whatever its age; a session whose record
 * is archived counts too. Both must be in one scope. `by` (may be NULL) names the person or program that asked, for the
 * journal and the audit log. `ret` (may be NULL) gets {"from","into","by","pins","tasks","memories"}, the last three as
 * numbers. A second call with the same session copies nothing more. RP_E_ENDED: `s` has ended.
 */
RP_API RP_MUST_USE int rp_continue(rp_session *s, const char *from, const char *by, char **ret, rp_error *err);

/*
 * What a session was about: {"session_id","scope","last_request","last_request_at","last_request_end","files_changed",
 * "requests","files","commits","failing","todos"}, the lists newest first but for the requests. A session without a
 * request has the first two alone. Requests are {"text","at","seq","end","answer"?,"last"?,"go_on"?}: `last` marks the
 * one that is told as last_request, `go_on` those that only let the agent go on; an end is one of open, answered,
 * cut_off, tool, cancelled, failed, refused, limit. Paths are relative to the project's folder where that is known. The
 * document is read from the record of an ended session and from the state of an open one, and has 64 KiB at most.
 * RP_E_KEY_MISSING: the scope is sealed.
 */
RP_API RP_MUST_USE int rp_digest_json(rp_engine *e, const char *ref, char **ret, rp_error *err);

/*
 * A session and the sessions before it (previous_id), at most `depth` (0: 20), as a JSON array, oldest first. Each has
 * the members of its document, and of rp_digest_json last_request, last_request_at, last_request_end and files_changed.
 */
RP_API RP_MUST_USE int rp_chain_json(rp_engine *e, const char *ref, int depth, char **ret, rp_error *err);

/*
 * The `note`, `frame` and `transcript` events within window_ms before and after a moment. at_ms is a time of the wall
 * clock; with `video` it is a position in the video, in milliseconds, and is compared with the events' `timestamp`
 * (seconds).
 */
RP_API RP_MUST_USE int rp_evidence_json(rp_session *s, int64_t at_ms, int64_t window_ms, bool video, char **ret,
                                        rp_error *err);

/*
 * Whether a task is still open. The newest `task` event of the scope decides, whichever session has it. `ret` keeps its
 * value when the scope has no event of that task.
 */
RP_API RP_MUST_USE int rp_task_open(rp_session *s, const char *task_id, bool *ret, rp_error *err);

/* Whether the session is open and its newest run is alive, judged as rp_start judges it. */
RP_API RP_MUST_USE int rp_alive(rp_engine *e, const char *ref, bool *ret_alive, rp_error *err);

/*
 * The newest run of a session: how it began, for how long it has been up and whether it is alive:
 * {"session_id","scope","restart_type","cause","elapsed","elapsed_since_last","uptime","total_sessions","start_number",
 * "session_start","started_at","alive","owned"}. With `ref` NULL the run is the latest start of `scope`, or, with both
 * NULL, the latest start in the store. Times and durations are seconds, but started_at is ISO 8601. Unknown values are
 * null. "owned" is false for a run without an owning process, which is alive as long as heartbeats come. Any process
 * may call this. RP_E_SESSION_NOT_FOUND: no such session, or no start yet.
 */
RP_API RP_MUST_USE int rp_session_status_json(rp_engine *e, const char *ref, const char *scope, char **ret,
                                              rp_error *err);

/*
 * The usage of a session: {"tokens_in","tokens_out","cost_usd","requests"}. A scope with a budget adds "budget_usd" and
 * "budget_usd_share", or "budget_tokens" and "budget_tokens_share", or both pairs. A share of 1.0 is a spent budget.
 */
RP_API RP_MUST_USE int rp_usage_json(rp_session *s, char **ret, rp_error *err);

typedef struct rp_hit {
  const char *session_id, *scope, *kind;
  int64_t seq, at_ms;
  const char *snippet; /* plain text, with each word that matched between [ and ] */
  double rank;         /* smaller is better */
} rp_hit;
typedef int rp_hit_fn(void *ctx, const rp_hit *hit);
/* Full-text search over events, of one scope or, with `scope` NULL, of all; best hits first. `limit` 0: 20. */
RP_API RP_MUST_USE int rp_search(rp_engine *e, const char *words, const char *scope, int limit, rp_hit_fn *fn,
                                 void *ctx, rp_error *err);

/*
 * Stores a fact as a memory of the session's scope, by a `learning` event. `confidence` is between 0 and 1.
 * `categories` are comma separated, or NULL. `ret_id` (RP_ID_MAX + 1 bytes, or NULL) gets the memory's id.
 */
RP_API RP_MUST_USE int rp_remember(rp_session *s, const char *text, double confidence, const char *categories,
                                   char *ret_id, rp_error *err);

typedef struct rp_memory_info {
  const char *id, *scope, *session_id; /* session_id: the session that stored the memory, or NULL */
  const char *content, *categories;    /* categories: a JSON array or NULL */
  double confidence, rank;             /* rank: larger is better; 0 without words */
  int64_t created_at, updated_at;
} rp_memory_info;
typedef int rp_memory_fn(void *ctx, const rp_memory_info *m);
/*
 * Memories of a scope. With `words` they are found by full text and ranked by match and confidence; with NULL the most
 * confident come first. `limit` 0: 50. RP_E_REFUSED: the scope is sealed, so that its memories can't be searched by
 * words.
 */
RP_API RP_MUST_USE int rp_memories(rp_engine *e, const char *scope, const char *words, int limit, rp_memory_fn *fn,
                                   void *ctx, rp_error *err);
/* Changes a memory's confidence, by a `confidence` event of the session. `reason` may be NULL. */
RP_API RP_MUST_USE int rp_memory_confidence(rp_session *s, const char *memory_id, double confidence, const char *reason,
                                            rp_error *err);
/* Deletes a memory for good. Audited. */
RP_API RP_MUST_USE int rp_memory_forget(rp_engine *e, const char *scope, const char *memory_id, rp_error *err);

#ifdef __cplusplus
}
#endif
#endif
