/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths that paths.py measures, each in a process of its own: `program STEP DB`. The steps before the last one
 * prepare the store; only the last one of a path is traced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <reprise/reprise.h>

#include "trace.h"

static rp_error err;

static void must(int rc, const char *what)
{
  if (!rc) return;
  fprintf(stderr, "%s: %d %s\n", what, rc, err.message);
  exit(1);
}

static rp_engine *engine(const char *db, bool short_lived)
{
  rp_engine *e;
  must(rp_open(&(rp_options){.db = db, .short_lived = short_lived}, &e, &err), "open");
  return e;
}

static void put(rp_session *s, const char *kind, const char *body)
{
  rp_ack ack;
  const rp_event ev = {.kind = kind, .body = body};
  must(rp_append(s, &ev, NULL, &ack, &err), kind);
}

static rp_session *start(rp_engine *e, const char *key)
{
  rp_session *s;
  const rp_start_options o = {.scope = "paths", .key = key, .owner = RP_OWNER_NONE};
  must(rp_start(e, &o, &s, &err), "start");
  return s;
}

/* A session with some of everything that a start looks at. */
static void live(rp_session *s)
{
  put(s, "message", "{\"role\":\"user\",\"content\":\"let us move the kitchen to the cellar\"}");
  put(s, "pin", "{\"label\":\"budget\",\"content\":\"at most 900\"}");
  put(s, "task", "{\"task_id\":\"t1\",\"title\":\"measure the cellar\",\"stage\":\"doing\"}");
  put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"the cellar is damp\"}");
  for (int i = 0; i < 20; i++) put(s, "message", "{\"role\":\"assistant\",\"content\":\"the cellar has one window\"}");
}

/*
 * Appends of all kinds that have to know something of the session, while another process does the same: chunks of a
 * stream, pins, scores of a memory.
 */
static void write_together(rp_session *s)
{
  char body[200];
  for (int i = 0; i < 30; i++) {
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"message_id\":\"m%d\",\"content\":\"sk-\",\"partial\":true}",
             (int)getpid());
    put(s, "message", body);
    snprintf(body, sizeof body, "{\"label\":\"p%d\",\"content\":\"here\"}", (int)getpid());
    put(s, "pin", body);
    put(s, "confidence", "{\"memory_id\":\"m1\",\"old_score\":1,\"new_score\":0.5,\"reason\":\"doubt\"}");
    put(s, "message", "{\"role\":\"user\",\"content\":\"go on\"}");
  }
}

int main(int argc, char **argv)
{
  if (argc != 3) return 2;
  const char *step = argv[1], *db = argv[2];
  bool command = strcmp(step, "append") == 0; /* as `reprise append` does it */
  rp_engine *e = engine(db, command);
  rp_session *s = NULL;
  if (strcmp(step, "ended") == 0) {
    s = start(e, "first");
    live(s);
    must(rp_end(s, "done", &err), "end");
  } else if (strcmp(step, "crashed") == 0) {
    s = start(e, "second");
    live(s);
    _exit(0);
  } else if (command) {
    must(rp_attach(e, "second", &s, &err), "attach");
    put(s, "message", "{\"role\":\"user\",\"content\":\"and where does the stove go?\"}");
  } else if (strcmp(step, "together") == 0) {
    must(rp_attach(e, "second", &s, &err), "attach");
    write_together(s);
  } else if (strcmp(step, "successor") == 0) {
    trace_reset();
    s = start(e, "third");
  } else if (strcmp(step, "resume") == 0) {
    trace_reset();
    s = start(e, "second");
  } else {
    return 2;
  }
  rp_session_free(s);
  rp_close(e);
  return 0;
}
