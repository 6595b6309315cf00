/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent that remembers. Each run is a session of its own, and knows what the ones before left behind:
 *
 *   cc memory.c -o memory $(pkg-config --cflags --libs reprise)
 *   ./memory
 *   ./memory
 *
 * The first run is told nothing, the second gets the pin, the task and the fact of the first, as one text.
 */
#include <stdio.h>

#include <reprise/continuity.h>

static int fail(const rp_error *err)
{
  fprintf(stderr, "memory: %s\n", err->message);
  if (err->hint[0]) fprintf(stderr, "memory: %s\n", err->hint);
  return rp_error_lookup(err->code)->exit_code;
}

/* What the session leaves behind. The password is masked before it is stored. */
static int work(rp_session *session, rp_error *err)
{
  static const rp_event events[] = {
      {.kind = "project", .body = "{\"name\":\"lighthouse\"}"},
      {.kind = "pin", .body = "{\"label\":\"lamp\",\"content\":\"login ada, password=Tr4mpoline-77\"}"},
      {.kind = "task", .body = "{\"task_id\":\"task-1\",\"title\":\"mend the lamp\",\"stage\":\"build\"}"},
  };
  rp_ack ack;
  int rc = rp_append_many(session, events, sizeof events / sizeof events[0], NULL, &ack, err);
  return rc ? rc : rp_remember(session, "the lamp needs 24 volts", 0.9, "lamp", NULL, err);
}

int main(void)
{
  rp_engine *engine;
  rp_session *session;
  rp_error err;
  char *brief = NULL;

  if (rp_open(&(rp_options){.db = "sqlite:memory.db"}, &engine, &err) != 0) return fail(&err);
  if (rp_start(engine, &(rp_start_options){.scope = "keeper", .topics = "lamp"}, &session, &err) != 0) {
    rp_close(engine);
    return fail(&err);
  }

  /* "brief" is the text for the model, or null; everything else says why. */
  printf("%s\n", rp_start_json(session));
  int rc = work(session, &err);
  if (rc == 0) rc = rp_end(session, NULL, &err);

  /* What the next start would be told, and the reason of each line. */
  rp_brief_options next = {.scope = "keeper", .topics = "lamp", .explain = true};
  if (rc == 0) rc = rp_brief_scope(engine, &next, &brief, &err);
  if (rc == 0) printf("%s\n", brief);
  rp_free(brief);
  rp_session_free(session);
  rp_close(engine);
  return rc == 0 ? 0 : fail(&err);
}
