/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ten pins: working_memory, with the actions and arguments of Helios Cortex, and working_memory_view, which
 * only reads. A client that allows no change without asking can still call the second one.
 */
#include "base/enum-words.h"
#include "bridge/tool/tool.h"

#define PINS 10
#define LABEL_MADE 40    /* characters of a label that is made of the content */
#define CONTENT_MAX 4000 /* characters */
#define BODY_MAX 65536   /* bytes of one event */
#define NAMES_MAX 340    /* bytes of a list of labels in an error */

enum { ACTION, LABEL, CONTENT, IMPORTANCE, INDEX };

static const char *const actions[] = {"pin", "unpin", "view", "clear", NULL};

static const struct rp__takes takes[] = {
    [ACTION] = {"action", "pin keeps a text, unpin takes one off, view lists all, clear takes all off", RP_TAKES_WORD,
                true, actions},
    [LABEL] = {"label", "Short name of the pin. The same label again replaces its text. With unpin: which one",
               RP_TAKES_TEXT, .min = 1, .max = 100},
    [CONTENT] = {"content", "The text to keep, with pin", RP_TAKES_TEXT, .min = 1, .max = CONTENT_MAX},
    [IMPORTANCE] = {"importance", "With pin; normal when left out. critical is inherited first by later sessions",
                    RP_TAKES_WORD, .words = rp__importance_words},
    [INDEX] = {"index", "With unpin, instead of label: the number that view shows, from 1", RP_TAKES_INT, .min = 1,
               .max = PINS},
    {0},
};

static int missing(const char *field, const char *action, rp_error *err)
{
  int rc = rp__fail_field(err, RP_E_INVALID, field, "'%s' is missing: %s needs it", field, action);
  rp__hint(err, "call again with '%s'", field);
  return rc;
}

static struct rp__json pins_of(const char *state)
{
  return rp__json_get(rp__json_trusted(state, strlen(state)), "pins");
}

/* ---- the document ---- */

/* What was done, and how many there are now; only who asks for them gets them all. */
static int write_pins(struct rp__tool_session *m, const char *done, struct rp__json label, struct rp__jw *w,
                      rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  bool view = strcmp(done, "view") == 0;
  int rc = m->s ? rp__tool_state(m, &state, err) : 0;
  if (rc) return rc;
  struct rp__json pins = state ? pins_of(state) : (struct rp__json){0};
  rp__jw_object(w);
  rp__jw_kstr(w, "action", done);
  if (label.type == RP_JSON_STRING) rp__jw_kvalue(w, "label", label);
  if (view) rp__jw_key(w, "pins");
  if (view && pins.type == RP_JSON_ARRAY)
    rp__jw_value(w, pins);
  else if (view)
    rp__jw_raw(w, "[]", 2);
  rp__jw_ki64(w, "count", (int64_t)rp__json_count(pins));
  rp__jw_ki64(w, "max", PINS);
  if (view) rp__tool_elsewhere(m, "pins", "label", pins, w);
  rp__jw_end_object(w);
  return 0;
}

/* ---- pin ---- */

/* A pin without a label goes by its first words, of what is stored of it: masked before it is cut. */
static int write_label(struct rp__tool_session *m, struct rp__json label, struct rp__json content, struct rp__buf *out,
                       rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(content.n + 1), masked = RP_BUF(8 * BODY_MAX);
  RP_AUTOBUF struct rp__buf words = RP_BUF(4 * LABEL_MADE + 8);
  RP_AUTODOC char *stored = NULL;
  struct rp__jw w = RP_JW(out), string = RP_JW(&masked);
  if (label.type == RP_JSON_STRING) {
    rp__jw_value(&w, label);
    return out->err ? rp__fail_nomem(err) : 0;
  }
  if (rp__json_text(content, &text)) return rp__fail_nomem(err);
  int rc = rp_mask(m->s, text.p ? text.p : "", text.n, &stored, err);
  if (rc) return rc;
  rp__jw_strn(&string, stored, strlen(stored));
  rp__tell_text(&words, rp__json_trusted(masked.p, masked.n), LABEL_MADE);
  rp__jw_strn(&w, words.p ? words.p : "", words.n);
  return masked.err || words.err || out->err ? rp__fail_nomem(err) : 0;
}

