#ifndef WRIT_CAGE_H
#define WRIT_CAGE_H

#include <linux/filter.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "plan/plan.h"

/* The parts of a cage besides the plan. The descriptors are the child's copies of the launcher's. */
struct cage {
  const struct plan *plan;
  int template_fd; /* the mount namespace to copy, -1 without one */
  int report_fd, stdout_fd, stderr_fd;
  int stdin_fd; /* of TAG_STDIN_FILE, -1 without one */
  int launcher_pidfd;
  int proc_fd; /* the host's /proc */
  int channel_fd; /* for a socket that the worker is handed, CHANNEL_NONE without one */
  uint32_t id;    /* of the job */
  struct rlimit files_limit; /* what the launcher had before it raised its own */
  const struct sock_fprog *filter;
};

/*
 * Runs as the first process of a new pid namespace (its pid 1): builds the cage, starts the job in it, reaps what
 * the job leaves, and ends when the job ends, which ends all else in the cage. Without a pid namespace it does
 * the same as well as it can.
 */
_Noreturn void run_cage(const struct cage *cage);

#endif
