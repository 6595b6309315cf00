/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that tests start, kill and wait for. None outlives the test. */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Runs fn(arg) in a new process, whose exit code is fn's result. */
pid_t child_run(int (*fn)(void *arg), void *arg);
/* Runs a program with pipes on its stdin and stdout (NULL: its own stay); ours are non-blocking. */
pid_t child_exec(const char *const *argv, int *ret_in, int *ret_out);
/* Runs a program to its end: its exit code, or -1 when it could not be run or was killed. */
int child_call(const char *const *argv);
/* The exit code, or 128 + signal. */
int child_wait(pid_t pid);
/* SIGKILL and wait. */
void child_kill(pid_t pid);
/* SIGKILL and wait until it is dead, leaving the zombie: child_wait takes it away. */
void child_kill_unreaped(pid_t pid);

/* Memory that parent and children share; aborts without. */
void *child_shared(size_t n);

#endif
