/* SPDX-License-Identifier: Apache-2.0 */
/* The look of each section, the order in which sections are cut, and the writing of the text. */
#include "continuity/brief-impl.h"

/* ---- the look ------------------------------------------------------------------- */

enum look {
  LINES,  /* the items, each a line */
  BLOCK,  /* a title, then the items */
  INLINE, /* a title and the items on one line */
};

static const struct {
  enum look look;
  const char *title;
  bool newest_last; /* what is cut goes from the front */
  bool quiet;       /* it is not told that something was cut: the closing line says where more is */
} looks[RP_SECTIONS_MAX] = {
    [RP_SEC_HEADER] = {LINES, NULL, false},
    [RP_SEC_INSTRUCTION] = {LINES, NULL, false},
    [RP_SEC_LAST] = {LINES, NULL, false, true},
    [RP_SEC_BEFORE] = {BLOCK, "BEFORE THAT:", false, true},
    [RP_SEC_FILES] = {LINES, NULL, false},
    [RP_SEC_FAILS] = {LINES, NULL, false, true},
    [RP_SEC_COMMITS] = {LINES, NULL, false},
    [RP_SEC_TODOS] = {BLOCK, "OPEN TODOS:", false},
    [RP_SEC_DECLINED] = {LINES, NULL, false, true},
    [RP_SEC_RULES] = {BLOCK, "THE USER SAID:", false, true},
    [RP_SEC_OPEN] = {LINES, NULL, false, true},
    [RP_SEC_OLDER] = {BLOCK, "EARLIER SESSIONS:", false, true},
    [RP_SEC_MORE] = {LINES, NULL, false},
    [RP_SEC_TASKS] = {BLOCK, "PENDING TASKS:", false},
    [RP_SEC_PROJECTS] = {INLINE, "ACTIVE PROJECTS: ", false},
    [RP_SEC_TOPICS] = {INLINE, "HOT TOPICS: ", false},
    [RP_SEC_WORKING_MEMORY] = {LINES, NULL, false},
    [RP_SEC_MESSAGES] = {BLOCK, "RECENT CONVERSATION:", true},
    [RP_SEC_MOOD] = {INLINE, "MOOD: ", false},
    [RP_SEC_WOUNDS] = {BLOCK, "WOUNDS:", false},
    [RP_SEC_PERSON] = {INLINE, "LAST PERSON SEEN: ", false},
    [RP_SEC_AWAY] = {LINES, NULL, false},
    [RP_SEC_SNIPPETS] = {BLOCK, "TALKED ABOUT:", false},
    [RP_SEC_MEMORIES] = {BLOCK, "REMEMBERED:", false},
    [RP_SEC_STOPPED] = {INLINE, "WHY IT STOPPED: ", false},
    [RP_SEC_TOOLS] = {BLOCK, "TOOLS WITH UNKNOWN OUTCOME:", false},
    [RP_SEC_APPROVALS] = {BLOCK, "OPEN APPROVALS:", false},
    [RP_SEC_QUESTIONS] = {BLOCK, "OPEN QUESTIONS:", false},
    [RP_SEC_PINS] = {BLOCK, "PINS:", false},
    [RP_SEC_TRANSCRIPT] = {BLOCK, "TRANSCRIPT (tail):", true},
    [RP_SEC_NOTES] = {BLOCK, "NOTES:", true},
    [RP_SEC_FRAMES] = {BLOCK, "FRAMES:", true},
    [RP_SEC_CONTEXT] = {BLOCK, "CONVERSATION MEMORY:", false},
};

/* ---- the bound ------------------------------------------------------------------- */

enum cut {
  SHORTEN, /* the parts of items that can be spared, from the last item on */
  CUT,     /* items, until `keep` are left; a line tells how many went. With none left the section goes */
  DROP,    /* the section */
};

