/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled expressions: compiles them on first use, shares them between threads, and holds the user's own. */
#include "redact/code.h"

#include "base/error.h"

/* Steps of one match. The table's expressions need hundreds; a user's that needs more than this is not worth waiting
 * for. */
#define MATCH_LIMIT 20000
#define HEAP_LIMIT_KIB 1024
#define OWN_LINE_MAX 1024   /* bytes of one expression */
#define OWN_PIECE 4096      /* a user's expressions see lines, in pieces of at most so many bytes … */
#define OWN_PIECE_AGAIN 512 /* … of which each begins so far before the end of the last */
#define OWN_NAME "own pattern"

static void *code_malloc(size_t n, void *ctx)
{
  (void)ctx;
  return malloc(n);
}

static void code_free(void *p, void *ctx)
{
  (void)ctx;
  free(p);
}

/* ---- compiling -------------------------------------------------------------------- */

/* Without a JIT the interpreter does, only slower, so its failures are none. */
static pcre2_code *compile(const struct rp__codes *c, const char *text, size_t n, uint32_t options, int *ret_error,
                           size_t *ret_at)
{
  pcre2_compile_context *ctx = pcre2_compile_context_create(c->memory);
  pcre2_code *code = ctx ? pcre2_compile((PCRE2_SPTR)text, n, options, ret_error, ret_at, ctx) : NULL;
  if (!ctx) *ret_error = PCRE2_ERROR_NOMEMORY;
  pcre2_compile_context_free(ctx);
  if (code) pcre2_jit_compile(code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  return code;
}

const pcre2_code *rp__codes_row(struct rp__codes *c, size_t row)
{
  pcre2_code *code = atomic_load_explicit(&c->rows[row], memory_order_acquire);
  if (code) return code;
  const char *text = rp__patterns[row].expression;
  int error = 0;
  size_t at = 0;
  pcre2_code *made = compile(c, text, strlen(text), PCRE2_ANCHORED, &error, &at);
  if (!made) return NULL;
  if (atomic_compare_exchange_strong_explicit(&c->rows[row], &code, made, memory_order_acq_rel, memory_order_acquire))
    return made;
  pcre2_code_free(made);
  return code;
}

static void codes_freep(struct rp__codes **c)
{
  rp__codes_free(*c);
}

int rp__codes_new(const char *own, struct rp__codes **ret, rp_error *err)
{
  RP_CLEANUP(codes_freep) struct rp__codes *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  c->memory = pcre2_general_context_create(code_malloc, code_free, NULL);
  c->limits = c->memory ? pcre2_match_context_create(c->memory) : NULL;
  if (!c->limits) return rp__fail_nomem(err);
  pcre2_set_match_limit(c->limits, MATCH_LIMIT);
  pcre2_set_heap_limit(c->limits, HEAP_LIMIT_KIB);
  /* Own expressions know no literal, so each is compiled at once: a mistake is told when it is made. */
  unsigned number = 1;
  for (const char *line = own, *next; line && *line; number++, line = next) {
    int error = 0;
    size_t n = strcspn(line, "\n"), at = 0;
    next = line[n] ? line + n + 1 : line + n;
    while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    if (n == 0 || line[0] == '#') continue;
    if (n > OWN_LINE_MAX)
      return rp__fail(err, RP_E_CONFIG, "line %u: an expression of more than %d bytes", number, OWN_LINE_MAX);
    if (c->n_own == RP_OWN_MAX)
      return rp__fail(err, RP_E_CONFIG, "line %u: more than %d expressions", number, RP_OWN_MAX);
    pcre2_code *code = compile(c, line, n, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &error, &at);
    if (!code && (error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED)) return rp__fail_nomem(err);
    if (!code) {
      PCRE2_UCHAR text[160] = "no expression";
      pcre2_get_error_message(error, text, sizeof text);
      return rp__fail(err, RP_E_CONFIG, "line %u, byte %zu: %s", number, at, (const char *)text);
    }
    c->own[c->n_own++] = code;
  }
  *ret = RP_TAKE(c);
  return 0;
}

void rp__codes_free(struct rp__codes *c)
{
  if (!c) return;
  for (size_t i = 0; i < RP_PATTERNS_MAX; i++) pcre2_code_free(atomic_load(&c->rows[i]));
  for (size_t i = 0; i < c->n_own; i++) pcre2_code_free(c->own[i]);
  pcre2_match_context_free(c->limits);
  pcre2_general_context_free(c->memory);
  free(c);
}

/* ---- matching ---------------------------------------------------------------------- */

enum rp__tried rp__code_try(const struct rp__codes *c, const pcre2_code *code, pcre2_match_data *data, const char *text,
                            size_t n, size_t from, bool more, struct rp__try *ret)
{
  int rc = pcre2_match(code, (PCRE2_SPTR)text, n, from, more ? PCRE2_PARTIAL_HARD : 0, data, c->limits);
  if (rc == PCRE2_ERROR_NOMATCH) return RP_TRIED_NO;
  if (rc == PCRE2_ERROR_NOMEMORY) return RP_TRIED_NOMEM;
  if (rc <= 0 && rc != PCRE2_ERROR_PARTIAL) return RP_TRIED_GAVE_UP;
  const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);
  int number = pcre2_substring_number_from_name(code, (PCRE2_SPTR) "secret");
  int group = number > 0 && number < rc && at[2 * number] != PCRE2_UNSET ? number : 0;
  *ret = (struct rp__try){at[2 * group], at[2 * group + 1], at[1]};
  return rc > 0 ? RP_TRIED_YES : RP_TRIED_OPEN;
}

