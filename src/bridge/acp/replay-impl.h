/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the replay share. */
#ifndef RP_BRIDGE_ACP_REPLAY_IMPL_H
#define RP_BRIDGE_ACP_REPLAY_IMPL_H

#include "bridge/acp/past.h"
#include "bridge/acp/replay.h"

#define RP_RUN_MAX ((size_t)256 * 1024)  /* raw bytes of a text that is joined; the next chunk begins another */
#define RP_RUN_ID_MAX ((size_t)4 * 1024) /* raw bytes of a message's id */
#define RP_UPDATE_MAX ((size_t)160 * 1024 * 1024) /* bytes of one update: a blob, and terminals put in */
#define RP_PROMPT_BLOCKS 64    /* blocks of a prompt that are known again when the agent repeats them */
#define RP_OPEN_MAX 4096       /* tool calls without an end; the oldest is closed when there are more */
#define RP_TERMINALS_MAX 4096  /* terminals whose output is found again; the oldest are forgotten */
#define RP_TERMINALS_ASKED 256 /* requests on their way */
#define RP_COMPACTIONS_MAX 256 /* told at their place; further ones are left out */
#define RP_BACKS_MAX 65536     /* times that a session was set back */

/* The updates of which only the last value counts; a title has a last value of its own. */
enum rp__state_update {
  RP_STATE_COMMANDS,
  RP_STATE_USAGE,
  RP_STATE_MODE,
  RP_STATE_CONFIG,
  RP_STATE_INFO,
  RP_STATE_TITLE,
  RP_STATES,
};

enum rp__voice { RP_VOICE_USER, RP_VOICE_AGENT, RP_VOICE_THOUGHT };

struct rp__stretch {
  int64_t after, upto; /* events that no longer count: after < seq <= upto */
};

struct rp__terminal {
  uint64_t id;
  int64_t created, output; /* numbers of the answers; output 0: nobody asked */
};

struct rp__compaction {
  uint64_t id;
  int64_t first, last;
};

struct rp__open_call {
  uint64_t id;
  char *raw; /* its toolCallId as JSON */
};

/* What the first look finds. */
struct rp__survey {
  struct rp__stretch *undone; /* in order */
  size_t n_undone, cap_undone;
  int64_t last[RP_STATES];
  int64_t last_run;
  struct rp__terminal *terminals; /* a ring */
  size_t n_terminals, cap_terminals;
  struct {
    uint64_t request, terminal;
  } asked[RP_TERMINALS_ASKED];
  size_t next_asked;
  struct rp__compaction compactions[RP_COMPACTIONS_MAX];
  size_t n_compactions;
};

/* Chunks that are one update: same voice, same id, same other members. */
struct rp__run {
  bool any; /* voice, id and rest are those of somebody */
  enum rp__voice voice;
  struct rp__buf id, rest; /* raw JSON; empty: none */
  struct rp__buf text;     /* raw, behind its opening quote */
};

struct rp__replay {
  struct rp__past past;
  struct rp__replay_options options;
  struct rp__survey survey;
  struct rp__run run;
  struct rp__open_call *open;
  size_t n_open, cap_open;
  uint64_t prompt[RP_PROMPT_BLOCKS + 1]; /* hashes of what the user said in this turn */
  size_t n_prompt;
  bool died; /* the agent, in this turn: what is still open at its end was cut off */
  struct rp__buf out, scratch;
  size_t emitted; /* bytes, in this step */
  rp__update_fn *emit;
  void *ctx;
};

/* -1: none of them. */
int rp__state_update(struct rp__json name);
bool rp__is_compaction(struct rp__json name);

int rp__survey(struct rp__replay *r, rp_error *err);
void rp__survey_done(struct rp__survey *s);
bool rp__survey_undone(const struct rp__survey *s, int64_t seq);
/* The terminal that had this id when event `seq` was written, or NULL. */
const struct rp__terminal *rp__survey_terminal(const struct rp__survey *s, uint64_t id, int64_t seq);

/* Each returns 0, an error, or what `emit` said. */
int rp__replay_emit(struct rp__replay *r, const char *update, size_t n, rp_error *err);
/* Emits what was written into r->out. */
int rp__replay_emit_out(struct rp__replay *r, rp_error *err);

int rp__run_flush(struct rp__replay *r, rp_error *err);
void rp__run_done(struct rp__run *run);
int rp__replay_prompt(struct rp__replay *r, struct rp__json body, rp_error *err);
int rp__replay_message(struct rp__replay *r, struct rp__json body, rp_error *err);
int rp__replay_tool(struct rp__replay *r, const struct rp__past_event *ev, rp_error *err);
/* Closes what nobody will end. */
int rp__replay_close_calls(struct rp__replay *r, rp_error *err);
int rp__replay_compaction(struct rp__replay *r, const struct rp__past_event *ev, rp_error *err);

#endif
