/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kinds and the check against it. Fields that are not in the table
 * are allowed and kept; an optional field may also be null, as many writers say
 * "nothing" that way.
 */
#include "core/event.h"

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
#define NEED(name, types)                                                                                              \
  {                                                                                                                    \
    name, types, true, NULL                                                                                            \
  }
#define MAY(name, types)                                                                                               \
  {                                                                                                                    \
    name, types, false, NULL                                                                                           \
  }
#define NEED_WORD(name, ...)                                                                                           \
  {                                                                                                                    \
    name, T_STRING, true, WORDS(__VA_ARGS__)                                                                           \
  }
#define MAY_WORD(name, ...)                                                                                            \
  {                                                                                                                    \
    name, T_STRING, false, WORDS(__VA_ARGS__)                                                                          \
  }

/* clang-format off */
static const struct kind kinds[RP_KIND_MAX] = {
  [RP_KIND_MESSAGE] = {"message", FIELDS(
    NEED_WORD("role", "user", "assistant", "system", "tool"), NEED("content", T_STRING | T_ARRAY),
    MAY("message_id", T_ID), MAY("source", T_ID), MAY("thought", T_BOOL))},
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
    NEED("label", T_ID), NEED("content", T_STRING), MAY_WORD("importance", "normal", "high", "critical"))},
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
    NEED_WORD("status", "intended", "running", "done", "failed", "unknown"), MAY("input", T_ANY),
    MAY("output", T_ANY))},
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

/* ---- the kind ------------------------------------------------------------- */

static bool own_kind_ok(const char *name)
{
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (strncmp(name, "x-", 2) != 0) return false;
  size_t n = strnlen(name + 2, 61);
  return n >= 1 && n <= 60 && strspn(name + 2, allowed) == n;
}

static const char *nearest_kind(const char *name)
{
  const char *names[RP_KIND_MAX] = {0};
  size_t n = 0;
  for (unsigned k = RP_KIND_OTHER + 1; k < RP_KIND_MAX; k++)
    if (!kinds[k].engine) names[n++] = kinds[k].name;
  return rp__suggest(name, names);
}

static int refuse_kind(const char *name, rp_error *err)
{
  if (strncmp(name, "x-", 2) == 0) {
    return rp__fail_field(err, RP_E_INVALID, "kind",
                          "the kind '%.40s' must be x- and 1 to 60 letters, digits, dots, dashes or underscores", name);
  }
  rp__fail_field(err, RP_E_INVALID, "kind", "there is no kind '%.40s'", name);
  const char *near = nearest_kind(name);
  if (near)
    rp__hint(err, "did you mean '%s'? Kinds of your own begin with x-", near);
  else
    rp__hint(err, "kinds of your own begin with x-");
  return RP_E_INVALID;
}

static int check_kind(const char *name, enum rp__kind *ret, rp_error *err)
{
  enum rp__kind k = rp__kind_parse(name);
  if (k == RP_KIND_OTHER && !own_kind_ok(name)) return refuse_kind(name, err);
  if (rp__kind_is_engine(k)) {
    return rp__fail_field(err, RP_E_INVALID, "kind", "events of kind '%s' are written by the engine itself",
                          kinds[k].name);
  }
  *ret = k;
  return 0;
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

static bool id_ok(struct rp__json v)
{
  if (v.type != RP_JSON_STRING || v.n <= 2) return false;
  return v.n - 2 <= RP_EVENT_ID_MAX || text_bound(v) <= RP_EVENT_ID_MAX;
}

static bool time_ok(struct rp__json v)
{
  double seconds;
  int64_t ms;
  if (v.type == RP_JSON_STRING) return v.n > 2 && rp__time_parse(v.p + 1, v.n - 2, &ms) == 0;
  return rp__json_double(v, &seconds) && seconds >= 0;
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
  if ((types & T_ID) && id_ok(v)) return true;
  if ((types & T_COUNT) && rp__json_i64(v, &i) && i >= 0) return true;
  if ((types & T_AMOUNT) && rp__json_double(v, &d) && d >= 0) return true;
  if ((types & T_SHARE) && rp__json_double(v, &d) && d >= 0 && d <= 1) return true;
  if ((types & T_STRENGTH) && rp__json_double(v, &d) && d >= 0 && d <= 10) return true;
  return (types & T_TIME) && time_ok(v);
}

static const char *describe_types(unsigned types, char *out, size_t size)
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
  size_t n = 0;
  out[0] = '\0';
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    if (!(types & names[i].type) || n >= size) continue;
    int wrote = snprintf(out + n, size - n, "%s%s", n ? " or " : "", names[i].text);
    if (wrote > 0) n += (size_t)wrote;
  }
  return out;
}
_Static_assert(RP_EVENT_ID_MAX == 512, "the text above names the bound");

