/* SPDX-License-Identifier: Apache-2.0 */
/* Words and pairs of words, and their weights. */
#include "facets_test.h"

#include "facets/words.h"

static struct rp__json topics_of(const struct rp__fold *f, struct rp__buf *out)
{
  show(f, out);
  return rp__json_get(parsed(out), "topics");
}

/* The place of a topic, from 1; 0: it is none. */
static int place(const struct rp__fold *f, const char *topic)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  struct rp__json topics = topics_of(f, &out), t;
  struct rp__json_iter it = {0};
  for (int i = 1; rp__json_next(topics, &it, NULL, &t); i++)
    if (rp__json_eq(t, topic)) return i;
  return 0;
}

static void say(struct rp__fold *f, const char *text)
{
  char body[500];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  tell(f, RP_KIND_MESSAGE, body);
}

static void assert_words_as(const char *text, bool names, const char *expected)
{
  RP_AUTOBUF struct rp__buf got = RP_BUF(10000);
  struct rp__words in = rp__words(rp__str(text));
  struct rp__word w;
  in.names = names;
  rp__buf_str(&got, "");
  while (rp__words_next(&in, &w)) {
    rp__buf_str(&got, got.n == 0 ? "" : w.follows ? "+" : " ");
    rp__buf_add(&got, w.text, w.n);
  }
  rp__buf_char(&got, '.');
  if (strncmp(got.p, expected, got.n - 1) != 0 || got.n - 1 != strlen(expected)) fail_msg("%s: %s", text, got.p);
}

static void assert_words(const char *text, const char *expected)
{
  assert_words_as(text, false, expected);
}

/* Of what is said: a file's name is one word; folders of paths, addresses and tags are none. */
static void what_names_are(void **state)
{
  (void)state;
  assert_words_as("fly.toml, Editor.test.tsx.", true, "fly.toml editor.test.tsx");
  assert_words_as("the engine.It stalls in v1.2.3 of node.js!", true, "engine stalls v1 node.js");
  assert_words_as("/srv/u/antenna/rotor.c src/antenna/rotor.c", true, "rotor.c+src rotor.c");
  assert_words_as("see https://radio.example/login?x=antenna now <span rotor</span>", true, "rotor");
  assert_words_as("fly.toml", false, "fly toml");
}

/* Scripts without spaces: Han and Katakana between Hiragana are words of Japanese, and nothing tells one of Chinese. */
static void words_of_scripts_without_spaces(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 3; i++) {
    say(f, "\u81ea\u52d5\u4fdd\u5b58\u3092\u30d7\u30ec\u30d3\u30e5\u30fc\u306b\u3002");
    say(f, "\u6211\u7684\u5b66\u5458\uff0c\u4e2a\u6587\u4ef6 CueTrace\u914d\u7f6e");
  }
  assert_true(place(f, "\xe8\x87\xaa\xe5\x8b\x95\xe4\xbf\x9d\xe5\xad\x98") > 0);
  assert_true(place(f, "\xe3\x83\x97\xe3\x83\xac\xe3\x83\x93\xe3\x83\xa5\xe3\x83\xbc") > 0);
  assert_true(place(f, "CueTrace") > 0);
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  assert_int_equal(rp__json_count(topics_of(f, &out)), 3);
  assert_sound(f);
}

/* Words of no language's sentences, nor of every project, are topics; beside another word the latter may be. */
static void general_words_are_no_topics(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 3; i++) {
    say(f, "Please fix the error in the file with the antenna button.");
    say(f, "Bitte die Datei mit dem Rotor noch einmal pr\u00fcfen.");
    say(f, "El archivo con los botones para la brujula, por favor.");
    say(f, "\u041f\u0440\u043e\u0432\u0435\u0440\u044c \u0444\u0430\u0439\u043b, "
           "\u043a\u043e\u043c\u043f\u0430\u0441\u0430");
  }
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  struct rp__json topics = topics_of(f, &out);
  rp__buf_add(&text, topics.p, topics.n);
  assert_string_equal(text.p, "[\"rotor\",\"brujula\","
                              "\"\xd0\xba\xd0\xbe\xd0\xbc\xd0\xbf\xd0\xb0\xd1\x81\xd0\xb0\",\"antenna button\"]");
}

/* What a program printed, code, tables and markup tell nothing of what is wanted. */
static void pasted_lines_are_no_topics(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 3; i++)
    say(f,
        "rotor\\n    at turnLeft (/srv/gear.js:12:5) spindle\\n2026-01-02 10:00:00 boiler spindle lost\\n"
        "```\\nint flywheel(void)\\n```\\n| chimney | gauge |\\n<div id=\\\"x\\\">piston</div>\\nlet crank = wheel();");
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  struct rp__json topics = topics_of(f, &out);
  rp__buf_add(&text, topics.p, topics.n);
  assert_string_equal(text.p, "[\"rotor\"]");
  assert_int_equal(place(f, "spindle") + place(f, "turnLeft") + place(f, "boiler") + place(f, "flywheel"), 0);
  assert_int_equal(place(f, "chimney") + place(f, "piston") + place(f, "crank"), 0);
}

