#define _GNU_SOURCE
#include "cage/loopback.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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
