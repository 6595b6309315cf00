/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kinds of events, and the check of an event against it. Members that are not in the table are allowed and
 * kept. An optional member may also be null, because many writers express "nothing" that way.
 */
#include "core/event.h"

#include "base/enum-words.h"
#include "base/clock.h"
#include "base/suggest.h"

#include <reprise/reprise.h>
#include <stdio.h>

enum type {
  T_STRING = 1 << 0,
  T_NUMBER = 1 << 1,
  T_BOOL = 1 << 2,
  T_OBJECT = 1 << 3,
  T_ARRAY = 1 << 4,
  T_NULL = 1 << 5,
  T_ANY = (1 << 6) - 1,
  T_ID = 1 << 6,        /* a string of 1 to RP_EVENT_ID_MAX bytes: facets keep it whole */
  T_COUNT = 1 << 7,     /* a whole number >= 0 */
  T_AMOUNT = 1 << 8,    /* a number >= 0 */
  T_SHARE = 1 << 9,     /* a number from 0 to 1 */
  T_STRENGTH = 1 << 11, /* a number from 0 to 10 */
  T_TIME = 1 << 10,     /* seconds, of a video or of the epoch, or ISO 8601: what the seeds' clients send */
};

struct field {
  const char *name;
  unsigned types;
  bool required;
  const char *const *words; /* the strings allowed, ended by NULL; NULL: any */
};

struct kind {
  const char *name;
  const struct field *fields; /* ended by one without a name */
  bool engine, significant;
};

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FIELDS(...) ((const struct field[]){__VA_ARGS__, {0}})
#define FIELD(name, types, required, words)                                                                            \
  {                                                                                                                    \
    name, types, required, words                                                                                       \
  }
#define NEED(name, types) FIELD(name, types, true, NULL)
#define MAY(name, types) FIELD(name, types, false, NULL)
#define NEED_OF(name, table) FIELD(name, T_STRING, true, table)
#define MAY_OF(name, table) FIELD(name, T_STRING, false, table)
#define NEED_WORD(name, ...) FIELD(name, T_STRING, true, WORDS(__VA_ARGS__))
#define MAY_WORD(name, ...) FIELD(name, T_STRING, false, WORDS(__VA_ARGS__))

