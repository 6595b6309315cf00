/* SPDX-License-Identifier: Apache-2.0 */
/* Pins, tasks and memories of the sessions that come back. */
#include "continuity_test.h"

#define PIN(label, content) "{\"label\":\"" label "\",\"content\":\"" content "\"}"
#define PINS(...) "{\"working_memory\":[" __VA_ARGS__ "]}"

static const char five[] =
    PINS(PIN("p1", "1") "," PIN("p2", "2") "," PIN("p3", "3") "," PIN("p4", "4") "," PIN("p5", "5"));

static size_t taken(const struct rp__plan *p)
{
  size_t n, count = 0;
  const struct rp__pin_choice *c = rp__plan_pins(p, &n);
  for (size_t i = 0; i < n; i++) {
    count += c[i].taken;
    assert_true(c[i].taken == (strcmp(c[i].verdict, "inherited") == 0));
    assert_true(c[i].reason[0] != '\0');
    if (c[i].taken) assert_true(i + 1 == count); /* taken ones first */
  }
  return count;
}

static const struct rp__pin_choice *pin_of(const struct rp__plan *p, const char *label, const char *from)
{
  size_t n;
  const struct rp__pin_choice *c = rp__plan_pins(p, &n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(c[i].label, label) == 0 && strcmp(c[i].from->session_id, from) == 0) return &c[i];
  fail_msg("no choice for %s of %s", label, from);
  return NULL;
}

/* ---- pins ---- */

/* 8 present and 5 offered leave room for 2; at most max_inherited_pins */
static void slots_and_limits(void **state)
{
  (void)state;
  static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  static const struct {
    size_t present;
    int max;
    size_t taken;
    const char *verdict; /* of the last one */
  } table[] = {{0, 5, 5, "inherited"},     {8, 5, 2, "no_free_slot"}, {10, 5, 0, "no_free_slot"},
               {11, 5, 0, "no_free_slot"}, {0, 3, 3, "beyond_limit"}, {0, 0, 0, "beyond_limit"}};
  const struct earlier e[] = {{"a", 24, 0, false, NULL, five}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    struct rp__rules rules = plain_rules;
    struct rp__plan_sources s = {.labels = labels, .n_labels = table[i].present};
    rules.max_pins = table[i].max;
    AUTOPLAN struct rp__plan *p = plan_of(&rules, NULL, e, 1, &s);
    size_t n;
    const struct rp__pin_choice *c = rp__plan_pins(p, &n);
    assert_int_equal(n, 5);
    assert_int_equal(taken(p), table[i].taken);
    assert_string_equal(c[n - 1].verdict, table[i].verdict);
  }
}

/* a label that is present wins, compared without the provenance in it */
static void present_labels_win(void **state)
{
  (void)state;
  static const char *const labels[] = {"plan [inherited from s0 @ 2026-01-01T00:00:00.000Z]"};
  const struct earlier e[] = {{"a", 24, 0, false, NULL, PINS(PIN("plan", "old") "," PIN("only", "x"))}};
  struct rp__plan_sources s = {.labels = labels, .n_labels = 1};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 1, &s);
  assert_int_equal(taken(p), 1);
  assert_string_equal(pin_of(p, "plan", "a")->verdict, "label_present");
  assert_true(pin_of(p, "only", "a")->taken);
}

/* who may give what */
static void which_sessions_give_pins(void **state)
{
  (void)state;
  struct rp__rules rules = plain_rules;
  rules.max_sessions = 3;
  const struct earlier e[] = {
      {"recent", 50, 0, false, NULL, PINS(PIN("r", "x"))},                          /* .28: the most recent one */
      {"high", 60, 4, false, NULL, PINS(PIN("h", "x"))},                            /* .507 */
      {"low", 55, 0, false, NULL, PINS(PIN("l", "x") "," PIN("lc", "CRITICAL x"))}, /* .269 */
      {"old", 167, 0, true, NULL, PINS(PIN("oc CRITICAL", "x") "," PIN("o", "x"))}, /* not restored */
      {"older", 169, 0, true, NULL, PINS(PIN("too late", "CRITICAL"))},
  };
  AUTOPLAN struct rp__plan *p = plan_of(&rules, NULL, e, 5, NULL);
  assert_string_equal(pin_of(p, "r", "recent")->verdict, "inherited");
  assert_string_equal(pin_of(p, "h", "high")->verdict, "inherited");
  assert_string_equal(pin_of(p, "l", "low")->verdict, "below_threshold");
  assert_string_equal(pin_of(p, "lc", "low")->verdict, "inherited");
  assert_string_equal(pin_of(p, "oc CRITICAL", "old")->verdict, "inherited");
  assert_string_equal(pin_of(p, "o", "old")->verdict, "not_restored");
  assert_int_equal(taken(p), 4);
  size_t n;
  (void)rp__plan_pins(p, &n);
  assert_int_equal(n, 6); /* the last session was not even opened */
}

