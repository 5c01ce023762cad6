#define _GNU_SOURCE
#include "process/start-job.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cage/cage.h"
#include "fatal.h"
#include "output/held-memory.h"
#include "cage/idmap.h"
#include "process/job-table.h"
#include "kernel.h"
#include "cage/template.h"
#include "watch.h"

/*
 * From the clone until the job's program runs. A healthy host takes milliseconds, and seconds for a large directory that
 * has to be given away; a source on a dead network disk takes for ever.
 */
#ifndef START_MS_MAX
#define START_MS_MAX 60000u
#endif

/* The state of a start until the process exists. */
struct start {
  struct job *job;
  struct plan *plan;
  struct cage cage;
};

static bool prepare(struct start *start, struct failure *failure);
static bool open_streams(struct start *start, struct failure *failure);
static bool open_input(struct start *start, struct failure *failure);
static bool mask_streams(struct job *job, const struct plan *plan, struct failure *failure);
static bool open_report(struct start *start, struct failure *failure);
static bool watch_all(const struct job *job, struct failure *failure);
static bool clone_cage(struct start *start, struct failure *failure);
static void close_ours(struct start *start);
static void close_fd(int fd);

bool start_job(const struct launcher *launcher, uint32_t id, struct plan *plan, struct failure *failure) {
  struct start start = {
      .plan = plan,
      .cage = {.plan = plan,
               .template_fd = -1,
               .report_fd = -1,
               .stdin_fd = -1,
               .stdout_fd = -1,
               .stderr_fd = -1,
               .launcher_pidfd = launcher->own_pidfd,
               .proc_fd = launcher->proc_fd,
               .channel_fd = launcher->channel_fd,
               .id = id,
               .files_limit = launcher->files_limit,
               .filter = launcher->filter},
  };
  errno = EPERM;
  if (plan_asks(plan, PROTECT_CAPABILITIES) && !launcher->can_drop_capabilities) {
    return fail(failure, STEP_CAPABILITIES, "the launcher may not empty its bounding set");
  }
  errno = EAGAIN;
  start.job = job_add(id);
  if (start.job == NULL) return fail(failure, STEP_CAPACITY, "%u jobs run already", JOBS_MAX);
  start.job->has_pid_namespace = plan_asks(plan, PROTECT_PID_NS);
  home_note(&start.job->home, plan);
  bool is_started = prepare(&start, failure) && clone_cage(&start, failure);
  close_ours(&start);
  if (is_started) return true;
  close_job(start.job);
  return false;
}

/* All steps of the launcher that can fail come before the process exists, so no failure has to end it. */
static bool prepare(struct start *start, struct failure *failure) {
  struct plan *plan = start->plan;
  return open_streams(start, failure)                                                                          //
         && open_input(start, failure)                                                                         //
         && open_report(start, failure)                                                                        //
         && job_cgroup_open(&start->job->cgroup, plan, failure)                                                //
         && make_idmaps(plan, failure)                                                                         //
         && (!plan_asks(plan, PROTECT_MOUNT_NS) || template_for(plan, &start->cage.template_fd, failure))       //
         && watch_all(start->job, failure);
}

static bool open_streams(struct start *start, struct failure *failure) {
  const struct plan *plan = start->cage.plan;
  struct output *outputs = start->job->outputs;
  int *stdout_fd = &start->cage.stdout_fd, *stderr_fd = &start->cage.stderr_fd;
  uint8_t *held = plan->hold_ms == 0 ? NULL : held_memory(job_slot(start->job), 0);
  uint8_t *held_too = held == NULL ? NULL : held_memory(job_slot(start->job), 1);
  if (held != NULL) {
    start->job->hold_ms = plan->hold_ms;
    start->job->hold_written_ms = plan->hold_written_ms == 0 ? plan->hold_ms : plan->hold_written_ms;
  }
  if (!output_open(&outputs[0], plan->stdout_file, plan->stdout_max, held, failure, stdout_fd)) return false;
  if (!output_open(&outputs[1], plan->stderr_file, plan->stderr_max, held_too, failure, stderr_fd)) return false;
  if (!mask_streams(start->job, plan, failure)) return false;
  if (!plan_asks(plan, PROTECT_IDS)) return true;
  // The pipes belong to the job; otherwise it could not open /dev/stdout.
  if (fchown(*stdout_fd, plan->uid, plan->gid) != 0 || fchown(*stderr_fd, plan->uid, plan->gid) != 0) {
    return fail(failure, STEP_GIVE, "giving the pipes to uid %u", plan->uid);
  }
  return true;
}

/* Opened on the host: the job sees the open file and no path to it. */
static bool open_input(struct start *start, struct failure *failure) {
  const char *path = start->plan->stdin_file;
  struct stat status;
  if (path == NULL) return true;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  start->cage.stdin_fd = fd;
  if (fd < 0 || fstat(fd, &status) != 0) return fail(failure, STEP_STDIO, "opening %s", path);
  errno = EINVAL;
  return S_ISREG(status.st_mode) || fail(failure, STEP_STDIO, "%s is no plain file", path);
}

static bool mask_streams(struct job *job, const struct plan *plan, struct failure *failure) {
  struct masked_stream *const streams[] = {&job->outputs[0].masked, &job->outputs[1].masked};
  if (!mask_open(&job->mask, streams, plan, failure)) return false;
  // The launcher's ends only: unlike a splice, a read would block on an empty pipe.
  bool is_read = job->mask != NULL || is_held(job);
  for (int stream = 0; stream < STREAMS && is_read; stream++) {
    int pipe_fd = job->outputs[stream].pipe_fd;
    if (fcntl(pipe_fd, F_SETFL, O_NONBLOCK) != 0) return fail(failure, STEP_OUTPUT, "setting a pipe not to block");
  }
  return true;
}

static bool open_report(struct start *start, struct failure *failure) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail(failure, STEP_CLONE, "making a pipe");
  start->job->report_fd = ends[0];
  start->cage.report_fd = ends[1];
  return true;
}

static bool watch_all(const struct job *job, struct failure *failure) {
  uint32_t slot = job_slot(job), generation = job->generation;
  if (watch(job->report_fd, SOURCE_REPORT, slot, generation) &&
      watch(job->outputs[0].pipe_fd, SOURCE_STDOUT, slot, generation) &&
      watch(job->outputs[1].pipe_fd, SOURCE_STDERR, slot, generation)) {
    return true;
  }
  return fail(failure, STEP_CLONE, "watching the pipes");
}

static bool clone_cage(struct start *start, struct failure *failure) {
  uint64_t flags = plan_asks(start->cage.plan, PROTECT_PID_NS) ? CLONE_NEWPID : 0;
  int cgroup_fd = start->job->cgroup.fd;
  pid_t pid = kernel_fork(flags, cgroup_fd);
  if (pid == 0) run_cage(&start->cage);
  if (pid < 0) return fail(failure, STEP_CLONE, "starting a process%s", cgroup_fd >= 0 ? " in its cgroup" : "");
  start->job->pid = pid;
  start->job->start_by_us = monotonic_us() + START_MS_MAX * 1000u;
  return true;
}

/* Closes the ends that belong to the cage; an open copy here would hide the end of the stream. */
static void close_ours(struct start *start) {
  close_fd(start->cage.stdin_fd);
  close_fd(start->cage.stdout_fd);
  close_fd(start->cage.stderr_fd);
  close_fd(start->cage.report_fd);
}

static void close_fd(int fd) {
  if (fd >= 0 && close(fd) != 0) fatal("closing a descriptor");
}
