/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent that survives its own death. Build it, run it, kill it, run it again:
 *
 *   cc hello.c -o hello $(pkg-config --cflags --libs reprise)
 *   ./hello & sleep 3; kill -9 $!
 *   ./hello
 *
 * The second run says what the first one had said, and goes on from there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <reprise/continuity.h>

static int fail(const rp_error *err)
{
  fprintf(stderr, "hello: %s\n", err->message);
  if (err->hint[0]) fprintf(stderr, "hello: %s\n", err->hint);
  return rp_error_lookup(err->code)->exit_code;
}

static int recall(void *ctx, const rp_event_info *ev)
{
  (void)ctx;
  printf("  I remember %" PRId64 ": %s %.*s\n", ev->seq, ev->kind, (int)ev->body_len, ev->body);
  return 0;
}

/* One thing said. When rp_append returns 0 the event is on the disk. */
static int say(rp_session *session, int n, rp_error *err)
{
  char body[100];
  snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":\"thought %d of process %d\"}", n, (int)getpid());

  rp_ack ack;
  int rc = rp_append(session, &(rp_event){.kind = "message", .body = body}, NULL, &ack, err);
  if (rc == 0) printf("  stored %" PRId64 ": %s\n", ack.seq, body);
  return rc;
}

int main(void)
{
  rp_engine *engine;
  rp_session *session;
  rp_error err;
  int rc = 0;

  setvbuf(stdout, NULL, _IOLBF, 0);
  if (rp_open(&(rp_options){.db = "sqlite:hello.db"}, &engine, &err) != 0) return fail(&err);

  /* Begins the session "thinker", or comes back to it if its last holder died. */
  if (rp_start(engine, &(rp_start_options){.scope = "hello", .key = "thinker"}, &session, &err) != 0) {
    rp_close(engine);
    return fail(&err);
  }
  printf("%s\n", rp_start_json(session));
  rc = rp_events(session, 0, 0, recall, NULL, &err);

  for (int n = 1; rc == 0 && n <= 8; n++) {
    rc = say(session, n, &err);
    /* The agent's own loop. A heartbeat may be called on every frame; the engine throttles it. */
    for (int frame = 0; rc == 0 && frame < 50; frame++) {
      usleep(20000);
      rc = rp_heartbeat(session, &err);
    }
  }

  /* Without rp_end the next start would take this for a crash, and rightly so. */
  if (rc == 0) rc = rp_end(session, NULL, &err);
  rp_session_free(session);
  rp_close(engine);
  return rc == 0 ? 0 : fail(&err);
}
