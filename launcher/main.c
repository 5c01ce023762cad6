#define _GNU_SOURCE
#include <string.h>

#include "connect-inside.h"
#include "output/held-memory.h"
#include "launcher.h"
#include "output/output.h"
#include "rights/privileges.h"
#include "remove-trees.h"
#include "rights/seccomp-filter.h"
#include "cage/user-namespace.h"
#include "watch.h"

/*
 * The order of events:
 *
 *   prepare-process.c   the worker's death is ours; no descriptor, signal or limit of it is left
 *   user-namespace.c    without root: a namespace of our own, in which all that follows is allowed
 *   serve.c             one loop: frames from the worker, reports from cages, output, the dead
 *     plan.c              START: the frame becomes a plan, checked as a whole
 *     start-job.c         files, pipes and the cgroup; template.c has the shared mounts, idmap.c the maps of owners;
 *                         clone3
 *       cage.c              pid 1: namespaces, the job's own files and mounts, host name, loopback; hand-over.c gives the
 *                           worker the socket that listens there
 *       job-process.c       pid 2: session, stdio, limits, ids, capabilities, seccomp, exec; job-namespace.c lets only
 *                           its own processes count
 *       supervise.c         pid 1 again: reaps, passes signals on, reports the end
 *     output.c            pipes into memory at first (held-memory.c), then into files, to the byte
 *     end-job.c           the dead are reaped, the rest of the output kept, EXITED said; job-cgroup.c ends its cgroup,
 *                         home.c removes its directories
 *     open-beneath.c      OPEN: a file beneath a directory, whatever is moved about meanwhile
 *
 * Started as `writ-launcher remove DIR` it does one other thing and ends: remove-trees.c. So it does as
 * `writ-launcher connect PID PORT`: connect-inside.c. Why: ADR 0015.
 */
int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "remove") == 0) return remove_trees(argv[2]);
  if (argc == 4 && strcmp(argv[1], "connect") == 0) return connect_inside(argv[2], argv[3]);
  static struct launcher launcher;
  prepare_process(&launcher);
  enter_user_namespace();
  launcher.can_drop_capabilities = empty_inheritable_sets();
  launcher.filter = make_filter();
  output_probe();
  held_memory_open();
  watch_open();
  wire_open(&launcher.wire, WIRE_FD);
  return serve(&launcher);
}
