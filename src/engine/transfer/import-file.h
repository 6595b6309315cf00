/* SPDX-License-Identifier: Apache-2.0 */
/* One import of another program's document: the interface between foreign.c and the reader of files (import-file.c). */
#ifndef RP_ENGINE_IMPORT_FILE_H
#define RP_ENGINE_IMPORT_FILE_H

#include "engine/engine.h"
#include "format/format.h"

struct rp__import_job {
  const struct rp__format *format;
  const char *scope, *file; /* file: its name without folders */
  const char *note;         /* about every session, or NULL */
  bool dry_run;
  rp_import_fn *fn;
  void *ctx;
  rp_progress_fn *progress;
  void *pctx;
};

/* Takes all sessions of the document; a session that can't be taken is reported, and its error returned at the end. */
RP_MUST_USE int rp__import_doc(rp_engine *e, const struct rp__import_job *job, const struct rp__doc *doc,
                               rp_error *err);

#endif
