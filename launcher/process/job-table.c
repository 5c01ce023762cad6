#define _GNU_SOURCE
#include "process/job-table.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "fatal.h"
#include "watch.h"

static struct job jobs[JOBS_MAX];
static uint32_t used_count;
/* No slot at or above this one was ever used. It bounds searches, because most workers run few jobs at once. */
static uint32_t slots_touched;

struct job *job_add(uint32_t id) {
  for (uint32_t slot = 0; slot < JOBS_MAX; slot++) {
    struct job *job = &jobs[slot];
    if (job->is_used) continue;
    *job = (struct job){.is_used = true, .id = id, .generation = job->generation + 1, .report_fd = -1};
    job->cgroup.fd = -1;
    for (int stream = 0; stream < STREAMS; stream++) {
      job->outputs[stream] = (struct output){.pipe_fd = -1, .file_fd = -1, .other = &job->outputs[1 - stream]};
    }
    if (slot >= slots_touched) slots_touched = slot + 1;
    used_count++;
    return job;
  }
  return NULL;
}

void close_job(struct job *job) {
  for (int stream = 0; stream < STREAMS; stream++) output_close(&job->outputs[stream]);
  mask_close(&job->mask);
  close_report(job);
  job_cgroup_close(&job->cgroup);
  home_forget(&job->home);
  job->is_used = false;
  used_count--;
}

struct job *job_by_id(uint32_t id) {
  for (uint32_t slot = 0; slot < slots_touched; slot++) {
    if (jobs[slot].is_used && !jobs[slot].is_failed && jobs[slot].id == id) return &jobs[slot];
  }
  return NULL;
}

struct job *job_by_pid(pid_t pid) {
  for (uint32_t slot = 0; slot < slots_touched; slot++) {
    if (jobs[slot].is_used && !jobs[slot].is_reaped && jobs[slot].pid == pid) return &jobs[slot];
  }
  return NULL;
}

struct job *job_by_slot(uint32_t slot, uint32_t generation) {
  if (slot >= JOBS_MAX || !jobs[slot].is_used || jobs[slot].generation != generation) return NULL;
  return &jobs[slot];
}

struct job *job_in_slot(uint32_t slot) { return slot < slots_touched && jobs[slot].is_used ? &jobs[slot] : NULL; }

struct job *job_starting(void) {
  struct job *first = NULL;
  for (uint32_t slot = 0; slot < slots_touched; slot++) {
    struct job *job = &jobs[slot];
    if (!job->is_used || job->is_failed || job->is_started) continue;
    if (first == NULL || job->start_by_us < first->start_by_us) first = job;
  }
  return first;
}

struct job *job_held(void) {
  struct job *first = NULL;
  for (uint32_t slot = 0; slot < slots_touched; slot++) {
    struct job *job = &jobs[slot];
    if (!job->is_used || job->is_failed || job->hold_until_us == 0 || !is_held(job)) continue;
    if (first == NULL || job->hold_until_us < first->hold_until_us) first = job;
  }
  return first;
}

/* Both streams are held, or neither. */
bool is_held(const struct job *job) { return job->outputs[0].held != NULL; }

bool is_stalled(const struct job *job) { return job->outputs[0].is_stalled || job->outputs[1].is_stalled; }

uint32_t job_slot(const struct job *job) { return (uint32_t)(job - jobs); }

void close_report(struct job *job) {
  if (job->report_fd < 0) return;
  unwatch(job->report_fd);
  if (close(job->report_fd) != 0) fatal("closing a descriptor");
  job->report_fd = -1;
}

uint32_t jobs_count(void) { return used_count; }

void kill_all_jobs(void) {
  for (uint32_t slot = 0; slot < slots_touched; slot++) {
    if (!jobs[slot].is_used) continue;
    jobs[slot].is_killed = true;
    kill_job(&jobs[slot]);
  }
}

void kill_job(const struct job *job) {
  if (job->is_reaped) return;
  // Its pid stays valid until the launcher reaps it. Without a pid namespace its first process ends the others on
  // SIGTERM.
  int signo = job->has_pid_namespace ? SIGKILL : SIGTERM;
  if (job->pid > 0 && kill(job->pid, signo) != 0 && errno != ESRCH) fatal("killing pid %d", (int)job->pid);
}
