/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server's answers are measured against: libmicrohttpd with the flags, the
 * memory per connection and the threads of ours, and one constant answer.
 *
 *   bare-http BYTES TYPE THREADS    prints `listening address=127.0.0.1:PORT`; stays until its input ends
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTION_MEMORY (24 * 1024)
#define BYTES_MAX (1024 * 1024)

static struct MHD_Response *constant;

static enum MHD_Result on_access(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                                 const char *version, const char *bytes, size_t *n, void **ctx)
{
  static int seen;
  (void)cls, (void)url, (void)method, (void)version, (void)bytes;
  if (*ctx == NULL) { /* an answer at this point would end the connection */
    *ctx = &seen;
    return MHD_YES;
  }
  *n = 0;
  return MHD_queue_response(c, MHD_HTTP_OK, constant);
}

static void prepare(const char *bytes, const char *type)
{
  size_t n = strtoul(bytes, NULL, 10);
  char *body = n > 0 && n <= BYTES_MAX ? malloc(n) : NULL;
  if (body == NULL) {
    fprintf(stderr, "bare-http: %s bytes can't be served\n", bytes);
    exit(1);
  }
  memset(body, 'x', n);
  constant = MHD_create_response_from_buffer(n, body, MHD_RESPMEM_MUST_FREE);
  if (constant == NULL || MHD_add_response_header(constant, "Content-Type", type) != MHD_YES) exit(1);
}

static struct MHD_Daemon *start(unsigned threads)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_SOCK_ADDR, 0, &at},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
      {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  return MHD_start_daemon(flags, 0, NULL, NULL, on_access, NULL, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

int main(int argc, char **argv)
{
  char byte;
  if (argc != 4) {
    fprintf(stderr, "usage: bare-http BYTES TYPE THREADS\n");
    return 2;
  }
  prepare(argv[1], argv[2]);
  struct MHD_Daemon *d = start((unsigned)strtoul(argv[3], NULL, 10));
  const union MHD_DaemonInfo *port = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
  if (port == NULL) {
    fprintf(stderr, "bare-http: it can't be started\n");
    return 1;
  }
  printf("listening address=127.0.0.1:%u\n", port->port);
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {
  }
  MHD_stop_daemon(d);
  MHD_destroy_response(constant);
  return 0;
}
