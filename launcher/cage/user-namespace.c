/* The user namespace in which a launcher without root builds cages. Why: ADR 0039. */
#define _GNU_SOURCE
#include "cage/user-namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatal.h"
#include "kernel.h"
#include "protocol.h"

/* The trial takes less than a millisecond; the bound is for a very busy machine. */
#define TRIAL_MS_MAX 4000

static uint32_t rights = RIGHTS_NONE;
static struct failure refusal;
static uid_t owner_uid;

static bool has_own_rights(void);
static bool try_in_child(struct failure *failure);
_Noreturn static void run_trial(pid_t launcher, int outcome_fd);
static bool hear_trial(int outcome_fd, struct failure *failure);
static bool enter(struct failure *failure);
static bool write_text(const char *path, const char *text, struct failure *failure);
static bool write_map(const char *path, unsigned host_id, struct failure *failure);

void enter_user_namespace(void) {
  struct failure failure;
  owner_uid = geteuid();
  if (has_own_rights()) {
    rights = RIGHTS_OWN;
    return;
  }
  // A user namespace cannot be left again, and one without maps or rights is worse than none: so a child tries first.
  if (!try_in_child(&refusal)) return;
  if (!enter(&failure)) fatal("%s, though it was allowed a moment ago", failure.message);
  rights = RIGHTS_USER_NAMESPACE;
}

uint32_t cage_rights(void) { return rights; }

const struct failure *namespace_refusal(void) { return &refusal; }

bool in_user_namespace(void) { return rights == RIGHTS_USER_NAMESPACE; }

bool is_namespace_owner(uint32_t uid) { return in_user_namespace() && uid == owner_uid; }

/* Root is never mapped, even without some rights: as the owner of the namespace it would be the user of every job. */
static bool has_own_rights(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (owner_uid == 0) return true;
  memset(sets, 0, sizeof sets);
  if (syscall(SYS_capget, &header, sets) != 0) fatal("reading our capabilities");
  return (sets[0].effective & (1u << CAP_SYS_ADMIN)) != 0;
}

static bool try_in_child(struct failure *failure) {
  int outcome_pipe[2];
  int status;
  pid_t launcher = getpid();
  if (pipe2(outcome_pipe, O_CLOEXEC) != 0) fatal("making a pipe");
  pid_t child = kernel_fork(0, -1);
  if (child == 0) run_trial(launcher, outcome_pipe[1]);
  if (child < 0) fatal("starting a process");
  if (close(outcome_pipe[1]) != 0) fatal("closing a pipe");
  bool is_allowed = hear_trial(outcome_pipe[0], failure);
  if (close(outcome_pipe[0]) != 0) fatal("closing a pipe");
  if (kill(child, SIGKILL) != 0 && errno != ESRCH) fatal("ending a process");
  if (waitpid(child, &status, 0) != child) fatal("waiting for a process");
  return is_allowed;
}

static void run_trial(pid_t launcher, int outcome_fd) {
  struct failure failure;
  memset(&failure, 0, sizeof failure);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != launcher) _exit(1);
  (void)enter(&failure);
  _exit(write(outcome_fd, &failure, sizeof failure) == (ssize_t)sizeof failure ? 0 : 1);
}

static bool hear_trial(int outcome_fd, struct failure *failure) {
  struct pollfd readable = {.fd = outcome_fd, .events = POLLIN};
  errno = ETIMEDOUT;
  if (poll(&readable, 1, TRIAL_MS_MAX) != 1) return fail(failure, STEP_NAMESPACE, "trying a user namespace");
  errno = ECHILD;
  if (read(outcome_fd, failure, sizeof *failure) != (ssize_t)sizeof *failure) {
    return fail(failure, STEP_NAMESPACE, "the process that tried a user namespace died");
  }
  return failure->step[0] == '\0';
}

/*
 * The mount namespace is created with it: mounts may be made or copied only in one that belongs to the user namespace.
 */
static bool enter(struct failure *failure) {
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return fail(failure, STEP_NAMESPACE, "making a user namespace");
  // The kernel takes a group map from an ordinary user only after the groups have been made unchangeable.
  if (!write_text("/proc/self/setgroups", "deny", failure)) return false;
  if (!write_map("/proc/self/uid_map", owner_uid, failure)) return false;
  if (!write_map("/proc/self/gid_map", gid, failure)) return false;
  // Later mounts of the host still appear here. On hosts that give such namespaces no rights, this call fails.
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0) return true;
  return fail(failure, STEP_NAMESPACE, "making mounts in a user namespace");
}

static bool write_map(const char *path, unsigned host_id, struct failure *failure) {
  char line[48];
  (void)snprintf(line, sizeof line, "%u %u 1\n", NAMESPACE_ID, host_id);
  return write_text(path, line, failure);
}

static bool write_text(const char *path, const char *text, struct failure *failure) {
  ssize_t length = (ssize_t)strlen(text);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(failure, STEP_NAMESPACE, "opening %s", path);
  bool is_written = write(fd, text, (size_t)length) == length || fail(failure, STEP_NAMESPACE, "writing %s", path);
  if (close(fd) != 0) fatal("closing %s", path);
  return is_written;
}
