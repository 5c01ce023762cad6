#ifndef WRIT_JOB_PROCESS_H
#define WRIT_JOB_PROCESS_H

#include "cage/cage.h"

/*
 * Starts the job's first process in the finished cage, and returns when its program runs, or false when a step before
 * that failed: then nothing was executed. Why: ADR 0015.
 */
bool start_job_process(const struct cage *cage, pid_t *job, struct failure *failure);

#endif
