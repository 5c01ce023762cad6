#ifndef WRIT_WATCH_H
#define WRIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* The source of an event. */
enum source { SOURCE_WIRE = 1, SOURCE_SIGNALS = 2, SOURCE_REPORT = 3, SOURCE_STDOUT = 4, SOURCE_STDERR = 5, SOURCE_CHANNEL = 6 };

void watch_open(void);

/* Reports events of `fd` until unwatch. Slot and generation say which job it belongs to. */
bool watch(int fd, enum source source, uint32_t slot, uint32_t generation);
/*
 * Has to come before close: a starting cage has copies of the launcher's descriptors, and for the kernel a watch lasts
 * as long as any copy is open.
 */
void unwatch(int fd);
/* Which events of the wire are of interest just now. */
void watch_wire(int fd, uint32_t events);

int watch_wait(struct epoll_event *events, int events_max, int timeout_ms);
enum source event_source(const struct epoll_event *event);
uint32_t event_slot(const struct epoll_event *event);
uint32_t event_generation(const struct epoll_event *event);

#endif
