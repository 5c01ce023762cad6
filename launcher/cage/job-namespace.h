#ifndef WRIT_JOB_NAMESPACE_H
#define WRIT_JOB_NAMESPACE_H

#include "plan/plan.h"

/*
 * RLIMIT_NPROC counts all processes of a user in a user namespace, and all jobs are in the launcher's: they would count
 * for each other. So there a job with this limit starts in one more user namespace, in which only its own processes
 * count. It is the same user in both. Why: ADR 0040.
 */
bool needs_job_namespace(const struct plan *plan);

/* In the job's process: maps the one user of its namespace, and drops the rights of the first process in it. */
bool settle_in_job_namespace(int proc_fd, struct failure *failure);

#endif
