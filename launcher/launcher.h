#ifndef WRIT_LAUNCHER_H
#define WRIT_LAUNCHER_H

#include <linux/filter.h>
#include <sys/resource.h>

#include "wire.h"

/* The descriptor that the worker gave us. */
#define WIRE_FD 3

/* What the launcher holds as long as it lives. */
struct launcher {
  struct wire wire;
  int signal_fd;
  int own_pidfd; /* each cage looks at it to see whether we are still there */
  struct rlimit files_limit;
  bool can_drop_capabilities;
  const struct sock_fprog *filter;
};

/* The first thing of all: ties our life to the worker's and leaves nothing of it open. */
void prepare_process(struct launcher *launcher);
/* Answers the worker until it goes (0) or breaks the protocol (2); then everything that was started is dead. */
int serve(struct launcher *launcher);

#endif
