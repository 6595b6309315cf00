/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What most tests of the engine do: open it over a file, hold a session, write
 * events that carry a number, read the numbers back, check the whole store.
 * Nothing here asserts: results are the library's own, for the caller to judge.
 */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#define RIG_URL 600

/* "sqlite:PATH" into out (RIG_URL bytes); returns out. */
char *rig_url(const char *path, char *out);
/* An engine without background threads, or with them. */
int rig_open(const char *url, bool threads, rp_engine **ret, rp_error *err);
/* Holds (or holds again) the session with that key, for as long as this process has the handle. */
int rig_hold(rp_engine *e, const char *key, bool force, rp_session **ret, rp_error *err);

/* Appends kind x-n, body {"n":n}, idempotency key "PREFIX-n" (prefix NULL: no key). `o` may be NULL. */
int rig_append(rp_session *s, const char *prefix, int64_t n, const rp_append_options *o, rp_ack *ret, rp_error *err);
/* The number an x-n event carries, or -1 for any other event. */
int64_t rig_number(const rp_event_info *ev);

/* Events seen by rig_scan. */
struct rig_scan {
  int64_t seq;      /* of the last event seen */
  int64_t events;   /* x-n events seen */
  int64_t last;     /* number of the last one */
  int64_t disorder; /* x-n events whose number was not the one before plus one */
  int64_t holes;    /* seqs that were not the one before plus one */
};
/* Reads on from scan->seq. */
int rig_scan(rp_session *s, struct rig_scan *scan, rp_error *err);

/* Reads everything, repairs nothing; prints what it finds to stderr. */
int rig_verify(rp_engine *e, rp_error *err);
/* Opens, verifies and closes: 0 when the store is sound. */
int rig_verify_file(const char *url, rp_error *err);

/* Whether the code stands in the table of errors. */
bool rig_typed(int code);
/* "code name: message" in a static buffer, for messages of failing tests. */
const char *rig_why(const rp_error *err);

#endif