/* What is cut first, until the rest fits. What stands in no row is never cut: header and instruction. */
static const struct {
  enum rp__section section;
  enum cut how;
  size_t keep;
} cuts[] = {
    {RP_SEC_FRAMES, CUT, 0},     {RP_SEC_TRANSCRIPT, CUT, 2}, {RP_SEC_NOTES, CUT, 2},
    {RP_SEC_CONTEXT, CUT, 0},    {RP_SEC_MEMORIES, CUT, 5},   {RP_SEC_MESSAGES, CUT, 4},
    {RP_SEC_TOPICS, CUT, 3},     {RP_SEC_PROJECTS, CUT, 3},   {RP_SEC_TOPICS, DROP, 0},
    {RP_SEC_RULES, CUT, 4},      {RP_SEC_BEFORE, CUT, 4},     {RP_SEC_PINS, SHORTEN, 0},
    {RP_SEC_RULES, CUT, 3},      {RP_SEC_OLDER, CUT, 2},      {RP_SEC_BEFORE, CUT, 3},
    {RP_SEC_RULES, CUT, 2},      {RP_SEC_MEMORIES, CUT, 3},   {RP_SEC_BEFORE, CUT, 2},
    {RP_SEC_OLDER, SHORTEN, 0},  {RP_SEC_OPEN, SHORTEN, 0},   {RP_SEC_OLDER, CUT, 1},
    {RP_SEC_COMMITS, DROP, 0},   {RP_SEC_RULES, CUT, 1},      {RP_SEC_DECLINED, CUT, 1},
    {RP_SEC_FAILS, CUT, 1},      {RP_SEC_BEFORE, CUT, 1},     {RP_SEC_OLDER, CUT, 0},
    {RP_SEC_TODOS, CUT, 3},      {RP_SEC_RULES, CUT, 0},      {RP_SEC_BEFORE, CUT, 0},
    {RP_SEC_TRANSCRIPT, CUT, 0}, {RP_SEC_NOTES, CUT, 0},      {RP_SEC_MEMORIES, CUT, 0},
    {RP_SEC_SNIPPETS, CUT, 1},   {RP_SEC_MESSAGES, CUT, 0},   {RP_SEC_WOUNDS, CUT, 0},
    {RP_SEC_PINS, CUT, 0},       {RP_SEC_QUESTIONS, CUT, 0},  {RP_SEC_APPROVALS, CUT, 0},
    {RP_SEC_SNIPPETS, DROP, 0},  {RP_SEC_TOPICS, DROP, 0},    {RP_SEC_PROJECTS, DROP, 0},
    {RP_SEC_MOOD, DROP, 0},      {RP_SEC_PERSON, DROP, 0},    {RP_SEC_WORKING_MEMORY, DROP, 0},
    {RP_SEC_AWAY, DROP, 0},      {RP_SEC_STOPPED, DROP, 0},   {RP_SEC_DECLINED, CUT, 0},
    {RP_SEC_FAILS, CUT, 0},      {RP_SEC_TODOS, CUT, 0},      {RP_SEC_OPEN, CUT, 0},
    {RP_SEC_TASKS, CUT, 0},      {RP_SEC_FILES, DROP, 0},     {RP_SEC_LAST, CUT, 1},
    {RP_SEC_TOOLS, CUT, 0},      {RP_SEC_MORE, DROP, 0},      {RP_SEC_LAST, DROP, 0},
};

#define VITAL 4 /* rows at the end: where one of these had to go, nothing that matters less stands in its place */

static size_t decimal(size_t n)
{
  size_t digits = 1;
  for (; n >= 10; n /= 10) digits++;
  return digits;
}

#define MORE_BEFORE "… ("
#define MORE_AFTER " more)"
#define SHORT_MARK " …"

static size_t hidden(const struct rp__draft_section *s)
{
  return looks[s->kind].quiet ? 0 : s->cut + s->left_out;
}

/* What tells that the rest of an item was cut off; nothing where the item says enough without it. */
static const char *short_mark(const struct rp__draft_section *s)
{
  return looks[s->kind].quiet ? "" : SHORT_MARK;
}

/* The items that are still shown. */
static void shown(const struct rp__draft_section *s, size_t *ret_from, size_t *ret_to)
{
  bool front = looks[s->kind].newest_last;
  *ret_from = s->first + (front ? s->cut : 0);
  *ret_to = s->first + s->n - (front ? 0 : s->cut);
}

