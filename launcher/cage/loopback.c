#define _GNU_SOURCE
#include "cage/loopback.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Programs open many connections at once, and they wait here while the worker is busy. */
#define WAITING_MAX 128

bool raise_loopback(struct failure *failure) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  memcpy(request.ifr_name, "lo", sizeof "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(failure, STEP_NETWORK, "opening a socket");
  if (ioctl(fd, SIOCSIFFLAGS, &request) != 0) return fail(failure, STEP_NETWORK, "raising the loopback");
  if (close(fd) != 0) return fail(failure, STEP_NETWORK, "closing a socket");
  return true;
}

int listen_on_loopback(uint16_t port, struct failure *failure) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(failure, STEP_NETWORK, "opening a socket"), -1;
  if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, WAITING_MAX) == 0) return fd;
  (void)fail(failure, STEP_NETWORK, "listening on port %u", port);
  (void)close(fd);
  return -1;
}