/* CRITICAL before others, newest first, and of two with one label the newer */
static void the_newest_come_first(void **state)
{
  (void)state;
  const struct earlier e[] = {
      {"a", 1, 0, true, NULL,
       "{\"working_memory\":["
       "{\"label\":\"old\",\"content\":\"x\",\"pinned_at\":\"2026-05-01T00:00:00.000Z\"},"
       "{\"label\":\"new\",\"content\":\"x\",\"pinned_at\":\"2026-05-02T00:00:00.000Z\"},"
       "{\"label\":\"both\",\"content\":\"a\",\"pinned_at\":\"2026-05-03T00:00:00.000Z\"},"
       "{\"label\":\"crit\",\"content\":\"x\",\"importance\":\"critical\",\"pinned_at\":\"2026-04-01T00:00:00.000Z\"}]"
       "}"},
      {"b", 2, 4, false, NULL,
       "{\"working_memory\":[{\"label\":\"both\",\"content\":\"b\",\"pinned_at\":\"2026-05-04T00:00:00.000Z\"}]}"}};
  static const char *const order[] = {"crit", "both", "new", "old"};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 2, NULL);
  size_t n;
  const struct rp__pin_choice *c = rp__plan_pins(p, &n);
  assert_int_equal(taken(p), 4);
  for (size_t i = 0; i < 4; i++) assert_string_equal(c[i].label, order[i]);
  assert_string_equal(c[1].from->session_id, "b");
  assert_string_equal(pin_of(p, "both", "a")->verdict, "duplicate");
}

#define PIN_AT(label, content, at)                                                                                     \
  "{\"label\":\"" label "\",\"content\":\"" content "\",\"pinned_at\":\"2026-05-0" at "T00:00:00.000Z\"}"
#define WENT(label, at) "{\"label\":\"" label "\",\"pinned_at\":\"2026-05-0" at "T00:00:00.000Z\"}"

/* what a later session took off or replaced does not come back from an earlier one, CRITICAL or not */
static void what_was_taken_off_stays_off(void **state)
{
  (void)state;
  static const char a[] = PINS(PIN_AT("gone", "CRITICAL", "1") "," PIN_AT("stay", "x", "1") "," PIN_AT(
      "n", "CRITICAL old", "1") "," PIN_AT("other", "CRITICAL newer than what b took off", "3"));
  static const char b[] = "{\"working_memory\":[" PIN_AT("stay", "x", "1") "," PIN_AT(
      "n", "NEW", "2") "],"
                       "\"dropped_pins\":[" WENT("gone", "1") "," WENT("n", "1") "," WENT("other", "2") "]}";
  const struct earlier near[] = {{"a", 3, 4, true, NULL, a}, {"b", 2, 0, true, NULL, b}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, near, 2, NULL);
  assert_int_equal(taken(p), 3);
  assert_string_equal(pin_of(p, "gone", "a")->verdict, "dropped");
  assert_non_null(strstr(pin_of(p, "gone", "a")->reason, "session b"));
  assert_string_equal(pin_of(p, "n", "a")->verdict, "dropped");
  assert_true(pin_of(p, "n", "b")->taken);
  assert_true(pin_of(p, "other", "a")->taken);
  /* Also when b is not among those that are restored: neither word on n comes then. */
  struct rp__rules one = plain_rules;
  one.max_sessions = 1;
  const struct earlier far[] = {{"a", 3, 4, true, NULL, a}, {"b", 160, 0, true, NULL, b}};
  AUTOPLAN struct rp__plan *q = plan_of(&one, NULL, far, 2, NULL);
  assert_string_equal(pin_of(q, "gone", "a")->verdict, "dropped");
  assert_string_equal(pin_of(q, "n", "a")->verdict, "dropped");
  assert_string_equal(pin_of(q, "n", "b")->verdict, "not_restored");
  assert_true(pin_of(q, "stay", "a")->taken);
}

