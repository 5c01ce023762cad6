#define _GNU_SOURCE
#include "cage/mount-step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cage/device-files.h"
#include "cage/job-mount.h"
#include "kernel.h"
#include "cage/mount-point.h"
#include "protocol.h"

static bool mount_tmpfs(const struct mount_step *step, struct failure *failure);
static bool open_proc(const struct mount_step *step, int *mount_fd, struct failure *failure);
static bool cover_proc_files(const struct mount_step *step, struct failure *failure);
static bool make_symlink(const struct mount_step *step, struct failure *failure);
static bool make_file(const struct mount_step *step, struct failure *failure);
static bool make_directory(const struct mount_step *step, struct failure *failure);
static const char *inside(const char *cage_path);

bool needs_mount_point(const struct mount_step *step) { return step->kind <= MOUNT_DEV || step->kind == MOUNT_JOB; }

bool open_mount(const struct mount_step *step, int *mount_fd, struct failure *failure) {
  *mount_fd = MOUNT_FD_NONE;
  if (step->kind == MOUNT_JOB) return open_job_mount(step, mount_fd, failure);
  if (step->kind == MOUNT_PROC) return open_proc(step, mount_fd, failure);
  if (step->kind != MOUNT_BIND_RO && step->kind != MOUNT_BIND_RW) return true;

  *mount_fd = kernel_open_tree(step->source, KERNEL_OPEN_TREE_CLONE | KERNEL_AT_RECURSIVE);
  if (*mount_fd < 0) {
    // Left out only when two checks agree: a single error must not change what a job sees.
    bool is_missing = step->source_kind == SOURCE_MISSING && (errno == ENOENT || errno == ENOTDIR);
    *mount_fd = MOUNT_FD_SKIPPED;
    return is_missing || fail(failure, STEP_MOUNT, "%s: opening %s", step->target, step->source);
  }
  errno = EAGAIN;
  if (step->source_kind == SOURCE_MISSING) {
    return fail(failure, STEP_MOUNT, "%s: %s came into being just now", step->target, step->source);
  }
  unsigned attributes = KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV;
  if (step->kind == MOUNT_BIND_RO) attributes |= KERNEL_MOUNT_ATTR_RDONLY;
  if (kernel_add_mount_attributes(*mount_fd, KERNEL_AT_RECURSIVE, attributes) != 0) {
    return fail(failure, STEP_MOUNT, "%s: restricting %s", step->target, step->source);
  }
  return true;
}

bool apply_mount(const struct mount_step *step, int mount_fd, struct failure *failure) {
  switch (step->kind) {
    case MOUNT_BIND_RO:
    case MOUNT_BIND_RW: return mount_fd == MOUNT_FD_SKIPPED || attach_mount(step, mount_fd, failure);
    case MOUNT_JOB: return attach_mount(step, mount_fd, failure);
    case MOUNT_TMPFS: return mount_tmpfs(step, failure);
    case MOUNT_PROC: return attach_mount(step, mount_fd, failure) && cover_proc_files(step, failure);
    case MOUNT_DEV: return mount_device_files(step->target, inside(step->target), failure);
    case MOUNT_SYMLINK: return make_symlink(step, failure);
    case MOUNT_FILE: return make_file(step, failure);
    case MOUNT_DIR: return make_directory(step, failure);
    default: errno = EINVAL; return fail(failure, STEP_MOUNT, "%s: unknown kind", step->target);
  }
}

bool restrict_mount(const char *path, unsigned attributes, struct failure *failure) {
  int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(failure, STEP_MOUNT, "opening %s to restrict it", path);
  if (kernel_add_mount_attributes(fd, 0, attributes) != 0) return fail(failure, STEP_MOUNT, "restricting %s", path);
  if (close(fd) != 0) return fail(failure, STEP_MOUNT, "closing %s", path);
  return true;
}

