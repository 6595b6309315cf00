/* SPDX-License-Identifier: Apache-2.0 */
/* The projects of a session, in the order of their last use. */
#include "facets/table.h"

#include "base/text.h"
#include "facets/rows.h"
#include "facets/words.h"

#define BYTES_MAX ((size_t)16 * 1024)
#define NAME_MAX_BYTES 128 /* of a folder's name; longer ones are no project's */

static const struct rp__shape shape = {
    .name = "projects",
    .columns = {{"name", RP_CELL_ID, RP_COL_NEED, 0}},
    .keyed = true,
    .max_rows = 32,
    .max_bytes = BYTES_MAX,
};

/* ---- finding them ----------------------------------------------------------------------- */

/* What ends a name; inside a text a space does too, while a folder may have one in its name. */
static bool ends_name(char c, bool path)
{
  if (c == '/' || c == '\\' || c == '"' || (unsigned char)c < 0x20) return true;
  return !path && strchr(" '`<>()[]{}|,;:*?!", c);
}

static size_t name_length(struct rp__str text, size_t at, bool path)
{
  size_t n = 0;
  while (at + n < text.n && !ends_name(text.p[at + n], path)) n++;
  while (n > 0 && text.p[at + n - 1] == '.') n--; /* the end of a sentence, or no name at all */
  return n;
}

/*
 * Whether the folder that ends at `slash` is hidden (.claude/projects): agents keep their own files there, under names
 * made from the paths of projects.
 */
static bool is_hidden(const char *text, const char *slash)
{
  const char *from = slash;
  while (from > text && !ends_name(from[-1], false)) from--;
  return from < slash && *from == '.';
}

/* The names behind /Projects/ in a text; *ret_found counts them. */
static int each_in(struct rp__str text, bool path, rp__project_fn *fn, void *ctx, size_t *ret_found)
{
  static const struct rp__str mark = {"rojects/", 8};
  const char *at = text.p, *end = text.p + text.n;
  *ret_found = 0;
  while ((at = memmem(at, (size_t)(end - at), mark.p, mark.n))) {
    const char *name = at + mark.n;
    bool folder = at - text.p >= 2 && (at[-1] == 'P' || at[-1] == 'p') && at[-2] == '/';
    folder = folder && !is_hidden(text.p, at - 2);
    at = name;
    size_t n = folder ? name_length(text, (size_t)(name - text.p), path) : 0;
    if (n == 0 || n > NAME_MAX_BYTES) continue;
    (*ret_found)++;
    int rc = fn(ctx, (struct rp__str){name, n});
    if (rc) return rc;
  }
  return 0;
}

int rp__project_each_in(struct rp__str text, rp__project_fn *fn, void *ctx)
{
  size_t found;
  return each_in(text, false, fn, ctx, &found);
}

int rp__project_each(const struct rp__event *ev, rp__project_fn *fn, void *ctx)
{
  char room[RP_TEXT_HEAD];
  size_t found;
  if (ev->kind == RP_KIND_ACTIVITY) {
    size_t in_text;
    struct rp__str folder = rp__text_head(rp__event_get(ev, "workdir"), room);
    int rc = each_in(folder, true, fn, ctx, &found);
    /* The last part of a folder that is more than somebody's home. */
    while (folder.n > 1 && folder.p[folder.n - 1] == '/') folder.n--;
    const char *slash = memrchr(folder.p, '/', folder.n);
    struct rp__str parent = {folder.p, slash ? (size_t)(slash - folder.p) : 0};
    struct rp__str name = {slash ? slash + 1 : folder.p, folder.n - (slash ? parent.n + 1 : 0)};
    bool home = rp__str_eq(parent, "/home") || rp__str_eq(parent, "/Users") || rp__str_eq(folder, "/root") ||
                rp__str_eq(folder, "/tmp") || rp__str_eq(name, "~");
    if (name.n && name.p[0] == '-') name.n = 0; /* a path as a name, as agents write it */
    if (home || name_length(name, 0, true) != name.n || name.n > NAME_MAX_BYTES) name.n = 0;
    if (rc == 0 && found == 0 && name.n) rc = fn(ctx, name);
    if (rc == 0) rc = each_in(rp__text_head(rp__event_get(ev, "text"), room), false, fn, ctx, &in_text);
    return rc;
  }
  if (ev->kind == RP_KIND_TOOL) { /* paths anywhere in the input, so its JSON is read as one text */
    struct rp__json input = rp__event_get(ev, "input");
    return input.n ? rp__project_each_in((struct rp__str){input.p, input.n}, fn, ctx) : 0;
  }
  /* Doors name the folder of the scope beside what the user said. */
  if (ev->kind != RP_KIND_PROJECT && ev->kind != RP_KIND_MESSAGE) return 0;
  const char *member = ev->kind == RP_KIND_PROJECT ? "name" : "project";
  struct rp__str name = rp__text_head(rp__event_get(ev, member), room);
  return name.n && name.n <= RP_EVENT_ID_MAX ? fn(ctx, name) : 0;
}

/* ---- the facet ---------------------------------------------------------------------------- */

struct use {
  struct rp__rows *rows;
  int64_t at_ms;
};

static int use_project(void *ctx, struct rp__str name)
{
  struct use *u = ctx;
  RP_AUTOCELLS struct rp__cells c = {0};
  int rc = rp__cells_text(&shape, &c, 0, name);
  if (rc) return rc;
  return rp__rows_renew(u->rows, rp__rows_find(u->rows, c.cell[0]), &c, u->at_ms);
}

static int projects_apply(void *state, const struct rp__event *ev)
{
  struct use u = {state, ev->at_ms};
  return rp__project_each(ev, use_project, &u);
}

static void projects_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct rp__rows *r = state;
  (void)now_ms;
  rp__jw_array(w);
  for (size_t i = 0; i < r->count; i++) rp__jw_value(w, rp__row_cell(r->v[i], 0));
  rp__jw_end_array(w);
}

const struct rp__facet_ops rp__facet_projects = {
    .name = "projects",
    RP_ROWS_SLOTS(shape, BYTES_MAX),
    .apply = projects_apply,
    .show = projects_show,
};
