/* SPDX-License-Identifier: Apache-2.0 */
/* O-01 to O-04: the container, its versions, its seal, and which ones stay. */
#include "container_test.h"

#include <zstd.h>

#define AD RP_STR("session-1/snapshot")
#define MAGIC "RPS1"
#define SEALED (1u << 16)

static size_t encode(const struct rp__key *key, struct rp__buf *out)
{
  RP_AUTOFOLD struct rp__fold *f = NULL;
  size_t raw = 0;
  int64_t to;
  assert_int_equal(rp__fold_new(&sum_table, &f), 0);
  for (int64_t seq = 1; seq <= 20; seq++) {
    struct rp__event ev = event_of(seq, RP_KIND_OTHER, "{\"n\":3}");
    assert_int_equal(rp__fold_apply(f, &ev, &to), 0);
  }
  assert_int_equal(rp__snapshot_encode(f, key, &fixed_random, AD, out, &raw, NULL), 0);
  assert_true(raw > 50 && raw < 200);
  return raw;
}

static int decode(const struct rp__buf *b, size_t n, const struct rp__key *key, rp_error *err)
{
  RP_AUTOFOLD struct rp__fold *f = NULL;
  /* A copy of exactly that size, so that reading beyond it shows. */
  RP_AUTOFREE char *copy = malloc(n ? n : 1);
  memcpy(copy, b->p, n);
  *err = (rp_error){0};
  int rc = rp__snapshot_decode(copy, n, key, AD, &sum_table, &f, err);
  assert_int_equal(rc, err->code);
  assert_int_equal(f == NULL, rc != 0);
  if (f) assert_int_equal(((const struct sum *)rp__fold_facet(f, "sum"))->n, 60);
  return rc;
}

static void wrap_text(struct rp__buf *out, unsigned version, const char *text)
{
  char packed[1000];
  size_t n = ZSTD_compress(packed, sizeof packed, text, strlen(text), 1);
  wrap(out, MAGIC, version, (uint32_t)strlen(text), packed, n);
}

static void opens_what_it_made(void **state)
{
  (void)state;
  struct rp__key k = key_of('a');
  RP_AUTOBUF struct rp__buf plain = RP_BUF(1000), sealed = RP_BUF(1000), doc = RP_BUF(1000);
  rp_error err;
  encode(NULL, &plain);
  encode(&k, &sealed);
  assert_int_equal(decode(&plain, plain.n, NULL, &err), 0);
  assert_int_equal(decode(&plain, plain.n, &k, &err), 0);
  assert_int_equal(decode(&sealed, sealed.n, &k, &err), 0);
  assert_int_equal(rp__snapshot_open(sealed.p, sealed.n, &k, AD, NULL, 0, &doc, &err), 0);
  assert_non_null(strstr(doc.p, "\"sum\":{\"n\":60,"));
}

/* O-02: what 0.1.0 stored; never to be made again from the code of today. */
static void opens_what_is_on_disks(void **state)
{
  (void)state;
  static const char *const stored[] = {
      "5250533101000000490000005200000034ad3d4a19dbc28c7e43d97c18ce554d28b52ffd20494902007b2276657273696f6e"
      "223a312c22736571223a32302c2261745f6d73223a32303030302c22666163657473223a7b2273756d223a7b226e223a3630"
      "2c2261776179223a302e307d7d7d",
      "5250533101000100490000008300000082f803d0fa114c1d9d4daa4af587be43a7518bcbcd2ec1b501070707070707070707"
      "070707070707070707070707070707c513e4082a0a3f5447aef650bbd83dea6d01243b3376d888bceea3fb8aae186dbb6ccc"
      "23e835084e1cbf410049dd95b33b0b10b437c71ecf3bf8fc90d68e9fecba690c106778ab06dff9b08fa525d6956b794e5950"
      "c3fc951c85040bd6ad8873da6b",
  };
  struct rp__key k = key_of('a');
  rp_error err;
  for (size_t i = 0; i < RP_ARRAY_SIZE(stored); i++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
    from_hex(stored[i], &b);
    assert_int_equal(decode(&b, b.n, &k, &err), 0);
  }
}

