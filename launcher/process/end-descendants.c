#define _GNU_SOURCE
#include "process/end-descendants.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each round kills a whole generation; a tree that is deeper than this is still growing. */
#define ROUNDS_MAX 1000

static bool kill_children(void);

void end_descendants(void) {
  for (int round = 0; round < ROUNDS_MAX; round++) {
    if (!kill_children()) return;
    // Waits for one, then takes all that are dead by now, so a round is a generation and not a process.
    if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD) return;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
}

/* False when they cannot be listed; then there is nobody to wait for. */
static bool kill_children(void) {
  char path[64];
  int child;
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *children = fopen(path, "re");
  if (children == NULL) return false;
  // A child cannot be reaped by anyone but us, so its number is still its own when we signal it.
  while (fscanf(children, "%d", &child) == 1) (void)kill((pid_t)child, SIGKILL);
  (void)fclose(children);
  return true;
}
