#ifndef WRIT_SUPERVISE_H
#define WRIT_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

/* The launcher sends it to a cage's pid 1 with the number of the signal for the job's process group. */
#define SIGNAL_ORDER (SIGRTMIN + 1)

/*
 * The life of a cage's pid 1 once the job runs: gives up its privileges, reports the start of the job, reaps orphans,
 * passes on the launcher's signal orders, reports the end of the job, and ends. In a pid namespace its end is the end
 * of everything in it. Why: ADR 0039.
 */
_Noreturn void supervise(int report_fd, pid_t job, bool has_pid_namespace);

#endif
