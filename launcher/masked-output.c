#define _GNU_SOURCE
#include "masked-output.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fatal.h"
#include "protocol.h"

/* Less than what is spliced at once: this is time in which the other jobs wait. */
#define TURN_BYTES_MAX (64u * 1024)

static uint8_t *shared_buffer(void);
static bool write_all(int file_fd, const uint8_t *bytes, size_t bytes_count, uint64_t *written);

ssize_t move_masked(struct masked_stream *stream, int pipe_fd, int file_fd, size_t bytes_most, uint64_t *written) {
  uint8_t *bytes = shared_buffer();
  size_t held = stream->held_bytes;
  ssize_t got = read(pipe_fd, bytes + held, bytes_most < TURN_BYTES_MAX ? bytes_most : TURN_BYTES_MAX);
  if (got <= 0) return got;
  memcpy(bytes, stream->held, held);
  size_t count = held + (size_t)got;
  size_t is_final = mask_bytes(stream, bytes, count);
  stream->held_bytes = count - is_final;
  memcpy(stream->held, bytes + is_final, stream->held_bytes);
  return write_all(file_fd, bytes, is_final, written) ? got : -1;
}

bool flush_masked(struct masked_stream *stream, int file_fd, bool is_cut, uint64_t *written) {
  size_t count = stream->held_bytes;
  if (count == 0) return true;
  if (is_cut) memset(stream->held, '*', count);
  stream->held_bytes = 0;
  return write_all(file_fd, stream->held, count, written);
}

/* One for all streams, which take turns. It holds what jobs wrote, so no child gets a copy of it. */
static uint8_t *shared_buffer(void) {
  static uint8_t *buffer;
  if (buffer != NULL) return buffer;
  size_t bytes = MASK_BYTES_MAX + TURN_BYTES_MAX;
  buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) fatal("no memory for %zu bytes", bytes);
  if (madvise(buffer, bytes, MADV_DONTFORK) != 0 || madvise(buffer, bytes, MADV_DONTDUMP) != 0) {
    fatal("keeping output from other processes");
  }
  return buffer;
}

/* A plain file takes all of it or fails: each pass writes something. */
static bool write_all(int file_fd, const uint8_t *bytes, size_t bytes_count, uint64_t *written) {
  for (size_t done = 0; done < bytes_count;) {
    ssize_t put = write(file_fd, bytes + done, bytes_count - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    done += (size_t)put;
    *written += (uint64_t)put;
  }
  return true;
}
