#ifndef WRIT_OUTPUT_H
#define WRIT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"
#include "output/mask.h"
#include "protocol.h"
#include "unwritten.h"

/*
 * One stream of a job: its bytes go from the pipe into the file, without a copy in the launcher's memory unless some
 * have to be masked. At first it may be held in memory instead, because most jobs write little and end soon. While the
 * disk is full it is stalled: the bytes wait where they are, and the job waits as for any reader that is slow. Why: ADR
 * 0065, ADR 0106.
 */
struct output {
  int pipe_fd, file_fd; /* -1 when closed */
  uint64_t bytes, bytes_max; /* in the file, or held */
  uint8_t *held;             /* NULL when it goes into the file */
  char *path;                /* of the file that is not made yet; NULL without one */
  struct output *other;      /* the job's other stream: they are held together */
  bool is_stalled;           /* the disk is full, so its pipe is not read */
  struct unwritten unwritten;
  enum output_end end;
  int error; /* why it is stalled, or has failed */
  struct masked_stream masked;
};

/* Whether this kernel wakes the watchers of a file that is spliced into; before Linux 6.4 it does not. */
void output_probe(void);

/*
 * Makes the pipe and gives the end that the job writes to. The file, which must not exist, is made too, unless there is
 * memory to hold the output in (HELD_BYTES_MAX bytes; NULL for none).
 */
bool output_open(struct output *output, const char *path, uint64_t bytes_max, uint8_t *held, struct failure *failure,
                 int *write_fd);
/*
 * Makes the files of both streams and writes the held bytes. False when the job has to be killed because of an error.
 */
bool output_release(struct output *output);

/*
 * Moves at most one pipe's fill. False when the job has to be killed because of an error; `end` has the reason, and
 * nothing more is moved.
 */
bool output_move(struct output *output);
/*
 * Tries again to write bytes that the full disk refused. False as for output_move. The pipe of a stream that is still
 * stalled stays unwatched.
 */
bool output_retry(struct output *output);
/*
 * Moves what is in the pipe now, after the last process of the job has gone, and closes the pipe. Of both streams before
 * one of them is closed: what one writes may be more than can be held of both. One that is stalled then needs another call.
 */
void output_drain(struct output *output);
/* Drops the stalled bytes, and notes that in `end`. */
void output_give_up(struct output *output);
void output_close(struct output *output);

#endif
