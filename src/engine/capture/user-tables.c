/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the user's tables from their files, and makes them an event. */
#include "engine/capture/user-tables.h"

#include <ini.h>

#include "base/file.h"
#include "facets/digest/cues.h"
#include "facets/emotion/emotions.h"
#include "facets/settings.h"

#define TABLE_FILE_MAX (256 * 1024)

struct reader {
  struct rp__emotions_builder *builder;
  rp_error *err;
  int rc;
};

static int on_line(void *user, const char *section, const char *name, const char *value)
{
  struct reader *x = user;
  if (!x->rc) x->rc = rp__emotions_set(x->builder, section, name, value, x->err);
  return x->rc == 0;
}

static int read_emotions(struct rp__buf *text, struct rp__buf *out, rp_error *err)
{
  struct rp__emotions_builder *b RP_AUTOEMOTIONS = NULL;
  rp__buf_char(text, '\n');
  if (text->err || rp__emotions_begin(&b)) return rp__fail_nomem(err);
  struct reader x = {.builder = b, .err = err};
  int line = ini_parse_string(text->p, on_line, &x);
  if (x.rc) return x.rc;
  if (line > 0) return rp__fail(err, RP_E_CONFIG, "line %d is neither 'key = value' nor a section", line);
  return rp__emotions_finish(b, out, err);
}

static int read_cues(struct rp__buf *text, struct rp__buf *out, rp_error *err)
{
  return rp__cues_read((struct rp__str){text->p ? text->p : "", text->n}, out, err);
}

static const struct {
  const char *option, *setting;
  size_t path; /* in the configuration of a scope */
  int (*read)(struct rp__buf *text, struct rp__buf *out, rp_error *err);
} tables[] = {
    {"emotions_file", "emotions", offsetof(struct rp__scope_config, emotions_file), read_emotions},
    {"cues_file", "cues", offsetof(struct rp__scope_config, cues_file), read_cues},
};
#define TABLES RP_ARRAY_SIZE(tables)

/* The file as the JSON that sessions keep; nothing when there is none. */
static int table_read(const char *path, size_t table, struct rp__buf *out, rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(TABLE_FILE_MAX + 1);
  *out = RP_BUF(TABLE_FILE_MAX);
  int rc = *path ? rp__file_read(path, TABLE_FILE_MAX, &text, err) : 0;
  if (rc || !*path) return rc;
  return tables[table].read(&text, out, err) ? rp__wrap(err, "%s", path) : 0;
}

/* Empties the tables that the session's settings have already. */
static void drop_known(rp_session *s, struct rp__buf given[TABLES])
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__fold *f = NULL;
  pthread_mutex_lock(&s->lock);
  if (!rp__state_use(s, &f, &warnings, NULL)) {
    for (size_t i = 0; i < TABLES; i++) {
      struct rp__json own = rp__setting(f, tables[i].setting);
      if (own.n == given[i].n && given[i].n && memcmp(own.p, given[i].p, own.n) == 0) rp__buf_reset(&given[i]);
    }
    rp__state_release(s, f);
  }
  pthread_mutex_unlock(&s->lock);
}

int rp__user_tables_event(rp_engine *e, rp_session *session, const char *scope, rp__user_table_warn *warn, void *ctx,
                          struct rp__buf *out, rp_error *err)
{
  const struct rp__scope_config *c = rp__config_of(e->config, scope);
  struct rp__buf given[TABLES] = {0};
  size_t bytes = 0;
  for (size_t i = 0; i < TABLES; i++) {
    rp_error why = {0};
    const char *path = *(const char *const *)((const char *)c + tables[i].path);
    if (table_read(path, i, &given[i], &why)) {
      warn(ctx, tables[i].option, &why);
      rp__buf_reset(&given[i]);
    }
    bytes += given[i].n;
  }
  if (bytes && session) drop_known(session, given);
  struct rp__jw w = RP_JW(out);
  for (size_t i = 0, told = 0; i < TABLES; i++) {
    if (given[i].n && told++ == 0) rp__jw_pack(&w, "{settings:{");
    if (given[i].n) {
      rp__jw_key(&w, tables[i].setting);
      rp__jw_raw(&w, given[i].p, given[i].n);
    }
    if (i + 1 == TABLES && told) rp__jw_pack(&w, "}}");
    rp__buf_done(&given[i]);
  }
  return out->err ? rp__fail_nomem(err) : 0;
}

int rp_emotions_ini(char **ret, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(256 * 1024);
  rp__emotions_ini(&out);
  return rp__text_give(&out, ret, err);
}
