#define _GNU_SOURCE
#include "cage/device-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel.h"
#include "cage/mount-step.h"
#include "cage/user-namespace.h"

static const struct {
  const char *name;
  unsigned minor;
} devices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};

static const struct {
  const char *name, *target;
} links[] = {
    {"fd", "/proc/self/fd"},
    {"stdin", "/proc/self/fd/0"},
    {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"},
};

static bool fill(int dir_fd, const char *target, struct failure *failure);
static bool bind_device(int dir_fd, const char *name, dev_t number);

bool mount_device_files(const char *target, const char *path, struct failure *failure) {
  if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=32,mode=0755") != 0) {
    return fail(failure, STEP_MOUNT, "%s: mounting tmpfs", target);
  }
  int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0) return fail(failure, STEP_MOUNT, "%s: opening it", target);
  if (!fill(dir_fd, target, failure)) return false;
  if (close(dir_fd) != 0) return fail(failure, STEP_MOUNT, "%s: closing it", target);
  return restrict_mount(path, KERNEL_MOUNT_ATTR_RDONLY, failure);
}

static bool fill(int dir_fd, const char *target, struct failure *failure) {
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    dev_t number = makedev(1, devices[i].minor);
    bool is_there = in_user_namespace() ? bind_device(dir_fd, devices[i].name, number)
                                        : mknodat(dir_fd, devices[i].name, S_IFCHR | 0666, number) == 0;
    if (!is_there) return fail(failure, STEP_MOUNT, "%s/%s: making the device", target, devices[i].name);
  }
  for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
    if (symlinkat(links[i].target, dir_fd, links[i].name) != 0) {
      return fail(failure, STEP_MOUNT, "%s/%s: making the link", target, links[i].name);
    }
  }
  if (mkdirat(dir_fd, "shm", 0755) != 0) return fail(failure, STEP_MOUNT, "%s/shm: making it", target);
  return true;
}

/* A user namespace does not allow new devices, so the host's own is bound: exactly that one, read-only. */
static bool bind_device(int dir_fd, const char *name, dev_t number) {
  char source[32];
  struct stat found;
  (void)snprintf(source, sizeof source, "/dev/%s", name);
  int device_fd = kernel_open_tree(source, KERNEL_OPEN_TREE_CLONE);
  if (device_fd < 0 || fstat(device_fd, &found) != 0) return false;
  errno = ENODEV;
  if (!S_ISCHR(found.st_mode) || found.st_rdev != number) return false;
  int point_fd = openat(dir_fd, name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
  if (point_fd < 0) return false;
  unsigned attributes = KERNEL_MOUNT_ATTR_RDONLY | KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NOEXEC;
  return kernel_add_mount_attributes(device_fd, 0, attributes) == 0 && kernel_move_mount(device_fd, point_fd) == 0 &&
         close(device_fd) == 0 && close(point_fd) == 0;
}
