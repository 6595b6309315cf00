/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: the data of facets that are lists of small records. A list is ordered. Each row is one block of memory, and its
 * cells are JSON in one spelling, so that equal texts are equal bytes before and after a snapshot. The list has a bound
 * in rows and in bytes; the shape chooses the row that is dropped, or else the first row is.
 */
#ifndef RP_FACETS_ROWS_H
#define RP_FACETS_ROWS_H

#include "core/fold.h"

#define RP_COLUMNS_MAX 8
#define RP_FLAGS_MAX 4

enum rp__cell_type {
  RP_CELL_ID,     /* a string of at most RP_EVENT_ID_MAX bytes, whole */
  RP_CELL_TEXT,   /* a string, cut to `max` bytes, or earlier when much of it must be escaped */
  RP_CELL_NUMBER, /* finite */
  RP_CELL_ARRAY,  /* left out when longer than `max` bytes of JSON */
  RP_CELL_ANY,    /* null when longer than `max` bytes of JSON */
};

enum {
  RP_COL_NEED = 1 << 0,   /* without it there is no row */
  RP_COL_NULL = 1 << 1,   /* null in documents where it is absent */
  RP_COL_HIDDEN = 1 << 2, /* in snapshots only */
};

struct rp__column {
  const char *name;
  enum rp__cell_type type;
  unsigned how; /* RP_COL_… */
  size_t max;
};

struct rp__flag {
  const char *name;
  bool hidden; /* in snapshots only */
};

struct rp__rows;

struct rp__shape {
  const char *name;   /* what errors call it */
  enum rp__kind kind; /* of events that rp__rows_append takes */
  struct rp__column columns[RP_COLUMNS_MAX];
  struct rp__flag flags[RP_FLAGS_MAX];        /* true or false members; absent is false */
  const char *time_name;                      /* of the row's time in documents; NULL: not shown */
  bool keyed;                                 /* no two rows have the same first cell */
  size_t max_rows, max_bytes;                 /* of the saved array */
  size_t (*victim)(const struct rp__rows *r); /* which row goes when there is no room; NULL: the first */
};

struct rp__row {
  int64_t at_ms;
  unsigned flags;
  uint32_t n[RP_COLUMNS_MAX]; /* 0: absent */
  char bytes[];
};

/* An empty list has a shape, and zeroes else. */
struct rp__rows {
  const struct rp__shape *shape;
  struct rp__row **v;
  size_t count, bytes;
};

/* A row to be: cells borrowed from a body or a row, or spelled anew. */
struct rp__cells {
  struct rp__str cell[RP_COLUMNS_MAX];
  struct rp__buf own[RP_COLUMNS_MAX];
  unsigned flags;
};
void rp__cells_done(struct rp__cells *c);
#define RP_AUTOCELLS RP_CLEANUP(rp__cells_done)

/* From an event's body; *ret_ok is false when that is no row. `c` is zeroed. 0 or RP_E_NOMEM. */
int rp__cells_read(const struct rp__shape *s, struct rp__json object, struct rp__cells *c, bool *ret_ok);
/* The cells of a row; they last as long as it does. */
void rp__cells_from(struct rp__cells *c, const struct rp__row *row);
/* Sets one cell to a text, as its column wants it. */
int rp__cells_text(const struct rp__shape *s, struct rp__cells *c, unsigned column, struct rp__str text);
/* Sets one cell to a JSON literal that outlives the cells. */
void rp__cells_literal(struct rp__cells *c, unsigned column, const char *json);

struct rp__json rp__row_cell(const struct rp__row *row, unsigned column);
/* The place of the row whose first cell is that (spelled) text; count when there is none. */
size_t rp__rows_find(const struct rp__rows *r, struct rp__str first);
/* The place of the row whose first cell is the same string; count when there is none. */
size_t rp__rows_find_text(const struct rp__rows *r, const char *text);

/* Puts a row in place of the one at i, or behind the last, and drops what no longer fits. 0 or RP_E_NOMEM. */
int rp__rows_put(struct rp__rows *r, size_t i, const struct rp__cells *c, int64_t at_ms);
/* The same, but the row comes behind all others. */
int rp__rows_renew(struct rp__rows *r, size_t i, const struct rp__cells *c, int64_t at_ms);
/* Sets or clears a flag; the row may have to go when that makes it longer. */
void rp__rows_flag(struct rp__rows *r, size_t i, unsigned flag, bool on);
void rp__rows_drop(struct rp__rows *r, size_t i);
/* The members of a row in the state document, into an open object. */
void rp__row_show(const struct rp__row *row, const struct rp__shape *s, struct rp__jw *w);
/* The highest number in a column of seqs; INT64_MAX when one of them is none. */
int64_t rp__rows_newest(const struct rp__rows *r, unsigned column);

/*
 * Slots of a facet whose state is one list (a `struct rp__rows`), for other facets the same of one of their lists. The
 * facet's data is the shape. load: RP_E_SNAPSHOT_CORRUPT names the shape. append: each event of the shape's kind is a
 * row behind the others.
 */
void rp__rows_init(const struct rp__facet_ops *ops, void *rows);
int rp__rows_append(void *rows, const struct rp__event *ev);
bool rp__rows_empty(const void *rows);
void rp__rows_save(const void *rows, struct rp__jw *w);
void rp__rows_show(const void *rows, int64_t now_ms, struct rp__jw *w);
RP_MUST_USE int rp__rows_load(void *rows, struct rp__json array, rp_error *err);
void rp__rows_done(void *rows);
#define RP_ROWS_SLOTS(of, bytes)                                                                                       \
  .state_size = sizeof(struct rp__rows), .data = &(of), .max_bytes = (bytes) + 2, .init = rp__rows_init,               \
  .empty = rp__rows_empty, .save = rp__rows_save, .load = rp__rows_load, .done = rp__rows_done

/* The list of such a facet; an empty one of no shape for a fold that is NULL. Lasts until the fold changes. */
const struct rp__rows *rp__rows_of(const struct rp__fold *f, const struct rp__facet_ops *facet);
extern const struct rp__rows rp__rows_none;

/* An ISO time in a body's member, else `otherwise`. */
int64_t rp__rows_time(struct rp__json object, const char *name, int64_t otherwise);

#endif