/* ---- a chain of sessions, each of which inherits all and changes some of it ---- */

#define CHAIN 6
#define LABELS 4

struct word {
  int64_t at; /* 0: none */
  bool critical;
};

struct link {
  struct word held[LABELS];
  int64_t went[LABELS]; /* 0: not */
  char id[8];
  struct rp__buf record;
};

static unsigned dice(uint64_t *seed, unsigned n)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*seed >> 33) % n;
}

static void link_live(struct link *l, int64_t *clock, uint64_t *seed)
{
  for (unsigned steps = dice(seed, 5); steps > 0; steps--) {
    unsigned i = dice(seed, LABELS);
    *clock += 1 + dice(seed, 1000);
    if (l->held[i].at) l->went[i] = l->held[i].at;
    l->held[i] = dice(seed, 2) ? (struct word){*clock, dice(seed, 2)} : (struct word){0};
  }
}

static void link_write(struct link *l)
{
  struct rp__jw w = RP_JW(&l->record);
  rp__jw_object(&w);
  for (int went = 0; went < 2; went++) {
    rp__jw_key(&w, went ? RP_RECORD_DROPPED : "working_memory");
    rp__jw_array(&w);
    for (int i = 0; i < LABELS; i++) {
      int64_t at = went ? l->went[i] : l->held[i].at;
      if (!at) continue;
      rp__jw_object(&w);
      rp__jw_kstr(&w, "label", (char[]){(char)('a' + i), '\0'});
      if (!went) rp__jw_kstr(&w, "content", l->held[i].critical ? "CRITICAL" : "x");
      rp__jw_ktime(&w, "pinned_at", at);
      rp__jw_end_object(&w);
    }
    rp__jw_end_array(&w);
  }
  rp__jw_end_object(&w);
  assert_int_equal(l->record.err, 0);
}

static void assert_is_the_last_word(const struct rp__plan *p, const struct link *last, uint64_t seed)
{
  int64_t got[LABELS] = {0};
  size_t n;
  const struct rp__pin_choice *c = rp__plan_pins(p, &n);
  for (size_t i = 0; i < n; i++)
    if (c[i].taken) got[c[i].label[0] - 'a'] = c[i].pinned_at;
  for (int i = 0; i < LABELS; i++)
    if (got[i] != last->held[i].at) fail_msg("seed %llu, label %c", (unsigned long long)seed, 'a' + i);
}

/* X-17, as a property: whatever the sessions of a chain did, what comes is what the last one held. */
static void the_last_of_a_chain_decides(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    struct link links[CHAIN] = {0};
    struct earlier e[CHAIN];
    uint64_t rolls = seed * 0x9e3779b97f4a7c15u;
    int64_t clock = NOW - HOURS(CHAIN + 2);
    for (int i = 0; i < CHAIN; i++) {
      struct link *l = &links[i];
      if (i) memcpy(l->held, links[i - 1].held, sizeof l->held);
      l->record = RP_BUF(4096);
      snprintf(l->id, sizeof l->id, "s%d", i);
      link_live(l, &clock, &rolls);
      link_write(l);
      bool opened = strstr(l->record.p, "CRITICAL") || !strstr(l->record.p, "dropped_pins\":[]");
      int64_t tasks = i == CHAIN - 1 || dice(&rolls, 2); /* the last one is restored, of the others any */
      e[i] = (struct earlier){l->id, CHAIN - i, tasks, opened, NULL, l->record.p};
    }
    struct rp__plan *p = plan_of(&plain_rules, NULL, e, CHAIN, NULL);
    assert_is_the_last_word(p, &links[CHAIN - 1], seed);
    rp__plan_free(p);
    for (int i = 0; i < CHAIN; i++) rp__buf_done(&links[i].record);
  }
}

/* provenance names the first source, however often a pin was inherited */
static void the_first_source_is_kept(void **state)
{
  (void)state;
  const struct earlier e[] = {
      {"c", 24, 0, false, NULL,
       "{\"working_memory\":["
       "{\"label\":\"own\",\"content\":\"x\",\"inherited_from\":null},"
       "{\"label\":\"beside\",\"content\":\"x\",\"inherited_from\":\"a\",\"inherited_end\":\"2026-01-02T03:04:05Z\"},"
       "{\"label\":\"inside [inherited from a @ 2026-01-02] [inherited from b @ 2026-01-03]\",\"content\":\"x\"}]}"}};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 1, NULL);
  char end[RP_TIME_TEXT];
  assert_string_equal(pin_of(p, "own", "c")->source_id, "c");
  assert_string_equal(pin_of(p, "own", "c")->source_end, rp__time_format(NOW - HOURS(24), end));
  assert_string_equal(pin_of(p, "beside", "c")->source_id, "a");
  assert_string_equal(pin_of(p, "beside", "c")->source_end, "2026-01-02T03:04:05.000Z");
  assert_string_equal(pin_of(p, "inside", "c")->source_id, "a");
  assert_string_equal(pin_of(p, "inside", "c")->source_end, "2026-01-02T00:00:00.000Z");
}

