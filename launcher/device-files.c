#define _GNU_SOURCE
#include "device-files.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel.h"
#include "mount-step.h"

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
    if (mknodat(dir_fd, devices[i].name, S_IFCHR | 0666, makedev(1, devices[i].minor)) != 0) {
      return fail(failure, STEP_MOUNT, "%s/%s: making the device", target, devices[i].name);
    }
  }
  for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
    if (symlinkat(links[i].target, dir_fd, links[i].name) != 0) {
      return fail(failure, STEP_MOUNT, "%s/%s: making the link", target, links[i].name);
    }
  }
  if (mkdirat(dir_fd, "shm", 0755) != 0) return fail(failure, STEP_MOUNT, "%s/shm: making it", target);
  return true;
}
