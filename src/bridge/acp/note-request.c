/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent asks of the editor, and what comes back. Permissions and questions stay open in the state until they
 * are answered; files and terminals are only written down.
 */
#include "bridge/acp/note-impl.h"

enum ask { PLAIN, PERMISSION, QUESTION };

static const struct method {
  const char *name;
  enum ask ask;
  rp_durability durability;
} methods[] = {
    {"session/request_permission", PERMISSION, RP_DISK},
    {"elicitation/create", QUESTION, RP_DISK},
    {"fs/write_text_file", PLAIN, RP_DISK},
    {"terminal/create", PLAIN, RP_DISK},
    {NULL, PLAIN, RP_OS},
};

static const char prefixes[] = {[PLAIN] = 'r', [PERMISSION] = 'a', [QUESTION] = 'q'};
static const char *const kinds[] = {[PERMISSION] = "approval", [QUESTION] = "question"};

static const struct method *find_method(struct rp__json name)
{
  const struct method *m = methods;
  while (m->name && !rp__json_eq(name, m->name)) m++;
  return m;
}

/* As a number and as a string they are two. */
static uint64_t hash_id(struct rp__json id)
{
  return id.type == RP_JSON_STRING ? rp__note_hash(id) : ~rp__note_hash(id) | 1;
}

/* The options that mean yes, so that the answer, which names one, can be read. */
static void remember_options(struct rp__book_asked *a, struct rp__json options)
{
  struct rp__json_iter it = {0};
  struct rp__json option;
  size_t n = 0;
  while (n < RP_BOOK_OPTIONS && rp__json_next(options, &it, NULL, &option)) {
    struct rp__json kind = rp__json_get(option, "kind");
    if (rp__json_eq(kind, "allow_once") || rp__json_eq(kind, "allow_always"))
      a->option[n++] = rp__note_hash(rp__json_get(option, "optionId"));
  }
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Variables of a terminal's environment keep their names alone. */
static void write_env(struct rp__jw *w, struct rp__json env)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  rp__jw_key(w, "env");
  rp__jw_array(w);
  while (rp__json_next(env, &it, NULL, &item)) {
    rp__jw_object(w);
    rp__jw_key(w, "name");
    rp__jw_value(w, rp__json_get(item, "name"));
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
}

static void write_params(struct rp__jw *w, struct rp__json method, struct rp__json params)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__jw_key(w, "params");
  if (params.type != RP_JSON_OBJECT || !rp__json_eq(method, "terminal/create")) {
    rp__jw_value(w, params);
    return;
  }
  rp__jw_object(w);
  while (rp__json_next(params, &it, &key, &value)) {
    if (rp__json_eq(key, "env"))
      write_env(w, value);
    else
      rp__note_member(w, key, value);
  }
  rp__jw_end_object(w);
}

int rp__note_request(struct rp__book *b, struct rp__json id, struct rp__json method, struct rp__json params,
                     struct rp__notes *out, rp_error *err)
{
  const struct method *m = find_method(method);
  rp__notes_begin(out, m->durability);
  if (method.type != RP_JSON_STRING) return rp__fail_field(err, RP_E_INVALID, "method", "method must be a string");
  struct rp__book_asked *a = rp__book_asked_add(b, hash_id(id));
  a->turn = b->turn;
  if (m->ask == PERMISSION) remember_options(a, rp__json_get(params, "options"));
  struct rp__jw w = rp__note_begin(out, m->ask ? kinds[m->ask] : "x-acp-request");
  rp__note_id(&w, "id", prefixes[m->ask], a->turn, id);
  if (m->ask) {
    rp__jw_kstr(&w, "status", "pending");
    rp__jw_key(&w, "acp");
    rp__jw_value(&w, params);
  } else {
    rp__jw_key(&w, "method");
    rp__jw_value(&w, method);
    write_params(&w, method, params);
  }
  rp__note_end(out, &w);
  return rp__notes_finish(out, err);
}

/* ---- answers ---------------------------------------------------------------------------------- */

static bool is_allowed(const struct rp__book_asked *a, struct rp__json result)
{
  struct rp__json outcome = rp__json_get(result, "outcome");
  if (!a || !rp__json_eq(rp__json_get(outcome, "outcome"), "selected")) return false;
  uint64_t option = rp__note_hash(rp__json_get(outcome, "optionId"));
  for (size_t i = 0; i < RP_BOOK_OPTIONS; i++)
    if (a->option[i] == option) return true;
  return false;
}

static void write_outcome(struct rp__jw *w, struct rp__json result, struct rp__json error)
{
  rp__jw_key(w, error.type ? "error" : "result");
  rp__jw_value(w, error.type ? error : result);
}

int rp__note_answer(struct rp__book *b, struct rp__json id, const char *method, struct rp__json result,
                    struct rp__json error, struct rp__notes *out, rp_error *err)
{
  static const char *const words[] = {[PERMISSION] = "denied", [QUESTION] = "answered"};
  const struct method *m = methods;
  while (m->name && strcmp(m->name, method) != 0) m++;
  rp__notes_begin(out, m->durability);
  struct rp__book_asked *a = rp__book_asked(b, hash_id(id));
  struct rp__jw w = rp__note_begin(out, m->ask ? kinds[m->ask] : "x-acp-answer");
  rp__note_id(&w, "id", prefixes[m->ask], a ? a->turn : b->turn, id);
  if (m->ask)
    rp__jw_kstr(&w, "status", m->ask == PERMISSION && is_allowed(a, result) ? "allowed" : words[m->ask]);
  else
    rp__jw_kstr(&w, "method", method);
  write_outcome(&w, result, error);
  rp__note_end(out, &w);
  int rc = rp__notes_finish(out, err);
  if (!rc && a) *a = (struct rp__book_asked){0};
  return rc;
}