/* CRITICAL is a word, in label or content, or an importance */
static void critical_is_a_word(void **state)
{
  (void)state;
  static const struct {
    const char *pin;
    bool critical;
  } table[] = {{PIN("CRITICAL", ""), true},
               {PIN("x", "so\\nCRITICAL: do"), true},
               {PIN("x", "UNCRITICAL"), false},
               {PIN("x", "nCRITICAL"), false},
               {PIN("x", "CRITICALLY"), false},
               {PIN("x", "critical"), false},
               {PIN("x", "\\u0043RITICAL"), true},
               {"{\"label\":\"x\",\"content\":\"\",\"critical\":true}", true},
               {"{\"label\":\"x\",\"importance\":\"critical\"}", true},
               {"{\"label\":\"x\",\"importance\":\"high\"}", false}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    char record[300];
    snprintf(record, sizeof record, "{\"working_memory\":[%s]}", table[i].pin);
    const struct earlier e[] = {{"a", 1, 0, false, NULL, record}};
    AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 1, NULL);
    size_t n;
    const struct rp__pin_choice *c = rp__plan_pins(p, &n);
    assert_int_equal(n, 1);
    assert_true(c[0].critical == table[i].critical);
  }
}

/* ---- tasks ---- */

static char *copy(const char *s)
{
  return s ? strdup(s) : NULL;
}

static int word_of(void *ctx, const char *task_id, struct rp__task_word *ret)
{
  static const struct {
    const char *id;
    bool open;
    double hours;
    const char *title, *stage;
  } words[] = {{"closed", false, 1, "x", "done"},
               {"moved", true, 30, "new title", "verify"},
               {"stale", false, 500, NULL, NULL},
               {"same", true, 100, NULL, NULL}};
  ++*(int *)ctx;
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++) {
    if (strcmp(words[i].id, task_id) != 0) continue;
    *ret = (struct rp__task_word){.known = true, .open = words[i].open, .at_ms = NOW - HOURS(words[i].hours)};
    ret->title = copy(words[i].title);
    ret->stage = copy(words[i].stage);
  }
  return 0;
}

static const struct rp__task_choice *task_of(const struct rp__plan *p, const char *id)
{
  size_t n;
  const struct rp__task_choice *t = rp__plan_tasks(p, &n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(t[i].task_id, id) == 0) return &t[i];
  fail_msg("no task %s", id);
  return NULL;
}

/* the scope's newest word decides; days are whole days since it */
static void the_newest_word_decides(void **state)
{
  (void)state;
  char record[800], at[RP_TIME_TEXT];
  rp__time_format(NOW - HOURS(100), at);
  snprintf(record, sizeof record,
           "{\"pending_tasks\":["
           "{\"task_id\":\"closed\",\"title\":\"t\",\"stage\":\"build\",\"at\":\"%s\"},"
           "{\"task_id\":\"moved\",\"title\":\"t\",\"stage\":\"build\",\"at\":\"%s\"},"
           "{\"task_id\":\"stale\",\"title\":\"kept\",\"stage\":\"build\",\"at\":\"%s\"},"
           "{\"task_id\":\"same\",\"title\":\"kept\",\"stage\":\"build\",\"at\":\"%s\"},"
           "{\"task_id\":\"pinned\",\"flagged_incomplete\":true,\"source\":\"working_memory_scan\"}]}",
           at, at, at, at);
  const struct earlier e[] = {{"a", 50, 5, false, NULL, record},
                              {"b", 60, 1, false, NULL, "{\"pending_tasks\":[{\"task_id\":\"pinned\"}]}"}};
  int asked = 0;
  struct rp__plan_sources s = {.task_word = word_of, .ctx = &asked};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 2, &s);
  size_t n;
  const struct rp__task_choice *t = rp__plan_tasks(p, &n);
  assert_int_equal(n, 5);
  assert_int_equal(asked, 5);
  assert_false(t[4].taken); /* the closed one stands last */
  assert_string_equal(task_of(p, "closed")->verdict, "closed");
  assert_string_equal(task_of(p, "moved")->title, "new title");
  assert_string_equal(task_of(p, "moved")->stage, "verify");
  assert_int_equal(task_of(p, "moved")->days, 1);
  assert_true(task_of(p, "stale")->taken);
  assert_string_equal(task_of(p, "stale")->title, "kept");
  assert_int_equal(task_of(p, "stale")->days, 4);
  assert_string_equal(task_of(p, "same")->stage, "build");
  assert_string_equal(task_of(p, "pinned")->source, "working_memory_scan");
  assert_string_equal(task_of(p, "pinned")->from->session_id, "a");
  assert_true(task_of(p, "pinned")->flagged_incomplete);
}

