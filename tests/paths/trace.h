/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder of the tracing build (trace.c). */
#ifndef PATHS_TRACE_H
#define PATHS_TRACE_H

/* Forgets what was recorded so far: a program calls it behind its preparations. */
void trace_reset(void);

#endif
