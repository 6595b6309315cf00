/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data on stdout. A write error stays with the stream and is reported once, at the end
 * (rp__out_finish). A reader that closed the pipe is no error.
 */
#ifndef RP_CLI_OUT_H
#define RP_CLI_OUT_H

#include "json/ack.h"
#include "cli/cli.h"

/* Prints one JSON value: indented for a person at a terminal, one line otherwise. */
RP_MUST_USE int rp__out_doc(const struct rp__cli *c, const char *json, size_t n, rp_error *err);
/* {"NAME":[…]} around an array, or, where there is none, an empty one: the shape of every list. */
RP_MUST_USE int rp__out_list(const struct rp__cli *c, const char *name, struct rp__json array, rp_error *err);
/* The same as rp__out_doc for a buffer just written; reports the buffer's own error. */
RP_MUST_USE int rp__out_buf(const struct rp__cli *c, const struct rp__buf *b, rp_error *err);
/* One line, never indented, whatever stdout is. */
int rp__out_line(const struct rp__buf *b, rp_error *err);
/*
 * The document as aligned `name  value` lines for a person, nested names joined by dots; times are local ones, and
 * numbers called bytes or size are sizes.
 */
RP_MUST_USE int rp__out_fields(const struct rp__cli *c, const char *json, rp_error *err);
/* An acknowledgement: {"seq":…,"durability":…}. */
/* {"code":…,"message":…,"hint":…}, and "field" and "line" where they are known. */
void rp__error_write(struct rp__jw *w, const rp_error *e, int64_t line);
/* Whether nobody reads any more. */
bool rp__out_gone(void);
/* Flushes. RP_E_IO when not everything could be written; 0 when the reader merely left. */
RP_MUST_USE int rp__out_finish(rp_error *err);

/* Indents a value. `colour` marks names. */
void rp__out_pretty(struct rp__json v, struct rp__buf *out, bool colour);

#endif
