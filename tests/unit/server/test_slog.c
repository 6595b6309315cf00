/* SPDX-License-Identifier: Apache-2.0 */
/* The log: a line per event whatever is in it, readable by machines in both formats. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "json/json.h"
#include "server/log.h"

static char line[65536];

static void open_log(struct rp__slog *l, int fds[2], enum rp__slog_format format)
{
  assert_int_equal(pipe(fds), 0);
  rp__slog_init(l);
  l->fd = fds[1];
  l->format = format;
}

/* All that was written, as a string. */
static const char *close_log(struct rp__slog *l, int fds[2])
{
  size_t n = 0;
  close(fds[1]);
  for (ssize_t got; (got = read(fds[0], line + n, sizeof line - 1 - n)) > 0;) n += (size_t)got;
  line[n] = '\0';
  close(fds[0]);
  rp__slog_done(l);
  return line;
}

/* Behind the time, which must be one. */
static const char *after_time(const char *text)
{
  int64_t ms;
  assert_memory_equal(text, "time=", 5);
  size_t n = strcspn(text + 5, " ");
  assert_int_equal(rp__time_parse(text + 5, n, &ms), 0);
  return text + 5 + n;
}

static void logfmt_quotes_what_needs_it(void **state)
{
  struct rp__slog l;
  int fds[2];
  (void)state;
  open_log(&l, fds, RP_SLOG_LOGFMT);
  rp__slog(&l, RP_LOG_INFO, "listening", RP_F("address", "127.0.0.1:7377"), RP_FN("pid", -7), RP_F("absent", NULL),
           RP_F("empty", ""), RP_F("said", "a \"b\"\n=c\x1b[31m"),
           RP_F("csi", "\xc2\x9b"
                       "2J\x7f"),
           RP_F("latin", "\xe9"));
  assert_string_equal(after_time(close_log(&l, fds)),
                      " level=info event=listening address=127.0.0.1:7377 pid=-7 empty=\"\" "
                      "said=\"a \\\"b\\\"\\n=c\\u001b[31m\" csi=??2J? latin=\"\xef\xbf\xbd\"\n");
}

static void json_lines_are_json(void **state)
{
  struct rp__slog l;
  struct rp__json v;
  int fds[2];
  int64_t n;
  (void)state;
  open_log(&l, fds, RP_SLOG_JSON);
  rp__slog(&l, RP_LOG_WARN, "request", RP_F("path", "/a\"b\n\xff"), RP_FN("status", 404), RP_F("absent", NULL));
  const char *text = close_log(&l, fds);
  assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
  assert_int_equal(rp__json_parse(text, strlen(text), NULL, &v, NULL), 0);
  assert_true(rp__json_eq(rp__json_get(v, "level"), "warn"));
  assert_true(rp__json_eq(rp__json_get(v, "event"), "request"));
  assert_true(rp__json_eq(rp__json_get(v, "path"), "/a\"b\n\xef\xbf\xbd"));
  assert_true(rp__json_i64(rp__json_get(v, "status"), &n));
  assert_int_equal(n, 404);
  assert_int_equal(rp__json_get(v, "absent").type, RP_JSON_NONE);
}

/* However much there is to say, it is one line of bounded length that says at least what happened. */
static void long_values_are_cut(void **state)
{
  static const enum rp__slog_format formats[] = {RP_SLOG_LOGFMT, RP_SLOG_JSON};
  static char text[20000];
  struct rp__slog l;
  struct rp__json v;
  int fds[2];
  (void)state;
  for (size_t f = 0; f < 2; f++)
    for (int c = 1; c < 256; c += 127) { /* 6 bytes each once escaped; one; none of UTF-8 */
      memset(text, c, sizeof text - 1);
      open_log(&l, fds, formats[f]);
      rp__slog(&l, RP_LOG_ERROR, "long", RP_F("a", text), RP_F("b", text), RP_F("c", text), RP_F("d", text));
      const char *out = close_log(&l, fds);
      assert_in_range(strlen(out), 40, 8192);
      assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
      assert_non_null(strstr(out, "long"));
      assert_non_null(strstr(out, "…"));
      if (formats[f] == RP_SLOG_JSON) assert_int_equal(rp__json_parse(out, strlen(out), NULL, &v, NULL), 0);
    }
}

