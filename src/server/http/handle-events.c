/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a session's events, forwards from the first or backwards from the newest. */
#include "server/http/handle.h"

#define PAGE_DEFAULT 100 /* events of a page */
#define PAGE_MAX 10000
#define SCAN_MAX 100000 /* events looked at for one page of certain kinds */
#define BACK_STEP 64    /* events read at once on the way back */

struct page {
  struct rp__http_call *c;
  char kinds[RP_CALL_TEXT]; /* separated by commas; empty: all */
  int64_t limit, n, seen, looked;
  bool more;
};

static bool fits(const struct page *p, const rp_event_info *ev)
{
  return ev->lost || rp__handle_wants(p->kinds, ev->kind);
}

static void write_event(struct rp__jw *w, const rp_event_info *ev)
{
  rp__jw_object(w);
  rp__jw_ki64(w, "seq", ev->seq);
  rp__jw_ktime(w, "at", ev->at_ms);
  rp__jw_kstr(w, "kind", ev->kind);
  rp__jw_key(w, "body");
  rp__jw_raw(w, ev->body, ev->body_len);
  rp__jw_end_object(w);
}

/* Whether the page takes no more: it is full, or has looked at enough. */
static bool page_ends(struct page *p, bool fits, size_t bytes)
{
  bool full = p->n && p->c->out.n + bytes > RP_HANDLE_PAGE_BYTES;
  p->more = (fits && (full || p->n == p->limit)) || p->looked == SCAN_MAX;
  return p->more;
}

static void page_saw(struct page *p, bool fits, int64_t seq)
{
  p->seen = seq;
  p->looked++;
  p->n += fits;
}

/* ---- forwards ---- */

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct page *p = ctx;
  bool taken = fits(p, ev);
  if (page_ends(p, taken, ev->body_len)) return RP_HANDLE_STOP;
  page_saw(p, taken, ev->seq);
  if (taken) write_event(&p->c->w, ev);
  return 0;
}

static int list_on(struct page *p, rp_error *err)
{
  struct rp__http_call *c = p->c;
  int rc = rp_events(rp__call_session(c), p->seen, p->kinds[0] ? SCAN_MAX + 1 : p->limit + 1, on_event, p, err);
  if (rc && rc != RP_HANDLE_STOP) return rc;
  /* Who asks beyond the journal's end would pass over what comes next. */
  if (p->looked || !p->seen) return 0;
  struct rp__shown row;
  rc = rp__show(c->srv->engine, c->entry->id, &row, err);
  if (!rc) p->seen = RP_MIN(p->seen, row.seq);
  return rc;
}

/* ---- backwards ---- */

/* A stretch of the journal, read in its order and written from its end. */
struct stretch {
  const struct page *page;
  struct rp__buf text;
  struct {
    int64_t seq;
    size_t at, n; /* in `text`; n = 0: not of a kind that was asked for */
  } event[BACK_STEP];
  size_t n;
};

static int on_held(void *ctx, const rp_event_info *ev)
{
  struct stretch *s = ctx;
  struct rp__jw w = RP_JW(&s->text);
  if (s->n && s->text.n + ev->body_len > RP_HANDLE_PAGE_BYTES) return RP_HANDLE_STOP;
  s->event[s->n].seq = ev->seq;
  s->event[s->n].at = s->text.n;
  if (fits(s->page, ev)) write_event(&w, ev);
  s->event[s->n].n = s->text.n - s->event[s->n].at;
  s->n++;
  return 0;
}

static void write_back(struct page *p, const struct stretch *s)
{
  for (size_t i = s->n; i-- > 0;) {
    bool taken = s->event[i].n > 0;
    if (page_ends(p, taken, s->event[i].n)) return;
    page_saw(p, taken, s->event[i].seq);
    if (taken) rp__jw_raw(&p->c->w, s->text.p + s->event[i].at, s->event[i].n);
  }
}

/* What is before `seen`. A stretch whose events are too long together is read again in a half. */
static int list_back(struct page *p, rp_error *err)
{
  struct rp__http_call *c = p->c;
  int64_t step = BACK_STEP;
  struct rp__shown row;
  int rc = rp__show(c->srv->engine, c->entry->id, &row, err);
  if (!rc) p->seen = p->seen ? RP_MIN(p->seen, row.seq + 1) : row.seq + 1;
  while (!rc && !p->more && p->seen > 1) {
    struct stretch s = {.page = p, .text = RP_BUF(2 * RP_HANDLE_PAGE_BYTES)};
    step = RP_MIN(step, p->seen - 1);
    rc = rp_events(rp__call_session(c), p->seen - 1 - step, step, on_held, &s, err);
    if (rc == RP_HANDLE_STOP) {
      step = (step + 1) / 2;
      rc = 0;
    } else if (!rc && s.text.err) {
      rc = rp__fail_nomem(err);
    } else if (!rc) {
      write_back(p, &s);
    }
    rp__buf_done(&s.text);
  }
  return rc;
}

/* ---- the route ---- */

int rp__handle_events(struct rp__http_call *c, rp_error *err)
{
  struct page p = {.c = c, .limit = PAGE_DEFAULT};
  char order[8] = "";
  int64_t after = -1, before = -1;
  int rc = rp__call_text(c, "order", order, sizeof order, err);
  if (!rc) rc = rp__call_i64(c, "after", 0, INT64_MAX, &after, err);
  if (!rc) rc = rp__call_i64(c, "before", 1, INT64_MAX, &before, err);
  if (rc) return rc;
  bool back = strcmp(order, "desc") == 0;
  if (order[0] && !back && strcmp(order, "asc") != 0)
    return rp__fail_field(err, RP_E_USAGE, "order", "the query's 'order' must be asc or desc");
  if (back && after >= 0)
    return rp__fail_field(err, RP_E_USAGE, "after", "'after' goes with order=asc; order=desc has 'before'");
  if (!back && before >= 0)
    return rp__fail_field(err, RP_E_USAGE, "before", "'before' goes with order=desc; order=asc has 'after'");
  p.seen = RP_MAX(back ? before : after, 0);
  rc = rp__call_i64(c, "limit", 1, PAGE_MAX, &p.limit, err);
  if (!rc) rc = rp__call_text(c, "kind", p.kinds, sizeof p.kinds, err);
  if (rc) return rc;
  rp__jw_object(&c->w);
  rp__jw_karray(&c->w, "events");
  rc = back ? list_back(&p, err) : list_on(&p, err);
  if (rc) return rc;
  rp__jw_end_array(&c->w);
  rp__jw_key(&c->w, back ? "next_before" : "next_after");
  p.more ? rp__jw_i64(&c->w, p.seen) : rp__jw_null(&c->w);
  rp__jw_ki64(&c->w, "seq", back && !p.looked ? 0 : p.seen);
  rp__jw_end_object(&c->w);
  return 0;
}
