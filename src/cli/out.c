/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to stdout: documents, lists, lines, acknowledgements, errors. */
#include "cli/out.h"

#include <errno.h>
#include <poll.h>

#include "cli/term.h"

#define FIELD_NAME_MAX 256

/* The stream remembers a failure; rp__out_finish tells it. */
static int put(const char *bytes, size_t n)
{
  fwrite(bytes, 1, n, stdout);
  putc('\n', stdout);
  return 0;
}

int rp__out_doc(const struct rp__cli *c, const char *json, size_t n, rp_error *err)
{
  if (!c->term.out_tty || rp__json_wanted(c)) return put(json, n);
  RP_AUTOBUF struct rp__buf b = RP_BUF(RP_CLI_DOC_MAX);
  rp__out_pretty(rp__json_trusted(json, n), &b, c->term.out_colour);
  return rp__out_line(&b, err);
}

static int buf_check(const struct rp__buf *b, rp_error *err)
{
  if (!b->err) return 0;
  return b->err == RP_E_NOMEM ? rp__fail_nomem(err) : rp__fail(err, b->err, "the output is too large");
}

int rp__out_buf(const struct rp__cli *c, const struct rp__buf *b, rp_error *err)
{
  int code = buf_check(b, err);
  return code ? code : rp__out_doc(c, b->p, b->n, err);
}

int rp__out_list(const struct rp__cli *c, const char *name, struct rp__json array, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&b);
  rp__jw_object(&w);
  rp__jw_key(&w, name);
  if (array.type == RP_JSON_ARRAY)
    rp__jw_value(&w, array);
  else
    rp__jw_raw(&w, "[]", 2);
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

int rp__out_ack(const struct rp__cli *c, const rp_ack *ack, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  struct rp__jw w = RP_JW(&b);
  rp__ack_write(&w, ack);
  return rp__out_buf(c, &b, err);
}

int rp__out_line(const struct rp__buf *b, rp_error *err)
{
  int code = buf_check(b, err);
  return code ? code : put(b->p ? b->p : "", b->n);
}

int rp__out_text(const struct rp__buf *b, rp_error *err)
{
  int code = buf_check(b, err);
  if (!code && b->n) fwrite(b->p, 1, b->n, stdout);
  return code;
}

int rp__out_told(struct rp__cli *c, const char *json, rp__tell_fn *tell, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  if (rp__json_wanted(c)) return put(json, strlen(json));
  tell(c, &out, rp__json_trusted(json, strlen(json)));
  return rp__out_text(&out, err);
}

void rp__listing_begin(struct rp__listing *l, struct rp__cli *c, const char *pattern, rp_error *err)
{
  *l = (struct rp__listing){
      .c = c, .json = rp__json_wanted(c), .doc = RP_BUF(RP_CLI_DOC_MAX), .w = RP_JW(&l->doc), .err = err};
  rp__jw_pack(&l->w, pattern);
}

int rp__listing_end(struct rp__listing *l, int code, const char *nothing)
{
  rp__jw_pack(&l->w, "]}");
  if (!code && l->json)
    code = rp__out_buf(l->c, &l->doc, l->err);
  else if (!code && l->n == 0 && l->c->term.err_tty)
    fprintf(stderr, "%s\n", nothing);
  rp__buf_done(&l->doc);
  return code;
}

bool rp__out_gone(void)
{
  return ferror(stdout) != 0;
}

int rp__out_finish(rp_error *err)
{
  struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
  int errnum = errno;
  /* A pipe or socket whose other end is closed: the reader left. */
  if (errnum == EPIPE || (poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)))) return 0;
  return rp__fail_errno(err, errnum ? errnum : EIO, "can't write the output");
}

void rp__error_write(struct rp__jw *w, const rp_error *e, int64_t line)
{
  const rp_error_info *info = rp_error_lookup(e->code);
  rp__jw_pack(w, "{code:s message:s hint:s", info->name, e->message[0] ? e->message : info->text,
              e->hint[0] ? e->hint : NULL);
  if (e->field[0]) rp__jw_kstr(w, "field", e->field);
  if (line > 0) rp__jw_ki64(w, "line", line);
  rp__jw_end_object(w);
}

/* ---- JSON for people ---------------------------------------------------- */

static void indent(struct rp__buf *out, int depth)
{
  rp__buf_char(out, '\n');
  for (int i = 0; i < depth; i++) rp__buf_str(out, "  ");
}

