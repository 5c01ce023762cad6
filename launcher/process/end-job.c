#define _GNU_SOURCE
#include "process/end-job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatal.h"

static void take_report(struct launcher *launcher, struct job *job, const struct report *report);
static void note_started(struct launcher *launcher, struct job *job, uint64_t at_us);
static void plan_release(struct job *job);
static void end_job(struct launcher *launcher, struct job *job, const struct rusage *usage);
static void assume_killed(struct launcher *launcher, struct job *job, const struct rusage *usage);
static void say_exited(struct launcher *launcher, struct job *job);

void hear_report(struct launcher *launcher, struct job *job) {
  struct report report;
  // A cage sends three reports at most.
  while (job->report_fd >= 0) {
    ssize_t got = read(job->report_fd, &report, sizeof report);
    if (got == (ssize_t)sizeof report) {
      take_report(launcher, job, &report);
      continue;
    }
    if (got < 0 && errno == EAGAIN) return;
    if (got != 0) fatal("hearing of a cage");
    // The cage reports no more; its process is reaped when it has ended.
    close_report(job);
  }
}

void reap_jobs(struct launcher *launcher) {
  // As many as there are children; each pass takes one away.
  for (;;) {
    struct rusage usage;
    int status;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno != ECHILD) fatal("reaping");
    if (pid <= 0) return;
    struct job *job = job_by_pid(pid);
    // The builder of a template is not a job.
    if (job != NULL) end_job(launcher, job, &usage);
  }
}

void give_up_late_starts(struct launcher *launcher) {
  struct job *job;
  // Each pass ends one start.
  while ((job = job_starting()) != NULL && job->start_by_us <= monotonic_us()) {
    struct failure failure;
    // A start that has just succeeded has sent its report.
    hear_report(launcher, job);
    if (job->is_started || job->is_failed) continue;
    // It hangs in a system call from which it never returns to the program; it is reaped when it has ended.
    if (kill(job->pid, SIGKILL) != 0 && errno != ESRCH) fatal("killing pid %d", (int)job->pid);
    close_report(job);
    job->is_failed = true;
    errno = ETIMEDOUT;
    (void)fail(&failure, STEP_LAUNCHER, "the cage was not complete in time");
    say_failed(launcher, job->id, &failure);
  }
}

void say_failed(struct launcher *launcher, uint32_t id, const struct failure *failure) {
  struct wire *wire = &launcher->wire;
  reply_begin(wire, FRAME_FAILED, id);
  reply_text(wire, TAG_STEP, failure->step);
  reply_u32(wire, TAG_ERRNO, (uint32_t)failure->error);
  reply_text(wire, TAG_MESSAGE, failure->message);
  reply_end(wire);
}

static void take_report(struct launcher *launcher, struct job *job, const struct report *report) {
  switch (report->kind) {
    case REPORT_STARTED: note_started(launcher, job, report->at_us); return;
    case REPORT_ENDED:
      job->is_ended = true;
      job->ended = *report;
      return;
    case REPORT_FAILED:
      job->is_failed = true;
      say_failed(launcher, job->id, &report->failure);
      return;
  }
}

static void note_started(struct launcher *launcher, struct job *job, uint64_t at_us) {
  job->is_started = true;
  job->start_us = at_us;
  plan_release(job);
  tell_started(launcher, job);
}

void note_written(struct job *job) {
  if (job->written_us != 0 || !is_held(job) || job->outputs[0].bytes + job->outputs[1].bytes == 0) return;
  job->written_us = monotonic_us();
  plan_release(job);
}

/* Output of a program that has started goes to its files after a while, and sooner once there is something to see. */
static void plan_release(struct job *job) {
  if (!job->is_started) return;
  uint64_t until_us = job->start_us + job->hold_ms * 1000u;
  uint64_t written_until_us = job->written_us + job->hold_written_ms * 1000u;
  job->hold_until_us = job->written_us != 0 && written_until_us < until_us ? written_until_us : until_us;
}

void tell_started(struct launcher *launcher, struct job *job) {
  struct wire *wire = &launcher->wire;
  if (!job->is_started || job->is_told || is_held(job)) return;
  job->is_told = true;
  reply_begin(wire, FRAME_STARTED, job->id);
  reply_u32(wire, TAG_PID, (uint32_t)job->pid);
  reply_u64(wire, TAG_START_US, job->start_us);
  reply_end(wire);
}