/* clang-format off */
static const struct kind kinds[RP_KIND_MAX] = {
  [RP_KIND_MESSAGE] = {"message", FIELDS(
    NEED_WORD("role", "user", "assistant", "system", "tool"), NEED("content", T_STRING | T_ARRAY),
    MAY("message_id", T_ID), MAY("source", T_ID), MAY("thought", T_BOOL), MAY("project", T_ID))},
  [RP_KIND_NOTE] = {"note", FIELDS(
    NEED("id", T_ID | T_NUMBER), NEED("text", T_STRING), MAY("category", T_STRING), MAY("confidence", T_SHARE),
    MAY("timestamp", T_TIME))},
  [RP_KIND_FRAME] = {"frame", FIELDS(
    NEED("frame_id", T_ID | T_NUMBER), NEED("timestamp", T_TIME), MAY("embedding", T_ARRAY | T_STRING),
    MAY("uploaded_at", T_TIME))},
  [RP_KIND_TRANSCRIPT] = {"transcript", FIELDS(
    NEED("text", T_STRING), MAY("final", T_BOOL), MAY("timestamp", T_TIME))},
  [RP_KIND_INTENT] = {"intent", FIELDS(
    MAY("topics", T_ARRAY), MAY("intent", T_STRING), MAY("context", T_ANY))},
  [RP_KIND_PIN] = {"pin", FIELDS(
    NEED("label", T_ID), NEED("content", T_STRING), MAY_OF("importance", rp__importance_words))},
  [RP_KIND_UNPIN] = {"unpin", FIELDS(NEED("label", T_ID))},
  [RP_KIND_TASK] = {"task", FIELDS(
    NEED("task_id", T_ID), NEED("title", T_STRING), NEED("stage", T_STRING), MAY("flagged_incomplete", T_BOOL),
    MAY_WORD("status", "open", "done", "deleted")), .significant = true},
  [RP_KIND_PROJECT] = {"project", FIELDS(NEED("name", T_ID))},
  [RP_KIND_ACTIVITY] = {"activity", FIELDS(
    MAY("text", T_STRING), MAY("tool", T_STRING), MAY("workdir", T_STRING), MAY("categories", T_ARRAY))},
  [RP_KIND_LEARNING] = {"learning", FIELDS(
    NEED("memory_id", T_ID), NEED("content", T_STRING), MAY("categories", T_ARRAY), MAY("confidence", T_SHARE))},
  [RP_KIND_CONFIDENCE] = {"confidence", FIELDS(
    NEED("memory_id", T_ID), NEED("old_score", T_SHARE), NEED("new_score", T_SHARE), NEED("reason", T_STRING))},
  [RP_KIND_SOP] = {"sop", FIELDS(
    NEED("sop_path", T_STRING), NEED("injected_at", T_TIME), NEED("acknowledged", T_BOOL), NEED("tool_call", T_ANY))},
  [RP_KIND_TOOL] = {"tool", FIELDS(
    NEED("call_id", T_ID), NEED("name", T_STRING),
    NEED_OF("status", rp__tool_status_words), MAY("input", T_ANY),
    MAY("output", T_ANY), MAY("declined", T_BOOL), MAY("said", T_STRING))},
  [RP_KIND_EMOTION] = {"emotion", FIELDS(NEED("event", T_ID), MAY("intensity", T_STRENGTH))},
  [RP_KIND_PERSON] = {"person", FIELDS(NEED("name", T_ID))},
  [RP_KIND_SLEEP] = {"sleep", FIELDS(
    NEED_WORD("state", "awake", "falling_asleep", "sleeping", "waking_up"))},
  [RP_KIND_APPROVAL] = {"approval", FIELDS(
    NEED("id", T_ID | T_NUMBER), NEED_WORD("status", "pending", "allowed", "denied")), .significant = true},
  [RP_KIND_QUESTION] = {"question", FIELDS(
    NEED("id", T_ID | T_NUMBER), NEED_WORD("status", "pending", "answered")), .significant = true},
  [RP_KIND_USAGE] = {"usage", FIELDS(
    MAY("tokens_in", T_COUNT), MAY("tokens_out", T_COUNT), MAY("cost_usd", T_AMOUNT), MAY("requests", T_COUNT))},
  [RP_KIND_SESSION] = {"session", FIELDS(
    MAY("name", T_STRING), MAY("settings", T_OBJECT), MAY("meta", T_OBJECT))},
  [RP_KIND_PROVIDER] = {"provider", FIELDS(
    NEED("type", T_STRING), MAY("config", T_OBJECT), MAY("acp_session_id", T_ID),
    MAY("capabilities", T_OBJECT | T_ARRAY), MAY("current_task", T_ANY), MAY("metadata", T_OBJECT)),
    .significant = true},
  [RP_KIND_TODO] = {"todo", FIELDS(NEED("items", T_ARRAY))},
  [RP_KIND_TURN] = {"turn", FIELDS(
    NEED_WORD("status", "cancelled", "failed", "refused", "limit"), MAY("reason", T_STRING))},
  [RP_KIND_RUNTIME] = {"runtime", FIELDS(
    MAY_WORD("status", "starting", "idle", "running", "awaiting_approval", "awaiting_answer", "reconnecting", "error",
             "terminated"),
    MAY("reason", T_STRING), MAY("progress", T_STRING), MAY("delivered", T_COUNT)), .engine = true},
  [RP_KIND_STATUS] = {"status", .engine = true},
  [RP_KIND_SNAPSHOT] = {"snapshot", .engine = true},
  [RP_KIND_RESTORED] = {"restored", .engine = true},
};
/* clang-format on */

const char *rp__kind_name(enum rp__kind k)
{
  return (unsigned)k < RP_KIND_MAX && kinds[k].name ? kinds[k].name : "x-other";
}

enum rp__kind rp__kind_parse(const char *name)
{
  for (unsigned k = RP_KIND_OTHER + 1; k < RP_KIND_MAX; k++) {
    if (strcmp(name, kinds[k].name) == 0) return (enum rp__kind)k;
  }
  return RP_KIND_OTHER;
}

bool rp__kind_is_engine(enum rp__kind k)
{
  return (unsigned)k < RP_KIND_MAX && kinds[k].engine;
}

bool rp__kind_is_significant(enum rp__kind k)
{
  return (unsigned)k < RP_KIND_MAX && kinds[k].significant;
}