/* Bytes of the whole as it stands, with the line ends; an INLINE section has a comma and a space between its items. */
static size_t draft_size(const struct rp__draft *d)
{
  size_t n = 0, sections = 0;
  for (const struct rp__draft_section *s = d->sections; s < d->sections + d->n_sections; s++) {
    size_t from, to, parts = hidden(s) ? 1 : 0;
    if (s->dropped || s->n == 0) continue;
    sections++;
    shown(s, &from, &to);
    for (size_t i = from; i < to; i++, parts++)
      n += d->items[i].shortened ? d->items[i].short_n + strlen(short_mark(s)) : d->items[i].n;
    if (hidden(s)) n += sizeof MORE_BEFORE - 1 + decimal(hidden(s)) + sizeof MORE_AFTER - 1;
    switch (looks[s->kind].look) {
    case INLINE: n += strlen(looks[s->kind].title) + 2 * (parts ? parts - 1 : 0) + 1; break;
    case BLOCK: n += strlen(looks[s->kind].title) + 1 + parts; break;
    case LINES: n += parts; break;
    }
  }
  return sections ? n + (sections - 1) - 1 : 0; /* an empty line between two, no line end behind the last */
}

static void shorten(struct rp__draft *d, const struct rp__draft_section *s, size_t max_bytes)
{
  for (size_t i = s->first + s->n; i > s->first && draft_size(d) > max_bytes; i--) {
    struct rp__draft_item *item = &d->items[i - 1];
    item->shortened = item->short_n > 0 && item->short_n + strlen(short_mark(s)) < item->n;
  }
}

static struct rp__draft_section *section_of(struct rp__draft *d, enum rp__section kind)
{
  for (size_t k = 0; k < d->n_sections; k++)
    if (d->sections[k].kind == kind && d->sections[k].n) return &d->sections[k];
  return NULL;
}

/* Takes back what fits all the same, the last cut first: the end of a long item may have made room for short ones. */
static void refill(struct rp__draft *d, size_t cut, size_t max_bytes)
{
  for (size_t i = cut; i > 0; i--) {
    struct rp__draft_section *s = section_of(d, cuts[i - 1].section);
    if (!s) continue;
    struct rp__draft_section had = *s;
    s->dropped = false;
    for (bool fits = draft_size(d) <= max_bytes; fits && s->cut; fits = draft_size(d) <= max_bytes) {
      had = *s;
      s->cut--;
    }
    if (draft_size(d) > max_bytes) *s = had;
    s->dropped = s->dropped || s->cut == s->n;
    for (size_t k = s->first; k < s->first + s->n; k++) { /* the first are worth most */
      bool shortened = d->items[k].shortened;
      d->items[k].shortened = false;
      if (draft_size(d) <= max_bytes) continue;
      d->items[k].shortened = shortened;
      break;
    }
  }
}

/* Cuts what is too much by the table. False: even the header does not fit. */
static bool draft_fit(struct rp__draft *d, size_t max_bytes)
{
  size_t i = 0;
  for (; i < RP_ARRAY_SIZE(cuts) && draft_size(d) > max_bytes; i++) {
    struct rp__draft_section *s = section_of(d, cuts[i].section);
    if (!s) continue;
    if (cuts[i].how == DROP) s->dropped = true;
    if (cuts[i].how == SHORTEN) shorten(d, s, max_bytes);
    while (cuts[i].how == CUT && s->n - s->cut > cuts[i].keep && draft_size(d) > max_bytes) s->cut++;
    if (s->cut == s->n) s->dropped = true;
  }
  if (draft_size(d) > max_bytes) return false;
  if (i <= RP_ARRAY_SIZE(cuts) - VITAL) refill(d, i, max_bytes);
  return true;
}

/* Whether there is more than a header. */
static bool draft_says(const struct rp__draft *d)
{
  for (size_t i = 0; i < d->n_sections; i++) {
    const struct rp__draft_section *s = &d->sections[i];
    if (s->kind != RP_SEC_HEADER && s->n && !s->dropped) return true;
  }
  return false;
}

