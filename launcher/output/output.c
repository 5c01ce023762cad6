#define _GNU_SOURCE
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fatal.h"
#include "output/masked-output.h"
#include "output/output-file.h"
#include "wait-for-room.h"
#include "watch.h"

/* One turn of one stream. A pipe holds no more, and no stream waits longer than for one turn of each other. */
#define TURN_BYTES_MAX (1024u * 1024)
/* Streams that fill a pipe get one that takes fewer turns; it is what an ordinary user may have. */
#define PIPE_BYTES_FIRST (64u * 1024)
#define PIPE_BYTES_BUSY (1024 * 1024)

static bool must_wake_watchers;

static bool make_pipe(struct output *output, int *write_fd, struct failure *failure);
static bool release_one(struct output *output);
static bool stall_or_fail(struct output *output);
static bool put_bytes(struct output *output, const uint8_t *bytes, size_t count);
static bool write_or_keep(struct output *output, const uint8_t *bytes, size_t count);
static size_t write_most(struct output *output, const uint8_t *bytes, size_t count);
static bool has_file(struct output *output);
static size_t room_held(const struct output *output);
static bool move_bytes(struct output *output, size_t bytes_most, size_t *moved);
static ssize_t take_bytes(struct output *output, size_t bytes_most);
static ssize_t take_masked(struct output *output, size_t bytes_most);
static void close_pipe(struct output *output);
static bool is_waiting(int pipe_fd, int *bytes);
static void wake_watchers(int file_fd);

bool output_open(struct output *output, const char *path, uint64_t bytes_max, uint8_t *held, struct failure *failure,
                 int *write_fd) {
  *output = (struct output){.pipe_fd = -1, .file_fd = -1, .bytes_max = bytes_max, .held = held, .other = output->other};
  if (held != NULL) {
    output->path = strdup(path);
    if (output->path == NULL) fatal("no memory for a path");
  } else {
    output->file_fd = make_output_file(path);
    if (output->file_fd < 0) return fail(failure, STEP_OUTPUT, "making %s", path);
  }
  return make_pipe(output, write_fd, failure);
}

static bool make_pipe(struct output *output, int *write_fd, struct failure *failure) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(failure, STEP_OUTPUT, "making a pipe");
  output->pipe_fd = ends[0];
  *write_fd = ends[1];
  return true;
}

bool output_release(struct output *output) {
  bool is_fine = release_one(output);
  return release_one(output->other) && is_fine;
}

static bool release_one(struct output *output) {
  const uint8_t *held = output->held;
  size_t count = (size_t)output->bytes;
  if (held == NULL) return true;
  output->held = NULL;
  output->bytes = 0;
  return write_or_keep(output, held, count);
}

/* A full disk may have room again: true, and the job waits for that. Anything else ends it. */
static bool stall_or_fail(struct output *output) {
  output->error = errno;
  output->is_stalled = errno == ENOSPC || errno == EDQUOT;
  if (!output->is_stalled) output->end = OUTPUT_WRITE_FAILED;
  if (output->is_stalled) note_stalled();
  return output->is_stalled;
}

bool output_move(struct output *output) {
  size_t moved = 0;
  if (output->pipe_fd < 0) return true;
  bool is_fine = output->end == OUTPUT_COMPLETE && (output->is_stalled || move_bytes(output, TURN_BYTES_MAX, &moved));
  // Not closed before the job has ended: it would see a broken pipe, and could end by that before it is killed.
  if (output->pipe_fd >= 0 && (!is_fine || output->is_stalled)) unwatch(output->pipe_fd);
  if (moved == PIPE_BYTES_FIRST) {
    // Refused when the host's share of large pipes is used up; the small pipe works as well.
    (void)fcntl(output->pipe_fd, F_SETPIPE_SZ, PIPE_BYTES_BUSY);
  }
  return is_fine;
}

bool output_retry(struct output *output) {
  struct unwritten *unwritten = &output->unwritten;
  if (!output->is_stalled) return true;
  output->is_stalled = false;
  output->error = 0;
  if (!has_file(output)) return stall_or_fail(output);
  if (unwritten->count == 0) return true;
  unwritten_drop(unwritten, write_most(output, unwritten->bytes + unwritten->start, unwritten->count));
  return unwritten->count == 0 || stall_or_fail(output);
}

void output_give_up(struct output *output) {
  if (!output->is_stalled) return;
  output->is_stalled = false;
  output->end = OUTPUT_WRITE_FAILED;
}

void output_drain(struct output *output) {
  int waiting = 0;
  size_t moved = 1;
  (void)output_retry(output);
  if (output->is_stalled) return;
  // Asked once: otherwise a process outside that has the pipe could keep the launcher here for as long as it writes.
  if (output->pipe_fd >= 0 && output->end == OUTPUT_COMPLETE) (void)is_waiting(output->pipe_fd, &waiting);
  for (size_t left = (size_t)waiting; left > 0 && moved > 0 && output->pipe_fd >= 0; left -= moved) {
    moved = 0;
    if (!move_bytes(output, left, &moved) || output->is_stalled) break;
  }
  if (!output->is_stalled) close_pipe(output);
}

static void close_pipe(struct output *output) {
  if (output->pipe_fd < 0) return;
  struct masked_bytes last = last_masked(&output->masked, output->end == OUTPUT_LIMIT);
  if (output->end != OUTPUT_WRITE_FAILED) (void)put_bytes(output, last.bytes, last.count);
  unwatch(output->pipe_fd);
  if (close(output->pipe_fd) != 0) fatal("closing a pipe");
  output->pipe_fd = -1;
}