/* what one message mentioned days ago is not told any more; what is known otherwise is, by its event's title. */
static void what_was_heard_once_does_not_follow(void **state)
{
  (void)state;
  char record[2000], other[1000], at[6][RP_TIME_TEXT];
  const double hours[6] = {71, 73, 74, 73, 75, 20};
  for (int i = 0; i < 6; i++) rp__time_format(NOW - HOURS(hours[i]), at[i]);
#define HEARD "\"title\":\"heard\",\"stage\":\"unknown\",\"source\":\"message\",\"at\":"
  snprintf(record, sizeof record,
           "{\"pending_tasks\":[{\"task_id\":\"fresh\"," HEARD "\"%s\"},{\"task_id\":\"faded\"," HEARD "\"%s\"},"
           "{\"task_id\":\"twice\"," HEARD "\"%s\",\"confirmed\":true},{\"task_id\":\"moved\"," HEARD "\"%s\"},"
           "{\"task_id\":\"both\"," HEARD "\"%s\"},{\"task_id\":\"closed\"," HEARD "\"%s\"},"
           "{\"task_id\":\"event\"," HEARD "\"%s\"}]}",
           at[0], at[1], at[2], at[3], at[4], at[5], at[5]);
  snprintf(other, sizeof other,
           "{\"pending_tasks\":[{\"task_id\":\"both\"," HEARD "\"%s\"},{\"task_id\":\"faded\"," HEARD "\"%s\"},"
           "{\"task_id\":\"event\",\"title\":\"told\",\"stage\":\"build\",\"at\":\"%s\"}]}",
           at[3], at[1], at[4]);
  const struct earlier e[] = {{"a", 2, 1, false, NULL, record}, {"b", 3, 1, false, NULL, other}};
  int asked = 0;
  struct rp__plan_sources s = {.task_word = word_of, .ctx = &asked};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 2, &s);
  static const char *const ids[] = {"fresh", "faded", "twice", "moved", "both", "closed", "event"},
                           *const want[] = {"surfaced", "heard_once", "surfaced", "surfaced",
                                            "surfaced", "closed",     "surfaced"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(ids); i++) assert_string_equal(task_of(p, ids[i])->verdict, want[i]);
  assert_false(task_of(p, "faded")->taken);
  assert_true(task_of(p, "both")->confirmed && task_of(p, "twice")->confirmed && !task_of(p, "fresh")->confirmed);
  assert_string_equal(task_of(p, "moved")->title, "new title");
  assert_string_equal(task_of(p, "event")->title, "told");
  /* who continues a session by name gets all of it. */
  assert_int_equal(rp__plan_continue(p, &s), 0);
  assert_true(task_of(p, "faded")->taken);
}

static int no_word(void *ctx, const char *task_id, struct rp__task_word *ret)
{
  (void)ctx, (void)task_id, (void)ret;
  return RP_E_BUSY;
}

static void a_failing_source_fails_the_plan(void **state)
{
  (void)state;
  const struct earlier e[] = {{"a", 1, 1, false, NULL, "{\"pending_tasks\":[{\"task_id\":\"t\"}]}"}};
  struct rp__plan_sources s = {.task_word = no_word};
  struct rp__plan *p = NULL;
  assert_int_equal(plan_make(&plain_rules, NULL, e, 1, &s, &p), RP_E_BUSY);
}

/* ---- memories ---- */

