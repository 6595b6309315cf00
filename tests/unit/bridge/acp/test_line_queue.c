/* SPDX-License-Identifier: Apache-2.0 */
/* Lines leave in the order in which they came, none before what it waits for (O-05, P-01). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "bridge/acp/wire/wire.h"
#include "lib/dice.h"

static void collect(void *ctx, const char *line, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, line, n);
  rp__buf_char(out, '|');
}

static struct rp__queued_line *add(struct rp__line_queue *f, const char *line, unsigned waits)
{
  struct rp__queued_line *item = rp__line_queue_add(f, line, strlen(line), waits);
  assert_non_null(item);
  return item;
}

static void a_line_waits_for_all_it_needs_and_for_those_before_it(void **state)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(4096);
  RP_CLEANUP(rp__line_queue_done) struct rp__line_queue f;
  (void)state;
  rp__line_queue_init(&f, collect, &out);
  assert_true(rp__line_queue_empty(&f));
  add(&f, "at once", 0);
  assert_string_equal(out.p, "at once|");
  struct rp__queued_line *a = add(&f, "a", 2), *b = add(&f, "b", 1);
  add(&f, "c", 0);
  struct rp__queued_line *d = add(&f, "d", 1);
  assert_int_equal(f.count, 4);
  assert_int_equal(f.bytes, 4);
  rp__line_queue_ready(&f, b);
  rp__line_queue_ready(&f, a);
  assert_string_equal(out.p, "at once|");
  assert_false(rp__line_queue_empty(&f));
  rp__line_queue_ready(&f, a);
  assert_string_equal(out.p, "at once|a|b|c|");
  rp__line_queue_ready(&f, d);
  assert_string_equal(out.p, "at once|a|b|c|d|");
  assert_true(rp__line_queue_empty(&f));
  assert_int_equal(f.bytes, 0);
  add(&f, "e", 0);
  assert_string_equal(out.p, "at once|a|b|c|d|e|");
}

static void the_bytes_are_copied(void **state)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(4096);
  RP_CLEANUP(rp__line_queue_done) struct rp__line_queue f;
  char line[] = "mine";
  (void)state;
  rp__line_queue_init(&f, collect, &out);
  struct rp__queued_line *item = rp__line_queue_add(&f, line, 4, 1);
  struct rp__queued_line *empty = rp__line_queue_add(&f, NULL, 0, 1);
  memset(line, 'x', 4);
  rp__line_queue_ready(&f, item);
  rp__line_queue_ready(&f, empty);
  assert_string_equal(out.p, "mine||");
}

static void it_says_when_it_is_full(void **state)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_LINE_QUEUE_LINES * 3);
  struct rp__line_queue f;
  (void)state;
  rp__line_queue_init(&f, collect, &out);
  struct rp__queued_line *first = add(&f, "0", 1);
  for (int i = 1; i < RP_LINE_QUEUE_LINES; i++) {
    assert_false(rp__line_queue_full(&f));
    add(&f, "1", 0);
  }
  assert_true(rp__line_queue_full(&f));
  rp__line_queue_ready(&f, first);
  assert_false(rp__line_queue_full(&f));
  assert_int_equal(out.n, RP_LINE_QUEUE_LINES * 2);
  char *big = calloc(1, RP_LINE_QUEUE_BYTES);
  assert_non_null(big);
  assert_non_null(rp__line_queue_add(&f, big, RP_LINE_QUEUE_BYTES, 1));
  assert_true(rp__line_queue_full(&f));
  free(big);
  rp__line_queue_done(&f); /* with a line in it */
}

/* Readiness in any order: the lines come in theirs. */
static void any_order_of_readiness_gives_one_order_of_lines(void **state)
{
  enum { N = 40 };
  struct dice d = dice_new();
  (void)state;
  for (int round = 0; round < 200; round++) {
    RP_AUTOBUF struct rp__buf out = RP_BUF(4096), want = RP_BUF(4096);
    RP_CLEANUP(rp__line_queue_done) struct rp__line_queue f;
    struct rp__queued_line *due[N * 3];
    size_t n_due = 0;
    rp__line_queue_init(&f, collect, &out);
    for (int i = 0; i < N; i++) {
      char line[16];
      unsigned waits = (unsigned)dice_below(&d, 4);
      snprintf(line, sizeof(line), "%d", i);
      rp__buf_printf(&want, "%d|", i);
      struct rp__queued_line *item = add(&f, line, waits);
      while (waits--) due[n_due++] = item;
    }
    while (n_due) {
      size_t k = (size_t)dice_below(&d, (int64_t)n_due);
      rp__line_queue_ready(&f, due[k]);
      due[k] = due[--n_due];
      if (out.n) assert_memory_equal(out.p, want.p, out.n);
    }
    assert_string_equal(out.p, want.p);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_waits_for_all_it_needs_and_for_those_before_it),
      cmocka_unit_test(the_bytes_are_copied),
      cmocka_unit_test(it_says_when_it_is_full),
      cmocka_unit_test(any_order_of_readiness_gives_one_order_of_lines),
  };
  return cmocka_run_group_tests_name("bridge flow", tests, NULL, NULL);
}
