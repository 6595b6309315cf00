/* SPDX-License-Identifier: Apache-2.0 */
/* Work in processes of their own: for memory, for counting system calls, for other people's programs. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include "bench.h"

/* Runs a program to its end and reads at most `size` - 1 bytes of its output. False: it failed or is not there. */
bool process_read(const char *const *argv, char *out, size_t size);
bool process_found(const char *program);

/* This program as `bench --child NAME DIR ARGS…`; its output. */
#define CHILD_ARGS 4
void child_read(const struct bench *b, const char *name, const char *const args[CHILD_ARGS], char *out, size_t size);

struct syscalls {
  double all, sync, write, futex;
  double wait; /* sleeps and looks at the CPU time: settle() */
};
/*
 * The same under strace: how often each was called. `threads`: by all of them, else
 * by the first one alone. False without a working strace.
 */
bool child_syscalls(const struct bench *b, const char *name, const char *const args[CHILD_ARGS], bool threads,
                    struct syscalls *ret);

/* What a child does, by name. */
typedef void child_fn(const struct bench *b, char **args);
child_fn child_resume, child_bare_resume, child_throttle, child_cost, child_recall;

#endif
