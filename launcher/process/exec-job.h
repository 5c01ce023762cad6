#ifndef WRIT_EXEC_JOB_H
#define WRIT_EXEC_JOB_H

#include "plan/plan.h"

/* Becomes the job's program, found in the plan's PATH. Returns only when that failed, always false. */
bool exec_job(const struct plan *plan, struct failure *failure);

#endif
