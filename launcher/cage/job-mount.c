/* Mounts of one job, by descriptor. Why: ADR 0020. */
#define _GNU_SOURCE
#include "cage/job-mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"
#include "protocol.h"

static bool open_source(const struct mount_step *step, int *source_fd, struct failure *failure);
static bool check_source(const struct mount_step *step, int source_fd, struct failure *failure);
static bool restrict_copy(const struct mount_step *step, int mount_fd, struct failure *failure);
static bool map_owner(const struct mount_step *step, int mount_fd, struct failure *failure);

bool open_job_mount(const struct mount_step *step, int *mount_fd, struct failure *failure) {
  int source_fd = -1;
  if (!open_source(step, &source_fd, failure) || !check_source(step, source_fd, failure)) return false;
  *mount_fd = kernel_copy_tree(source_fd);
  if (*mount_fd < 0) return fail(failure, STEP_JOB_MOUNT, "%s: copying %s", step->target, step->source);
  if (close(source_fd) != 0) return fail(failure, STEP_JOB_MOUNT, "%s: closing %s", step->target, step->source);
  return restrict_copy(step, *mount_fd, failure) && map_owner(step, *mount_fd, failure);
}

static bool open_source(const struct mount_step *step, int *source_fd, struct failure *failure) {
  int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root_fd < 0) return fail(failure, STEP_JOB_MOUNT, "opening the root of the host");
  *source_fd = kernel_open_beneath(root_fd, step->source + 1, O_PATH, 0, 0);
  if (*source_fd < 0) return fail(failure, STEP_JOB_MOUNT, "%s: opening %s", step->target, step->source);
  if (close(root_fd) != 0) return fail(failure, STEP_JOB_MOUNT, "closing the root of the host");
  return true;
}

static bool check_source(const struct mount_step *step, int source_fd, struct failure *failure) {
  struct stat found;
  if (fstat(source_fd, &found) != 0) return fail(failure, STEP_JOB_MOUNT, "looking at %s", step->source);
  bool wants_file = (step->flags & MOUNT_ONE_FILE) != 0;
  errno = wants_file ? EINVAL : ENOTDIR;
  if (wants_file ? !S_ISREG(found.st_mode) : !S_ISDIR(found.st_mode)) {
    return fail(failure, STEP_JOB_MOUNT, "%s is not a %s", step->source, wants_file ? "plain file" : "directory");
  }
  errno = EPERM;
  bool is_owner = found.st_uid == step->uid && found.st_gid == step->gid;
  if ((step->flags & MOUNT_IDMAP) == 0 || is_owner) return true;
  return fail(failure, STEP_JOB_MOUNT, "%s belongs to %u:%u, not to %u:%u", step->source, found.st_uid, found.st_gid,
              step->uid, step->gid);
}

/* Recursively: a mount below it that stayed writable would be a hole in a read-only tree. */
static bool restrict_copy(const struct mount_step *step, int mount_fd, struct failure *failure) {
  unsigned attributes = KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV;
  if ((step->flags & MOUNT_WRITABLE) == 0) attributes |= KERNEL_MOUNT_ATTR_RDONLY;
  if ((step->flags & MOUNT_NOEXEC) != 0) attributes |= KERNEL_MOUNT_ATTR_NOEXEC;
  if (kernel_add_mount_attributes(mount_fd, KERNEL_AT_RECURSIVE, attributes) == 0) return true;
  return fail(failure, STEP_JOB_MOUNT, "%s: restricting %s", step->target, step->source);
}

static bool map_owner(const struct mount_step *step, int mount_fd, struct failure *failure) {
  if ((step->flags & MOUNT_IDMAP) == 0) return true;
  if (kernel_map_mount_ids(mount_fd, step->idmap_fd) == 0) return true;
  return fail(failure, STEP_IDMAP, "%s: this kernel or the file system of %s does not support idmapped mounts",
              step->target, step->source);
}
