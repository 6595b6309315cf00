/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a session on one line, told as briefly as can be: "src/: a.c (3×), db/{b.c, c.c} … 4 more". */
#include "continuity/brief-impl.h"
#include "json/text.h"

#define FILES_MAX 9
#define FILES_RECENT 3
#define ROOT_MIN 12 /* bytes of a folder that is told once for all files */

static int64_t count_of(const struct rp__row *file)
{
  int64_t n;
  return rp__json_i64(rp__row_cell(file, RP_FILE_COUNT), &n) ? n : 0;
}

/* A file as it is told: its folder, with the slash, and its name. */
struct path {
  struct rp__buf text;
  size_t folder, order; /* bytes of the folder; where the first file of the same folder stands */
  int64_t count;
};

static void paths_done(struct path (*paths)[FILES_MAX])
{
  for (size_t i = 0; i < FILES_MAX; i++) rp__buf_done(&(*paths)[i].text);
}

static void path_set(const struct rp__brief_input *in, const struct rp__digest *g, const struct rp__row *row,
                     struct path *ret)
{
  RP_AUTOBUF struct rp__buf path = RP_BUF(4096);
  bool home;
  ret->text = RP_BUF(4096);
  rp__json_text(rp__row_cell(row, RP_FILE_PATH), &path);
  struct rp__str root = g->root.n ? (struct rp__str){g->root.p, g->root.n} : rp__str(in->root ? in->root : "");
  struct rp__str s = rp__digest_path((struct rp__str){path.p ? path.p : "", path.n}, root, &home);
  if (home) rp__buf_str(&ret->text, "~/");
  if (s.n) rp__plain_text(&ret->text, s.p, RP_LABEL_CHARS);
  if (path.err) ret->text.err = path.err;
  const char *slash = ret->text.n ? memrchr(ret->text.p, '/', ret->text.n) : NULL;
  ret->folder = slash ? (size_t)(slash + 1 - ret->text.p) : 0;
  ret->count = count_of(row);
}

static bool same_folder(const struct path *a, const struct path *b)
{
  return a->folder && a->folder == b->folder && memcmp(a->text.p, b->text.p, a->folder) == 0;
}

static int by_order(const void *x, const void *y)
{
  const struct path *a = x, *b = y;
  return a->order < b->order ? -1 : a->order > b->order;
}

/* Bytes of the folder that all the files are below, when telling it once saves something. */
static size_t common_root(const struct path *paths, size_t n)
{
  size_t root = n > 2 ? paths[0].folder : 0, folders = 0;
  for (size_t i = 1; i < n && root; i++) {
    size_t same = 0;
    while (same < root && same < paths[i].folder && paths[i].text.p[same] == paths[0].text.p[same]) same++;
    while (same && paths[0].text.p[same - 1] != '/') same--;
    root = same;
    folders += !same_folder(&paths[i - 1], &paths[i]);
  }
  return folders && root >= ROOT_MIN ? root : 0;
}

/* The newest few, then those changed most; files of one folder share its name: "src/{a.c (3×), b.c}". */
void rp__brief_files(const struct rp__brief_input *in, const struct rp__digest *g, size_t max, struct rp__buf *out)
{
  const struct rp__rows *files = &g->files;
  max = RP_MIN(max, (size_t)FILES_MAX);
  RP_CLEANUP(paths_done) struct path paths[FILES_MAX] = {{{0}}};
  size_t picked[FILES_MAX], n = 0;
  for (size_t i = files->count; i > 0 && n < RP_MIN(max, (size_t)FILES_RECENT); i--) picked[n++] = i - 1;
  while (n < max && n < files->count) {
    size_t best = files->count;
    for (size_t i = files->count; i > 0; i--) {
      bool taken = false;
      for (size_t k = 0; k < n; k++) taken = taken || picked[k] == i - 1;
      if (taken) continue;
      if (best == files->count || count_of(files->v[i - 1]) > count_of(files->v[best])) best = i - 1;
    }
    picked[n++] = best;
  }
  for (size_t i = 0; i < n; i++) {
    path_set(in, g, files->v[picked[i]], &paths[i]);
    if (paths[i].text.err) out->err = RP_E_NOMEM;
    size_t first = 0;
    while (first < i && !same_folder(&paths[first], &paths[i])) first++;
    paths[i].order = first * FILES_MAX + i;
  }
  if (out->err) return;
  qsort(paths, n, sizeof paths[0], by_order);
  size_t root = common_root(paths, n);
  if (root) rp__buf_add(out, paths[0].text.p, root);
  if (root) rp__buf_str(out, ": ");
  for (size_t i = 0; i < n; i++) {
    const struct path *p = &paths[i];
    bool goes_on = i > 0 && same_folder(p - 1, p), more = i + 1 < n && same_folder(p, p + 1);
    if (i) rp__buf_str(out, ", ");
    if (!goes_on) rp__buf_add(out, p->text.p ? p->text.p + root : "", p->folder - root);
    if (more && !goes_on) rp__buf_char(out, '{');
    rp__buf_add(out, p->text.p ? p->text.p + p->folder : "", p->text.n - p->folder);
    if (p->count > 2) rp__buf_printf(out, " (%lld×)", (long long)p->count);
    if (goes_on && !more) rp__buf_char(out, '}');
  }
  /* A full list has forgotten others. */
  bool full = files->count == files->shape->max_rows;
  if (files->count > n) rp__buf_printf(out, " … %zu%s more", files->count - n, full ? " or" : "");
}
