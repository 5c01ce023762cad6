#ifndef WRIT_LAUNCHER_H
#define WRIT_LAUNCHER_H

#include <linux/filter.h>
#include <sys/resource.h>

#include "plan/wire.h"

/* The descriptor of the socket to the worker. */
#define WIRE_FD 3

/* What the launcher keeps for its whole life. */
struct launcher {
  struct wire wire;
  int channel_fd; /* where the worker takes sockets, CHANNEL_NONE when it takes none */
  int signal_fd;
  int own_pidfd; /* readable in each cage once the launcher has died */
  int proc_fd;   /* the host's /proc, as a path */
  struct rlimit files_limit;
  bool can_drop_capabilities;
  const struct sock_fprog *filter;
};

/* Called first: makes the launcher end with the worker, and closes every descriptor inherited from it. */
void prepare_process(struct launcher *launcher);
/* Answers the worker until it goes (0) or breaks the protocol (2); then everything that was started is dead. */
int serve(struct launcher *launcher);

#endif
