/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything given to rp_import: refused with a code of the table and nothing
 * stored, or accepted; then the store is sound, the state can be told at every
 * moment, and what it exports can be imported elsewhere with the same events.
 *
 * Each input is tried as it is, and once more with a last line whose count and
 * hash fit, for otherwise hardly one would come as far as being accepted.
 */
#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
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

static void check_states(rp_session *s)
{
  int64_t mark, seq;
  if (rp_sync(s, "nobody", &mark, &seq, NULL) != 0) abort();
  for (int64_t at = -1; at <= seq && at < 8; at++) {
    char *json;
    rp_error err = {0};
    int rc = rp_state_json(s, at, &json, &err);
    if (rc != 0 && (rp_error_lookup(rc)->code != rc || at != 0)) abort();
    if (rc == 0) rp_free(json);
  }
}

/* A file may name blobs that are not in it, or hold some that it does not name; nothing else may be wrong. */
static int see_finding(void *ctx, const rp_finding *f)
{
  if (f->note) return 0; /* a blob that nobody names */
  if (!strstr(f->what, "which an event names, is missing")) abort();
  ++*(int *)ctx;
  return 0;
}

static void check_accepted(rp_engine *e, const char *id)
{
  struct copy copy = {0};
  rp_session *s;
  char again[RP_ID_MAX + 1];
  int missing = 0;
  int rc = rp_verify(e, NULL, false, see_finding, &missing, NULL, NULL, NULL);
  if (rc != (missing ? RP_E_CORRUPT : 0)) abort();
  if (rp_attach(e, id, &s, NULL) != 0) abort();
  check_states(s);
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

static void try_import(const uint8_t *data, size_t size)
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
}

/* Where the last line begins, when it is an end as exports have it; else the end of the last whole line. */
static size_t without_end(const uint8_t *data, size_t size)
{
  while (size > 0 && data[size - 1] != '\n') size--;
  size_t last = size ? size - 1 : 0;
  while (last > 0 && data[last - 1] != '\n') last--;
  return size - last > 6 && memcmp(data + last, "{\"end\"", 6) == 0 ? last : size;
}

static int count_events(const uint8_t *data, size_t size)
{
  int events = 0;
  for (size_t at = 0; at + 6 < size; at++)
    events += (at == 0 || data[at - 1] == '\n') && memcmp(data + at, "{\"seq\"", 6) == 0;
  return events;
}

static int count_blobs(const uint8_t *data, size_t size)
{
  int blobs = 0;
  for (size_t at = 0; at + 7 < size; at++) {
    if ((at > 0 && data[at - 1] != '\n') || memcmp(data + at, "{\"blob\"", 7) != 0) continue;
    const uint8_t *end = memchr(data + at, '\n', size - at);
    blobs += end && memmem(data + at, (size_t)(end - data) - at, "\"part\":1,", 9);
  }
  return blobs;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  unsigned char hash[32];
  char hex[65], end[160];
  size_t n = without_end(data, size);
  try_import(data, size);
  if (n == 0 || n > COPY_MAX) return 0;
  crypto_generichash(hash, sizeof(hash), data, n, NULL, 0);
  sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
  int more = snprintf(end, sizeof(end), "{\"end\":{\"events\":%d,\"blobs\":%d,\"hash\":\"%s\"}}\n",
                      count_events(data, n), count_blobs(data, n), hex);
  uint8_t *fitting = malloc(n + (size_t)more);
  if (!fitting) return 0;
  memcpy(fitting, data, n);
  memcpy(fitting + n, end, (size_t)more);
  try_import(fitting, n + (size_t)more);
  free(fitting);
  return 0;
}
