#ifndef WRIT_PLAN_CHECK_H
#define WRIT_PLAN_CHECK_H

#include "plan/plan.h"

/* Refuses a plan that cannot be carried out as a whole, and marks the mounts that belong to one job. */
bool plan_check(struct plan *plan, struct failure *failure);

#endif
