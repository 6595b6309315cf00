/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server whose handler does what the path says, and a client that writes raw bytes.
 *
 *   /echo   the body back, with the query in X-Query
 *   /later  the same, deferred and answered by another thread
 *   /held   deferred until rig_release
 *   /take   the socket leaves HTTP (rig_taken gives it)
 *   /big    as many bytes as the query says, given away
 *   /head   the header named by the query
 *   /bad    a header with a line end in it
 *
 * With X-Early it is answered before that, with X-Secret refused.
 */
#ifndef TEST_HTTP_RIG_H
#define TEST_HTTP_RIG_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http.h"
#include "net/listen.h"

#define RIG_BODY_MAX (64 * 1024)
#define RIG_WAIT_MS 20000 /* how long anything may take before a test gives up */

struct waiting {
  struct waiting *next;
  struct rp__request *r;
};

struct rig {
  struct rp__listeners listeners;
  struct rp__http *http;
  struct rp__http_options options;
  pthread_t answerer;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct waiting *later, *held;
  bool stop;
  int taken; /* a socket, or -1 */
  atomic_int handled, admitted, refused, done, complete;
  atomic_int last_code; /* of what was refused */
};

/* Starts on a port of the kernel's choice (or on `address`); `o` may be NULL. */
void rig_start(struct rig *s, const char *address, const struct rp__http_options *o);
void rig_stop(struct rig *s);
void rig_release(struct rig *s); /* answers what is held */
void rig_await(struct rig *s, atomic_int *n, int at_least);
void rig_await_connections(struct rig *s, int at_most);
int rig_taken(struct rig *s); /* waits for it */

/* ---- the client ---- */

struct answer {
  int status;
  char head[4096];
  char *body; /* freed by answer_done */
  size_t n;
  bool closes; /* says that the connection ends */
};

int client_connect(const struct rig *s);
void client_write(int fd, const char *bytes);
void client_write_n(int fd, const char *bytes, size_t n);
/* Reads one answer; false when the connection ended before its last byte. */
bool client_read(int fd, struct answer *ret);
/* The same for an answer to HEAD, which has no body whatever its head says. */
bool client_read_head(int fd, struct answer *ret);
void answer_done(struct answer *a);
/* Writes, reads one answer and returns its status; 0 when the connection ended. */
int client_ask(int fd, const char *request, struct answer *ret);
/* Connects, asks and hangs up. */
int client_once(const struct rig *s, const char *request);
/* Waits until the other end is gone. */
void client_await_end(int fd);
int64_t client_now_ms(void);

#endif