static const struct rp__memory_choice *memory_of(const struct rp__plan *p, const char *id)
{
  size_t n;
  const struct rp__memory_choice *m = rp__plan_memories(p, &n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(m[i].memory_id, id) == 0) return &m[i];
  fail_msg("no memory %s", id);
  return NULL;
}

static const struct rp__memory_fact facts[] = {
    {"two days", "x", 1.0, NOW - HOURS(48), false, "a"}, {"weak", "x", .49, NOW - HOURS(168), false, "a"},
    {"enough", "x", .5, NOW - HOURS(168), false, "a"},   {"elsewhere", "x", 1.0, NOW - HOURS(1), false, "b"},
    {"ancient", "x", 1.0, NOW - HOURS(900), false, "a"}, {"future", "x", .8, NOW + HOURS(9), false, "a"},
    {"too old", "x", 1.0, NOW - HOURS(169), false, "b"}, {"about", "antenna", 1.0, NOW - HOURS(900), false, "b"},
};

/* original × factor, dropped below .3, from any session of the scope; a robot's do not fade */
static void confidence_fades(void **state)
{
  (void)state;
  const struct earlier e[] = {{"a", 1, 0, false, NULL, "{}"}};
  struct rp__plan_sources s = {.memories = facts, .n_memories = RP_ARRAY_SIZE(facts)};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 1, &s);
  assert_string_equal(memory_of(p, "too old")->verdict, "outside_lookback");
  assert_string_equal(memory_of(p, "about")->verdict, "outside_lookback");
  s.topics = "antenna";
  AUTOPLAN struct rp__plan *about = plan_of(&plain_rules, NULL, e, 1, &s);
  assert_string_equal(memory_of(about, "about")->verdict, "inherited"); /* whatever its age */
  assert_near(memory_of(p, "two days")->inherited, .885714);
  assert_string_equal(memory_of(p, "two days")->verdict, "inherited");
  assert_string_equal(memory_of(p, "weak")->verdict, "below_floor");
  assert_near(memory_of(p, "enough")->inherited, .3);
  assert_true(memory_of(p, "enough")->taken);
  assert_near(memory_of(p, "ancient")->inherited, .3);
  assert_true(memory_of(p, "ancient")->taken);
  assert_near(memory_of(p, "future")->inherited, .8);
  assert_string_equal(memory_of(p, "elsewhere")->verdict, "inherited");
  struct rp__rules robot = plain_rules;
  robot.unfading = true;
  AUTOPLAN struct rp__plan *q = plan_of(&robot, NULL, e, 1, &s);
  for (size_t i = 0; i < RP_ARRAY_SIZE(facts); i++) {
    assert_string_equal(memory_of(q, facts[i].memory_id)->verdict, "inherited");
    assert_near(memory_of(q, facts[i].memory_id)->inherited, facts[i].confidence);
  }
}

/* what is about the current topics comes first, then what is sure and asked for often. */
static void memories_are_ranked(void **state)
{
  (void)state;
  static const struct rp__memory_fact known[] = {
      {"sure", "the kettle is red", 1, NOW, false, "a"},
      {"used", "tea at four", .8, NOW - HOURS(100), false, "a", .uses = 9},
      {"topic", "Antennas: the antenna is on the roof", .6, NOW - HOURS(150), false, "b"},
      {"category", "it hums at night", .6, NOW - HOURS(150), false, "b", .categories = "[\"ham radio\"]"},
      {"both", "the radio feeds the antenna", .6, NOW - HOURS(150), false, "c"},
      {"label", "the baud rate is 4800", .6, NOW - HOURS(150), false, "c"},
  };
  static const struct {
    const char *topics, *label, *order;
  } rows[] = {
      {NULL, NULL, "used sure both category label topic "},
      {"", "", "used sure both category label topic "},
      {"nothing, known", NULL, "used sure both category label topic "},
      {"ANTENNA", NULL, "both topic used sure category label "},
      {"ham radio", NULL, "category used both sure label topic "},
      {"antenna,radio", NULL, "both category topic used sure label "},
      {NULL, "Baud", "label used sure both category topic "},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    char order[200] = "";
    size_t n;
    struct rp__plan_sources s = {.memories = known,
                                 .n_memories = RP_ARRAY_SIZE(known),
                                 .topics = rows[i].topics,
                                 .labels = &rows[i].label,
                                 .n_labels = rows[i].label != NULL};
    AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, NULL, 0, &s);
    const struct rp__memory_choice *m = rp__plan_memories(p, &n);
    for (size_t k = 0; k < n; k++) {
      size_t at = strlen(order);
      assert_true(m[k].taken && m[k].relevance >= 0 && m[k].relevance <= 1);
      assert_memory_equal(m[k].reason, "rank 0.", 7);
      snprintf(order + at, sizeof order - at, "%s ", m[k].memory_id);
    }
    assert_string_equal(order, rows[i].order);
  }
}