static void has_the_layout_it_says(void **state)
{
  (void)state;
  struct rp__key k = key_of('a');
  RP_AUTOBUF struct rp__buf plain = RP_BUF(1000), sealed = RP_BUF(1000);
  size_t raw = encode(NULL, &plain);
  assert_layout(&plain, MAGIC, 1, raw);
  assert_int_equal(encode(&k, &sealed), raw);
  assert_layout(&sealed, MAGIC, 1 | SEALED, raw);
}

static void appends_behind_what_the_buffer_holds(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf plain = RP_BUF(1000), behind = RP_BUF(1000);
  encode(NULL, &plain);
  rp__buf_str(&behind, "first");
  encode(NULL, &behind);
  assert_int_equal(behind.n, plain.n + 5);
  assert_memory_equal(behind.p + 5, plain.p, plain.n);
}

static void every_flip_of_every_bit_is_noticed(void **state)
{
  (void)state;
  struct rp__key k = key_of('a');
  for (int seal = 0; seal < 2; seal++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
    const struct rp__key *key = seal ? &k : NULL;
    rp_error err;
    encode(key, &b);
    for (size_t i = 0; i < 8 * b.n; i++) {
      b.p[i / 8] = (char)(b.p[i / 8] ^ (1 << i % 8));
      assert_int_equal(decode(&b, b.n, key, &err), RP_E_SNAPSHOT_CORRUPT);
      b.p[i / 8] = (char)(b.p[i / 8] ^ (1 << i % 8));
    }
    assert_int_equal(decode(&b, b.n, key, &err), 0);
  }
}

static void every_cut_and_every_surplus_is_noticed(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
  rp_error err;
  encode(NULL, &b);
  for (size_t n = 0; n < b.n; n++) assert_int_equal(decode(&b, n, NULL, &err), RP_E_SNAPSHOT_CORRUPT);
  rp__buf_char(&b, 'x');
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_CORRUPT);
}

static void keys_and_damage_are_told_apart(void **state)
{
  (void)state;
  struct rp__key k = key_of('a'), other = key_of('b');
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000), out = RP_BUF(1000);
  rp_error err;
  encode(&k, &b);
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_KEY_MISSING);
  assert_int_equal(decode(&b, b.n, &other, &err), RP_E_KEY_WRONG);
  assert_int_equal(rp__snapshot_open(b.p, b.n, &k, RP_STR("session-2/snapshot"), NULL, 0, &out, &err),
                   RP_E_SNAPSHOT_CORRUPT);
  /* Damage is damage, whatever key is tried. */
  b.p[33] = (char)(b.p[33] ^ 1);
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_CORRUPT);
  assert_int_equal(decode(&b, b.n, &other, &err), RP_E_SNAPSHOT_CORRUPT);
  assert_int_equal(out.n, 0);
}

static void hostile_sizes_stop_at_the_bound(void **state)
{
  (void)state;
  static const uint32_t sizes[] = {0, 1, RP_SNAPSHOT_MAX, RP_SNAPSHOT_MAX + 1, 0x7fffffff, 0xffffffff};
  size_t big = (size_t)64 * 1024 * 1024;
  RP_AUTOFREE char *zeros = calloc(1, big), *bomb = malloc(100000);
  RP_AUTOBUF struct rp__buf b = RP_BUF(200000), out = RP_BUF(RP_SNAPSHOT_MAX);
  size_t n = ZSTD_compress(bomb, 100000, zeros, big, 1);
  rp_error err;
  assert_false(ZSTD_isError(n));
  for (size_t i = 0; i < RP_ARRAY_SIZE(sizes); i++) {
    wrap(&b, MAGIC, 1, sizes[i], bomb, n);
    assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, NULL, 0, &out, &err), RP_E_SNAPSHOT_CORRUPT);
    wrap(&b, MAGIC, 1, sizes[i], "no zstd at all", 14);
    assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, NULL, 0, &out, &err), RP_E_SNAPSHOT_CORRUPT);
    wrap(&b, MAGIC, 1, sizes[i], "", 0);
    assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, NULL, 0, &out, &err), RP_E_SNAPSHOT_CORRUPT);
  }
  assert_int_equal(out.n, 0);
}

