#ifndef WRIT_JOB_CGROUP_H
#define WRIT_JOB_CGROUP_H

#include "plan/plan.h"
#include "plan/wire.h"

/* The cgroup that a job starts in; fd is -1 without one. Why: ADR 0015, ADR 0067. */
struct job_cgroup {
  int fd;
  /* Its path and the value that lifts its I/O limit, one after the other; NULL when the worker removes it. */
  char *path;
  const char *io_lift;
};

bool job_cgroup_open(struct job_cgroup *cgroup, const struct plan *plan, struct failure *failure);
/*
 * Adds the cgroup's counts to a reply, and removes the cgroup when it is the job's own. If it contains a process or
 * another cgroup, it is left to the worker, which has the time to wait.
 */
void job_cgroup_end(struct job_cgroup *cgroup, struct wire *wire);
void job_cgroup_close(struct job_cgroup *cgroup);

#endif
