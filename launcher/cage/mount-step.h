#ifndef WRIT_MOUNT_STEP_H
#define WRIT_MOUNT_STEP_H

#include <stdbool.h>

#include "plan/plan.h"

#define MOUNT_FD_NONE (-1)    /* this kind of mount is made where it belongs */
#define MOUNT_FD_SKIPPED (-2) /* its source does not exist and the plan allows that */

/* True for mounts; false for files, links and directories in the root file system itself. */
bool needs_mount_point(const struct mount_step *step);

/*
 * Makes a bind, or a view of /proc, as a mount that is attached nowhere yet, with its final attributes. It is done
 * while the host is still in sight: a bind needs its source, and in a user namespace the kernel makes a new /proc only
 * for a process that already sees one. The mount is attached after that, so at no time is a writable or setuid view of
 * the host reachable. Gives a descriptor or one of the two above.
 */
bool open_mount(const struct mount_step *step, int *mount_fd, struct failure *failure);

/* Does the step, and closes `mount_fd`. The cwd is the new root. */
bool apply_mount(const struct mount_step *step, int mount_fd, struct failure *failure);

/* Remounts the mount whose root is `path` with more attributes. */
bool restrict_mount(const char *path, unsigned attributes, struct failure *failure);

#endif
