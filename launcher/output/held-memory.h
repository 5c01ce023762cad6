#ifndef WRIT_HELD_MEMORY_H
#define WRIT_HELD_MEMORY_H

#include <stdint.h>

/* Comes before the first job. Without enough memory nothing is held. Why: ADR 0057, ADR 0065. */
void held_memory_open(void);

/* HELD_BYTES_MAX bytes for one stream of the job in a slot, its own for as long as it has the slot; NULL if there are none. */
uint8_t *held_memory(uint32_t slot, int stream);

#endif