static void levels_hold(void **state)
{
  struct rp__slog l;
  int fds[2];
  (void)state;
  open_log(&l, fds, RP_SLOG_LOGFMT);
  l.level = RP_LOG_WARN;
  rp__slog(&l, RP_LOG_INFO, "hidden", RP_FN("n", 1));
  rp__slog_engine(&l, RP_LOG_DEBUG, "hidden too");
  rp__slog_engine(&l, RP_LOG_WARN, "a snapshot is damaged");
  rp__slog_write(&l, RP_LOG_ERROR, "bare", NULL);
  const char *text = after_time(close_log(&l, fds));
  assert_memory_equal(text, " level=warn event=engine message=\"a snapshot is damaged\"\n", 57);
  assert_string_equal(after_time(strchr(text, '\n') + 1), " level=error event=bare\n");
}

/* Nobody reads: that must not end or stop us. */
static void a_broken_pipe_is_survived(void **state)
{
  struct rp__slog l;
  int fds[2];
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  open_log(&l, fds, RP_SLOG_LOGFMT);
  close(fds[0]);
  rp__slog(&l, RP_LOG_ERROR, "unheard", RP_FN("n", 1));
  close(fds[1]);
  l.fd = -1;
  rp__slog(&l, RP_LOG_ERROR, "unheard", RP_FN("n", 2));
  rp__slog_done(&l);
}

/* ---- many at once ---- */

#define THREADS 6
#define LINES 400

struct scribe {
  struct rp__slog *l;
  int number;
};

static void *scribble(void *arg)
{
  const struct scribe *s = arg;
  char text[1001];
  memset(text, 'x', sizeof text - 1);
  for (int i = 0; i < LINES; i++) {
    text[i % 100 == 7 ? 1000 : 20] = '\0'; /* a long line now and then: four of them are more than may wait */
    rp__slog(s->l, RP_LOG_INFO, "said", RP_FN("who", s->number), RP_FN("i", i), RP_F("a", text), RP_F("b", text),
             RP_F("c", text), RP_F("d", text), RP_F("e", text), RP_F("end", "yes"));
    text[20] = 'x';
  }
  return NULL;
}

/* Every line comes out once, whole, and in the order of whoever said it. */
static void lines_of_many_threads_stay_whole(void **state)
{
  struct rp__slog l;
  struct scribe s[THREADS];
  pthread_t threads[THREADS];
  int fds[2], next[THREADS] = {0}, who, i;
  static char row[16384];
  (void)state;
  open_log(&l, fds, RP_SLOG_LOGFMT);
  for (int t = 0; t < THREADS; t++) {
    s[t] = (struct scribe){&l, t};
    assert_int_equal(pthread_create(&threads[t], NULL, scribble, &s[t]), 0);
  }
  FILE *f = fdopen(fds[0], "r");
  for (int n = 0; n < THREADS * LINES; n++) {
    assert_non_null(fgets(row, sizeof row, f));
    assert_int_equal(sscanf(after_time(row), " level=info event=said who=%d i=%d", &who, &i), 2);
    assert_in_range(who, 0, THREADS - 1);
    assert_int_equal(i, next[who]++);
    assert_string_equal(row + strlen(row) - sizeof " end=yes", " end=yes\n");
  }
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  close(fds[1]);
  assert_null(fgets(row, sizeof row, f));
  fclose(f);
  rp__slog_done(&l);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logfmt_quotes_what_needs_it), cmocka_unit_test(json_lines_are_json),
      cmocka_unit_test(long_values_are_cut),         cmocka_unit_test(levels_hold),
      cmocka_unit_test(a_broken_pipe_is_survived),   cmocka_unit_test(lines_of_many_threads_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
