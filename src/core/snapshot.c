/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: encoding, opening, decoding, and which of them to keep. */
#include "core/snapshot.h"

#include <reprise/reprise.h>

#include "core/container.h"

_Static_assert(RP_SNAPSHOT_VERSION == RP_FOLD_VERSION, "a snapshot has the version of the document in it");

/* The word at 4 is the document's version (u16), then flags (u16), of which the first says "sealed". */
static const struct rp__container kind = {
    .magic = "RPS1",
    .noun = "snapshot",
    .max = RP_SNAPSHOT_MAX,
    .sealed = 1u << 16,
    .corrupt = RP_E_SNAPSHOT_CORRUPT,
    .newer = RP_E_SNAPSHOT_VERSION,
};

const struct rp__migration rp__snapshot_migrations[] = {{0, NULL}};

int rp__snapshot_encode(const struct rp__fold *f, const struct rp__key *key, const struct rp__random *r,
                        struct rp__str ad, struct rp__buf *out, size_t *ret_raw, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_SNAPSHOT_MAX);
  struct rp__jw w = RP_JW(&doc);
  rp__fold_save(f, &w);
  if (doc.err) return rp__container_full(&kind, &doc, err);
  struct rp__str text = {doc.p, doc.n};
  int rc = rp__container_write(&kind, RP_SNAPSHOT_VERSION, text, key, r, ad, out, err);
  if (rc == 0) *ret_raw = doc.n;
  return rc;
}

static int parse_document(const struct rp__buf *doc, struct rp__json *ret, rp_error *err)
{
  /* A body of full depth sits some levels down in the document. */
  static const struct rp__json_limits limits = {.max_bytes = RP_SNAPSHOT_MAX, .max_depth = RP_DEPTH_MAX + 8};
  int rc = rp__json_parse(doc->p, doc->n, &limits, ret, err);
  if (rc == 0 || rc == RP_E_NOMEM) return rc;
  return rp__container_corrupt(&kind, "its document is no JSON", err);
}

static int migrate(struct rp__buf *doc, int version, int current, const struct rp__migration *chain, rp_error *err)
{
  for (; version < current; version++) {
    const struct rp__migration *step = chain;
    while (step->from && step->from != version) step++;
    if (!step->from)
      return rp__fail(err, RP_E_SNAPSHOT_VERSION, "nothing leads from snapshot version %d to the next", version);
    RP_AUTOBUF struct rp__buf next = RP_BUF(RP_SNAPSHOT_MAX);
    struct rp__json v = {0};
    int rc = parse_document(doc, &v, err);
    if (rc == 0) rc = step->run(v, &next, err);
    if (rc) return rc;
    if (next.err) return rp__container_full(&kind, &next, err);
    struct rp__buf old = *doc;
    *doc = next;
    next = old;
  }
  return 0;
}

int rp__snapshot_open(const void *bytes, size_t n, const struct rp__key *key, struct rp__str ad,
                      const struct rp__migration *chain, int current, struct rp__buf *out, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_SNAPSHOT_MAX);
  struct rp__stored in = {bytes, n, key, ad};
  uint32_t version = 0;
  if (current == 0) current = RP_SNAPSHOT_VERSION;
  int rc = rp__container_read(&kind, (uint32_t)current, in, rp__container_collect, &doc, &version, err);
  if (doc.err) return rp__container_full(&kind, &doc, err);
  if (rc) return rc;
  if (version == 0 || doc.n == 0) return rp__container_corrupt(&kind, "it has no version or no document", err);
  rc = migrate(&doc, (int)version, current, chain ? chain : rp__snapshot_migrations, err);
  if (rc) return rc;
  rp__buf_add(out, doc.p, doc.n);
  return out->err ? rp__container_full(&kind, out, err) : 0;
}

int rp__snapshot_decode(const void *bytes, size_t n, const struct rp__key *key, struct rp__str ad,
                        const struct rp__facet_table *t, struct rp__fold **ret, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_SNAPSHOT_MAX);
  RP_AUTOFOLD struct rp__fold *f = NULL;
  struct rp__json v = {0};
  int rc = rp__snapshot_open(bytes, n, key, ad, NULL, 0, &doc, err);
  if (rc == 0) rc = parse_document(&doc, &v, err);
  if (rc) return rc;
  if (rp__fold_new(t, &f)) return rp__fail_nomem(err);
  rc = rp__fold_load(f, v, err);
  if (rc) return rc;
  *ret = RP_TAKE(f);
  return 0;
}

/* ---- which to keep ---------------------------------------------------------- */

void rp__snapshot_prune(const int64_t *seqs, size_t count, size_t keep, bool *drop)
{
  int64_t block = -1; /* of the last older one kept; seqs are not negative */
  bool near = count > keep && seqs[keep - 1] < RP_SNAPSHOT_SPARSE;
  for (size_t i = 0; i < count; i++) {
    int64_t mine = seqs[i] / RP_SNAPSHOT_SPARSE;
    drop[i] = i >= keep && (near || mine == block);
    if (i >= keep) block = mine;
  }
}
