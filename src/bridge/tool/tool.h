/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the files of the tools share. */
#ifndef RP_BRIDGE_TOOL_H
#define RP_BRIDGE_TOOL_H

#include "bridge/tool/tool-session.h"

extern const struct rp__tool rp__tool_working_memory, rp__tool_working_memory_view;
extern const struct rp__tool rp__tool_session_continue, rp__tool_cortex_session_continue;
extern const struct rp__tool rp__tool_session_chain, rp__tool_session_search, rp__tool_session_status;
extern const struct rp__tool rp__tool_remember, rp__tool_recall, rp__tool_task;

static inline void rp__tool_freep(char **p)
{
  rp_free(*p);
}
/* A document that the engine gave. */
#define RP_AUTODOC RP_CLEANUP(rp__tool_freep)

/* The session's state document, and a member of it (NONE where the document is NULL). */
RP_MUST_USE int rp__tool_state(struct rp__tool_session *m, char **ret, rp_error *err);
struct rp__json rp__tool_part(const char *state, const char *name);
/*
 * What the scope's other sessions would give to one that starts now, those that live among them (README: one memory):
 * a member "elsewhere" with the `part` ("pins", "tasks") of it that is not in `own`, known by their member `id`. Empty
 * when it can't be told.
 */
void rp__tool_elsewhere(struct rp__tool_session *m, const char *part, const char *id, struct rp__json own,
                        struct rp__jw *w);
/* The same as an array, while there is no session; `doc` gets it, and its error. */
struct rp__json rp__tool_others(struct rp__tool_session *m, const char *part, const char *id, struct rp__buf *doc);
/* The element of an array whose member is that string. */
struct rp__json rp__tool_named(struct rp__json array, const char *member, struct rp__json string);
bool rp__tool_task_open(struct rp__json task);
/* Appends n events, all or none. RP_E_FORBIDDEN when the session only reads. */
RP_MUST_USE int rp__tool_append(struct rp__tool_session *m, const rp_event *ev, size_t n, rp_error *err);

/* How many bytes the first `chars` characters have. */
size_t rp__tell_clip(const char *s, size_t n, size_t chars);
/* A string's text on one line, at most `max` characters (0: whole), cut with "…". Nothing for what is no string. */
void rp__tell_text(struct rp__buf *out, struct rp__json string, size_t max);
/*
 * A pattern, in which {name} is that member of the object and {} the value itself: a string's text as rp__tell_text
 * has it, nothing for null, anything else as it is. {name:160}: at most 160 characters of it.
 */
void rp__tell(struct rp__buf *out, struct rp__json object, const char *pattern);
/* The members of an array by one of theirs: 'a', 'b', 'c'; cut so that an error's message has room for it. */
void rp__tell_names(struct rp__json array, const char *member, char *out, size_t size);

#endif
