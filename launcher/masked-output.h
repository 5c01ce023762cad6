#ifndef WRIT_MASKED_OUTPUT_H
#define WRIT_MASKED_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mask.h"

/*
 * Like splice: how many bytes were taken from the pipe, 0 at its end, -1 with errno. They are copied through our memory
 * and masked; `written` grows by what is in the file then, which lags behind by what is held back.
 */
ssize_t move_masked(struct masked_stream *stream, int pipe_fd, int file_fd, size_t bytes_most, uint64_t *written);

/*
 * Writes what was held back: nothing more comes. Where the stream was cut off (`is_cut`), nobody knows how it went on,
 * so it is masked as if the text were complete. False with errno when it cannot be written.
 */
bool flush_masked(struct masked_stream *stream, int file_fd, bool is_cut, uint64_t *written);

#endif
