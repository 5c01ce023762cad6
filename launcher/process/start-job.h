#ifndef WRIT_START_JOB_H
#define WRIT_START_JOB_H

#include "launcher.h"
#include "plan/plan.h"

/*
 * Starts what the plan says and returns at once: the cage is built in its own process, which reports. False when
 * it came to nothing already, and nothing is left of it but empty output files. Why: ADR 0015.
 */
bool start_job(const struct launcher *launcher, uint32_t id, struct plan *plan, struct failure *failure);

#endif