/* Identifiers and names of files count more than words, in their own case. */
static void names_count_more(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  say(f, "antenna, CollaborativeEditor");
  say(f, "antenna, user_id, COLLABORATIVEEDITOR");
  say(f, "user_id");
  tell(f, RP_KIND_TOOL,
       "{\"call_id\":\"1\",\"name\":\"Edit\",\"status\":\"intended\",\"input\":{\"file_path\":\"/srv/u/rotor/src/"
       "fly.toml\"}}");
  tell(f, RP_KIND_TOOL,
       "{\"call_id\":\"2\",\"name\":\"Edit\",\"status\":\"intended\",\"input\":{\"file_path\":\"/srv/u/index.html\"}}");
  assert_int_equal(place(f, "CollaborativeEditor"), 1);
  assert_int_equal(place(f, "user_id"), 2);
  assert_int_equal(place(f, "antenna"), 3);
  assert_int_equal(place(f, "fly.toml"), 4);
  assert_int_equal(place(f, "index.html") + place(f, "edit"), 0);
  assert_sound(f);
}

/* A phrase or a compound name takes the place of its words, a plural that of its singular or the other way round. */
static void what_contains_a_word_absorbs_it(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 4; i++) say(f, "orphaned beacons, lbf-ham-radio, radio, beacon");
  assert_true(place(f, "orphaned beacons") > 0);
  assert_true(place(f, "lbf-ham-radio") > 0);
  assert_int_equal(place(f, "orphaned") + place(f, "beacons") + place(f, "radio"), 0);
}

/* A + stands where two words make a phrase. */
static void what_words_are(void **state)
{
  (void)state;
  assert_words("", "");
  assert_words("Ham Radio", "ham+radio");
  assert_words("ham, radio", "ham radio");
  assert_words("ham and radio", "ham radio");
  assert_words("ham\\tradio\nline", "ham tradio line");
  assert_words("the FT991A, an sdr or a v2", "ft991a sdr v2");
  assert_words("ab 12 345 6_7 c3 2026-01-02", "c3");
  assert_words("lbf-ham-radio --flag _private_ -- ___ snake_case", "lbf-ham-radio+flag+private snake_case");
  assert_words("don't we'll it's the agent's radio\xe2\x80\x99s knob", "agent+radio+knob");
  assert_words("d1e2a3f4b5c6 deadbeefcafe deadbeef99 3f786850e387550fdab836ed7e6dc881de23001b",
               "deadbeefcafe+deadbeef99");
  assert_words("\xc3\x9c"
               "BERGANG caf\xc3\xa9 \xd0\x9c\xd0\x98\xd0\xa0 \xce\xa9\xce\x9c\xce\x95\xce\x93\xce\x91",
               "\xc3\xbc"
               "bergang+caf\xc3\xa9+\xd0\xbc\xd0\xb8\xd1\x80+\xcf\x89\xce\xbc\xce\xb5\xce\xb3\xce\xb1");
  assert_words("\xe6\x97\xa5\xe6\x9c\xac \xe6\x97\xa5 abc\xe2\x80\x94"
               "def \xf0\x9f\x98\x80ghi\xef\xbc\x8cjkl",
               "\xe6\x97\xa5\xe6\x9c\xac abc def ghi jkl");
  assert_words("bad \xff\xfe bytes\xc3", "bad bytes");
  assert_words("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
  assert_words("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx after all", "");
  assert_words("yxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa9 tail", "tail");
}

/* the seed's own test. */
static void a_session_on_ham_radio(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_ACTIVITY, "{\"tool\":\"exec\",\"workdir\":\"/srv/u/Projects/lbf-ham-radio\",\"text\":\"run tests\"}");
  say(f, "Why does the FT991A not answer on the serial port?");
  say(f, "The ft991a speaks CAT, as most ham radio transceivers do.");
  tell(f, RP_KIND_TOOL,
       "{\"call_id\":\"1\",\"name\":\"exec\",\"status\":\"done\","
       "\"input\":{\"cwd\":\"/srv/u/Projects/lbf-ham-radio/src\"}}");
  assert_int_equal(place(f, "lbf-ham-radio"), 1);
  assert_true(place(f, "ft991a") > 0);
  assert_true(place(f, "ham radio") > 0);
  assert_int_equal(place(f, "ham") + place(f, "radio") + place(f, "the"), 0);
  assert_true(rp__json_count(topics_of(f, &out)) <= 20);
  assert_sound(f);
}

