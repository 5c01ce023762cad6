#ifndef WRIT_KERNEL_H
#define WRIT_KERNEL_H

#include <stdint.h>
#include <sys/types.h>

/*
 * System calls that a C library may be too old to know. The numbers of all calls since Linux 5.1 are the same on
 * every architecture, so they are written out here instead of being asked from the build host's headers.
 */

#define KERNEL_OPEN_TREE 428
#define KERNEL_MOVE_MOUNT 429
#define KERNEL_FSOPEN 430
#define KERNEL_FSCONFIG 431
#define KERNEL_FSMOUNT 432
#define KERNEL_PIDFD_OPEN 434
#define KERNEL_CLONE3 435
#define KERNEL_CLOSE_RANGE 436
#define KERNEL_OPENAT2 437
#define KERNEL_MOUNT_SETATTR 442

#define KERNEL_CLONE_INTO_CGROUP 0x200000000ull

#define KERNEL_OPEN_TREE_CLONE 1u
#define KERNEL_AT_RECURSIVE 0x8000u
#define KERNEL_MOVE_MOUNT_F_EMPTY_PATH 4u
#define KERNEL_MOVE_MOUNT_T_EMPTY_PATH 0x40u
#define KERNEL_FSOPEN_CLOEXEC 1u
#define KERNEL_FSMOUNT_CLOEXEC 1u
#define KERNEL_FSCONFIG_SET_STRING 1u
#define KERNEL_FSCONFIG_CMD_CREATE 6u

#define KERNEL_MOUNT_ATTR_RDONLY 1u
#define KERNEL_MOUNT_ATTR_NOSUID 2u
#define KERNEL_MOUNT_ATTR_NODEV 4u
#define KERNEL_MOUNT_ATTR_NOEXEC 8u
#define KERNEL_MOUNT_ATTR_IDMAP 0x100000u

#define KERNEL_RESOLVE_NO_XDEV 1u
#define KERNEL_RESOLVE_NO_MAGICLINKS 2u
#define KERNEL_RESOLVE_NO_SYMLINKS 4u
#define KERNEL_RESOLVE_BENEATH 8u

/* A fork with flags; the new process starts in the cgroup behind `cgroup_fd`, or in the caller's when that is -1. */
pid_t kernel_fork(uint64_t flags, int cgroup_fd);

int kernel_open_tree(const char *path, unsigned flags);
/* An unattached copy of the mount tree that begins behind `fd`. */
int kernel_copy_tree(int fd);
int kernel_move_mount(int from_fd, int to_fd);
int kernel_fsopen(const char *fs_name);
int kernel_fsconfig_set(int fs_fd, const char *key, const char *value);
int kernel_fsconfig_create(int fs_fd);
int kernel_fsmount(int fs_fd, unsigned attributes);
/* Makes the mount behind `fd` private and adds attributes; with `flags` KERNEL_AT_RECURSIVE to all beneath it too. */
int kernel_add_mount_attributes(int fd, unsigned flags, uint64_t attributes);
/* Applies the id maps of a user namespace to the mount behind `fd` and to all mounts beneath it. */
int kernel_map_mount_ids(int fd, int userns_fd);
int kernel_pidfd_open(pid_t pid);
int kernel_close_range(unsigned first, unsigned last);
int kernel_open_beneath(int dir_fd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);
/* By an absolute path, with no restriction but those in `resolve`. */
int kernel_open_plain(const char *path, uint64_t flags, uint64_t resolve);

#endif
