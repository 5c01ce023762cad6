#ifndef WRIT_JOB_CGROUP_H
#define WRIT_JOB_CGROUP_H

#include "plan/plan.h"
#include "plan/wire.h"

/* The cgroup that a job is born in; fd is -1 without one. Why: ADR 0015, ADR 0067. */
struct job_cgroup {
  int fd;
  /* Where it is and what lifts its limit of i/o, one after the other; NULL when it is not ours to remove. */
  char *path;
  const char *io_lift;
};

bool job_cgroup_open(struct job_cgroup *cgroup, const struct plan *plan, struct failure *failure);
/*
 * Adds to a reply what the cgroup has counted, and removes it when it is the job's own. What cannot be removed, because
 * somebody put a process or another cgroup into it, is left to the worker, which has the time to wait.
 */
void job_cgroup_end(struct job_cgroup *cgroup, struct wire *wire);
void job_cgroup_close(struct job_cgroup *cgroup);

#endif