/* The engine knows that there is no room; the model must know what could go. */
static int tell_full(struct rp__tool_session *m, rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  char names[NAMES_MAX], hint[sizeof err->hint];
  memcpy(hint, err->hint, sizeof hint);
  if (rp__tool_state(m, &state, NULL)) return RP_E_PINS_FULL;
  rp__tell_names(pins_of(state), "label", names, sizeof names);
  rp__fail_field(err, RP_E_PINS_FULL, "label", "all %d pins are taken: %s", PINS, names);
  rp__hint(err, "%s; or pin under one of these labels to replace it", hint);
  return RP_E_PINS_FULL;
}

/* What has nothing to read is no pin, and no name for one. */
static int check_blank(struct rp__json text, const char *field, rp_error *err)
{
  RP_AUTOFREE char *s = rp__json_dup(text);
  if (text.type == RP_JSON_NONE) return 0;
  if (!s) return rp__fail_nomem(err);
  if (s[strspn(s, " \t\r\n")]) return 0;
  return rp__fail_field(err, RP_E_INVALID, field, "'%s' holds blanks alone", field);
}

static int check_pin(const struct rp__json *args, rp_error *err)
{
  if (args[CONTENT].type == RP_JSON_NONE) return missing("content", "pin", err);
  int rc = check_blank(args[CONTENT], "content", err);
  return rc ? rc : check_blank(args[LABEL], "label", err);
}

static int pin(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX), label = RP_BUF(BODY_MAX);
  struct rp__jw b = RP_JW(&body);
  rp_error why = {0};
  int rc = check_pin(args, err);
  if (!rc) rc = rp__tool_session_may_write(m, err);
  if (!rc) rc = write_label(m, args[LABEL], args[CONTENT], &label, err);
  if (rc) return rc;
  rp__jw_object(&b);
  rp__jw_key(&b, "label");
  rp__jw_raw(&b, label.p, label.n);
  rp__jw_kvalue(&b, "content", args[CONTENT]);
  if (args[IMPORTANCE].type != RP_JSON_NONE) rp__jw_kvalue(&b, "importance", args[IMPORTANCE]);
  rp__jw_end_object(&b);
  if (body.err) return rp__fail_nomem(err);
  rp_event ev = {.kind = "pin", .body = body.p, .body_len = body.n};
  rc = rp__tool_append(m, &ev, 1, &why);
  if (rc == RP_E_PINS_FULL) rc = tell_full(m, &why);
  if (rc && err) *err = why;
  return rc ? rc : write_pins(m, "pin", rp__json_trusted(label.p, label.n), w, err);
}

/* ---- unpin, clear ---- */

/* The pin meant: by label, bare or with where it was inherited from, or by its number. */
static struct rp__json find_pin(struct rp__tool_session *m, struct rp__json pins, const struct rp__json *args)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  RP_AUTODOC char *stored = NULL; /* a label may have been masked when it was stored */
  RP_AUTOFREE char *label = rp__json_dup(args[LABEL]);
  if (label && m->s && rp_mask(m->s, label, strlen(label), &stored, NULL)) return (struct rp__json){0};
  char *suffix = label ? strstr(label, " [inherited from ") : NULL;
  if (suffix) *suffix = '\0';
  for (int i = 1; rp__json_next(pins, &it, NULL, &item); i++) {
    struct rp__json own = rp__json_get(item, "label");
    if (label ? rp__json_eq(own, label) || (stored && rp__json_eq(own, stored)) : i == rp__takes_int(args[INDEX], 0))
      return own;
  }
  return (struct rp__json){0};
}

