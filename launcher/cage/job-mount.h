#ifndef WRIT_JOB_MOUNT_H
#define WRIT_JOB_MOUNT_H

#include <stdbool.h>

#include "plan/plan.h"

/*
 * Opens the source of a MOUNT_JOB as a mount that is attached nowhere yet, with its final attributes. The path is
 * resolved once, without following symbolic links; after that only the descriptor is used. If a directory is replaced
 * by a link meanwhile, the mount is refused. The source must have the kind and owner that the plan names. Why: ADR
 * 0020.
 */
bool open_job_mount(const struct mount_step *step, int *mount_fd, struct failure *failure);

#endif
