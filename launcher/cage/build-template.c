#define _GNU_SOURCE
#include "cage/build-template.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fatal.h"
#include "kernel.h"
#include "cage/mount-point.h"
#include "cage/mount-step.h"
#include "protocol.h"

/* A healthy host takes about 2 ms. Without a bound, a source on a dead network disk would delay every other job. */
#define BUILD_MS_MAX 10000

/* The builder's report when it has finished. */
struct outcome {
  bool is_built;
  struct failure failure;
};

_Noreturn static void run_builder(const struct plan *plan, pid_t launcher, int outcome_fd);
static bool build(const struct plan *plan, struct failure *failure);
static bool make_root(struct failure *failure);
static bool wait_for_outcome(int outcome_fd, struct failure *failure);
static bool open_namespace(pid_t builder, int *namespace_fd, struct failure *failure);
static void end_builder(pid_t builder);

bool build_template(const struct plan *plan, int *namespace_fd, struct failure *failure) {
  int outcome_pipe[2];
  pid_t launcher = getpid();
  if (pipe2(outcome_pipe, O_CLOEXEC) != 0) return fail(failure, STEP_MOUNT, "making a pipe");
  pid_t builder = kernel_fork(CLONE_NEWNS, -1);
  if (builder == 0) run_builder(plan, launcher, outcome_pipe[1]);
  bool is_ok = builder > 0 || fail(failure, STEP_NAMESPACE, "starting the builder of the shared mounts");
  if (close(outcome_pipe[1]) != 0) fatal("closing a pipe");
  is_ok = is_ok && wait_for_outcome(outcome_pipe[0], failure) && open_namespace(builder, namespace_fd, failure);
  if (close(outcome_pipe[0]) != 0) fatal("closing a pipe");
  if (builder > 0) end_builder(builder);
  return is_ok;
}

/* The child: it builds, reports the outcome, and waits to be killed, which keeps its namespace alive until then. */
static void run_builder(const struct plan *plan, pid_t launcher, int outcome_fd) {
  struct outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  // If the launcher died before it could send us a death signal, our parent is now another process.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launcher) _exit(1);
  outcome.is_built = build(plan, &outcome.failure);
  if (write(outcome_fd, &outcome, sizeof outcome) != sizeof outcome) _exit(1);
  // Bounded, so that a launcher that was killed in between leaves nothing behind.
  (void)poll(NULL, 0, BUILD_MS_MAX);
  _exit(0);
}

static bool build(const struct plan *plan, struct failure *failure) {
  int mount_fds[MOUNTS_MAX];
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
    return fail(failure, STEP_MOUNT, "keeping mounts from reaching the host");
  }
  // All sources first: the new root covers the host's, and a source may lie anywhere on it.
  for (size_t i = 0; i < plan->mounts_count; i++) {
    if (!plan->mounts[i].is_own && !open_mount(&plan->mounts[i], &mount_fds[i], failure)) return false;
  }
  if (!make_root(failure)) return false;
  for (size_t i = 0; i < plan->mounts_count; i++) {
    const struct mount_step *step = &plan->mounts[i];
    bool needs_point = needs_mount_point(step) && !step->is_nested && step->source_kind != SOURCE_MISSING;
    if (needs_point && !make_mount_point(step, failure)) return false;
    if (!step->is_own && !apply_mount(step, mount_fds[i], failure)) return false;
  }
  if (syscall(SYS_pivot_root, ".", ".") != 0) return fail(failure, STEP_MOUNT, "changing the root");
  if (umount2(".", MNT_DETACH) != 0) return fail(failure, STEP_MOUNT, "letting go of the host's root");
  if (chdir("/") != 0) return fail(failure, STEP_MOUNT, "entering the new root");
  unsigned attributes = KERNEL_MOUNT_ATTR_RDONLY | KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV;
  return restrict_mount("/", attributes, failure);
}

/* An empty tmpfs on top of "/", entered but not yet the root. */
static bool make_root(struct failure *failure) {
  int fs_fd = kernel_fsopen("tmpfs");
  if (fs_fd < 0) return fail(failure, STEP_MOUNT, "asking for a tmpfs as root");
  // It has mount points and a few small files, whose size the plan's frame bounds.
  if (kernel_fsconfig_set(fs_fd, "size", "16m") != 0 || kernel_fsconfig_set(fs_fd, "nr_inodes", "8192") != 0 ||
      kernel_fsconfig_set(fs_fd, "mode", "0755") != 0 || kernel_fsconfig_create(fs_fd) != 0) {
    return fail(failure, STEP_MOUNT, "making a tmpfs as root");
  }
  int root_fd = kernel_fsmount(fs_fd, KERNEL_MOUNT_ATTR_NOSUID | KERNEL_MOUNT_ATTR_NODEV);
  if (root_fd < 0) return fail(failure, STEP_MOUNT, "mounting a tmpfs as root");
  int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (host_fd < 0) return fail(failure, STEP_MOUNT, "opening the root of the host");
  if (kernel_move_mount(root_fd, host_fd) != 0) return fail(failure, STEP_MOUNT, "attaching the new root");
  if (fchdir(root_fd) != 0) return fail(failure, STEP_MOUNT, "entering the new root");
  if (close(root_fd) != 0 || close(host_fd) != 0 || close(fs_fd) != 0) {
    return fail(failure, STEP_MOUNT, "closing the new root");
  }
  return true;
}

static bool wait_for_outcome(int outcome_fd, struct failure *failure) {
  struct outcome outcome;
  struct pollfd readable = {.fd = outcome_fd, .events = POLLIN};
  int ready = poll(&readable, 1, BUILD_MS_MAX);
  if (ready < 0) return fail(failure, STEP_MOUNT, "waiting for the shared mounts");
  errno = ETIMEDOUT;
  if (ready == 0) return fail(failure, STEP_MOUNT, "the shared mounts took more than %d ms", BUILD_MS_MAX);
  ssize_t got = read(outcome_fd, &outcome, sizeof outcome);
  if (got < 0) return fail(failure, STEP_MOUNT, "hearing of the shared mounts");
  errno = ECHILD;
  if (got != (ssize_t)sizeof outcome) return fail(failure, STEP_MOUNT, "the builder of the shared mounts died");
  if (!outcome.is_built) *failure = outcome.failure;
  return outcome.is_built;
}

static bool open_namespace(pid_t builder, int *namespace_fd, struct failure *failure) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)builder);
  *namespace_fd = open(path, O_RDONLY | O_CLOEXEC);
  if (*namespace_fd < 0) return fail(failure, STEP_NAMESPACE, "opening %s", path);
  return true;
}

/* The builder is reaped with the jobs. On a dead disk it may never end, so nothing here waits for it. */
static void end_builder(pid_t builder) {
  if (kill(builder, SIGKILL) != 0 && errno != ESRCH) fatal("ending the builder of the shared mounts");
}
