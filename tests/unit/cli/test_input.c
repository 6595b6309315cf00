/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a batch from a pipe, in any pieces. */
#include "cli_test.h"

#include <fcntl.h>

#include "cli/batch/batch.h"

struct pipe_input {
  struct rp__input in;
  int to;
};

static void pipe_open(struct pipe_input *p, size_t line_max)
{
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  p->in = (struct rp__input){.fd = ends[0], .line_max = line_max};
  p->to = ends[1];
}

static void pipe_close(struct pipe_input *p)
{
  if (p->to >= 0) close(p->to);
  close(p->in.fd);
  rp__input_done(&p->in);
}

static void feed(struct pipe_input *p, const char *text)
{
  assert_int_equal(write(p->to, text, strlen(text)), strlen(text));
  assert_int_equal(rp__input_fill(&p->in, NULL), 0);
}

static void end(struct pipe_input *p)
{
  close(p->to);
  p->to = -1;
  assert_int_equal(rp__input_fill(&p->in, NULL), 0);
  assert_true(p->in.ended);
}

static void expect_line(struct pipe_input *p, const char *text, int64_t number)
{
  struct rp__str line;
  assert_true(rp__input_next(&p->in, &line));
  if (text)
    assert_true(line.p && rp__str_eq(line, text));
  else
    assert_null(line.p);
  assert_int_equal(p->in.line, number);
}

static void expect_none(struct pipe_input *p)
{
  struct rp__str line;
  assert_false(rp__input_next(&p->in, &line));
}

static void lines_come_whole(void **state)
{
  (void)state;
  struct pipe_input p;
  pipe_open(&p, 100);
  expect_none(&p);
  feed(&p, "one\ntw");
  expect_line(&p, "one", 1);
  expect_none(&p);
  feed(&p, "o\n\nlast");
  expect_line(&p, "two", 2);
  expect_line(&p, "", 3);
  expect_none(&p);
  end(&p);
  expect_line(&p, "last", 4);
  expect_none(&p);
  assert_int_equal(p.in.start, p.in.buf.n);
  pipe_close(&p);
}

static void nothing_yet_is_no_end(void **state)
{
  (void)state;
  struct pipe_input p;
  pipe_open(&p, 100);
  assert_int_equal(rp__input_fill(&p.in, NULL), 0);
  assert_false(p.in.ended);
  pipe_close(&p);
}

static void long_lines_are_told_once(void **state)
{
  (void)state;
  struct pipe_input p;
  pipe_open(&p, 8);
  feed(&p, "123456789\n12345678\n");
  expect_line(&p, NULL, 1);
  expect_line(&p, "12345678", 2);
  feed(&p, "1234567890");
  expect_line(&p, NULL, 3);
  expect_none(&p);
  feed(&p, "1234567890");
  expect_none(&p);
  feed(&p, "12\nok\n");
  expect_line(&p, "ok", 4);
  feed(&p, "1234567890");
  expect_line(&p, NULL, 5);
  end(&p);
  expect_none(&p);
  pipe_close(&p);
}

static void a_line_can_come_again(void **state)
{
  (void)state;
  struct pipe_input p;
  struct rp__str line;
  pipe_open(&p, 100);
  feed(&p, "one\ntwo\n");
  expect_line(&p, "one", 1);
  assert_true(rp__input_next(&p.in, &line));
  rp__input_unread(&p.in, line);
  feed(&p, "three\n");
  expect_line(&p, "two", 2);
  expect_line(&p, "three", 3);
  end(&p);
  pipe_close(&p);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_come_whole),
      cmocka_unit_test(nothing_yet_is_no_end),
      cmocka_unit_test(long_lines_are_told_once),
      cmocka_unit_test(a_line_can_come_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
