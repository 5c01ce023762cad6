#ifndef WRIT_MOUNT_POINT_H
#define WRIT_MOUNT_POINT_H

#include <stdbool.h>

#include "plan/plan.h"

/*
 * Paths in the cage are resolved from its root, which is the cwd, one name at a time and without following symbolic
 * links: a mount of the host may contain links of another user, which must not redirect another mount.
 */

/* Opens the directory above a path of the cage, creating what is missing, and gives the last name of the path. */
int open_parent(const char *cage_path, const char **name);

/* Creates the file or directory to which a mount is attached, and the directories above it, where they are missing. */
bool make_mount_point(const struct mount_step *step, struct failure *failure);

/* Attaches the mount behind `mount_fd` to its mount point, and closes the descriptor. */
bool attach_mount(const struct mount_step *step, int mount_fd, struct failure *failure);

/* The name under which the step fails; the mounts of one job have one of their own. */
const char *failing_step(const struct mount_step *step);

#endif
