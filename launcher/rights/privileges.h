#ifndef WRIT_PRIVILEGES_H
#define WRIT_PRIVILEGES_H

#include <stdint.h>

#include "failure.h"

/*
 * Empties the bounding and the ambient set of the launcher, once and for all: it executes no program itself, so it
 * keeps what it can do, and nothing that it starts can regain it by executing one. False when that is not allowed.
 */
bool empty_inheritable_sets(void);

/* These act on the calling process alone, whatever memory it shares, and the job's process shares its parent's. */
bool change_ids(uint32_t uid, uint32_t gid, struct failure *failure);
/* All that are left after empty_inheritable_sets. */
bool drop_capabilities(struct failure *failure);
/* For a cage's pid 1, which has to signal a job of another user, and in its pid namespace can reach nobody else. */
bool keep_kill_capability(struct failure *failure);
bool forbid_new_privileges(struct failure *failure);

#endif
