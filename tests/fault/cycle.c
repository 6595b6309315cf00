/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a store that the fault tests repeat: what is written, read back, and must hold after a failure. */
#include "cycle.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "json/json.h"
#include "lib/dice.h"
#include "lib/rig.h"

#define CHECK(c, cond, ...)                                                                                            \
  do {                                                                                                                 \
    if (!(cond)) {                                                                                                     \
      print_error("%s: ", (c)->trace);                                                                                 \
      print_error(__VA_ARGS__);                                                                                        \
      print_error("\n");                                                                                               \
      fail();                                                                                                          \
    }                                                                                                                  \
  } while (0)

/* ---- what is stored, against what was acknowledged ---- */

/* The bits of the chunks, and what they and the end make of them. */
#define CHUNKS (1u << 7 | 1u << 8)
#define STREAMED "say password=[REDACTED] and ghp_"

static int add_streamed(void *ctx, const rp_event_info *ev)
{
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len);
  if (rp__json_eq(rp__json_get(body, "message_id"), "st")) rp__json_text(rp__json_get(body, "content"), ctx);
  return 0;
}

static int count_number(void *ctx, const rp_event_info *ev)
{
  int *counts = ctx;
  int64_t n = rig_number(ev);
  if (n >= 0 && n < 32) counts[n]++;
  return 0;
}

static void check_events(struct cycle *c, rp_engine *e)
{
  rp_session *s;
  rp_error err;
  int counts[32] = {0};
  int rc = rp_attach(e, "cycle", &s, &err);
  if (rc == RP_E_SESSION_NOT_FOUND && !c->acked) return;
  CHECK(c, rc == 0, "attach afterwards: %s", rig_why(&err));
  rc = rp_events(s, 0, 0, count_number, counts, &err);
  CHECK(c, rc == 0, "read afterwards: %s", rig_why(&err));
  for (int n = 0; n < 32; n++) {
    if ((c->acked & ~CHUNKS) & 1u << n) CHECK(c, counts[n] > 0, "event %d was acknowledged and is not there", n);
    CHECK(c, counts[n] < 2, "event %d is there %d times", n, counts[n]);
  }
  struct rp__buf said = RP_BUF(4096);
  rc = rp_events(s, 0, 0, add_streamed, &said, &err);
  CHECK(c, rc == 0, "read afterwards: %s", rig_why(&err));
  if ((c->acked & CHUNKS) == CHUNKS)
    CHECK(c, said.p && strcmp(said.p, STREAMED) == 0, "the stream says '%s'", said.p ? said.p : "");
  rp__buf_done(&said);
  rp_session_free(s);
}

static void check_store(struct cycle *c)
{
  rp_engine *e;
  rp_error err;
  if (strncmp(c->url, "sqlite:", 7) != 0) return;
  if (!c->open && c->url[7] == '/' && (c->acked & CHUNKS)) {
    /* A tail that was sealed with a key in no file is lost with its process. An engine over a given store has no file.
     */
    char seal[sizeof(c->url) + 8];
    snprintf(seal, sizeof(seal), "%s.seal", c->url + 7);
    CHECK(c, access(seal, F_OK) == 0, "a chunk was acknowledged, and there is no %s", seal);
  }
  int rc = rig_open(c->url, false, &e, &err);
  CHECK(c, rc == 0, "open afterwards: %s", rig_why(&err));
  rc = rig_verify(e, &err);
  CHECK(c, rc == 0, "verify afterwards: %s", rig_why(&err));
  check_events(c, e);
  rp_close(e);
}

/* ---- running ---- */

static void check_error(struct cycle *c, int rc, const rp_error *err)
{
  CHECK(c, rig_typed(rc), "code %d is not in the table", rc);
  CHECK(c, err->code == rc, "returned %d, but the error says %d", rc, err->code);
  /* Nothing is damaged, and nobody may believe it is. */
  CHECK(c, rp_error_lookup(rc)->exit_code != 5, "called damage: %s", rig_why(err));
  CHECK(c, err->message[0] && memchr(err->message, 0, sizeof(err->message)), "error %d without a message", rc);
}

/* A step that failed: still failing while the cause lasts is fine, working when it is gone is a must. */
static void step_again(struct cycle *c, const struct cycle_fault *f, const struct cycle_step *step)
{
  rp_error err = {0};
  int rc;
  if (f->persistent) {
    rc = step->run(c, &err);
    if (rc == 0 || (step->also && rc == step->also)) return;
    check_error(c, rc, &err);
  }
  f->disarm(f->ctx);
  err = (rp_error){0};
  rc = step->run(c, &err);
  CHECK(c, rc == 0 || (step->also && rc == step->also), "%s does not work when the cause is gone: %s", step->name,
        rig_why(&err));
}

static void cycle_steps(struct cycle *c, const struct cycle_fault *f)
{
  size_t base = strlen(c->trace);
  for (const struct cycle_step *step = c->steps; step->name; step++) {
    rp_error err = {0};
    snprintf(c->trace + base, sizeof(c->trace) - base, ", %s", step->name);
    int rc = step->run(c, &err);
    if (rc == 0) continue;
    check_error(c, rc, &err);
    c->failed++;
    step_again(c, f, step);
  }
}

bool cycle_round(struct cycle *c, const struct cycle_fault *f, long nth)
{
  long blocks = alloc_outstanding(), pages = sqlite_mem_outstanding();
  c->acked = 0;
  c->engine = NULL;
  c->session = NULL;
  f->arm(f->ctx, nth);
  cycle_steps(c, f);
  rp_session_free(c->session);
  rp_close(c->engine);
  bool struck = f->struck(f->ctx);
  f->disarm(f->ctx);
  snprintf(c->trace + strlen(c->trace), sizeof(c->trace) - strlen(c->trace), ", closed");
  CHECK(c, alloc_outstanding() == blocks, "%ld allocations left", alloc_outstanding() - blocks);
  CHECK(c, sqlite_mem_outstanding() <= pages || pages == 0, "SQLite holds %ld bytes more",
        sqlite_mem_outstanding() - pages);
  check_store(c);
  return struck;
}

void cycle_enumerate(struct cycle *c, const struct cycle_fault *f, const char *title, void (*fresh)(struct cycle *),
                     long budget_ms)
{
  long nth = 1, rounds = 0, step = 1, wide = 1;
  struct dice dice = dice_new();
  int64_t start = dice_now_us(), budget = dice_rounds(budget_ms, INT32_MAX) * 1000;
  c->failed = 0;
  for (bool struck = true; struck; nth += step) {
    fresh(c);
    snprintf(c->trace, sizeof(c->trace), "%s, call %ld", title, nth);
    struck = cycle_round(c, f, nth);
    rounds++;
    if (dice_now_us() - start > budget) step = 1 + dice_below(&dice, wide += 1 + wide / 8);
  }
  CHECK(c, rounds > 1 && c->failed > 0, "no call ever failed: nothing was tested");
  printf("# %s: %ld rounds over %ld calls, %ld steps failed, %.1f s\n", title, rounds, nth - step, c->failed,
         (double)(dice_now_us() - start) / 1e6);
}
