#ifndef WRIT_JOB_TABLE_H
#define WRIT_JOB_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cage/home.h"
#include "process/job-cgroup.h"
#include "output/output.h"
#include "protocol.h"
#include "process/report.h"

#define STREAMS 2

struct job {
  bool is_used;
  bool is_failed; /* FAILED was sent and the id is free again; only its pid has yet to be reaped */
  bool is_started, is_ended;
  bool is_killed;     /* by the worker, which waits for no room on a disk */
  bool is_reaped;     /* its pid is no longer valid; it stays until the full disk has taken the rest of its output */
  bool is_stall_told; /* STALLED was sent */
  bool has_pid_namespace;
  uint32_t id, generation;
  pid_t pid;
  int report_fd;
  uint64_t start_by_us; /* when its start is given up */
  uint64_t start_us;
  struct report ended;
  struct job_cgroup cgroup;
  struct mask *mask; /* NULL when nothing is masked */
  struct output outputs[STREAMS];
  uint32_t hold_ms;       /* 0 when its output was never held */
  uint32_t hold_written_ms; /* the same, from its first byte on */
  uint64_t written_us;      /* when that arrived; 0 before */
  uint64_t hold_until_us; /* when it goes to its files; 0 while its program has not started */
  bool is_told;           /* STARTED was sent */
  struct home home;
};

/* NULL when the table is full. */
struct job *job_add(uint32_t id);
/* Closes all that it has open and frees its slot. */
void close_job(struct job *job);

struct job *job_by_id(uint32_t id);
struct job *job_by_pid(pid_t pid);
/* The job in a slot if the slot still has that generation, else NULL. */
struct job *job_by_slot(uint32_t slot, uint32_t generation);
/* The job in a slot, NULL when there is none. */
struct job *job_in_slot(uint32_t slot);
uint32_t job_slot(const struct job *job);

/* The job with an incomplete cage that is given up first; NULL when there is none. */
struct job *job_starting(void);

/* The running job with held output that is released first; NULL when there is none. */
struct job *job_held(void);
/* Is its output still in memory? */
bool is_held(const struct job *job);
/* Does any of its output wait for room on the disk? */
bool is_stalled(const struct job *job);

/* Stops listening to the cage. */
void close_report(struct job *job);

uint32_t jobs_count(void);
/* SIGKILL for all jobs, and no more waiting for room. */
void kill_all_jobs(void);
/* Ends everything in the job's cage, if there is anything left. */
void kill_job(const struct job *job);

#endif
