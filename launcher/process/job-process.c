#define _GNU_SOURCE
#include "process/job-process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/exec-job.h"
#include "cage/job-namespace.h"
#include "kernel.h"
#include "rights/privileges.h"
#include "protocol.h"
#include "rights/seccomp-filter.h"
#include "rights/set-id-filter.h"
#include "cage/user-namespace.h"

/* Deep enough for the path buffer of exec_job, with room to spare; there is no recursion. */
#define STACK_BYTES (64 * 1024)

struct start {
  const struct cage *cage;
  pid_t parent;
  struct failure *failure;
};

static int run_job(void *argument);
static bool become_job(const struct start *start);
static bool leave_session(struct failure *failure);
static bool connect_stdio(const struct cage *cage, struct failure *failure);
static int open_stdin(const struct cage *cage);
static int keep_stdin(const struct plan *plan);
static bool close_descriptors(struct failure *failure);
static bool set_rlimits(const struct cage *cage, struct failure *failure);
static bool set_rlimit(unsigned resource, uint64_t soft, uint64_t hard, struct failure *failure);
static bool die_with_parent(const struct start *start, struct failure *failure);
static bool enter_cwd(const struct plan *plan, struct failure *failure);
static bool unblock_signals(struct failure *failure);
static bool acts_as_user(const struct plan *plan);

bool start_job_process(const struct cage *cage, pid_t *job, struct failure *failure) {
  static _Alignas(16) char stack[STACK_BYTES];
  struct start start = {.cage = cage, .parent = getpid(), .failure = failure};
  failure->step[0] = '\0';
  // It shares this process's memory, which waits until the child has become the job's program or has ended: that saves
  // a copy of the memory and gives the outcome without a pipe. Credentials, descriptors and signals are its own.
  int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  bool has_namespace = needs_job_namespace(cage->plan);
  *job = clone(run_job, stack + sizeof stack, has_namespace ? flags | CLONE_NEWUSER : flags, &start);
  if (*job < 0) {
    return fail(failure, has_namespace ? STEP_JOB_NAMESPACE : STEP_CLONE, "starting the job's process");
  }
  if (failure->step[0] == '\0') return true;
  // It has ended. Without a pid namespace it would otherwise be left to the host's first process, which may reap
  // nothing.
  (void)waitpid(*job, NULL, 0);
  return false;
}

/* Returns only when a step failed; the return is the end of this process. */
static int run_job(void *argument) {
  const struct start *start = argument;
  if (become_job(start)) exec_job(start->cage->plan, start->failure);
  return 127;
}

/* The order matters: what needs a privilege comes before the privilege is dropped, and seccomp comes last. */
static bool become_job(const struct start *start) {
  const struct cage *cage = start->cage;
  const struct plan *plan = cage->plan;
  struct failure *failure = start->failure;
  return (!needs_job_namespace(plan) || settle_in_job_namespace(cage->proc_fd, failure))               //
         && leave_session(failure)                                                                     //
         && connect_stdio(cage, failure)                                                               //
         && close_descriptors(failure)                                                                 //
         && set_rlimits(cage, failure)                                                                 //
         && (!plan_asks(plan, PROTECT_IDS) || change_ids(plan->uid, plan->gid, failure))               //
         && (!plan_asks(plan, PROTECT_CAPABILITIES) || drop_capabilities(failure))                     //
         && (!plan_asks(plan, PROTECT_NO_NEW_PRIVS) || forbid_new_privileges(failure))                 //
         && die_with_parent(start, failure)                                                            //
         && enter_cwd(plan, failure)                                                                   //
         && unblock_signals(failure)                                                                   //
         && (!acts_as_user(plan) || forbid_set_id_files(failure))                                      //
         && (!plan_asks(plan, PROTECT_SECCOMP) || install_filter(cage->filter, failure));
}

/* Its own session and process group, and so no controlling terminal. */
static bool leave_session(struct failure *failure) {
  return setsid() >= 0 || fail(failure, STEP_SESSION, "starting a session");
}

