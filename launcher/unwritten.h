#ifndef WRIT_UNWRITTEN_H
#define WRIT_UNWRITTEN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a stream that have left its pipe and that the full disk has not taken yet. Why: ADR 0106. */
struct unwritten {
  uint8_t *bytes; /* NULL without any */
  size_t count, start;
};

/* Adds bytes at the end. */
void unwritten_keep(struct unwritten *unwritten, const uint8_t *bytes, size_t count);
/* The first `count` of them are in the file now. */
void unwritten_drop(struct unwritten *unwritten, size_t count);

#endif
