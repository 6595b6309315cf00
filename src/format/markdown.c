/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transcript for people: a head about the session, the conversation with its times and tool calls (collapsed), then
 * the timeline of notes and frames (L-12), pins and tasks. It is written as a stream, so a journal of any length needs
 * the memory of one page.
 */
#include "format/markdown.h"

#include "format/take.h"

#define CALLS_OPEN 64
#define SHOWN_MAX 20000 /* bytes of an input or output that are shown */

struct call {
  char id[RP_EVENT_ID_MAX + 1];
  struct rp__buf body; /* of the event that opened it */
};

struct talk {
  struct rp__md *m;
  struct rp__buf last; /* body of the last message or chunk written; empty: none is open */
  struct rp__buf text;
  int64_t day;
  struct call *calls;
  size_t n_calls;
};

static void close_message(struct talk *k)
{
  if (k->last.n) rp__buf_str(&k->m->out, "\n\n");
  rp__buf_reset(&k->last);
}

static void day_heading(struct talk *k, int64_t at_ms)
{
  int64_t day = at_ms / 86400000;
  if (day == k->day) return;
  k->day = day;
  rp__buf_str(&k->m->out, "### ");
  rp__md_day(&k->m->out, at_ms);
  rp__buf_str(&k->m->out, "\n\n");
}

/* ---- messages ---- */

static const char *speaker(struct rp__json role)
{
  static const struct {
    const char *role, *name;
  } names[] = {{"user", "User"}, {"assistant", "Assistant"}, {"system", "System"}, {"tool", "Tool"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++)
    if (rp__json_eq(role, names[i].role)) return names[i].name;
  return "Somebody";
}

static void on_message(struct talk *k, const struct rp__event *ev)
{
  struct rp__buf *out = &k->m->out;
  bool more = k->last.n && rp__same_message(rp__json_trusted(k->last.p, k->last.n), ev->body);
  if (!more) {
    close_message(k);
    day_heading(k, ev->at_ms);
    rp__buf_printf(out, "**%s** · ", speaker(rp__json_get(ev->body, "role")));
    rp__md_clock(out, ev->at_ms);
    rp__buf_str(out, "\n\n");
  }
  rp__buf_reset(&k->last);
  rp__buf_add(&k->last, ev->body.p, ev->body.n);
  rp__buf_reset(&k->text);
  rp__content_text(rp__json_get(ev->body, "content"), &k->text);
  if (k->text.n) rp__md_text(out, k->text.p, k->text.n);
  if (k->text.err || k->last.err) out->err = out->err ? out->err : RP_E_NOMEM;
}

/* ---- tools ---- */

static void write_part(struct rp__buf *out, const char *title, struct rp__json v)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) return;
  if (v.type == RP_JSON_STRING)
    rp__json_text(v, &text);
  else
    rp__json_pretty(v, false, &text);
  if (text.err) out->err = out->err ? out->err : text.err;
  if (text.err || !text.n) return;
  rp__buf_printf(out, "%s\n\n", title);
  rp__md_fenced(out, v.type == RP_JSON_STRING ? "" : "json", text.p, RP_MIN(text.n, (size_t)SHOWN_MAX));
  if (text.n > SHOWN_MAX) rp__buf_printf(out, "… %zu bytes in all\n\n", text.n);
}

static void write_call(struct talk *k, struct rp__json opened, struct rp__json ended, int64_t at_ms)
{
  struct rp__buf *out = &k->m->out;
  struct rp__json input = rp__json_get(ended, "input"), status = rp__json_get(ended, "status");
  close_message(k);
  day_heading(k, at_ms);
  rp__buf_str(out, "<details><summary>Tool <code>");
  rp__md_value(out, rp__json_get(ended, "name"));
  rp__buf_str(out, "</code> · ");
  if (rp__json_eq(status, "done") || rp__json_eq(status, "failed"))
    rp__md_value(out, status);
  else
    rp__buf_str(out, "nobody knows how it ended");
  rp__buf_str(out, " · ");
  rp__md_clock(out, at_ms);
  rp__buf_str(out, "</summary>\n\n");
  write_part(out, "Input", input.type == RP_JSON_NONE ? rp__json_get(opened, "input") : input);
  write_part(out, "Output", rp__json_get(ended, "output"));
  rp__buf_str(out, "</details>\n\n");
}

