/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything given to rp_import: refused with a code of the table and nothing
 * stored, or accepted; then the store is sound and what it exports can be
 * imported elsewhere with the same events.
 */
#include <reprise/reprise.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COPY_MAX (8 * 1024 * 1024)

struct source {
  const uint8_t *p;
  size_t n, at;
};

/* In pieces of odd sizes, for a line may be cut anywhere. */
static long source_read(void *ctx, void *bytes, size_t n)
{
  struct source *s = ctx;
  size_t left = s->n - s->at, take = 1 + s->at % 61;
  if (take > n) take = n;
  if (take > left) take = left;
  memcpy(bytes, s->p + s->at, take);
  s->at += take;
  return (long)take;
}

struct copy {
  uint8_t *p;
  size_t n;
};

static int copy_write(void *ctx, const void *bytes, size_t n)
{
  struct copy *c = ctx;
  if (c->n + n > COPY_MAX) return 1;
  uint8_t *p = realloc(c->p, c->n + n + 1);
  if (!p) return 1;
  memcpy(p + c->n, bytes, n);
  c->p = p;
  c->n += n;
  return 0;
}

static int count_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int sum_event(void *ctx, const rp_event_info *ev)
{
  uint64_t *sum = ctx;
  *sum = *sum * 31 + (uint64_t)ev->seq + (uint64_t)ev->at_ms;
  for (size_t i = 0; i < ev->body_len; i++) *sum = *sum * 31 + (uint8_t)ev->body[i];
  return 0;
}

/* No configuration of the user running this has a say. */
__attribute__((constructor)) static void leave_home(void)
{
  setenv("REPRISE_HOME", "/nonexistent/reprise", 1);
}

static rp_engine *open_memory(void)
{
  rp_engine *e;
  rp_options o = {.db = "memory:", .short_lived = true};
  return rp_open(&o, &e, NULL) == 0 ? e : NULL;
}

static uint64_t sum_of(rp_engine *e, const char *id)
{
  uint64_t sum = 0;
  rp_session *s;
  if (rp_attach(e, id, &s, NULL) != 0 || rp_events(s, 0, 0, sum_event, &sum, NULL) != 0) abort();
  rp_session_free(s);
  return sum;
}

static void check_refused(rp_engine *e, int rc, const rp_error *err)
{
  int sessions = 0;
  if (rp_error_lookup(rc)->code != rc || err->code != rc || !err->message[0]) abort();
  if (rp_list(e, NULL, count_session, &sessions, NULL) != 0 || sessions != 0) abort();
}

static void check_accepted(rp_engine *e, const char *id)
{
  struct copy copy = {0};
  rp_session *s;
  char again[RP_ID_MAX + 1];
  if (rp_verify(e, NULL, false, NULL, NULL, NULL, NULL, NULL) != 0) abort();
  if (rp_attach(e, id, &s, NULL) != 0) abort();
  if (rp_export(s, copy_write, &copy, NULL, NULL, NULL) == 0) {
    struct source src = {copy.p, copy.n, 0};
    rp_engine *other = open_memory();
    if (!other || rp_import(other, source_read, &src, NULL, NULL, again, NULL) != 0) abort();
    if (sum_of(e, id) != sum_of(other, again)) abort();
    rp_close(other);
  }
  free(copy.p);
  rp_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct source src = {data, size, 0};
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  rp_engine *e = open_memory();
  if (!e) abort();
  int rc = rp_import(e, source_read, &src, NULL, NULL, id, &err);
  if (rc == 0)
    check_accepted(e, id);
  else
    check_refused(e, rc, &err);
  rp_close(e);
  return 0;
}