/* ---- a user's expressions ------------------------------------------------------------- */

/* A loose expression may find the mask itself: masking that again would never end. */
static bool is_masked(const char *text, size_t n, const struct rp__secret *s)
{
  size_t mask = strlen(RP_MASK);
  for (size_t k = 0; k < mask && k <= s->start; k++) {
    size_t at = s->start - k;
    if (at + mask <= n && s->end <= at + mask && memcmp(text + at, RP_MASK, mask) == 0) return true;
  }
  return false;
}

/* Adds what one expression finds in text[from, to), a piece; `more`: the piece may go on. */
static int own_piece(const struct rp__codes *c, const pcre2_code *code, pcre2_match_data *data, const char *text,
                     size_t from, size_t to, bool more, struct rp__spans *spans, size_t *open)
{
  for (size_t at = 0, n = to - from; at <= n;) {
    struct rp__try t = {0, n, n};
    enum rp__tried tried = rp__code_try(c, code, data, text + from, n, at, more, &t);
    if (tried == RP_TRIED_NOMEM) return RP_E_NOMEM;
    if (tried == RP_TRIED_NO) return 0;
    if (tried == RP_TRIED_OPEN) {
      *open = RP_MIN(*open, from + t.start);
      return 0;
    }
    if (tried == RP_TRIED_GAVE_UP) t = (struct rp__try){at, n, n};
    struct rp__span span = {{from + t.start, from + t.end, OWN_NAME}, RP_RUN_NONE, 0};
    int rc = t.end > t.start && !is_masked(text, to, &span.secret) ? rp__spans_add(spans, &span) : 0;
    if (rc) return rc;
    at = RP_MAX(t.match_end, at + 1);
  }
  return 0;
}

int rp__own_find(const struct rp__codes *c, const char *text, size_t n, bool more, struct rp__spans *spans,
                 size_t *open)
{
  int rc = 0;
  for (size_t i = 0; i < c->n_own && !rc; i++) {
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(c->own[i], c->memory);
    if (!data) return RP_E_NOMEM;
    for (size_t from = 0, to; from < n && !rc; from = to == n ? n : text[to] == '\n' ? to + 1 : to - OWN_PIECE_AGAIN) {
      const char *end = memchr(text + from, '\n', n - from);
      to = RP_MIN(end ? (size_t)(end - text) : n, from + OWN_PIECE);
      rc = own_piece(c, c->own[i], data, text, from, to, more && to == n, spans, open);
    }
    pcre2_match_data_free(data);
  }
  return rc;
}
