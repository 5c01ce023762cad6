#define _GNU_SOURCE
#include "output/masked-output.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fatal.h"
#include "protocol.h"

/* Less than is spliced at once, because the other jobs wait meanwhile. */
#define TURN_BYTES_MAX (64u * 1024)

static uint8_t *shared_buffer(void);

ssize_t read_masked(struct masked_stream *stream, int pipe_fd, size_t bytes_most, struct masked_bytes *ready) {
  uint8_t *bytes = shared_buffer();
  size_t held = stream->held_bytes;
  ssize_t got = read(pipe_fd, bytes + held, bytes_most < TURN_BYTES_MAX ? bytes_most : TURN_BYTES_MAX);
  if (got <= 0) return got;
  memcpy(bytes, stream->held, held);
  size_t count = held + (size_t)got;
  size_t is_final = mask_bytes(stream, bytes, count);
  stream->held_bytes = count - is_final;
  memcpy(stream->held, bytes + is_final, stream->held_bytes);
  *ready = (struct masked_bytes){.bytes = bytes, .count = is_final};
  return got;
}

struct masked_bytes last_masked(struct masked_stream *stream, bool is_cut) {
  struct masked_bytes last = {.bytes = stream->held, .count = stream->held_bytes};
  if (is_cut && last.count > 0) memset(stream->held, '*', last.count);
  stream->held_bytes = 0;
  return last;
}

/* One for all streams, which take turns. It contains output of jobs, so no child gets a copy of it. */
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