static void documents_that_are_none(void **state)
{
  (void)state;
  static const char *const docs[] = {"{", "[]", "null", "{\"version\":1}",
                                     "{\"version\":1,\"version\":1,\"seq\":1,\"at_ms\":1,\"facets\":{}}"};
  RP_AUTOBUF struct rp__buf b = RP_BUF(10000);
  rp_error err;
  for (size_t i = 0; i < RP_ARRAY_SIZE(docs); i++) {
    wrap_text(&b, 1, docs[i]);
    assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_CORRUPT);
  }
}

/* ---- versions (O-02) ---- */

static int grow(struct rp__json doc, struct rp__buf *out, const char *from, const char *to, rp_error *err)
{
  struct rp__json v = rp__json_get(doc, from);
  struct rp__jw w = RP_JW(out);
  if (v.type == RP_JSON_NONE) return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, from, "%s is missing", from);
  rp__jw_object(&w);
  rp__jw_key(&w, to);
  rp__jw_value(&w, v);
  rp__jw_end_object(&w);
  return 0;
}
static int one_to_two(struct rp__json doc, struct rp__buf *out, rp_error *err)
{
  return grow(doc, out, "one", "two", err);
}
static int two_to_three(struct rp__json doc, struct rp__buf *out, rp_error *err)
{
  return grow(doc, out, "two", "three", err);
}
static const struct rp__migration chain[] = {{2, two_to_three}, {1, one_to_two}, {0, NULL}};

static void older_versions_are_migrated_step_by_step(void **state)
{
  (void)state;
  static const char *const docs[] = {NULL, "{\"one\":[1]}", "{\"two\":[1]}", "{\"three\":[1]}"};
  rp_error err;
  for (unsigned v = 1; v <= 3; v++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(10000), out = RP_BUF(1000);
    wrap_text(&b, v, docs[v]);
    assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, chain, 3, &out, &err), 0);
    assert_string_equal(out.p, "{\"three\":[1]}");
  }
}

static void a_step_that_fails_or_lacks(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(10000), out = RP_BUF(1000);
  rp_error err = {0};
  wrap_text(&b, 1, "{\"two\":1}");
  assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, chain, 3, &out, &err), RP_E_SNAPSHOT_CORRUPT);
  wrap_text(&b, 1, "{\"one\":1");
  assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, chain, 3, &out, &err), RP_E_SNAPSHOT_CORRUPT);
  wrap_text(&b, 3, "{\"three\":1}");
  assert_int_equal(rp__snapshot_open(b.p, b.n, NULL, AD, chain, 4, &out, &err), RP_E_SNAPSHOT_VERSION);
  assert_int_equal(out.n, 0);
}

static void newer_versions_are_refused(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf b = RP_BUF(10000);
  rp_error err;
  static const char doc[] = "{\"version\":1,\"seq\":1,\"at_ms\":1,\"facets\":{\"sum\":{\"n\":60,\"away\":0}}}";
  wrap_text(&b, 1, doc);
  assert_int_equal(decode(&b, b.n, NULL, &err), 0);
  wrap_text(&b, 2, doc);
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_VERSION);
  assert_non_null(strstr(err.message, "version 2"));
  wrap_text(&b, 0xffff, doc);
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_VERSION);
  wrap_text(&b, 0, doc);
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_CORRUPT);
  /* A flag of tomorrow. */
  wrap(&b, MAGIC, 1 | 2u << 16, 10, "payload", 7);
  assert_int_equal(decode(&b, b.n, NULL, &err), RP_E_SNAPSHOT_VERSION);
}

/* ---- which stay (O-03) ---- */

