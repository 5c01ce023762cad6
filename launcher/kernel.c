#define _GNU_SOURCE
#include "kernel.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_clone_args {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

struct kernel_mount_attributes {
  uint64_t set, clear, propagation, userns_fd;
};

struct kernel_open_how {
  uint64_t flags, mode, resolve;
};

pid_t kernel_fork(uint64_t flags, int cgroup_fd) {
  struct kernel_clone_args args;
  memset(&args, 0, sizeof args);
  args.flags = flags;
  args.exit_signal = SIGCHLD;
  if (cgroup_fd >= 0) {
    args.flags |= KERNEL_CLONE_INTO_CGROUP;
    args.cgroup = (uint64_t)cgroup_fd;
  }
  return (pid_t)syscall(KERNEL_CLONE3, &args, sizeof args);
}

int kernel_open_tree(const char *path, unsigned flags) {
  return (int)syscall(KERNEL_OPEN_TREE, AT_FDCWD, path, flags | O_CLOEXEC);
}

int kernel_copy_tree(int fd) {
  unsigned flags = KERNEL_OPEN_TREE_CLONE | KERNEL_AT_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC;
  return (int)syscall(KERNEL_OPEN_TREE, fd, "", flags);
}

int kernel_move_mount(int from_fd, int to_fd) {
  unsigned flags = KERNEL_MOVE_MOUNT_F_EMPTY_PATH | KERNEL_MOVE_MOUNT_T_EMPTY_PATH;
  return (int)syscall(KERNEL_MOVE_MOUNT, from_fd, "", to_fd, "", flags);
}

int kernel_fsopen(const char *fs_name) { return (int)syscall(KERNEL_FSOPEN, fs_name, KERNEL_FSOPEN_CLOEXEC); }

int kernel_fsconfig_set(int fs_fd, const char *key, const char *value) {
  return (int)syscall(KERNEL_FSCONFIG, fs_fd, KERNEL_FSCONFIG_SET_STRING, key, value, 0);
}

int kernel_fsconfig_create(int fs_fd) {
  return (int)syscall(KERNEL_FSCONFIG, fs_fd, KERNEL_FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int kernel_fsmount(int fs_fd, unsigned attributes) {
  return (int)syscall(KERNEL_FSMOUNT, fs_fd, KERNEL_FSMOUNT_CLOEXEC, attributes);
}

int kernel_add_mount_attributes(int fd, unsigned flags, uint64_t attributes) {
  // A copy of a shared mount receives the host's later mounts and sends its own, unless it is made private.
  struct kernel_mount_attributes change = {.set = attributes, .propagation = MS_PRIVATE};
  return (int)syscall(KERNEL_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH | flags, &change, sizeof change);
}

int kernel_map_mount_ids(int fd, int userns_fd) {
  struct kernel_mount_attributes change = {.set = KERNEL_MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd};
  return (int)syscall(KERNEL_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH | KERNEL_AT_RECURSIVE, &change, sizeof change);
}

int kernel_pidfd_open(pid_t pid) { return (int)syscall(KERNEL_PIDFD_OPEN, pid, 0u); }

int kernel_close_range(unsigned first, unsigned last) {
  return (int)syscall(KERNEL_CLOSE_RANGE, first, last, 0u);
}

int kernel_open_beneath(int dir_fd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve) {
  struct kernel_open_how how = {
      .flags = flags | O_CLOEXEC,
      .mode = mode,
      .resolve = resolve | KERNEL_RESOLVE_BENEATH | KERNEL_RESOLVE_NO_SYMLINKS | KERNEL_RESOLVE_NO_MAGICLINKS,
  };
  return (int)syscall(KERNEL_OPENAT2, dir_fd, path, &how, sizeof how);
}

int kernel_open_plain(const char *path, uint64_t flags, uint64_t resolve) {
  struct kernel_open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
  return (int)syscall(KERNEL_OPENAT2, AT_FDCWD, path, &how, sizeof how);
}
