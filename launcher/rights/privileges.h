#ifndef WRIT_PRIVILEGES_H
#define WRIT_PRIVILEGES_H

#include <stdint.h>

#include "failure.h"

/*
 * Empties the bounding and the ambient set of the launcher, once and for all: it executes no program itself, so it
 * keeps its capabilities, and no process that it starts can regain them by executing one. False when that is not
 * allowed.
 */
bool empty_inheritable_sets(void);

/* These act on the calling process alone, even if it shares memory, as the job's process does with its parent. */
bool change_ids(uint32_t uid, uint32_t gid, struct failure *failure);
/* All that are left after empty_inheritable_sets. */
bool drop_capabilities(struct failure *failure);
/*
 * For a cage's pid 1, which has to signal a job of another user, and can reach no other process in its pid namespace.
 */
bool keep_kill_capability(struct failure *failure);
bool forbid_new_privileges(struct failure *failure);

#endif
