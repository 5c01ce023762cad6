#define _GNU_SOURCE
#include "wait-for-room.h"

#include "process/end-job.h"
#include "process/job-table.h"
#include "watch.h"

/* The kernel does not report when a disk has room again. This costs a few calls a second for each stalled job. */
#define RETRY_MS 250u

static uint64_t retry_us;

static void retry_job(struct launcher *launcher, struct job *job);
static void retry_stream(struct job *job, int stream);
static void tell_stalled(struct launcher *launcher, struct job *job);

void note_stalled(void) {
  if (retry_us == 0) retry_us = monotonic_us() + RETRY_MS * 1000u;
}

uint64_t stalled_retry_us(void) { return retry_us; }

void retry_stalled_outputs(struct launcher *launcher) {
  if (retry_us == 0 || retry_us > monotonic_us()) return;
  // A stream that is still stalled notes it again.
  retry_us = 0;
  for (uint32_t slot = 0; slot < JOBS_MAX; slot++) {
    struct job *job = job_in_slot(slot);
    if (job != NULL && !job->is_failed && is_stalled(job)) retry_job(launcher, job);
  }
}

void finish_reaped_jobs(struct launcher *launcher) {
  for (uint32_t slot = 0; slot < JOBS_MAX; slot++) {
    struct job *job = job_in_slot(slot);
    if (job != NULL && job->is_reaped) finish_job(launcher, job);
  }
}

static void retry_job(struct launcher *launcher, struct job *job) {
  if (!job->is_stall_told) tell_stalled(launcher, job);
  if (job->is_reaped) {
    finish_job(launcher, job);
    return;
  }
  for (int stream = 0; stream < STREAMS; stream++) retry_stream(job, stream);
}

static void retry_stream(struct job *job, int stream) {
  struct output *output = &job->outputs[stream];
  if (!output->is_stalled) return;
  if (!output_retry(output)) kill_job(job);
  if (output->is_stalled || output->end != OUTPUT_COMPLETE || output->pipe_fd < 0) return;
  // It may still be watched, if only its other stream was read when both stalled.
  unwatch(output->pipe_fd);
  if (watch(output->pipe_fd, stream == 0 ? SOURCE_STDOUT : SOURCE_STDERR, job_slot(job), job->generation)) return;
  output->is_stalled = true;
  note_stalled();
}

static void tell_stalled(struct launcher *launcher, struct job *job) {
  struct wire *wire = &launcher->wire;
  const struct output *outputs = job->outputs;
  job->is_stall_told = true;
  reply_begin(wire, FRAME_STALLED, job->id);
  reply_u32(wire, TAG_ERRNO, (uint32_t)(outputs[0].is_stalled ? outputs[0].error : outputs[1].error));
  reply_end(wire);
}