static int unknown(struct rp__json pins, const struct rp__json *args, rp_error *err)
{
  char names[NAMES_MAX];
  bool by_label = args[LABEL].type != RP_JSON_NONE;
  rp__tell_names(pins, "label", names, sizeof names);
  rp__fail_field(err, RP_E_MEMORY_NOT_FOUND, by_label ? "label" : "index", "no such pin; pinned %s%s",
                 names[0] ? "are: " : "is nothing", names);
  rp__hint(err, "view shows all pins with their numbers");
  return RP_E_MEMORY_NOT_FOUND;
}

static int unpin_body(struct rp__json label, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kvalue(&w, "label", label);
  rp__jw_end_object(&w);
  return out->err;
}

static int unpin(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  if (args[LABEL].type == RP_JSON_NONE && args[INDEX].type == RP_JSON_NONE) return missing("label", "unpin", err);
  int rc = rp__tool_state(m, &state, err);
  if (rc) return rc;
  struct rp__json label = find_pin(m, pins_of(state), args);
  if (label.type == RP_JSON_NONE) return unknown(pins_of(state), args, err);
  if (unpin_body(label, &body)) return rp__fail_nomem(err);
  rp_event ev = {.kind = "unpin", .body = body.p, .body_len = body.n};
  rc = rp__tool_append(m, &ev, 1, err);
  return rc ? rc : write_pins(m, "unpin", label, w, err);
}

/*
 * A session that is yet to begin inherits pins in an order of its own, and not all that view showed of the last one:
 * a number would take off another pin than the one that was seen.
 */
static int check(struct rp__tool_session *m, const struct rp__json *args, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_TOOL_DOC_MAX);
  struct rp__jw w = RP_JW(&doc);
  char names[NAMES_MAX];
  if (rp__json_eq(args[ACTION], "pin")) return check_pin(args, err);
  if (!rp__json_eq(args[ACTION], "unpin")) return 0;
  if (args[LABEL].type == RP_JSON_NONE && args[INDEX].type == RP_JSON_NONE) return missing("label", "unpin", err);
  rp__jw_object(&w);
  rp__tool_elsewhere(m, "pins", "label", (struct rp__json){0}, &w);
  rp__jw_end_object(&w);
  if (doc.err) return rp__fail_nomem(err);
  struct rp__json pins = rp__json_get(rp__json_trusted(doc.p, doc.n), "elsewhere");
  if (args[LABEL].type != RP_JSON_NONE && find_pin(m, pins, args).type != RP_JSON_NONE) return 0;
  if (args[LABEL].type != RP_JSON_NONE || !rp__json_count(pins)) return unknown(pins, args, err);
  rp__tell_names(pins, "label", names, sizeof names);
  rp__fail_field(err, RP_E_INVALID, "index", "pins have no numbers before a session has begun; inherited are: %s",
                 names);
  rp__hint(err, "unpin by label");
  return RP_E_INVALID;
}

static int clear(struct rp__tool_session *m, struct rp__jw *w, rp_error *err)
{
  RP_AUTODOC char *state = NULL;
  RP_AUTOBUF struct rp__buf bodies = RP_BUF(PINS * BODY_MAX);
  rp_event ev[PINS] = {0};
  size_t n = 0, at[PINS + 1] = {0};
  struct rp__json_iter it = {0};
  struct rp__json item;
  int rc = rp__tool_state(m, &state, err);
  if (rc) return rc;
  while (n < PINS && rp__json_next(pins_of(state), &it, NULL, &item)) {
    if (unpin_body(rp__json_get(item, "label"), &bodies)) return rp__fail_nomem(err);
    at[++n] = bodies.n;
  }
  for (size_t i = 0; i < n; i++)
    ev[i] = (rp_event){.kind = "unpin", .body = bodies.p + at[i], .body_len = at[i + 1] - at[i]};
  rc = n ? rp__tool_append(m, ev, n, err) : 0;
  return rc ? rc : write_pins(m, "clear", (struct rp__json){0}, w, err);
}

static int view(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  (void)args;
  return write_pins(m, "view", (struct rp__json){0}, w, err);
}

static bool asks(const struct rp__json *args)
{
  return rp__json_eq(args[ACTION], "view");
}