/* */
static void weights(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  say(f, "said once; gamma, gamma, gamma, gamma");
  tell(f, RP_KIND_ACTIVITY, "{\"text\":\"delta\",\"tool\":\"wrench\",\"categories\":[\"Signal Theory\",5]}");
  tell(f, RP_KIND_LEARNING, "{\"memory_id\":\"m\",\"content\":\"omitted\",\"categories\":[\"signal theory\"]}");
  tell(f, RP_KIND_PROJECT, "{\"name\":\"apollo\"}");
  tell(f, RP_KIND_PIN, "{\"label\":\"Launch Window [inherited from s @ t]\",\"content\":\"epsilon zeta\"}");
  struct rp__json topics = topics_of(f, &out);
  rp__buf_add(&text, topics.p, topics.n);
  /* A message says a word three times at most. */
  assert_string_equal(text.p,
                      "[\"gamma\",\"signal theory\",\"launch window\",\"apollo\",\"delta\",\"epsilon\",\"zeta\"]");
  assert_sound(f);
  /* Phrases count from the second time on. */
  assert_int_equal(place(f, "epsilon zeta"), 0);
  say(f, "epsilon zeta");
  assert_true(place(f, "epsilon zeta") > 0);
}

static void tools_are_no_topic(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 100; i++) tell(f, RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"wrench\",\"status\":\"running\"}");
  say(f, "antenna");
  assert_int_equal(place(f, "antenna"), 1);
  assert_int_equal(place(f, "wrench"), 0);
  /* What tools print and what the system says is nobody's topic. */
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"tool\",\"content\":\"spindle\"}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"system\",\"content\":\"gauge\"}");
  assert_int_equal(place(f, "spindle") + place(f, "gauge"), 0);
}

static void inherited_pins_count(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_RESTORED, "{\"pins\":[{\"label\":\"beacon\",\"content\":\"keyer\"},7]}");
  assert_int_equal(place(f, "beacon"), 1);
  assert_int_equal(place(f, "keyer"), 2);
}

/* Fresh words come and go; what is said again and again, and what was named on purpose, stays. */
static void the_table_is_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_PIN, "{\"label\":\"lighthouse\",\"content\":\"x\"}");
  for (int i = 0; i < 5000; i++) {
    char text[100];
    snprintf(text, sizeof text, "word%da word%db, word%dc%s", i, i, i, i % 50 == 0 ? "; volcano" : "");
    say(f, text);
  }
  assert_true(place(f, "volcano") > 0);
  assert_true(place(f, "lighthouse") > 0);
  save(f, &out);
  size_t terms = rp__json_count(rp__json_get(rp__json_get(parsed(&out), "facets"), "topics"));
  assert_in_range(terms, 192, 256);
  assert_sound(f);
}

static void even_names_give_way(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 3000; i++) {
    char body[100];
    snprintf(body, sizeof body, "{\"label\":\"label%d\",\"content\":\"\"}", i);
    tell(f, RP_KIND_PIN, body);
    if (i % 100 == 0) tell(f, RP_KIND_PROJECT, "{\"name\":\"mainstay\"}");
    if (i % 500 == 0) assert_sound(f);
  }
  assert_int_equal(place(f, "mainstay"), 1);
  assert_int_equal(place(f, "label0"), 0);
  assert_sound(f);
}

static void long_words_keep_the_bound(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  for (int i = 0; i < 600; i++) {
    char body[200];
    snprintf(body, sizeof body, "{\"name\":\"x%047d\"}", i);
    tell(f, RP_KIND_PROJECT, body);
  }
  assert_sound(f);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "{}",
      "[5]",
      "[[]]",
      "[[\"abc\",1]]",
      "[[\"abc\",1,0,0]]",
      "[[5,1,0]]",
      "[[\"\",1,0]]",
      "[[\"abc\",0,0]]",
      "[[\"abc\",-1,5]]",
      "[[\"abc\",4294967296,0]]",
      "[[\"a\\u0062c\",1,0]]",
      "[[\"abc\",1,0],[\"abc\",2,0]]",
      "[[\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",1,0]]",
  };
  rp_error err;
  assert_int_equal(load_part("topics", "[[\"abc\",0,4294967295],[\"abc def\",4294967295,4294967295]]", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("topics", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_string_equal(err.field, "topics");
  }
}

/* An older version kept twice as many terms: the lightest give way. */
static void loads_more_than_there_is_room_for(void **state)
{
  (void)state;
  rp_error err;
  RP_AUTOBUF struct rp__buf part = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 512; i++) rp__buf_printf(&part, "%s[\"w%d\",%d,0]", i ? "," : "[", i, i == 3 ? 90 : 1);
  rp__buf_char(&part, ']');
  assert_int_equal(load_part("topics", part.p, &err), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_words_are),
      cmocka_unit_test(a_session_on_ham_radio),
      cmocka_unit_test(weights),
      cmocka_unit_test(tools_are_no_topic),
      cmocka_unit_test(what_names_are),
      cmocka_unit_test(words_of_scripts_without_spaces),
      cmocka_unit_test(general_words_are_no_topics),
      cmocka_unit_test(pasted_lines_are_no_topics),
      cmocka_unit_test(names_count_more),
      cmocka_unit_test(what_contains_a_word_absorbs_it),
      cmocka_unit_test(inherited_pins_count),
      cmocka_unit_test(the_table_is_bounded),
      cmocka_unit_test(even_names_give_way),
      cmocka_unit_test(long_words_keep_the_bound),
      cmocka_unit_test(refuses_damaged_snapshots),
      cmocka_unit_test(loads_more_than_there_is_room_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