static bool connect_stdio(const struct cage *cage, struct failure *failure) {
  int stdin_fd = open_stdin(cage);
  if (stdin_fd < 0) return fail(failure, STEP_STDIO, "opening stdin");
  if (dup2(stdin_fd, 0) != 0 || dup2(cage->stdout_fd, 1) != 1 || dup2(cage->stderr_fd, 2) != 2) {
    return fail(failure, STEP_STDIO, "connecting stdin, stdout and stderr");
  }
  return true;
}

static int open_stdin(const struct cage *cage) {
  if (cage->stdin_fd >= 0) return cage->stdin_fd;
  return cage->plan->stdin_bytes == NULL ? open("/dev/null", O_RDONLY | O_CLOEXEC) : keep_stdin(cage->plan);
}

/*
 * A file without a name that cannot be changed any more. A pipe's size depends on how many the user has, and a job that
 * never reads must not block the launcher.
 */
static int keep_stdin(const struct plan *plan) {
  int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  for (size_t done = 0; done < plan->stdin_length;) {
    ssize_t wrote = write(fd, plan->stdin_bytes + done, plan->stdin_length - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return -1;
    done += (size_t)wrote;
  }
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(fd, F_ADD_SEALS, seals) != 0 || lseek(fd, 0, SEEK_SET) != 0) return -1;
  return fd;
}

/* Closes all, even those that the launcher inherited and did not close: nothing of the host stays open in a job. */
static bool close_descriptors(struct failure *failure) {
  return kernel_close_range(3, UINT_MAX) == 0 || fail(failure, STEP_DESCRIPTORS, "closing descriptors");
}

static bool set_rlimits(const struct cage *cage, struct failure *failure) {
  const struct plan *plan = cage->plan;
  if (!set_rlimit(RLIMIT_NOFILE, cage->files_limit.rlim_cur, cage->files_limit.rlim_max, failure)) return false;
  for (size_t i = 0; i < plan->rlimits_count; i++) {
    const struct rlimit_step *step = &plan->rlimits[i];
    if (!set_rlimit(step->resource, step->soft, step->hard, failure)) return false;
  }
  // Last, so that no plan can ask for core files: they would land wherever the host's core_pattern says.
  return set_rlimit(RLIMIT_CORE, 0, 0, failure);
}

static bool set_rlimit(unsigned resource, uint64_t soft, uint64_t hard, struct failure *failure) {
  uint64_t limit[2] = {soft, hard};
  if (syscall(SYS_prlimit64, 0, resource, limit, NULL) == 0) return true;
  return fail(failure, STEP_RLIMIT, "setting rlimit %u", resource);
}

/* After the change of ids, which clears it. */
static bool die_with_parent(const struct start *start, struct failure *failure) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fail(failure, STEP_DEATH_SIGNAL, "asking for a death signal");
  errno = ECHILD;
  return getppid() == start->parent || fail(failure, STEP_DEATH_SIGNAL, "the parent is gone");
}

/* As the job's own user: a directory that it may not enter is not opened for it by our privilege. */
static bool enter_cwd(const struct plan *plan, struct failure *failure) {
  // The old value is the launcher's umask, which is 0.
  if (umask(022) != 0) return fail(failure, STEP_CWD, "setting the umask");
  return chdir(plan->cwd) == 0 || fail(failure, STEP_CWD, "entering %s", plan->cwd);
}

/* The launcher has set all dispositions to default at its start and never changed one, so only the mask is left. */
static bool unblock_signals(struct failure *failure) {
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, NULL) == 0 || fail(failure, STEP_SIGNALS, "unblocking signals");
}

/* Do its files belong to a user of the host, so that a set-id file would give that user's rights to every user? */
static bool acts_as_user(const struct plan *plan) {
  return plan_maps_owners(plan) || (in_user_namespace() && plan_asks(plan, PROTECT_SECCOMP));
}