static size_t find_call(struct talk *k, const char *id)
{
  size_t i = 0;
  while (i < k->n_calls && strcmp(k->calls[i].id, id) != 0) i++;
  return i;
}

static void drop_call(struct talk *k, size_t i)
{
  rp__buf_done(&k->calls[i].body);
  k->n_calls--;
  memmove(&k->calls[i], &k->calls[i + 1], (k->n_calls - i) * sizeof k->calls[0]);
}

static void open_call(struct talk *k, const char *id, const struct rp__event *ev)
{
  size_t i = find_call(k, id);
  if (i < k->n_calls) return; /* it goes on */
  if (k->n_calls == CALLS_OPEN) drop_call(k, 0);
  struct call *c = &k->calls[k->n_calls++];
  c->body = RP_BUF(RP_FOREIGN_MAX);
  snprintf(c->id, sizeof c->id, "%s", id);
  rp__buf_add(&c->body, ev->body.p, ev->body.n);
  if (c->body.err) k->m->out.err = RP_E_NOMEM;
}

static void on_tool(struct talk *k, const struct rp__event *ev)
{
  struct rp__json status = rp__json_get(ev->body, "status"), opened = {0};
  char id[RP_EVENT_ID_MAX + 1];
  rp__text_of(rp__json_get(ev->body, "call_id"), id, sizeof id);
  if (rp__json_eq(status, "intended") || rp__json_eq(status, "running")) {
    open_call(k, id, ev);
    return;
  }
  size_t i = find_call(k, id);
  if (i < k->n_calls) opened = rp__json_trusted(k->calls[i].body.p, k->calls[i].body.n);
  write_call(k, opened, ev->body, ev->at_ms);
  if (i < k->n_calls) drop_call(k, i);
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct talk *k = ctx;
  if (ev->kind == RP_KIND_MESSAGE) on_message(k, ev);
  if (ev->kind == RP_KIND_TOOL) on_tool(k, ev);
  return rp__md_flush(k->m);
}

static int conversation(struct rp__md *m)
{
  struct talk k = {.m = m, .last = RP_BUF(RP_FOREIGN_MAX), .text = RP_BUF(RP_FOREIGN_MAX), .day = -1};
  k.calls = calloc(CALLS_OPEN, sizeof *k.calls);
  if (!k.calls) return rp__fail_nomem(m->err);
  rp__buf_str(&m->out, "## Conversation\n\n");
  int rc = rp__give_events(m->g, on_event, &k, m->err);
  for (size_t i = 0; !rc && i < k.n_calls; i++) {
    struct rp__json body = rp__json_trusted(k.calls[i].body.p, k.calls[i].body.n);
    write_call(&k, body, body, m->g->now_ms);
  }
  close_message(&k);
  while (k.n_calls) drop_call(&k, k.n_calls - 1);
  free(k.calls);
  rp__buf_done(&k.last);
  rp__buf_done(&k.text);
  return rc;
}

static int markdown_export(const struct rp__giver *g, rp_error *err)
{
  struct rp__md m = {.g = g, .out = RP_BUF(2 * RP_FOREIGN_MAX), .err = err};
  rp__md_head(&m);
  int rc = conversation(&m);
  if (!rc) rc = rp__md_timeline(&m);
  if (!rc) {
    rp__md_pins(&m);
    rp__md_tasks(&m);
    rc = rp__give(g, &m.out, err);
  }
  rp__buf_done(&m.out);
  return rc;
}

const struct rp__format rp__format_markdown = {
    .name = "markdown",
    .extension = ".md",
    .what = "nothing: transcripts are only written",
    .export = markdown_export,
};
