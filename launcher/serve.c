#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "process/end-job.h"
#include "fatal.h"
#include "hand-over.h"
#include "process/job-table.h"
#include "launcher.h"
#include "open-beneath.h"
#include "process/start-job.h"
#include "process/supervise.h"
#include "cage/user-namespace.h"
#include "wait-for-room.h"
#include "watch.h"

#define EVENTS_MAX 256
/*
 * How long killed processes may take to end. A process in an uninterruptible wait dies after the launcher, as soon as
 * it can.
 */
#define LAST_WAIT_MS 10000

/* Why the loop ends: the status that the launcher exits with. */
enum verdict { GO_ON = -1, WORKER_GONE = 0, PROTOCOL_BROKEN = 2 };

static void say_ready(struct launcher *launcher);
static enum verdict handle(struct launcher *launcher, const struct epoll_event *event);
static enum verdict hear_worker(struct launcher *launcher);
static enum verdict take_next_frame(struct launcher *launcher);
static bool has_frame(struct launcher *launcher);
static int wait_ms(struct launcher *launcher);
static enum verdict take_frame(struct launcher *launcher, const struct frame *frame);
static bool take_start(struct launcher *launcher, const struct frame *frame);
static bool take_signal(const struct frame *frame);
static bool take_kill(struct launcher *launcher, const struct frame *frame);
static bool take_ping(struct launcher *launcher, const struct frame *frame);
static enum verdict take_signals(struct launcher *launcher);
static void move_output(struct launcher *launcher, struct job *job, int stream);
static int sooner_ms(int one_ms, int other_ms);
static int ms_until(uint64_t at_us);
static enum verdict send_answers(struct launcher *launcher);
static void say_broken(struct launcher *launcher, const char *why);
static void end_all(struct launcher *launcher);

int serve(struct launcher *launcher) {
  static struct epoll_event events[EVENTS_MAX];
  enum verdict verdict = GO_ON;
  if (!watch(launcher->wire.fd, SOURCE_WIRE, 0, 0)) fatal("watching the worker");
  if (!watch(launcher->signal_fd, SOURCE_SIGNALS, 0, 0)) fatal("watching for signals");
  bool has_channel = launcher->channel_fd != CHANNEL_NONE;
  if (has_channel && !watch(launcher->channel_fd, SOURCE_CHANNEL, 0, 0)) fatal("watching the channel");
  say_ready(launcher);

  // Until the worker ends or sends an invalid frame.
  while (verdict == GO_ON) {
    verdict = send_answers(launcher);
    if (verdict == GO_ON) verdict = take_next_frame(launcher);
    if (verdict == GO_ON) verdict = send_answers(launcher);
    if (verdict != GO_ON) break;
    int count = watch_wait(events, EVENTS_MAX, wait_ms(launcher));
    for (int i = 0; i < count && verdict == GO_ON; i++) verdict = handle(launcher, &events[i]);
    give_up_late_starts(launcher);
    release_late_outputs(launcher);
    retry_stalled_outputs(launcher);
  }
  end_all(launcher);
  return verdict;
}

static void say_ready(struct launcher *launcher) {
  struct wire *wire = &launcher->wire;
  reply_begin(wire, FRAME_READY, 0);
  reply_u32(wire, TAG_VERSION, PROTOCOL_VERSION);
  reply_u32(wire, TAG_RIGHTS, cage_rights());
  if (cage_rights() == RIGHTS_NONE) {
    reply_u32(wire, TAG_ERRNO, (uint32_t)namespace_refusal()->error);
    reply_text(wire, TAG_MESSAGE, namespace_refusal()->message);
  }
  reply_end(wire);
}

static enum verdict handle(struct launcher *launcher, const struct epoll_event *event) {
  enum source source = event_source(event);
  if (source == SOURCE_SIGNALS) return take_signals(launcher);
  if (source == SOURCE_WIRE) return (event->events & ~(uint32_t)EPOLLOUT) != 0 ? hear_worker(launcher) : GO_ON;
  if (source == SOURCE_CHANNEL) {
    if (!drain_channel(launcher->channel_fd)) unwatch(launcher->channel_fd);
    return GO_ON;
  }
  // The slot may belong to another job by now.
  struct job *job = job_by_slot(event_slot(event), event_generation(event));
  if (job == NULL) return GO_ON;
  if (source == SOURCE_REPORT) hear_report(launcher, job);
  if (source == SOURCE_STDOUT) move_output(launcher, job, 0);
  if (source == SOURCE_STDERR) move_output(launcher, job, 1);
  return GO_ON;
}

