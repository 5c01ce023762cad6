#ifndef WRIT_REPORT_H
#define WRIT_REPORT_H

#include <stdint.h>

#include "failure.h"

enum report_kind { REPORT_FAILED = 1, REPORT_STARTED = 2, REPORT_ENDED = 3 };

/* A report of a cage's pid 1 to the launcher. Smaller than PIPE_BUF, so each write arrives whole or not at all. */
struct report {
  enum report_kind kind;
  int wait_status; /* of the job's first process, as waitpid gives it */
  uint64_t at_us, cpu_user_us, cpu_system_us, rss_bytes_max;
  struct failure failure;
};

/* CLOCK_MONOTONIC, which the worker's clock can be compared with. */
uint64_t monotonic_us(void);

#endif
