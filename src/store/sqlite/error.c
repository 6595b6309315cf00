/* SPDX-License-Identifier: Apache-2.0 */
/* The one table from SQLite's result codes to codes of Reprise. */
#include "store/sqlite/sqlite.h"

struct translation {
  int sqlite; /* a primary result code */
  int code;
  bool broken; /* the connection is not to be trusted afterwards */
  const char *hint;
};

static const struct translation table[] = {
    {SQLITE_NOMEM, RP_E_NOMEM, false, NULL},
    {SQLITE_BUSY, RP_E_BUSY, false, "another program keeps the database locked"},
    {SQLITE_LOCKED, RP_E_BUSY, false, NULL},
    {SQLITE_READONLY, RP_E_READONLY, false, NULL},
    {SQLITE_PERM, RP_E_READONLY, false, NULL},
    {SQLITE_FULL, RP_E_FULL, false, "free some space and try again"},
    {SQLITE_TOOBIG, RP_E_TOO_LARGE, false, NULL},
    {SQLITE_CONSTRAINT, RP_E_CORRUPT, false, "reprise verify --repair"},
    {SQLITE_CORRUPT, RP_E_CORRUPT, true, "reprise verify --repair"},
    {SQLITE_NOTADB, RP_E_CORRUPT, true, "the file is no SQLite database"},
    {SQLITE_CANTOPEN, RP_E_UNREACHABLE, true, NULL},
    {SQLITE_AUTH, RP_E_UNREACHABLE, true, NULL},
    {SQLITE_IOERR, RP_E_IO, true, NULL},
    {SQLITE_PROTOCOL, RP_E_BUSY, true, NULL},
    {SQLITE_NOLFS, RP_E_IO, true, NULL},
    {SQLITE_INTERRUPT, RP_E_CANCELLED, false, NULL},
};

/* What the primary code does not tell. */
static int code_refine(int extended, int code)
{
  if (extended == SQLITE_IOERR_NOMEM) return RP_E_NOMEM;
  if (extended == SQLITE_READONLY_DBMOVED) return RP_E_UNREACHABLE;
  if (extended == SQLITE_IOERR_CORRUPTFS) return RP_E_CORRUPT;
  return code;
}

int rp__sq_fail(struct rp__sq_conn *c, int rc, const char *doing, rp_error *err)
{
  static const struct translation unknown = {SQLITE_ERROR, RP_E_FAILED, false, NULL};
  const struct translation *t = &unknown;
  int extended = c->db ? sqlite3_extended_errcode(c->db) : rc;
  if ((extended & 0xff) != (rc & 0xff)) extended = rc;
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++)
    if (table[i].sqlite == (rc & 0xff)) t = &table[i];

  int code = code_refine(extended, t->code);
  c->broken |= t->broken || extended == SQLITE_READONLY_DBMOVED;
  c->fatal |= rc != SQLITE_CONSTRAINT && (rc & 0xff) != SQLITE_CONSTRAINT && (rc & 0xff) != SQLITE_TOOBIG;
  if (code == RP_E_NOMEM) return rp__fail_nomem(err);
  const char *why =
      c->db && (sqlite3_errcode(c->db) & 0xff) == (rc & 0xff) ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc);
  rp__fail(err, code, "%s: %s: %s", c->store->path, doing, why);
  if (t->hint) rp__hint(err, "%s", t->hint);
  return code;
}
