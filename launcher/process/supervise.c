#define _GNU_SOURCE
#include "process/supervise.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/end-descendants.h"
#include "kernel.h"
#include "rights/privileges.h"
#include "process/report.h"

/* Above stdin, stdout and stderr, which this process does not have. */
#define REPORT_FD 3

static bool settle(int *report_fd, bool has_pid_namespace);
static bool say_started(int report_fd);
static void say_ended(int report_fd, int wait_status);
static bool wait_for_end(pid_t job, bool has_pid_namespace, int *wait_status);
static bool reap(pid_t job, int *wait_status);

void supervise(int report_fd, pid_t job, bool has_pid_namespace) {
  int wait_status = SIGKILL;
  // The job runs, so from here on a failure cannot be "nothing was executed": it is a job that was killed.
  bool is_watched = settle(&report_fd, has_pid_namespace) && say_started(report_fd) &&
                    wait_for_end(job, has_pid_namespace, &wait_status);
  if (!has_pid_namespace) end_descendants();
  if (is_watched) say_ended(report_fd, wait_status);
  _exit(is_watched ? 0 : 1);
}

static bool settle(int *report_fd, bool has_pid_namespace) {
  struct failure unused;
  if (*report_fd != REPORT_FD && dup3(*report_fd, REPORT_FD, 0) < 0) return false;
  *report_fd = REPORT_FD;
  if (kernel_close_range(0, REPORT_FD - 1) != 0 || kernel_close_range(REPORT_FD + 1, UINT_MAX) != 0) return false;
  return !has_pid_namespace || (keep_kill_capability(&unused) && forbid_new_privileges(&unused));
}

static bool say_started(int report_fd) {
  struct report report;
  memset(&report, 0, sizeof report);
  report.kind = REPORT_STARTED;
  report.at_us = monotonic_us();
  return write(report_fd, &report, sizeof report) == (ssize_t)sizeof report;
}

static void say_ended(int report_fd, int wait_status) {
  struct report report;
  struct rusage usage;
  memset(&report, 0, sizeof report);
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0) memset(&usage, 0, sizeof usage);
  report.kind = REPORT_ENDED;
  report.wait_status = wait_status;
  report.at_us = monotonic_us();
  report.cpu_user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000u + (uint64_t)usage.ru_utime.tv_usec;
  report.cpu_system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000u + (uint64_t)usage.ru_stime.tv_usec;
  report.rss_bytes_max = (uint64_t)usage.ru_maxrss * 1024u;
  if (write(report_fd, &report, sizeof report) != (ssize_t)sizeof report) _exit(1);
}

/* All signals are blocked since the launcher started, so none is lost between two waits. */
static bool wait_for_end(pid_t job, bool has_pid_namespace, int *wait_status) {
  sigset_t awaited;
  siginfo_t info;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  // Only where the launcher ends a cage with it: in a user namespace a job may send this signal, which must have no
  // effect.
  if (!has_pid_namespace) sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGNAL_ORDER);
  for (;;) {
    int signo = sigwaitinfo(&awaited, &info);
    if (signo == SIGCHLD && reap(job, wait_status)) return true;
    // From the launcher, or from its death.
    if (signo == SIGTERM) return true;
    // A group whose last process has just ended cannot receive the signal, and does not need it.
    if (signo == SIGNAL_ORDER) (void)kill(-job, info.si_value.sival_int);
    if (signo < 0 && errno != EINTR) return false;
  }
}

/* True when the job's first process was among the dead. One SIGCHLD may stand for many. */
static bool reap(pid_t job, int *wait_status) {
  for (;;) {
    int status;
    pid_t dead = waitpid(-1, &status, WNOHANG);
    if (dead == job) {
      *wait_status = status;
      return true;
    }
    if (dead <= 0) return false;
  }
}
