/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the user's table of emotions from its file, and makes it an event. */
#include "engine/capture/emotions.h"

#include <ini.h>

#include "base/file.h"
#include "facets/emotion/emotions.h"
#include "facets/settings.h"

#define EMOTIONS_FILE_MAX (256 * 1024)

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

/* The file as the JSON that sessions keep. */
static int table_read(const char *path, struct rp__buf *out, rp_error *err)
{
  struct rp__emotions_builder *b RP_AUTOEMOTIONS = NULL;
  struct rp__buf text RP_AUTOBUF = RP_BUF(EMOTIONS_FILE_MAX);
  int rc = rp__file_read(path, EMOTIONS_FILE_MAX, &text, err);
  if (rc) return rc;
  rp__buf_char(&text, '\n');
  if (text.err || rp__emotions_begin(&b)) return rp__fail_nomem(err);
  struct reader x = {.builder = b, .err = err};
  int line = ini_parse_string(text.p, on_line, &x);
  if (x.rc) return rp__wrap(err, "%s", path);
  if (line > 0) return rp__fail(err, RP_E_CONFIG, "%s: line %d is neither 'key = value' nor a section", path, line);
  return rp__emotions_finish(b, out, err);
}

/* Whether the session's settings have this very table. */
static bool has_table(rp_session *s, const struct rp__buf *table)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__fold *f = NULL;
  bool same = false;
  pthread_mutex_lock(&s->lock);
  if (!rp__state_use(s, &f, &warnings, NULL)) {
    struct rp__json own = rp__setting(f, "emotions");
    same = own.n == table->n && memcmp(own.p, table->p, own.n) == 0;
    rp__state_release(s, f);
  }
  pthread_mutex_unlock(&s->lock);
  return same;
}

int rp__emotions_event(rp_engine *e, rp_session *session, const char *scope, struct rp__buf *out, rp_error *err)
{
  const char *path = rp__config_of(e->config, scope)->emotions_file;
  struct rp__buf table RP_AUTOBUF = RP_BUF(RP_EMOTIONS_BYTES + 1);
  if (!*path) return 0;
  int rc = table_read(path, &table, err);
  if (rc || (session && has_table(session, &table))) return rc;
  struct rp__jw w = RP_JW(out);
  rp__jw_pack(&w, "{settings:{");
  rp__jw_key(&w, "emotions");
  rp__jw_raw(&w, table.p, table.n);
  rp__jw_pack(&w, "}}");
  return out->err ? rp__fail_nomem(err) : 0;
}

int rp_emotions_ini(char **ret, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(256 * 1024);
  rp__emotions_ini(&out);
  return rp__text_give(&out, ret, err);
}
