#ifndef WRIT_DEVICE_FILES_H
#define WRIT_DEVICE_FILES_H

#include "failure.h"

/*
 * A read-only /dev with the five devices that hold nothing of the host. `path` is `target` seen from the cwd.
 * Why: ADR 0039.
 */
bool mount_device_files(const char *target, const char *path, struct failure *failure);

#endif
