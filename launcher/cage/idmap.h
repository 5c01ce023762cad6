#ifndef WRIT_IDMAP_H
#define WRIT_IDMAP_H

#include "plan/plan.h"

/*
 * In an idmapped mount the files of one owner appear as files of another user, here the job's, and new files belong to
 * the owner. The kernel takes the pair of ids from a user namespace, which needs no process. The jobs of a worker have
 * few different owners, so the namespaces are cached. Why: ADR 0020.
 */

/* Sets idmap_fd of every idmapped mount of the plan. The descriptors stay in the cache: do not close them. */
bool make_idmaps(struct plan *plan, struct failure *failure);

#endif