static int run(struct rp__tool_session *m, const struct rp__json *args, struct rp__jw *w, rp_error *err)
{
  if (rp__json_eq(args[ACTION], "pin")) return pin(m, args, w, err);
  if (rp__json_eq(args[ACTION], "unpin")) return unpin(m, args, w, err);
  if (rp__json_eq(args[ACTION], "clear")) return clear(m, w, err);
  return view(m, args, w, err);
}

/* ---- telling ---- */

static void tell_pin(struct rp__json item, int number, struct rp__buf *out)
{
  struct rp__json from = rp__json_get(item, "inherited_from");
  rp__buf_printf(out, "%d. [", number);
  rp__tell_text(out, rp__json_get(item, "label"), 0);
  rp__buf_str(out, "] ");
  if (rp__json_get(item, "critical").type == RP_JSON_TRUE)
    rp__buf_str(out, "(critical) ");
  else if (rp__json_eq(rp__json_get(item, "importance"), "high"))
    rp__buf_str(out, "(high) ");
  rp__tell_text(out, rp__json_get(item, "content"), 0);
  if (from.type == RP_JSON_STRING) {
    rp__buf_str(out, " [inherited from ");
    rp__tell_text(out, from, 0);
    rp__buf_char(out, ']');
  }
  rp__buf_char(out, '\n');
}

static void tell_elsewhere(struct rp__json pins, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (rp__json_count(pins) == 0) return;
  rp__buf_str(out, "\nPinned in other sessions of this scope (pin it here to keep it):\n");
  while (rp__json_next(pins, &it, NULL, &item)) {
    rp__buf_str(out, "- [");
    rp__tell_text(out, rp__json_get(item, "label"), 0);
    rp__buf_str(out, "] ");
    rp__tell_text(out, rp__json_get(item, "content"), 0);
    rp__buf_char(out, '\n');
  }
}

static void tell(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json action = rp__json_get(doc, "action"), pins = rp__json_get(doc, "pins"), item;
  struct rp__json_iter it = {0};
  int64_t count = 0;
  rp__json_i64(rp__json_get(doc, "count"), &count);
  if (rp__json_eq(action, "clear")) rp__buf_str(out, "Working memory cleared.");
  if (rp__json_eq(action, "pin"))
    rp__buf_printf(out, "Pinned to working memory (%lld/%d items).", (long long)count, PINS);
  if (rp__json_eq(action, "unpin")) {
    rp__buf_str(out, "Unpinned: ");
    rp__tell_text(out, rp__json_get(doc, "label"), 0);
    rp__buf_printf(out, " (%lld/%d items left).", (long long)count, PINS);
  }
  if (!rp__json_eq(action, "view")) return;
  if (count == 0) rp__buf_str(out, "Working memory is empty.");
  if (count) rp__buf_printf(out, "Working Memory (%lld/%d):\n", (long long)count, PINS);
  for (int i = 1; rp__json_next(pins, &it, NULL, &item); i++) tell_pin(item, i, out);
  tell_elsewhere(rp__json_get(doc, "elsewhere"), out);
}

static const struct rp__takes nothing[] = {{0}};

const struct rp__tool rp__tool_working_memory = {
    .name = "working_memory",
    .title = "Working memory",
    .description =
        "Keeps up to 10 short texts in sight for this session and the ones after it: decisions, constraints, what must "
        "not be forgotten. Pin something as soon as it matters beyond the current answer; unpin what is settled. "
        "working_memory_view shows them.",
    .takes = takes,
    .destroys = true,
    .always = true,
    .asks = asks,
    .check = check,
    .run = run,
    .tell = tell,
};

const struct rp__tool rp__tool_working_memory_view = {
    .name = "working_memory_view",
    .title = "View working memory",
    .description = "Lists what is pinned in working memory, in this session or inherited from earlier ones, with the "
                   "numbers by which it can be unpinned. Changes nothing. Look before relying on a pin.",
    .takes = nothing,
    .reads = true,
    .repeats = true,
    .always = true,
    .run = view,
    .tell = tell,
};
