#ifndef WRIT_END_JOB_H
#define WRIT_END_JOB_H

#include "job-table.h"
#include "launcher.h"

/* Reads what a cage's pid 1 has to say, and tells the worker what it wants to know of it. */
void hear_report(struct launcher *launcher, struct job *job);

/* Reaps all that have ended, and says EXITED for each job among them. */
void reap_jobs(struct launcher *launcher);

#endif