static enum verdict hear_worker(struct launcher *launcher) {
  // Frames in the buffer are handled first, so that it never has more than one read.
  if (has_frame(launcher)) return GO_ON;
  enum wire_result result = wire_fill(&launcher->wire);
  if (result == WIRE_CLOSED) return WORKER_GONE;
  if (result == WIRE_BROKEN) return say_broken(launcher, "the worker cannot be heard"), PROTOCOL_BROKEN;
  return GO_ON;
}

static bool has_frame(struct launcher *launcher) {
  struct frame frame;
  return wire_next(&launcher->wire, &frame) != WIRE_EMPTY;
}

/*
 * 0 while the buffer has a whole frame; otherwise the time until a start has to be given up, held output has to be
 * released, or a full disk is tried again.
 */
static int wait_ms(struct launcher *launcher) {
  if (!wire_is_congested(&launcher->wire) && has_frame(launcher)) return 0;
  const struct job *starting = job_starting(), *held = job_held();
  int start_ms = starting == NULL ? -1 : ms_until(starting->start_by_us);
  int held_ms = held == NULL ? -1 : ms_until(held->hold_until_us);
  int retry_ms = stalled_retry_us() == 0 ? -1 : ms_until(stalled_retry_us());
  return sooner_ms(sooner_ms(start_ms, held_ms), retry_ms);
}

/* -1 stands for never. */
static int sooner_ms(int one_ms, int other_ms) {
  if (one_ms < 0 || other_ms < 0) return one_ms < 0 ? other_ms : one_ms;
  return one_ms < other_ms ? one_ms : other_ms;
}

static int ms_until(uint64_t at_us) {
  uint64_t now_us = monotonic_us();
  return at_us <= now_us ? 0 : (int)((at_us - now_us) / 1000 + 1);
}

/* One for each turn of the loop: a START may take seconds, and other events must be handled in between. */
static enum verdict take_next_frame(struct launcher *launcher) {
  struct wire *wire = &launcher->wire;
  struct frame frame;
  if (wire_is_congested(wire)) return GO_ON;
  enum wire_result result = wire_next(wire, &frame);
  if (result == WIRE_EMPTY) return GO_ON;
  if (result != WIRE_OK) return say_broken(launcher, "a frame has an impossible length"), PROTOCOL_BROKEN;
  enum verdict verdict = take_frame(launcher, &frame);
  if (verdict == GO_ON) wire_done(wire, &frame);
  return verdict;
}

static enum verdict take_frame(struct launcher *launcher, const struct frame *frame) {
  bool is_fine = true;
  const char *why = "a frame is malformed";
  switch (frame->type) {
    // An invalid plan has its own reason.
    case FRAME_START: return take_start(launcher, frame) ? GO_ON : PROTOCOL_BROKEN;
    case FRAME_SIGNAL: is_fine = take_signal(frame); break;
    case FRAME_KILL: is_fine = take_kill(launcher, frame); break;
    case FRAME_OPEN: is_fine = answer_open(launcher, frame); break;
    case FRAME_CLOSE: is_fine = answer_close(frame); break;
    case FRAME_PING: is_fine = take_ping(launcher, frame); break;
    default:
      is_fine = false;
      why = "a frame has an unknown type";
  }
  if (is_fine) return GO_ON;
  say_broken(launcher, why);
  return PROTOCOL_BROKEN;
}

static bool take_start(struct launcher *launcher, const struct frame *frame) {
  struct plan plan;
  struct failure failure;
  if (job_by_id(frame->id) != NULL) return say_broken(launcher, "START has an id that is in use"), false;
  enum plan_result result = plan_read(&plan, frame, &failure);
  bool is_started = result == PLAN_OK && start_job(launcher, frame->id, &plan, &failure);
  plan_forget(&plan);
  if (result == PLAN_BROKEN) return say_broken(launcher, failure.message), false;
  if (is_started) return true;
  say_failed(launcher, frame->id, &failure);
  return true;
}

