#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <stddef.h>

#include "fatal.h"

static int epoll_fd = -1;

void watch_open(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) fatal("making an epoll");
}

bool watch(int fd, enum source source, uint32_t slot, uint32_t generation) {
  struct epoll_event event = {.events = EPOLLIN};
  event.data.u64 = (uint64_t)source << 56 | (uint64_t)slot << 32 | generation;
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void unwatch(int fd) {
  // A start that failed half-way closes descriptors that were never watched.
  if (epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL) != 0 && errno != ENOENT) fatal("unwatching a descriptor");
}

void watch_wire(int fd, uint32_t events) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)SOURCE_WIRE << 56};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) fatal("watching the worker");
}

int watch_wait(struct epoll_event *events, int events_max, int timeout_ms) {
  int count = epoll_wait(epoll_fd, events, events_max, timeout_ms);
  if (count < 0 && errno != EINTR) fatal("waiting for events");
  return count;
}

enum source event_source(const struct epoll_event *event) { return (enum source)(event->data.u64 >> 56); }

uint32_t event_slot(const struct epoll_event *event) { return (uint32_t)(event->data.u64 >> 32) & 0xffffff; }

uint32_t event_generation(const struct epoll_event *event) { return (uint32_t)event->data.u64; }