/* labels of pins that are inherited are current topics, too. */
static void inherited_pins_are_topics(void **state)
{
  (void)state;
  const struct earlier e[] = {{"a", 1, 0, false, NULL, PINS("{\"label\":\"antenna\",\"content\":\"x\"}")}};
  static const struct rp__memory_fact known[] = {{"sure", "the kettle", 1, NOW, false, "a"},
                                                 {"topic", "an antenna", .5, NOW, false, "b"}};
  struct rp__plan_sources s = {.memories = known, .n_memories = 2};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 1, &s);
  assert_near(memory_of(p, "topic")->relevance, 1);
  assert_near(memory_of(p, "sure")->relevance, 0);
}

static void the_best_twenty_are_taken(void **state)
{
  (void)state;
  struct rp__memory_fact many[30];
  char ids[30][8];
  const struct earlier e[] = {{"a", 1, 0, false, NULL, "{}"}};
  for (int i = 0; i < 30; i++) {
    snprintf(ids[i], sizeof ids[i], "m%d", i);
    many[i] = (struct rp__memory_fact){ids[i], "x", .4 + i * .02, NOW, true, NULL};
  }
  struct rp__plan_sources s = {.memories = many, .n_memories = 30};
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, e, 1, &s);
  for (int i = 0; i < 30; i++)
    assert_string_equal(memory_of(p, ids[i])->verdict, i < 30 - RP_BRIEF_MEMORIES ? "beyond_limit" : "inherited");
}

/* ---- continuing ---- */

/* whatever its age or score: all pins up to the cap of ten, tasks, memories that fade but are not dropped */
static void a_named_session_gives_everything(void **state)
{
  (void)state;
  const struct earlier e = {"a",
                            24.0 * 400,
                            0,
                            false,
                            NULL,
                            PINS(PIN("p1", "1") "," PIN("p2", "2") "," PIN("p3", "3") "," PIN("p4", "4") "," PIN(
                                "p5", "5") "," PIN("p6", "6") "," PIN("p7", "7") "," PIN("p8", "8"))};
  static const char *const labels[] = {"x", "y", "p8"};
  struct rp__plan_sources s = {.labels = labels, .n_labels = 3, .memories = facts, .n_memories = RP_ARRAY_SIZE(facts)};
  AUTOPLAN struct rp__plan *p = NULL;
  struct rp__rules rules = plain_rules;
  rules.max_sessions = 0;
  assert_int_equal(rp__plan_new(&rules, NOW, NULL, 0, &p), 0);
  rp__plan_any_age(p);
  assert_int_equal(offer(p, &e), 0);
  answer(p, &e, 1);
  assert_int_equal(rp__plan_continue(p, &s), 0);
  assert_int_equal(taken(p), 7);
  assert_string_equal(pin_of(p, "p8", "a")->verdict, "label_present");
  assert_true(memory_of(p, "weak")->taken);
  assert_near(memory_of(p, "weak")->inherited, .294);
  assert_false(memory_of(p, "elsewhere")->taken);
  size_t n;
  assert_non_null(strstr(rp__plan_restored(p, &n)[0]->reason, "continued by name"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_and_limits),
      cmocka_unit_test(present_labels_win),
      cmocka_unit_test(which_sessions_give_pins),
      cmocka_unit_test(the_newest_come_first),
      cmocka_unit_test(what_was_taken_off_stays_off),
      cmocka_unit_test(the_last_of_a_chain_decides),
      cmocka_unit_test(the_first_source_is_kept),
      cmocka_unit_test(critical_is_a_word),
      cmocka_unit_test(the_newest_word_decides),
      cmocka_unit_test(what_was_heard_once_does_not_follow),
      cmocka_unit_test(a_failing_source_fails_the_plan),
      cmocka_unit_test(confidence_fades),
      cmocka_unit_test(the_best_twenty_are_taken),
      cmocka_unit_test(memories_are_ranked),
      cmocka_unit_test(inherited_pins_are_topics),
      cmocka_unit_test(a_named_session_gives_everything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