void output_close(struct output *output) {
  close_pipe(output);
  // An error of close (a full disk behind a network) is too late to keep the bytes, but is reported.
  if (output->file_fd >= 0 && close(output->file_fd) != 0 && output->end == OUTPUT_COMPLETE) {
    output->end = OUTPUT_WRITE_FAILED;
    output->error = errno;
  }
  output->file_fd = -1;
  unwritten_drop(&output->unwritten, output->unwritten.count);
  free(output->path);
  output->path = NULL;
}

/* Closes the pipe when its last writer has. False when the job has written too much or the file cannot be written. */
static bool move_bytes(struct output *output, size_t bytes_most, size_t *moved) {
  uint64_t room = output->bytes_max - output->bytes - output->masked.held_bytes;
  if (room == 0) {
    int waiting = 0;
    if (is_waiting(output->pipe_fd, &waiting)) {
      output->end = OUTPUT_LIMIT;
      return false;
    }
    // Readable without a byte in it: the last writer has closed it.
    close_pipe(output);
    return true;
  }
  size_t wanted = room < bytes_most ? (size_t)room : bytes_most;
  if (output->held != NULL && room_held(output) == 0) {
    int waiting = 0;
    // Readable without a byte in it: the job has written exactly as much as can be held.
    if (!is_waiting(output->pipe_fd, &waiting)) return close_pipe(output), true;
    if (!output_release(output)) return false;
    if (output->is_stalled) return true;
  }
  ssize_t got = take_bytes(output, wanted);
  if (got > 0) {
    *moved = (size_t)got;
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got < 0) return output->end != OUTPUT_WRITE_FAILED && stall_or_fail(output);
  close_pipe(output);
  return true;
}

/* From the pipe into memory or into the file. The result is that of splice. */
static ssize_t take_bytes(struct output *output, size_t bytes_most) {
  if (output->masked.mask != NULL) return take_masked(output, bytes_most);
  if (output->held != NULL) {
    size_t room = room_held(output);
    ssize_t got = read(output->pipe_fd, output->held + output->bytes, room < bytes_most ? room : bytes_most);
    if (got > 0) output->bytes += (uint64_t)got;
    return got;
  }
  int flags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE;
  ssize_t got = splice(output->pipe_fd, NULL, output->file_fd, NULL, bytes_most, flags);
  if (got <= 0) return got;
  output->bytes += (uint64_t)got;
  if (must_wake_watchers) wake_watchers(output->file_fd);
  return got;
}

static ssize_t take_masked(struct output *output, size_t bytes_most) {
  struct masked_bytes ready;
  ssize_t got = read_masked(&output->masked, output->pipe_fd, bytes_most, &ready);
  if (got <= 0) return got;
  return put_bytes(output, ready.bytes, ready.count) ? got : -1;
}

/* False, with the reason noted, when they cannot be kept. */
static bool put_bytes(struct output *output, const uint8_t *bytes, size_t count) {
  if (count == 0) return true;
  if (output->held != NULL && count > room_held(output) && !output_release(output)) return false;
  if (output->held == NULL) return write_or_keep(output, bytes, count);
  memcpy(output->held + output->bytes, bytes, count);
  output->bytes += count;
  return true;
}

/* Bytes that the full disk refuses are kept, and written before later ones. */
static bool write_or_keep(struct output *output, const uint8_t *bytes, size_t count) {
  size_t done = !output->is_stalled && has_file(output) ? write_most(output, bytes, count) : 0;
  if (done == count && output->file_fd >= 0) return true;
  if (!output->is_stalled && !stall_or_fail(output)) return false;
  unwritten_keep(&output->unwritten, bytes + done, count - done);
  return true;
}

/* Each pass writes something. Less than all of it only with a reason in errno. */
static size_t write_most(struct output *output, const uint8_t *bytes, size_t count) {
  size_t done = 0;
  while (done < count) {
    ssize_t put = write(output->file_fd, bytes + done, count - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    done += (size_t)put;
    output->bytes += (uint64_t)put;
  }
  return done;
}

/* The file of output that was held is made when it is needed. */
static bool has_file(struct output *output) {
  if (output->file_fd < 0) output->file_fd = make_output_file_and_way(output->path);
  return output->file_fd >= 0;
}

static size_t room_held(const struct output *output) {
  return (size_t)(HELD_BYTES_MAX - output->bytes - output->other->bytes);
}

static bool is_waiting(int pipe_fd, int *bytes) {
  if (ioctl(pipe_fd, FIONREAD, bytes) != 0) fatal("asking how full a pipe is");
  return *bytes > 0;
}

/* Watchers receive a change of the modification time alone as a modification. */
static void wake_watchers(int file_fd) {
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
  // A full disk may refuse even this. The bytes are in the file; its watchers see them a little later.
  (void)futimens(file_fd, times);
}

void output_probe(void) {
  char path[64], events[4096];
  int ends[2];
  int file_fd = memfd_create("writ-probe", MFD_CLOEXEC);
  int watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  // If the trial fails, the extra call for each turn is the safe choice.
  must_wake_watchers = true;
  if (file_fd >= 0 && watch_fd >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file_fd);
    bool is_spliced = inotify_add_watch(watch_fd, path, IN_MODIFY) >= 0 && write(ends[1], "x", 1) == 1 &&
                      splice(ends[0], NULL, file_fd, NULL, 1, 0) == 1;
    if (is_spliced && read(watch_fd, events, sizeof events) > 0) must_wake_watchers = false;
    (void)close(ends[0]);
    (void)close(ends[1]);
  }
  if (file_fd >= 0) (void)close(file_fd);
  if (watch_fd >= 0) (void)close(watch_fd);
}