/* ---- the body -------------------------------------------------------------- */

/* An upper bound of the decoded length: an escaped unit counts as the longest character it can be. */
static size_t text_bound(struct rp__json v)
{
  size_t n = 0;
  for (size_t i = 1; i + 1 < v.n; i++) {
    bool escape = v.p[i] == '\\';
    bool unit = escape && v.p[i + 1] == 'u';
    n += unit ? 3 : 1;
    i += unit ? 5 : escape;
  }
  return n;
}

static bool type_ok(struct rp__json v, unsigned types)
{
  static const unsigned plain[] = {
      [RP_JSON_NONE] = 0,          [RP_JSON_NULL] = T_NULL,     [RP_JSON_FALSE] = T_BOOL,  [RP_JSON_TRUE] = T_BOOL,
      [RP_JSON_NUMBER] = T_NUMBER, [RP_JSON_STRING] = T_STRING, [RP_JSON_ARRAY] = T_ARRAY, [RP_JSON_OBJECT] = T_OBJECT,
  };
  double d;
  int64_t i;
  /* A number no double can hold would stop every reader that came later. */
  if (v.type == RP_JSON_NUMBER && types != T_ANY && !rp__json_double(v, &d)) return false;
  if (plain[v.type] & types) return true;
  if (v.type == RP_JSON_STRING && v.n > 2) {
    if ((types & T_ID) && (v.n - 2 <= RP_EVENT_ID_MAX || text_bound(v) <= RP_EVENT_ID_MAX)) return true;
    return (types & T_TIME) && rp__time_parse(v.p + 1, v.n - 2, &i) == 0;
  }
  if ((types & T_COUNT) && rp__json_i64(v, &i) && i >= 0) return true;
  if (!rp__json_double(v, &d) || d < 0) return false;
  return (types & (T_AMOUNT | T_TIME)) || ((types & T_SHARE) && d <= 1) || ((types & T_STRENGTH) && d <= 10);
}

/* Says which field is missing or what it must be. */
static int refuse_field(const struct field *f, struct rp__json v, rp_error *err)
{
  static const struct {
    unsigned type;
    const char *text;
  } names[] = {
      {T_ID, "a string of 1 to 512 bytes"},
      {T_STRING, "a string"},
      {T_COUNT, "a whole number that is not negative"},
      {T_AMOUNT, "a number >= 0"},
      {T_SHARE, "a number from 0 to 1"},
      {T_STRENGTH, "a number from 0 to 10"},
      {T_TIME, "a time: a number of seconds >= 0, or ISO 8601 text"},
      {T_NUMBER, "a number"},
      {T_BOOL, "true or false"},
      {T_ARRAY, "an array"},
      {T_OBJECT, "an object"},
  };
  _Static_assert(RP_EVENT_ID_MAX == 512, "the text above names the bound");
  char path[80], list[160] = "";
  size_t n = 0;
  snprintf(path, sizeof path, "body.%s", f->name);
  if (v.type == RP_JSON_NONE) return rp__fail_field(err, RP_E_INVALID, path, "%s is missing", path);
  for (size_t i = 0; f->words && f->words[i] && n < sizeof list; i++)
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", f->words[i]);
  if (f->words) return rp__fail_field(err, RP_E_INVALID, path, "%s must be one of: %s", path, list);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names) && n < sizeof list; i++)
    if (f->types & names[i].type)
      n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? " or " : "", names[i].text);
  return rp__fail_field(err, RP_E_INVALID, path, "%s must be %s", path, list);
}

