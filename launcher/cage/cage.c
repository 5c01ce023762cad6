#define _GNU_SOURCE
#include "cage/cage.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cage/give-away.h"
#include "cage/home.h"
#include "process/job-process.h"
#include "cage/loopback.h"
#include "cage/mount-point.h"
#include "cage/mount-step.h"
#include "rights/privileges.h"
#include "hand-over.h"
#include "protocol.h"
#include "process/report.h"
#include "process/supervise.h"

static bool build_cage(const struct cage *cage, struct failure *failure);
static bool die_with_launcher(const struct cage *cage, struct failure *failure);
static bool adopt_orphans(const struct plan *plan, struct failure *failure);
static bool give_directory(const struct plan *plan, struct failure *failure);
static bool open_own_sources(const struct plan *plan, int *mount_fds, struct failure *failure);
static bool enter_namespaces(const struct cage *cage, struct failure *failure);
static bool apply_own_mounts(const struct plan *plan, const int *mount_fds, struct failure *failure);
static bool apply_own_mount(const struct mount_step *step, int mount_fd, struct failure *failure);
static bool name_host(const struct plan *plan, struct failure *failure);
static bool give_listener(const struct cage *cage, struct failure *failure);

void run_cage(const struct cage *cage) {
  struct report report;
  pid_t job = 0;
  memset(&report, 0, sizeof report);
  if (!build_cage(cage, &report.failure) || !start_job_process(cage, &job, &report.failure)) {
    report.kind = REPORT_FAILED;
    // If this cannot be written either, the launcher sees a cage that ended without a report.
    ssize_t wrote = write(cage->report_fd, &report, sizeof report);
    _exit(wrote == (ssize_t)sizeof report ? 0 : 1);
  }
  supervise(cage->report_fd, job, plan_asks(cage->plan, PROTECT_PID_NS));
}

static bool build_cage(const struct cage *cage, struct failure *failure) {
  const struct plan *plan = cage->plan;
  int mount_fds[MOUNTS_MAX];
  return die_with_launcher(cage, failure)                         //
         && adopt_orphans(plan, failure)                          //
         && give_directory(plan, failure)                         //
         && open_own_sources(plan, mount_fds, failure)             //
         && enter_namespaces(cage, failure)                       //
         && apply_own_mounts(plan, mount_fds, failure)             //
         && name_host(plan, failure)                              //
         && (!plan_asks(plan, PROTECT_NET_NS) || raise_loopback(failure)) //
         && (plan->listen_port == 0 || give_listener(cage, failure));
}

/* Without a pid namespace the death of this process would leave grandchildren, so it receives SIGTERM and ends them. */
static bool die_with_launcher(const struct cage *cage, struct failure *failure) {
  int signo = plan_asks(cage->plan, PROTECT_PID_NS) ? SIGKILL : SIGTERM;
  if (prctl(PR_SET_PDEATHSIG, signo) != 0) return fail(failure, STEP_LAUNCHER, "asking for a death signal");
  // A launcher that died before the line above sends no signal; its descriptor becomes readable.
  struct pollfd launcher = {.fd = cage->launcher_pidfd, .events = POLLIN};
  int ready = poll(&launcher, 1, 0);
  if (ready < 0) return fail(failure, STEP_LAUNCHER, "looking after the launcher");
  errno = ECHILD;
  return ready == 0 || fail(failure, STEP_LAUNCHER, "the launcher is gone");
}

/*
 * Without a pid namespace: orphans become children of this process, so that they end with the job. Called before the
 * job starts, which may leave orphans in its first moment.
 */
static bool adopt_orphans(const struct plan *plan, struct failure *failure) {
  if (plan_asks(plan, PROTECT_PID_NS) || prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return true;
  return fail(failure, STEP_LAUNCHER, "asking for the orphans of the job");
}

/* Here and not before the clone, because all jobs share the launcher's own time. */
static bool give_directory(const struct plan *plan, struct failure *failure) {
  if (plan->home != NULL) return make_home(plan, failure);
  return plan->give_dir == NULL || give_away(plan->give_dir, plan->uid, plan->gid, failure);
}

static bool open_own_sources(const struct plan *plan, int *mount_fds, struct failure *failure) {
  for (size_t i = 0; i < plan->mounts_count; i++) {
    mount_fds[i] = MOUNT_FD_NONE;
    if (plan->mounts[i].is_own && !open_mount(&plan->mounts[i], &mount_fds[i], failure)) return false;
  }
  return true;
}

static bool enter_namespaces(const struct cage *cage, struct failure *failure) {
  const struct plan *plan = cage->plan;
  int flags = 0;
  if (plan_asks(plan, PROTECT_MOUNT_NS)) flags |= CLONE_NEWNS;
  if (plan_asks(plan, PROTECT_IPC_NS)) flags |= CLONE_NEWIPC;
  if (plan_asks(plan, PROTECT_UTS_NS)) flags |= CLONE_NEWUTS;
  if (plan_asks(plan, PROTECT_NET_NS)) flags |= CLONE_NEWNET;
  // Created here and not at the clone: its root is the cgroup of the caller, and the launcher is in another one.
  if (plan_asks(plan, PROTECT_CGROUP_NS)) flags |= CLONE_NEWCGROUP;

  if ((flags & CLONE_NEWNS) != 0 && setns(cage->template_fd, CLONE_NEWNS) != 0) {
    return fail(failure, STEP_NAMESPACE, "entering the shared mounts");
  }
  if (flags != 0 && unshare(flags) != 0) return fail(failure, STEP_NAMESPACE, "unsharing %#x", (unsigned)flags);
  return true;
}

static bool apply_own_mounts(const struct plan *plan, const int *mount_fds, struct failure *failure) {
  for (size_t i = 0; i < plan->mounts_count; i++) {
    const struct mount_step *step = &plan->mounts[i];
    if (step->is_own && mount_fds[i] != MOUNT_FD_SKIPPED && !apply_own_mount(step, mount_fds[i], failure)) return false;
  }
  return true;
}

static bool apply_own_mount(const struct mount_step *step, int mount_fd, struct failure *failure) {
  bool needs_point = step->is_nested && needs_mount_point(step);
  if (needs_point && !make_mount_point(step, failure)) return false;
  return apply_mount(step, mount_fd, failure);
}

static bool name_host(const struct plan *plan, struct failure *failure) {
  if (plan->hostname == NULL) return true;
  if (sethostname(plan->hostname, strlen(plan->hostname)) == 0) return true;
  return fail(failure, STEP_HOSTNAME, "naming the host %s", plan->hostname);
}

/* Ours is closed at once: what connects is for the worker alone, and no process of the job has the socket. */
static bool give_listener(const struct cage *cage, struct failure *failure) {
  int fd = listen_on_loopback((uint16_t)cage->plan->listen_port, failure);
  if (fd < 0) return false;
  bool is_given = hand_over(cage->channel_fd, cage->id, fd, failure);
  if (close(fd) != 0 && is_given) return fail(failure, STEP_NETWORK, "closing a socket");
  return is_given;
}
