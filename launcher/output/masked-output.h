#ifndef WRIT_MASKED_OUTPUT_H
#define WRIT_MASKED_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "output/mask.h"

/* Bytes that are masked and can be kept. They lie here until the next call for any stream. */
struct masked_bytes {
  const uint8_t *bytes;
  size_t count;
};

/*
 * Like read: how many bytes were taken from the pipe, 0 at its end, -1 with errno. `ready` has the bytes that can be
 * kept, of these and of earlier ones, except those that are held back.
 */
ssize_t read_masked(struct masked_stream *stream, int pipe_fd, size_t bytes_most, struct masked_bytes *ready);

/*
 * The held bytes at the end of the stream. If it was cut off (`is_cut`), the rest is unknown, so they are masked as if
 * the text were complete.
 */
struct masked_bytes last_masked(struct masked_stream *stream, bool is_cut);

#endif
