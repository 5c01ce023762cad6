#define _GNU_SOURCE
#include "output/held-memory.h"

#include <stddef.h>
#include <sys/mman.h>

#include "process/job-table.h"
#include "protocol.h"

#define ALL_BYTES ((size_t)JOBS_MAX * STREAMS * HELD_BYTES_MAX)

static uint8_t *memory;

/*
 * Addresses for all jobs that can run at once. The kernel gives memory only for what is written, and a job writes at
 * most HELD_BYTES_MAX in all. It contains output of jobs, so no child gets a copy of it.
 */
void held_memory_open(void) {
  void *place = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return;
  if (madvise(place, ALL_BYTES, MADV_DONTFORK) != 0 || madvise(place, ALL_BYTES, MADV_DONTDUMP) != 0) {
    (void)munmap(place, ALL_BYTES);
    return;
  }
  memory = place;
}

uint8_t *held_memory(uint32_t slot, int stream) {
  return memory == NULL ? NULL : memory + ((size_t)slot * STREAMS + (size_t)stream) * HELD_BYTES_MAX;
}
