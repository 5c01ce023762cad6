#ifndef WRIT_WAIT_FOR_ROOM_H
#define WRIT_WAIT_FOR_ROOM_H

#include <stdint.h>

#include "launcher.h"

/* Some output is stalled: it will be tried again. Why: ADR 0106. */
void note_stalled(void);
/* When that is; 0 when nothing is stalled. */
uint64_t stalled_retry_us(void);
/* Tries it if it is time. Jobs that have ended and only waited for room are finished. */
void retry_stalled_outputs(struct launcher *launcher);
/* EXITED for those that were reaped, killed, and waited only for room. */
void finish_reaped_jobs(struct launcher *launcher);

#endif
