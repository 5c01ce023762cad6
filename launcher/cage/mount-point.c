#define _GNU_SOURCE
#include "cage/mount-point.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"
#include "protocol.h"

static int open_folder(int dir_fd, const char *name);
static int open_or_make_file(int dir_fd, const char *name);
static int close_keeping_errno(int fd, int result);

int open_parent(const char *cage_path, const char **name) {
  char folder[NAME_MAX + 1];
  int dir_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  *name = cage_path + 1;
  for (const char *slash = strchr(*name, '/'); dir_fd >= 0 && slash != NULL; slash = strchr(*name, '/')) {
    size_t length = (size_t)(slash - *name);
    errno = ENAMETOOLONG;
    if (length > NAME_MAX) return close_keeping_errno(dir_fd, -1);
    memcpy(folder, *name, length);
    folder[length] = '\0';
    dir_fd = close_keeping_errno(dir_fd, open_folder(dir_fd, folder));
    *name = slash + 1;
  }
  return dir_fd;
}

bool make_mount_point(const struct mount_step *step, struct failure *failure) {
  const char *name;
  int dir_fd = open_parent(step->target, &name);
  if (dir_fd < 0) return fail(failure, failing_step(step), "%s: making the directories above it", step->target);
  int fd = step->source_kind == SOURCE_FILE ? open_or_make_file(dir_fd, name) : open_folder(dir_fd, name);
  fd = close_keeping_errno(dir_fd, fd);
  if (fd < 0) return fail(failure, failing_step(step), "%s: making its mount point", step->target);
  if (close(fd) != 0) return fail(failure, failing_step(step), "%s: closing its mount point", step->target);
  return true;
}

bool attach_mount(const struct mount_step *step, int mount_fd, struct failure *failure) {
  int root_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root_fd < 0) return fail(failure, failing_step(step), "opening the root of the cage");
  int point_fd = kernel_open_beneath(root_fd, step->target + 1, O_PATH, 0, 0);
  if (point_fd < 0) return fail(failure, failing_step(step), "%s: opening its mount point", step->target);
  if (kernel_move_mount(mount_fd, point_fd) != 0) {
    return fail(failure, failing_step(step), "%s: attaching %s", step->target, step->source);
  }
  if (close(root_fd) != 0 || close(point_fd) != 0 || close(mount_fd) != 0) {
    return fail(failure, failing_step(step), "%s: closing its mount point", step->target);
  }
  return true;
}

const char *failing_step(const struct mount_step *step) {
  return step->kind == MOUNT_JOB ? STEP_JOB_MOUNT : STEP_MOUNT;
}

static int open_folder(int dir_fd, const char *name) {
  int fd = kernel_open_beneath(dir_fd, name, O_PATH | O_DIRECTORY, 0, 0);
  if (fd >= 0 || errno != ENOENT) return fd;
  if (mkdirat(dir_fd, name, 0755) != 0 && errno != EEXIST) return -1;
  return kernel_open_beneath(dir_fd, name, O_PATH | O_DIRECTORY, 0, 0);
}

static int open_or_make_file(int dir_fd, const char *name) {
  int fd = kernel_open_beneath(dir_fd, name, O_PATH, 0, 0);
  if (fd >= 0 || errno != ENOENT) return fd;
  return kernel_open_beneath(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0444, 0);
}

/* Gives `result`, or -1 when `fd` cannot be closed. */
static int close_keeping_errno(int fd, int result) {
  int error = errno;
  if (close(fd) != 0) {
    if (result >= 0) (void)close(result);
    return -1;
  }
  errno = error;
  return result;
}
