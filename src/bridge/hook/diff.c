/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two small texts line by line. Equal lines at both ends are set aside. For the rest the longest common
 * subsequence is found with the plain table; where that table would be too large, all the rest counts as changed.
 */
#include "bridge/hook/hook.h"

#define LINES_MAX 100000
#define CELLS_MAX ((size_t)4 * 1024 * 1024)
#define CONTEXT 3

struct lines {
  struct rp__str *p;
  size_t n;
};

static void lines_done(struct lines *l)
{
  free(l->p);
}

static int split(struct rp__str text, struct lines *ret, rp_error *err)
{
  size_t n = 1;
  for (size_t i = 0; i < text.n; i++) n += text.p[i] == '\n';
  if (n > LINES_MAX) return rp__fail(err, RP_E_TOO_LARGE, "too many lines to compare");
  if (!(ret->p = calloc(n, sizeof *ret->p))) return rp__fail_nomem(err);
  for (const char *p = text.p, *end = text.p + text.n; p < end;) {
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    ret->p[ret->n++] = (struct rp__str){p, (size_t)((nl ? nl : end) - p)};
    p = nl ? nl + 1 : end;
  }
  return 0;
}

static bool same(struct rp__str a, struct rp__str b)
{
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ---- which lines stay ---- */

struct diff {
  struct lines a, b;
  size_t head, tail; /* equal lines at the beginning and at the end */
  uint16_t *table;   /* [i][j]: how many lines a[i…] and b[j…] have in common; NULL: not known */
  size_t width;
};

static void diff_done(struct diff *d)
{
  lines_done(&d->a);
  lines_done(&d->b);
  free(d->table);
}

static void trim(struct diff *d)
{
  size_t most = RP_MIN(d->a.n, d->b.n);
  while (d->head < most && same(d->a.p[d->head], d->b.p[d->head])) d->head++;
  while (d->tail < most - d->head && same(d->a.p[d->a.n - 1 - d->tail], d->b.p[d->b.n - 1 - d->tail])) d->tail++;
}

static int compare(struct diff *d, rp_error *err)
{
  size_t rows = d->a.n - d->head - d->tail, columns = d->b.n - d->head - d->tail;
  d->width = columns + 1;
  if (rows > UINT16_MAX || columns > UINT16_MAX || (rows + 1) * d->width > CELLS_MAX) return 0;
  if (!(d->table = calloc((rows + 1) * d->width, sizeof *d->table))) return rp__fail_nomem(err);
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      uint16_t *cell = &d->table[i * d->width + j];
      if (same(d->a.p[d->head + i], d->b.p[d->head + j]))
        *cell = (uint16_t)(cell[d->width + 1] + 1);
      else
        *cell = RP_MAX(cell[d->width], cell[1]);
    }
  }
  return 0;
}

/* ' ' both go on, '-' only a, '+' only b. */
static char step(const struct diff *d, size_t i, size_t j)
{
  if (i < d->head || i >= d->a.n - d->tail) return i < d->head || j >= d->b.n - d->tail ? ' ' : '+';
  if (j >= d->b.n - d->tail) return '-';
  if (!d->table) return '-';
  if (same(d->a.p[i], d->b.p[j])) return ' ';
  const uint16_t *cell = &d->table[(i - d->head) * d->width + (j - d->head)];
  return cell[d->width] >= cell[1] ? '-' : '+';
}

/* ---- telling ---- */

static void put(struct rp__buf *out, char mark, struct rp__str line)
{
  rp__buf_char(out, mark);
  rp__buf_add(out, line.p, line.n);
  rp__buf_char(out, '\n');
}

/* What becomes of each line, in order; as many as both texts have lines at most. */
static size_t mark_all(const struct diff *d, char *marks)
{
  size_t n = 0, i = 0, j = 0;
  while (i < d->a.n || j < d->b.n) {
    char mark = step(d, i, j);
    marks[n++] = mark;
    i += mark != '+';
    j += mark != '-';
  }
  return n;
}

static bool near_change(const char *marks, size_t n, size_t k)
{
  size_t from = k > CONTEXT ? k - CONTEXT : 0, to = RP_MIN(n, k + CONTEXT + 1);
  for (; from < to; from++)
    if (marks[from] != ' ') return true;
  return false;
}

static void tell(const struct diff *d, const char *marks, size_t n, struct rp__buf *out)
{
  size_t i = 0, j = 0;
  bool skipped = false;
  for (size_t k = 0; k < n; k++) {
    bool shown = near_change(marks, n, k);
    if (shown && skipped) rp__buf_str(out, "@@\n");
    skipped = !shown;
    if (shown) put(out, marks[k], marks[k] == '+' ? d->b.p[j] : d->a.p[i]);
    i += marks[k] != '+';
    j += marks[k] != '-';
  }
}

int rp__hook_diff(struct rp__str before, struct rp__str after, struct rp__buf *out, rp_error *err)
{
  struct diff d RP_CLEANUP(diff_done) = {0};
  int rc = split(before, &d.a, err);
  if (!rc) rc = split(after, &d.b, err);
  if (rc) return rc;
  trim(&d);
  rc = compare(&d, err);
  if (rc) return rc;
  RP_AUTOFREE char *marks = malloc(d.a.n + d.b.n + 1);
  if (!marks) return rp__fail_nomem(err);
  tell(&d, marks, mark_all(&d, marks), out);
  return out->err ? rp__fail_nomem(err) : 0;
}
