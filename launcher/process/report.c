#define _GNU_SOURCE
#include "process/report.h"

#include <time.h>

#include "fatal.h"

uint64_t monotonic_us(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) fatal("reading the clock");
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}