static bool mount_tmpfs(const struct mount_step *step, struct failure *failure) {
  char options[96];
  // One file for each KiB: room for many small files, and still a bound on what names alone can take.
  unsigned long long files = step->size / 1024 + 1024;
  (void)snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=%o", (unsigned long long)step->size, files,
                 step->mode);
  if (mount("tmpfs", inside(step->target), "tmpfs", MS_NOSUID | MS_NODEV, options) == 0) return true;
  return fail(failure, STEP_MOUNT, "%s: mounting tmpfs", step->target);
}

static bool open_proc(const struct mount_step *step, int *mount_fd, struct failure *failure) {
  unsigned attributes = KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV | KERNEL_MOUNT_ATTR_NOEXEC;
  int fs_fd = kernel_fsopen("proc");
  if (fs_fd < 0) return fail(failure, STEP_MOUNT, "%s: asking for a proc", step->target);
  if (kernel_fsconfig_set(fs_fd, "hidepid", "2") != 0 || kernel_fsconfig_create(fs_fd) != 0) {
    return fail(failure, STEP_MOUNT, "%s: making a proc", step->target);
  }
  *mount_fd = kernel_fsmount(fs_fd, attributes | KERNEL_MOUNT_ATTR_RDONLY);
  if (*mount_fd < 0) return fail(failure, STEP_MOUNT, "%s: mounting proc", step->target);
  if (close(fs_fd) != 0) return fail(failure, STEP_MOUNT, "%s: closing proc", step->target);
  return true;
}

/* Keys are not namespaced: these two files would show the keys of other jobs of the same uid. */
static const char *const masked_files[] = {"keys", "key-users"};

static bool cover_proc_files(const struct mount_step *step, struct failure *failure) {
  const char *path = inside(step->target);
  for (size_t i = 0; i < sizeof masked_files / sizeof masked_files[0]; i++) {
    char masked[PATH_BYTES_MAX + 32];
    (void)snprintf(masked, sizeof masked, "%s/%s", path, masked_files[i]);
    if (mount("/dev/null", masked, NULL, MS_BIND, NULL) == 0) continue;
    int error = errno;
    // A kernel without keys has no such file. A second call checks that it is really missing.
    if (error == ENOENT && access(masked, F_OK) != 0 && errno == ENOENT) continue;
    errno = error;
    return fail(failure, STEP_MOUNT, "%s: covering %s", step->target, masked_files[i]);
  }
  return true;
}

static bool make_symlink(const struct mount_step *step, struct failure *failure) {
  const char *name;
  int dir_fd = open_parent(step->target, &name);
  if (dir_fd < 0 || symlinkat(step->source, dir_fd, name) != 0 || close(dir_fd) != 0) {
    return fail(failure, STEP_MOUNT, "%s: making the link", step->target);
  }
  return true;
}

static bool make_file(const struct mount_step *step, struct failure *failure) {
  const char *name;
  int dir_fd = open_parent(step->target, &name);
  if (dir_fd < 0) return fail(failure, STEP_MOUNT, "%s: making the directories above it", step->target);
  int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)step->mode);
  if (fd < 0 || close(dir_fd) != 0) return fail(failure, STEP_MOUNT, "%s: making the file", step->target);
  for (size_t written = 0; written < step->source_bytes;) {
    ssize_t wrote = write(fd, step->source + written, step->source_bytes - written);
    if (wrote <= 0) return fail(failure, STEP_MOUNT, "%s: writing the file", step->target);
    written += (size_t)wrote;
  }
  if (close(fd) != 0) return fail(failure, STEP_MOUNT, "%s: closing the file", step->target);
  return true;
}

static bool make_directory(const struct mount_step *step, struct failure *failure) {
  const char *name;
  int dir_fd = open_parent(step->target, &name);
  if (dir_fd < 0 || mkdirat(dir_fd, name, (mode_t)step->mode) != 0 || close(dir_fd) != 0) {
    return fail(failure, STEP_MOUNT, "%s: making it", step->target);
  }
  return true;
}

/* A path of the cage, relative to its root: the same words work before and after it has become "/". */
static const char *inside(const char *cage_path) { return cage_path + 1; }
