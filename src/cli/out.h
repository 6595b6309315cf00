/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data on stdout: documents for programs, and their parts as lines for a person, in which stored text is made safe to
 * show. A write error stays with the stream and is reported once, at the end (rp__out_finish). A reader that closed the
 * pipe is no error.
 */
#ifndef RP_CLI_OUT_H
#define RP_CLI_OUT_H

#include "json/ack.h"
#include "cli/cli.h"

/* ---- out.c: documents ---- */

/* Prints one JSON value: indented for a person at a terminal, one line otherwise. */
RP_MUST_USE int rp__out_doc(const struct rp__cli *c, const char *json, size_t n, rp_error *err);
/* {"NAME":[…]} around an array, or, where there is none, an empty one: the shape of every list. */
RP_MUST_USE int rp__out_list(const struct rp__cli *c, const char *name, struct rp__json array, rp_error *err);
/* The same as rp__out_doc for a buffer just written; reports the buffer's own error. */
RP_MUST_USE int rp__out_buf(const struct rp__cli *c, const struct rp__buf *b, rp_error *err);
/* The same for a document written by a pattern (see rp__jw_pack). */
#define RP_OUT_PACK(c, err, ...)                                                                                       \
  (__extension__({                                                                                                     \
    RP_AUTOBUF struct rp__buf doc_ = RP_BUF(RP_CLI_DOC_MAX);                                                           \
    struct rp__jw w_ = RP_JW(&doc_);                                                                                   \
    rp__jw_pack(&w_, __VA_ARGS__);                                                                                     \
    rp__out_buf((c), &doc_, (err));                                                                                    \
  }))
/* An acknowledgement: {"seq":…,"durability":…}. */
RP_MUST_USE int rp__out_ack(const struct rp__cli *c, const rp_ack *ack, rp_error *err);
/* One line, never indented, whatever stdout is. */
int rp__out_line(const struct rp__buf *b, rp_error *err);
/*
 * The document as aligned `name  value` lines for a person, nested names joined by dots; times are local ones, and
 * numbers called bytes or size are sizes.
 */
RP_MUST_USE int rp__out_fields(const struct rp__cli *c, const char *json, rp_error *err);
/* Prints what was collected, which ends with a line break of its own or is empty. */
RP_MUST_USE int rp__out_text(const struct rp__buf *b, rp_error *err);
/* The document as it is for a program; for a person what `tell` collects of it. */
typedef void rp__tell_fn(struct rp__cli *c, struct rp__buf *out, struct rp__json doc);
RP_MUST_USE int rp__out_told(struct rp__cli *c, const char *json, rp__tell_fn *tell, rp_error *err);
/* {"code":…,"message":…,"hint":…}, and "field" and "line" where they are known. */
void rp__error_write(struct rp__jw *w, const rp_error *e, int64_t line);
/* Whether nobody reads any more. */
bool rp__out_gone(void);
/* Flushes. RP_E_IO when not everything could be written; 0 when the reader merely left. */
RP_MUST_USE int rp__out_finish(rp_error *err);

/* Indents a value. `colour` marks names. */
void rp__out_pretty(struct rp__json v, struct rp__buf *out, bool colour);

/* A list that the engine tells item by item: lines for a person, {"NAME":[…]} for a program. */
struct rp__listing {
  struct rp__cli *c;
  bool json;
  int64_t n; /* lines printed */
  struct rp__buf doc;
  struct rp__jw w; /* to where a program's items go */
  rp_error *err;
};
/* `pattern` opens the document: "{NAME:[". */
void rp__listing_begin(struct rp__listing *l, struct rp__cli *c, const char *pattern, rp_error *err);
/* With a code of 0 prints the document, or, at a terminal, what to say where there was nothing; else gives it back. */
RP_MUST_USE int rp__listing_end(struct rp__listing *l, int code, const char *nothing);

/* ---- view.c: values ---- */

/* Appends a value in at most `columns` (0: any number): a string decoded, a missing one as "-", others as they stand.
 */
void rp__view_text(struct rp__buf *out, struct rp__json v, int columns);
/* The same, filled up to exactly `columns`. */
void rp__view_cell(struct rp__buf *out, struct rp__json v, int columns);
/* Appends "2026-01-31 13:00:00 CET", from an ISO text; anything else as rp__view_text. */
void rp__view_time(const struct rp__cli *c, struct rp__buf *out, struct rp__json v);
/* The number, or 0. */
double rp__view_number(struct rp__json v);
/* A session's id, shortened where it is a UUID. */
void rp__view_id(struct rp__buf *out, struct rp__json v);

/* Appends a text of several lines, each behind `prefix`; only on a terminal made safe, for elsewhere it is data. */
void rp__view_lines(const struct rp__cli *c, struct rp__buf *out, const char *text, size_t n, const char *prefix);
/* A bold heading of its own line. */
void rp__view_heading(const struct rp__cli *c, struct rp__buf *out, const char *title);

/* ---- view.c: parts of the engine's documents ---- */

/* The affect part of a state document: mood, levels, boredom, wounds, one line each. */
void rp__view_affect(const struct rp__cli *c, struct rp__buf *out, struct rp__json affect);
/* Appends the brief as it would be read: behind a line on a terminal, its bare text elsewhere. */
void rp__brief_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc);
/* Appends all of an explanation: candidates, pins, memories, tasks, and why each line of the brief is there. */
void rp__explain_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc);

/* How one part of a document is told in a line; nothing where there is nothing to tell. */
typedef void rp__view_fn(struct rp__buf *out, struct rp__json doc);
/* "start 42, short break (away for 10 min), up for 3 h", of rp_session_status_json. */
rp__view_fn rp__view_run;
/* "$1.75 of $1.50 (117 %), 1200 tokens in, 300 out", of rp_usage_json. */
rp__view_fn rp__view_usage;

/* Writes the members of a session's document into an object that is open; names of its own members are plain. */
void rp__out_members(struct rp__jw *w, struct rp__json session);
/* The same of what its digest (of rp_digest_json, or NONE) says of the last request. */
void rp__out_asked(struct rp__jw *w, struct rp__json digest);

/* ---- event-text.c: one event on one line ---- */

/* Appends what the event says in a few words: the fields that matter for its kind, or the whole body. */
void rp__event_text(struct rp__buf *out, const char *kind, struct rp__json body, int columns);
/* Appends a message's content: a string, or the texts of its blocks. */
void rp__event_content(struct rp__buf *out, struct rp__json content);
/* Appends {"seq","at","kind","body"} with the body's own bytes, on one line. */
void rp__event_json(struct rp__buf *out, const rp_event_info *ev);

#endif
