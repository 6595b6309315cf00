/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A brief in the making: sections of items, each item with its reason. The templates fill the draft, then it is cut to
 * its bound and written as text. All text is in one buffer, which remembers its first error.
 */
#ifndef RP_CONTINUITY_BRIEF_IMPL_H
#define RP_CONTINUITY_BRIEF_IMPL_H

#include "continuity/brief.h"
#include "continuity/plain.h"

enum rp__section {
  RP_SEC_HEADER,
  RP_SEC_INSTRUCTION,
  RP_SEC_LAST,
  RP_SEC_BEFORE,
  RP_SEC_FILES,
  RP_SEC_FAILS,
  RP_SEC_COMMITS,
  RP_SEC_TODOS,
  RP_SEC_DECLINED,
  RP_SEC_RULES,
  RP_SEC_OPEN,
  RP_SEC_OLDER,
  RP_SEC_MORE,
  RP_SEC_TASKS,
  RP_SEC_PROJECTS,
  RP_SEC_TOPICS,
  RP_SEC_WORKING_MEMORY,
  RP_SEC_MESSAGES,
  RP_SEC_MOOD,
  RP_SEC_WOUNDS,
  RP_SEC_PERSON,
  RP_SEC_AWAY,
  RP_SEC_SNIPPETS,
  RP_SEC_MEMORIES,
  RP_SEC_STOPPED,
  RP_SEC_TOOLS,
  RP_SEC_APPROVALS,
  RP_SEC_QUESTIONS,
  RP_SEC_PINS,
  RP_SEC_TRANSCRIPT,
  RP_SEC_NOTES,
  RP_SEC_FRAMES,
  RP_SEC_CONTEXT,
  RP_SECTIONS_MAX,
};

#define RP_ITEMS_MAX 200  /* of one section; more are only counted */
#define RP_DRAFT_WORDS 16 /* numbers of a bitmap of words */

struct rp__draft_item {
  size_t at, n;   /* of its text */
  size_t short_n; /* bytes that stay when it is shortened; 0: it can't be */
  size_t why_at, why_n;
  uint64_t words[RP_DRAFT_WORDS]; /* the set of its words, for rp__draft_tells */
  bool shortened;
};

struct rp__draft_section {
  enum rp__section kind;
  size_t first, n;      /* of the items */
  size_t cut, left_out; /* items that had to go, and those there was no room to take */
  size_t why_at, why_n; /* of its title */
  bool dropped;
};

struct rp__draft {
  const struct rp__redactor *redactor; /* NULL: nothing is masked */
  struct rp__buf bytes;
  struct rp__draft_item *items;
  size_t n_items, cap_items;
  struct rp__draft_section sections[RP_SECTIONS_MAX];
  size_t n_sections;
};

void rp__draft_init(struct rp__draft *d);
void rp__draft_done(struct rp__draft *d);

/* Begins a section, once each, in the order in which they are shown. Without items it is not there. */
void rp__draft_section(struct rp__draft *d, enum rp__section kind, const char *why, ...) RP_PRINTF(3, 4);
/* Begins an item of the last section; its text goes into the buffer returned, up to rp__draft_why. */
struct rp__buf *rp__draft_item(struct rp__draft *d);
void rp__draft_short(struct rp__draft *d); /* what comes from here on may be cut off */
/* Ends an item with its reason. */
void rp__draft_why(struct rp__draft *d, const char *why, ...) RP_PRINTF(2, 3);
/* Takes the item begun back. */
void rp__draft_cancel(struct rp__draft *d);
void rp__draft_drop(struct rp__draft *d); /* the items of the last section */
/* Whether the item begun says the same as an earlier one of its section. */
bool rp__draft_repeats(const struct rp__draft *d);
/* Whether one item has so many of 100 words of the text (brief-repeats.c). */
#define RP_REPEATED 80 /* the same in other words */
#define RP_SENT_AGAIN 95
bool rp__draft_tells(const struct rp__draft *d, struct rp__str text, unsigned percent);
/* Whether the name stands in some item. */
bool rp__draft_mentions(const struct rp__draft *d, struct rp__str name);
void rp__draft_words(struct rp__str text, uint64_t set[RP_DRAFT_WORDS]);
bool rp__words_repeat(struct rp__str text, const uint64_t set[RP_DRAFT_WORDS], unsigned percent);

/* ---- what the two templates share: each adds a section, unless that would be empty ---- */

#define RP_LABEL_CHARS 200 /* of ids, labels, titles and names */
#define RP_TEXT_CHARS 500  /* of messages and facts */

void rp__brief_coder(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_robot(const struct rp__brief_input *in, struct rp__draft *d);

void rp__brief_tasks(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_pins(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_memories(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_stopped(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_tools(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_waiting(const struct rp__brief_input *in, struct rp__draft *d); /* approvals and questions */
void rp__brief_evidence(const struct rp__brief_input *in, struct rp__draft *d);

/* What the digests tell (brief-digest.c). */
void rp__brief_last(const struct rp__brief_input *in, struct rp__draft *d);   /* the last request, those before it */
void rp__brief_work(const struct rp__brief_input *in, struct rp__draft *d);   /* files, failing commands, commits */
void rp__brief_todos(const struct rp__brief_input *in, struct rp__draft *d);  /* the agent's own list */
void rp__brief_rules(const struct rp__brief_input *in, struct rp__draft *d);  /* what was declined, and rules */
void rp__brief_others(const struct rp__brief_input *in, struct rp__draft *d); /* open and older sessions */
/* Appends the newest files of a session and those changed most, at most nine (brief-files.c). */
void rp__brief_files(const struct rp__brief_input *in, const struct rp__digest *g, size_t max, struct rp__buf *out);
void rp__brief_more(const struct rp__brief_input *in, struct rp__draft *d); /* how to know more */
/* "3 hours ago", "yesterday". */
void rp__ago_words(int64_t now_ms, int64_t at_ms, struct rp__buf *out);

size_t rp__brief_pin_count(const struct rp__brief_input *in); /* that the pins section would have */
/* " (2 hours ago)", or nothing of a time that is 0. */
void rp__brief_ago(const struct rp__brief_input *in, int64_t at_ms, struct rp__buf *out);

#endif
