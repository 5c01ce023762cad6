#define _GNU_SOURCE
#include "unwritten.h"

#include <string.h>
#include <sys/mman.h>

#include "fatal.h"

/* At most the held output of a job, or one turn of a masked stream: its reader waits until these are written. */
void unwritten_keep(struct unwritten *unwritten, const uint8_t *bytes, size_t count) {
  if (count == 0) return;
  size_t all = unwritten->count + count;
  uint8_t *place = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) fatal("no memory for %zu bytes", all);
  // It contains output of jobs, so no child gets a copy of it.
  if (madvise(place, all, MADV_DONTFORK) != 0 || madvise(place, all, MADV_DONTDUMP) != 0) {
    fatal("keeping output from other processes");
  }
  if (unwritten->count > 0) memcpy(place, unwritten->bytes + unwritten->start, unwritten->count);
  memcpy(place + unwritten->count, bytes, count);
  unwritten_drop(unwritten, unwritten->count);
  *unwritten = (struct unwritten){.bytes = place, .count = all};
}

void unwritten_drop(struct unwritten *unwritten, size_t count) {
  unwritten->start += count;
  unwritten->count -= count;
  if (unwritten->bytes == NULL || unwritten->count > 0) return;
  if (munmap(unwritten->bytes, unwritten->start) != 0) fatal("giving back %zu bytes", unwritten->start);
  *unwritten = (struct unwritten){0};
}
