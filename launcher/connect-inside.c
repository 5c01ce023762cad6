#define _GNU_SOURCE
#include "connect-inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fatal.h"

#define PIECE_BYTES 65536

static unsigned long number_in(const char *text, unsigned long max);
static void enter_network_of(unsigned long pid);
static int open_namespace(unsigned long pid, const char *name);
static bool is_ours(int net_fd);
static int open_connection(uint16_t port);
static int try_address(const struct sockaddr *address, socklen_t length);
static void copy_both_ways(int connection);
static bool copy_piece(int from, int to);

int connect_inside(const char *pid, const char *port) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fatal("asking to die with the worker");
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) fatal("ignoring a signal");
  enter_network_of(number_in(pid, INT32_MAX));
  int connection = open_connection((uint16_t)number_in(port, UINT16_MAX));
  if (connection < 0) return CONNECT_REFUSED;
  char connected = CONNECTED;
  if (write(STDOUT_FILENO, &connected, 1) == 1) copy_both_ways(connection);
  return 0;
}

static unsigned long number_in(const char *text, unsigned long max) {
  char *end;
  errno = 0;
  unsigned long number = strtoul(text, &end, 10);
  if (errno != 0 || *end != '\0' || *text < '0' || *text > '9' || number == 0 || number > max)
    fatal("not a number that can be used: %s", text);
  return number;
}

static void enter_network_of(unsigned long pid) {
  int net_fd = open_namespace(pid, "net");
  // The host's own network is refused, because any program can listen there.
  if (is_ours(net_fd)) fatal("process %lu has no network of its own", pid);
  if (setns(net_fd, CLONE_NEWNET) != 0) {
    // Without root: the owner may enter the network from its user namespace.
    if (errno != EPERM) fatal("entering a network");
    int user_fd = open_namespace(pid, "user");
    if (setns(user_fd, CLONE_NEWUSER) != 0) fatal("entering a user namespace");
    if (setns(net_fd, CLONE_NEWNET) != 0) fatal("entering a network");
    if (close(user_fd) != 0) fatal("closing a namespace");
  }
  if (close(net_fd) != 0) fatal("closing a namespace");
}

static int open_namespace(unsigned long pid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lu/ns/%s", pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fatal("opening %s", path);
  return fd;
}

static bool is_ours(int net_fd) {
  struct stat theirs, ours;
  if (fstat(net_fd, &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0) fatal("comparing networks");
  return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* Some servers listen on one of the two addresses only. */
static int open_connection(uint16_t port) {
  struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  int connection = try_address((const struct sockaddr *)&ipv4, sizeof ipv4);
  return connection >= 0 ? connection : try_address((const struct sockaddr *)&ipv6, sizeof ipv6);
}

/* -1 if no process answers there, for any reason. */
static int try_address(const struct sockaddr *address, socklen_t length) {
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, address, length) == 0) return fd;
  if (close(fd) != 0) fatal("closing a socket");
  return -1;
}

/* A worker that has finished closes both; a server that has answered closes its side. */
static void copy_both_ways(int connection) {
  struct pollfd ends[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = connection, .events = POLLIN}};
  while (true) {
    if (poll(ends, 2, -1) < 0) {
      if (errno == EINTR) continue;
      fatal("waiting for bytes");
    }
    if (ends[0].revents != 0 && !copy_piece(STDIN_FILENO, connection)) return;
    if (ends[1].revents != 0 && !copy_piece(connection, STDOUT_FILENO)) return;
  }
}

/* False at the end of either. */
static bool copy_piece(int from, int to) {
  static char piece[PIECE_BYTES];
  ssize_t length = read(from, piece, sizeof piece);
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (length <= 0) return false;
  for (ssize_t done = 0; done < length;) {
    ssize_t written = write(to, piece + done, (size_t)(length - done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += written;
  }
  return true;
}
