/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of other programs: pure converters between their documents and our events, listed in one table with a row
 * per format. An import pushes sessions and checked events into a taker; an export reads the state and the journal from
 * a giver. Neither uses a clock or our store.
 *
 * A document may be hostile, so every size, depth and count has a bound. Content of a session that makes no sense is
 * left out and counted in a note. A session that can't be understood fails without stopping the others.
 */
#ifndef RP_FORMAT_H
#define RP_FORMAT_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "base/id.h"
#include "core/fold.h"

#define RP_FOREIGN_MAX ((size_t)64 * 1024 * 1024)      /* bytes of a document, decompressed */
#define RP_FOREIGN_GZIP_MAX ((size_t)10 * 1024 * 1024) /* bytes of a compressed one */
#define RP_FOREIGN_SESSIONS 100000
#define RP_FOREIGN_EVENTS 1000000 /* of one session */

/* ---- documents ---- */

enum rp__doc_type { RP_DOC_JSON, RP_DOC_SQLITE };

struct rp__doc {
  enum rp__doc_type type;
  struct rp__json json; /* RP_DOC_JSON */
  struct rp__str bytes; /* as they came; borrowed */
  const char *path;     /* where they came from, or NULL; borrowed */
  struct rp__buf plain; /* what was compressed */
};

/*
 * Finds out what the bytes are and checks them. RP_E_FORMAT: nothing we know; RP_E_FORMAT_CORRUPT: it begins like
 * something we know and is damaged; RP_E_TOO_LARGE.
 */
RP_MUST_USE int rp__doc_open(const void *bytes, size_t n, struct rp__doc *ret, rp_error *err);
void rp__doc_done(struct rp__doc *d);

/* ---- coming in ---- */

/* What a document says about a session as a whole. */
struct rp__foreign {
  char id[RP_ID_MAX + 1]; /* one that we may use; the same document gives the same id */
  char channel[RP_ID_MAX + 1], provider[RP_ID_MAX + 1], previous_id[RP_ID_MAX + 1], continued_by[RP_ID_MAX + 1];
  char name[200];                                 /* for people; may be empty */
  int64_t created_at, last_activity_at, ended_at; /* ms; ended_at 0: it is open */
  bool ended;                                     /* also when it is not known when: ended_at is 0 then */
  bool crashed;                                   /* it did not end by itself */
  bool robot;                                     /* whose past it is: the scope's brief is a robot's from now on */
  int64_t total_sessions;                         /* the program's own count; 0: it does not say */
};

#define RP__TAKE_SKIP 1 /* the taker has that session already: its events are not wanted */

/* Credentials that a document carries (C-11): of the whole of it, before its sessions; the others of the session that
 * begins next, its own token first. */
enum rp__foreign_secret { RP_SECRET_STORE, RP_SECRET_SESSION, RP_SECRET_MANAGER };

struct rp__taker {
  size_t max_body;
  int (*begin)(void *ctx, const struct rp__foreign *f, rp_error *err); /* 0, RP__TAKE_SKIP or an error */
  int (*event)(void *ctx, const struct rp__event *ev,
               rp_error *err);               /* checked; `restored` and `runtime` are made by us */
  int (*end)(void *ctx, rp_error *err);      /* the session begun is complete */
  void (*note)(void *ctx, const char *text); /* about the session begun */
  /* Never stored among the events; NULL: not wanted. */
  int (*secret)(void *ctx, enum rp__foreign_secret which, const char *text, size_t n, rp_error *err);
  /* A session that is not taken; others follow. 0 or an error that ends the import. */
  int (*failed)(void *ctx, const char *name, const char *why);
  void *ctx;
};

/* ---- going out ---- */

typedef int rp__given_fn(void *ctx, const struct rp__event *ev);

/* What an exporter is told of the session itself. Texts are "" where there is none, times 0. */
struct rp__given_session {
  const char *id, *scope, *channel, *previous_id, *continued_by;
  int64_t created_at, last_activity_at, ended_at;
  bool crash_recovered;
};

struct rp__giver {
  const struct rp__fold *state;
  struct rp__given_session session;
  struct rp__json meta;            /* an object, with what the start of the session gave; RP_JSON_NONE: none */
  int64_t now_ms;                  /* of the state */
  int64_t started_at;              /* of the run, or of the session */
  int64_t total_sessions;          /* starts of the scope */
  bool clean;                      /* nobody lives in it, and it was left in good order */
  const struct rp__random *random; /* for tokens that must be nobody's */
  int (*events)(void *ctx, rp__given_fn *fn, void *fn_ctx, rp_error *err); /* the journal, in order */
  void *ctx;
  rp_write_fn *write; /* takes what is finished */
  void *write_ctx;
};

/* Hands over what `out` holds. RP_E_IO when the writer refuses, and the buffer's own error. */
RP_MUST_USE int rp__give(const struct rp__giver *g, struct rp__buf *out, rp_error *err);

/* ---- the table ---- */

struct rp__format {
  const char *name, *extension;
  const char *what; /* what a document of this format is, for "expected …" */
  bool (*detect)(const struct rp__doc *d);
  int (*import)(const struct rp__doc *d, const struct rp__taker *t, rp_error *err); /* NULL: only written */
  int (*export)(const struct rp__giver *g, rp_error *err);                          /* a stream */
  int (*put)(const struct rp__giver *g, const char *path, rp_error *err);           /* into a file that exists */
};
extern const struct rp__format *const rp__formats[]; /* in the order of detection; ends with NULL */

const struct rp__format *rp__format_find(const char *name); /* NULL: none of that name */
/* By content, or NULL. */
const struct rp__format *rp__format_detect(const struct rp__doc *d);
/* What a document of unknown format is tried as. */
#define RP_FORMATS_READ "reprise, nova, cortex, clawd and orbitmesh"
/* RP_E_FORMAT, naming what was expected: that format's documents, or any of the table's for NULL. */
RP_MUST_USE int rp__format_refuse(const struct rp__format *f, rp_error *err);

extern const struct rp__format rp__format_nova, rp__format_cortex, rp__format_clawd, rp__format_orbitmesh,
    rp__format_markdown;

/* ---- parts the engine uses by themselves ---- */

/* The document of the "Session File" (N-06), as Python's json.dump with indent 2 writes it, and whether bytes are one.
 */
int rp__nova_write(const struct rp__giver *g, struct rp__buf *out);
bool rp__nova_readable(const char *bytes, size_t n);
/* The same document with another heartbeat. RP_E_FORMAT when it is none. */
int rp__nova_heartbeat(const char *bytes, size_t n, int64_t now_ms, struct rp__buf *out);

/* Compact JSON as people read it: two spaces per level; `ascii`: everything else escaped. */
void rp__json_pretty(struct rp__json v, bool ascii, struct rp__buf *out);

/* gzip, and back with a bound. RP_E_FORMAT_CORRUPT, RP_E_TOO_LARGE, RP_E_NOMEM. */
RP_MUST_USE int rp__gzip(const void *bytes, size_t n, struct rp__buf *out, rp_error *err);
RP_MUST_USE int rp__gunzip(const void *bytes, size_t n, struct rp__buf *out, rp_error *err);

#endif