/* ---- writing --------------------------------------------------------------------- */

struct writing {
  const struct rp__draft *d;
  struct rp__buf *out;
  struct rp__jw *why;
  size_t start, line; /* where the brief and the line begin */
  size_t max_bytes;
};

/* The line is whole: tells why it is there, and ends it. */
static void line_end(struct writing *w, const char *why, size_t why_n)
{
  if (w->why && !w->out->err) {
    rp__jw_pack(w->why, "{line:n reason:n}", w->out->p + w->line, w->out->n - w->line, why, why_n);
  }
  rp__buf_char(w->out, '\n');
  w->line = w->out->n;
}

static void more_line(struct writing *w, const struct rp__draft_section *s)
{
  char why[80];
  int n = snprintf(why, sizeof why, "cut: the brief has at most %zu bytes", w->max_bytes);
  rp__buf_printf(w->out, MORE_BEFORE "%zu" MORE_AFTER, hidden(s));
  line_end(w, why, (size_t)n);
}

static void draft_write(const struct rp__draft *d, size_t max_bytes, struct rp__buf *out, struct rp__jw *why)
{
  struct writing w = {.d = d, .out = out, .why = why, .start = out->n, .line = out->n, .max_bytes = max_bytes};
  for (const struct rp__draft_section *s = d->sections; s < d->sections + d->n_sections; s++) {
    bool front = looks[s->kind].newest_last, one_line = looks[s->kind].look == INLINE;
    size_t from, to;
    if (s->dropped || s->n == 0) continue;
    shown(s, &from, &to);
    if (out->n > w.start) rp__buf_char(out, '\n');
    w.line = out->n;
    if (looks[s->kind].look != LINES) rp__buf_str(out, looks[s->kind].title);
    if (looks[s->kind].look == BLOCK) line_end(&w, d->bytes.p + s->why_at, s->why_n);
    if (hidden(s) && front && !one_line) more_line(&w, s);
    for (size_t i = from; i < to; i++) {
      const struct rp__draft_item *item = &d->items[i];
      if (one_line && i > from) rp__buf_str(out, ", ");
      rp__buf_add(out, d->bytes.p + item->at, item->shortened ? item->short_n : item->n);
      if (item->shortened) rp__buf_str(out, short_mark(s));
      if (!one_line) line_end(&w, d->bytes.p + item->why_at, item->why_n);
    }
    if (hidden(s) && !front && !one_line) more_line(&w, s);
    if (one_line && hidden(s)) rp__buf_printf(out, "%s" MORE_BEFORE "%zu" MORE_AFTER, to > from ? ", " : "", hidden(s));
    if (one_line) line_end(&w, d->bytes.p + s->why_at, s->why_n);
  }
  if (out->err || out->n == w.start) return;
  out->p[--out->n] = '\0';
}

/* ---- all of it -------------------------------------------------------------------- */

int rp__brief_write(const struct rp__brief_input *in, struct rp__buf *out, struct rp__jw *why)
{
  RP_CLEANUP(rp__draft_done) struct rp__draft d;
  size_t before = out->n;
  rp__draft_init(&d);
  d.redactor = in->redactor;
  /* A robot that starts afresh has nothing to be told; a coder may, where imported sessions have something to give. */
  if (in->form != RP_TEMPLATE_ROBOT)
    rp__brief_coder(in, &d);
  else if (in->restart != RP_RESTART_FRESH || in->resumed)
    rp__brief_robot(in, &d);
  if (d.bytes.err) return d.bytes.err;
  if (why) rp__jw_array(why);
  bool any = draft_says(&d), fits = draft_fit(&d, in->max_bytes) && draft_says(&d);
  if (any && fits) draft_write(&d, in->max_bytes, out, why);
  if (why) rp__jw_end_array(why);
  int rc = out->err ? out->err : why ? why->out->err : 0;
  if (!rc && any && !fits) return RP_E_TOO_LARGE;
  if (rc && out->p) out->p[out->n = before] = '\0';
  return rc;
}
