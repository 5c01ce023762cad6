#ifndef WRIT_PLAN_CHECK_H
#define WRIT_PLAN_CHECK_H

#include "plan/plan.h"

/* Refuses a plan that cannot be obeyed as a whole, and marks the mounts that each job has for its own. */
bool plan_check(struct plan *plan, struct failure *failure);

#endif
