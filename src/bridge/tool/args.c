/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of tools: their JSON Schema and their check, from one table. */
#include "bridge/tool/args.h"

#include "base/suggest.h"

/* ---- the schema ---- */

static const char *const type_names[] = {
    [RP_TAKES_TEXT] = "string", [RP_TAKES_WORD] = "string", [RP_TAKES_INT] = "integer",
    [RP_TAKES_REAL] = "number", [RP_TAKES_TEXTS] = "array",
};

static void write_text_bounds(double min, double max, struct rp__jw *w)
{
  if (min > 0) rp__jw_ki64(w, "minLength", (int64_t)min);
  rp__jw_ki64(w, "maxLength", (int64_t)max);
}

static void write_words(const struct rp__takes *row, struct rp__jw *w)
{
  rp__jw_karray(w, "enum");
  for (const char *const *word = row->words; *word; word++) rp__jw_str(w, *word);
  rp__jw_end_array(w);
}

static void write_items(const struct rp__takes *row, struct rp__jw *w)
{
  rp__jw_kobject(w, "items");
  rp__jw_kstr(w, "type", "string");
  write_text_bounds(1, RP_TAKES_ITEM_MAX, w);
  rp__jw_end_object(w);
  rp__jw_ki64(w, "maxItems", (int64_t)row->max);
}

static void write_row(const struct rp__takes *row, struct rp__jw *w)
{
  rp__jw_kobject(w, row->name);
  rp__jw_kstr(w, "type", type_names[row->type]);
  rp__jw_kstr(w, "description", row->about);
  switch (row->type) {
  case RP_TAKES_TEXT: write_text_bounds(row->min, row->max, w); break;
  case RP_TAKES_WORD: write_words(row, w); break;
  case RP_TAKES_TEXTS: write_items(row, w); break;
  case RP_TAKES_INT:
    rp__jw_ki64(w, "minimum", (int64_t)row->min);
    rp__jw_ki64(w, "maximum", (int64_t)row->max);
    break;
  case RP_TAKES_REAL:
    rp__jw_kdouble(w, "minimum", row->min);
    rp__jw_kdouble(w, "maximum", row->max);
    break;
  }
  rp__jw_end_object(w);
}

void rp__takes_schema(const struct rp__takes *rows, struct rp__jw *w)
{
  bool any = false;
  rp__jw_object(w);
  rp__jw_kstr(w, "type", "object");
  rp__jw_kobject(w, "properties");
  for (const struct rp__takes *row = rows; row->name; row++) {
    write_row(row, w);
    any = any || row->required;
  }
  rp__jw_end_object(w);
  if (any) {
    rp__jw_karray(w, "required");
    for (const struct rp__takes *row = rows; row->name; row++)
      if (row->required) rp__jw_str(w, row->name);
    rp__jw_end_array(w);
  }
  rp__jw_kbool(w, "additionalProperties", false);
  rp__jw_end_object(w);
}

/* ---- the check ---- */

static void hint_names(const struct rp__takes *rows, rp_error *err)
{
  char list[160] = "";
  size_t n = 0;
  for (const struct rp__takes *row = rows; row->name && n < sizeof list; row++)
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", row->name);
  rp__hint(err, n ? "it takes %s" : "it takes no arguments%s", list);
}

static int unknown(const struct rp__takes *rows, struct rp__json key, rp_error *err)
{
  const char *names[RP_TAKES_MAX + 1] = {0};
  RP_AUTOFREE char *given = rp__json_dup(key);
  if (!given) return rp__fail_nomem(err);
  for (size_t i = 0; rows[i].name; i++) names[i] = rows[i].name;
  const char *near = rp__suggest(given, names);
  rp__fail_field(err, RP_E_INVALID, given, "there is no argument '%.80s'", given);
  if (near)
    rp__hint(err, "did you mean '%s'?", near);
  else
    hint_names(rows, err);
  return RP_E_INVALID;
}

static int wrong(const struct rp__takes *row, const char *what, rp_error *err)
{
  int rc = rp__fail_field(err, RP_E_INVALID, row->name, "'%s' must be %s", row->name, what);
  if (!row->required) rp__hint(err, "leave '%s' out when there is nothing to say", row->name);
  return rc;
}

