/* Sockets for the worker, over a channel of Node. Why: ADR 0120. */
#define _GNU_SOURCE
#include "hand-over.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "fatal.h"

#define MESSAGE_BYTES_MAX 96
#define PIECE_BYTES 4096

int find_channel(void) {
  int domain = 0;
  socklen_t length = sizeof domain;
  if (getsockopt(CHANNEL_FD, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX) return CHANNEL_NONE;
  if (fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) != 0) fatal("keeping the channel to ourselves");
  return CHANNEL_FD;
}

bool hand_over(int channel_fd, uint32_t id, int listener_fd, struct failure *failure) {
  errno = ENOTCONN;
  if (channel_fd == CHANNEL_NONE) return fail(failure, STEP_NETWORK, "the worker takes no sockets");
  char message[MESSAGE_BYTES_MAX];
  int length = snprintf(message, sizeof message,
                        "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":{\"job\":%u}}\n", id);
  struct iovec text = {.iov_base = message, .iov_len = (size_t)length};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr header = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(rights), &listener_fd, sizeof listener_fd);
  // So short a message is taken as a whole; when the worker reads too slowly, only this start waits for it.
  if (sendmsg(channel_fd, &header, MSG_NOSIGNAL) == length) return true;
  return fail(failure, STEP_NETWORK, "handing a socket to the worker");
}

bool drain_channel(int channel_fd) {
  static char piece[PIECE_BYTES];
  ssize_t got = recv(channel_fd, piece, sizeof piece, MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}
