#ifndef WRIT_MASK_H
#define WRIT_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/*
 * The texts that are overwritten in a job's output, as one automaton (Aho and Corasick): each byte is examined once,
 * for any number of texts. They are secrets, so no child gets a copy of this memory. Why: ADR 0034.
 */
struct mask;

/* One stream on its way through the mask. */
struct masked_stream {
  struct mask *mask; /* NULL when nothing is masked */
  uint32_t state;
  /* The last bytes, which may be the beginning of a text and are held until more is known. */
  uint8_t *held;
  size_t held_bytes;
};

/* The mask of a plan; NULL when it has none. `streams` are the job's two. */
bool mask_open(struct mask **mask, struct masked_stream *const streams[2], const struct plan *plan,
               struct failure *failure);
void mask_close(struct mask **mask);

/*
 * Overwrites with `*` what is to be masked in `bytes`, of which the first are those that were held back.
 * Returns how many of them, from the front, are final.
 */
size_t mask_bytes(struct masked_stream *stream, uint8_t *bytes, size_t bytes_count);

#endif