int rp__event_check(const char *kind, const char *body, size_t n, size_t max_body, bool runtime, struct rp__event *ret,
                    rp_error *err)
{
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (!kind) return rp__fail_field(err, RP_E_INVALID, "kind", "the kind is missing");
  struct rp__event ev = {.kind = rp__kind_parse(kind)};
  ev.kind_name = ev.kind == RP_KIND_OTHER ? kind : kinds[ev.kind].name;
  if (ev.kind == RP_KIND_OTHER) {
    size_t own = strncmp(kind, "x-", 2) == 0 ? strnlen(kind + 2, 61) : 0;
    if (own < 1 || own > 60 || strspn(kind + 2, allowed) != own) {
      /* A kind that begins with x- has a bad form; any other is not there, and a similar one may be meant. */
      const char *names[RP_KIND_MAX] = {0};
      size_t n_names = 0;
      if (strncmp(kind, "x-", 2) == 0)
        return rp__fail_field(err, RP_E_INVALID, "kind",
                              "the kind '%.40s' must be x- and 1 to 60 letters, digits, dots, dashes or underscores",
                              kind);
      rp__fail_field(err, RP_E_INVALID, "kind", "there is no kind '%.40s'", kind);
      for (unsigned k = RP_KIND_OTHER + 1; k < RP_KIND_MAX; k++)
        if (!kinds[k].engine) names[n_names++] = kinds[k].name;
      const char *near = rp__suggest(kind, names);
      if (near)
        rp__hint(err, "did you mean '%s'? Kinds of your own begin with x-", near);
      else
        rp__hint(err, "kinds of your own begin with x-");
      return RP_E_INVALID;
    }
  }
  if (kinds[ev.kind].engine && !(runtime && ev.kind == RP_KIND_RUNTIME))
    return rp__fail_field(err, RP_E_INVALID, "kind", "events of kind '%s' are written by the engine itself",
                          ev.kind_name);
  if (!body) return rp__fail_field(err, RP_E_INVALID, "body", "the body is missing");

  const struct rp__json_limits limits = {.max_bytes = max_body, .max_depth = RP_DEPTH_MAX};
  int rc = rp__json_parse(body, n, &limits, &ev.body, err);
  if (rc == RP_E_TOO_LARGE && n <= max_body) /* too deep: a bad body, not a big one */
    rc = rp__fail_field(err, RP_E_INVALID, "body", "the body is nested too deeply: at most %d levels", RP_DEPTH_MAX);
  if (rc) {
    if (err && !err->field[0]) snprintf(err->field, sizeof err->field, "body");
    return rc;
  }
  if (ev.body.type != RP_JSON_OBJECT) return rp__fail_field(err, RP_E_INVALID, "body", "the body must be an object");
  for (const struct field *f = kinds[ev.kind].fields; f && f->name; f++) {
    struct rp__json v = rp__json_get(ev.body, f->name);
    if (!f->required && (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL)) continue;
    const char *const *word = f->words;
    while (word && *word && !rp__json_eq(v, *word)) word++;
    if ((word && !*word) || !type_ok(v, f->types)) return refuse_field(f, v, err);
  }
  *ret = ev;
  return 0;
}

/* ---- what is searched -------------------------------------------------------- */

/* Images, embeddings and the like: long and without a space. */
#define SEARCH_WORD_MAX 4096

/* The depth was bounded when the body was checked; bytes damaged since then must not deepen it. */
static void search_value(struct rp__json v, unsigned depth, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (v.type == RP_JSON_STRING && (v.n <= SEARCH_WORD_MAX + 2 || memchr(v.p, ' ', v.n))) {
    if (out->n) rp__buf_char(out, ' ');
    size_t from = out->n;
    rp__json_text(v, out);
    for (size_t i = from; !out->err && i < out->n; i++) /* the index takes C strings */
      if (out->p[i] == '\0') out->p[i] = ' ';
  }
  if (depth == 0) return;
  while (rp__json_next(v, &it, NULL, &item)) search_value(item, depth - 1, out);
}

static void look_at(struct rp__json body, struct rp__event_look *l)
{
  struct rp__json_iter it = {0};
  l->n = 0;
  l->made = true;
  l->part = false;
  while (!l->part && rp__json_next(body, &it, &l->name[l->n], &l->value[l->n])) {
    l->part = memchr(l->name[l->n].p, '\\', l->name[l->n].n) != NULL;
    if (++l->n == RP_EVENT_LOOK_MAX) l->part = true;
  }
}

struct rp__json rp__event_member(const struct rp__event *ev, const char *name, size_t n)
{
  struct rp__event_look *l = ev->look;
  if (!l || ev->body.type != RP_JSON_OBJECT) return rp__json_get(ev->body, name);
  if (!l->made) look_at(ev->body, l);
  if (l->part) return rp__json_get(ev->body, name);
  for (size_t i = 0; i < l->n; i++)
    if (l->name[i].n == n && memcmp(l->name[i].p, name, n) == 0) return l->value[i];
  return (struct rp__json){0};
}

void rp__event_search_text(struct rp__json body, struct rp__buf *out)
{
  search_value(body, RP_DEPTH_MAX, out);
}
