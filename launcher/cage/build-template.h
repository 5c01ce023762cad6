#ifndef WRIT_BUILD_TEMPLATE_H
#define WRIT_BUILD_TEMPLATE_H

#include "plan/plan.h"

/*
 * Builds the shared part of a plan's mounts and the mount points of the rest. Gives a descriptor of the finished
 * mount namespace; no process is left in it.
 */
bool build_template(const struct plan *plan, int *namespace_fd, struct failure *failure);

#endif
