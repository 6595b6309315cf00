/* SPDX-License-Identifier: Apache-2.0 */
/* L-12: a transcript that a person reads, with the timeline of notes and frames. */
#include "format_test.h"

static struct book b;
static rp_error err;

static void add(const char *kind, int64_t at, const char *body)
{
  struct rp__taker t = book_taker(&b);
  struct rp__event ev = {.at_ms = at, .kind_name = kind, .body = rp__json_trusted(body, strlen(body))};
  assert_int_equal(t.event(&b, &ev, &err), 0);
}

static void begin(void)
{
  struct rp__taker t = book_taker(&b);
  struct rp__foreign f = {.id = "0197-md", .created_at = 1767323045000, .ended_at = 1767328145000};
  f.last_activity_at = f.ended_at;
  assert_int_equal(t.begin(&b, &f, &err), 0);
}

static void a_whole_transcript(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  begin();
  add("session", 1767323045000, "{\"name\":\"Kitchen <talk>\"}");
  add("message", 1767323046000, "{\"role\":\"user\",\"content\":\"What is \\u001b[31mred?\"}");
  add("tool", 1767323047000,
      "{\"call_id\":\"c\",\"name\":\"look\",\"status\":\"running\",\"input\":{\"at\":\"the ``` sky\"}}");
  add("tool", 1767323048000, "{\"call_id\":\"c\",\"name\":\"look\",\"status\":\"done\",\"output\":\"blue\"}");
  add("tool", 1767323049000, "{\"call_id\":\"d\",\"name\":\"hang\",\"status\":\"running\"}");
  add("message", 1767323050000, "{\"role\":\"assistant\",\"content\":\"It \",\"message_id\":\"m\",\"partial\":true}");
  add("message", 1767323051000, "{\"role\":\"assistant\",\"content\":\"is blue.\",\"message_id\":\"m\"}");
  add("note", 1767323052000,
      "{\"id\":\"n1\",\"text\":\"two\\nlines\",\"category\":\"insight\",\"confidence\":0.9,\"timestamp\":65.5}");
  add("frame", 1767323053000, "{\"frame_id\":7,\"timestamp\":66}");
  add("transcript", 1767323054000, "{\"text\":\"half a\",\"final\":false}");
  add("transcript", 1767323055000, "{\"text\":\"half a sentence\",\"final\":true}");
  add("pin", 1767323056000, "{\"label\":\"goal\",\"content\":\"ship\",\"importance\":\"critical\"}");
  add("task", 1767323057000, "{\"task_id\":\"t-1\",\"title\":\"Paint\",\"stage\":\"build\"}");
  add("task", 1767323058000, "{\"task_id\":\"t-2\",\"title\":\"Wash\",\"stage\":\"done\",\"status\":\"done\"}");
  add("usage", 1767323059000, "{\"tokens_in\":10,\"tokens_out\":20,\"cost_usd\":0.25}");
  add("message", 1767400000000,
      "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"later\"},{\"type\":\"image\"}]}");
  assert_int_equal(book_export(&b, 0, "markdown", &out, &err), 0);
  HAS(out.p, "# Kitchen &lt;talk>\n");
  HAS(out.p, "- **When:** 2 January 2026, 03:04:05 to 04:29:05 UTC (1 h 25 min)\n");
  HAS(out.p, "- **Who:** user and assistant (3 messages)\n");
  HAS(out.p, "- **Cost:** $0.2500, 10 tokens in, 20 out\n");
  HAS(out.p, "### 2 January 2026\n\n**User** · 03:04:06\n\nWhat is [31mred?\n\n");
  HAS(out.p, "<details><summary>Tool <code>look</code> · done · 03:04:08</summary>\n\nInput\n\n````json\n");
  HAS(out.p, "Output\n\n```\nblue\n```\n\n</details>\n");
  HAS(out.p, "**Assistant** · 03:04:10\n\nIt is blue.\n\n");
  HAS(out.p, "### 3 January 2026\n\n**User** · 00:26:40\n\nlater\n[image]\n\n");
  HAS(out.p, "<code>hang</code> · nobody knows how it ended");
  HAS(out.p, "- 03:04:12 (01:05.5) **insight** two lines _(confidence 0.90)_\n- 03:04:13 (01:06.0) frame `7`\n");
  HAS(out.p, "- 03:04:15 heard: half a sentence\n");
  HAS_NOT(out.p, "heard: half a\n");
  HAS(out.p, "- **goal** (critical): ship\n");
  HAS(out.p, "- [ ] Paint (`t-1`, build)\n- [x] Wash (`t-2`, done)\n");
  HAS_NOT(out.p, "\x1b");
  book_clear(&b);
}

