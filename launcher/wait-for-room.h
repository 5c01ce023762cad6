#ifndef WRIT_WAIT_FOR_ROOM_H
#define WRIT_WAIT_FOR_ROOM_H

#include <stdint.h>

#include "launcher.h"

/* Notes that some output is stalled and has to be tried again. Why: ADR 0106. */
void note_stalled(void);
/* The time of the next try; 0 when no output is stalled. */
uint64_t stalled_retry_us(void);
/* Tries again if it is time. Jobs that have ended and only waited for room are finished. */
void retry_stalled_outputs(struct launcher *launcher);
/* EXITED for jobs that were reaped, killed, and waited only for room. */
void finish_reaped_jobs(struct launcher *launcher);

#endif