void release_late_outputs(struct launcher *launcher) {
  struct job *job;
  // Each pass releases one.
  while ((job = job_held()) != NULL && job->hold_until_us <= monotonic_us()) {
    if (!output_release(&job->outputs[0])) kill_job(job);
    tell_started(launcher, job);
  }
}

/* All processes of the job are gone, so what is in the pipes now is the rest of its output. */
static void end_job(struct launcher *launcher, struct job *job, const struct rusage *usage) {
  hear_report(launcher, job);
  job->is_reaped = true;
  if (job->is_failed) return close_job(job);
  if (!job->is_ended) assume_killed(launcher, job, usage);
  finish_job(launcher, job);
}

void finish_job(struct launcher *launcher, struct job *job) {
  for (int stream = 0; stream < STREAMS; stream++) output_drain(&job->outputs[stream]);
  if (is_stalled(job) && !job->is_killed) return;
  for (int stream = 0; stream < STREAMS; stream++) output_give_up(&job->outputs[stream]);
  for (int stream = 0; stream < STREAMS; stream++) output_close(&job->outputs[stream]);
  tell_started(launcher, job);
  say_exited(launcher, job);
  close_job(job);
}

/*
 * The cage's pid 1 ended without a report, for example because it was killed. Whether the job ran is unknown, so it
 * counts as run.
 */
static void assume_killed(struct launcher *launcher, struct job *job, const struct rusage *usage) {
  uint64_t now_us = monotonic_us();
  if (!job->is_started) note_started(launcher, job, now_us);
  job->ended.wait_status = SIGKILL;
  job->ended.at_us = now_us;
  job->ended.cpu_user_us = (uint64_t)usage->ru_utime.tv_sec * 1000000u + (uint64_t)usage->ru_utime.tv_usec;
  job->ended.cpu_system_us = (uint64_t)usage->ru_stime.tv_sec * 1000000u + (uint64_t)usage->ru_stime.tv_usec;
  job->ended.rss_bytes_max = (uint64_t)usage->ru_maxrss * 1024u;
}

static void reply_output_end(struct wire *wire, uint8_t tag, const struct output *output) {
  uint8_t bytes[8] = {(uint8_t)output->end, 0, 0, 0, (uint8_t)output->error, (uint8_t)(output->error >> 8), 0, 0};
  reply_bytes(wire, tag, bytes, sizeof bytes);
}

static void say_exited(struct launcher *launcher, struct job *job) {
  struct wire *wire = &launcher->wire;
  const struct report *ended = &job->ended;
  reply_begin(wire, FRAME_EXITED, job->id);
  if (WIFEXITED(ended->wait_status)) {
    reply_u32(wire, TAG_EXIT_CODE, (uint32_t)WEXITSTATUS(ended->wait_status));
  } else {
    reply_u32(wire, TAG_EXIT_SIGNAL, (uint32_t)WTERMSIG(ended->wait_status));
  }
  reply_u64(wire, TAG_CPU_USER_US, ended->cpu_user_us);
  reply_u64(wire, TAG_CPU_SYSTEM_US, ended->cpu_system_us);
  reply_u64(wire, TAG_RSS_BYTES_MAX, ended->rss_bytes_max);
  reply_u64(wire, TAG_START_US, job->start_us);
  reply_u64(wire, TAG_END_US, ended->at_us);
  reply_u64(wire, TAG_STDOUT_BYTES, job->outputs[0].bytes);
  reply_u64(wire, TAG_STDERR_BYTES, job->outputs[1].bytes);
  reply_output_end(wire, TAG_STDOUT_END, &job->outputs[0]);
  reply_output_end(wire, TAG_STDERR_END, &job->outputs[1]);
  if (is_held(job)) {
    reply_bytes(wire, TAG_STDOUT, job->outputs[0].held, (size_t)job->outputs[0].bytes);
    reply_bytes(wire, TAG_STDERR, job->outputs[1].held, (size_t)job->outputs[1].bytes);
    if (job->home.path != NULL) reply_u32(wire, TAG_HOME_REMOVED, remove_home(&job->home));
  }
  job_cgroup_end(&job->cgroup, wire);
  reply_end(wire);
}
