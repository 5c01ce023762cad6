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
 * Like read: how many bytes were taken from the pipe, 0 at its end, -1 with errno. `ready` is what can be kept of them
 * and of those before; it lags behind by what is held back.
 */
ssize_t read_masked(struct masked_stream *stream, int pipe_fd, size_t bytes_most, struct masked_bytes *ready);

/*
 * What was held back: nothing more comes. Where the stream was cut off (`is_cut`), nobody knows how it went on, so it is
 * masked as if the text were complete.
 */
struct masked_bytes last_masked(struct masked_stream *stream, bool is_cut);

#endif
