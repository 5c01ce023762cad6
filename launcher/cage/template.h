#ifndef WRIT_TEMPLATE_H
#define WRIT_TEMPLATE_H

#include "plan/plan.h"

/*
 * Most mounts of a job are the same for all jobs: /usr, /etc, /dev, the directories in between. That part is built
 * once, in a mount namespace without processes, and each job gets a private copy of it by one unshare. Nothing in it
 * can be written to, and each copy's mounts are its own. Measured beside the same code without reuse, this gives twice
 * the starts a second. Why: ADR 0015.
 */

/*
 * Gives a descriptor of the mount namespace that fits the plan; it stays ours, do not close it. It is built anew
 * when the plan's shared mounts differ from what we have, or when one of their sources was replaced on the host.
 * Looks at the sources of all binds and notes in the plan what they are.
 */
bool template_for(struct plan *plan, int *namespace_fd, struct failure *failure);

#endif