static void the_newest_stay_and_sparse_older_ones(void **state)
{
  (void)state;
  static const int64_t seqs[] = {51000, 50500, 50200, 49999, 49000, 41000, 40000, 39999, 25000, 9, 3};
  static const bool want[] = {0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1};
  bool drop[RP_ARRAY_SIZE(seqs)];
  rp__snapshot_prune(seqs, RP_ARRAY_SIZE(seqs), 3, drop);
  for (size_t i = 0; i < RP_ARRAY_SIZE(seqs); i++) {
    if (drop[i] != want[i]) fail_msg("seq %d: %d", (int)seqs[i], drop[i]);
  }
  rp__snapshot_prune(seqs, RP_ARRAY_SIZE(seqs), 50, drop);
  for (size_t i = 0; i < RP_ARRAY_SIZE(seqs); i++) assert_false(drop[i]);
  rp__snapshot_prune(NULL, 0, 10, NULL);
}

/* Snapshots every `every` events, pruned after each: what is left, and the longest tail any seq must replay. */
static size_t live_on(int64_t every, int64_t last, size_t keep, int64_t *ret_tail)
{
  static int64_t seqs[1000];
  static bool drop[1000];
  size_t n = 0;
  *ret_tail = 0;
  for (int64_t seq = every; seq <= last; seq += every) {
    memmove(seqs + 1, seqs, n++ * sizeof seqs[0]);
    seqs[0] = seq;
    rp__snapshot_prune(seqs, n, keep, drop);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
      if (!drop[i])
        seqs[left++] = seqs[i];
      else
        assert_true(i >= keep);
    }
    n = left;
    assert_true(n < 999);
  }
  for (size_t i = 0; i < n; i++) {
    int64_t tail = seqs[i] - (i + 1 < n ? seqs[i + 1] : 0);
    if (tail > *ret_tail) *ret_tail = tail;
  }
  return n;
}

static void every_moment_is_near_a_kept_one(void **state)
{
  (void)state;
  static const int64_t steps[] = {1, 7, 333, 1000, 9999};
  for (size_t i = 0; i < RP_ARRAY_SIZE(steps); i++) {
    int64_t tail, last = steps[i] < 10 ? 200000 : 1000000;
    size_t n = live_on(steps[i], last, 10, &tail);
    assert_true(tail <= RP_SNAPSHOT_SPARSE + steps[i]);
    assert_true(n <= (size_t)(10 + last / RP_SNAPSHOT_SPARSE + 1));
  }
}

/* O-03: ten are ten, as long as the beginning of the journal is no farther from them than older ones would be. */
static void ten_are_ten(void **state)
{
  (void)state;
  int64_t tail;
  assert_int_equal(live_on(1, 5000, 10, &tail), 10);
  assert_int_equal(live_on(500, RP_SNAPSHOT_SPARSE + 8 * 500, 10, &tail), 10);
  assert_int_equal(live_on(500, RP_SNAPSHOT_SPARSE + 9 * 500, 10, &tail), 11);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_what_it_made),
      cmocka_unit_test(opens_what_is_on_disks),
      cmocka_unit_test(has_the_layout_it_says),
      cmocka_unit_test(appends_behind_what_the_buffer_holds),
      cmocka_unit_test(every_flip_of_every_bit_is_noticed),
      cmocka_unit_test(every_cut_and_every_surplus_is_noticed),
      cmocka_unit_test(keys_and_damage_are_told_apart),
      cmocka_unit_test(hostile_sizes_stop_at_the_bound),
      cmocka_unit_test(documents_that_are_none),
      cmocka_unit_test(older_versions_are_migrated_step_by_step),
      cmocka_unit_test(a_step_that_fails_or_lacks),
      cmocka_unit_test(newer_versions_are_refused),
      cmocka_unit_test(the_newest_stay_and_sparse_older_ones),
      cmocka_unit_test(every_moment_is_near_a_kept_one),
      cmocka_unit_test(ten_are_ten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
