/* The user namespace in which only the processes of one job count. Why: ADR 0040. */
#define _GNU_SOURCE
#include "cage/job-namespace.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rights/privileges.h"
#include "cage/user-namespace.h"

static bool write_map(int proc_fd, const char *path, struct failure *failure);

bool needs_job_namespace(const struct plan *plan) {
  for (size_t i = 0; i < plan->rlimits_count; i++) {
    if (plan->rlimits[i].resource == RLIMIT_NPROC) return in_user_namespace();
  }
  return false;
}

bool settle_in_job_namespace(int proc_fd, struct failure *failure) {
  // The namespace inherits from its parent that groups cannot be changed.
  if (!write_map(proc_fd, "self/uid_map", failure)) return false;
  if (!write_map(proc_fd, "self/gid_map", failure)) return false;
  return empty_inheritable_sets() || fail(failure, STEP_CAPABILITIES, "emptying the bounding set of a job");
}

/* Through the host's /proc, which shows this process by another pid: the cage's /proc cannot be written to. */
static bool write_map(int proc_fd, const char *path, struct failure *failure) {
  char line[48];
  int length = snprintf(line, sizeof line, "%u %u 1\n", NAMESPACE_ID, NAMESPACE_ID);
  int fd = openat(proc_fd, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(failure, STEP_JOB_NAMESPACE, "opening the %s of a job", path);
  bool is_written = write(fd, line, (size_t)length) == length;
  if (!is_written) (void)fail(failure, STEP_JOB_NAMESPACE, "writing the %s of a job", path);
  if (close(fd) != 0) return fail(failure, STEP_JOB_NAMESPACE, "closing the %s of a job", path);
  return is_written;
}
