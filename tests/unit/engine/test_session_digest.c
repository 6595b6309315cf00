/* SPDX-License-Identifier: Apache-2.0 */
/* B-13: the digest of a session as a document, and what reading it costs. */
#include "unit/engine/rig.h"

#include "store/store.h"

static char *digest_of(rp_engine *e, const char *id)
{
  rp_error err = {0};
  char *doc;
  OK(rp_digest_json(e, id, &doc, &err), err);
  return doc;
}

static void work(rp_session *s)
{
  rig_say(s, "Rename the table of orders, and keep the old name as a view");
  rig_put(s, "tool",
          "{\"call_id\":\"e\",\"name\":\"Edit\",\"status\":\"done\",\"input\":{\"file_path\":\"/srv/shop/a.sql\"}}");
  rig_put(s, "todo",
          "{\"items\":[{\"content\":\"Run it\",\"status\":\"pending\"},"
          "{\"content\":\"Read it\",\"status\":\"completed\"}]}");
}

static void an_ended_session_is_told_as_it_was_when_open(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  work(s);
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  char *open = digest_of(r->e, id);
  assert_string_equal(rig_get(open, "last_request"), "\"Rename the table of orders, and keep the old name as a view\"");
  assert_string_equal(rig_get(open, "last_request_end"), "\"open\"");
  assert_string_equal(rig_get(open, "files_changed"), "1");
  assert_non_null(strstr(open, "\"files\":[{\"path\":\"/srv/shop/a.sql\",\"count\":1,"));
  assert_non_null(strstr(open, "\"todos\":[{\"text\":\"Run it\",\"status\":\"pending\","));
  assert_null(strstr(open, "Read it"));
  rig_end(s);
  char *ended = digest_of(r->e, id);
  assert_string_equal(open, ended);
  rp_free(open);
  rp_free(ended);
}

static void a_session_without_a_request_has_nothing_to_tell(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_put(s, "message", "{\"role\":\"assistant\",\"content\":\"Good morning\"}");
  char *doc = digest_of(r->e, rp_session_id(s));
  assert_string_equal(rig_get(doc, "scope"), "\"coder\"");
  assert_string_equal(rig_get(doc, "requests"), "");
  assert_string_equal(rig_get(doc, "last_request"), "");
  rp_free(doc);
  rig_end(s);
}

/* A page of a thousand ended sessions is two small reads for each, however long their journals are. */
static void reading_it_of_an_ended_session_costs_one_read_of_its_record(void **state)
{
  struct rig *r = *state;
  struct rp__fault plan = {0};
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  for (int i = 0; i < 500; i++) work(s);
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rig_end(s);
  rp_engine *e = rig_counting(r, &plan);
  int64_t before = plan.calls;
  rp_free(digest_of(e, id));
  assert_int_equal(plan.calls - before, 2); /* its row and its record */
  rp_close(e);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(an_ended_session_is_told_as_it_was_when_open),
      T(a_session_without_a_request_has_nothing_to_tell),
      T(reading_it_of_an_ended_session_costs_one_read_of_its_record),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