/* As deep as the document, and those the engine makes are of bounded depth. */
static void pretty(struct rp__json v, struct rp__buf *out, bool colour, int depth)
{
  bool object = v.type == RP_JSON_OBJECT;
  if ((!object && v.type != RP_JSON_ARRAY) || rp__json_count(v) == 0) {
    rp__term_cut(out, v.p, v.n, 0); /* JSON allows control characters beyond U+001F and marks of direction */
    return;
  }
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  const char *comma = "";
  rp__buf_char(out, object ? '{' : '[');
  while (rp__json_next(v, &it, &key, &value)) {
    rp__buf_str(out, comma);
    indent(out, depth + 1);
    if (object) {
      rp__buf_printf(out, "%s\"", RP_SGR(colour, RP_CYAN));
      rp__term_cut(out, key.p, key.n, 0);
      rp__buf_printf(out, "\"%s: ", RP_RESET(colour));
    }
    pretty(value, out, colour, depth + 1);
    comma = ",";
  }
  indent(out, depth);
  rp__buf_char(out, object ? '}' : ']');
}

void rp__out_pretty(struct rp__json v, struct rp__buf *out, bool colour)
{
  pretty(v, out, colour, 0);
}

/* ---- documents as lines --------------------------------------------------------- */

struct fields {
  const struct rp__cli *c;
  struct rp__buf name; /* the path to where we are */
  int width;           /* of the longest name; the first walk finds it, the second prints */
  bool printing;
  struct rp__buf line;
};

static bool ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), k = strlen(end);
  return n >= k && strcmp(s + n - k, end) == 0;
}

static void field_print(struct fields *f, struct rp__json v)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(RP_CLI_DOC_MAX);
  const char *name = f->name.p ? f->name.p : "";
  char told[RP_MOMENT_TEXT];
  int64_t n;
  if (v.type == RP_JSON_STRING && ends_with(name, "_at") && rp__time_parse(v.p + 1, v.n - 2, &n) == 0) {
    rp__buf_str(&text, rp__moment_format(f->c, n, told));
  } else if ((ends_with(name, "bytes") || ends_with(name, "size")) && rp__json_i64(v, &n)) {
    rp__size_format(n, told, sizeof(told));
    rp__buf_str(&text, told);
  } else if (v.type == RP_JSON_STRING) {
    rp__json_text(v, &text);
  } else if (v.type == RP_JSON_NULL) {
    rp__buf_str(&text, "-");
  } else {
    rp__buf_add(&text, v.p, v.n);
  }
  rp__buf_str(&f->line, RP_SGR(f->c->term.out_colour, RP_CYAN));
  rp__term_cell(&f->line, name, f->width);
  rp__buf_printf(&f->line, "%s  ", RP_RESET(f->c->term.out_colour));
  rp__term_cut(&f->line, text.p ? text.p : "", text.n, 0);
  rp__buf_char(&f->line, '\n');
}

static void field_walk(struct fields *f, struct rp__json v)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  if (v.type != RP_JSON_OBJECT) {
    if (f->printing)
      field_print(f, v);
    else
      f->width = RP_MAX(f->width, rp__term_columns(f->name.p ? f->name.p : "", f->name.n));
    return;
  }
  size_t n = f->name.n;
  while (rp__json_next(v, &it, &key, &value)) {
    if (n) rp__buf_char(&f->name, '.');
    rp__buf_add(&f->name, key.p, key.n);
    field_walk(f, value);
    f->name.n = n;
    if (f->name.p) f->name.p[n] = '\0';
  }
}

int rp__out_fields(const struct rp__cli *c, const char *json, rp_error *err)
{
  if (rp__json_wanted(c)) return put(json, strlen(json));
  struct fields f = {.c = c, .name = RP_BUF(FIELD_NAME_MAX), .line = RP_BUF(RP_CLI_DOC_MAX)};
  struct rp__json doc = rp__json_trusted(json, strlen(json));
  field_walk(&f, doc);
  f.printing = true;
  field_walk(&f, doc);
  int code = buf_check(&f.name, err);
  if (!code) code = rp__out_text(&f.line, err);
  rp__buf_done(&f.name);
  rp__buf_done(&f.line);
  return code;
}

/* ---- sessions --------------------------------------------------------------- */

void rp__out_members(struct rp__jw *w, struct rp__json session)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  char name[64];
  while (rp__json_next(session, &it, &key, &value)) {
    snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
    rp__jw_kvalue(w, name, value);
  }
}

void rp__out_asked(struct rp__jw *w, struct rp__json digest)
{
  static const char *const names[] = {"last_request", "last_request_at", "last_request_end", "files_changed"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct rp__json v = rp__json_get(digest, names[i]);
    if (v.type != RP_JSON_NONE) rp__jw_kvalue(w, names[i], v);
  }
}
