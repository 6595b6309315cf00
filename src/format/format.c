/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, and the detection of a document's format. */
#include "format/format.h"

const struct rp__format *const rp__formats[] = {
    &rp__format_nova, &rp__format_cortex, &rp__format_clawd, &rp__format_orbitmesh, &rp__format_markdown, NULL,
};

const struct rp__format *rp__format_find(const char *name)
{
  for (const struct rp__format *const *f = rp__formats; *f; f++)
    if (strcmp((*f)->name, name) == 0) return *f;
  return NULL;
}

const struct rp__format *rp__format_detect(const struct rp__doc *d)
{
  for (const struct rp__format *const *f = rp__formats; *f; f++)
    if ((*f)->detect && (*f)->detect(d)) return *f;
  return NULL;
}

int rp__format_refuse(const struct rp__format *f, rp_error *err)
{
  if (f) return rp__fail(err, RP_E_FORMAT, "this is no document of the format %s: expected %s", f->name, f->what);
  rp__fail(err, RP_E_FORMAT, "the format of the document is not known: it was tried as " RP_FORMATS_READ);
  rp__hint(err, "it can be an export of reprise, nova's session.json, cortex' brain.db or <id>.json, clawd's "
                "session-store.json or orbitmesh's <id>.json.gz");
  return RP_E_FORMAT;
}

/* ---- documents ---- */

static int open_json(const char *bytes, size_t n, struct rp__doc *d, rp_error *err)
{
  rp_error own = {0};
  const struct rp__json_limits limits = {.max_bytes = RP_FOREIGN_MAX, .max_depth = RP_DEPTH_MAX};
  int rc = rp__json_parse(bytes, n, &limits, &d->json, &own);
  if (rc == RP_E_JSON) return rp__fail(err, RP_E_FORMAT_CORRUPT, "the document is damaged: %s", own.message);
  if (rc && err) *err = own;
  return rc;
}

static bool is_sqlite(struct rp__str b)
{
  static const char magic[] = "SQLite format 3";
  return b.n >= sizeof magic && memcmp(b.p, magic, sizeof magic) == 0;
}

int rp__doc_open(const void *bytes, size_t n, struct rp__doc *ret, rp_error *err)
{
  struct rp__doc d = {.bytes = {bytes, n}, .plain = RP_BUF(RP_FOREIGN_MAX)};
  const char *text = n ? bytes : "";
  int rc = 0;
  if (is_sqlite(d.bytes)) {
    d.type = RP_DOC_SQLITE;
  } else if (n >= 2 && memcmp(text, "\x1f\x8b", 2) == 0) {
    d.gzip = true;
    rc = rp__gunzip(bytes, n, &d.plain, err);
    if (!rc) rc = open_json(d.plain.p, d.plain.n, &d, err);
  } else {
    size_t at = 0;
    while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) at++;
    rc = at < n && text[at] == '{' ? open_json(text, n, &d, err) : rp__format_refuse(NULL, err);
  }
  if (rc)
    rp__doc_done(&d);
  else
    *ret = d;
  return rc;
}

void rp__doc_done(struct rp__doc *d)
{
  rp__buf_done(&d->plain);
}

/* ---- giving ---- */

int rp__give(const struct rp__giver *g, struct rp__buf *out, rp_error *err)
{
  if (out->err == RP_E_TOO_LARGE) return rp__fail(err, RP_E_TOO_LARGE, "the export is over %zu bytes", out->max);
  if (out->err) return rp__fail_nomem(err);
  if (out->n && g->write(g->write_ctx, out->p, out->n)) return rp__fail(err, RP_E_IO, "the export can't be written");
  rp__buf_reset(out);
  return 0;
}
