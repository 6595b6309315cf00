/* SPDX-License-Identifier: Apache-2.0 */
/* What the section `serve` is made of: programs beside this one, a client that times its calls, wrk. */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <sys/types.h>

#include "ours.h"

#define LINE_BYTES 1024

/* ---- serve-program.c: programs that run beside this one ---- */

struct program {
  char name[32];
  char log[BENCH_PATH]; /* what it says, on both of its outputs */
  pid_t pid;
  int in;      /* its input */
  int port;    /* where it listens */
  int threads; /* that read requests */
  double cpu;  /* what it had used when the load on it began */
};

/* argv[0] is a path, or a word for $PATH. `name` is for its log and for complaints. */
void program_start(struct program *p, const struct bench *b, const char *name, const char *const *argv);
/* Waits for the first line that holds `word`. */
void program_line(const struct program *p, const char *word, char line[LINE_BYTES]);
bool program_runs(struct program *p); /* false: it has ended well, and is gone */
void program_tell(const struct program *p, const char *line);
void program_pause(const struct program *p, bool pause);
double program_rss(const struct program *p); /* bytes; of a process as a whole */
double program_cpu(const struct program *p); /* seconds so far */
/* Waits until it uses no more than this share of a processor. */
void program_settle(const struct program *p, const struct bench *b, double share);
void program_stop(struct program *p);

/* Those of this build. */
void serve_start(struct program *p, const struct bench *b, const char *name, const char *db);
void bare_start(struct program *p, const struct bench *b, size_t bytes, const char *type, int threads);
void swarm_start(struct program *p, const struct bench *b, int port, int64_t channels, int64_t readers);

/* ---- serve-client.c: one connection that is kept ---- */

struct client {
  int fd, port;
  char type[64]; /* of the last answer */
  char *body;    /* of the last answer, with a NUL behind it */
  size_t n, cap;
};

void client_open(struct client *c, int port);
void client_close(struct client *c);
/* The status. `body` may be NULL. */
int client_ask(struct client *c, const char *method, const char *path, const char *body);
/* The same, and any other status ends the program. */
void client_must(struct client *c, int status, const char *method, const char *path, const char *body);

/* ---- serve-load.c: many at once ---- */

struct load {
  double per_second;
  double p50, p90, p95, p99, max; /* ns */
  double cpu;                     /* ns per request, of who serves them */
  int64_t requests, bad;
};

bool load_found(void); /* wrk */
/* 64 connections that ask for `path`, or, without one, append to the sessions of load_prepare. */
void load_start(struct program *p, const struct bench *b, struct program *server, const char *path, int seconds);
/* Waits for its end; `server` is who served it. A request that failed ends the program. */
struct load load_end(struct program *p, const struct program *server);
void load_prepare(const struct bench *b, int64_t sessions);
void load_id(int64_t i, char out[32]); /* of the i-th session */

/* ---- serve-embedded.c: as many threads in this process ---- */

struct embedded;
struct embedded *embedded_open(const struct bench *b, int64_t sessions);
struct load embedded_run(struct embedded *e, double seconds);
void embedded_close(struct embedded *e);

#define SERVE_CLIENTS 64

#endif
