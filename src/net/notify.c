/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's notification protocol: a few words in a datagram on a unix socket. */
#include <sys/socket.h>
#include <sys/un.h>

#include "net/listen.h"

void rp__notify(const char *state)
{
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  size_t n = path ? strlen(path) : 0;
  if (n < 2 || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@')) return;
  memcpy(to.sun_path, path, n);
  if (*path == '@') to.sun_path[0] = '\0'; /* an abstract name */
  RP_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  /* Nobody can be told when this fails; the manager has a timeout of its own. */
  (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}