/* JSON Schema counts characters, not bytes. */
static int check_text(const struct rp__takes *row, struct rp__json v, double min, double max, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(v.n);
  char what[80];
  size_t chars = 0;
  if (v.type != RP_JSON_STRING)
    return wrong(row, row->type == RP_TAKES_TEXTS ? "an array of strings" : "a string", err);
  if (rp__json_text(v, &text)) return rp__fail_nomem(err);
  for (size_t i = 0; i < text.n; i++) chars += ((unsigned char)text.p[i] & 0xc0) != 0x80;
  snprintf(what, sizeof what, "a text of %.0f to %.0f characters", min, max);
  if ((double)chars < min || (double)chars > max) return wrong(row, what, err);
  if (text.n && memchr(text.p, '\0', text.n)) return wrong(row, "a text without NUL characters", err);
  return 0;
}

static int check_word(const struct rp__takes *row, struct rp__json v, rp_error *err)
{
  char what[160] = "one of ";
  size_t n = strlen(what);
  for (const char *const *word = row->words; *word; word++) {
    if (rp__json_eq(v, *word)) return 0;
    if (n < sizeof what)
      n += (size_t)snprintf(what + n, sizeof what - n, "%s%s", word == row->words ? "" : ", ", *word);
  }
  return wrong(row, what, err);
}

static int check_number(const struct rp__takes *row, struct rp__json v, rp_error *err)
{
  char what[80];
  double d;
  bool whole = row->type == RP_TAKES_INT;
  snprintf(what, sizeof what, "a %snumber from %g to %g", whole ? "whole " : "", row->min, row->max);
  bool ok = v.type == RP_JSON_NUMBER && rp__json_double(v, &d) && d >= row->min && d <= row->max;
  return ok && (!whole || (double)(int64_t)d == d) ? 0 : wrong(row, what, err);
}

static int check_texts(const struct rp__takes *row, struct rp__json v, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  char what[80];
  int rc = 0;
  snprintf(what, sizeof what, "an array of at most %.0f strings", row->max);
  if (v.type != RP_JSON_ARRAY || (double)rp__json_count(v) > row->max) return wrong(row, what, err);
  while (!rc && rp__json_next(v, &it, NULL, &item)) rc = check_text(row, item, 1, RP_TAKES_ITEM_MAX, err);
  return rc;
}

static int check_value(const struct rp__takes *row, struct rp__json v, rp_error *err)
{
  switch (row->type) {
  case RP_TAKES_TEXT: return check_text(row, v, row->min, row->max, err);
  case RP_TAKES_WORD: return check_word(row, v, err);
  case RP_TAKES_TEXTS: return check_texts(row, v, err);
  default: return check_number(row, v, err);
  }
}

static const struct rp__takes *find_row(const struct rp__takes *rows, struct rp__json key)
{
  for (; rows->name; rows++)
    if (rp__json_eq(key, rows->name) || (rows->also && rp__json_eq(key, rows->also))) return rows;
  return NULL;
}

int rp__takes_check(const struct rp__takes *rows, struct rp__json args, struct rp__json ret[RP_TAKES_MAX],
                    rp_error *err)
{
  struct rp__json found[RP_TAKES_MAX] = {0}, key, value;
  struct rp__json_iter it = {0};
  if (args.type != RP_JSON_NONE && args.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "arguments", "the arguments must be an object");
  while (args.type == RP_JSON_OBJECT && rp__json_next(args, &it, &key, &value)) {
    const struct rp__takes *row = find_row(rows, key);
    if (!row) return unknown(rows, key, err);
    struct rp__json *place = &found[row - rows];
    if (place->type != RP_JSON_NONE)
      return rp__fail_field(err, RP_E_INVALID, row->name, "'%s' is given twice", row->name);
    int rc = check_value(row, value, err);
    if (rc) return rc;
    *place = value;
  }
  for (size_t i = 0; rows[i].name; i++) {
    if (!rows[i].required || found[i].type != RP_JSON_NONE) continue;
    rp__fail_field(err, RP_E_INVALID, rows[i].name, "'%s' is missing", rows[i].name);
    hint_names(rows, err);
    return RP_E_INVALID;
  }
  memcpy(ret, found, sizeof found);
  return 0;
}

int rp__takes_int(struct rp__json v, int otherwise)
{
  double d;
  return rp__json_double(v, &d) ? (int)d : otherwise;
}
