#ifndef WRIT_START_JOB_H
#define WRIT_START_JOB_H

#include "launcher.h"
#include "plan/plan.h"

/*
 * Starts a job from its plan and returns at once: the cage is built in its own process, which reports. False when the
 * start has failed already; then only empty output files are left. Why: ADR 0015.
 */
bool start_job(const struct launcher *launcher, uint32_t id, struct plan *plan, struct failure *failure);

#endif
