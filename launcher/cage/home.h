#ifndef WRIT_HOME_H
#define WRIT_HOME_H

#include <stdbool.h>
#include <stddef.h>

#include "failure.h"
#include "plan/plan.h"

/* The data for removing a job's home after its plan was dropped. Why: ADR 0057, ADR 0148. */
struct home {
  char *memory;
  const char *path; /* NULL without a home */
  struct {
    const char *path;
    bool is_directory;
  } entries[HOME_ENTRIES_MAX];
  size_t entries_count;
};

void home_note(struct home *home, const struct plan *plan);
void home_forget(struct home *home);

/* Makes the home with all its entries. Called in the cage's first process, while that is still on the host. */
bool make_home(const struct plan *plan, struct failure *failure);

/*
 * Removes the home, which the job owns, after the last process of the job has gone, by descriptor and without following links of the job.
 * False when something is left: then the worker removes it.
 */
bool remove_home(const struct home *home);

#endif