/* As in the state: without a message_id the same role goes on after a chunk, until one that is whole. */
static void chunks_without_a_name(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  begin();
  add("message", 1767323046000, "{\"role\":\"assistant\",\"content\":\"one \",\"partial\":true}");
  add("message", 1767323047000, "{\"role\":\"assistant\",\"content\":\"two \",\"partial\":true}");
  add("message", 1767323048000, "{\"role\":\"assistant\",\"content\":\"three\"}");
  add("message", 1767323049000, "{\"role\":\"assistant\",\"content\":\"four\"}");
  add("message", 1767323050000, "{\"role\":\"user\",\"content\":\"five\",\"partial\":true}");
  add("message", 1767323051000, "{\"role\":\"user\",\"content\":\"six\",\"message_id\":\"m\",\"partial\":true}");
  assert_int_equal(book_export(&b, 0, "markdown", &out, &err), 0);
  HAS(out.p, "(4 messages)");
  HAS(out.p, "**Assistant** · 03:04:06\n\none two three\n\n**Assistant** · 03:04:09\n\nfour\n\n");
  HAS(out.p, "**User** · 03:04:10\n\nfive\n\n**User** · 03:04:11\n\nsix\n\n");
  book_clear(&b);
}

static void a_whole_message_is_told_once(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  begin();
  add("message", 1767323046000, "{\"role\":\"assistant\",\"content\":\"Behi\",\"message_id\":\"m\",\"partial\":true}");
  add("message", 1767323047000, "{\"role\":\"user\",\"content\":\"Well?\",\"message_id\":\"m\"}");
  add("message", 1767323048000, "{\"role\":\"assistant\",\"content\":\"\",\"message_id\":\"m\"}");
  add("message", 1767323049000,
      "{\"role\":\"assistant\",\"content\":\"Behind it.\",\"message_id\":\"m\",\"whole\":true}");
  assert_int_equal(book_export(&b, 0, "markdown", &out, &err), 0);
  HAS(out.p, "(2 messages)");
  HAS(out.p, "**User** · 03:04:07\n\nWell?\n\n**Assistant** · 03:04:09\n\nBehind it.\n\n");
  HAS_NOT(out.p, "Behi\n");
  rp__buf_reset(&out);
  assert_int_equal(book_export(&b, 0, "clawd", &out, &err), 0);
  HAS(out.p, "\"Behind it.\"");
  HAS_NOT(out.p, "\"Behi\"");
  book_clear(&b);
}

static void an_empty_session(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  begin();
  assert_int_equal(book_export(&b, 0, "markdown", &out, &err), 0);
  HAS(out.p, "# Session 0197-md\n");
  HAS_NOT(out.p, "Timeline");
  HAS_NOT(out.p, "Cost");
  book_clear(&b);
}

static int refuse_third(void *ctx, const void *bytes, size_t n)
{
  (void)bytes, (void)n;
  return ++*(int *)ctx == 3;
}

/* A long session goes out in pieces, and a writer that stops stops it. */
static void long_ones_are_streamed(void **state)
{
  (void)state;
  struct rp__buf text RP_AUTOBUF = RP_BUF(1 << 20);
  struct rp__giver g;
  int calls = 0;
  begin();
  rp__buf_str(&text, "{\"role\":\"user\",\"content\":\"");
  for (int i = 0; i < 40000; i++) rp__buf_char(&text, 'x');
  rp__buf_str(&text, "\"}");
  for (int i = 0; i < 20; i++) add("message", 1767323046000, text.p);
  assert_int_equal(book_giver(&b, 0, &g, &err), 0);
  g.write = refuse_third;
  g.write_ctx = &calls;
  assert_int_equal(rp__format_markdown.export(&g, &err), RP_E_IO);
  assert_int_equal(calls, 3);
  book_clear(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_transcript),           cmocka_unit_test(chunks_without_a_name),
      cmocka_unit_test(a_whole_message_is_told_once), cmocka_unit_test(an_empty_session),
      cmocka_unit_test(long_ones_are_streamed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
