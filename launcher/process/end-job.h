#ifndef WRIT_END_JOB_H
#define WRIT_END_JOB_H

#include "failure.h"
#include "process/job-table.h"
#include "launcher.h"

/* Reads the report of a cage's pid 1, and sends the worker its part of it. */
void hear_report(struct launcher *launcher, struct job *job);

/* Reaps all that have ended, and sends EXITED for each job among them whose output is in its files. */
void reap_jobs(struct launcher *launcher);
/* EXITED for a job that was reaped, once the disk has taken its output or the worker has killed it. */
void finish_job(struct launcher *launcher, struct job *job);
/* Kills the cages that are not complete in time. */
void give_up_late_starts(struct launcher *launcher);
/* STARTED, unless it was sent or the job's output is still held. */
void tell_started(struct launcher *launcher, struct job *job);
/* Notes that the job may have written its first byte, which is not held for long. */
void note_written(struct job *job);
/* Writes output to its files that was held long enough, and sends STARTED for its job. */
void release_late_outputs(struct launcher *launcher);
void say_failed(struct launcher *launcher, uint32_t id, const struct failure *failure);

#endif