static bool word_ok(struct rp__json v, const char *const *words)
{
  for (; *words; words++) {
    if (rp__json_eq(v, *words)) return true;
  }
  return false;
}

static int refuse_word(const char *path, const char *const *words, rp_error *err)
{
  char list[120] = "";
  size_t n = 0;
  for (; *words && n < sizeof list; words++) {
    int wrote = snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", *words);
    if (wrote > 0) n += (size_t)wrote;
  }
  return rp__fail_field(err, RP_E_INVALID, path, "%s must be one of: %s", path, list);
}

static int check_field(const struct field *f, struct rp__json v, rp_error *err)
{
  char path[80], expected[160];
  if (v.type == RP_JSON_NONE && !f->required) return 0;
  if (v.type == RP_JSON_NULL && !f->required) return 0;
  if (type_ok(v, f->types) && (!f->words || word_ok(v, f->words))) return 0;

  snprintf(path, sizeof path, "body.%s", f->name);
  if (v.type == RP_JSON_NONE) return rp__fail_field(err, RP_E_INVALID, path, "%s is missing", path);
  if (f->words) return refuse_word(path, f->words, err);
  return rp__fail_field(err, RP_E_INVALID, path, "%s must be %s", path,
                        describe_types(f->types, expected, sizeof expected));
}

static int check_body(enum rp__kind kind, const char *body, size_t n, size_t max_body, struct rp__event *ret,
                      rp_error *err)
{
  struct rp__event ev = {.kind = kind};
  int rc;
  if (!body) return rp__fail_field(err, RP_E_INVALID, "body", "the body is missing");

  const struct rp__json_limits limits = {.max_bytes = max_body, .max_depth = RP_DEPTH_MAX};
  rc = rp__json_parse(body, n, &limits, &ev.body, err);
  if (rc == RP_E_TOO_LARGE && n <= max_body) /* too deep: a bad body, not a big one */
    rc = rp__fail_field(err, RP_E_INVALID, "body", "the body is nested too deeply: at most %d levels", RP_DEPTH_MAX);
  if (rc) {
    if (err && !err->field[0]) snprintf(err->field, sizeof err->field, "body");
    return rc;
  }
  if (ev.body.type != RP_JSON_OBJECT) return rp__fail_field(err, RP_E_INVALID, "body", "the body must be an object");
  for (const struct field *f = kinds[ev.kind].fields; f && f->name; f++) {
    rc = check_field(f, rp__json_get(ev.body, f->name), err);
    if (rc) return rc;
  }
  ev.kind_name = kinds[ev.kind].name;
  *ret = ev;
  return 0;
}

int rp__event_check(const char *kind, const char *body, size_t n, size_t max_body, struct rp__event *ret, rp_error *err)
{
  enum rp__kind k;
  if (!kind) return rp__fail_field(err, RP_E_INVALID, "kind", "the kind is missing");
  int rc = check_kind(kind, &k, err);
  if (!rc) rc = check_body(k, body, n, max_body, ret, err);
  if (!rc && k == RP_KIND_OTHER) ret->kind_name = kind;
  return rc;
}

int rp__event_check_runtime(const char *body, size_t n, size_t max_body, struct rp__event *ret, rp_error *err)
{
  return check_body(RP_KIND_RUNTIME, body, n, max_body, ret, err);
}

/* ---- what is searched -------------------------------------------------------- */

/* Images, embeddings and the like: long and without a space. */
#define SEARCH_WORD_MAX 4096

static void search_string(struct rp__json v, struct rp__buf *out)
{
  if (v.n > SEARCH_WORD_MAX + 2 && !memchr(v.p, ' ', v.n)) return;
  if (out->n) rp__buf_char(out, ' ');
  size_t from = out->n;
  rp__json_text(v, out);
  /* The index takes C strings. */
  for (size_t i = from; !out->err && i < out->n; i++) {
    if (out->p[i] == '\0') out->p[i] = ' ';
  }
}

/* The depth was bounded when the body was checked; bytes damaged since then must not deepen it. */
static void search_value(struct rp__json v, unsigned depth, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (v.type == RP_JSON_STRING) search_string(v, out);
  if (depth == 0) return;
  while (rp__json_next(v, &it, NULL, &item)) search_value(item, depth - 1, out);
}

void rp__event_search_text(struct rp__json body, struct rp__buf *out)
{
  search_value(body, RP_DEPTH_MAX, out);
}
