/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a client's bytes into messages. libwslay parses frame heads and masks; this
 * file applies the rules for sequences of frames (RFC 6455, 5.4 to 5.6). libwslay's own
 * event interface would keep 8.6 KiB per socket all the time; this code keeps half of
 * that, and only while a frame or a message is incomplete.
 */
#ifndef RP_NET_FRAMES_H
#define RP_NET_FRAMES_H

#include <stdbool.h>

#include "base/macros.h"

struct rp__frames; /* what has come of a frame or a message that is not whole */

enum rp__control {
  RP_FRAME_CLOSE = 8,
  RP_FRAME_PING = 9,
  RP_FRAME_PONG = 10,
};
#define RP_CONTROL_MAX 125 /* bytes of a control frame's payload */

struct rp__frames_handler {
  /* A whole message: text is UTF-8. False: no more. */
  bool (*message)(void *ctx, bool binary, const char *bytes, size_t n);
  bool (*control)(void *ctx, enum rp__control kind, const char *bytes, size_t n);
};

/*
 * `*f` is NULL between messages. Returns 0, or the close code (1002, 1007, 1009, 1011) of what is wrong, told in
 * *ret_why; then nothing more may be fed.
 */
int rp__frames_feed(struct rp__frames **f, const char *bytes, size_t n, size_t max_message,
                    const struct rp__frames_handler *h, void *ctx, const char **ret_why);
void rp__frames_free(struct rp__frames *f); /* NULL is fine */

/* The code in a close frame's payload, 1005 when it is empty; or 0, then *ret_wrong is 1002 or 1007. */
int rp__close_code(const char *bytes, size_t n, int *ret_wrong);

#endif