static bool take_signal(const struct frame *frame) {
  size_t position = 0;
  struct field field;
  uint32_t signo;
  if (wire_field(frame, &position, &field) != WIRE_OK || field.tag != TAG_SIGNO) return false;
  if (!field_u32(&field, &signo) || signo < 1 || signo > 64) return false;
  if (wire_field(frame, &position, &field) != WIRE_EMPTY) return false;
  struct job *job = job_by_id(frame->id);
  if (job == NULL || job->is_reaped) return true;
  // The cage's pid 1 passes it on, to a pid that is valid only inside the cage.
  union sigval order = {.sival_int = (int)signo};
  if (sigqueue(job->pid, SIGNAL_ORDER, order) != 0 && errno != ESRCH && errno != EAGAIN) fatal("signalling a cage");
  return true;
}

static bool take_kill(struct launcher *launcher, const struct frame *frame) {
  if (frame->fields_bytes != 0) return false;
  struct job *job = job_by_id(frame->id);
  if (job == NULL) return true;
  job->is_killed = true;
  kill_job(job);
  // The job has ended, and only waited for room for its output.
  if (job->is_reaped) finish_job(launcher, job);
  return true;
}

static bool take_ping(struct launcher *launcher, const struct frame *frame) {
  if (frame->fields_bytes != 0) return false;
  reply_begin(&launcher->wire, FRAME_PONG, frame->id);
  reply_end(&launcher->wire);
  return true;
}

static enum verdict take_signals(struct launcher *launcher) {
  struct signalfd_siginfo info;
  ssize_t got = read(launcher->signal_fd, &info, sizeof info);
  if (got < 0 && errno == EAGAIN) return GO_ON;
  if (got != (ssize_t)sizeof info) fatal("reading a signal");
  if (info.ssi_signo != SIGCHLD) return WORKER_GONE;
  reap_jobs(launcher);
  return GO_ON;
}

static void move_output(struct launcher *launcher, struct job *job, int stream) {
  if (!output_move(&job->outputs[stream])) kill_job(job);
  note_written(job);
  // It may have written more than can be held.
  tell_started(launcher, job);
}

/* While the worker reads too slowly, its own frames have to wait: only then is EPOLLOUT asked for. */
static enum verdict send_answers(struct launcher *launcher) {
  static uint32_t asked = EPOLLIN;
  enum wire_result result = wire_flush(&launcher->wire);
  if (result == WIRE_CLOSED) return WORKER_GONE;
  if (result == WIRE_BROKEN) return PROTOCOL_BROKEN;
  uint32_t wanted = EPOLLIN;
  if (result == WIRE_OK) wanted = wire_is_congested(&launcher->wire) ? EPOLLOUT : EPOLLIN | EPOLLOUT;
  if (wanted == asked) return GO_ON;
  watch_wire(launcher->wire.fd, wanted);
  asked = wanted;
  return GO_ON;
}

static void say_broken(struct launcher *launcher, const char *why) {
  reply_begin(&launcher->wire, FRAME_PROTOCOL_ERROR, 0);
  reply_text(&launcher->wire, TAG_MESSAGE, why);
  reply_end(&launcher->wire);
  (void)fprintf(stderr, "writ-launcher: protocol error: %s\n", why);
}

/* No job may outlive the launcher. The death signal would kill jobs as well; this waits until they have ended. */
static void end_all(struct launcher *launcher) {
  uint64_t until_us = monotonic_us() + LAST_WAIT_MS * 1000u;
  kill_all_jobs();
  finish_reaped_jobs(launcher);
  while (jobs_count() > 0 && monotonic_us() < until_us) {
    struct pollfd signals = {.fd = launcher->signal_fd, .events = POLLIN};
    if (poll(&signals, 1, 100) < 0 && errno != EINTR) break;
    (void)take_signals(launcher);
    reap_jobs(launcher);
  }
  // The worker may still be there after a protocol error; otherwise these are not needed.
  (void)wire_flush(&launcher->wire);
}
